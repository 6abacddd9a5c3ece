"""What `prompts` shows: tables, its figure and sentences, on the terminal and in reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from hyperprobe.names import is_subject
from hyperprobe.probes.lama.metrics import MACRO, MICRO, TYPES
from hyperprobe.probes.prompts.figures import NO_PROMPT, majority_figure
from hyperprobe.probes.prompts.metrics import MANUAL, NAIVE_BAYES, NONE
from hyperprobe.render.charts import short_name
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.render.table import Table, count, make_table, share, text, with_ends
from hyperprobe.render.terminal import MISSING, percent
from hyperprobe.runs.read import FinishedRun

PREDICTIONS, METRICS, SPLITS = "predictions.parquet", "metrics.csv", "splits.csv"
PARTS = ("train", "dev", "test")


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The results of each run, then their details."""
    findings: list[Finding] = []
    results: list[Section] = []
    details: list[Section] = []
    subjects: list[str] = []
    for label, run in runs.items():
        metrics, splits = read_tables(run)
        subjects += filter(is_subject, metrics["model"])
        findings += find(metrics, label)
        shown: list[Table | Picture] = [
            *overview_tables(metrics),
            *part_tables(metrics),
            *pictures(metrics, splits),
        ]
        results.append(
            Section(
                f"prompts-{label}",
                f"Prompt search (run {label})",
                "Prompts are searched on training facts and asked on test facts; the same search "
                "in networks with random weights shows what it learns instead of recalling.",
                blocks=of_run(shown, label, run),
            )
        )
        details.append(
            Section(
                f"prompts-{label}-details",
                f"Prompt search: relations (run {label})",
                "Each relation's facts, and P@1 on those of its test part.",
                blocks=of_run([*relation_tables(metrics), splits_table(splits)], label, run),
            )
        )
    return Part(
        subjects=tuple(dict.fromkeys(subjects)),
        findings=tuple(findings),
        sections=(*results, *details),
    )


def read_tables(run: FinishedRun) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The metrics and the splits of a finished run. Raises `UserError` if they are damaged."""
    needs = ("source", "relation", "type", "model", "method", "control", "p_at_1", "n_facts")
    metrics = run.table(METRICS, needs).fillna({"type": "", "control": ""})
    splits = run.table(SPLITS, ("source", "relation", "n_rows", "majority"))
    return metrics, splits


def tables(metrics: pd.DataFrame, splits: pd.DataFrame) -> Iterator[Table]:
    """What the terminal shows: the facts, P@1 per relation, and the controls."""
    yield splits_table(splits)
    yield from relation_tables(metrics)
    yield from overview_tables(metrics)
    yield from part_tables(metrics)


def method_name(method: str, control: str) -> str:
    """`optiprompt`, or `optiprompt random-model`."""
    return method if control in (NONE, "") else f"{method} {control}"


def splits_table(splits: pd.DataFrame) -> Table:
    """How many facts each part has, and how frequent train's most frequent object is."""
    return make_table(
        "facts: no pair of train or dev is in test",
        splits,
        {
            "relation": lambda row: f"{row['source']} {row['relation']}",
            **{name: count(f"n_{name}") for name in PARTS},
            "left out": lambda row: f"{row['n_rows'] - sum(row[f'n_{p}'] for p in PARTS):,}",
            "commonest object": text("majority"),
            "% of train": share("majority_share_train"),
            "% of test": share("majority_share_test"),
        },
        "without a train or a test fact a relation is left out of the other tables",
        SPLITS,
    )


def relation_tables(metrics: pd.DataFrame) -> Iterator[Table]:
    """P@1 on test of every method on the model itself (the paper's Table 7)."""
    rows = metrics[~metrics["relation"].isin((MACRO, MICRO, *TYPES))]
    for source, model, of_model in _each_model(rows[rows["control"].isin((NONE, ""))]):
        methods = list(dict.fromkeys(of_model["method"]))
        wide = of_model.pivot(index="relation", columns="method", values="p_at_1")
        first = of_model.drop_duplicates("relation").set_index("relation")
        yield Table(
            f"{model} on {source}: P@1 on test facts, in percent",
            ("relation", "type", "train", "test", *methods),
            tuple(
                (
                    str(name),
                    *(str(first[column][name]) for column in ("type", "n_train", "n_facts")),
                    *(percent(wide[method][name]) for method in methods),
                )
                for name in first.index
            ),
            source=METRICS,
        )


