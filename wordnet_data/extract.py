"""Make this folder from an installed WordNet 3.0.

    python wordnet_data/extract.py /usr/share/wordnet

Keeps every synset, lemma, relation and byte offset, and blanks the text of the
glosses and example sentences with spaces: the project ships facts, not other
people's sentences. Offsets stay those of WordNet 3.0, so that ImageNet ids and
other resources keyed by offset still fit. `lexnames`, which some distributions
leave out, is written from the table in the lexnames(5WN) manual page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")

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


def blank_gloss(line: bytes) -> bytes:
    """The line with all after its `|` replaced by spaces, at the same length."""
    if line.startswith(b"  "):  # the licence, at the head of each file
        return line
    head, bar, gloss = line.partition(b"|")
    return head + bar + b" " * (len(gloss.rstrip(b"\n")) if bar else 0) + b"\n"


def extract(source: Path, target: Path) -> None:
    """Write the extract of the WordNet database in `source` to `target`."""
    for part in PARTS_OF_SPEECH:
        with (source / f"data.{part}").open("rb") as lines:
            (target / f"data.{part}").write_bytes(b"".join(map(blank_gloss, lines)))
        for name in (f"index.{part}", f"{part}.exc"):
            shutil.copyfile(source / name, target / name)
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
