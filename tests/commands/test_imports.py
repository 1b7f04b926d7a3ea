"""What a command imports: none waits for what another needs, and its memory is not that of torch."""

import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
TRAINING = {"torch", "lhotse", "matplotlib", "scipy", "executorch", "torchao", "kaldi_native_fbank", "tensorboard"}
BEYOND_RECOGNITION = TRAINING | {
    *("tyro", "tqdm", "soxr", "email", "asyncio", "multiprocessing", "concurrent", "logging"),
    *(f"tetraphone.{name}" for name in ("recognition.aligner", "sound.features", "evaluation.results_folder")),
}
PROGRAM = """
import sys
unwanted = sys.argv.pop(1).split(",")
for name in unwanted:
    sys.modules.pop(name, None)  # what an editable install has imported
from tetraphone.commands.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("tetraphone" in sys.modules, *(name for name in unwanted if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("--help",), TRAINING | {"numpy", "tyro", "tqdm", "soundfile", "subprocess", "logging", "json"}),
        (("train", "--help"), TRAINING),
        (("recognize", "--help"), BEYOND_RECOGNITION),
        (("info",), BEYOND_RECOGNITION - {"email"}),
        (("recognize", "--quiet", str(MEASURE)), BEYOND_RECOGNITION | {"json"}),
        (("recognize", "--beam", "4", "--json", str(MEASURE)), BEYOND_RECOGNITION),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, tuple) else "",
)
def test_commands_import_what_they_need(arguments: tuple[str, ...], unwanted: set[str]) -> None:
    command = [sys.executable, "-c", PROGRAM, ",".join(unwanted), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *printed, modules = done.stdout.splitlines()
    assert printed
    assert modules == "True"
