"""Make this folder from an installed WordNet 3.0.

    python wordnet_data/extract.py /usr/share/wordnet

Keeps every noun synset with its words and the relations that are asked for, at its byte offset:
ImageNet ids and other resources keyed by offset still fit. Glosses and example sentences become
spaces, as the project ships facts, not other people's sentences, and so do the other relations.
Of verbs, adjectives and adverbs only how many senses each word has is kept, with offset 0 for
each: that tells whether a word is only a noun. `lexnames`, which some distributions leave out,
is written from the table in the lexnames(5WN) manual page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")

# Pointer symbols, wninput(5WN): hypernyms, also of an instance, hyponyms, wholes, parts, groups of
# which it is a member, and substances of which it is made. Nothing reads the others.
RELATIONS = frozenset(b"@ @i ~ #p %p #m %s".split())

# Number, name and part-of-speech code (1 noun, 2 verb, 3 adjective, 4 adverb).
NOUN_FILES = (
    "Tops act animal artifact attribute body cognition communication event feeling food group "
    "location motive object person phenomenon plant possession process quantity relation shape "
    "state substance time"
)
VERB_FILES = (
    "body change cognition communication competition consumption contact creation emotion motion "
    "perception possession social stative weather"
)
LEXNAMES: tuple[tuple[str, int], ...] = (
    ("adj.all", 3),
    ("adj.pert", 3),
    ("adv.all", 4),
    *((f"noun.{name}", 1) for name in NOUN_FILES.split()),
    *((f"verb.{name}", 2) for name in VERB_FILES.split()),
    ("adj.ppl", 3),
)


def is_licence(line: bytes) -> bool:
    """Whether the line is of the licence at the head of each file."""
    return line.startswith(b"  ")


def shorten_synset(line: bytes) -> bytes:
    """A line of data.noun with `RELATIONS` alone and no gloss, at the same length."""
    if is_licence(line):
        return line
    fields = line.partition(b"|")[0].split()
    pointers_at = 4 + 2 * int(fields[3], 16)  # behind the words, each with its number
    pointers = [fields[i : i + 4] for i in range(pointers_at + 1, len(fields), 4)]
    kept = [pointer for pointer in pointers if pointer[0] in RELATIONS]
    fields[pointers_at:] = [b"%03d" % len(kept), *(field for pointer in kept for field in pointer)]
    return b" ".join([*fields, b"|"]).ljust(len(line) - 1) + b"\n"


def shorten_lemma(line: bytes, part: str) -> bytes:
    """A line of an index without pointer symbols; of a noun with the offsets of its senses."""
    if is_licence(line):
        return line
    lemma, pos, n_senses, n_symbols, *rest = line.split()
    counts, offsets = rest[int(n_symbols) :][:2], rest[int(n_symbols) :][2:]
    offsets = offsets if part == "noun" else [b"0"] * int(n_senses)
    return b" ".join([lemma, pos, n_senses, b"0", *counts, *offsets]) + b"\n"


def extract(source: Path, target: Path) -> None:
    """Write the extract of the WordNet database in `source` to `target`."""
    for part in PARTS_OF_SPEECH:
        data, index = (
            (source / f"{kind}.{part}").read_bytes().splitlines(keepends=True)
            for kind in ("data", "index")
        )
        # (nltk reads the version from the licence in data.adj)
        lines = map(shorten_synset, data) if part == "noun" else filter(is_licence, data)
        (target / f"data.{part}").write_bytes(b"".join(lines))
        lemmas = (shorten_lemma(line, part) for line in index)
        (target / f"index.{part}").write_bytes(b"".join(lemmas))
        shutil.copyfile(source / f"{part}.exc", target / f"{part}.exc")
    (target / "lexnames").write_text(
        "".join(f"{i:02d}\t{name}\t{pos}\n" for i, (name, pos) in enumerate(LEXNAMES))
    )
    licence = [
        line[4:]
        for line in (source / "data.noun")
        .read_text(encoding="ascii", errors="strict")
        .splitlines()[:29]
    ]
    (target / "LICENSE").write_text("\n".join(line.rstrip() for line in licence) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with data.noun, index.noun, ...")
    parser.add_argument("--target", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    missing = [
        name
        for part in PARTS_OF_SPEECH
        for name in (f"data.{part}", f"index.{part}", f"{part}.exc")
        if not (arguments.source / name).is_file()
    ]
    if missing:
        print(f"{arguments.source} lacks {missing[0]}: name a WordNet 3.0 folder", file=sys.stderr)
        return 2
    try:
        arguments.target.mkdir(parents=True, exist_ok=True)
        extract(arguments.source, arguments.target)
    except (OSError, ValueError) as error:  # a full disk, or a licence that is no ASCII
        print(f"cannot make {arguments.target}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
