"""`hyperprobe compare`: runs against each other and against the papers' tables.

Of zero-shot runs any two models are compared on the items of a set; of other commands the
rows of `metrics.csv` that agree in everything but the model (of prompts, the model and the method):
item by item too where both were asked the same items, and as separate samples otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from hyperprobe.comparison.asked import ASKED, how_runs_differ
from hyperprobe.comparison.items import SAME, Items
from hyperprobe.comparison.papers import PUBLISHED
from hyperprobe.comparison.rows import COLUMNS
from hyperprobe.comparison.tables import comparison_tables
from hyperprobe.errors import UserError
from hyperprobe.model_names import is_vectors
from hyperprobe.names import EMBEDDED_VECTORS, StrPath, is_baseline, listed_paths
from hyperprobe.options import RESULTS
from hyperprobe.probes.lama.metrics import MACRO, MICRO
from hyperprobe.probes.prompts.metrics import NONE
from hyperprobe.probes.zero_shot.metrics import TESTED
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.run import Run
from hyperprobe.runs.signature import COLUMN
from hyperprobe.statistics.columns import paired_columns
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.stratified import holm

CALLED = "called"  # the column that says what is compared, where it is not the model alone
NAMING = ("model", "method", "control", CALLED)  # columns that name it
PREDICTIONS = ("diagnostic", "model", "probe", "item", "gold_rank")


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """The run's `folder`, and `differences`: one row for each comparison, in percent and points."""

    folder: Path
    differences: pd.DataFrame
    asked: pd.DataFrame  # how the runs were asked, where that differs: see `how_runs_differ`
    command: ClassVar[str] = "compare"

    @classmethod
    def read(cls, run: FinishedRun) -> Self:
        """The result of a finished run."""
        return cls(run.folder, run.table("metrics.csv", COLUMNS), run.table(ASKED))

    @property
    def metrics(self) -> pd.DataFrame:
        """The differences."""
        return self.differences

    @property
    def shown(self) -> pd.DataFrame:
        """The differences under the models' short names."""
        return with_short_names({"metrics": self.differences})["metrics"]

    def tables(self) -> list[Table]:
        return list(comparison_tables(self.shown))


def compare(
    folders: StrPath | Sequence[StrPath],
    published: bool = False,
    results: StrPath = RESULTS,
    seed: int = 0,
) -> Comparison:
    """Compare the models of the runs in `folders`, and with `published` those with the papers.

    `difference` is `value` minus `other_value`. Where `items` are the same, its interval is
    the bootstrap's over them (in zero-shot runs over synsets) and `p_value` McNemar's exact test,
    `p_holm` adjusted for all tests of the setting; of separate items it is made from both
    intervals, without a test; against a published share, of other items, it is Newcombe's.
    Raises `UserError` when there is nothing to compare.
    """
    folders = listed_paths(folders)
    given = dict(locals())
    runs = [read_run(folder) for folder in dict.fromkeys(folders)]
    zero_shot = [run for run in runs if run.command == "zero-shot"]
    rows = list(_between_zero_shot(zero_shot, seed))
    others = [run for run in runs if run.command != "zero-shot" and run.has("metrics.csv")]
    rows += _between_others(others, seed)
    if published:
        for run in runs:
            if run.command in PUBLISHED:
                rows += PUBLISHED[run.command](run)
    if not rows:
        more = (
            "the papers have no numbers of these sets, relations and methods"
            if published
            else "or pass --published"
        )
        raise UserError(f"nothing to compare: name runs that share a set or a relation; {more}")
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    # One family of tests in each setting.
    tests = table.groupby(["command", "setting"], dropna=False)["p_value"]
    table["p_holm"] = tests.transform(holm)
    settings = {
        "runs": {str(run.folder.name): file_digest(run.folder / "run.json") for run in runs},
        "published": published,
    }
    made = Run(results, "compare", settings, given)
    asked = how_runs_differ(runs)
    made.finish({"metrics.csv": table, ASKED: asked}, seed)
    return Comparison(made.folder, table, asked)


