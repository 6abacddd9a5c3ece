"""What zero-shot runs and studies say in a report, from their tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from hyperprobe.names import EMBEDDED, is_baseline
from hyperprobe.probes.zero_shot.figures import accuracy_figure
from hyperprobe.probes.zero_shot.metrics import METRICS
from hyperprobe.probes.zero_shot.naming import Naming, name_models
from hyperprobe.probes.zero_shot.tables import (
    SETTINGS,
    category_table,
    largest_set,
    metrics_tables,
    paired_tables,
    subjects,
    with_settings,
)
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.table import RUN, Table, format_p_value, source_of
from hyperprobe.runs.read import FinishedRun

SYSTEMATIC = "systematic"
N_NAMED = 6  # models in one section
# The tables of a run, and columns that each must have.
TABLES: dict[str, tuple[str, ...]] = {
    "metrics": ("diagnostic", "model", "n_items", *METRICS),
    "mcnemar": ("diagnostic", "metric", "model", "other", "p_value"),
    "breakdown": ("diagnostic", "model", "by", "value", "n_items", "singular", "plural"),
}
PICTURE = (
    "A model that knows its categories is far right in all rows. Paired asks for the "
    "singular and the plural of the same noun; right of the tick, the two answers go "
    "together more than chance would have them. Bars are 95 % intervals over nouns."
)


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of zero-shot runs: what the models know, and whether it is systematic."""
    naming = naming_of(runs)
    metrics, mcnemar, breakdown = (
        naming.apply(together(runs, name, needs)) for name, needs in TABLES.items()
    )
    return Part(
        headline(metrics),
        tuple(subjects(metrics["model"])),
        tuple(_findings(metrics, mcnemar)),
        tuple(_sections(metrics, mcnemar, breakdown)),
        (best_model(metrics),),
    )


def pictures(metrics: pd.DataFrame) -> Iterator[Picture]:
    """Accuracy of every model on the largest set."""
    largest = largest_set(metrics)
    source = source_of(largest, "metrics.csv")
    yield Picture("accuracy", accuracy_figure(largest), PICTURE, source)


def naming_of(runs: Mapping[str, FinishedRun]) -> Naming:
    """What the models of zero-shot runs (label -> run) are called in one report."""
    return name_models(together(runs, "metrics", TABLES["metrics"]))


def together(
    runs: Mapping[str, FinishedRun], name: str, needs: tuple[str, ...] = ()
) -> pd.DataFrame:
    """A table of all runs, each row with the label of its run."""
    frames = [run.table(f"{name}.csv", needs).assign(**{RUN: key}) for key, run in runs.items()]
    return pd.concat(frames, ignore_index=True)


def study_part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of studies: one section each, with the settings after the models' names."""
    needs = (*TABLES["metrics"], *SETTINGS)
    findings, sections, names = [], [], []
    for label, run in runs.items():
        metrics = run.table("metrics.csv", needs)
        largest = with_settings(largest_set(metrics), SETTINGS).assign(**{RUN: label})
        id = f"study-{label}"
        picture = Picture(
            f"{id}-accuracy", accuracy_figure(largest), PICTURE, source_of(largest, "metrics.csv")
        )
        tables = reversed(list(metrics_tables(metrics, SETTINGS)))
        sections.append(
            Section(
                id,
                f"Study (run {label})",
                "Each model under each of its settings; what varies follows its name.",
                blocks=(picture, *tables),
            )
        )
        findings += list(_setting_findings(largest_set(metrics), label, id))
        names += subjects(metrics["model"])
    return Part("", tuple(dict.fromkeys(names)), tuple(findings), tuple(sections))


def _setting_findings(metrics: pd.DataFrame, label: str, topic: str) -> Iterator[Finding]:
    """For each language model that was asked in several ways, its worst and its best."""
    metric = "paired_singular_plural"
    for name in subjects(metrics["model"])[:N_NAMED]:
        rows = metrics[(metrics["model"] == name) & metrics[metric].notna()]
        if len(rows) < 2:
            continue
        named = with_settings(rows, SETTINGS).sort_values(metric, kind="stable")
        low, high = named.iloc[0], named.iloc[-1]
        yield Finding(
            "Settings",
            f"{name} is right in both numbers on {low[metric]:.1f} to {high[metric]:.1f} % of "
            f"{int(low['n_items'])} nouns, over {len(rows)} ways to ask (worst: {low['model']}; "
            f"best: {high['model']}).",
            label,
            topic,
            name,
        )


