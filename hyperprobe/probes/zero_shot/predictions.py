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

import random
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import SLOT, CandidateSet, Cloze, parse_cloze
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.diagnostic.templates import Noun, fill_in
from hyperprobe.errors import UserError
from hyperprobe.models.base import (
    ClozeModel,
    Scores,
    as_text_model,
    rank_scores,
    ranks_vocabulary,
)
from hyperprobe.models.blocks import Block, has_answers
from hyperprobe.names import CONTROL, CONTROL_BARE, MAJORITY, RANDOM, SHUFFLED
from hyperprobe.options import Article
from hyperprobe.predictions import add_ranking
from hyperprobe.probes.zero_shot.outcomes import PRIOR, SCORE

TOP_K = 5


@dataclass(frozen=True)
class Probe:
    """One question asked of every item of a set."""

    name: str
    prompt: str  # the diagnostic column that holds it
    subject: str  # the column with the word that it asks about
    gold: str  # the column with the right answer


SINGULAR = Probe("singular", "singular", "hyponym", "hypernym")
PLURAL = Probe("plural", "plural", "hyponym_plural", "hypernym_plural")
CONTEXTUAL = Probe("contextual", "contextual", "hyponym", "hypernym")
OPEN = Probe("open", "singular", "hyponym", "hypernym")
PROBES = (SINGULAR, PLURAL, CONTEXTUAL, OPEN)
CONTROL_PROBES = tuple(
    replace(p, prompt=c)
    for p, c in zip((SINGULAR, PLURAL, OPEN), ("control", "control_plural", "control"), strict=True)
)
# The same prompts without their full stops, as the paper has them.
BARE_PROBES = tuple(
    replace(p, prompt=f"{c}_bare")
    for p, c in zip((SINGULAR, PLURAL), ("control", "control_plural"), strict=True)
)


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
        frame = frame.assign(shuffled=_shuffle_words(frame))
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
    parts = []
    for name, probe in asked:
        rows = frame[frame[probe.prompt] != ""]
        if rows.empty:
            continue
        # Vectors read no prompt, and no other prompt has an article.
        asks_article = model.reads_text and probe.prompt == "singular"
        policy: Article = article if asks_article else "gold"
        same = (digest, name, probe)
        if not asks_article and same in shared:
            part = shared[same]
        elif probe.name != "open":
            part = _closed(model, asked_set, rows, probe, policy)
        elif policy == "marginal" or (open_words is None and not ranks_vocabulary(model)):
            continue  # no one prompt to fill, or no vocabulary to answer from
        else:
            part = _open(model, asked_set, rows, probe, policy, open_words)
        if not asks_article:
            shared[same] = part
        if not part.empty:
            parts.append(part.assign(model=name, probe=probe.name))
    if not parts:
        raise UserError(f"{model.name} answers no question of {asked_set.name}: name another set")
    return pd.concat(parts, ignore_index=True)


def _shuffle_words(frame: pd.DataFrame) -> list[str]:
    """The contextual prompts with their words in an order that the prompt itself seeds."""
    texts = []
    for text in frame["contextual"]:
        words = text.split()
        random.Random(text).shuffle(words)
        texts.append(" ".join(words))
    return texts


def make_clozes(
    asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe, article: Article
) -> list[Cloze]:
    """The probe's clozes for some rows of a set, under an article policy.

    `gold` keeps the article as written, `fixed` puts the same one before every slot ("a" in
    English), `marginal` takes the article out: it becomes part of each candidate.
    """
    clozes = [
        parse_cloze(text, f"{item} ({probe.name})", subject)
        for text, item, subject in zip(
            rows[probe.prompt], rows["hyponym"], rows[probe.subject], strict=True
        )
    ]
    if article == "gold":
        return clozes
    takes = _takes_article(asked_set, rows, probe)
    return [
        replace(cloze, left=_left(asked_set, cloze.left, article)) if slot else cloze
        for cloze, slot in zip(clozes, takes, strict=True)
    ]


