"""Prompts that are texts: LPAQA's files, and prompts mined from a corpus."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.corpus import Piece, Skipped, corpus_files, read_chunks, split_sentences
from hyperprobe.models.base import ClozeModel
from hyperprobe.names import StrPath
from hyperprobe.probes.lama.predictions import clozes_of
from hyperprobe.probes.lama.prompts import Prompts
from hyperprobe.probes.prompts.splits import Split
from hyperprobe.progress import progress
from hyperprobe.statistics.ranks import success

MAX_MINED = 30  # patterns of a relation that are tried on train, as many as LPAQA has
MAX_MIDDLE = 8  # words between subject and object
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_MARKS = re.compile(r"\[(?:X|Y|MASK|V\d+)\]")


def best_of(
    model: ClozeModel, split: Split, candidates: CandidateSet, templates: Sequence[str], top_k: int
) -> Prompts:
    """The `top_k` templates that are best on train, each with the same weight.

    P@1 decides (of objects that tie each counts its `success`) and, among equals, the
    mean log-probability of the right object (Jiang et al. 2020, section 4.1).
    """
    gold = [candidates.index[fact.object] for fact in split.train]
    quality = {}
    for template in dict.fromkeys(templates):
        clozes = clozes_of(model, split.train, template)
        ranking = model.rank(clozes, candidates, gold, 1)
        right = float(success(ranking.gold_rank, ranking.gold_tied).mean())
        quality[template] = (right, float(ranking.gold_score.mean()))
    best = sorted(quality, key=lambda template: quality[template], reverse=True)[:top_k]
    if len(best) == 1:
        return Prompts("template", (best[0],))
    return Prompts("ensemble", tuple(best), (1 / len(best),) * len(best))


def mine_templates(
    corpus: StrPath | Sequence[StrPath], splits: Sequence[Split]
) -> dict[str, list[str]]:
    """Relation -> the patterns that join subject and object of most of its training facts.

    A pattern is the words between the two in a sentence, and the same with one more
    word on either side; no parser is asked. The manual prompt is always first, as in
    LPAQA's files. Reads the corpus once for all relations; raises `UserError` when it
    is not there.
    """
    files = corpus_files(corpus)
    index: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for i, split in enumerate(splits):
        for fact in split.train:
            subject = " ".join(_words(fact.subject))
            index[subject].append((i, subject, fact.object.lower()))
    longest = max((len(subject.split()) for subject in index), default=1)
    facts_of: list[dict[str, set[tuple[str, str]]]] = [defaultdict(set) for _ in splits]
    skipped = Skipped()
    with progress("mining", sum(path.stat().st_size for path in files), "bytes") as advance:
        for path in files:
            for chunk in read_chunks(Piece(path), "text", skipped, advance):
                for sentence in split_sentences(chunk):
                    for i, subject, answer, pattern in _patterns(sentence, index, longest):
                        facts_of[i][pattern].add((subject, answer))
    mined = {}
    for split, found in zip(splits, facts_of, strict=True):
        order = sorted(found, key=lambda pattern: (-len(found[pattern]), pattern))
        mined[split.relation.name] = [split.template, *order[:MAX_MINED]]
    return mined


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _patterns(
    sentence: str, index: dict[str, list[tuple[int, str, str]]], longest: int
) -> Iterator[tuple[int, str, str, str]]:
    """(relation, subject, object, pattern) of each fact that the sentence mentions."""
    if _MARKS.search(sentence):
        return
    spans = [(match.start(), match.end()) for match in _WORD.finditer(sentence)]
    words = [sentence[start:end].lower() for start, end in spans]
    where: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        where[word].append(i)
    for first in range(len(words)):
        for last in range(first, min(first + longest, len(words))):
            for relation, subject, answer in index.get(" ".join(words[first : last + 1]), ()):
                for at in where.get(answer, ()):
                    before, after = (last, at) if at > last else (at, first)
                    if first <= at <= last or not 1 <= after - before - 1 <= MAX_MIDDLE:
                        continue
                    middle = sentence[spans[before][1] : spans[after][0]].strip()
                    ends = ("[X]", "[Y]") if at > last else ("[Y]", "[X]")
                    core = f"{ends[0]} {middle} {ends[1]}"
                    yield relation, subject, answer, f"{core} ."
                    left = min(first, at) - 1
                    right = max(last, at) + 1
                    outer = (words[left], words[right]) if left >= 0 and right < len(words) else ()
                    if outer:
                        yield relation, subject, answer, f"{outer[0]} {core} {outer[1]} ."
