"""Words of a text, and the hashed pairs of them by which documents are found.

As DrQA's `simple` tokenizer and its ranker have them (Chen et al. 2017, section 3.1): single words
and adjacent pairs without function words, counted in 2^24 buckets by murmur3.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import regex
from sklearn.utils import murmurhash3_32

N_BUCKETS = 2**24
LONGEST = 2  # words of an n-gram
_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")
# English function words; what only other tokenizers cut off stands at the end.
STOP_WORDS = frozenset(
    """a about above after again against ain all am an and any are aren as at be because been before
    being below between both but by can couldn d did didn do does doesn doing don down during each
    few for from further had hadn has hasn have haven having he her here hers herself him himself
    his how i if in into is isn it its itself just ll m ma me mightn more most mustn my myself needn
    no nor not now o of off on once only or other our ours ourselves out over own re s same shan she
    should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up ve very was wasn we were weren what when where which
    while who whom why will with won wouldn y you your yours yourself yourselves
    '' `` 'd 'll 'm 're 's 've n't""".split()
)


class Token(NamedTuple):
    """A word or a mark of punctuation, and where it stands in its text."""

    text: str
    start: int
    end: int


def tokenise(text: str) -> list[Token]:
    """The words of a text, and every other character that is visible by itself."""
    return [Token(match[0], *match.span()) for match in _WORD.finditer(text)]


def normal(text: str) -> str:
    """The text with letters and their marks apart (NFD), as ids and dictionaries have it."""
    return unicodedata.normalize("NFD", text)


def search_words(text: str) -> list[str]:
    """The words of a text as documents are searched by them."""
    words: list[str] = _WORD.findall(normal(text))
    return [word.lower() for word in words]


def ngrams(words: list[str], longest: int = LONGEST) -> list[str]:
    """The runs of 1 to `longest` words in which none says nothing, joined by spaces, in order."""
    counts = [not is_empty(word) for word in words]
    return [
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
        if all(counts[start:end])
    ]


def is_empty(word: str) -> bool:
    """Whether a word says nothing about what a text is about: a function word, or punctuation."""
    return word in STOP_WORDS or all(unicodedata.category(c).startswith("P") for c in word)


def bucket(ngram: str, n_buckets: int = N_BUCKETS) -> int:
    """Where an n-gram is counted."""
    return int(murmurhash3_32(ngram.encode(), seed=0, positive=True)) % n_buckets
