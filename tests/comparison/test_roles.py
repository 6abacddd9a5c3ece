"""What a model is, and what of a paper it stands beside, is not in its name."""

from pathlib import Path

import pytest

from hyperprobe.comparison.papers import paper_kind
from hyperprobe.comparison.roles import Models
from hyperprobe.runs.read import FinishedRun

DESCRIBED = [
    {"name": "mine", "kind": "static"},
    {"name": "gpt2-large", "kind": "causal", "architecture": "GPT2LMHeadModel",
     "n_parameters": 774_000_000},
    {"name": "a", "kind": "masked", "architecture": "BertForMaskedLM", "n_parameters": 335_000_000},
    {"name": "bert-large-tiny", "kind": "masked", "architecture": "BertForMaskedLM",
     "n_parameters": 9_000_000},
    {"name": "r", "kind": "masked", "architecture": "RobertaForMaskedLM",
     "n_parameters": 355_000_000},
]  # fmt: skip
MODELS = Models.of(
    FinishedRun(Path("x"), {"models": {f"{m['name']} on d": m for m in DESCRIBED} | {"y": None}})
)


@pytest.mark.parametrize(
    ("name", "role", "row"),
    [
        ("mine", "vectors", "none"),
        ("my.vec", "vectors", "none"),
        ("word2vec", "vectors", "word2vec"),
        ("characters", "baseline", "none"),
        ("random:a", "baseline", "none"),
        ("shuffled:a", "baseline", "none"),
        ("control:a", "baseline", "none"),
        ("control-bare:a", "baseline", "bert-control"),
        ("majority", "baseline", "majority"),
        ("gpt2-large", "language model", "bert"),
    ],
)
def test_roles(name: str, role: str, row: str):
    assert (MODELS.role(name), paper_kind(name, MODELS)) == (role, row)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "bert_large"),
        ("r", "roberta_large"),
        ("gpt2-large", "bert_base"),
        ("bert-large-tiny", "bert_base"),
        ("bert-large-uncased", "bert_base"),  # not described: nothing says that it is large
    ],
)
def test_a_large_model_is_one_of_that_architecture_and_size(name: str, expected: str):
    assert MODELS.paper_model(name) == expected