def _between_zero_shot(runs: Sequence[FinishedRun], seed: int) -> Iterator[dict[str, Any]]:
    """Any two models that are not baselines, on the items that both were asked about."""
    asked: dict[str, dict[tuple[str, str], pd.DataFrame]] = {}
    for run in runs:
        table = run.table("predictions.parquet", PREDICTIONS)
        for (diagnostic, model), rows in table.groupby(["diagnostic", "model"], sort=False):
            subject = not is_baseline(model)
            seen = [name for name, _ in asked.get(diagnostic, {})]
            if subject and not (model in seen and model in EMBEDDED_VECTORS):
                asked.setdefault(diagnostic, {})[model, run.folder.name] = _outcomes(rows)
    for diagnostic, models in asked.items():
        for ((first, one_run), a), ((second, other_run), b) in combinations(models.items(), 2):
            about = {"command": "zero-shot", "setting": diagnostic, "model": first, "run": one_run}
            about |= {"other": second, "other_run": other_run}
            for metric in TESTED:
                if not _comparable(metric, (first, one_run), (second, other_run)):
                    continue
                both = pd.concat([a[metric], b[metric]], axis=1, keys=("a", "b")).dropna()
                if both.empty:
                    continue
                synset = a["synset"].reindex(both.index)
                yield {
                    **about,
                    "metric": metric,
                    "value": 100 * both["a"].mean(),
                    "other_value": 100 * both["b"].mean(),
                    **paired_columns("difference", both["a"] - both["b"], synset, seed),
                    "p_value": mcnemar_exact(both["a"], both["b"])[2],
                    "n_items": len(both),
                    "n_other": len(both),
                    "items": SAME,
                }


def _outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """What one model has right of a set, and the `synset` of each item: synonyms are one item in
    a bootstrap."""
    synset = rows["synset"] if "synset" in rows else rows["item"]
    of_item = dict(zip(rows["item"], synset, strict=True))
    right = outcome_table(rows)
    return right.assign(synset=right.index.map(of_item))


def _between_others(runs: Sequence[FinishedRun], seed: int) -> Iterator[dict[str, Any]]:
    """Rows of one command that differ in the model or the run alone."""
    for command in dict.fromkeys(run.command for run in runs):
        of_command = {run.folder.name: run for run in runs if run.command == command}
        tables = [run.table("metrics.csv").assign(run=name) for name, run in of_command.items()]
        table = pd.concat(tables, ignore_index=True)
        if "model" not in table:
            continue
        if command == "prompts":
            table = _methods(table)
        items = Items.of(command, of_command, seed)
        words = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
        keys = [c for c in words if c not in (*NAMING, "run", COLUMN)]
        numbers = [c for c in table.columns if c not in words and is_metric(str(c))]
        groups = table.groupby(keys, sort=False, dropna=False) if keys else [("", table)]
        for setting, rows in groups:
            about = {"command": command, "setting": _setting(setting)}
            for a, b in combinations(rows.to_dict("records"), 2):
                for row in _between_rows(a, b, numbers, items):
                    yield {**about, **row}


def _methods(table: pd.DataFrame) -> pd.DataFrame:
    """Means over relations of a prompt search: each model under each method is one side. Without
    the controls, which the search's own tables set beside it."""
    itself = table["control"].fillna(NONE) == NONE
    means = table[itself & table["relation"].isin((MACRO, MICRO))]
    words = [c for c in means if not pd.api.types.is_numeric_dtype(means[c])]
    wanted = (*words, "p_at_1", "p_at_1_low", "p_at_1_high", "mrr")
    return means[[c for c in wanted if c in means]].assign(
        **{CALLED: means["model"] + ", " + means["method"]}
    )


def _between_rows(
    a: dict[str, Any], b: dict[str, Any], metrics: Sequence[str], items: Items
) -> Iterator[dict[str, Any]]:
    """Two rows of `metrics.csv` in each metric that both have."""
    for metric in metrics:
        first, second = ((str(row["model"]), str(row["run"])) for row in (a, b))
        known = a[metric] == a[metric] and b[metric] == b[metric]
        if known and _comparable(metric, first, second):
            yield {"metric": metric, **_sides(a, b, metric), **items.compare(a, b, metric)}


def _comparable(metric: str, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two (model, run) chose from the same words.

    Vectors have no vocabulary: they answer open questions from that of their run's
    language model.
    """
    return one[1] == other[1] or not (
        metric.startswith("open_") and (is_vectors(one[0]) or is_vectors(other[0]))
    )


def is_metric(column: str) -> bool:
    """Whether a numeric column is a result, and not a count, a spread or an interval's end."""
    ends = ("_low", "_high", "_std", "_design_effect")
    return not column.startswith(("n_", "std_")) and not column.endswith(ends)


def _setting(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return " ".join(dict.fromkeys(str(part) for part in parts if part == part and part != ""))


def _sides(a: dict[str, Any], b: dict[str, Any], metric: str) -> dict[str, Any]:
    """Two rows' values, and the interval of their difference as of separate samples, where both
    have intervals."""
    difference = a[metric] - b[metric]
    half = np.hypot(*(
        (row.get(f"{metric}_high", np.nan) - row.get(f"{metric}_low", np.nan)) / 2 for row in (a, b)
    ))  # fmt: skip
    return {
        "model": a.get(CALLED, a["model"]),
        "run": a["run"],
        "value": a[metric],
        "other": b.get(CALLED, b["model"]),
        "other_run": b["run"],
        "other_value": b[metric],
        "difference": difference,
        "difference_low": difference - half,
        "difference_high": difference + half,
    }
