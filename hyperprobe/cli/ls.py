"""`hyperprobe ls`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hyperprobe.cli.common import LamaData, Results, app, say
from hyperprobe.options import LAMA_DATA, RESULTS

if TYPE_CHECKING:
    from hyperprobe.render.table import Table


@app.command("ls")
def ls_command(
    what: Annotated[Literal["runs", "sets", "relations"], typer.Argument()] = "runs",
    source: Annotated[
        list[str] | None,
        typer.Option(help="Of relations: whose, as of lama; repeatable. Default: wordnet."),
    ] = None,
    data: LamaData = LAMA_DATA,
    results: Results = RESULTS,
) -> None:
    """What there is: runs and built sets in the results folder, and relations to ask about.

    Example: hyperprobe ls relations --source trex
    """
    from hyperprobe.render.table import show

    tables = {"runs": _runs, "sets": _sets}
    made = _relations(source or ["wordnet"], data) if what == "relations" else tables[what](results)
    if made.rows:
        show(made)
    else:
        say(f"no run in {results}: hyperprobe zero-shot makes one")


def _runs(results: Path) -> Table:
    from hyperprobe.render.labels import short_names
    from hyperprobe.render.table import make_table, text
    from hyperprobe.runs.listing import list_runs

    runs = list_runs(results)
    named = [names if isinstance(names, list) else [] for names in runs["models"]]
    short = short_names(name for names in named for name in names)
    called = [", ".join(short[name] for name in names) or None for names in named]
    columns = {"run": text("folder"), "models": text("called"), "finished": text("finished")}
    return make_table(f"runs in {results}", runs.assign(called=called), columns)


def _sets(results: Path) -> Table:
    import pandas as pd

    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.files import load_diagnostic
    from hyperprobe.render.table import count, make_table, text

    built = sorted(results.glob("build-diagnostic-*/*.jsonl"))
    names = [*NAMES, *(str(path.with_suffix(".tsv")) for path in built)]
    rows = []
    for name in names:
        frame = load_diagnostic(name)
        rows.append({"set": name, "items": len(frame), "categories": frame["hypernym"].nunique()})
    columns = {"set": text("set"), "items": count("items"), "categories": count("categories")}
    return make_table("diagnostic sets, for --diagnostic", pd.DataFrame(rows), columns)


def _relations(sources: list[str], data: Path) -> Table:
    import pandas as pd

    from hyperprobe.probes.lama.asked import relations_asked
    from hyperprobe.render.table import make_table, text

    asked, _ = relations_asked(sources, data, [], None)
    rows = [
        {"relation": f"{r.source} {r.name}", "type": r.type, "template": r.template} for r in asked
    ]
    columns = {"relation": text("relation"), "type": text("type"), "template": text("template")}
    return make_table("relations, for --source and --relation", pd.DataFrame(rows), columns)
