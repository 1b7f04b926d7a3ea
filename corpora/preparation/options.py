"""How to synthesise a corpus; it imports neither lhotse nor torch."""

from dataclasses import dataclass

from tetraphone.common.errors import InputError, check_least, check_types
from tetraphone.sound.features import FeatureOptions

LEAST_HERTZ, MOST_HERTZ = 1000, 655350
WORDS_A_MINUTE = 80, 450
"""What espeak-ng speaks; it takes the nearest for others, in silence."""
MOST_SPEAKERS = 1_000_000


@dataclass(frozen=True)
class SynthesisOptions:
    """How much to synthesise, and at which speeds and pitches."""

    train: int = 1000
    """Utterances of the training part (2.3 seconds each, about)."""
    dev: int = 90
    """Utterances of the development part."""
    test: int = 100
    """Utterances of the test part."""
    speakers: int = 64
    """Training speakers: a voice, a variant, a pitch and a rate each; the other parts have an eighth of that, or 4."""
    slowest: int = 130
    """Words a minute."""
    fastest: int = 190
    """Words a minute."""
    sample_rate: int = FeatureOptions.sample_rate
    """Hz; espeak-ng's 22,050 are resampled."""
    seed: int = 1
    """The same seed gives the same bytes."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("train", "dev", "test", "speakers"):
            check_least(name, getattr(self, name), 1)
        if not LEAST_HERTZ <= self.sample_rate <= MOST_HERTZ:
            raise InputError(f"sample_rate is {self.sample_rate}; give {LEAST_HERTZ} to {MOST_HERTZ} (FLAC's greatest)")
        check_least("seed", self.seed, 0)
        if self.speakers > MOST_SPEAKERS:
            raise InputError(f"speakers is {self.speakers}; it must be at most {MOST_SPEAKERS}")
        for name in ("slowest", "fastest"):
            if not WORDS_A_MINUTE[0] <= getattr(self, name) <= WORDS_A_MINUTE[1]:
                least, most = WORDS_A_MINUTE
                raise InputError(f"{name} is {getattr(self, name)}; espeak-ng speaks {least} to {most} words a minute")
        if self.fastest < self.slowest:
            raise InputError(f"fastest is {self.fastest}, slowest {self.slowest}; exchange them")
