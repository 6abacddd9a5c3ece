"""What zero-shot runs and studies say in a report, from their tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from hyperprobe.names import EMBEDDED, MAJORITY, is_baseline
from hyperprobe.probes.zero_shot import claims
from hyperprobe.probes.zero_shot.breakdowns import category_table, tag_tables
from hyperprobe.probes.zero_shot.claims import PAIRED
from hyperprobe.probes.zero_shot.curves import (
    growth_tables,
    steps_pictures,
    steps_tables,
    with_training_names,
)
from hyperprobe.probes.zero_shot.figures import accuracy_figure, adds_figure
from hyperprobe.probes.zero_shot.metrics import HEADLINE
from hyperprobe.probes.zero_shot.naming import Naming, name_models
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, METRICS
from hyperprobe.probes.zero_shot.tables import (
    PROBE_NAMES,
    SETTINGS,
    adds_tables,
    headline_tables,
    largest_set,
    mcnemar_tables,
    metrics_tables,
    on_largest_set,
    paper_tables,
    subjects,
    systematic_tables,
    with_settings,
)
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.table import RUN, Table, source_of, with_ends, without_repeated_captions
from hyperprobe.runs.read import FinishedRun

Frames = Mapping[str, pd.DataFrame]
ADDS, SYSTEMATIC, TRAINING = "adds", "systematic", "training"
N_NAMED = 6  # models in one section
N_PICTURED, N_LINES = 5, 20  # models of a figure; lines that it holds
# The tables of a run, and columns that each must have.
TABLES: dict[str, tuple[str, ...]] = {
    "metrics": ("diagnostic", "model", "n_items", *METRICS, *HEADLINE),
    "adds": (),
    "systematic": (),
    "mcnemar": ("diagnostic", "metric", "model", "other", "p_value", "p_holm"),
    "breakdown": ("diagnostic", "model", "by", "value", "n_items", "singular", "plural"),
}
OF_CHECKPOINTS = ("steps", "growth")  # tables of the runs that asked several of one training
NO_ROWS = pd.DataFrame(columns=["diagnostic"])
PICTURE = (
    "Every model, calibrated: nothing is right for a liking of some categories alone. Paired asks "
    "for the singular and the plural of the same noun. Bars are 95 % intervals over nouns."
)
ADDS_DRAWN = ("model", "probe", "calibrated", "control_calibrated", "raw", "control_raw")
ADDS_PICTURE = (
    "The line from the control to the probe is what the question adds to the noun alone. Hollow "
    "marks are raw: what separates them from the full ones is bias. Bars are 95 % intervals over "
    "nouns."
)


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of zero-shot runs: what the models know, and whether it is systematic."""
    naming = naming_of(runs)
    tables = {name: naming.apply(together(runs, name, needs)) for name, needs in TABLES.items()}
    for name in OF_CHECKPOINTS:
        having = {label: run for label, run in runs.items() if run.has(f"{name}.csv")}
        tables[name] = naming.apply(together(having, name)) if having else NO_ROWS
    metrics, largest = tables["metrics"], on_largest_set(tables)
    return Part(
        _headline(largest),
        tuple(subjects(metrics["model"])),
        tuple(_findings(largest)),
        tuple(_sections(tables, largest)),
        (best_model(metrics),),
        paper_tables(largest["metrics"], largest["adds"]),
    )


def pictures(metrics: pd.DataFrame, adds: pd.DataFrame) -> Iterator[Picture]:
    """What the question adds, where it has a control, and the accuracy of every model; on the
    largest set."""
    shown = on_largest_set({"metrics": metrics, "adds": adds})
    best = _best(shown["metrics"])
    if len(shown["adds"]):
        told = shown["adds"][shown["adds"]["model"].isin(best)]
        drawn = with_ends(told, *ADDS_DRAWN)
        words = f"{_left_out(shown['adds'], told)}{ADDS_PICTURE}"
        yield Picture("adds", adds_figure(told), words, source_of(told, "adds.csv"), drawn)
    source = source_of(shown["metrics"], "metrics.csv")
    yield _accuracy_picture("accuracy", shown["metrics"], source)


def _best(metrics: pd.DataFrame) -> list[str]:
    """The models of a figure: all where they fit, else those with the highest paired accuracy,
    calibrated, in the order of the table."""
    named = metrics.drop_duplicates("model")
    named = named[~named["model"].map(is_baseline)]
    best = named.nlargest(N_PICTURED, f"{PAIRED}{CALIBRATED}") if len(named) > N_PICTURED else named
    return [str(model) for model in named["model"] if model in set(best["model"])]


