"""Signatures: what they name, what they leave out, and how two are told apart."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hyperprobe import UserError
from hyperprobe.comparison.asked import sentences
from hyperprobe.comparison.report import part
from hyperprobe.comparison.runs import Comparison, compare
from hyperprobe.probes.zero_shot import ask
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.render.latex import latex
from hyperprobe.runs.read import read_run
from hyperprobe.runs.signature import common, differences, of_metric, parse, signed
from tests.commands import run

ABOUT: dict[str, Any] = {
    "hyperprobe": "0.3.0",
    "command": "zero-shot",
    "seed": 7,
    "settings": {
        "models": {
            "/models/bert": {"sha256": {"model.safetensors": "a" * 64}},
            "random:/models/bert": {"sha256": {"model.safetensors": "a" * 64}},
            "org/gpt": {"sha256": {}},
        },
        "diagnostics": {"sets/birds.tsv": "b" * 64},
        "article": "gold",
        "shuffled": False,
        "dtype": "fp32",
        "pll": "within-word",
        "causal_scoring": "full",
    },
}
MODELS: dict[str, Any] = {
    "/models/bert": {"kind": "masked"},
    "org/gpt": {"kind": "causal", "revision": "c" * 40},
}
START = "hyperprobe:0.3.0|command:zero-shot|set:birds.tsv.18.bbbbbbbb"


def of(*models: str, **settings: Any) -> list[str]:
    rows = [{"diagnostic": "sets/birds.tsv", "model": name, "n_items": 18} for name in models]
    about = {**ABOUT, "settings": {**ABOUT["settings"], **settings}}
    return signed(pd.DataFrame(rows), about, MODELS)


def test_a_signature_has_what_decides_the_numbers_of_its_row():
    bert, control, random, gpt, majority = of(
        "/models/bert", "control:/models/bert", "random:/models/bert", "org/gpt", "majority"
    )
    masked = "|article:gold|dtype:fp32|pll:within-word|seed:7"
    name = parse(bert)["model"]
    assert name.startswith("bert.") and len(name) == len("bert.") + 8
    assert bert == f"{START}|model:{name}{masked}"
    assert control == f"{START}|model:control:{name}{masked}"
    assert parse(random)["model"] == f"random:{name}"
    assert (
        gpt == f"{START}|model:org/gpt.cccccccc|article:gold|dtype:fp32|causal_scoring:full|seed:7"
    )
    assert majority == f"{START}|model:majority|seed:7"


def test_where_files_lie_plays_no_part_but_their_content_does():
    (one,) = of("/models/bert")
    moved = {"/elsewhere/bert": ABOUT["settings"]["models"]["/models/bert"]}
    assert parse(of("/elsewhere/bert", models=moved)[0])["model"] == parse(one)["model"]
    other = {"/models/bert": {"sha256": {"model.safetensors": "d" * 64}}}
    assert set(differences(one, of("/models/bert", models=other)[0])) == {"model"}


def test_a_setting_is_a_part_once_it_is_on():
    (one,), (other,) = of("/models/bert"), of("/models/bert", shuffled=True, prompts={"a": "b"})
    assert set(differences(one, other)) == {"shuffled", "prompts"}
    assert differences(one, other)["shuffled"] == ("none", "True")


def test_rows_of_a_study_say_their_own_settings():
    rows = [{"diagnostic": "d", "model": "m", "n_items": 1, "article": a} for a in ("gold", None)]
    about = {**ABOUT, "settings": {"models": {}, "settings": {"article": ["gold", "fixed"]}}}
    first, second = signed(pd.DataFrame(rows), about, {})
    assert parse(first)["article"] == "gold" and "article" not in parse(second)


def test_the_signature_of_a_number():
    (row,) = of("/models/bert")
    assert of_metric(row, "singular_calibrated") == f"{row}|metric:singular|score:calibrated"
    assert of_metric(row, "paired_aggregate") == f"{row}|metric:paired_aggregate|score:raw"


def test_what_several_rows_have_in_common():
    shared = common(of("majority", "/models/bert", "org/gpt"))
    assert parse(shared)["model"] == "*"
    assert parse(shared)["article"] == "gold" and parse(shared)["pll"] == "within-word"
    (one,) = of("/models/bert")
    assert common([one, one]) == one


def test_a_bar_in_a_name_is_no_new_part():
    (one,) = of("a|b%c", models={"a|b%c": {}})
    assert parse(one)["model"] == "a|b%c" and parse(common([one]))["model"] == "a|b%c"


@pytest.mark.parametrize("text", ["", "bleu:1", "hyperprobe:1|article"])
def test_what_is_no_signature_is_refused(text: str):
    with pytest.raises(UserError, match="is no signature"):
        parse(text)


def test_runs_are_signed_and_compared_by_their_signatures(
    tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The column is the same in memory, in the file, on the terminal and in LaTeX."""
    monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())
    model = str(tiny_models["bert"])
    command = ["zero-shot", "--model", model, "--diagnostic", "lm-diagnostic", "--signature"]
    said = run(tmp_path, *command).stdout
    results = tmp_path / "results"
    gold, fixed = (
        zero_shot(model, "lm-diagnostic", article, results=results) for article in ("gold", "fixed")
    )
    stored = pd.read_csv(gold.folder / "metrics.csv")
    assert list(stored.columns)[-1] == "signature"
    assert stored["signature"].tolist() == gold.metrics["signature"].tolist()
    shared = common(stored["signature"])
    assert shared in said.splitlines() and "|article:gold|" in shared and "|model:*|" in shared
    adds = pd.read_csv(gold.folder / "adds.csv")
    assert adds["signature"].tolist() == gold.adds["signature"].tolist()
    parts, control = parse(adds["signature"][0]), adds["control"][0]
    assert parts == {**parse(stored["signature"].iloc[-1]), "control": control}
    tables = [table for table in gold.tables() if table.signature]
    assert {table.signature for table in tables} == {shared, common(adds["signature"])}
    assert "article:gold" in latex(tables[0], "x") and "bert" in latex(tables[0], "x")
    compared = compare([gold.folder, fixed.folder], results=results)
    again = Comparison.read(read_run(compared.folder))
    for one in (compared, again):
        assert list(sentences(one.asked)) == [
            f"{gold.folder.name} and {fixed.folder.name} were asked differently: article: gold "
            "against fixed."
        ]
    (section,) = part({"c": read_run(compared.folder)}).sections
    assert section.words == " ".join(sentences(compared.asked))
