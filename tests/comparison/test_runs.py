"""Only numbers of one kind stand beside each other."""

import pandas as pd
import pytest

from hyperprobe.comparison.runs import _comparable
from hyperprobe.probes.zero_shot.tables import has_paper_items


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
