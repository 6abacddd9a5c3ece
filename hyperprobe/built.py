"""`build-diagnostic`: the sets that ship, or a set of one's own, as files of a run folder, and
what they are shown as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

import pandas as pd

from hyperprobe.diagnostic.build import (
    CATEGORIES,
    LM_DIAGNOSTIC_EXTENDED,
    NAMES,
    PAPER_SIZE,
    Monosemous,
    build_diagnostic,
    n_kept,
    unknown_set,
)
from hyperprobe.diagnostic.own import OwnSet, collect_own
from hyperprobe.diagnostic.templates import Templates, as_toml
from hyperprobe.documents import parse_json, read_text
from hyperprobe.errors import UserError, one_line, quoted
from hyperprobe.lexicon.wordnet import damage_named, open_wordnet
from hyperprobe.names import StrPath, listed, listed_paths
from hyperprobe.options import RESULTS
from hyperprobe.render.document import Part, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table, count, counted, make_table, number, text
from hyperprobe.runs.files import file_digest, write_text
from hyperprobe.runs.read import FinishedRun, damaged
from hyperprobe.runs.run import Run

MOST_ROWS = 40  # categories that are shown


@dataclass(frozen=True, repr=False, eq=False)
class BuiltSets(Result):
    """What `build` wrote: its `folder`, the `counts` by set and category, the `settings`.

    `notes` say how the items of a set were picked, and what was left out; they are not read back.
    """

    command: ClassVar[str] = "build-diagnostic"
    folder: Path
    counts: pd.DataFrame
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> pd.DataFrame:
        """The counts."""
        return self.counts

    @classmethod
    def read(cls, run: FinishedRun) -> BuiltSets:
        """The sets of a finished run. Raises `UserError` if one is damaged."""
        settings = dict(run.notes["settings"])
        return cls(run.folder, _counts(run), settings)

    def tables(self) -> list[Table]:
        return list(_tables(self.counts))


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of built sets in a report: a section each."""
    sections = [
        Section(
            f"sets-{label}",
            f"Diagnostic sets (run {label})",
            "The nouns that are asked about, by category.",
            blocks=of_run(_tables(_counts(run)), label, run),
        )
        for label, run in runs.items()
    ]
    return Part(sections=tuple(sections))


def _counts(run: FinishedRun) -> pd.DataFrame:
    """The counts of the sets in a run, whose files are `NAME.tsv` beside `NAME.jsonl`."""
    names = [name.removesuffix(".jsonl") for name in run.files if name.endswith(".jsonl")]
    if not names:
        raise damaged(run.folder / "run.json")
    tables = {name: run.table(f"{name}.tsv", ("hyponym", "hypernym")) for name in names}
    return pd.concat(
        [
            count_table(table.fillna({"contextual": ""})).assign(diagnostic=name)
            for name, table in tables.items()
        ],
        ignore_index=True,
    )


def _tables(counts: pd.DataFrame) -> Iterator[Table]:
    for diagnostic, rows in counts.groupby("diagnostic", sort=False):
        more = len(rows) - MOST_ROWS
        yield make_table(
            f"{diagnostic} ({counted(int(rows['n_items'].sum()), 'item')})",
            rows.head(MOST_ROWS),
            {
                "category": text("hypernym"),
                "items": count("n_items"),
                "percent": number("percent"),
                "with a context": count("n_contextual"),
            },
            f"Smaller categories that are not shown: {more}." if more > 0 else "",
        )


