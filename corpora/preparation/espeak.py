"""The child process that speaks: the only one that loads libespeak-ng (GPL-3).

Reads requests, one JSON object a line, on standard input: voice, pitch, rate (words a minute), text, and output: a file
for the samples (16-bit PCM, mono). Answers each with one line: {"rate": Hz, "phonemes": [[symbol, first sample], …]}.
Run as `python -m tetraphone.corpora.preparation.espeak`.
"""

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import espeakng_loader

# Values and layout of espeak-ng's public header, speak_lib.h.
AUDIO_OUTPUT_SYNCHRONOUS = 2
INITIALIZE_PHONEME_EVENTS, INITIALIZE_DONT_EXIT = 0x0001, 0x8000
POSITION_CHARACTER, CHARS_UTF8 = 1, 1
EVENT_LIST_TERMINATED, EVENT_PHONEME = 0, 7
RATE, PITCH = 1, 3


class Event(ctypes.Structure):
    """espeak_EVENT; the mnemonic of a phoneme, up to 8 bytes, lies in its union."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("mnemonic", ctypes.c_char * 8),
    )


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Event))


class Speaker:
    """espeak-ng, ready to speak."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(espeakng_loader.get_library_path())
        os.chdir(espeakng_loader.get_data_path())  # espeak-ng cuts the path of its data after 160 bytes.
        self.rate = self.library.espeak_Initialize(
            AUDIO_OUTPUT_SYNCHRONOUS, 0, b".", INITIALIZE_PHONEME_EVENTS | INITIALIZE_DONT_EXIT
        )
        if self.rate <= 0:
            raise RuntimeError(f"espeak-ng did not start (error {self.rate})")
        self.samples = bytearray()
        self.phonemes: list[tuple[str, int]] = []
        self.callback = CALLBACK(self._receive)
        self.library.espeak_SetSynthCallback(self.callback)

    def _receive(self, samples: int | None, count: int, events: Any) -> int:
        if samples and count > 0:
            self.samples += ctypes.string_at(samples, 2 * count)
        index = 0
        while events[index].type != EVENT_LIST_TERMINATED:
            if events[index].type == EVENT_PHONEME:
                self.phonemes.append((events[index].mnemonic.decode(), events[index].sample))
            index += 1
        return 0

    def speak(self, voice: str, pitch: int, rate: int, text: str) -> None:
        """Leaves the samples and phonemes of one text in the fields of these names.

        The same series of calls gives the same samples; another series shifts the phase of the voice and some times by
        a fraction of a period.
        """
        self.samples, self.phonemes = bytearray(), []
        self.library.espeak_ng_SetRandSeed(ctypes.c_long(1))
        if self.library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise RuntimeError(f"espeak-ng has no voice {voice}")
        for parameter, value in ((RATE, rate), (PITCH, pitch)):
            self.library.espeak_SetParameter(parameter, value, 0)
        content = text.encode()
        failed = self.library.espeak_Synth(content, len(content) + 1, 0, POSITION_CHARACTER, 0, CHARS_UTF8, None, None)
        if failed:
            raise RuntimeError(f"espeak-ng could not speak {text!r} (error {failed})")


def main() -> None:
    speaker = Speaker()
    for line in sys.stdin:
        request = json.loads(line)
        speaker.speak(request["voice"], request["pitch"], request["rate"], request["text"])
        Path(request["output"]).write_bytes(speaker.samples)
        print(json.dumps({"rate": speaker.rate, "phonemes": speaker.phonemes}), flush=True)


if __name__ == "__main__":
    main()
