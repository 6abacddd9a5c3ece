"""Facts in LAMA's file layout: `relations.jsonl` and one JSONL file per relation.

FOLDER/relations.jsonl            {"relation", "template", "type", ...}
FOLDER/TREx/P19.jsonl             {"uuid", "sub_label", "obj_label", "evidences", ...}
FOLDER/Google_RE/place_of_birth_test.jsonl, ConceptNet/test.jsonl, Squad/test.jsonl

or a folder such as TREx itself, or AutoPrompt's: FOLDER/P19/train.jsonl, dev.jsonl and
test.jsonl, with the `relations.jsonl` in FOLDER or beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hyperprobe.cloze import SLOT, Template
from hyperprobe.documents import Document, read_jsonl
from hyperprobe.errors import UserError, quoted
from hyperprobe.options import LAMA_DATA
from hyperprobe.probes.lama.wordnet_facts import FOLDER as WORDNET_FOLDER

WORDNET, GOOGLE_RE, TREX, CONCEPTNET, SQUAD = "wordnet", "google-re", "trex", "conceptnet", "squad"
TRAIN, DEV, TEST = "train.jsonl", "dev.jsonl", "test.jsonl"
DATA = LAMA_DATA  # where `hyperprobe lama fetch` puts the official files
# The reference code has these in its source, not in a file.
GOOGLE_RE_TEMPLATES = {
    "place_of_birth": ("[X] was born in [Y] .", "[X] was not born in [Y] ."),
    "date_of_birth": ("[X] (born [Y]).", "[X] (not born [Y])."),
    "place_of_death": ("[X] died in [Y] .", "[X] did not die in [Y] ."),
}
Type = Literal["", "1-1", "1-N", "N-1", "N-M"]
# The tables of metrics have rows of these names beside the relations'.
TAKEN = ("macro", "micro", "1-1", "1-N", "N-1", "N-M")
# Describes the relations, beside their facts.
RELATIONS = "relations.jsonl"


class Description(Document):
    """A row of `relations.jsonl`."""

    relation: str
    template: str | None = None
    template_negated: str | None = None
    type: Type | None = None
    label: str | None = None


@dataclass(frozen=True)
class Relation:
    """One file of facts and how to ask for them."""

    source: str
    name: str
    path: Path
    template: str | None = None  # None: each fact has its masked sentences
    negated: str | None = None
    type: str = ""  # 1-1, N-1, N-M, or unknown
    label: str = ""


def load_sources(
    sources: Sequence[str], data: Path = DATA, only: Sequence[str] = ()
) -> list[Relation]:
    """The relations of all sources; `only` picks some by name.

    Raises `UserError` for a source without any, and for a name that no source has.
    """
    if not sources:
        raise UserError(f"no source: name one of {', '.join(SOURCES)}, a file or a folder")
    relations = [r for source in dict.fromkeys(sources) for r in load_relations(source, data)]
    known = {relation.name for relation in relations}
    if unknown := [name for name in only if name not in known]:
        raise UserError(
            f"{', '.join(dict.fromkeys(sources))} has no relation {unknown[0]}: "
            f"choose from {', '.join(sorted(known))}"
        )
    return [relation for relation in relations if not only or relation.name in only]


def load_relations(source: str, data: Path = DATA) -> list[Relation]:
    """The relations of a named source, or of a user's file or folder.

    Raises `UserError` when there are none.
    """
    relations = list(_relations(source, data))
    if not relations and source in SOURCES:
        raise UserError(f"{source}: no facts in {data}: run hyperprobe lama fetch, or name --data")
    if not relations:
        raise UserError(
            f"no facts in {source}: write REL.jsonl for each relation, and {RELATIONS} with a row "
            'such as {"relation": "REL", "template": "[X] is a [Y] ."}'
        )
    return relations


def reads_data(sources: Sequence[str]) -> bool:
    """Whether one of the sources is in the folder `data`."""
    return any(source in SOURCES and source != WORDNET for source in sources)


def template_at(text: str, where: str) -> str:
    """A template's text. Raises `UserError` unless it has one [X] and one [Y] and no slot."""
    if SLOT in text:
        raise UserError(f"{where}: template {quoted(text)} holds {SLOT}: write [Y] for the slot")
    try:
        return Template(text).pattern
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _relations(source: str, data: Path) -> Iterator[Relation]:
    if source in SOURCES:
        yield from SOURCES[source](data)
    elif _is(source, Path.is_file):
        path = Path(source)
        yield _described(source, path, _descriptions(path.parent, path.parent.parent))
    elif _is(source, Path.is_dir):
        yield from _users_folder(source, _data_folder(Path(source)))
    else:
        raise UserError(f"no source {source}: name one of {', '.join(SOURCES)}, a file or a folder")


