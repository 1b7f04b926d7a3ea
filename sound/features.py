"""Log-mel filter banks and their derivatives, one quaternion for each band and frame."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import check_types
from tetraphone.common.native import check_features

from .audio import Samples

Frames = NDArray[np.float32]

DELTA_ORDER = 3
DELTA_WINDOW = 2
LOWEST_HZ = 20.0
"""Where the filter bank begins; it ends at half the sample rate."""
LOOK_AHEAD = DELTA_ORDER * DELTA_WINDOW
"""Frames after a frame that its derivatives read."""


@dataclass(frozen=True)
class FeatureOptions:
    """Kaldi's filter bank without dither, on samples in [−1, 1]; other options as Kaldi's defaults.

    Raises:
        InputError: an option that no exported model could have, see `native.check_features`.
    """

    sample_rate: int = 16000
    """Hz."""
    bands: int = 40
    """Mel bands between 20 Hz and half the sample rate."""
    window_ms: float = 25.0
    """Milliseconds a frame sees (Kaldi's frame-length)."""
    hop_ms: float = 10.0
    """Milliseconds from frame to frame (Kaldi's frame-shift)."""
    stack: int = 3
    """Frames side by side in one input of the network, components kept planar."""
    stride: int = 3
    """Frames from one input of the network to the next: 3 gives a score every 30 ms, a third of the work."""

    def __post_init__(self) -> None:
        check_types(self)
        check_features(vars(self))

    @property
    def inputs(self) -> int:
        """Reals of one input of the network."""
        return 4 * self.bands * self.stack

    @property
    def shift(self) -> float:
        """Seconds from one input of the network to the next."""
        return self.stride * self.hop_ms / 1000

    @property
    def offset(self) -> float:
        """Seconds: input k stands for the sound from k · shift + offset to (k + 1) · shift + offset, at its centre."""
        return ((self.stack - self.stride) * self.hop_ms + self.window_ms - self.hop_ms) / 2000

    @property
    def delay(self) -> float:
        """Seconds from the start of an input's first frame to the last sample that it depends on."""
        return ((self.stack - 1 + LOOK_AHEAD) * self.hop_ms + self.window_ms) / 1000

    def network_frames(self, frames: int) -> int:
        """Inputs of the network that so many feature frames give: the last is filled up with the last frame."""
        return -(-frames // self.stride)


def log_mel(samples: Samples, options: FeatureOptions) -> Frames:
    """Log-mel energies [frames, bands] of mono samples at the options' rate; no frame for less than a window."""
    import kaldi_native_fbank  # here: the recogniser has features of its own

    kaldi = kaldi_native_fbank.FbankOptions()
    kaldi.frame_opts.samp_freq = options.sample_rate
    kaldi.frame_opts.frame_length_ms = options.window_ms
    kaldi.frame_opts.frame_shift_ms = options.hop_ms
    kaldi.frame_opts.dither = 0.0
    kaldi.mel_opts.num_bins = options.bands
    kaldi.mel_opts.low_freq = LOWEST_HZ
    bank = kaldi_native_fbank.OnlineFbank(kaldi)
    bank.accept_waveform(options.sample_rate, samples.tolist())
    bank.input_finished()
    frames = [bank.get_frame(index) for index in range(bank.num_frames_ready)]
    return np.stack(frames) if frames else np.zeros((0, options.bands), np.float32)


def mel_of(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kaldi's mel scale."""
    return 1127 * np.log1p(hertz / 700)


def hertz_of(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `mel_of`."""
    return 700 * np.expm1(mel / 1127)


def band_centres(options: FeatureOptions) -> NDArray[np.float64]:
    """[bands], in mel: at equal distances."""
    low, high = mel_of(np.array([LOWEST_HZ, options.sample_rate / 2]))
    return np.linspace(low, high, options.bands + 2)[1:-1]


@cache
def delta_filters() -> Frames:
    """Kaldi's add-deltas as filters on the static features: [order + 1, 2 · LOOK_AHEAD + 1], order 0 the identity."""
    regression = (
        np.arange(-DELTA_WINDOW, DELTA_WINDOW + 1) / np.square(np.arange(-DELTA_WINDOW, DELTA_WINDOW + 1)).sum()
    )
    taps = np.ones(1)
    filters = np.zeros((DELTA_ORDER + 1, 2 * LOOK_AHEAD + 1), np.float32)
    for order in range(DELTA_ORDER + 1):
        margin = LOOK_AHEAD - len(taps) // 2
        filters[order, margin : margin + len(taps)] = taps
        taps = np.convolve(taps, regression)
    return filters


def quaternion_frames(mel: Frames) -> Frames:
    """Energies [frames, bands] and their derivatives over time as r, x, y, z: [frames, 4 · bands], planar.

    Kaldi's add-deltas: order 3, window 2, the first and last frame repeated behind the edges.
    """
    if len(mel) == 0:
        return np.zeros((0, 4 * mel.shape[1]), np.float32)
    padded = np.pad(mel, ((LOOK_AHEAD, LOOK_AHEAD), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * LOOK_AHEAD + 1, axis=0)
    return np.ascontiguousarray(np.einsum("tbw,ow->tob", windows, delta_filters(), optimize=True)).reshape(len(mel), -1)


def stack_frames(frames: Frames, options: FeatureOptions) -> Frames:
    """[frames, 4 · bands] → [network frames, 4 · bands · stack]: every stride-th frame and those after it.

    Planar: the real parts of all stacked frames, then the parts of i, j and k. The last frame is repeated to fill up.
    """
    starts = np.arange(options.network_frames(len(frames))) * options.stride
    index = np.minimum(starts[:, None] + np.arange(options.stack), max(len(frames) - 1, 0))
    stacked = frames.reshape(len(frames), 4, frames.shape[1] // 4)[index]
    return np.ascontiguousarray(stacked.transpose(0, 2, 1, 3)).reshape(len(starts), options.inputs)


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of each band and component over a training set: [4 · bands] each."""

    mean: Frames
    deviation: Frames

    def apply(self, frames: Frames) -> Frames:
        return (frames - self.mean) / self.deviation


def network_input(mel: Frames, options: FeatureOptions, normalisation: Normalisation) -> Frames:
    """Energies [frames, bands] → the network's input [network frames, options.inputs]."""
    return stack_frames(normalisation.apply(quaternion_frames(mel)), options)
