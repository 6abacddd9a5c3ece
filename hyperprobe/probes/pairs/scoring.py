"""What gives a pair a score: language models, vectors, frequency, a user's file, pattern counts.

A scorer is a function from pairs (hyponym, hypernym) to its measures, each with a number for
every pair: the higher, the more the second word is said to be a hypernym of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import SLOT, Cloze, parse_cloze
from hyperprobe.lexicon.morphology import indefinite_article, plural
from hyperprobe.lexicon.wordnet import noun_lemma
from hyperprobe.models.base import ClozeModel, TextModel, as_text_model, score_pairs
from hyperprobe.probes.pairs.files import PairSet, key

Pair = tuple[str, str]
SINGULAR, PLURAL, MEAN = "singular", "plural", "mean"
COSINE, FREQUENCY, GIVEN = "cosine", "frequency", "given"


class Answers(NamedTuple):
    """Scores [n], and which pairs the scorer knows [n]; a score may be NaN where it does not."""

    scores: NDArray[np.float64]
    known: NDArray[np.bool_]


Scorer = Callable[[Sequence[Pair]], Mapping[str, Answers]]


def ask(scorer: Scorer, pairs: PairSet) -> pd.DataFrame:
    """The pairs under each measure, with their `score`, whether it is `known`, and the score of
    the `reverse` pair: of all pairs where the set is about direction, else of the hypernyms."""
    frame = pairs.frame
    forward = list(zip(frame["hyponym"], frame["hypernym"], strict=True))
    turned = np.ones(len(frame), bool) if pairs.is_directed else (frame["label"] == 1).to_numpy()
    backward = [(b, a) for (a, b), turn in zip(forward, turned, strict=True) if turn]
    asked = list(dict.fromkeys([*forward, *backward]))
    at = {pair: i for i, pair in enumerate(asked)}
    parts = []
    for measure, answers in scorer(asked).items():
        rows = [at[pair] for pair in forward]
        reverse = np.full(len(frame), np.nan)
        reverse[turned] = answers.scores[[at[pair] for pair in backward]]
        parts.append(
            frame.assign(
                measure=measure,
                score=answers.scores[rows],
                reverse=reverse,
                known=answers.known[rows],
            )
        )
    return pd.concat(parts, ignore_index=True)


def of_model(model: ClozeModel) -> Scorer:
    """`cosines` of vectors, `pmi` of a language model."""
    if not model.reads_text:
        return lambda pairs: cosines(model, pairs)
    text_model = as_text_model(model)
    return lambda pairs: pmi(text_model, pairs)


def pmi(model: TextModel, pairs: Sequence[Pair]) -> dict[str, Answers]:
    """Pointwise mutual information of hyponym and hypernym in nats, in two wordings.

    log P(a bird | A robin is _.) - log P(a bird | It is _.), the same with `Robins are _.`,
    `birds` and `They are _.`, and their mean. The article of the hypernym is part of what is
    scored, and so gives nothing away.
    """
    wordings = {
        SINGULAR: _pmi(model, pairs, singular_text, _with_article, f"It is {SLOT}."),
        PLURAL: _pmi(model, pairs, plural_text, plural, f"They are {SLOT}."),
    }
    scores = np.mean([answers.scores for answers in wordings.values()], axis=0)
    known = np.logical_and.reduce([answers.known for answers in wordings.values()])
    return {MEAN: Answers(scores, known), **wordings}


def _pmi(
    model: TextModel,
    pairs: Sequence[Pair],
    text: Callable[[str], str],
    form: Callable[[str], str],
    free: str,
) -> Answers:
    """The scores of one wording: NaN for words with letters that the model does not know."""
    words = list(dict.fromkeys(word for pair in pairs for word in pair))
    texts = {word: text(word) for word in words}
    forms = {word: form(word) for word in words}
    can_spell = zip(model.can_spell(words), model.can_spell(list(forms.values())), strict=True)
    spelled = {word: all(both) for word, both in zip(words, can_spell, strict=True)}
    known = np.array([spelled[a] and spelled[b] for a, b in pairs], dtype=bool)
    asked = [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
    scores = np.full(len(pairs), np.nan)
    if asked:
        clozes = [parse_cloze(texts[a], f"{a}: {texts[a]}", a) for a, _ in asked]
        hypernyms = list(dict.fromkeys(forms[b] for _, b in asked))
        alone = parse_cloze(free, free)
        found = score_pairs(
            model, [*clozes, *[alone] * len(hypernyms)], [*(forms[b] for _, b in asked), *hypernyms]
        ).astype(float)
        prior = dict(zip(hypernyms, found[len(asked) :], strict=True))
        scores[known] = found[: len(asked)] - [prior[forms[b]] for _, b in asked]
    return Answers(scores, known)


def singular_text(noun: str) -> str:
    """`An owl is [MASK].`: the article before the slot belongs to what is put there."""
    return f"{indefinite_article(noun).capitalize()} {noun} is {SLOT}."


def plural_text(noun: str) -> str:
    """`Owls are [MASK].`"""
    many = plural(noun)
    return f"{many[:1].upper()}{many[1:]} are {SLOT}."


def _with_article(noun: str) -> str:
    return f"{indefinite_article(noun)} {noun}"


def cosines(model: ClozeModel, pairs: Sequence[Pair]) -> dict[str, Answers]:
    """The cosine of two words; a phrase is looked up with `_` for its spaces."""
    clozes = [Cloze(a, "", "", a.replace(" ", "_")) for a, _ in pairs]
    words = [b.replace(" ", "_") for _, b in pairs]
    scores = score_pairs(model, clozes, words).astype(float)
    return {COSINE: Answers(scores, np.isfinite(scores))}


def frequencies(pairs: Sequence[Pair]) -> dict[str, Answers]:
    """The Zipf frequency of the hypernym, whatever the hyponym: as detection it says that
    frequent words are hypernyms, as direction that the more frequent word is the hypernym."""
    from wordfreq import zipf_frequency

    zipf = {word: float(zipf_frequency(word, "en")) for word in {b for _, b in pairs}}
    scores = np.array([zipf[b] for _, b in pairs], dtype=float)
    return {FREQUENCY: Answers(scores, np.ones(len(pairs), bool))}


def given(scores: Mapping[Pair, float], pairs: Sequence[Pair]) -> dict[str, Answers]:
    """The scores of a user's file (`read_scores`), looked up by the words as they stand, and
    then by their lemmas."""

    def find(first: str, second: str) -> float:
        pair = key(first), key(second)
        if pair not in scores:
            pair = noun_lemma(pair[0]), noun_lemma(pair[1])
        return scores.get(pair, np.nan)

    found = np.array([find(*pair) for pair in pairs], dtype=float)
    return {GIVEN: Answers(found, np.isfinite(found))}
