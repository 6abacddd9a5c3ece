"""What a corpus says: how often each word occurs in it, and each pair in a defining pattern.

The counts of the embedded model's corpus ship; a user brings a file of pair
counts, or text that is counted here with the same patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from hyperprobe.diagnostic.corpus import SKIPPED, Piece, Skipped, cells_of, read_chunks
from hyperprobe.documents import read_lines
from hyperprobe.errors import UserError
from hyperprobe.lexicon.morphology import plural
from hyperprobe.names import CONTROL_PREFIXES, EMBEDDED, EMBEDDED_FOLDER, EMBEDDED_VECTORS
from hyperprobe.runs.jobs import Job
from hyperprobe.runs.run import Run

PATTERNS = ("n_is_a", "n_are", "n_hearst")
WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*|[0-9]+")
_WORD = r"([a-z]+)"
_COUNT = re.compile("[0-9]{1,15}")


@dataclass(frozen=True)
class CorpusCounts:
    """Counts of one `source`.

    `words`: lower-case word -> occurrences, or None when only pairs are known.
    `pairs`: `hyponym`, `hypernym` and one column of occurrences for each pattern.
    `models`: which models were trained on it, or None for "ask about all".
    """

    source: str
    words: pd.Series | None
    pairs: pd.DataFrame
    models: tuple[str, ...] | None = None

    def is_about(self, model: str) -> bool:
        """Whether these counts say something of the model."""
        return self.models is None or model in self.models


def embedded_counts() -> CorpusCounts:
    """The exact counts of the text that the embedded model and vectors were trained on."""
    words, pairs = (
        pd.read_csv(EMBEDDED_FOLDER / f"corpus_{name}.tsv", sep="\t", keep_default_na=False)
        for name in ("words", "pairs")
    )
    controls = (f"{prefix}{EMBEDDED}" for prefix in CONTROL_PREFIXES)
    models = (EMBEDDED, *controls, *EMBEDDED_VECTORS)
    return CorpusCounts("embedded corpus", words.set_index("word")["count"], pairs, models)


def read_pair_counts(path: Path, predictions: pd.DataFrame) -> CorpusCounts:
    """A user's file of Hearst-pattern counts: hyponym, hypernym and count, tab-separated.

    No header; `.gz` or plain; words of a phrase are joined by `_`. Pairs that the
    file does not list have a count of 0. Raises `UserError` with the line of a bad row.
    """
    wanted = _pairs(predictions)
    in_lower = {(noun.lower(), kind.lower()): (noun, kind) for noun, kind in wanted.items()}
    found: Counter[tuple[str, str]] = Counter()
    for number, line in read_lines(path, "file of pair counts"):
        cells = line.split("\t")
        if len(cells) != 3 or not _COUNT.fullmatch(cells[2].strip()):
            raise UserError(f"{path}:{number}: write hyponym, hypernym and count, tab-separated")
        hyponym, hypernym = (cell.lower().replace("_", " ") for cell in cells[:2])
        if pair := in_lower.get((hyponym, hypernym)):
            found[pair] += int(cells[2])
    rows = [(*pair, found[pair]) for pair in wanted.items()]
    return CorpusCounts(
        str(path), None, pd.DataFrame(rows, columns=["hyponym", "hypernym", "n_hearst"])
    )


def count_pieces(
    pieces: Iterable[Piece], predictions: pd.DataFrame, text_field: str
) -> pd.DataFrame:
    """The counts of pieces of a corpus: `hyponym`, `hypernym`, `count` and the patterns; and in
    `attrs` what could not be read."""
    counter = PairCounter(countable(predictions))
    words: Counter[str] = Counter()
    skipped = Skipped()
    for piece in pieces:
        for chunk in read_chunks(piece, text_field, skipped):
            for line in chunk.lower().splitlines():
                words.update(w for w in WORD.findall(line) if w in counter.singular_of)
                counter.add(line)
    table = counter.table()
    table.insert(2, "count", [words[hyponym] for hyponym in table["hyponym"]])
    table.attrs[SKIPPED] = asdict(skipped)
    return table


def plan_counts(
    run: Run, files: Mapping[Path, str], predictions: pd.DataFrame, text_field: str
) -> Job[tuple[CorpusCounts, Skipped]]:
    """The job that counts a corpus (file -> digest): a cell of `run` for each share of it."""
    count = partial(count_pieces, predictions=predictions, text_field=text_field)
    cells = cells_of(run, files, "counts ", count)
    return Job(run, cells, _finish)


def _finish(run: Run, tables: Sequence[pd.DataFrame]) -> tuple[CorpusCounts, Skipped]:
    skipped = Skipped()
    for table in tables:
        skipped.add(Skipped(**table.attrs.pop(SKIPPED)))
    return sum_counts("your corpus", tables), skipped


def sum_counts(source: str, tables: Iterable[pd.DataFrame]) -> CorpusCounts:
    """One corpus's counts from those of its pieces."""
    total = pd.concat(list(tables)).groupby(["hyponym", "hypernym"], sort=False).sum().reset_index()
    words = total.drop_duplicates("hyponym").set_index("hyponym")["count"]
    return CorpusCounts(source, words, total.drop(columns="count"))


def countable(predictions: pd.DataFrame) -> dict[str, str]:
    """Hyponym -> hypernym of the nouns that are one word of lower-case letters: others are not
    found in lines of such words."""
    return {noun: kind for noun, kind in _pairs(predictions).items() if WORD.fullmatch(noun)}


def _pairs(predictions: pd.DataFrame) -> dict[str, str]:
    return dict(zip(predictions["hyponym"], predictions["hypernym"], strict=True))


def patterns(category: str) -> dict[str, re.Pattern[str]]:
    """Name -> pattern whose one group is the hyponym: the probes' form, and Hearst's (1992)."""
    category, many = re.escape(category), re.escape(plural(category))
    hearst = (
        rf"\b{many},? such as (?:an? |the )?{_WORD}",
        rf"\bsuch {many} as (?:an? |the )?{_WORD}",
        rf"\b{_WORD},? (?:and|or) other {many}\b",
        rf"\b{many},? (?:including|especially) (?:an? |the )?{_WORD}",
    )
    return {
        "n_is_a": re.compile(rf"\b{_WORD} is an? {category}\b"),
        "n_are": re.compile(rf"\b{_WORD} are {many}\b"),
        **{f"n_hearst {i}": re.compile(pattern) for i, pattern in enumerate(hearst)},
    }


@dataclass
class PairCounter:
    """Counts the defining patterns of `pairs` (hyponym -> hypernym) in lines of lower-case text."""

    pairs: dict[str, str]
    found: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.singular_of = {plural(word): word for word in self.pairs}
        self.singular_of |= {word: word for word in self.pairs}
        self._compiled = {
            category: patterns(category) for category in dict.fromkeys(self.pairs.values())
        }

    def add(self, line: str) -> None:
        for category, tests in self._compiled.items():
            if category not in line:
                continue
            for name, pattern in tests.items():
                for match in pattern.finditer(line):
                    word = self.singular_of.get(match[1])
                    if word and self.pairs[word] == category:
                        self.found[word, name.split()[0]] += 1

    def table(self) -> pd.DataFrame:
        """One row per pair in the order of `pairs`: `hyponym`, `hypernym` and `PATTERNS`."""
        rows = [
            (word, category, *(self.found[word, name] for name in PATTERNS))
            for word, category in self.pairs.items()
        ]
        return pd.DataFrame(rows, columns=["hyponym", "hypernym", *PATTERNS])
