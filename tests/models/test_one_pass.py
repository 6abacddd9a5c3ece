"""A closed and an open question about one text, asked in one pass and apart."""

from pathlib import Path

import numpy as np
import pytest

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.models.language import LanguageModel
from hyperprobe.models.load import load_model
from tests.lama_files import SAVERS
from tests.tiny_models import save_model

TEXTS = (
    "A robin is a [MASK].",
    "Robins are [MASK] in winter, when some snow is in the tree.",
    "A robin is a [MASK].",  # the same text again
    "A robin (a [MASK]) perches.",
    "It is a [MASK].",  # of which nothing is asked openly
)
CLOZES = [parse_cloze(text, str(i)) for i, text in enumerate(TEXTS)]
GOLD = ["bird", "zebras", "fish", "bird"]
ASKED = (
    ("bert", "full"),
    ("roberta", "full"),
    ("GPT2", "full"),
    ("GPT2", "continuation"),
    ("Mamba", "full"),  # without keys and values
    ("T5", "full"),
    ("Bart", "continuation"),
    ("fconv", "full"),
    ("transformer-xl", "continuation"),
    ("elmo", "full"),  # in two passes
)


@pytest.fixture(scope="module", params=ASKED, ids="-".join)
def model(
    request: pytest.FixtureRequest,
    tiny_models: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> LanguageModel:
    family, scoring = request.param
    folder = tiny_models.get(family) or tmp_path_factory.mktemp(family)
    name = str(folder)
    if family in SAVERS:
        name = f"{family}:{SAVERS[family](folder)}"
    elif family not in tiny_models:
        save_model(family, folder)
    loaded = load_model(name, device="cpu", causal_scoring=scoring)
    assert isinstance(loaded, LanguageModel)
    return loaded


# One piece and several, one piece alone, several alone; of a word-level model one is unknown.
@pytest.mark.parametrize("words", [("bird", "zebras", "fish"), ("bird", "fish"), ("zebras",)])
def test_one_pass_gives_what_two_give(
    model: LanguageModel, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    model.tokens_read, model.max_rows, candidates = 0, 128, CandidateSet(words)
    expected = model.score(CLOZES, candidates), *model.rank_open(CLOZES[: len(GOLD)], GOLD, 5)
    apart, model.tokens_read = model.tokens_read, 0
    scores, ranking, top = model.score_and_rank_open(CLOZES, candidates, GOLD, 5)
    check(expected[0], scores)
    check(expected[1].gold_score, ranking.gold_score)
    assert (ranking.gold_rank == expected[1].gold_rank).all() and top == expected[2]
    together, model.tokens_read = model.tokens_read, 0
    # A masked model reads another text for words of several pieces.
    if model.kind in ("causal", "seq2seq") or (model.kind == "masked" and "bird" in words):
        assert together < apart
    for of_block in (1, 1000):  # a cloze without a gold word by itself, and all in one block
        for module in ("masked", "autoregressive"):
            monkeypatch.setattr(f"hyperprobe.models.{module}.BLOCK_NUMBERS", of_block)
        model.max_rows = 1 if of_block == 1 else 128
        check(expected[0], model.score_and_rank_open(CLOZES, candidates, GOLD, 5)[0])


def test_a_piece_that_joins_left_side_and_candidate(tmp_path: Path):
    model = load_model(str(save_model("GPT2", tmp_path)), device="cpu")
    assert isinstance(model, LanguageModel)
    joined, candidates = parse_cloze("A b[MASK] in winter", "joined"), CandidateSet(("ird", "fish"))
    assert model._closed_and_open([joined], candidates) is None
    scores, ranking, _ = model.score_and_rank_open([joined], candidates, ["ird"], 5)
    check(model.score([joined], candidates), scores)
    check(model.rank_open([joined], ["ird"], 5)[0].top_score, ranking.top_score)


def check(expected: np.ndarray, found: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