def best_model(metrics: pd.DataFrame) -> str:
    """The language model with the highest paired accuracy on the largest set."""
    rows = largest_set(metrics).drop_duplicates("model").set_index("model")
    names = subjects(rows.index) or list(rows.index)
    return max(names, key=lambda name: float(rows["paired_singular_plural"][name]))


def headline(metrics: pd.DataFrame) -> str:
    """The main finding, about the best language model."""
    row = largest_set(metrics).drop_duplicates("model").set_index("model").loc[best_model(metrics)]
    who = "The embedded model" if row.name == EMBEDDED else str(row.name)
    best = f"{who} names the right category of"
    if row["paired_singular_plural"] >= row["singular"] - 1:
        return f"{best} {_of(row['singular'], row['n_items'])} nouns, one or many{_in_context(row)}"
    return (
        f"{best} {_of(row['singular'], row['n_items'])} nouns when asked about one, of "
        f"{row['paired_singular_plural']:.0f} % when asked about many as well{_in_context(row)}"
    )


def _of(percent: float, n: float) -> str:
    return f"{percent:.0f} % of {int(n)}"


def _in_context(row: pd.Series) -> str:
    if row["paired_aggregate"] != row["paired_aggregate"]:
        return ""
    return f", and of {row['paired_aggregate']:.0f} % when a sentence has to fit too"


def _findings(metrics: pd.DataFrame, mcnemar: pd.DataFrame) -> Iterator[Finding]:
    """Systematicity and the baselines, on the largest set."""
    table = largest_set(metrics).drop_duplicates("model").set_index("model")
    tests = mcnemar[mcnemar["metric"] == "paired_singular_plural"]
    tests = tests[tests["diagnostic"] == table["diagnostic"].iloc[0]]
    names = subjects(table.index)[:N_NAMED]
    for name in names:
        row = table.loc[name]
        yield Finding("Systematic?", _systematic(name, row), str(row[RUN]), SYSTEMATIC, name)
        others = table[[is_baseline(m) or m not in names for m in table.index]]
        others = others.drop(index=name, errors="ignore")["paired_singular_plural"].dropna()
        if others.empty:
            continue
        rival = str(others.idxmax())
        pair = tests[
            ((tests["model"] == name) & (tests["other"] == rival))
            | ((tests["model"] == rival) & (tests["other"] == name))
        ]
        p = f", McNemar p {format_p_value(pair['p_value'].iloc[0])}" if len(pair) else ""
        yield Finding(
            "Against its baselines",
            f"the best of them, {rival}, gets {others.max():.1f} % in both "
            f"numbers, {name} {row['paired_singular_plural']:.1f} %{p}.",
            str(row[RUN]),
            SYSTEMATIC,
            name,
        )


def _systematic(name: str, row: pd.Series) -> str:
    above = row["paired_difference"]
    clear = row["paired_difference_low"] > 0 or row["paired_difference_high"] < 0
    return (
        f"{name} is right in both numbers on {row['paired_singular_plural']:.1f} % "
        f"of the nouns, {abs(above):.1f} points {'more' if above >= 0 else 'less'} than if "
        "its singular and plural answers had nothing to do with each other "
        f"({'a clear difference' if clear else 'within chance'})."
    )


def _sections(
    metrics: pd.DataFrame, mcnemar: pd.DataFrame, breakdown: pd.DataFrame
) -> Iterator[Section]:
    largest = largest_set(metrics)
    yield Section(
        "accuracy",
        "What the models know",
        "Each noun's category is the best of nine. majority always says the commonest one, "
        "control:MODEL sees the bare noun without the question, and vectors compare words.",
        blocks=(*pictures(metrics), *reversed(list(metrics_tables(metrics)))),
    )
    blocks: list[Table | Picture] = list(paired_tables(largest, mcnemar))
    names = [name for name in dict.fromkeys(metrics["model"]) if name != "majority"]
    blocks.append(category_table(breakdown[breakdown["model"].isin(names)]))
    yield Section(
        SYSTEMATIC,
        "Is it systematic?",
        "If success in the singular and in the plural were independent, paired accuracy would be "
        "their product.",
        blocks=tuple(blocks),
    )
