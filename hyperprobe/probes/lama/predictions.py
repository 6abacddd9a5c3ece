"""What a model answers: facts -> a predictions frame.

One row per (relation, model, prompt, fact): `source, relation, type, prompt, item,
subject, text`, the `gold` object, its `gold_score` and `gold_rank` among the
candidates (by score, equal scores in the order of the list;
0: the model cannot score it, which counts as wrong), `gold_tied` other candidates with
exactly its score, of which `gold_tied_before` have better ranks, the `best`
answer and its `best_score`, the `top` words with their `top_scores`, and how many
words and word pieces the subject has. Scores are natural log-probabilities over
the whole vocabulary for language models (for an ensemble, their weighted sum),
cosines for vectors, log shares for `freq`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.models.base import Answerer, ClozeModel, Ranking, Scores, rank_in_parts
from hyperprobe.names import FREQ
from hyperprobe.predictions import add_gold, add_ranking
from hyperprobe.probes.lama.prompts import Prompts
from hyperprobe.probes.lama.protocol import Fact, first_slot
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.statistics.ranks import rank_correlations

TOP_K = 10
CHUNK = 256  # facts whose scores over all candidates are held at once
MENTION_FACTS, MENTIONS = 100, 10


def predict_facts(
    model: ClozeModel,
    relation: Relation,
    facts: Sequence[Fact],
    candidates: CandidateSet,
    prompts: Prompts | None = None,
    start: int = 0,
) -> pd.DataFrame:
    """The model's answers to the facts of a relation, for each prompt asked separately. The first
    of the facts is the relation's number `start`."""
    gold = [candidates.index[fact.object] for fact in facts]
    if prompts is None or not model.reads_text:  # vectors read no prompt
        asked: tuple[str | None, ...] = (relation.template,)
    elif prompts.kind in ("ensemble", "vectors"):
        clozes = clozes_of(model, facts, prompts.templates[0])
        score = _score_ensemble if prompts.kind == "ensemble" else _score_vectors
        ranking = rank_facts(facts, gold, lambda some: score(model, some, candidates, prompts))
        name = prompts.name
        return answers_frame(model, relation, facts, clozes, candidates, ranking, name, start)
    else:
        asked = prompts.templates
    parts = []
    for template in asked:
        clozes = clozes_of(model, facts, template)
        ranking = model.rank(clozes, candidates, gold, TOP_K)
        name = template or "masked sentence"
        about = (facts, clozes, candidates, ranking, name, start)
        parts.append(answers_frame(model, relation, *about))
    return pd.concat(parts, ignore_index=True)


def clozes_of(
    model: ClozeModel, facts: Sequence[Fact], template: str | None, negated: bool = False
) -> list[Cloze]:
    """The questions, each cut around its slot to what the model can read."""
    return model.fit([fact.cloze(template, negated) for fact in facts])


def _score_ensemble(
    model: ClozeModel, facts: Sequence[Fact], candidates: CandidateSet, prompts: Prompts
) -> Scores:
    """The weighted sum of the log-probabilities over the prompts."""
    total: Scores = np.zeros((len(facts), len(candidates)), dtype=np.float32)
    for template, weight in zip(prompts.templates, prompts.weights, strict=True):
        total += np.float32(weight) * model.score(clozes_of(model, facts, template), candidates)
    return total


def _score_vectors(
    model: ClozeModel, facts: Sequence[Fact], candidates: CandidateSet, prompts: Prompts
) -> Scores:
    from hyperprobe.models.prompt_vectors import score_vectors

    prompts.check_owner(model)
    subjects = [fact.subject for fact in facts]
    return score_vectors(model, subjects, prompts.templates[0], prompts.vectors, candidates)


def rank_facts(
    facts: Sequence[Fact], gold: Sequence[int], score: Callable[[list[Fact]], Scores]
) -> Ranking:
    """The ranking by `score`, which gives scores over all candidates for some of the facts."""
    return rank_in_parts(lambda some: score(list(facts[some])), gold, TOP_K, CHUNK)


def _chunks(n: int) -> Iterator[range]:
    for start in range(0, n, CHUNK):
        yield range(start, min(n, start + CHUNK))


def _about(
    relation: Relation, facts: Sequence[Fact], texts: Sequence[str], start: int = 0
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "source": relation.source,
            "relation": relation.name,
            "type": relation.type,
            "item": [_item(i, fact) for i, fact in enumerate(facts, start)],
            "subject": [fact.subject for fact in facts],
            "gold": [fact.object for fact in facts],
            "text": list(texts),
        }
    )


def _item(i: int, fact: Fact) -> str:
    """What a fact is called; a file may give one id to two rows."""
    return f"{i}:{fact.id}"


def item_numbers(items: Iterable[str]) -> NDArray[np.int32]:
    """The numbers of the facts of a relation, from what they are called in a frame."""
    return np.array([int(item[: item.index(":")]) for item in items], dtype=np.int32)