def _left_out(table: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """What a caption says where a figure has not all models of the table."""
    n, of = (rows["model"].nunique() for rows in (drawn, table))
    return "" if n == of else f"The {n} of {of} models that are right most often, paired. "


def _accuracy_picture(name: str, metrics: pd.DataFrame, source: str) -> Picture:
    shown = metrics
    if len(metrics) > N_LINES:
        shown = metrics[metrics["model"].isin((*_best(metrics), MAJORITY))]
    drawn = with_ends(shown, "model", *(f"{probe}{CALIBRATED}" for probe in PROBE_NAMES))
    words = f"{_left_out(metrics, shown)}{PICTURE}"
    return Picture(name, accuracy_figure(shown), words, source, drawn)


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
        picture = _accuracy_picture(f"{id}-accuracy", largest, source_of(largest, "metrics.csv"))
        steps, grown = (
            run.table(f"{n}.csv") if run.has(f"{n}.csv") else NO_ROWS for n in OF_CHECKPOINTS
        )
        curves = [replace(one, name=f"{id}-{one.name}") for one in steps_pictures(steps, SETTINGS)]
        blocks: tuple[Table | Picture, ...] = (
            picture,
            *curves,
            *steps_tables(steps, SETTINGS),
            *growth_tables(grown, SETTINGS),
            *reversed(list(adds_tables(run.table("adds.csv"), SETTINGS))),
            *reversed(list(metrics_tables(metrics, SETTINGS))),
        )
        sections.append(
            Section(
                id,
                f"Study (run {label})",
                "Each model under each of its settings; what varies follows its name.",
                blocks=blocks,
            )
        )
        findings += list(_setting_findings(largest_set(metrics), label, id))
        names += subjects(metrics["model"])
    return Part("", tuple(dict.fromkeys(names)), tuple(findings), tuple(sections))


def _setting_findings(metrics: pd.DataFrame, label: str, topic: str) -> Iterator[Finding]:
    """For each language model that was asked in several ways, its worst and its best."""
    metric = f"{PAIRED}{CALIBRATED}"
    for name in subjects(metrics["model"])[:N_NAMED]:
        rows = metrics[(metrics["model"] == name) & metrics[metric].notna()]
        if len(rows) < 2:
            continue
        named = with_settings(rows, SETTINGS).sort_values(metric, kind="stable")
        low, high = named.iloc[0], named.iloc[-1]
        yield Finding(
            "Settings",
            f"calibrated, {name} is right, paired, on {low[metric]:.1f} to "
            f"{high[metric]:.1f} % of {int(low['n_items'])} nouns, over {len(rows)} "
            f"ways to ask (worst: {low['model']}; best: {high['model']}).",
            label,
            topic,
            name,
        )


def best_model(metrics: pd.DataFrame) -> str:
    """The language model with the highest calibrated paired accuracy on the largest set."""
    rows = largest_set(metrics).drop_duplicates("model").set_index("model")
    names = subjects(rows.index) or list(rows.index)
    return max(names, key=lambda name: float(rows[f"{PAIRED}{CALIBRATED}"][name]))


def _headline(largest: Frames) -> str:
    """The main finding, about the best language model."""
    model = best_model(largest["metrics"])
    who = "the embedded model" if model == EMBEDDED else model
    words = claims.headline(_row(largest["adds"], model, PAIRED), who)
    return words[0].upper() + words[1:]


def _row(table: pd.DataFrame, model: str, probe: str = "") -> pd.Series | None:
    rows = table[table["model"] == model]
    rows = rows[rows["probe"] == probe] if probe else rows
    return None if rows.empty else rows.iloc[0]


def _findings(largest: Frames) -> Iterator[Finding]:
    """What the question adds and whether success is systematic, on the largest set."""
    added, related = largest["adds"], largest["systematic"]
    for name in subjects(largest["metrics"]["model"])[:N_NAMED]:
        of_model = added[added["model"] == name]
        probes = [row for _, row in of_model[of_model["probe"] != PAIRED].iterrows()]
        for row in sorted(probes, key=claims.adds, reverse=True):  # what is shown comes first
            run = str(row[RUN])
            yield Finding("What the question adds", claims.adds_sentence(row), run, ADDS, name)
        in_both, together_row = _row(of_model, name, PAIRED), _row(related, name)
        if in_both is not None:
            text = claims.systematic_sentence(name, in_both, together_row)
            yield Finding("Systematic?", text, str(in_both[RUN]), SYSTEMATIC, name)
    for _, row in with_training_names(largest["growth"]).iterrows():
        last = _row(added, largest["growth"]["model"][row.name], str(row["probe"]))
        if last is not None and (text := claims.growth_sentence(row, last)):
            yield Finding("Over training", text, str(row[RUN]), TRAINING, str(last["model"]))


def _sections(tables: Frames, largest: Frames) -> Iterator[Section]:
    metrics, added = tables["metrics"], tables["adds"]
    pictured = list(pictures(metrics, added))
    yield Section(
        ADDS,
        "What the question adds",
        "A noun alone calls up a category. What a model knows is what the question adds to that, "
        "once the liking of each prompt for some categories is taken away.",
        blocks=(*pictured[:-1], *without_repeated_captions(reversed(list(adds_tables(added))))),
    )
    yield Section(
        "accuracy",
        "All models",
        "Each noun's category is the best of those of its set. majority always says the commonest "
        "one, control:MODEL sees the noun without the question (control-bare: without a full "
        "stop too), and vectors compare words.",
        blocks=(pictured[-1], *reversed(list(metrics_tables(metrics)))),
    )
    if len(tables["steps"]):
        yield Section(
            TRAINING,
            "Over training",
            "Checkpoints of one model, by the training step in their names.",
            blocks=(
                *steps_pictures(tables["steps"]),
                *steps_tables(tables["steps"]),
                *growth_tables(tables["growth"]),
            ),
        )
    yield Section(
        SYSTEMATIC,
        "Is it systematic?",
        "Any mixture of easy and hard categories makes singular and plural go together over all "
        "nouns. So they are compared within categories, and answer by answer.",
        blocks=(
            *systematic_tables(largest["systematic"]),
            *headline_tables(largest["metrics"]),
            *mcnemar_tables(largest["mcnemar"]),
            category_table(tables["breakdown"]),
            *tag_tables(tables["breakdown"]),
        ),
    )
