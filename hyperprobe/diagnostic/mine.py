"""`contexts mine`: sentences for a diagnostic set's words from a user's corpus.

A word that may be a verb or an adjective is taken where it is a noun by the rule of
`lexicon.nouns`. A sentence that breaks no rule of a probe is kept as `probe`, another that breaks
none of an ordinary sentence as `hyponym` or `hypernym`. Whether a probe is
selective only a reader can tell. Of each word and kind the best few are kept,
ties broken by a seeded hash: so the result depends neither on order nor on the
number of processes, and a killed run that is continued gives the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.check import RULES, rivals_among, words_of
from hyperprobe.diagnostic.corpus import (
    SKIPPED,
    Piece,
    Skipped,
    cells_of,
    corpus_files,
    read_chunks,
    split_sentences,
)
from hyperprobe.diagnostic.sentences import COLUMNS, Context, occurrences
from hyperprobe.diagnostic.sets import DiagnosticSet, load_sets
from hyperprobe.engines.cluster import Cluster, compute_on_cluster
from hyperprobe.engines.processes import compute_in_processes
from hyperprobe.errors import UserError
from hyperprobe.lexicon.nouns import is_noun_in
from hyperprobe.names import StrPath, listed
from hyperprobe.options import RESULTS
from hyperprobe.progress import progress
from hyperprobe.runs.files import check_writable, corpus_digests
from hyperprobe.runs.jobs import Job, run_job
from hyperprobe.runs.run import Run

CONTEXTS = "contexts.tsv"

BEST_WORDS = 16  # a sentence about this long is easiest to read
_PLAIN = re.compile(r"^[\"“‘A-Z][^\[\]{}<>|=_#*@\\]*[.!?][\"”’]?$")

# (word, kind) -> [(distance from the best length, tie-breaking hash, sentence)], best first
Found = dict[tuple[str, str], list[tuple[int, str, str]]]


@dataclass(frozen=True)
class Target:
    """What to look for: word form -> (category, kind of ordinary sentence)."""

    forms: dict[str, tuple[str, str]]
    best: int
    seed: int

    @cached_property
    def starts(self) -> dict[str, list[str]]:
        """The first word of each form -> the forms, which may have several words."""
        found: dict[str, list[str]] = {}
        for form in self.forms:
            for first in words_of(form)[:1]:
                found.setdefault(first, []).append(form)
        return found

    @cached_property
    def rivals(self) -> frozenset[str]:
        return rivals_among(category for category, _ in self.forms.values())

    def forms_in(self, sentence: str) -> list[str]:
        """The forms that a sentence may hold, each once, in its order."""
        words = words_of(sentence)
        found = (form for word in words if word in self.starts for form in self.starts[word])
        return [
            form for form in dict.fromkeys(found) if " " not in form or occurrences(form, sentence)
        ]


@dataclass(frozen=True)
class MineResult:
    """The written file, how many sentences of each kind, and what could not be read."""

    path: Path
    counts: pd.DataFrame
    skipped: Skipped


def targets(sets: Iterable[DiagnosticSet]) -> dict[str, tuple[str, str]]:
    """Hyponyms in the singular, and their categories in both numbers.

    Raises `UserError` for a set in another language than English, as the rules are.
    """
    forms: dict[str, tuple[str, str]] = {}
    for one in sets:
        if not one.templates.is_english:
            raise UserError(
                f"{one.name} is in {one.templates.language}, but contexts are searched by rules "
                "for English: leave it out, and write its sentences yourself"
            )
        for row in one.frame.to_dict("records"):
            category = row["hypernym"]
            forms[row["hyponym"]] = (category, "hyponym")
            for form in (category, row["hypernym_plural"]):
                forms[form] = (category, "hypernym")
    return forms


def plan_mine(
    corpus: StrPath | Sequence[StrPath],
    diagnostics: str | Sequence[str] = NAMES,
    best: int = 20,
    text_field: str = "text",
    seed: int = 0,
    results: StrPath = RESULTS,
) -> Job[MineResult]:
    """The job of `mine`: a cell for each piece of the corpus. Its costs are bytes."""
    diagnostics = listed(diagnostics)
    given = dict(locals())
    if best < 1 or not text_field:
        raise UserError("--best must be 1 or more, and --field must name a field")
    files = corpus_files(corpus)
    sets = load_sets(diagnostics)
    target = Target(targets(sets.values()), best, seed)
    settings: dict[str, Any] = {
        "corpus": corpus_digests(files),
        "diagnostics": {name: one.digest for name, one in sets.items()},
        "best": best,
        "field": text_field,
        "seed": seed,
    }
    run = Run(results, "contexts-mine", settings, given)
    check_writable(run.folder)
    of_files = dict(zip(files, settings["corpus"].values(), strict=True))
    cells = cells_of(run, of_files, "", partial(_search, target, text_field))
    job = Job(run, cells, partial(_finish, target))
    if job.missing():
        _prepare(target)
    return job


def mine(
    corpus: StrPath | Sequence[StrPath],
    diagnostics: str | Sequence[str] = NAMES,
    best: int = 20,
    text_field: str = "text",
    processes: int = 2,
    seed: int = 0,
    results: StrPath = RESULTS,
    cluster: Cluster | None = None,
) -> MineResult:
    """Search `corpus` and write `contexts.tsv` into a run folder.

    On `processes` of this machine, or on the machines of a `cluster`. Memory does not grow with
    the corpus. The same call after an interrupt continues from the pieces that are stored, and
    after a finished one reads its files back. Raises `UserError` on a corpus that is not there or
    that cannot be read, and when a process of the search is killed.
    """
    if processes < 1:
        raise UserError("--processes must be 1 or more")
    job = plan_mine(corpus, diagnostics, best, text_field, seed, results)
    if cluster:
        compute_on_cluster([job], cluster)
    with progress("mining", int(job.cost), unit="bytes") as advance:
        compute_in_processes(job, processes, advance)
    return run_job(job)


def _finish(target: Target, run: Run, frames: Sequence[pd.DataFrame]) -> MineResult:
    found: Found = {}
    skipped = Skipped()
    for frame in frames:
        skipped.add(Skipped(**frame.attrs[SKIPPED]))
        part: Found = {}
        for word, kind, *entry in frame.itertuples(index=False, name=None):
            part.setdefault((word, kind), []).append(tuple(entry))
        _merge(found, part, target.best)
    table = _table(found, target)
    run.finish({CONTEXTS: table}, target.seed)
    return MineResult(run.folder / CONTEXTS, _counts(table), skipped)


def _counts(table: pd.DataFrame) -> pd.DataFrame:
    counts = table.groupby("kind").agg(n_sentences=("word", "size"), n_words=("word", "nunique"))
    return counts.reset_index()


def _prepare(target: Target) -> None:
    """Fill what the rules look up, once, before the processes part."""
    for word, (category, _) in target.forms.items():
        sentence = f"The {word} was there in the morning."
        for rule in RULES.values():
            list(rule(Context(word, category, "probe", sentence), target.rivals))
        is_noun_in(word, sentence)


def _search(target: Target, text_field: str, share: Sequence[Piece]) -> pd.DataFrame:
    """The best sentences of a share of the corpus, and in `attrs` what could not be read."""
    skipped = Skipped()
    best: Found = {}
    for piece in share:
        for chunk in read_chunks(piece, text_field, skipped):
            _merge(best, _search_chunk(target, chunk), target.best)
    rows = [(*key, *entry) for key, entries in best.items() for entry in entries]
    frame = pd.DataFrame(rows, columns=["word", "kind", "distance", "key", "sentence"])
    frame.attrs[SKIPPED] = asdict(skipped)
    return frame


def _search_chunk(target: Target, chunk: str) -> Found:
    found: Found = {}
    for line in chunk.splitlines():
        if not target.starts.keys() & set(words_of(line)):
            continue
        for sentence in split_sentences(line):
            if not _PLAIN.match(sentence):
                continue
            for word in target.forms_in(sentence):
                kind = _kind(target, word, sentence)
                if kind:
                    key = hashlib.sha256(f"{target.seed}:{word}:{sentence}".encode()).hexdigest()
                    distance = abs(len(sentence.split()) - BEST_WORDS)
                    found.setdefault((word, kind), []).append((distance, key, sentence))
    return found


def _kind(target: Target, word: str, sentence: str) -> str | None:
    """`probe` when no rule is broken, else the ordinary kind when none of its rules is."""
    category, ordinary = target.forms[word]
    for kind in ("probe", ordinary) if ordinary == "hyponym" else (ordinary,):
        context = Context(word, category, kind, sentence)
        broken = any(True for rule in RULES.values() for _ in rule(context, target.rivals))
        if not broken and is_noun_in(word, sentence):
            return kind
    return None


def _merge(found: Found, part: Found, best: int) -> None:
    for key, entries in part.items():
        # The corpus may have the same sentence twice.
        found[key] = sorted(set(found.get(key, []) + entries))[:best]


def _table(found: Found, target: Target) -> pd.DataFrame:
    order = {word: i for i, word in enumerate(target.forms)}
    rows = [
        (word, target.forms[word][0], kind, sentence)
        for word, kind in sorted(found, key=lambda key: (order[key[0]], key[1] != "probe"))
        for _, _, sentence in found[word, kind]
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