def answers_frame(
    model: Answerer,
    relation: Relation,
    facts: Sequence[Fact],
    clozes: Sequence[Cloze],
    candidates: CandidateSet,
    ranking: Ranking,
    prompt: str,
    start: int = 0,
) -> pd.DataFrame:
    """The predictions frame of one prompt: a row per fact, from its ranking."""
    frame = _about(relation, facts, [cloze.text for cloze in clozes], start)
    frame["prompt"] = prompt
    frame["model"] = model.name
    words = [[candidates.words[i] for i in row] for row in ranking.top]
    answered = add_ranking(frame, ranking, words, in_list_order=True)
    frame["top"] = [row if a else [] for a, row in zip(answered, words, strict=True)]
    frame["top_scores"] = [
        row.tolist() if a else [] for a, row in zip(answered, ranking.top_score, strict=True)
    ]
    frame["n_subject_words"] = [len(fact.subject.split()) for fact in facts]
    frame["n_subject_pieces"] = model.n_pieces([fact.subject for fact in facts])
    return frame


def predict_freq(
    relation: Relation,
    facts: Sequence[Fact],
    among: Sequence[Fact] | None = None,
    start: int = 0,
) -> pd.DataFrame:
    """The baseline that ranks objects by how often they are the object in the test facts.

    These are `among`, of which `facts` are some, from the number `start` on; or `facts` alone.

    Equally frequent objects stay in the order in which the facts name them, and do not
    count as tied: each is the object of as many facts, so any order has the same mean.
    """
    among = facts if among is None else among
    counts = Counter(fact.object for fact in among).most_common()
    rank = {word: i for i, (word, _) in enumerate(counts, start=1)}
    share = {word: float(np.log(n / len(among))) for word, n in counts}
    top = [word for word, _ in counts[:TOP_K]]
    # What asks for the same fact in the same words is what `filtered` compares.
    texts = [fact.cloze(relation.template).text for fact in facts]
    frame = _about(relation, facts, texts, start)
    frame["prompt"] = relation.template or "masked sentence"
    frame["model"] = FREQ
    frame["gold_score"] = [share[fact.object] for fact in facts]
    frame["gold_rank"] = [rank[fact.object] for fact in facts]
    frame["gold_tied"] = frame["gold_tied_before"] = 0
    frame["best"] = top[0]
    frame["best_score"] = share[top[0]]
    frame["top"] = [top] * len(facts)
    frame["top_scores"] = [[share[word] for word in top]] * len(facts)
    frame["n_subject_words"] = [len(fact.subject.split()) for fact in facts]
    frame["n_subject_pieces"] = np.nan
    return frame


def predict_negated(
    model: ClozeModel, relation: Relation, facts: Sequence[Fact], candidates: CandidateSet
) -> pd.DataFrame:
    """How similar the answers to a question and to its negation are (Kassner & Schuetze 2020).

    One row per fact: the `best` answers to both, whether they `overlap`, and the
    `spearman` correlation of the scores of all candidates.
    """
    parts = []
    for chunk in _chunks(len(facts)):
        some = [facts[i] for i in chunk]
        plain = model.score(clozes_of(model, some, relation.template), candidates)
        other = model.score(clozes_of(model, some, relation.negated, negated=True), candidates)
        frame = _about(relation, some, [fact.cloze(relation.template).text for fact in some])
        best, best_negated = plain.argmax(axis=1), other.argmax(axis=1)
        frame["model"] = model.name
        frame["best"] = [candidates.words[i] for i in best]
        frame["best_negated"] = [candidates.words[i] for i in best_negated]
        frame["overlap"] = (best == best_negated).astype(float)
        frame["spearman"] = rank_correlations(plain, other)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def choose_mentions(facts: Sequence[Fact], seed: int) -> list[tuple[Fact, list[str]]]:
    """At most 100 random facts of those with ten mentions or more, and ten of these each."""
    random = np.random.default_rng(seed)
    enough = [fact for fact in facts if len(fact.mentions) >= MENTIONS]
    picked = sorted(random.permutation(len(enough))[:MENTION_FACTS])
    return [
        (
            enough[i],
            [
                enough[i].mentions[j]
                for j in sorted(random.permutation(len(enough[i].mentions))[:MENTIONS])
            ],
        )
        for i in picked
    ]


def predict_mentions(
    model: ClozeModel,
    relation: Relation,
    chosen: Sequence[tuple[Fact, list[str]]],
    candidates: CandidateSet,
) -> pd.DataFrame:
    """The rank of the object in each of ten sentences that mention the fact (Figure 4)."""
    order = [i for i, (_, sentences) in enumerate(chosen) for _ in sentences]
    facts = [chosen[i][0] for i in order]
    texts = [text for _, sentences in chosen for text in sentences]
    clozes = [
        first_slot(text, fact.id, fact.subject) for fact, text in zip(facts, texts, strict=True)
    ]
    gold = [candidates.index[fact.object] for fact in facts]
    ranking = model.rank(model.fit(clozes), candidates, gold, 1)
    frame = _about(relation, facts, texts)
    frame["item"] = [_item(i, fact) for i, fact in zip(order, facts, strict=True)]
    frame["model"] = model.name
    add_gold(frame, ranking, in_list_order=True)
    return frame
