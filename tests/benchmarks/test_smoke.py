"""Every benchmark runs, on a handful of items; its numbers are the business of `make benchmark`."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import (
    causal,
    consistency,
    documents,
    facts,
    false_claims,
    flat,
    gpu,
    kernels,
    kills,
    lama_models,
    parity,
    processors,
    scoring,
    start,
)
from benchmarks.flat import CATEGORIES
from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.reading import build

WORDS = CandidateSet(("bird", "fish", "tree", "tool"))


def test_scoring(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(facts, "build_diagnostic", lambda name, size: load_diagnostic(name))
    some, _ = facts.hypernymy_facts(6, 0)
    few = [(cloze, WORDS.words[i % len(WORDS)]) for i, (cloze, _) in enumerate(some)]
    monkeypatch.setattr(scoring, "hypernymy_facts", lambda n, seed: (few[:n], WORDS))
    monkeypatch.setattr(scoring, "SLOW_FACTS", 2)
    monkeypatch.setattr(facts, "BERT_BASE_VOCABULARY", 200)
    monkeypatch.setattr(scoring, "run_alone", scoring.measured)  # in this process
    scoring.main(["--facts", "4", "--rounds", "2", "--layers", "1", "--threads", "1"])
    out = capsys.readouterr().out
    assert "hyperprobe, bf16" in out
    assert "LAMA's protocol, restated: 4 of 4 ranks equal hyperprobe's" in out
    assert "fill-mask pipeline: 2 of 2 ranks equal hyperprobe's" in out
    assert find_spec("minicons") is None or "minicons: 4 of 4" in out


def test_kernels(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(facts, "build_diagnostic", lambda name, size: load_diagnostic(name))
    some, _ = facts.hypernymy_facts(6, 0)
    monkeypatch.setattr(kernels, "hypernymy_facts", lambda n, seed: (some[:n], WORDS))
    monkeypatch.setattr(facts, "BERT_BASE_VOCABULARY", 200)
    monkeypatch.setattr(kernels, "ROWS", (1, 2))
    kernels.main(["--facts", "3", "6", "--rounds", "1", "--layers", "1"])
    out = capsys.readouterr().out
    assert "6 facts: tokens a real one" in out and "transposed weights" in out


def test_lama_models(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(facts, "build_diagnostic", lambda name, size: load_diagnostic(name))
    some, _ = facts.hypernymy_facts(4, 0)
    few = [(cloze, WORDS.words[i % len(WORDS)]) for i, (cloze, _) in enumerate(some)]
    monkeypatch.setattr(lama_models, "hypernymy_facts", lambda n, seed: (few[:n], WORDS))
    lama_models.main(["--facts", "4", "--divide", "64"])
    out = capsys.readouterr().out
    assert out.count("4 of 4") == len(lama_models.MODELS)


def test_documents(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(build, "N_BUCKETS", 4096)
    monkeypatch.setattr(documents, "VOCABULARY", 500)
    documents.main(["--words", "2000"])
    assert "2,000 words in 20 texts" in capsys.readouterr().out


def test_causal(capsys: pytest.CaptureFixture[str]):
    causal.main(
        ["--layers", "1", "--width", "24", "--sample", "2", "--diagnostic", "lm-diagnostic"]
    )
    out = capsys.readouterr().out
    assert "singular, full" in out and "contextual, continuation" in out


def test_parity(capsys: pytest.CaptureFixture[str]):
    parity.main(["--prompts", "1"])
    out = capsys.readouterr().out
    assert "Largest difference from ours" in out and "NO" not in out.split()


def test_consistency(capsys: pytest.CaptureFixture[str]):
    consistency.main(["--layers", "1", "--width", "64", "--diagnostic", "lm-diagnostic"])
    assert "ratio:" in capsys.readouterr().out


@pytest.mark.parametrize("shape", ["bert-base", "pythia-1b", "llama-7b"])
def test_gpu(shape: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(facts, "build_diagnostic", lambda name, size: load_diagnostic(name))
    some, _ = facts.hypernymy_facts(6, 0)
    few = [(cloze, WORDS.words[i % len(WORDS)]) for i, (cloze, _) in enumerate(some)]
    monkeypatch.setattr(gpu, "hypernymy_facts", lambda n, seed: (few[:n], WORDS))
    monkeypatch.setattr(facts, "BERT_BASE_VOCABULARY", 200)
    asked: list[str] = []
    monkeypatch.setattr(gpu, "ask_consistently", lambda *_: asked.append("consistency"))
    monkeypatch.setattr(gpu, "ask_zero_shot", lambda *_: asked)
    words = ["--shape", shape, "--device", "cpu", "--facts", "6", "--check", "4"]
    gpu.main([*words, "--divide", "64", "--diagnostic", "lm-diagnostic"])
    out = capsys.readouterr().out
    assert "the same best candidate for 4 of 4" in out
    assert f"{shape} on cpu, fp32: 6 of 6 ranks equal the reference's" in out
    assert f"{shape} on cpu, bf16: lama" in out and asked == ["consistency"] * 2


def test_kills(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(kills, "MODELS", ("gpt2",))
    kills.main(["--kills", "1", "--items", "2"])
    out = capsys.readouterr().out
    assert "0 cells lost, 0 computed again" in out and "0 half-written files left" in out


def test_false_claims(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(false_claims, "ASKED", load_set("lm-diagnostic"))
    kinds = {"a bias": false_claims.constant}
    monkeypatch.setattr(false_claims, "KINDS", kinds)
    false_claims.main(1)
    out = capsys.readouterr().out
    assert "a bias: over nouns 0 %, by the rules 0 %" in out and "random weights:" in out


def test_start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(start, "COMMANDS", {"the version": ["--version"]})
    start.main(["--rounds", "1"])
    assert "the version" in capsys.readouterr().out
    monkeypatch.setattr(start, "COMMANDS", {"none": ["--none"]})
    with pytest.raises(SystemExit, match="--none of .*: hyperprobe: error"):
        start.main(["--rounds", "1"])


def test_processors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="zero-shot --none: hyperprobe: error"):
        processors.main(["--command", "zero-shot --none"])
    one = pd.DataFrame({"model": ["a", "b"], "n": [1, 2], "share": [0.5, np.nan]})
    assert processors.differences(one, one.assign(share=[0.5 + 1e-12, np.nan])) is None
    other = one.assign(model=["a", "c"], share=[0.25, 1.0])
    assert processors.differences(one, other) == (3, 0.25, "share")
    n, largest, where = processors.differences(one, one[:1]) or (0, 0.0, "")
    assert (n, where) == (6, "2 and 1 rows") and np.isnan(largest)
    made = {"1": {"a.csv": one, "b.csv": one}, "2": {"a.csv": one, "b.csv": other}}
    monkeypatch.setattr(
        processors, "tables", lambda _, settings: made[settings.get("OMP_NUM_THREADS", "1")]
    )
    processors.main(["--command", "lama"])
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line.split() for line in lines if "lama" in line)
    assert row == ["lama", "b.csv", "3", "0.2", "share"]


def test_flat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setitem(flat.CASES, "items", (flat.items, 9))
    monkeypatch.setattr(flat, "FEW", 9)
    monkeypatch.setattr(flat, "_words", lambda: [*CATEGORIES, "robin", "oak"])
    flat.main(["--case", "items", "9", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    said = [json.loads(line) for line in lines if line.startswith("{")]
    ((name, *_, above),) = flat.rows_of("items", 9, said)
    assert name == "items (9 items)" and float(above) >= 0
