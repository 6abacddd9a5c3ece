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
    {"name": "fconv:f", "kind": "fconv", "architecture": "FconvNetwork", "n_parameters": 9},
    {"name": "transformer-xl:t", "kind": "transformer-xl", "sha256": {"config.json": "5"}},
    {"name": "elmo:a", "kind": "elmo",
     "sha256": {"elmo_2x4096_512_2048cnn_2xhighway_options.json": "0"}},
    {"name": "elmo:b", "kind": "elmo",
     "sha256": {"elmo_2x4096_512_2048cnn_2xhighway_5.5B_options.json": "0"}},
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
        ("fconv:f", "fairseq_fconv"),
        ("transformer-xl:t", "transformer_xl_large"),
        ("elmo:a", "elmo_original"),
        ("elmo:b", "elmo_5.5b"),
        ("bert-large-uncased", "bert_base"),  # not described: nothing says that it is large
    ],
)
def test_the_papers_model_is_of_that_family_or_architecture_and_size(name: str, expected: str):
    assert MODELS.paper_model(name) == expected
