"""Runs beside the papers' tables."""

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest

from hyperprobe.comparison.report import comparison_findings
from hyperprobe.comparison.runs import compare
from hyperprobe.data.published import read_published
from hyperprobe.errors import UserError
from hyperprobe.statistics.intervals import newcombe_interval, wilson_interval
from tests.reporting.toys import CLASSIFY, LAMA, other_run


def test_intervals_of_shares():
    ours = wilson_interval(0.3, 40)
    theirs = binomtest(12, 40).proportion_ci(method="wilson")
    assert ours == pytest.approx((theirs.low, theirs.high))
    # Newcombe (1998), Table II, case (a), method 10: 56/70 and 48/80.
    assert newcombe_interval(56 / 70, 70, 48 / 80, 80) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_other_commands_are_compared_with_their_tables(tmp_path: Path):
    runs = [
        other_run(tmp_path, "lama", LAMA), other_run(tmp_path, "classify", CLASSIFY),
        other_run(tmp_path, "lama", [{**row, "model": "m"} for row in LAMA], "y"),
    ]  # fmt: skip
    table = compare(runs, published=True, results=tmp_path).differences
    paper = table[table["other"].str.startswith("published")]
    assert not paper["setting"].str.contains("filtered").any()
    lama = paper[(paper["command"] == "lama") & (paper["model"] == "bert-base")]
    assert lama["other_value"].tolist() == [31.1, 32.4, 13.1]  # BERT-base
    assert lama["difference_low"].iloc[0] == pytest.approx(28 - 31.1)
    assert paper[paper["command"] == "classify"]["other_value"].tolist() == [92.81, 48.36]
    between = table[~table["other"].str.startswith("published") & (table["metric"] == "p_at_1")]
    assert len(between) == len(LAMA) and (between["difference"] == 0).all()
    with pytest.raises(UserError, match="nothing to compare"):
        compare(runs[1:2], results=tmp_path)


def test_relation_extraction_is_compared_with_its_columns(tmp_path: Path):
    macro = next(row for row in LAMA if row["relation"] == "macro" and row["ranking"] == "raw")
    rows = [{**macro, "model": name} for name in ("re_naive", "re_oracle")]
    table = compare([other_run(tmp_path, "lama", rows)], published=True, results=tmp_path)
    paper = table.differences[table.differences["other"].str.startswith("published")]
    assert paper["other_value"].tolist() == [6.1, 33.8]


@pytest.mark.parametrize(("start", "expected"), [
    ("manual", [31.1, 21.8, 41.5, 24.3, 48.6, 59.6, 56.7, 11.8, 19.9, 24.6, 59.6, 54.9, 19.3]),
    # Of five vectors the paper has but the overall
    ("5", [31.1, 41.5, 24.3, 21.8, 47.6, 49.6, 24.6, 59.6, 54.9]),
])  # fmt: skip
def test_prompt_search_is_compared_with_its_tables(
    tmp_path: Path, start: str, expected: list[float]
):
    base = {"source": "trex", "type": None, "p_at_1": 40.0, "p_at_1_low": 38.0,
            "p_at_1_high": 42.0, "p_at_1_majority": math.nan}  # fmt: skip
    rows = [
        {**base, "relation": relation, "model": model, "method": method, "control": control, **more}
        for relation, model, method, control, more in (
            ("macro", "bert-base-cased", "manual", "none",
             {"p_at_1_uhn": 5.0, "p_at_1_easy": 6.0, "p_at_1_hard": 7.0}),
            ("macro", "bert-base-cased", "optiprompt", "none", {}),
            ("1-1", "bert-base-cased", "optiprompt", "none", {}),
            ("P1376", "bert-base-cased", "optiprompt", "none", {}),
            ("P36", "bert-base-cased", "optiprompt", "random-embeddings", {}),
            ("macro", "bert-base-cased", "optiprompt", "random-model", {}),
            ("macro", "bert-base-cased", "naive-bayes", None, {}),
            ("P463", "bert-base-cased", "naive-bayes", None, {}),
            ("macro", "bert-large-cased", "finetune", "none", {}),
            ("macro", "bert-large-cased", "optiprompt", "random-model", {}),
            ("is-a", "bert-base-cased", "manual", "none", {"source": "wordnet"}),
        )
    ]  # fmt: skip
    large = {"name": "bert-large-cased", "kind": "masked", "architecture": "BertForMaskedLM",
             "n_parameters": 334_000_000}  # fmt: skip
    run = other_run(
        tmp_path, "prompts", rows, settings={"options": {"vectors": start}}, models={"c": large}
    )
    table = compare([run], published=True, results=tmp_path).differences
    paper = table[table["other"].str.startswith("published")]
    assert sorted(paper["other_value"]) == sorted(expected)
    one = paper[(paper["metric"] == "p_at_1") & (paper["setting"] == "trex macro optiprompt none")]
    assert one["other"].tolist()[0] == f"published bert_base optiprompt-{start}"
    assert one["difference_low"].iloc[0] == pytest.approx(38 - one["other_value"].iloc[0])
    assert one["other_run"].iloc[0] == "Zhong, Friedman & Chen (2021), Table 2"
    assert all("nan" not in finding.sentence for finding in comparison_findings(table))


def test_published_tables_are_as_in_the_papers(shared: Path):
    for path in sorted((shared / "published").glob("*.csv")):
        ours, source = read_published(path.stem)
        pd.testing.assert_frame_equal(ours, pd.read_csv(path))
        assert re.fullmatch(r".+ \(20\d\d\), (Tables?|Figure|section) .+", source), source