def build(
    names: str | Sequence[str] = (),
    size: str | int | None = None,
    monosemous: Monosemous = "noun",
    wordnet: StrPath | None = None,
    results: StrPath = RESULTS,
    categories: str | Sequence[str] = (),
    pairs: StrPath | None = None,
    taxonomy: StrPath | None = None,
    templates: StrPath | None = None,
    contexts: StrPath | Sequence[StrPath] = (),
    name: str | None = None,
) -> BuiltSets:
    """Build the named sets, or one from `categories`, `pairs` or a `taxonomy`, into a run folder.

    Each is written as `NAME.tsv` and `NAME.jsonl`. `size` is a number or `all`; by default the
    extended set has 576 items, as have at most those of WordNet's `categories`, and other sets
    all. `categories` are synsets, or nodes of the `taxonomy`. `templates` says how one's own set
    is asked, `contexts` are sentences for it. The same settings give the same bytes. Raises
    `UserError` on bad input, and for files in the folder that were changed since.
    """
    names, categories, contexts = listed(names), listed(categories), listed_paths(contexts)
    size = None if size is None else str(size)
    wordnet = None if wordnet is None else Path(wordnet)
    given = dict(locals())
    if size not in (None, "all") and not re.fullmatch("[1-9][0-9]{0,8}", str(size)):
        raise UserError(f"--size {one_line(str(size))}: give a number of items, or all")
    if monosemous not in get_args(Monosemous):
        raise UserError(f"--monosemous {quoted(monosemous)}: choose noun or any")
    files = {"pairs": pairs, "taxonomy": taxonomy, "templates": templates}
    paths = {key: Path(path) for key, path in files.items() if path is not None}
    if not (categories or paths or contexts or name is not None):
        return _build_shipped(names, size or str(PAPER_SIZE), monosemous, wordnet, results, given)
    if names:
        raise UserError(
            f"{quoted(names[0])}: the sets that ship are built by themselves: leave the name out, "
            "or --category, --pairs, --taxonomy, --templates, --contexts and --name"
        )
    with damage_named(wordnet):
        reader = open_wordnet(wordnet)
        own = collect_own(categories, paths, contexts, name, size, monosemous, reader)
    settings = {
        "name": own.name,
        "categories": categories,
        **{key: file_digest(path) for key, path in paths.items()},
        "contexts": [file_digest(path) for path in contexts],
        "size": size,
        "monosemous": monosemous,
        "wordnet": str(wordnet or "embedded"),
    }
    run = Run(results, "build-diagnostic", settings, given)
    _check_unchanged(run.folder)
    run.finish(*_files(run.folder, own))
    counts = count_table(own.frame).assign(diagnostic=own.name)
    return BuiltSets(run.folder, counts, settings, own.notes)


def _files(folder: Path, own: OwnSet) -> tuple[dict[str, pd.DataFrame], None, list[str]]:
    """The tables of one's own set, and the names of the other files, which are written."""
    tables = {f"{own.name}.{ending}": own.frame for ending in ("tsv", "jsonl")}
    tables[f"{own.name}.review.tsv"] = own.review
    if own.edges is not None:
        tables[f"{own.name}.taxonomy.tsv"] = own.edges
    others = []
    if own.templates != Templates():
        others.append(f"{own.name}.templates.toml")
        write_text(folder / others[0], as_toml(own.templates))
    return tables, None, others


def _check_unchanged(folder: Path) -> None:
    """Raise `UserError` if a set that was built here has been corrected: it is not overwritten."""
    files: Mapping[str, str] = {}
    with suppress(UserError, KeyError, TypeError):
        files = dict(parse_json(read_text(folder / "run.json", "run"), "run.json")["files"])
    for name, digest in files.items():
        path = folder / name
        if path.is_file() and file_digest(path) != digest:
            raise UserError(
                f"{path} was changed since it was built: go on with it as it is, or delete it to "
                "build it anew"
            )


def _build_shipped(
    names: Sequence[str],
    size: str,
    monosemous: Monosemous,
    wordnet: Path | None,
    results: StrPath,
    given: dict[str, Any],
) -> BuiltSets:
    names = list(dict.fromkeys(names or NAMES))
    if size != "all" and int(size) < len(CATEGORIES):
        raise UserError(f"--size {size}: give {len(CATEGORIES)} or more: one item of each category")
    if unknown := [name for name in names if name not in NAMES]:
        raise unknown_set(unknown[0])
    settings = {
        "names": names,
        "size": size,
        "monosemous": monosemous,
        "wordnet": str(wordnet or "embedded"),
    }
    reader = open_wordnet(wordnet)
    tables: dict[str, pd.DataFrame] = {}
    counts = []
    for name in names:
        with damage_named(wordnet):
            frame = build_diagnostic(name, None if size == "all" else int(size), monosemous, reader)
        tables |= {f"{name}.tsv": frame, f"{name}.jsonl": frame}
        counts.append(count_table(frame).assign(diagnostic=name))
    run = Run(results, "build-diagnostic", settings, given)
    run.finish(tables)
    notes: tuple[str, ...] = ()
    if size != "all" and LM_DIAGNOSTIC_EXTENDED in names:
        notes = (
            f"{LM_DIAGNOSTIC_EXTENDED}: the {n_kept(int(size))} most frequent items of each "
            "category (all, where it has fewer), and the most frequent of the others",
        )
    return BuiltSets(run.folder, pd.concat(counts, ignore_index=True), settings, notes)


def count_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Items and share (percent) of each category, as in the paper's Table 1, largest first."""
    counts = frame["hypernym"].value_counts().rename("n_items").rename_axis("hypernym").to_frame()
    counts["percent"] = (100 * counts["n_items"] / len(frame)).round(2)
    counts["n_contextual"] = (
        frame[frame["contextual"] != ""]["hypernym"].value_counts().reindex(counts.index).fillna(0)
    ).astype(int)
    return counts.reset_index()
