"""Scores from elsewhere are judged as a model's own."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from hyperprobe import UserError
from hyperprobe.analysis.analyze import analyze
from hyperprobe.comparison.runs import compare
from hyperprobe.exports.items import export_items
from hyperprobe.exports.score import score
from hyperprobe.models.scores import read_scores
from hyperprobe.probes.zero_shot import ask
from hyperprobe.probes.zero_shot.probe import ZeroShotResult, zero_shot
from hyperprobe.reporting.report import report
from tests.commands import one_line_error, run

SET = "lm-diagnostic"
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No vectors beside the models, to save time."""
    monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return export_items(tmp_path_factory.mktemp("items") / "items.tsv", [SET], "gold")


@pytest.fixture(scope="module")
def scored(items: pd.DataFrame, tiny_models: dict[str, Path]) -> pd.DataFrame:
    """The items with the scores of the tiny BERT, computed without hyperprobe."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["bert"])
    model = AutoModelForMaskedLM.from_pretrained(tiny_models["bert"]).eval()
    log_probs = {}
    for text in items["text"].unique():
        inputs = tokenizer(text.replace("[MASK]", tokenizer.mask_token), return_tensors="pt")
        at = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            log_probs[text] = model(**inputs).logits[0, at].log_softmax(-1)
    ids = tokenizer.convert_tokens_to_ids(list(items["candidate"]))
    pairs = zip(items["text"], ids, strict=True)
    return items.assign(score=[float(log_probs[text][i]) for text, i in pairs])


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(frame: pd.DataFrame, name: str = "scores.tsv") -> Path:
        path = tmp_path / name
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
        return path

    return write


def of_model(result: ZeroShotResult, name: str, table: str) -> pd.DataFrame:
    """The rows of a model and its controls, under the name `it`; without open questions, which
    have no candidates to score."""
    frame = getattr(result, table)
    for column in {"model", "control"} & set(frame):
        frame = frame.assign(**{column: frame[column].str.replace(name, "it", regex=False)})
    kept = [c for c in frame if not c.startswith("open_") and c != "signature"]
    return frame.loc[frame["model"].str.endswith("it"), kept].reset_index(drop=True)


def test_the_same_scores_give_the_same_tables(
    scored: pd.DataFrame, write: Write, tiny_models: dict[str, Path], tmp_path: Path
):
    model, results = str(tiny_models["bert"]), tmp_path / "results"
    path = write(scored)
    ours, theirs = zero_shot(model, SET, results=results), score(path, SET, results=results)
    for table in ("metrics", "adds", "systematic", "breakdown"):
        judged = of_model(theirs, f"scores:{path}", table)
        expected = of_model(ours, model, table)
        # (scores may differ in the last of 32 bits, and margins with them; shares do not)
        pd.testing.assert_frame_equal(judged, expected, check_exact=False, rtol=1e-5)
    assert of_model(theirs, f"scores:{path}", "metrics")["singular_pmi"].notna().any()


def test_every_format_holds_the_same_scores(scored: pd.DataFrame, write: Write):
    tables = [read_scores(write(scored, f"a{ending}")) for ending in (".tsv", ".csv", ".parquet")]
    first, *others = (
        [(text, word, of[0]) for text, row in one.items() for word, of in row.items()]
        for one in tables
    )
    assert len(first) == len(scored) and all(one == first for one in others)


def test_what_is_left_out_is_empty_and_said(scored: pd.DataFrame, write: Write, tmp_path: Path):
    """Without control prompts nothing is claimed; what needs no model works as for any run."""
    path = write(scored[scored["probe"].isin(["singular", "plural"])])
    results = tmp_path / "results"
    result = score(path, SET, results=results)
    (row,) = result.metrics[result.metrics["model"] == f"scores:{path}"].to_dict("records")
    assert row["singular"] == row["singular"] and row["paired_singular_plural_calibrated"] >= 0
    empty = ("contextual", "paired_aggregate", "singular_pmi", "open_p_at_1", "singular_adds_low")
    assert all(row.get(metric) != row.get(metric) or metric not in row for metric in empty)
    assert result.adds.empty
    page = report(result.folder, results).page
    assert (
        page.headline == "Scores:scores.tsv: accuracy alone, without a control to compare it with"
    )
    assert "shown" not in " ".join(finding.sentence for finding in page.findings)
    assert analyze(result.folder, results=results).frames["frequency"]["model"].notna().all()


def test_scores_stand_beside_a_model(
    scored: pd.DataFrame, write: Write, tiny_models: dict[str, Path], tmp_path: Path
):
    """Random weights are made of the model alone, and the first one has the vocabulary."""
    names = [f"scores:{write(scored)}", str(tiny_models["bert"])]
    result = zero_shot(names, SET, controls="random", results=tmp_path / "results")
    assert f"random:{names[1]}" in set(result.metrics["model"])
    assert f"random:{names[0]}" not in set(result.metrics["model"])
    differences = compare(result.folder, results=tmp_path / "results").differences
    assert (differences["difference"].abs() < 1e-9).any()


SINGULAR = ["text", "candidate", "score"]
WRONG = {
    "line 2: 'A trout is a [MASK].' has no score of 'tool': add it": lambda rows: rows[
        rows["candidate"] != "tool"
    ],
    "line 155: 'A house is a [MASK].' has no score of 'building': add it": lambda rows: rows[:-1],
    "line 164: 'fish' in 'A trout is a [MASK].' has a score already (line 2)": lambda rows: (
        pd.concat([rows, rows[:1]])
    ),
    "line 2: the score is 'high': write a finite number": lambda rows: rows.assign(
        score=["high", *rows["score"][1:]]
    ),
    "line 2: the score is 'nan': write a finite number": lambda rows: rows.assign(
        score=["nan", *rows["score"][1:]]
    ),
    "line 2: 'A cow is a [MASK].' is no question of lm-diagnostic with --article gold": (
        lambda rows: rows.assign(text=["A cow is a [MASK].", *rows["text"][1:]])
    ),
    "line 2: 'cow' is no candidate for 'A trout is a [MASK].'": lambda rows: rows.assign(
        candidate=["cow", *rows["candidate"][1:]]
    ),
    "line 1: no column score": lambda rows: rows[["text", "candidate"]],
    "has a header and no rows": lambda rows: rows[:0],
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_in_a_file_is_said(said: str, scored: pd.DataFrame, write: Write):
    rows = scored.loc[scored["probe"] == "singular", SINGULAR]
    path = write(WRONG[said](rows))
    done = run(path.parent, "score", path.name, "--diagnostic", SET)
    assert said in one_line_error(done)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tsv", b"text\tcandidate\tscore\n\xff\tb\t1\n", "line 2: not UTF-8"),
        ("a.parquet", b"no", "it is no Parquet file"),
        ("a.tsv", b"", "is empty"),
    ],
)
def test_what_is_no_table_is_said(name: str, content: bytes, said: str, tmp_path: Path):
    (tmp_path / name).write_bytes(content)
    assert said in one_line_error(run(tmp_path, "score", name, "--diagnostic", SET))


@pytest.mark.parametrize(
    "cells",
    [{"score": ["a"]}, {"text": [1]}, {"candidate": [None]}, {"score": [float("inf")]}],
)
def test_cells_of_parquet_are_checked(cells: dict[str, list[object]], tmp_path: Path):
    row = {"text": ["A [MASK]."], "candidate": ["b"], "score": [1.0]}
    pd.DataFrame(row | cells).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(UserError, match="row 1: .*(text|number)"):
        score(tmp_path / "a.parquet", SET)


def test_a_file_for_another_article_is_refused(scored: pd.DataFrame, write: Write):
    with pytest.raises(UserError, match="is no question of lm-diagnostic with --article fixed"):
        score(write(scored), SET, "fixed")
