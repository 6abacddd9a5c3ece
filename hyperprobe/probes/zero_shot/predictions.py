"""What a model answers: probes of a diagnostic set -> a predictions frame.

A predictions frame has one row per (model, probe, item):
`hyponym, hypernym, group, zipf, synset`, the `gold` word, its `gold_score` and
`gold_rank` (0: the model cannot score it, which counts as wrong) with `gold_tied`,
how many other candidates score exactly the same, the `best` word (of equal ones the
first candidate) and its `best_score`, the `margin` of gold over the best other candidate,
one `score_CATEGORY` per category, of language models one `prior_CATEGORY`, its score in a
prompt without the noun (Zhao et al. 2021), and for `open` probes the five `top` words.
Scores are natural log-probabilities for language models, cosines for vectors.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.errors import UserError
from hyperprobe.models.base import (
    ClozeModel,
    Ranking,
    Scores,
    as_text_model,
    rank_scores,
    ranks_vocabulary,
    score_and_rank_open,
)
from hyperprobe.models.blocks import Block, has_answers
from hyperprobe.names import CONTROL, CONTROL_BARE, MAJORITY, RANDOM, SHUFFLED
from hyperprobe.options import Article
from hyperprobe.predictions import add_ranking
from hyperprobe.probes.zero_shot.clozes import (
    BARE_PROBES,
    CONTEXTUAL,
    CONTROL_PROBES,
    OPEN,
    PLURAL,
    PROBES,
    SINGULAR,
    Probe,
    make_clozes,
    noun_free,
    shuffled_words,
    takes_article,
)
from hyperprobe.probes.zero_shot.outcomes import PRIOR, SCORE

TOP_K = 5


def predict(
    model: ClozeModel,
    asked_set: DiagnosticSet,
    article: Article,
    open_words: CandidateSet | None = None,
    shuffled: bool = False,
    shared: dict[Hashable, pd.DataFrame] | None = None,
    items: slice = slice(None),
) -> pd.DataFrame:
    """The model's predictions on `items` of a diagnostic set, its control prompts' included.

    `shuffled` adds the contextual probes with their words in random order. `shared` keeps, from
    call to call with one model, the predictions that are the same under every article policy. Of
    a model that answers some questions alone, a probe that it does not answer is left out. Raises
    `UserError` when it answers none.
    """
    shared, digest = {} if shared is None else shared, asked_set.digest
    frame = asked_set.frame[items]
    bare = {f"{c}_bare": frame[c].str.rstrip(" .") for c in ("control", "control_plural")}
    frame = frame.assign(**bare)
    if shuffled:
        frame = frame.assign(shuffled=shuffled_words(frame))
    if not model.reads_text:
        asked = [(model.name, probe) for probe in (SINGULAR, PLURAL, OPEN)]
    elif model.name.startswith(RANDOM):  # a control itself, it needs none
        asked = [(model.name, probe) for probe in PROBES]
    else:
        asked = [(f"{CONTROL}{model.name}", probe) for probe in CONTROL_PROBES]
        asked += [(f"{CONTROL_BARE}{model.name}", probe) for probe in BARE_PROBES]
        if shuffled:
            asked.append((f"{SHUFFLED}{model.name}", replace(CONTEXTUAL, prompt="shuffled")))
        asked += [(model.name, probe) for probe in PROBES]
    answers: dict[tuple[str, Probe], pd.DataFrame] = {}
    for name, probe in asked:
        rows = frame[frame[probe.prompt] != ""]
        if rows.empty or (name, probe) in answers:
            continue
        # Vectors read no prompt, and no other prompt has an article.
        asks_article = model.reads_text and probe.prompt == "singular"
        policy: Article = article if asks_article else "gold"
        # One prompt to fill, and a vocabulary to answer from.
        is_open = policy != "marginal" and (open_words is not None or ranks_vocabulary(model))
        of_probe: dict[Probe, pd.DataFrame] = {}
        if not asks_article and (digest, name, probe) in shared:
            of_probe[probe] = shared[digest, name, probe]
        elif probe.name == "open":
            if is_open:
                of_probe[probe] = _open(model, asked_set, rows, probe, policy, open_words)
        elif (name, opened := replace(probe, name="open")) in asked and is_open and not open_words:
            given = _block(asked_set, rows, probe, policy)
            both = _scored(model, asked_set, rows, probe, policy, given, opened)
            of_probe = dict(zip((probe, opened), both, strict=True))
        else:
            of_probe[probe] = _closed(model, asked_set, rows, probe, policy)
        answers |= {(name, one): part for one, part in of_probe.items()}
        if not asks_article:
            shared |= {(digest, name, one): part for one, part in of_probe.items()}
    parts = [
        part.assign(model=name, probe=probe.name)
        for name, probe in asked
        if not (part := answers.get((name, probe), pd.DataFrame())).empty
    ]
    if not parts:
        raise UserError(f"{model.name} answers no question of {asked_set.name}: name another set")
    return pd.concat(parts, ignore_index=True)


def predict_probe(
    model: ClozeModel, asked_set: DiagnosticSet, probe: Probe, article: Article
) -> pd.DataFrame:
    """Predictions over the categories for one probe, where the set has its prompt."""
    frame = asked_set.frame
    return _closed(model, asked_set, frame[frame[probe.prompt] != ""], probe, article)


def _closed(
    model: ClozeModel, asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe, article: Article
) -> pd.DataFrame:
    """Predictions over the categories of the whole set; empty if the model does not answer."""
    policies: dict[Article, NDArray[np.bool_]] = {article: np.ones(len(rows), dtype=bool)}
    if article == "marginal":
        # A slot that takes no article ("a kind of [MASK]") is asked as it stands.
        takes = takes_article(asked_set, rows, probe)
        policies = {"marginal": takes, "gold": ~takes}
    policies = {policy: chosen for policy, chosen in policies.items() if chosen.any()}
    blocks = [_block(asked_set, rows[mask], probe, policy) for policy, mask in policies.items()]
    if not has_answers(model, blocks):
        return pd.DataFrame()
    parts = [
        _scored(model, asked_set, rows[chosen], probe, policy, block)[0]
        for (policy, chosen), block in zip(policies.items(), blocks, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([np.flatnonzero(chosen) for chosen in policies.values()]))
    return pd.concat(parts, ignore_index=True).iloc[order].reset_index(drop=True)


def _block(asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe, article: Article) -> Block:
    """The questions of rows that are asked with the same candidates."""
    slot = list(asked_set.answers[probe.gold])
    if article == "marginal":  # a candidate is its article and its noun, by the chain rule
        slot = [f"{asked_set.noun(word).article} {word}".lstrip() for word in slot]
    clozes = make_clozes(asked_set, rows, probe, article)
    return Block(tuple(clozes), CandidateSet(tuple(slot)))


def _scored(
    model: ClozeModel,
    asked_set: DiagnosticSet,
    rows: pd.DataFrame,
    probe: Probe,
    article: Article,
    block: Block,
    opened: Probe | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`_closed` for the rows of a block, and `_open` for the open probe of the same prompts, if
    one is asked."""
    answers = asked_set.answers[probe.gold]
    words, categories = list(answers), list(answers.values())
    clozes, candidates, open_part = list(block.clozes), block.candidates, pd.DataFrame()
    free = noun_free(asked_set, rows, clozes, probe, article) if model.reads_text else []
    distinct = list(dict.fromkeys(free))
    if not has_answers(model, [Block(tuple(distinct), candidates)]):
        distinct = []
    if opened is None:
        scores = model.score(clozes + distinct, candidates)
    else:
        scores, ranking, top = score_and_rank_open(
            model, clozes + distinct, candidates, list(rows[opened.gold]), TOP_K
        )
        open_part = _ranked(rows, opened, ranking, top)
    part = closed_predictions(rows, probe.gold, words, categories, scores[: len(clozes)])
    if not distinct:
        return part, open_part
    prior = scores[[len(clozes) + distinct.index(cloze) for cloze in free]].astype(float)
    names = [f"{PRIOR}{category}" for category in categories]
    return pd.concat([part, pd.DataFrame(prior, columns=names)], axis=1), open_part