def _is(source: str, kind: Callable[[Path], bool]) -> bool:
    try:
        return bool(source) and kind(Path(source))
    except (OSError, ValueError):  # a name too long, a null byte in it
        return False


def _users_folder(source: str, folder: Path) -> Iterator[Relation]:
    """Relations in folders of `folder`, or else in `folder` itself."""
    if (folder / TRAIN).is_file() and (folder / TEST).is_file():
        descriptions = _descriptions(folder, folder.parent, folder.parent.parent)
        yield _described(source, folder / TEST, descriptions, folder.resolve().name)
    elif any(folder.glob(f"*/{TRAIN}")):
        yield from _split_folder(source, folder)
    elif any(folder.glob("*/*.jsonl")):
        yield from _in_folder(source, folder, "*")
    else:
        descriptions = _descriptions(folder, folder.parent)
        paths = {p.stem: p for p in sorted(folder.glob("*.jsonl")) if p.name != RELATIONS}
        # Facts that no row describes have their masked sentences.
        for name in [name for name in descriptions if name in paths] or paths:
            yield _described(source, paths[name], descriptions)


def _data_folder(data: Path) -> Path:
    """`data`, or the folder `data` inside it, as in the reference repository."""
    if not data.is_dir():
        raise UserError(
            f"no folder {data}: run hyperprobe lama fetch, or name yours with --data "
            "(the wordnet source needs none)"
        )
    return data / "data" if (data / "data").is_dir() else data


def _in_folder(source: str, folder: Path, inside: str) -> Iterator[Relation]:
    """Relations that have facts, in the order of `relations.jsonl`; others are left out."""
    descriptions = _descriptions(folder)
    paths = {path.stem: path for path in sorted(folder.glob(f"{inside}/*.jsonl"))}
    for name in descriptions:
        if name in paths:
            yield _described(source, paths[name], descriptions)


def _split_folder(source: str, folder: Path) -> Iterator[Relation]:
    """AutoPrompt's layout: a folder per relation; its facts are those of `test.jsonl`."""
    descriptions = _descriptions(folder, folder.parent)
    for path in sorted(folder.glob(f"*/{TEST}")):
        if path.with_name(TRAIN).is_file():
            yield _described(source, path, descriptions, path.parent.name)


def _descriptions(*folders: Path) -> dict[str, Description]:
    """Rows of the first `relations.jsonl` in `folders`, by relation."""
    for folder in folders:
        path = folder / RELATIONS
        if path.is_file():
            rows: dict[str, Description] = {}
            for number, row in read_jsonl(path, Description, "relations"):
                where = f"{path}, line {number}"
                if row.relation in rows:
                    raise UserError(
                        f"{where}: relation {quoted(row.relation)} occurs twice: keep one row"
                    )
                for text in (row.template, row.template_negated):
                    if text:
                        template_at(text, where)
                rows[row.relation] = row
            return rows
    return {}


def _described(
    source: str, path: Path, descriptions: dict[str, Description], name: str = ""
) -> Relation:
    name = name or path.stem
    if name in TAKEN:
        raise UserError(f"{path}: every table has a row {name}: rename the relation")
    row = descriptions.get(name) or Description(relation=name)
    return Relation(
        source,
        name,
        path,
        row.template or None,
        row.template_negated or None,
        row.type or "",
        row.label or "",
    )


# -- sources that have a name ------------------------------------------------------------------


def _wordnet(data: Path) -> Iterator[Relation]:
    return _in_folder(WORDNET, WORDNET_FOLDER, "WordNet")


def _google_re(data: Path) -> Iterator[Relation]:
    for name, (template, negated) in GOOGLE_RE_TEMPLATES.items():
        path = _data_folder(data) / "Google_RE" / f"{name}_test.jsonl"
        if path.is_file():
            yield Relation(GOOGLE_RE, name, path, template, negated)


def _trex(data: Path) -> Iterator[Relation]:
    return _in_folder(TREX, _data_folder(data), "TREx")


def _conceptnet(data: Path) -> Iterator[Relation]:
    return _one_file(CONCEPTNET, _data_folder(data) / "ConceptNet" / "test.jsonl")


def _squad(data: Path) -> Iterator[Relation]:
    return _one_file(SQUAD, _data_folder(data) / "Squad" / "test.jsonl")


def _one_file(source: str, path: Path) -> Iterator[Relation]:
    """One relation, whose facts have their masked sentences."""
    if path.is_file():
        yield Relation(source, source, path)


# Name -> the relations that it has in the folder `data`. All that a new source needs is a row here.
SOURCES: dict[str, Callable[[Path], Iterable[Relation]]] = {
    WORDNET: _wordnet,
    GOOGLE_RE: _google_re,
    TREX: _trex,
    CONCEPTNET: _conceptnet,
    SQUAD: _squad,
}