def _each_model(metrics: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for (source, model), of_model in metrics.groupby(["source", "model"], sort=False):
        yield str(source), str(model), of_model


def overview_tables(metrics: pd.DataFrame) -> Iterator[Table]:
    """Means over relations, and how much is learned and not recalled (Figures 2 and 3)."""

    def against_manual(row: dict[str, Any]) -> str:
        if row["n_better"] != row["n_better"]:
            return MISSING
        return f"{row['n_better']:.0f}/{row['n_equal']:.0f}/{row['n_worse']:.0f}"

    for source, model, of_model in _each_model(metrics[metrics["relation"] == MACRO]):
        yield make_table(
            f"{model} on {source}: means over relations, in percent, with 95 % intervals",
            of_model,
            {
                "method": lambda row: method_name(str(row["method"]), str(row["control"])),
                "P@1": share("p_at_1"),
                "dev": share("dev_p_at_1"),
                "right with it": share("p_at_1_majority"),
                "of what is right": share("majority_of_correct"),
                "answers it": share("elicits_majority"),
                "manual: better/same/worse": against_manual,
            },
            "it: the commonest object of train. right with it: facts that are right and have that "
            "object; answers it: how often the first answer is that object. majority always "
            "answers the commonest object of the test facts: no model can know it.",
            METRICS,
        )


def part_tables(metrics: pd.DataFrame) -> Iterator[Table]:
    """P@1 on the facts that the controls get right, on the others, and on UHN (Table 4)."""
    rows = metrics[(metrics["relation"] == MACRO) & metrics["control"].isin((NONE, ""))]
    for source, model, of_model in _each_model(rows):
        first = of_model.iloc[0]
        yield make_table(
            f"{model} on {source}: P@1 on parts of the test facts, means over relations",
            of_model,
            {
                "method": text("method"),
                f"all ({first['n_facts']})": lambda row: percent(row["p_at_1"]),
                **{
                    f"{name} ({first[f'n_{name}']})": share(f"p_at_1_{name}")
                    for name in ("easy", "hard", "uhn")
                },
            },
            "easy: naive Bayes or a random control has the fact right; uhn: the subject's name "
            "does not give the answer away",
            METRICS,
        )


def pictures(metrics: pd.DataFrame, splits: pd.DataFrame) -> Iterator[Picture]:
    """How often the first answer is train's most frequent object (Figure 3)."""
    yield Picture(
        "majority",
        majority_figure(metrics, splits),
        "How often each prompt's first answer is the most frequent object of train. A method "
        "far above the share of test facts has learned the object instead of recalling facts.",
        f"{METRICS} and {SPLITS}",
        with_ends(metrics, "model", "relation", "method", "control", "elicits_majority"),
    )


def find(metrics: pd.DataFrame, label: str = "") -> Iterator[Finding]:
    """Of the first model and source: the best search against the manual prompt and the controls."""
    source, model = metrics[["source", "model"]].iloc[0]
    rows = metrics[(metrics["source"] == source) & (metrics["model"] == model)]
    rows = rows[rows["relation"] == MACRO]
    itself = rows[rows["control"] == NONE].set_index("method")
    searched = [m for m in itself.index if m not in (MANUAL, NAIVE_BAYES, *NO_PROMPT)]
    if not searched or MANUAL not in itself.index:
        return
    best = max(searched, key=lambda method: float(itself["p_at_1"][method]))
    row = itself.loc[best]
    yield Finding(
        "Prompt search",
        f"{best} makes {model} right on {row['p_at_1']:.1f} % of the test facts of "
        f"{short_name(source)} "
        f"(95 % interval {row['p_at_1_low']:.1f} to {row['p_at_1_high']:.1f}; mean over "
        f"relations), the manual prompt on {itself['p_at_1'][MANUAL]:.1f} %.",
        label,
    )
    controls = rows[(rows["method"] == best) & ~rows["control"].isin((NONE, ""))]
    if len(controls):
        shares = " and ".join(
            f"{r['p_at_1']:.1f} % with {r['control'].replace('-', ' ')}"
            for r in controls.to_dict("records")
        )
        yield Finding(
            "Learned or recalled",
            f"the same search reaches {shares}: that much comes from the training facts, not from "
            f"what {model} knew.",
            label,
        )