def closed_predictions(
    rows: pd.DataFrame, gold: str, words: list[str], categories: list[str], scores: Scores
) -> pd.DataFrame:
    """Prediction rows from a score matrix [n_items, n_words]."""
    scores = scores.astype(np.float64)
    right = [words.index(word) for word in rows[gold]]
    ranking = rank_scores(scores, right, 1)
    others = scores.copy()
    others[np.arange(len(rows)), right] = -np.inf
    part = _about(rows, gold)
    add_ranking(part, ranking, [[categories[i] for i in row] for row in ranking.top])
    best_other = others.max(axis=1)
    part["margin"] = part["gold_score"] - np.where(np.isfinite(best_other), best_other, np.nan)
    for i, category in enumerate(categories):
        part[f"{SCORE}{category}"] = scores[:, i]
    return part


def _open(
    model: ClozeModel,
    asked_set: DiagnosticSet,
    rows: pd.DataFrame,
    probe: Probe,
    article: Article,
    words: CandidateSet | None,
) -> pd.DataFrame:
    """Predictions over a whole vocabulary."""
    clozes = make_clozes(asked_set, rows, probe, article)
    if words is None:
        ranking, top = as_text_model(model).rank_open(clozes, list(rows[probe.gold]), TOP_K)
    else:
        gold = [words.index.get(word) for word in rows[probe.gold]]
        ranking = model.rank(clozes, words, gold, TOP_K)
        top = [[words.words[i] for i in row] for row in ranking.top]
    return _ranked(rows, probe, ranking, top)


def _ranked(
    rows: pd.DataFrame, probe: Probe, ranking: Ranking, top: list[list[str]]
) -> pd.DataFrame:
    """Predictions from a ranking of a vocabulary."""
    part = _about(rows, probe.gold)
    add_ranking(part, ranking, top)
    part["top"] = top
    return part


def _about(rows: pd.DataFrame, gold: str) -> pd.DataFrame:
    part = rows[["hyponym", "hypernym", "group", "zipf"]].reset_index(drop=True)
    # Synonyms share a synset: they are one item in a bootstrap. Without one, a word is its own.
    synset = rows["synset"].to_numpy()
    part["synset"] = np.where(synset != "", synset, part["hyponym"])
    part.insert(0, "item", rows["hyponym"].tolist())
    part["gold"] = rows[gold].tolist()
    return part


def predict_majority(frame: pd.DataFrame, items: slice = slice(None)) -> pd.DataFrame:
    """The baseline that always answers the set's most frequent category, on `items` of a set."""
    parts = []
    for probe in (SINGULAR, PLURAL, CONTEXTUAL):
        rows = frame[frame[probe.prompt] != ""]
        if rows.empty:
            continue
        most = rows["hypernym"].value_counts(sort=False).idxmax()
        part = _about(rows.loc[rows.index.isin(frame.index[items])], probe.gold)
        part["gold_rank"] = (part["hypernym"] == most).map({True: 1, False: 2})
        part["gold_tied"] = 0
        part["best"] = most  # one answer to everything
        for category in frame["hypernym"].unique():
            part[f"{SCORE}{category}"] = float(category == most)
        parts.append(part.assign(model=MAJORITY, probe=probe.name))
    return pd.concat(parts, ignore_index=True)
