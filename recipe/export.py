"""Stage 5: what ships: weights in half precision, and in 8 bits vectors of the words that can be
asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from transformers import BertTokenizer

from hyperprobe.diagnostic.build import CATEGORIES, all_hyponyms, negated_pairs
from hyperprobe.lexicon.morphology import plural
from hyperprobe.lexicon.wordnet import open_wordnet
from hyperprobe.models.vector_files import write_quantized
from hyperprobe.names import EMBEDDED_FOLDER, EMBEDDED_VECTORS


def export(work: Path, target: Path = EMBEDDED_FOLDER) -> None:
    """Copy the finished model, vectors and the tables from `work` to `target`."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copytree(work / "model", target / "masked-lm", dirs_exist_ok=True)
    for table in ("arms.tsv", "arms_summary.tsv", "corpus_words.tsv", "corpus_pairs.tsv"):
        shutil.copyfile(work / table, target / table)
    for name in EMBEDDED_VECTORS:
        vectors = KeyedVectors.load(str(work / f"{name}.kv"))
        words = [word for word in askable_words(work) if word in vectors]
        matrix = np.stack([vectors[word] for word in words])
        write_quantized(target / f"{name}.safetensors", words, matrix)


def askable_words(work: Path) -> list[str]:
    """Categories, hyponyms, their plurals, and the whole words of the masked LM's vocabulary."""
    nouns = [item.lemma for item in all_hyponyms(open_wordnet())]
    nouns += [pair["hyponym"] for pair in negated_pairs()]
    nouns += CATEGORIES
    pieces = BertTokenizer.from_pretrained(work / "tokenizer").get_vocab()
    return sorted({*nouns, *map(plural, nouns), *(p for p in pieces if p.isalpha())})
