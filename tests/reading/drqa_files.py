"""Files in the layouts of DrQA, small and made here."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import torch

from hyperprobe.reading.drqa_reader import Network, Settings
from hyperprobe.reading.ngrams import bucket, ngrams, search_words

N_BUCKETS = 4096
INDEX = "docs-tfidf-ngram=2-hash=4096-tokenizer=simple.npz"
SETTINGS: dict[str, Any] = {
    "embedding_dim": 4, "hidden_size": 3, "doc_layers": 2, "question_layers": 1,
    "num_features": 3, "use_qemb": True, "concat_rnn_layers": True, "model_type": "rnn",
    "rnn_type": "lstm", "question_merge": "self_attn",
}  # fmt: skip
FEATURES = {"in_question": 0, "in_question_uncased": 1, "tf": 2}


def save_database(path: Path, texts: Mapping[str, str]) -> None:
    """`docs.db`."""
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE documents (id PRIMARY KEY, text)")
        database.executemany("INSERT INTO documents VALUES (?, ?)", texts.items())
    database.close()


def save_index(
    folder: Path, texts: Mapping[str, str], packed: bool = False, **metadata: Any
) -> Path:
    """The documents and their index, as DrQA writes them; `metadata` replaces some of its own."""
    save_database(folder / "docs.db", texts)
    table = np.zeros((N_BUCKETS, len(texts)))
    for column, text in enumerate(texts.values()):
        for one, n in Counter(bucket(g, N_BUCKETS) for g in ngrams(search_words(text))).items():
            table[one, column] = n
    doc_freqs = (table > 0).sum(1)
    idf = np.log((len(texts) - doc_freqs + 0.5) / (doc_freqs + 0.5)).clip(0)
    rows, columns = table.nonzero()
    about = {
        "doc_freqs": doc_freqs, "tokenizer": "simple", "hash_size": N_BUCKETS, "ngram": 2,
        "doc_dict": ({name: i for i, name in enumerate(texts)}, list(texts)), **metadata,
    }  # fmt: skip
    save = np.savez_compressed if packed else np.savez
    arrays: dict[str, Any] = {
        "data": (np.log1p(table) * idf[:, None])[rows, columns],
        "indices": columns.astype(np.int32),
        "indptr": np.concatenate([[0], np.cumsum(doc_freqs)]).astype(np.int32),
        "shape": np.array(table.shape),
        "metadata": np.array(about, dtype=object),
    }
    save(folder / INDEX, **arrays)
    return folder / INDEX


def save_reader(path: Path, words: list[str], change: Any = lambda content: None, **args: Any):
    """A reader of random weights that knows `words`; `change` may change what is written."""
    module = ModuleType("drqa.reader.data")
    kind: Any = type("Dictionary", (), {"__module__": "drqa.reader.data"})
    module.Dictionary = kind  # type: ignore[attr-defined]
    dictionary = kind()
    dictionary.tok2ind = {w: i for i, w in enumerate(["<NULL>", "<UNK>", *words])}
    dictionary.ind2tok = {i: w for w, i in dictionary.tok2ind.items()}
    torch.manual_seed(0)
    network = Network(len(dictionary.tok2ind), Settings(**SETTINGS))
    content = {
        "state_dict": network.state_dict(),
        "word_dict": dictionary,
        "feature_dict": FEATURES,
        "args": argparse.Namespace(**SETTINGS | args),
    }
    change(content)
    parents = {name: ModuleType(name) for name in ("drqa", "drqa.reader")}
    with mock.patch.dict(sys.modules, {**parents, "drqa.reader.data": module}):
        torch.save(content, path)
    return path
