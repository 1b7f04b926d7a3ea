"""The recogniser's C++ programs: the command against Python, mutations of a model, threads, a C++ user, and aarch64.

`make recognizer-tests` and `make arm-recognizer` build them; what is not built is skipped, with the reason.
"""

import json
import os
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from checkpoints import energy_program, make_checkpoint

from tetraphone.evaluation.models import load_model
from tetraphone.evaluation.recognize import recognize
from tetraphone.export.writer import export
from tetraphone.recognition.lexicon import SHIPPED
from tetraphone.sound.audio import Samples, read_recording
from tetraphone.sound.features import FeatureOptions

BUILD = Path(__file__).parents[2] / "build"
FUZZ = Path(__file__).parents[1] / "native" / "fuzz"
MEASURE = BUILD.parent / "android_demo/app/src/main/assets/measure.wav"
RATE = 16000


def program(folder: str, name: str) -> Path:
    path = BUILD / folder / name
    if not path.is_file():
        pytest.skip(f"{path} is not built; run `make test`")
    return path


def run(*arguments: str | Path, timeout: float = 300, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=timeout, **options)  # type: ignore[call-overload, no-any-return]


def emulated(processor: str, path: Path) -> list[str | Path]:
    """The command that runs an aarch64 program here."""
    emulator = shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("qemu-aarch64 is missing (Debian: qemu-user)")
    return [emulator, "-cpu", processor, "-L", "/usr/aarch64-linux-gnu", path]


