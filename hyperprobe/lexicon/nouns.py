"""Is a word a noun where it stands? A rule of thumb for English, without a tagger.

WordNet says whether a word can be anything but a noun: a verb, also in another form of it (*saw* of
*see*), an adjective or an adverb. One that cannot is a noun. Of one that can, an occurrence counts
as a noun right after a word that only a noun phrase follows, an article, a possessive, a quantifier
or a preposition, with one adjective between or none: "the saw", "with an old saw", and not "I saw".
Nouns are missed so, and few verbs are taken.
"""

from __future__ import annotations

import re
from functools import cache

from hyperprobe.lexicon.wordnet import count_senses, open_wordnet

# "That" and "her" are left out: "the man that saw it", "made her duck".
_BEFORE_NOUN = frozenset(
    "a an the this these those my your his its our their another each every no some any many "
    "several few both two three four five six seven eight nine ten of in on at by with from into "
    "under over between among near against through behind beside above below across along around "
    "inside outside onto upon per".split()
)
_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*|[.,;:!?()\"“”]")


@cache
def only_noun(word: str) -> bool:
    """Whether WordNet has the word as nothing but a noun, or not at all."""
    wordnet, word = open_wordnet(), word.lower()
    bases = {word} | {wordnet.morphy(word, part) for part in "var"}
    return not any(count_senses(wordnet, base, "var") for base in bases if base)


def is_noun_in(word: str, sentence: str) -> bool:
    """Whether each occurrence of a word in a sentence is, by the rule, a noun's."""
    if " " in word or only_noun(word):
        return True
    words = [one.lower() for one in _WORD.findall(sentence)]
    return all(_follows(words, i) for i, one in enumerate(words) if one == word.lower())


def _follows(words: list[str], i: int) -> bool:
    if i and words[i - 1] in _BEFORE_NOUN:
        return True
    return i > 1 and words[i - 2] in _BEFORE_NOUN and _is_adjective(words[i - 1])


@cache
def _is_adjective(word: str) -> bool:
    return bool(count_senses(open_wordnet(), word, "as"))
