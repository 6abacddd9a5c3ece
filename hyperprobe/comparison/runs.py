"""`hyperprobe compare`: runs against each other and against the papers' tables.

Zero-shot runs are compared item by item; of other commands the rows of
`metrics.csv` that agree in everything but the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.outcomes import is_baseline
from hyperprobe.comparison.papers import PUBLISHED
from hyperprobe.errors import UserError
from hyperprobe.names import EMBEDDED_VECTORS, is_vectors
from hyperprobe.probes.zero_shot.outcomes import METRICS, outcome_table
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.run import Run
from hyperprobe.statistics.intervals import bootstrap_interval, mcnemar_exact

COLUMNS = (
    "command", "setting", "metric", "model", "run", "value", "other", "other_run", "other_value",
    "difference", "difference_low", "difference_high", "p_value", "n_items", "n_other",
)  # fmt: skip


PREDICTIONS = ("diagnostic", "model", "probe", "item", "gold_rank")


@dataclass(frozen=True)
class Comparison:
    """The folder, and one row for each comparison with `COLUMNS` (percentages, points)."""

    folder: Path
    differences: pd.DataFrame


def compare(
    folders: Sequence[Path], published: bool = False, results: Path = Path("results"), seed: int = 0
) -> Comparison:
    """Compare the models of the runs in `folders`, and with `published` those with the papers.

    `difference` is `value` minus `other_value`. Its interval is the bootstrap's over
    shared items and `p_value` McNemar's exact test; against a published share, of
    other items, Newcombe's interval and no test. Raises `UserError` when there is
    nothing to compare.
    """
    given = dict(locals())
    runs = [read_run(folder) for folder in dict.fromkeys(folders)]
    zero_shot = [run for run in runs if run.command == "zero-shot"]
    rows = list(_between_zero_shot(zero_shot, seed))
    others = [run for run in runs if run.command != "zero-shot" and run.has("metrics.csv")]
    rows += _between_others(others)
    if published:
        for run in runs:
            if run.command in PUBLISHED:
                rows += PUBLISHED[run.command](run)
    if not rows:
        raise UserError(
            "nothing to compare: name runs that share a set or a relation, or pass --published"
        )
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    settings = {
        "runs": {str(run.folder.name): file_digest(run.folder / "run.json") for run in runs},
        "published": published,
    }
    made = Run(results, "compare", settings, given)
    made.finish({"metrics.csv": table}, seed)
    return Comparison(made.folder, table)


def _between_zero_shot(runs: Sequence[FinishedRun], seed: int) -> Iterator[dict[str, Any]]:
    """Any two models, but baselines, on the items that both were asked about."""
    asked: dict[str, dict[tuple[str, str], pd.DataFrame]] = {}
    for run in runs:
        table = run.table("predictions.parquet", PREDICTIONS)
        for (diagnostic, model), own in table.groupby(["diagnostic", "model"], sort=False):
            subject = not is_baseline(model)
            seen = [name for name, _ in asked.get(diagnostic, {})]
            if subject and not (model in seen and model in EMBEDDED_VECTORS):
                asked.setdefault(diagnostic, {})[model, run.folder.name] = outcome_table(own)
    for diagnostic, models in asked.items():
        for ((first, one_run), a), ((second, other_run), b) in combinations(models.items(), 2):
            about = {"command": "zero-shot", "setting": diagnostic, "model": first, "run": one_run}
            about |= {"other": second, "other_run": other_run}
            for metric in METRICS:
                if not _comparable(metric, (first, one_run), (second, other_run)):
                    continue
                both = pd.concat([a[metric], b[metric]], axis=1, keys=("a", "b")).dropna()
                if both.empty:
                    continue
                low, high = bootstrap_interval((both["a"] - both["b"]).to_numpy(), seed=seed)
                yield {
                    **about,
                    "metric": metric,
                    "value": 100 * both["a"].mean(),
                    "other_value": 100 * both["b"].mean(),
                    "difference": 100 * (both["a"] - both["b"]).mean(),
                    "difference_low": 100 * low,
                    "difference_high": 100 * high,
                    "p_value": mcnemar_exact(both["a"], both["b"])[2],
                    "n_items": len(both),
                    "n_other": len(both),
                }


def _between_others(runs: Sequence[FinishedRun]) -> Iterator[dict[str, Any]]:
    """Rows of one command that differ in the model or the run alone, without items."""
    for command in dict.fromkeys(run.command for run in runs):
        tables = [
            run.table("metrics.csv").assign(run=run.folder.name)
            for run in runs
            if run.command == command
        ]
        table = pd.concat(tables, ignore_index=True)
        if "model" not in table:
            continue
        words = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
        keys = [c for c in words if c not in ("model", "run")]
        numbers = [c for c in table.columns if c not in words and is_metric(str(c))]
        groups = table.groupby(keys, sort=False, dropna=False) if keys else [("", table)]
        for setting, rows in groups:
            for a, b in combinations(rows.to_dict("records"), 2):
                for metric in numbers:
                    sides = ((str(row["model"]), row["run"]) for row in (a, b))
                    known = a[metric] == a[metric] and b[metric] == b[metric]
                    if known and _comparable(metric, *sides):
                        yield {
                            "command": command,
                            "setting": _setting(setting),
                            "metric": metric,
                            **_sides(a, b, metric),
                        }


def _comparable(metric: str, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two (model, run) answered out of the same words.

    Vectors have no words of their own: they answer open questions out of those of their
    run's language model.
    """
    return one[1] == other[1] or not (
        metric.startswith("open_") and (is_vectors(one[0]) or is_vectors(other[0]))
    )


def is_metric(column: str) -> bool:
    """Whether a numeric column is a result, and not a count, a spread or an interval's end."""
    return not column.startswith("n_") and not column.endswith(("_low", "_high", "_std"))


def _setting(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return " ".join(dict.fromkeys(str(part) for part in parts if part == part and part != ""))


def _sides(a: dict[str, Any], b: dict[str, Any], metric: str) -> dict[str, Any]:
    """Two rows' values, and the interval of their difference where both have intervals."""
    difference = a[metric] - b[metric]
    half = np.hypot(*(
        (row.get(f"{metric}_high", np.nan) - row.get(f"{metric}_low", np.nan)) / 2 for row in (a, b)
    ))  # fmt: skip
    return {
        "model": a["model"],
        "run": a["run"],
        "value": a[metric],
        "other": b["model"],
        "other_run": b["run"],
        "other_value": b[metric],
        "difference": difference,
        "difference_low": difference - half,
        "difference_high": difference + half,
    }
