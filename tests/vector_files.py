"""Six words and their vectors, and what is said of a file that holds none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from hyperprobe.errors import UserError
from hyperprobe.models.static import load_vectors

WORDS = ["robin", "robins", "bird", "birds", "fish", "tool"]
MATRIX = np.random.default_rng(1).normal(size=(len(WORDS), 8)).astype(np.float32)
SUFFIXES = (".txt", ".vec", ".bin", ".kv", ".model", ".gz", ".wordvectors")


def vectors() -> KeyedVectors:
    made = KeyedVectors(8)
    made.add_vectors(WORDS, MATRIX)
    return made


def refusal(path: Path) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(UserError) as caught:
        load_vectors(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)
