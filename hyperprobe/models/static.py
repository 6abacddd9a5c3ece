"""Static word vectors, read by gensim: the cosine of subject and candidate is the score."""

from __future__ import annotations

import gzip
import pickle
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.base import Ranking, Scores, rank_scores

TEXT_SUFFIXES = (".txt", ".vec")


class StaticModel:
    """gensim `KeyedVectors` as a `ClozeModel`: the text of a cloze plays no part."""

    kind = "static"

    def __init__(self, name: str, vectors: Any, source: dict[str, Any]) -> None:
        self.name = name
        self.vectors = vectors
        self._source = source

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

    def _unit_vectors(self, words: Sequence[str]) -> Scores:
        """Unit vectors [n_words, width], NaN for a word without one (any case will do)."""
        matrix = np.full((len(words), self.vectors.vector_size), np.nan, dtype=np.float32)
        for i, word in enumerate(words):
            for form in (word, word.lower()):
                # fastText's own format spells unseen words from character n-grams.
                if form in self.vectors:
                    vector = self.vectors[form]
                    norm = float(np.linalg.norm(vector))
                    if norm > 0:
                        matrix[i] = vector / norm
                    break
        return matrix

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """Cosines [n_clozes, n_candidates] between subjects and candidates.

        NaN where the subject has no vector; minus infinity for a candidate that
        has none, or that is the subject itself (its own nearest word).
        """
        subjects = [cloze.subject or "" for cloze in clozes]
        distinct = list(dict.fromkeys(subjects))
        cosines = self._unit_vectors(distinct) @ self._unit_vectors(candidates.words).T
        row = {subject: i for i, subject in enumerate(distinct)}
        scores: Scores = cosines[[row[subject] for subject in subjects]]
        no_subject: NDArray[np.bool_] = np.asarray(np.isnan(scores).all(axis=1))
        scores[np.isnan(scores) & ~no_subject[:, None]] = -np.inf
        for i, subject in enumerate(subjects):
            if not no_subject[i] and (own := candidates.index.get(subject)) is not None:
                scores[i, own] = -np.inf
        return scores

    def rank(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        gold: Sequence[int | None],
        k: int,
    ) -> Ranking:
        """The rank of each gold candidate by cosine, and the k nearest."""
        return rank_scores(self.score(clozes, candidates), gold, k)


def load_vectors(path: Path) -> Any:
    """gensim `KeyedVectors` from any of the formats in use.

    word2vec text and binary, GloVe text with and without a header, fastText
    `.vec` and `.bin`, gensim's own; `.gz` of each but the last two. Raises
    `UserError` on a file that is none of these or is cut short.
    """
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    if not path.is_file():
        raise UserError(f"no vectors file {path}: check the name")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            head = file.read(4096)
        if head[:4] == struct.pack("<i", 793712314):  # fastText's magic number
            return load_facebook_vectors(str(path))
        if head[:1] == b"\x80" or path.with_name(path.name + ".vectors.npy").exists():
            return _gensim_native(path)
        first = head.split(b"\n", 1)[0].split()
        has_header = len(first) == 2 and all(part.isdigit() for part in first)
        if has_header:
            n_words = int(first[0])
            binary = not _is_text(head)
            vectors = KeyedVectors.load_word2vec_format(
                str(path), binary=binary, unicode_errors="replace"
            )
            if len(vectors) < n_words - 1:
                # (real files repeat a word now and then, and gensim keeps the first)
                duplicates = n_words - len(vectors)
                if duplicates > n_words // 1000 + 1:
                    raise EOFError(f"{len(vectors)} of {n_words} words")
            return vectors
        return KeyedVectors.load_word2vec_format(
            str(path), no_header=True, unicode_errors="replace"
        )
    except (EOFError, ValueError, OSError, IndexError, KeyError, TypeError, struct.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"cannot read vectors from {path} ({reason}): the file is cut short or is not "
            "in word2vec, GloVe, fastText or gensim format"
        ) from error


class _SafeUnpickler(pickle.Unpickler):
    """Refuses everything but gensim's own classes, arrays and plain containers.

    gensim's native format is a pickle, which may otherwise run any code.
    """

    ALLOWED = frozenset(
        {
            ("builtins", name)
            for name in ("set", "frozenset", "int", "float", "complex", "slice", "range", "hash")
        }
        | {("collections", "OrderedDict"), ("collections", "defaultdict")}
        | {
            (module, name)
            for module in ("numpy.core.multiarray", "numpy._core.multiarray", "numpy")
            for name in ("_reconstruct", "scalar", "ndarray", "dtype")
        }
        | {
            ("numpy.random._pickle", name)
            for name in ("__randomstate_ctor", "__bit_generator_ctor")
        }
        | {("numpy.random._mt19937", "MT19937")}
        | {("numpy._core.numeric", "_frombuffer"), ("numpy.core.numeric", "_frombuffer")}
        | {("copyreg", "_reconstructor"), ("builtins", "object")}
        | {("gensim.utils", "call_on_class_only")}
    )

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("gensim.models.") or (module, name) in self.ALLOWED:
            return super().find_class(module, name)
        raise ValueError(f"it asks for {module}.{name}, which no vectors need")


def _gensim_native(path: Path) -> Any:
    """gensim's own format, looked through before gensim unpickles it."""
    from gensim.models import KeyedVectors, Word2Vec

    with path.open("rb") as file:
        try:
            _SafeUnpickler(file).load()
        except (pickle.UnpicklingError, AttributeError, ImportError, TypeError) as error:
            raise ValueError(str(error) or type(error).__name__) from error
    loaded: Any = KeyedVectors.load(str(path))
    if isinstance(loaded, Word2Vec):
        loaded = loaded.wv
    if not isinstance(loaded, KeyedVectors):
        raise ValueError(f"it holds a {type(loaded).__name__}, not word vectors")
    return loaded


def _is_text(head: bytes) -> bool:
    """Whether a word2vec file with a header is its text format: numbers after the first word."""
    line = head.split(b"\n", 2)[1] if head.count(b"\n") else b""
    parts = line.split(b" ")[1:4]
    try:
        [float(part) for part in parts]
    except ValueError:
        return False
    return bool(parts)
