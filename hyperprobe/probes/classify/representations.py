"""What the probe sees of a word: a contextual vector, a static one, or its spelling."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from hyperprobe.errors import UserError
from hyperprobe.model_names import is_vectors
from hyperprobe.models.embedding import (
    LAST,
    Layers,
    Vectors,
    check_vectors,
    find_word,
)
from hyperprobe.models.load import load_encoder, load_static
from hyperprobe.names import CHARACTERS
from hyperprobe.options import ModelOptions
from hyperprobe.runs.files import write_bytes

N_CHARACTER_FEATURES = 300
NGRAMS = (1, 3)  # characters in a row
PRECISION = "double on a CPU"  # of the arithmetic: vectors of other versions are encoded again


@dataclass(frozen=True)
class Representation:
    """A table of `vectors` [n_layers, n_vectors, width], and which of its rows the folds use.

    `first` and `second` [n_rows of the folds] are the rows of hyponyms and
    hypernyms, `unknown` the words without a vector: theirs is zero. `layers` names
    the first axis; for what has no layers it is one empty name.
    """

    name: str
    vectors: torch.Tensor
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    layers: tuple[str, ...]
    unknown: tuple[str, ...]
    about: dict[str, Any]

    def of(self, rows: NDArray[np.bool_]) -> Representation:
        """The same vectors for some rows of the folds."""
        return replace(self, first=self.first[rows], second=self.second[rows])


def represent(
    name: str,
    folds: pd.DataFrame,
    cache: Path,
    layer: Layers = LAST,
    all_layers: bool = False,
    options: ModelOptions | None = None,
) -> Representation:
    """The vectors of the words of `folds` from the model called `name`, or their spelling.

    Contextual vectors, of `layer` and with `all_layers` of each single one too, are
    kept in the folder `cache` under a digest of the model and the sentences.
    """
    if name != CHARACTERS and not is_vectors(name):
        return _contextual(name, folds, cache, layer, all_layers, options or ModelOptions())
    words, first, second = _distinct(list(folds["hyponym"]), list(folds["hypernym"]))
    if name == CHARACTERS:
        about: dict[str, Any] = {"name": name, "ngrams": NGRAMS}
        vectors, unknown = characters(words), list[str]()
    else:
        model = load_static(name)
        vectors, unknown = model.vectors_of(words)
        about = model.describe()
    if len(unknown) == len(words):
        raise UserError(f"{name} has a vector for none of the words: is it for another language?")
    check_vectors(vectors[None], name)
    about["without_vector"] = unknown
    table = scaled(vectors[None])
    return Representation(name, table, first, second, ("",), tuple(unknown), about)


def scaled(vectors: Vectors) -> torch.Tensor:
    """Each layer divided by its root mean square: one learning rate fits all representations."""
    # (numpy's sums, unlike torch's, are the same on any number of threads)
    squares = np.square(vectors, dtype=np.float64).mean(axis=(1, 2), keepdims=True)
    return torch.from_numpy((vectors / np.sqrt(squares)).astype(np.float32))


def characters(words: Sequence[str]) -> Vectors:
    """Unit vectors [n_words, 300] of the runs of one to three characters in each word.

    Hashed with signs; word boundaries count as characters. This is all that the
    spelling gives away: that a catfish ends in fish.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer="char_wb", ngram_range=NGRAMS, n_features=N_CHARACTER_FEATURES
    )
    table: Vectors = hashing.transform(words).toarray().astype(np.float32)
    return table


def _contextual(
    name: str,
    folds: pd.DataFrame,
    cache: Path,
    layer: Layers,
    all_layers: bool,
    options: ModelOptions,
) -> Representation:
    encoder = load_encoder(name, options)
    keys, first, second = _distinct(
        list(zip(folds["hyponym"], folds["hyponym_sentence"], strict=True)),
        list(zip(folds["hypernym"], folds["hypernym_sentence"], strict=True)),
    )
    mentions = [find_word(*key) for key in keys]
    wanted = [layer]
    names = [""]
    if all_layers:
        wanted += [(i,) for i in range(encoder.depth + 1)]
        names += [str(i) for i in range(encoder.depth + 1)]
    about: list[Any] = [name, encoder.source, options.dtype, encoder.device_type, PRECISION]
    identity = json.dumps([*about, wanted, mentions])
    path = cache / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.safetensors"
    vectors = _stored(path, (len(wanted), len(mentions), encoder.width))
    if vectors is None:
        vectors = encoder.encode(mentions, wanted, name)
        _store(path, vectors)
    notes = {
        "name": name,
        **encoder.describe(),
        "layer": "+".join(map(str, layer)),
        "width": vectors.shape[-1],
        "n_sentences": len({mention.sentence for mention in mentions}),
    }
    return Representation(name, scaled(vectors), first, second, tuple(names), (), notes)


def _stored(path: Path, shape: tuple[int, int, int]) -> Vectors | None:
    """The vectors that are kept there, if they are there and whole."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        vectors: Vectors = load_file(path)["vectors"]
        check_vectors(vectors, str(path))
    except (OSError, SafetensorError, KeyError, ValueError, UserError):
        return None  # not there yet, or damaged after it was written: encode
    return vectors if vectors.shape == shape else None


def _store(path: Path, vectors: Vectors) -> None:
    from safetensors.numpy import save

    # (its own writer reports a full disk by an error of its own)
    write_bytes(path, save({"vectors": vectors}))


def _distinct(
    first: list[Any], second: list[Any]
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys in order of appearance, and the index of each of both lists in them."""
    index = {key: i for i, key in enumerate(dict.fromkeys([*first, *second]))}
    return (
        list(index),
        np.array([index[key] for key in first], dtype=np.int64),
        np.array([index[key] for key in second], dtype=np.int64),
    )
