"""What the tables of `lama` show where a model answers a part of the facts, or several sources."""

import pandas as pd
import pytest

from hyperprobe.probes.lama.metrics import add_filtered_rank, summarise_facts, summarise_negated
from hyperprobe.probes.lama.tables import (
    aggregate_tables,
    extra_tables,
    relation_tables,
    systems_table,
)
from hyperprobe.render.table import Table


def predictions(model: str, relation: str, ranks: list[int], source: str = "s") -> pd.DataFrame:
    """Of facts with these ranks; 0: the model has no score for the object."""
    return pd.DataFrame(
        {
            "source": source,
            "relation": relation,
            "type": "",
            "model": model,
            "prompt": "p",
            "item": list(map(str, range(len(ranks)))),
            "text": list(map(str, range(len(ranks)))),
            "gold": "x",
            "gold_rank": ranks,
            "gold_tied": 0,
            "gold_tied_before": 0,
            "gold_score": -1.0,
            "n_subject_pieces": 1.0,
        }
    )


def cells(table: Table) -> dict[tuple[str, str], str]:
    """(first cell of the row, header) -> cell; the first row of a name counts."""
    return {
        (row[0], header): cell
        for row in reversed(table.rows)
        for header, cell in zip(table.headers, row, strict=True)
    }


def test_what_a_model_cannot_score_is_no_zero():
    parts = [
        predictions("lm", "P1", [1, 2, 3, 4, 5, 6, 7, 8]),
        predictions("lm", "P2", [1, 3]),
        predictions("glove", "P1", [0, 0, 0, 0, 0, 0, 0, 1]),
        predictions("glove", "P2", [0, 0]),
        predictions("word2vec", "P1", [0] * 8),
        predictions("word2vec", "P2", [0, 0]),
    ]
    metrics = summarise_facts(add_filtered_rank(pd.concat(parts)))
    (relations,) = relation_tables(metrics)
    shown = cells(relations)
    assert shown["P1", "lm"] == "12.5 / 12.5" and shown["P2", "lm"] == "50.0 / 50.0"
    assert shown["P1", "glove"] == "12.5 / 12.5 (12.5 %)"
    assert shown["P2", "glove"] == shown["P1", "word2vec"] == shown["P2", "word2vec"] == "–"
    assert "can score" in relations.caption
    (means,) = aggregate_tables(metrics)
    shown = cells(means)
    assert [shown[m, "scored"] for m in ("lm", "glove", "word2vec")] == ["100.0", "10.0", "0.0"]
    assert shown["glove", "micro P@1"].startswith("10.0 [")
    for number in ("macro P@1", "macro P@10", "macro MRR", "micro P@1", "micro P@10", "micro MRR"):
        assert shown["word2vec", number] == "–" and shown["lm", number] != "–"


def test_where_all_is_scored_nothing_is_said_of_it():
    metrics = summarise_facts(add_filtered_rank(predictions("lm", "P1", [1, 2])))
    (table,) = relation_tables(metrics)
    assert table.caption == "" and cells(table)["P1", "lm"] == "50.0 / 50.0"
    # Runs that do not say how many facts have a score show what they have.
    (old,) = relation_tables(metrics.drop(columns="n_scored"))
    assert old.rows == table.rows


@pytest.mark.parametrize("file", ["negated.csv", "consistency.csv"])
def test_rows_of_several_sources_name_theirs(file: str):
    parts = [
        predictions("lm", "P1", [1, 2], source).assign(overlap=1.0, spearman=0.5)
        for source in ("trex", "mine")
    ]
    frame = summarise_negated(pd.concat(parts)).assign(
        n_patterns=2, p_at_1=0.0, consistency=0.0, consistent_p_at_1=0.0
    )
    (table,) = extra_tables({file: frame})
    assert [row[0] for row in table.rows] == ["trex P1", "mine P1", "trex macro", "mine macro"]


def test_all_systems_in_the_rows_of_the_papers_table():
    parts = []
    for model, first in (("freq", 1), ("fconv:f", 2), ("bert", 1)):
        ranks = [first, 3]
        parts += [
            predictions(model, "P36", ranks, "trex").assign(type="1-1"),
            predictions(model, "place_of_death", [1, 1, 1, 2], "google-re"),
            predictions(model, "mine", ranks, "mine"),
        ]
        if model != "fconv:f":  # a system that has not answered all
            parts.append(predictions(model, "P19", [1, 1, 1, first], "trex").assign(type="N-1"))
    metrics = summarise_facts(add_filtered_rank(pd.concat(parts)))
    (table,) = systems_table(metrics)
    assert table.headers == ("corpus", "relation", "facts", "freq", "fconv:f", "bert")
    assert table.rows == (
        ("google-re", "place_of_death", "4", "75.0", "75.0", "75.0"),
        ("google-re", "total", "4", "75.0", "75.0", "75.0"),
        ("trex", "1-1", "2", "50.0", "0.0", "50.0"),
        ("trex", "N-1", "4", "100.0", "–", "100.0"),
        ("trex", "total", "6", "75.0", "–", "75.0"),
    )
    assert list(systems_table(metrics[metrics["source"] == "mine"])) == []