def _left(asked_set: DiagnosticSet, left: str, article: Article) -> str:
    """What precedes a slot that takes an article, under `fixed` or `marginal`."""
    written = asked_set.article_at_end.search(left)
    if written:
        left = left[: written.start()]
    if article == "marginal":
        return left
    fixed = asked_set.common_article
    return f"{left}{fixed.capitalize() if written and written[0][0].isupper() else fixed} "


def _takes_article(asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe) -> NDArray[np.bool_]:
    """Of each prompt, whether its slot is one for an article and a noun.

    That is so where an article is written, and where the right answer takes none but others do
    ("A chair is [MASK]." for furniture).
    """
    written = [
        asked_set.article_at_end.search(text.split(SLOT)[0]) is not None
        for text in rows[probe.prompt]
    ]
    if not any(written) and not _has_articles(asked_set, probe):
        return np.zeros(len(rows), dtype=bool)
    without = [not asked_set.noun(word).article for word in rows["hypernym"]]
    takes: NDArray[np.bool_] = np.array(written) | np.array(without)
    return takes


def _has_articles(asked_set: DiagnosticSet, probe: Probe) -> bool:
    """Whether an article is written before the slot of any item of the set."""
    texts = asked_set.frame.get(probe.prompt, ())
    return any(asked_set.article_at_end.search(text.split(SLOT)[0]) for text in texts)


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
        takes = _takes_article(asked_set, rows, probe)
        policies = {"marginal": takes, "gold": ~takes}
    policies = {policy: chosen for policy, chosen in policies.items() if chosen.any()}
    blocks = [_block(asked_set, rows[mask], probe, policy) for policy, mask in policies.items()]
    if not has_answers(model, blocks):
        return pd.DataFrame()
    parts = [
        _scored(model, asked_set, rows[chosen], probe, policy, block)
        for (policy, chosen), block in zip(policies.items(), blocks, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([np.flatnonzero(chosen) for chosen in policies.values()]))
    return pd.concat(parts, ignore_index=True).iloc[order].reset_index(drop=True)


def _block(asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe, article: Article) -> Block:
    """The questions of rows that are asked with the same candidates."""
    slot = list(dict.fromkeys(asked_set.frame[probe.gold]))
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
) -> pd.DataFrame:
    """`_closed` for the rows of a block."""
    distinct_golds = asked_set.frame.drop_duplicates(probe.gold)
    words, categories = distinct_golds[probe.gold].tolist(), distinct_golds["hypernym"].tolist()
    clozes, candidates = list(block.clozes), block.candidates
    if not model.reads_text:
        scores = model.score(clozes, candidates)
        return closed_predictions(rows, probe.gold, words, categories, scores)
    noun_free = _noun_free(asked_set, rows, clozes, probe, article)
    distinct = list(dict.fromkeys(noun_free))
    if not has_answers(model, [Block(tuple(distinct), candidates)]):
        distinct = []
    scores = model.score(clozes + distinct, candidates)
    part = closed_predictions(rows, probe.gold, words, categories, scores[: len(clozes)])
    if not distinct:
        return part
    prior = scores[[len(clozes) + distinct.index(cloze) for cloze in noun_free]].astype(float)
    names = [f"{PRIOR}{category}" for category in categories]
    return pd.concat([part, pd.DataFrame(prior, columns=names)], axis=1)


def _noun_free(
    asked_set: DiagnosticSet,
    rows: pd.DataFrame,
    clozes: list[Cloze],
    probe: Probe,
    article: Article,
) -> list[Cloze]:
    """`It is a [MASK].` or `They are [MASK].`, with the article of the item's own prompt; empty
    where the set has no such template."""
    is_plural = probe.gold != "hypernym"
    templates = asked_set.templates
    template = templates.noun_free_plural if is_plural else templates.noun_free
    if not template:
        return []
    # "A chair is [MASK]." has no article because furniture takes none; a context never has one.
    bare = _takes_article(asked_set, rows, probe)
    texts = []
    for cloze, no_article in zip(clozes, bare, strict=True):
        written = asked_set.article_at_end.search(cloze.left)
        before = "" if no_article else asked_set.common_article
        if article != "marginal" and written:
            before = written[1].lower()
        texts.append(fill_in(template, Noun("", "", ""), Noun("", "", before)))
    return [parse_cloze(text, "a prompt without a noun") for text in texts]


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
