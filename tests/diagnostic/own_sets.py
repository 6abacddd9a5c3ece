"""Small sets of one's own: pairs, a taxonomy, and what is built of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from hyperprobe.built import BuiltSets, build
from hyperprobe.diagnostic.sets import DiagnosticSet, load_set

PAIRS = "robin\tbird\nwren\tbird\noak\ttree\nash tree\ttree\nchair\tfurniture\n"
EDGES = """child\tparent
thing\tall
animal\tall
bird\tanimal
robin\tbird
snow goose\tbird
goose\tbird
pet\tanimal
goose\tpet
chair\tthing
lamp\tthing
toy duck\tthing
toy duck\tanimal
all\t""".removesuffix("\nall\t")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def built(tmp_path: Path, pairs: str | bytes | Path = "", name: str = "own.tsv", **options: object):
    """The built set read back, what was built, and the review."""
    given = dict(options)
    if isinstance(pairs, Path):
        given["pairs"] = pairs
    elif pairs:
        path = tmp_path / name
        path.write_bytes(pairs if isinstance(pairs, bytes) else pairs.encode())
        given.setdefault("pairs", path)
    made = build(results=tmp_path / "results", **given)
    path = made.folder / f"{made.settings['name']}.tsv"
    return load_set(str(path)), made, review_of(made)


def review_of(made: BuiltSets) -> pd.DataFrame:
    path = made.folder / f"{made.settings['name']}.review.tsv"
    table = pd.read_csv(path, sep="\t", keep_default_na=False, quoting=csv.QUOTE_NONE)
    return table.set_index("noun")


def taxonomy(tmp_path: Path, text: str = EDGES, **options: object):
    path = tmp_path / "edges.tsv"
    path.write_text(text)
    return built(tmp_path, taxonomy=path, **options)


def prompts(one: DiagnosticSet, column: str = "singular") -> list[str]:
    return one.frame[column].tolist()
