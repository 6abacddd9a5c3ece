"""Static word vectors: the cosine of subject and candidate is the score."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.errors import UserError, one_line, quoted
from hyperprobe.models.base import Ranking, Scores, rank_in_parts
from hyperprobe.models.fasttext_files import check_fasttext, starts_fasttext
from hyperprobe.models.gensim_files import PICKLES, read_native
from hyperprobe.models.vector_files import read_quantized, read_rows

QUANTIZED = ".safetensors"  # of the vectors that ship
NUMBERS_AT_ONCE = 8_000_000  # scores of subjects and candidates


class WordVectors:
    """Words and their vectors [n_words, width], with gensim's names for both: that takes half a
    second to import."""

    def __init__(self, words: list[str], matrix: NDArray[np.float32]) -> None:
        self.index_to_key = words
        self.key_to_index = {word: i for i, word in enumerate(words)}
        self.vectors = matrix
        self.vector_size = matrix.shape[1]

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, word: str) -> bool:
        return word in self.key_to_index

    def __getitem__(self, word: str) -> Scores:
        vector: Scores = self.vectors[self.key_to_index[word]]
        return vector


class StaticModel:
    """Word vectors as a `ClozeModel`: the text of a cloze plays no part."""

    kind = "static"
    reads_text = False

    def __init__(self, name: str, vectors: Any, source: dict[str, Any]) -> None:
        self.name = name
        self.vectors = vectors
        self._source = source
        self._candidates: tuple[tuple[str, ...], Scores] | None = None

    @classmethod
    def load(cls, name: str, path: Path, source: dict[str, Any]) -> StaticModel:
        """The vectors in a file; see `load_vectors`."""
        return cls(name, load_vectors(path), source)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            **self._source,
            "n_words": len(self.vectors),
            "width": int(self.vectors.vector_size),
        }

    def words(self) -> list[str]:
        return list(self.vectors.index_to_key)

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        """The clozes as they are: their texts play no part."""
        return list(clozes)

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        """NaN for each text: vectors read no pieces."""
        return [float("nan")] * len(texts)

    def vectors_of(self, words: Sequence[str]) -> tuple[Scores, list[str]]:
        """Vectors [n_words, width], and the words that have none: theirs are zeros.

        Any case will do.
        """
        table = np.zeros((len(words), self.vectors.vector_size), dtype=np.float32)
        rows = np.array([self.vectors.key_to_index.get(word, -1) for word in words], dtype=int)
        table[rows >= 0] = self.vectors.vectors[rows[rows >= 0]]
        unknown = []
        for i in np.flatnonzero(rows < 0).tolist():
            vector = self._vector(words[i])
            if vector is None:
                unknown.append(words[i])
            else:
                table[i] = vector
        return table, unknown

    def _vector(self, word: str) -> Scores | None:
        # fastText's own format spells unseen words from character n-grams.
        form = next((form for form in (word, word.lower()) if form in self.vectors), None)
        return None if form is None else self.vectors[form]

    def _unit_vectors(self, words: Sequence[str]) -> Scores:
        """Unit vectors [n_words, width], NaN for a word without one (any case will do)."""
        table, _ = self.vectors_of(words)
        lengths = np.sqrt(table[:, None, :] @ table[:, :, None])[:, :, 0]
        units = np.full_like(table, np.nan)
        np.divide(table, lengths, out=units, where=lengths > 0)
        return units

    def _units_of_candidates(self, words: tuple[str, ...]) -> Scores:
        """As `_unit_vectors`; those of the last candidates are kept, as many relations share
        them."""
        if self._candidates is None or self._candidates[0] != words:
            self._candidates = words, self._unit_vectors(words)
        return self._candidates[1]

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """Cosines [n_clozes, n_candidates] between subjects and candidates.

        NaN where the subject has no vector; minus infinity for a candidate that
        has none, or that is the subject itself (its own nearest word).
        """
        subjects = [cloze.subject or "" for cloze in clozes]
        row = {subject: i for i, subject in enumerate(dict.fromkeys(subjects))}
        units, others = self._unit_vectors(list(row)), self._units_of_candidates(candidates.words)
        cosines: Scores = units @ others.T
        is_known, has_none = ~np.isnan(units[:, 0]), np.isnan(others[:, 0])
        if not has_none.all():
            cosines[np.ix_(is_known, has_none)] = -np.inf
            for subject, i in row.items():
                column = candidates.index.get(subject)
                if is_known[i] and column is not None:
                    cosines[i, column] = -np.inf
        if len(row) == len(subjects):
            return cosines
        return cosines[[row[subject] for subject in subjects]]

    def score_pairs(self, clozes: Sequence[Cloze], words: Sequence[str]) -> Scores:
        """Cosines [n_clozes] of each subject and its own word; NaN where one has no vector."""
        subjects = [cloze.subject or "" for cloze in clozes]
        distinct = list(dict.fromkeys([*subjects, *words]))
        row = {word: i for i, word in enumerate(distinct)}
        unit = self._unit_vectors(distinct)
        first, second = ([row[word] for word in side] for side in (subjects, words))
        cosines: Scores = np.einsum("ij,ij->i", unit[first], unit[second])
        return cosines

    def rank(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        gold: Sequence[int | None],
        k: int,
    ) -> Ranking:
        """The rank of each gold candidate by cosine, and the k nearest."""
        rows = max(1, NUMBERS_AT_ONCE // len(candidates))
        return rank_in_parts(lambda some: self.score(clozes[some], candidates), gold, k, rows)


def load_vectors(path: Path) -> Any:
    """`WordVectors`, or gensim's own of fastText, from any of the formats in use.

    word2vec text and binary, GloVe text with and without a header, fastText
    `.vec` and `.bin`, gensim's own (read as data: nothing in them is run);
    `.gz` of each but the last two. Raises `UserError` on a file that is none of
    these, is cut short, or has a row that is no vector.
    """
    if not path.is_file():
        raise UserError(f"no vectors file {path}: check the name")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            head = file.read(64)
        whole = starts_fasttext(head) or head.startswith(PICKLES)
        if whole and path.suffix == ".gz":
            raise ValueError("it is fastText's or gensim's own format, packed: unpack it")
        if path.suffix == QUANTIZED:
            return keyed_vectors(*read_quantized(path))
        if starts_fasttext(head):
            return _load_fasttext(path)
        words, matrix = (read_native if whole else read_rows)(path)
        return keyed_vectors(words, matrix)
    except UserError:
        raise
    # (gensim's and numpy's readers raise all kinds on damaged files)
    except Exception as error:
        reason = one_line(str(error))[:200] or type(error).__name__
        raise UserError(
            f"cannot read vectors from {path} ({reason}): correct it, or name a file in "
            "word2vec, GloVe, fastText or gensim format"
        ) from error


def keyed_vectors(words: list[str], matrix: NDArray[np.float32]) -> WordVectors:
    """`WordVectors` of these words and their vectors [n_words, width].

    Raises `ValueError` on what no vectors are.
    """
    made = WordVectors(words, matrix)
    if not words or not matrix.shape[1]:
        raise ValueError("it holds no vectors")
    if len(made.key_to_index) < len(words):
        raise ValueError(f"{len(words) - len(made.key_to_index)} of its words stand twice")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise ValueError(f"a number of {quoted(words[row])} is not finite")
    return made


def _load_fasttext(path: Path) -> Any:
    """Vectors that spell unseen words from character n-grams."""
    from gensim.models.fasttext import load_facebook_vectors

    check_fasttext(path)
    vectors = load_facebook_vectors(str(path))
    if not np.isfinite(vectors.vectors_ngrams).all() or not np.isfinite(vectors.vectors).all():
        raise ValueError("a number in it is not finite")
    return vectors
