"""Blocks of questions: the same scores as one by one, each text run once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.models.blocks import Block, score_blocks
from hyperprobe.models.load import load_model
from hyperprobe.models.masked import MaskedModel
from hyperprobe.options import PLLS, ModelOptions, Pll
from tests.tiny_models import save_model

NOUNS = ["robin", "hammer", "oak", "archaeopteryx"]
CLOZES = tuple(parse_cloze(f"A {noun} is a [MASK].", noun, noun) for noun in NOUNS)
START = parse_cloze("[MASK] is a robin.", "start", "robin")
BLOCKS = (
    Block(CLOZES, CandidateSet(("bird", "passeriform bird", "tool"))),
    Block((START, CLOZES[2], START), CandidateSet(("oscine", "bird"))),
    Block((CLOZES[0],), CandidateSet(("tool",))),
)


def expect_scores_of_single_blocks(model) -> None:
    for block, scores in zip(BLOCKS, score_blocks(model, BLOCKS), strict=True):
        alone = model.score(list(block.clozes), block.candidates)
        assert scores.dtype == np.float32 and scores.shape == alone.shape
        assert scores == pytest.approx(alone, abs=2e-5)


@pytest.mark.parametrize("pll", PLLS)
def test_masked_models(pll: Pll):
    model = load_model("embedded", ModelOptions(pll=pll))
    expect_scores_of_single_blocks(model)
    assert score_blocks(model, []) == []


def test_other_families(tmp_path: Path):
    expect_scores_of_single_blocks(load_model(str(save_model("GPT2", tmp_path))))
    model = load_model("word2vec")
    for block, scores in zip(BLOCKS, score_blocks(model, BLOCKS), strict=True):
        np.testing.assert_array_equal(scores, model.score(list(block.clozes), block.candidates))


def test_a_text_is_run_once(monkeypatch: pytest.MonkeyPatch):
    model = load_model("embedded", ModelOptions(pll="all-masked"))
    assert isinstance(model, MaskedModel)
    run: list[tuple[int, ...]] = []
    slow = model._slot_log_probs

    def spy(rows):
        run.extend(row.ids for row in rows)
        return slow(rows)

    monkeypatch.setattr(model, "_slot_log_probs", spy)
    score_blocks(model, BLOCKS)
    assert len(run) == len(set(run))
    lengths = {len(ids) for ids in model.spell(BLOCKS[0].candidates.words)}
    # Four nouns with as many masks as candidates have lengths, and the other text with one or two.
    assert len(run) <= len(NOUNS) * len(lengths | {2}) + 2
