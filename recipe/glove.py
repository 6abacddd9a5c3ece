"""GloVe (Pennington et al. 2014) on the same text: counts, then weighted least squares.

Co-occurrences within a window are weighted by 1/distance (their section 4.2);
training minimises f(x) (w . c + b + b' - log x)^2 with f(x) = min(1, (x / x_max)^0.75)
by AdaGrad over mini-batches; a word's vector is w + c.

Three things are not theirs, since the corpus is a thousand times smaller and the
words that matter are rare. Frequent words are thinned out before counting, as
word2vec does, so that a window reaches the content words of a definition; x_max is
10 and not 100, as counts are smaller then; AdaGrad starts from nearly nothing, so
that rare words move too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from gensim.models import KeyedVectors
from scipy.sparse import coo_matrix, csr_matrix

from recipe.export import askable_words
from recipe.tokens import word_counts

X_MAX, ALPHA = 10.0, 0.75
SAMPLE = 1e-4  # words more frequent than this share are thinned out
START = 1e-6  # of the squared gradients


def frequent_words(work: Path, n: int = 30_000, min_count: int = 3) -> list[str]:
    """The n most frequent words, and all words that can be asked for, met often enough."""
    counts = word_counts(work)
    asked = [word for word in askable_words(work) if counts[word] >= min_count]
    return sorted({word for word, _ in counts.most_common(n)} | set(asked))


def count_pairs(
    lines: Path, index: dict[str, int], window: int, sample: float, seed: int
) -> csr_matrix:
    """Symmetric weighted co-occurrences [n_words, n_words]; unknown words are passed over.

    An occurrence of a word with the share f is kept with probability sqrt(sample / f).
    """
    ids: list[int] = []
    line_of: list[int] = []
    with lines.open(encoding="utf-8") as source:
        for number, line in enumerate(source):
            known = [index[word] for word in line.split() if word in index]
            ids += known
            line_of += [number] * len(known)
    word, place = np.array(ids, dtype=np.int32), np.array(line_of, dtype=np.int32)
    n = len(index)
    share = np.bincount(word, minlength=n) / len(word)
    keep = np.sqrt(sample / np.maximum(share, sample))
    kept = np.random.default_rng(seed).random(len(word)) < keep[word]
    word, place = word[kept], place[kept]
    total = csr_matrix((n, n), dtype=np.float32)
    for distance in range(1, window + 1):
        same = place[:-distance] == place[distance:]
        left, right = word[:-distance][same], word[distance:][same]
        weight = np.full(len(left), 1 / distance, dtype=np.float32)
        total = total + coo_matrix((weight, (left, right)), shape=(n, n)).tocsr()
    return total + total.T


def fit(
    pairs: csr_matrix,
    width: int,
    epochs: int,
    seed: int,
    rate: float = 0.05,
    batch: int = 65_536,
) -> np.ndarray:
    """Word vectors [n_words, width] from co-occurrences."""
    random = torch.Generator().manual_seed(seed)
    table = pairs.tocoo()
    rows, columns = torch.tensor(table.row).long(), torch.tensor(table.col).long()
    counts = torch.tensor(table.data)
    target, weight = counts.log(), (counts / X_MAX).pow(ALPHA).clamp(max=1.0)
    n = pairs.shape[0]
    # The last column is the bias.
    sides = [(torch.rand(n, width + 1, generator=random) - 0.5) / width for _ in range(2)]
    squares = [torch.full_like(side, START) for side in sides]
    for number in range(epochs):
        total = 0.0
        order = torch.randperm(len(counts), generator=random)
        for part in order.split(batch):
            w, c = sides[0][rows[part]], sides[1][columns[part]]
            error = (w[:, :-1] * c[:, :-1]).sum(1) + w[:, -1] + c[:, -1] - target[part]
            scaled = (weight[part] * error)[:, None]
            total += float((scaled[:, 0] * error).sum())
            one = torch.ones_like(scaled)
            gradients = (
                scaled * torch.cat([c[:, :-1], one], 1),
                scaled * torch.cat([w[:, :-1], one], 1),
            )
            for side, square, places, gradient in zip(
                sides, squares, (rows[part], columns[part]), gradients, strict=True
            ):
                square.index_add_(0, places, gradient**2)
                side.index_add_(0, places, -rate * gradient / square[places].sqrt())
        print(f"GloVe epoch {number + 1}: loss {total / len(counts):.4f}", flush=True)
    return (sides[0] + sides[1])[:, :-1].numpy()


def train_glove(
    work: Path,
    words: list[str],
    seed: int,
    width: int = 150,
    epochs: int = 4,
    window: int = 8,
    sample: float = SAMPLE,
) -> KeyedVectors:
    """Vectors of `words`, saved as `work/glove.kv`."""
    index = {word: i for i, word in enumerate(words)}
    pairs = count_pairs(work / "words.txt", index, window, sample, seed)
    vectors = KeyedVectors(width)
    vectors.add_vectors(words, fit(pairs, width, epochs, seed))
    vectors.save(str(work / "glove.kv"))
    return vectors
