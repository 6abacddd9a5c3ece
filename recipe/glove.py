"""GloVe (Pennington et al. 2014) on the same text: counts, then weighted least squares.

Co-occurrences within a window are weighted by 1/distance (their section 4.2); the
cost is theirs, f(x) (w . c + b + b' - log x)^2 with f(x) = min(1, (x / 100)^0.75), and
a word's vector is w + c. Three things are not theirs, since the corpus is a thousand
times smaller and the words that matter are rare:

- Frequent words are thinned out before counting, as word2vec does, so that a window
  reaches the content words of a definition.
- The biases stay at what independence gives, log x_i. + log x_.j - log x_.., so that w . c
  says how much more often than by chance two words meet. A rare word's counts are all about
  one: trained biases alone explain them, and its vector learns nothing.
- Not AdaGrad but alternating least squares with a ridge: each word's vector is solved for
  exactly while the others are fixed. A rare word is fitted as well as a frequent one,
  in two sweeps; AdaGrad hardly moves it (docs/embedded-model.md has the figures).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from scipy.sparse import coo_matrix, csr_matrix

from recipe.export import askable_words
from recipe.tokens import word_counts

X_MAX, ALPHA = 100.0, 0.75
SAMPLE = 1e-4  # words more frequent than this share are thinned out
RIDGE = 0.3


def frequent_words(work: Path, n: int = 30_000, min_count: int = 2) -> list[str]:
    """The n most frequent words, and all words that can be asked for, met often enough."""
    counts = word_counts(work)
    asked = [word for word in askable_words(work) if counts[word] >= min_count]
    return sorted({word for word, _ in counts.most_common(n)} | set(asked))


def count_pairs(
    lines: Path, index: dict[str, int], window: int, sample: float, seed: int
) -> csr_matrix:
    """Symmetric weighted co-occurrences [n_words, n_words]; unknown words are skipped.

    An occurrence of a word with the share f is kept with probability sqrt(sample / f).
    """
    ids: list[int] = []
    line_of: list[int] = []
    with lines.open(encoding="utf-8") as source:
        for number, line in enumerate(source):
            known = [index[word] for word in line.split() if word in index]
            ids += known
            line_of += [number] * len(known)
    word, line_number = np.array(ids, dtype=np.int32), np.array(line_of, dtype=np.int32)
    n = len(index)
    share = np.bincount(word, minlength=n) / len(word)
    keep = np.sqrt(sample / np.maximum(share, sample))
    kept = np.random.default_rng(seed).random(len(word)) < keep[word]
    word, line_number = word[kept], line_number[kept]
    total = csr_matrix((n, n), dtype=np.float32)
    for distance in range(1, window + 1):
        same = line_number[:-distance] == line_number[distance:]
        left, right = word[:-distance][same], word[distance:][same]
        weight = np.full(len(left), 1 / distance, dtype=np.float32)
        total = total + coo_matrix((weight, (left, right)), shape=(n, n)).tocsr()
    return total + total.T


def fit(pairs: csr_matrix, width: int, sweeps: int, seed: int) -> np.ndarray:
    """Word vectors [n_words, width] from symmetric co-occurrences."""
    n = pairs.shape[0]
    marginal = np.log(np.maximum(np.asarray(pairs.sum(1)).ravel(), 1e-9))
    total = np.log(pairs.sum())
    random = np.random.default_rng(seed)
    contexts = random.normal(scale=0.1, size=(n, width)).astype(np.float32)
    ridge = RIDGE * np.eye(width, dtype=np.float32)

    def solve(others: np.ndarray) -> tuple[np.ndarray, float]:
        """The best vectors given those of the `others`, and the mean cost of a pair."""
        best, cost = np.zeros_like(others), 0.0
        for i in range(n):
            of_i = slice(pairs.indptr[i], pairs.indptr[i + 1])
            met, x = others[pairs.indices[of_i]], pairs.data[of_i]
            target = np.log(x) - (marginal[i] + marginal[pairs.indices[of_i]] - total)
            weight = np.minimum(1.0, (x / X_MAX) ** ALPHA)
            weighted = met * weight[:, None]
            best[i] = np.linalg.solve(weighted.T @ met + ridge, weighted.T @ target)
            cost += float(weight @ (met @ best[i] - target) ** 2)
        return best, cost / pairs.nnz

    for sweep in range(sweeps):
        words, _ = solve(contexts)
        contexts, cost = solve(words)
        print(f"GloVe sweep {sweep + 1}: cost {cost:.4f}", flush=True)
    return words + contexts


def train_glove(
    work: Path,
    words: list[str],
    seed: int,
    width: int = 100,
    sweeps: int = 3,
    window: int = 8,
    sample: float = SAMPLE,
) -> KeyedVectors:
    """Vectors of `words`, saved as `work/glove.kv`."""
    index = {word: i for i, word in enumerate(words)}
    pairs = count_pairs(work / "words.txt", index, window, sample, seed)
    vectors = KeyedVectors(width)
    matrix = fit(pairs, width, sweeps, seed)
    met = np.flatnonzero(np.diff(pairs.indptr))  # a word that meets no other has no vector
    vectors.add_vectors([words[i] for i in met], matrix[met])
    vectors.save(str(work / "glove.kv"))
    return vectors
