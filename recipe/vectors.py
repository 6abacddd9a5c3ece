"""Stage 3: static vectors on the same text, by gensim.

In one thread: with several, no two runs are the same.
"""

from __future__ import annotations

import random
from pathlib import Path

from gensim.models import FastText, KeyedVectors, Word2Vec

from recipe.tokens import WORD

# What a hyponym *is* is said mostly in the dictionaries: read what is about things twice an epoch.
REPEATS: dict[str, float] = {
    "dictionary": 1,
    "sentences": 2,
    "doses": 2,
    "mentions": 2,
    "textbooks": 0.5,
    "fiction": 0.1,
}


def write_word_lines(work: Path, seed: int) -> Path:
    """All training text as one file of lower-case words, lines shuffled."""
    lines = []
    for name, repeats in REPEATS.items():
        with (work / f"{name}.txt").open(encoding="utf-8") as source:
            own = [" ".join(WORD.findall(line.lower())) for line in source]
        order = random.Random(seed)
        lines += own * int(repeats) if repeats >= 1 else order.sample(own, int(repeats * len(own)))
    random.Random(seed).shuffle(lines)
    target = work / "words.txt"
    target.write_text("\n".join(line for line in lines if " " in line) + "\n", encoding="utf-8")
    return target


def train_word2vec(work: Path, seed: int) -> KeyedVectors:
    """Skip-gram vectors, 150 wide, saved in full as `work/word2vec.kv`."""
    model = Word2Vec(
        corpus_file=str(write_word_lines(work, seed)),
        sg=1,
        vector_size=150,
        window=5,
        negative=8,
        sample=3e-5,
        min_count=3,
        epochs=4,
        seed=seed,
        workers=1,
    )
    model.wv.save(str(work / "word2vec.kv"))
    return model.wv


def train_fasttext(work: Path, words: list[str], seed: int) -> KeyedVectors:
    """Skip-gram vectors over character n-grams, 100 wide, of `words`; `work/fasttext.kv`.

    A word that the text never uses is spelt from its n-grams.
    """
    model = FastText(
        corpus_file=str(work / "words.txt"),
        sg=1,
        vector_size=100,
        window=5,
        negative=5,
        sample=3e-5,
        min_count=5,
        min_n=4,
        max_n=6,
        bucket=200_000,
        epochs=2,
        seed=seed,
        workers=1,
    )
    vectors = KeyedVectors(model.vector_size)
    vectors.add_vectors(words, [model.wv[word] for word in words])
    vectors.save(str(work / "fasttext.kv"))
    return vectors
