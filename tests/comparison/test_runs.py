"""Only numbers of one kind stand beside each other."""

from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.comparison.runs import _comparable, compare, is_metric
from hyperprobe.errors import UserError
from hyperprobe.probes.zero_shot.tables import has_paper_items
from tests.reporting.toys import other_run


@pytest.mark.parametrize(
    ("metric", "one", "other", "expected"),
    [
        ("open_p_at_1", ("word2vec", "A"), ("bert", "B"), False),
        ("open_p_at_1", ("bert", "A"), ("mine.vec", "B"), False),
        ("open_p_at_1", ("word2vec", "A"), ("bert", "A"), True),
        ("open_p_at_1", ("bert", "A"), ("gpt2", "B"), True),
        ("singular", ("word2vec", "A"), ("bert", "B"), True),
    ],
)
def test_vectors_answer_open_questions_from_their_runs_words(
    metric: str, one: tuple[str, str], other: tuple[str, str], expected: bool
):
    assert _comparable(metric, one, other) == expected


@pytest.mark.parametrize(
    ("name", "n", "expected"),
    [
        ("lm-diagnostic-extended", 576, True),
        ("lm-diagnostic-extended", 100, False),
        ("lm-diagnostic", 18, False),
        ("own.tsv", 576, False),
    ],
)
def test_the_papers_bert_stands_beside_its_own_set(name: str, n: int, expected: bool):
    assert has_paper_items(pd.DataFrame({"diagnostic": [name], "n_items": [n]})) == expected


def rows_of(**columns: object) -> list[dict[str, object]]:
    return [
        {"source": "wordnet", "relation": "macro", "type": None, **columns, **own}
        for own in (
            {"model": "a", "p_at_1": 30.0, "p_at_1_low": 28.0, "p_at_1_high": 33.0, "mrr": 0.4123},
            {"model": "b", "p_at_1": 20.0, "p_at_1_low": 18.0, "p_at_1_high": 23.0, "mrr": 0.3111},
        )
    ]


def test_a_reciprocal_rank_has_three_decimals(tmp_path: Path):
    run = other_run(tmp_path, "lama", rows_of(ranking="raw", n_facts=9))
    (table,) = compare(run, results=tmp_path).tables()
    shown = {row[0]: row[1:4] for row in table.rows}
    assert shown["MRR"][:2] == ("0.412", "0.311") and shown["MRR"][2].startswith("0.101")
    assert shown["P@1"][:2] == ("30.0", "20.0")


def test_spreads_are_no_results():
    assert not any(map(is_metric, ("std_between_folds", "accuracy_std", "n_test", "p_at_1_low")))
    assert is_metric("accuracy_mean")


def test_methods_of_a_prompt_search_are_compared(tmp_path: Path):
    rows = [
        {"source": "wordnet", "relation": relation, "type": None, "model": "bert", "method": method,
         "control": control, "p_at_1": value, "p_at_1_low": value - 1, "p_at_1_high": value + 1,
         "mrr": 0.1, "elicits_majority": 5.0, "n_facts": 9}
        for relation in ("macro", "is-a")
        for method, control, value in (
            ("manual", "none", 3.0), ("optiprompt", "none", 9.0),
            ("optiprompt", "random-model", 4.0), ("majority", None, 2.0),
        )
    ]  # fmt: skip
    run = other_run(tmp_path, "prompts", rows, settings={"options": {"vectors": "manual"}})
    made = compare(run, results=tmp_path)
    sides = {*made.differences["model"], *made.differences["other"]}
    assert sides == {"bert, manual", "bert, optiprompt", "bert, majority"}
    assert set(made.differences["setting"]) == {"wordnet macro"}
    assert set(made.differences["metric"]) == {"p_at_1", "mrr"}
    first = made.differences[made.differences["metric"] == "p_at_1"].iloc[0]
    assert (first["model"], first["other"], first["difference"]) == (
        "bert, manual",
        "bert, optiprompt",
        -6.0,
    )


def test_what_the_papers_lack_is_not_asked_for_again(tmp_path: Path):
    run = other_run(tmp_path, "lama", rows_of(ranking="raw", n_facts=9)[:1])
    with pytest.raises(UserError, match="or pass --published"):
        compare(run, results=tmp_path)
    with pytest.raises(UserError, match="the papers have no numbers of these"):
        compare(run, True, results=tmp_path)
