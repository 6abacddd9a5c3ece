"""`contexts mine`: sentences for a diagnostic set's words from a user's own corpus.

A sentence that breaks no rule of a probe is kept as `probe`, another that breaks
none of an ordinary sentence as `hyponym` or `hypernym`. Whether a probe is
selective only a reader can tell. Of each word and kind the best few are kept,
ties broken by a seeded hash: so the result depends neither on order nor on the
number of processes, and a killed run that goes on ends at the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.contexts.check import RULES, words_of
from hyperprobe.contexts.corpus import Skipped, corpus_files, read_chunks, split_sentences
from hyperprobe.contexts.sentences import COLUMNS, Context
from hyperprobe.diagnostic_files import load_diagnostic
from hyperprobe.errors import UserError
from hyperprobe.progress import progress
from hyperprobe.runs import Run, write_text

BEST_WORDS = 16  # a sentence about this long is easiest to read
SAVE_SECONDS = 5.0
_PLAIN = re.compile(r"^[\"“‘A-Z][^\[\]{}<>|=_#*@\\]*[.!?][\"”’]?$")

# (word, kind) -> [(distance from the best length, tie-breaking hash, sentence)], best first
Found = dict[tuple[str, str], list[tuple[int, str, str]]]


@dataclass(frozen=True)
class Target:
    """What to look for: word form -> (category, kind of ordinary sentence)."""

    forms: dict[str, tuple[str, str]]
    best: int
    seed: int


@dataclass(frozen=True)
class MineResult:
    """The written file, how many sentences of each kind, and what could not be read."""

    path: Path
    counts: pd.DataFrame
    skipped: Skipped


def targets(diagnostics: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Hyponyms in the singular, and their categories in both numbers."""
    forms: dict[str, tuple[str, str]] = {}
    for name in diagnostics:
        for row in load_diagnostic(name).to_dict("records"):
            category = row["hypernym"]
            forms[row["hyponym"]] = (category, "hyponym")
            for form in (category, row["hypernym_plural"]):
                forms[form] = (category, "hypernym")
    return forms


def mine(
    corpus: Sequence[Path],
    diagnostics: Sequence[str],
    best: int = 20,
    text_field: str = "text",
    processes: int = 2,
    seed: int = 0,
    results: Path = Path("results"),
) -> MineResult:
    """Search `corpus` and write `contexts.tsv` into a run folder.

    Memory does not grow with the corpus. The same call after a kill goes on
    from its last saved state. Raises `UserError` on a corpus that is not there.
    """
    given = dict(locals())
    files = corpus_files(corpus)
    target = Target(targets(diagnostics), best, seed)
    settings = {
        "corpus": {str(path): path.stat().st_size for path in files},
        "diagnostics": list(diagnostics),
        "best": best,
        "field": text_field,
        "seed": seed,
    }
    run = Run(results, "contexts-mine", settings, given)
    state = run.folder / "state.json"
    done, found = _restore(state)
    skipped = Skipped()
    context = multiprocessing.get_context("fork")
    _prepare(target)
    total = sum(path.stat().st_size for path in files)
    with context.Pool(processes) as pool, progress("mining", total, unit="bytes") as advance:
        saved = time.monotonic()
        # The pool reads ahead as far as it may: a semaphore keeps that to a few chunks.
        ahead = threading.Semaphore(4 * processes)
        chunks = _all_chunks(files, text_field, skipped, done, advance, ahead)
        for part in pool.imap(_search, chunks):
            ahead.release()
            _merge(found, part, best)
            done += 1
            if time.monotonic() - saved > SAVE_SECONDS:
                _save(state, done, found)
                saved = time.monotonic()
    table = _table(found, target)
    run.finish({"contexts.tsv": table}, seed)
    state.unlink(missing_ok=True)
    counts = table.groupby("kind").agg(n_sentences=("word", "size"), n_words=("word", "nunique"))
    return MineResult(run.folder / "contexts.tsv", counts.reset_index(), skipped)


def _all_chunks(
    files: Sequence[Path],
    text_field: str,
    skipped: Skipped,
    done: int,
    advance: Callable[[int], None],
    ahead: threading.Semaphore,
) -> Iterator[str]:
    """Every chunk of the corpus but the first `done`, which an earlier run has searched."""
    number = 0
    for path in files:
        place = 0

        def at(now: int) -> None:
            nonlocal place
            advance(now - place)
            place = now

        for chunk in read_chunks(path, text_field, skipped, at):
            number += 1
            if number > done:
                ahead.acquire()
                yield chunk


_target: Target | None = None


def _prepare(target: Target) -> None:
    """Fill what the rules look up, once, before the processes part."""
    global _target
    _target = target
    for word, (category, _) in target.forms.items():
        for rule in RULES.values():
            list(rule(Context(word, category, "probe", f"The {word} was there in the morning.")))


def _search(chunk: str) -> Found:
    """The best sentences of one chunk."""
    assert _target is not None
    found: Found = {}
    for line in chunk.splitlines():
        if not _target.forms.keys() & set(words_of(line)):
            continue
        for sentence in split_sentences(line):
            if not _PLAIN.match(sentence):
                continue
            for word in dict.fromkeys(w for w in words_of(sentence) if w in _target.forms):
                kind = _kind(word, sentence)
                if kind:
                    key = hashlib.sha256(f"{_target.seed}:{word}:{sentence}".encode()).hexdigest()
                    distance = abs(len(sentence.split()) - BEST_WORDS)
                    found.setdefault((word, kind), []).append((distance, key, sentence))
    best: Found = {}
    _merge(best, found, _target.best)
    return best


def _kind(word: str, sentence: str) -> str | None:
    """`probe` when no rule is broken, else the ordinary kind when none of its rules is."""
    assert _target is not None
    category, ordinary = _target.forms[word]
    for kind in ("probe", ordinary) if ordinary == "hyponym" else (ordinary,):
        context = Context(word, category, kind, sentence)
        if not any(True for rule in RULES.values() for _ in rule(context)):
            return kind
    return None


def _merge(found: Found, part: Found, best: int) -> None:
    for key, entries in part.items():
        # The same sentence may stand in the corpus twice.
        found[key] = sorted(set(found.get(key, []) + entries))[:best]


def _table(found: Found, target: Target) -> pd.DataFrame:
    order = {word: i for i, word in enumerate(target.forms)}
    rows = [
        (word, target.forms[word][0], kind, sentence)
        for word, kind in sorted(found, key=lambda key: (order[key[0]], key[1] != "probe"))
        for _, _, sentence in found[word, kind]
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _save(path: Path, done: int, found: Found) -> None:
    state = {"done": done, "found": [[*key, entries] for key, entries in found.items()]}
    write_text(path, json.dumps(state))


def _restore(path: Path) -> tuple[int, Found]:
    """The saved state of a killed run, or a fresh one."""
    try:
        state: Any = json.loads(path.read_text(encoding="utf-8"))
        found = {(w, kind): [(d, k, s) for d, k, s in e] for w, kind, e in state["found"]}
        return int(state["done"]), found
    except FileNotFoundError:
        return 0, {}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: delete it to begin again") from error
