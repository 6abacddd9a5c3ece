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


def _word(wordnet: Any, synset: Any) -> str | None:
    """The first single lower-case word whose first noun sense is the synset."""
    for lemma in synset.lemma_names():
        if lemma.isalpha() and lemma.islower():
            senses = wordnet._lemma_pos_offset_map[lemma].get("n", [None])
            is_first_sense = senses[0] == synset.offset()
            # (the count of senses last: it is slow)
            if (
                is_first_sense
                and _zipf(lemma) >= MIN_ZIPF
                and count_senses(wordnet, lemma, "vasr") == 0
            ):
                return str(lemma)
    return None


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
    found = {synset: _word(wordnet, synset) for synset in wordnet.all_synsets("n")}
    words = {synset: word for synset, word in found.items() if word}
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
