"""How long it takes to index a corpus of random words, and to find documents in it."""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from hyperprobe.reading.build import open_or_build

VOCABULARY, LENGTH, QUESTIONS = 200_000, 100, 100  # words; words of a text; questions
LETTERS = "etaoinshrdlucmfwypvb"


def save_corpus(path: Path, n_words: int) -> None:
    """Texts of `LENGTH` words, the i-th most frequent word with a share of 1/i (Zipf's law), of
    the English function words the most frequent ones."""
    random = np.random.default_rng(0)
    lengths = random.integers(2, 10, VOCABULARY)
    words = np.array(["".join(random.choice(list(LETTERS), size=n)) for n in lengths])
    common = "the of and to a in is was that for it as with on be by at not are".split()
    words[: len(common)] = common
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    with path.open("w") as file:
        for _ in range(n_words // LENGTH):
            drawn = np.searchsorted(shares, random.random(LENGTH) * shares[-1])
            file.write(" ".join(words[drawn]) + " .\n\n")


def processor_seconds() -> float:
    """Of this process and of those that it has started."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=25_000_000)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        save_corpus(corpus, given.words)
        start, used = time.perf_counter(), processor_seconds()
        index = open_or_build([corpus], Path(folder) / "index")
        seconds = time.perf_counter() - start
        print(
            f"{given.words:,} words in {index.n_documents:,} texts, {len(index.data):,} weights: "
            f"{seconds:.0f} s, {processor_seconds() - used:.0f} s of processor time"
        )
        _, text = index.document(index.n_documents // 2)
        question = " ".join(text.split()[:10])
        start = time.perf_counter()
        for _ in range(QUESTIONS):
            found = index.scores(question)
        each = 1000 * (time.perf_counter() - start) / QUESTIONS
        print(f"a question of ten words: {each:.1f} ms, {len(found):,} texts with a score")


if __name__ == "__main__":
    main()
