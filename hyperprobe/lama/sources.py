"""Facts in LAMA's file layout: `relations.jsonl` and one JSONL file per relation.

FOLDER/relations.jsonl            {"relation", "template", "type", ...}
FOLDER/TREx/P19.jsonl             {"uuid", "sub_label", "obj_label", "evidences", ...}
FOLDER/Google_RE/place_of_birth_test.jsonl, ConceptNet/test.jsonl, Squad/test.jsonl

or AutoPrompt's: FOLDER/P19/train.jsonl, dev.jsonl and test.jsonl, with the
`relations.jsonl` in FOLDER or beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperprobe.cloze import Template
from hyperprobe.errors import UserError
from hyperprobe.lama.wordnet_facts import FOLDER as WORDNET_FOLDER

WORDNET, GOOGLE_RE, TREX, CONCEPTNET, SQUAD = "wordnet", "google-re", "trex", "conceptnet", "squad"
SOURCES = (WORDNET, GOOGLE_RE, TREX, CONCEPTNET, SQUAD)
TRAIN, DEV, TEST = "train.jsonl", "dev.jsonl", "test.jsonl"
DATA = Path("lama-data")  # where `hyperprobe lama fetch` puts the official files
# The reference code has these in its source, not in a file.
GOOGLE_RE_TEMPLATES = {
    "place_of_birth": ("[X] was born in [Y] .", "[X] was not born in [Y] ."),
    "date_of_birth": ("[X] (born [Y]).", "[X] (not born [Y])."),
    "place_of_death": ("[X] died in [Y] .", "[X] did not die in [Y] ."),
}


@dataclass(frozen=True)
class Relation:
    """One file of facts and how to ask for them."""

    source: str
    name: str
    path: Path
    template: str | None = None  # none: each fact brings its own masked sentences
    negated: str | None = None
    type: str = ""  # 1-1, N-1, N-M, or nothing
    label: str = ""


def load_relations(source: str, data: Path = DATA, only: tuple[str, ...] = ()) -> list[Relation]:
    """The relations of a source that has a name, or of a user's file or folder.

    `only` picks some by name. Raises `UserError` when there are none.
    """
    relations = list(_relations(source, data))
    if only:
        known = {relation.name for relation in relations}
        if unknown := [name for name in only if name not in known]:
            raise UserError(
                f"{source} has no relation {unknown[0]}: choose from {', '.join(sorted(known))}"
            )
        relations = [relation for relation in relations if relation.name in only]
    if not relations:
        raise UserError(f"{source}: no facts in {data}: run hyperprobe lama fetch, or name --data")
    return relations


def _relations(source: str, data: Path) -> Iterator[Relation]:
    if source == WORDNET:
        yield from _in_folder(WORDNET, WORDNET_FOLDER, "WordNet")
    elif source in SOURCES:
        folder = _data_folder(data)
        if source == TREX:
            yield from _in_folder(TREX, folder, "TREx")
        elif source == GOOGLE_RE:
            for name, (template, negated) in GOOGLE_RE_TEMPLATES.items():
                path = folder / "Google_RE" / f"{name}_test.jsonl"
                if path.is_file():
                    yield Relation(source, name, path, template, negated)
        else:
            path = folder / ("ConceptNet" if source == CONCEPTNET else "Squad") / "test.jsonl"
            if path.is_file():
                yield Relation(source, source, path)
    elif Path(source).is_file():
        path = Path(source)
        yield _described(source, path, _descriptions(path.parent, path.parent.parent))
    elif Path(source).is_dir():
        folder = _data_folder(Path(source))
        if any(folder.glob(f"*/{TRAIN}")):
            yield from _split_folder(source, folder)
        else:
            yield from _in_folder(source, folder, "*")
    else:
        raise UserError(f"no source {source}: name one of {', '.join(SOURCES)}, a file or a folder")


def _data_folder(data: Path) -> Path:
    """`data`, or the folder `data` inside it, as in the reference repository."""
    if not data.is_dir():
        raise UserError(
            f"no folder {data}: run hyperprobe lama fetch, or name yours with --data "
            "(the wordnet source needs none)"
        )
    return data / "data" if (data / "data").is_dir() else data


def _in_folder(source: str, folder: Path, inside: str) -> Iterator[Relation]:
    """Relations that have facts, in the order of `relations.jsonl`; others are passed over."""
    descriptions = _descriptions(folder)
    paths = {path.stem: path for path in sorted(folder.glob(f"{inside}/*.jsonl"))}
    for name in descriptions:
        if name in paths:
            yield _described(source, paths[name], descriptions)


def _split_folder(source: str, folder: Path) -> Iterator[Relation]:
    """AutoPrompt's layout: a folder per relation; the facts that count are those of the test."""
    descriptions = _descriptions(folder, folder.parent)
    for path in sorted(folder.glob(f"*/{TEST}")):
        if path.with_name(TRAIN).is_file():
            yield _described(source, path, descriptions, path.parent.name)


def _descriptions(*folders: Path) -> dict[str, dict[str, Any]]:
    """Rows of the first `relations.jsonl` in `folders`, by relation."""
    for folder in folders:
        path = folder / "relations.jsonl"
        if path.is_file():
            rows = {}
            for number, row in read_rows(path):
                if not isinstance(row.get("relation"), str):
                    raise UserError(f"{path}, line {number}: no relation: name it")
                rows[row["relation"]] = row
            return rows
    return {}


def _described(
    source: str, path: Path, descriptions: dict[str, dict[str, Any]], name: str = ""
) -> Relation:
    name = name or path.stem
    row = descriptions.get(name, {})
    for key in ("template", "template_negated"):
        if row.get(key):
            Template(row[key])
    return Relation(
        source,
        name,
        path,
        row.get("template"),
        row.get("template_negated"),
        row.get("type", ""),
        row.get("label", ""),
    )


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line of a JSONL file.

    Raises `UserError` with file and line on what is no JSON object.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    raise UserError(
                        f"{path}, line {number}: {error.msg}: write one JSON object a line"
                    ) from error
                if not isinstance(row, dict):
                    raise UserError(f"{path}, line {number}: no JSON object: write one a line")
                yield number, row
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no UTF-8 text ({error.reason}): convert it") from error
    except FileNotFoundError as error:
        raise UserError(f"no file {path}: check the name") from error
