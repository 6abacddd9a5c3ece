"""The `wordnet` source: facts from the noun taxonomy, in LAMA's own layout.

    python -m hyperprobe.probes.lama.wordnet_facts

writes the files that ship. Only a noun's first sense counts, on both sides, and
only words that are nouns alone, so that a fact is one that the bare words
express; the words are those of some use (Zipf frequency of both at least 2.5).
A relation keeps at most 1,000 facts, as in LAMA's T-REx: those whose rarer word is
the most frequent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hyperprobe.data.files import table
from hyperprobe.lexicon.wordnet import count_senses, open_wordnet
from hyperprobe.runs.files import write_text

FOLDER = table("lama_wordnet")
MIN_ZIPF = 2.5
MAX_FACTS = 1000

# name, type, template, negated template, description, direction, pointers of the synset
RELATIONS: tuple[tuple[str, str, str, str, str, bool, Callable[[Any], list[Any]]], ...] = tuple(
    (name, kind, f"The {text} .", f"The {negated} .", description, forward, pointers)
    for name, kind, text, negated, description, forward, pointers in (
        (
            "is-a",
            "N-1",
            "[X] is a kind of [Y]",
            "[X] is not a kind of [Y]",
            "the subject's direct hypernym",
            True,
            lambda s: s.hypernyms(),
        ),
        (
            "has-kind",
            "N-M",
            "[Y] is a kind of [X]",
            "[Y] is not a kind of [X]",
            "a direct hyponym of the subject",
            False,
            lambda s: s.hypernyms(),
        ),
        (
            "part-of",
            "N-M",
            "[X] is a part of the [Y]",
            "[X] is not a part of the [Y]",
            "a whole that the subject is part of",
            True,
            lambda s: s.part_holonyms(),
        ),
        (
            "has-part",
            "N-M",
            "[Y] is a part of the [X]",
            "[Y] is not a part of the [X]",
            "a part of the subject",
            False,
            lambda s: s.part_holonyms(),
        ),
        (
            "member-of",
            "N-M",
            "[X] is a member of the [Y]",
            "[X] is not a member of the [Y]",
            "a group that the subject belongs to",
            True,
            lambda s: s.member_holonyms(),
        ),
        (
            "has-member",
            "N-M",
            "[Y] is a member of the [X]",
            "[Y] is not a member of the [X]",
            "what belongs to the subject, a group",
            False,
            lambda s: s.member_holonyms(),
        ),
        (
            "made-of",
            "N-M",
            "[X] is made of [Y]",
            "[X] is not made of [Y]",
            "a substance that the subject is made of",
            True,
            lambda s: s.substance_meronyms(),
        ),
        (
            "substance-of",
            "N-M",
            "[Y] is made of [X]",
            "[Y] is not made of [X]",
            "what is made of the subject",
            False,
            lambda s: s.substance_meronyms(),
        ),
    )
)


@cache
def _zipf(word: str) -> float:
    from wordfreq import zipf_frequency

    return float(zipf_frequency(word, "en"))


def _words(wordnet: Any) -> dict[Any, str]:
    """Synset -> its first single lower-case word whose first noun sense it is, where one is asked.

    From the words, and not from the synsets: most of those have none.
    """
    known: dict[int, set[str]] = {}  # offset of a synset -> words
    for lemma, senses in wordnet._lemma_pos_offset_map.items():
        if (
            lemma.isalpha()
            and lemma.islower()
            and senses.get("n")
            and count_senses(wordnet, lemma, "vasr") == 0
            and _zipf(lemma) >= MIN_ZIPF
        ):
            known.setdefault(senses["n"][0], set()).add(lemma)
    words = {}
    for offset, lemmas in known.items():
        synset = wordnet.synset_from_pos_and_offset("n", offset)
        # (The index of lemmas is in lower case: "sol" is no word of the synset of Sol.)
        if (word := next((n for n in synset.lemma_names() if n in lemmas), None)) is not None:
            words[synset] = str(word)
    return words


def _pairs(
    words: dict[Any, str], pointers: Callable[[Any], list[Any]]
) -> Iterator[tuple[Any, str, str]]:
    """(synset, its word, the word of a synset that it points to)."""
    for synset, word in words.items():
        for other in pointers(synset):
            if (answer := words.get(other)) and answer != word:
                yield synset, word, answer


def build_facts() -> dict[str, str]:
    """File name -> text: `relations.jsonl` and one `WordNet/RELATION.jsonl` each."""
    wordnet = open_wordnet()
    words = _words(wordnet)
    files = {}
    relations = []
    for name, kind, template, negated, description, forward, pointers in RELATIONS:
        facts: dict[tuple[str, str], dict[str, str]] = {}
        for synset, word, other in _pairs(words, pointers):
            subject, answer = (word, other) if forward else (other, word)
            facts.setdefault(
                (subject, answer),
                {
                    "uuid": f"{name}-{synset.name()}-{other}",
                    "sub_label": subject,
                    "obj_label": answer,
                    "predicate_id": name,
                },
            )
        kept = sorted(facts, key=lambda pair: (-min(map(_zipf, pair)), pair))[:MAX_FACTS]
        files[f"WordNet/{name}.jsonl"] = "".join(
            json.dumps(facts[pair]) + "\n" for pair in sorted(kept)
        )
        relations.append(
            {
                "relation": name,
                "template": template,
                "template_negated": negated,
                "label": name.replace("-", " "),
                "description": description,
                "type": kind,
            }
        )
    files["relations.jsonl"] = "".join(json.dumps(row) + "\n" for row in relations)
    return files


if __name__ == "__main__":
    for file, text in build_facts().items():
        write_text(FOLDER / file, text)
