"""What the other commands return and print."""

import json
import math
from pathlib import Path

import pytest
import torch
from cli import json_of, run


def test_quantize_and_export_say_what_they_wrote(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for weights, bits in (("int8", 8), ("int4", 4)):
        path, program = tmp_path / f"{weights}.pt", tmp_path / f"{weights}.pte"
        result = json_of(capfd, "quantize", work / "model.pt", path, "--weights", weights)
        count = 4 * 32 * (480 + 32 + 32 + 32) // 4 + 32 * 40
        assert result == {"checkpoint": str(path), "quantized_weights": count, "number_format": weights}
        result = json_of(capfd, "export", path, program)
        assert (result["number_format"], result["weights"]) == (weights, count)
        assert result["bytes"] == program.stat().st_size
        assert result["weight_bytes"] >= count * bits // 8


def test_evaluate_agrees_for_checkpoint_and_program(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    keys = (
        *("phone_error_rate", "substitutions", "deletions", "insertions", "reference_phones", "utterances"),
        *("phone_set", "real_time_factor"),
    )
    results = {}
    for name in ("model.pt", "model.pte", "int8.pt", "int8.pte"):
        results[name] = json_of(capfd, "evaluate", work / name, work / "corpus.jsonl")
        assert results[name].keys() >= set(keys)
        assert (results[name]["reference_phones"], results[name]["utterances"]) == (6, 3)
        assert results[name]["phone_set"].startswith("39 ARPABET")
        edits = sum(results[name][key] for key in ("substitutions", "deletions", "insertions"))
        assert results[name]["phone_error_rate"] == pytest.approx(100 * edits / 6, abs=1e-3)
        assert results[name]["real_time_factor"] > 0
    assert all(results["model.pt"][key] == results["model.pte"][key] for key in keys[:-1])
    rates = [results[name]["phone_error_rate"] for name in ("int8.pt", "int8.pte")]
    assert rates[0] == pytest.approx(rates[1], rel=0.1)


def test_evaluate_shows_and_names_on_stderr(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = (work / "corpus.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines]
    items[0]["audio"] = "text.wav"
    items[1]["audio"] = "none.wav"
    manifest = work / "faulty.jsonl"
    manifest.write_text("\n".join(map(json.dumps, items)))
    capfd.readouterr()
    assert run("evaluate", work / "model.pte", manifest, "--show", 5, "--json") == 0
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert result["utterances"] == 1
    assert len(result["problems"]) == 2
    assert "text.wav" in err
    assert "none.wav" in err
    assert err.count("reference:  AA B") == 1
    manifest.write_text("\n".join(map(json.dumps, items[:2])))
    assert run("evaluate", work / "model.pte", manifest) == 1
    assert "faulty.jsonl" in capfd.readouterr().err


def test_benchmark_prints_ratios(capfd: pytest.CaptureFixture[str]) -> None:
    small = ("--widths", 64, "--linear-widths", 8, "--linear-rows", 4, "--inputs", 8, "--frames", 2, "--batch-size", 2)
    threads = torch.get_num_threads()
    result = json_of(capfd, "benchmark", "training", *small, "--repetitions", 1, "--memory-processes", 1)
    assert torch.get_num_threads() == threads
    assert result["figure"] == "training"
    step, linear = result["recurrent"]["64"], result["linear"]["8"]
    assert step["parameters"]["qlstm"] < step["parameters"]["lstm"]
    for ratio in (step["ratio"]["lstm"], step["peak_memory_ratio"], linear["ratio"]["real"]):
        assert 0 < ratio < math.inf
    assert run("benchmark", "training", "--repetitions", 0) == 1
    assert "repetitions is 0; it must be at least 1" in capfd.readouterr().err


def test_results_of_new_commands_are_printed(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in (work / "corpus.jsonl").read_text().splitlines()]
    heard = json_of(capfd, "recognize", work / "0.wav", "--model", work / "model.pte")["phones"]
    lines[0]["phones"] = [item["phone"] for item in heard]  # right there, wrong in the others
    (work / "altered.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run("calibrate", work / "model.pt", work / "altered.jsonl", tmp_path / "model.pt") == 0
    printed = capfd.readouterr().out
    assert "slope:" in printed
    assert "blank shift:" in printed
    assert run("corpus", "bigram", work / "corpus.jsonl", "--output", tmp_path / "bigram.fst") == 0
    assert "phones:" in capfd.readouterr().out
    beam = ("--beam", "4", "--grammar", tmp_path / "bigram.fst")
    result = json_of(capfd, "evaluate", work / "model.pte", work / "corpus.jsonl", *beam)
    assert result["decoding"]["beam"] == "4"
    assert result["decoding"]["grammar"] == str(tmp_path / "bigram.fst")
    assert run("evaluate", work / "model.pt", work / "corpus.jsonl", "--threads", "0") == 1
    assert run("evaluate", work / "model.pt", work / "corpus.jsonl", "--beam", "4") == 1