def write_wav(path: Path, samples: Samples) -> Path:
    soundfile.write(path, samples, RATE, subtype="PCM_16")
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "int8.pte"
    export(make_checkpoint("int8", hidden=64, features=FeatureOptions()), path)
    return path


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which the program is most of the bytes."""
    path = tmp_path_factory.mktemp("native") / "small.pte"
    export(make_checkpoint("int8", hidden=4, layers=1), path)
    return path


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Twenty recordings as 16 kHz WAV: real ones where there are some, else noise that comes and goes."""
    folder = tmp_path_factory.mktemp("recordings")
    real = sorted((Path(__file__).parents[3] / "shared/corpora/speechocean762/WAVE").rglob("*.*"))[::250][:20]
    if real:
        return [write_wav(folder / f"{path.stem}.wav", read_recording(path, RATE)) for path in real]
    draw = np.random.default_rng(0)
    loudness = np.repeat(draw.uniform(0, 0.3, (20, 30)), RATE // 10, axis=1)
    sounds = loudness * draw.standard_normal(loudness.shape)
    return [write_wav(folder / f"{index}.wav", sound) for index, sound in enumerate(sounds)]


def test_command_gives_the_phones_of_python(model: Path, recordings: list[Path]) -> None:
    command = program("recognizer", "native/tetraphone-recognize")
    done = run(command, "--model", model, "--json", *recordings)
    assert done.returncode == 0, done.stderr
    loaded = load_model(model)
    expected = [recognize(path, loaded).as_dict() for path in recordings]
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
    assert sum(len(item["phones"]) for item in expected) > 20


@pytest.mark.parametrize("processor", ["cortex-a53", "cortex-a76", "max"])
def test_command_on_emulated_arm_gives_the_same_bytes(processor: str, model: Path, recordings: list[Path]) -> None:
    here = run(program("recognizer", "native/tetraphone-recognize"), "--model", model, "--json", *recordings)
    there = program("recognizer-aarch64", "native/tetraphone-recognize")
    done = run(*emulated(processor, there), "--model", model, "--json", *recordings)
    assert done.returncode == 0, done.stderr
    assert done.stdout == here.stdout


@pytest.mark.parametrize("processor", ["cortex-a53", "cortex-a76", "max"])
@pytest.mark.parametrize("test", ["aligner", "decoder", "features", "numerics", "resampler"])
def test_hashes_on_emulated_arm(test: str, processor: str) -> None:
    """Features, resampled sound, elementary functions, phones and aligned ones have the bits that they have here."""
    done = run(*emulated(processor, program("recognizer-aarch64", f"{test}_test")), "--gtest_filter=*EveryProcessor*")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "PASSED  ] 0" not in done.stdout


def test_one_static_file_without_executorch_gives_the_same_bytes(model: Path, recordings: list[Path]) -> None:
    alone = program("direct", "tetraphone-recognize")
    assert b"INTERP" not in run("readelf", "--program-headers", alone).stdout.encode()  # no loader, so no library
    assert b"executorch" not in alone.read_bytes()
    expected = run(program("recognizer", "native/tetraphone-recognize"), "--model", model, "--json", *recordings)
    done = run(alone, "--model", model, "--json", *recordings, env={})
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
    assert expected.stdout


def test_samples_from_a_pipe_give_the_same_phones(model: Path, recordings: list[Path]) -> None:
    command = program("recognizer", "native/tetraphone-recognize")
    whole = run(command, "--model", model, recordings[0])
    with wave.open(str(recordings[0])) as file:
        samples = file.readframes(file.getnframes())
    pipe = subprocess.Popen(
        [command, "--model", model, "--raw", str(RATE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert pipe.stdin is not None
    for start in range(0, len(samples), 977):  # an odd number of bytes
        pipe.stdin.write(samples[start : start + 977])
        pipe.stdin.flush()
    assert pipe.communicate()[0].decode() == whole.stdout != ""


@pytest.mark.parametrize("file", ["one program", "programs"])
@pytest.mark.parametrize("build", ["recognizer", "fuzz"])
def test_mutations_of_a_model_never_crash(build: str, file: str, small: Path) -> None:
    path = FUZZ / "corpus/model/programs.pte" if file == "programs" else small
    done = run(program(build, "mutations"), path, 10000, 1, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "10000 mutations" in done.stdout


@pytest.mark.parametrize("engine", ["direct", "executorch"])
@pytest.mark.parametrize(("build", "streams"), [("recognizer", 64), ("recognizer-tsan", 16)])
def test_streams_at_once(build: str, streams: int, engine: str, model: Path) -> None:
    done = run(program(build, "streams"), model, streams, env={**os.environ, "TETRAPHONE_ENGINE": engine})
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_two_hours(tmp_path: Path) -> None:
    hours = program("recognizer", "hours")
    (tmp_path / "energy.pte").write_bytes(energy_program())
    for number_format in ("int8", "float32"):
        checkpoint = make_checkpoint(number_format, hidden=16, layers=1, features=FeatureOptions())
        export(checkpoint, tmp_path / f"{number_format}.pte")
    files = [tmp_path / f"{name}.pte" for name in ("energy", "int8", "float32")]
    done = run(hours, *files, 2, timeout=900)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("target", ["wav", "program", "model", "chunks", "lexicon", "align"])
def test_fuzz_targets_run_clean_over_their_corpora(target: str, tmp_path: Path) -> None:
    """A short run; `make fuzz` is the long one."""
    fuzz = program("fuzz", f"{target}_fuzz")
    seeds = tmp_path / "corpus"
    shutil.copytree(FUZZ / "corpus" / target.replace("program", "model"), seeds)
    files = {"MODEL": FUZZ / "corpus/model/qlstm-int8.pte", "LEXICON": SHIPPED}
    environment = {**os.environ, **{f"TETRAPHONE_FUZZ_{name}": str(path) for name, path in files.items()}}
    limits = ("-max_total_time=15", "-timeout=20", "-rss_limit_mb=1024", f"-artifact_prefix={tmp_path}/")
    # By a shell: libFuzzer's count of memory starts with that of the process which forked it, and pytest's is large.
    done = run("sh", "-c", '"$@"; exit $?', "sh", fuzz, *limits, seeds, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]


PROJECT = """
cmake_minimum_required(VERSION 3.28)
project(consumer LANGUAGES C CXX)
find_package(Tetraphone REQUIRED)
add_executable(from-cpp recognize.cc)
target_link_libraries(from-cpp PRIVATE Tetraphone::tetraphone_recognizer)
if(TARGET Tetraphone::tetraphone)
  add_executable(from-c recognize.c)
  target_link_libraries(from-c PRIVATE Tetraphone::tetraphone)
endif()
"""


@pytest.mark.parametrize(
    ("build", "examples"), [("recognizer/native", ["from-cpp"]), ("direct", ["from-cpp", "from-c"])]
)
def test_find_package_serves_the_examples(build: str, examples: list[str], tmp_path: Path) -> None:
    """Those of docs/embed.md, in a project of their own."""
    command = program(build, "tetraphone-recognize")
    cmake = Path(sys.prefix) / "bin" / "cmake"
    prefix, project = tmp_path / "prefix", tmp_path / "project"
    project.mkdir()
    for name in ("recognize.c", "recognize.cc"):
        shutil.copy(BUILD.parent / "native" / "examples" / name, project)
    (project / "CMakeLists.txt").write_text(PROJECT)
    found = (f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPython_ROOT_DIR={sys.prefix}")
    steps = (
        (cmake, "--install", BUILD / build, "--component", "cpp", "--prefix", prefix),
        (cmake, "-S", project, "-B", project / "build", *found),
        (cmake, "--build", project / "build"),
    )
    for step in steps:
        done = run(*step)
        assert done.returncode == 0, done.stdout + done.stderr
    shipped = BUILD.parent / "models" / "english-int8.pte"
    sound, rate = soundfile.read(MEASURE, dtype="int16")
    assert rate == 16000
    expected = json.loads(run(command, "--model", shipped, "--json", MEASURE).stdout)["phones"]
    lines = [f"{item['start']:.2f} {item['end']:.2f} {item['phone']} {item['confidence']:.4f}" for item in expected]
    assert len(lines) > 5
    for example in examples:
        done = subprocess.run(
            [project / "build" / example, shipped], input=sound.tobytes(), capture_output=True, check=True
        )
        assert done.stdout.decode().splitlines() == lines, example
        missing = run(project / "build" / example, "missing.pte")
        assert missing.returncode == 1
        assert "missing.pte" in missing.stderr
