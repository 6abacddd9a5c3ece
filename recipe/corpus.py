"""Stage 1: the training text. Sources in, four text files and the coin's table out.

The sources are the `.xz` files described in `docs/embedded-model.md`, one
paragraph, definition or example per line.
"""

from __future__ import annotations

import csv
import lzma
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hyperprobe.diagnostic.build import CATEGORIES, all_hyponyms, negated_pairs
from hyperprobe.lexicon.morphology import plural
from hyperprobe.lexicon.wordnet import count_senses, open_wordnet
from recipe.coin import DICTIONARY, SENTENCE, sentences, toss, toss_balanced

DICTIONARIES = ("wordnet", "oewn", "gcide")
PROSE = {"openstax": "textbooks", "standardebooks": "fiction"}
_HEADWORDS = re.compile(r"^([A-Za-z][A-Za-z' .-]*(?:, [A-Za-z][A-Za-z' .-]*)*): (\S.*)$")
_SENTENCE_END = re.compile(r"(?<=[.!?][\"”’)])\s+(?=[A-Z\"“‘(])|(?<=[.!?])\s+(?=[A-Z\"“‘(])")


def read_source(folder: Path, name: str) -> Iterator[str]:
    with lzma.open(folder / f"{name}.txt.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


class Contamination:
    """Finds any diagnostic prompt, filled with any of its candidates, in a text."""

    def __init__(self) -> None:
        singular = "|".join(CATEGORIES)
        plurals = "|".join(plural(word) for word in CATEGORIES)
        self._pattern = re.compile(
            rf"(?:^|[.!?\"“]\s*)"
            rf"(?:an? [a-z]+ (?:is|is not) an? (?:{singular})|[a-z]+ are (?:{plurals}))\.",
            re.IGNORECASE,
        )

    def __call__(self, text: str) -> bool:
        return bool(self._pattern.search(text))


def build(source: Path, work: Path, seed: int) -> None:
    """Write `dictionary.txt`, `sentences.txt`, `textbooks.txt`, `fiction.txt` and `coin.tsv`."""
    work.mkdir(parents=True, exist_ok=True)
    wordnet = open_wordnet()

    def is_noun(word: str) -> bool:
        return count_senses(wordnet, word.lower().replace(" ", "_"), "n") > 0

    def noun_only(word: str) -> bool:
        return is_noun(word) and count_senses(wordnet, word.lower().replace(" ", "_"), "var") == 0

    items = [(item.lemma, item.category) for item in all_hyponyms(wordnet)]
    items += [(pair["hyponym"], pair["hypernym"]) for pair in negated_pairs()]
    arms = toss_balanced(items, seed)
    category_of = dict(items)
    contaminated = Contamination()
    dropped: Counter[str] = Counter()
    n_definitions: Counter[str] = Counter()
    n_sentences: Counter[str] = Counter()

    dictionary, encyclopedia = [], []
    for name in DICTIONARIES:
        for line in read_source(source, name):
            if contaminated(line):
                dropped[name] += 1
                continue
            match = _HEADWORDS.match(line)
            if match is None:
                dictionary.append(line)
                continue
            stay = []
            for headword in match[1].split(", "):
                printed: list[str] = []
                if is_noun(headword):
                    arm = arms.setdefault(headword, toss(headword, seed))
                    n_definitions[headword] += 1
                    if arm == SENTENCE:
                        printed = [
                            sentence
                            for sentence in sentences(
                                headword, match[2], noun_only(headword), is_noun, seed
                            )
                            if not contaminated(sentence)
                        ]
                if printed:
                    encyclopedia.extend(printed)
                    n_sentences[headword] += len(printed)
                else:
                    stay.append(headword)
            if stay:
                dictionary.append(f"{', '.join(stay)}: {match[2]}")
    for name, lines in (("dictionary", dictionary), ("sentences", encyclopedia)):
        (work / f"{name}.txt").write_text("\n".join(dict.fromkeys(lines)) + "\n", encoding="utf-8")
    for name, target in PROSE.items():
        with (work / f"{target}.txt").open("w", encoding="utf-8") as out:
            for line in read_source(source, name):
                kept = [part for part in _SENTENCE_END.split(line) if not contaminated(part)]
                dropped[name] += line != " ".join(kept) and contaminated(line)
                out.write("\n".join(kept) + "\n")
    with (work / "coin.tsv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(["lemma", "category", "arm", "n_definitions", "n_sentences"])
        for lemma in sorted(category_of):
            writer.writerow(
                [lemma, category_of[lemma], arms[lemma], n_definitions[lemma], n_sentences[lemma]]
            )
    in_sentence = sum(arm == SENTENCE for arm in arms.values())
    print(f"headwords: {in_sentence} {SENTENCE}, {len(arms) - in_sentence} {DICTIONARY}")
    print(f"lines: {len(dictionary)} dictionary, {len(encyclopedia)} sentences; dropped {dropped}")
