"""What `classify` shows: tables, figures and sentences, on the terminal and in reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from hyperprobe.model_names import is_vectors
from hyperprobe.names import MAJORITY, RANDOM, is_subject
from hyperprobe.probes.classify import figures
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.render.table import Cell, Table, counted, make_table, number, text
from hyperprobe.render.terminal import MISSING, percent
from hyperprobe.runs.read import FinishedRun

FOLDS, PREDICTIONS, METRICS = "folds.tsv", "predictions.parquet", "metrics.csv"
LAYERS, CODES = "layers.csv", "code_lengths.csv"
SETTING_HEADERS = {"seen": "seen hypernyms", "unseen": "unseen hypernyms"}
PARTIAL_MARK = " (hypernym only)"
FULL, PARTIAL = "full", "partial"


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The results of each run, then their details."""
    findings: list[Finding] = []
    results: list[Section] = []
    details: list[Section] = []
    subjects: list[str] = []
    tables: list[Table] = []
    for label, run in runs.items():
        files = read_files(run)
        tables.append(accuracy_table(files[METRICS]))
        metrics, layers = files[METRICS], files[LAYERS]
        subjects += filter(is_subject, metrics["model"])
        findings += find(metrics, label)
        shown: list[Table | Picture] = [
            *pictures(files[PREDICTIONS], layers),
            tables[-1],
        ]
        results.append(
            Section(
                f"classify-{label}",
                f"A classifier on word vectors (run {label})",
                "A small net is trained to distinguish hypernyms from others of their group "
                "and tested on other nouns; with unseen hypernyms, the categories of the test are "
                "new too.",
                blocks=of_run(shown, label, run),
            )
        )
        more = [details_table(metrics), *([layers_table(layers)] if len(layers) else [])]
        details.append(
            Section(
                f"classify-{label}-details",
                f"A classifier on word vectors: details (run {label})",
                "Errors, a simpler classifier, and how much the net could memorise.",
                blocks=of_run(more, label, run),
            )
        )
    return Part(
        subjects=tuple(dict.fromkeys(subjects)),
        findings=tuple(findings),
        sections=(*results, *details),
        papers={"classify": paper_table(tables[0])} if tables else {},
    )


def read_files(run: FinishedRun) -> dict[str, pd.DataFrame]:
    """Every table of a finished run; layers and codes are empty frames where not asked for.

    Raises `UserError` if one is damaged.
    """
    needs = {
        FOLDS: ("setting", "fold", "hyponym", "hypernym"),
        PREDICTIONS: ("setting", "model", "input", "classifier", "layer", "fold", "seed"),
        METRICS: ("setting", "model", "input", "accuracy_mean", "accuracy_std", "n_unknown"),
    }
    files = {name: run.table(name, columns) for name, columns in needs.items()}
    for name in (LAYERS, CODES):
        files[name] = run.table(name) if run.has(name) else pd.DataFrame()
    return files


def tables(metrics: pd.DataFrame, layers: pd.DataFrame) -> Iterator[Table]:
    """What the terminal shows: accuracy, what else was computed, and layers where asked for."""
    yield accuracy_table(metrics)
    yield details_table(metrics)
    if len(layers):
        yield layers_table(layers)


def accuracy_table(metrics: pd.DataFrame) -> Table:
    """Accuracy by model and setting, laid out as the paper's Table 4."""
    settings = list(dict.fromkeys(metrics["setting"]))
    wide = metrics.set_index(["setting", "model", "input"])
    rows = []
    for model, view in dict.fromkeys(zip(metrics["model"], metrics["input"], strict=True)):
        cells = [wide.loc[(setting, model, view)] for setting in settings]
        name = f"{model}{PARTIAL_MARK if view == PARTIAL else ''}"
        rows.append((name, *(_deviating(c["accuracy_mean"], c["accuracy_std"]) for c in cells)))
    n_runs = [int(metrics[column].max()) for column in ("n_folds", "n_seeds")]
    return Table(
        "accuracy of the probe: percent right ± standard deviation over "
        f"{counted(n_runs[0], 'fold')} and {counted(n_runs[1], 'seed')}",
        ("model", *(SETTING_HEADERS[setting] for setting in settings)),
        tuple(rows),
        unknown_note(metrics),
        METRICS,
    )


def paper_table(accuracies: Table) -> Table:
    """The table of accuracies with short headers, for a column of a paper."""
    headers = (head.removesuffix(" hypernyms") for head in accuracies.headers)
    return replace(accuracies, headers=tuple(headers), source="")


def details_table(metrics: pd.DataFrame) -> Table:
    """What each full input has besides accuracy; what was not computed is left out."""
    full = metrics[(metrics["input"] == FULL) & (metrics["model"] != MAJORITY)]
    columns = {
        "accuracy": "accuracy_mean",
        "logistic": "logistic_mean",
        "(cal.)": "accuracy_calibrated",
        "false positives": "false_positive_share",
        "(cal.) ": "false_positive_share_calibrated",
        "reversed rejected": "reversed_rejected",
        "control task": "control_mean",
        "selectivity": "selectivity",
        "compression": "compression_mean",
    }
    cells: dict[str, Cell] = {"setting": text("setting"), "model": text("model")}
    for header, name in columns.items():
        if full[name].notna().any():
            cells[header] = number(name, 2 if name == "compression_mean" else 1)
    return make_table(
        "besides the accuracy (percent; compression: times shorter than one bit a label)",
        full,
        cells,
        "false positives: share of the errors. (cal.): calibrated, the mean log-odds of each "
        "hypernym over the other hyponyms is subtracted. reversed rejected: bird - "
        "robin is no pair.",
        METRICS,
    )


def layers_table(layers: pd.DataFrame) -> Table:
    """Accuracy layer by layer, one column for each model and setting."""
    columns = list(dict.fromkeys(zip(layers["model"], layers["setting"], strict=True)))
    wide = layers.set_index(["layer", "model", "setting"])

    def cell(key: tuple[int, str, str]) -> str:
        return (
            _deviating(*wide.loc[key, ["accuracy_mean", "accuracy_std"]])
            if key in wide.index
            else MISSING
        )

    return Table(
        "accuracy by layer (0: the embeddings)",
        ("layer", *(f"{model}, {setting}" for model, setting in columns)),
        tuple(
            (str(layer), *(cell((layer, *column)) for column in columns))
            for layer in sorted(set(layers["layer"]))
        ),
        source=LAYERS,
    )


def unknown_note(metrics: pd.DataFrame) -> str:
    """Which models lack vectors of words that the test asks about."""
    rows = metrics[(metrics["n_unknown"] > 0) & (metrics["input"] == FULL)]
    notes = [
        f"{row['model']} has no vector for a word of {row['n_unknown']} of the {row['n_test']} "
        f"{row['setting']} test pairs: zeros are used instead."
        for row in rows.to_dict("records")
    ]
    return " ".join(notes)


def _deviating(mean: float, deviation: float) -> str:
    """`67.5 ±3.8`; a dash for what does not apply."""
    return f"{percent(mean)} ±{deviation:.1f}" if mean == mean else MISSING


def pictures(predictions: pd.DataFrame, layers: pd.DataFrame) -> Iterator[Picture]:
    """Accuracy by fold and, where there are layers, by layer."""
    accuracies = figures.full_accuracies(predictions)
    yield Picture(
        "folds",
        figures.folds_figure(accuracies),
        "Accuracy of each net, a mark for each fold; the bar is the mean and the dotted line "
        "chance. Marks far apart say that the result depends on the choice of words.",
        PREDICTIONS,
        accuracies,
    )
    if len(layers):
        yield Picture(
            "layers",
            figures.layers_figure(layers),
            "Accuracy by layer; the band is one standard deviation over folds and seeds.",
            LAYERS,
            layers,
        )


def find(metrics: pd.DataFrame, label: str = "") -> Iterator[Finding]:
    """Of the best contextual model: unseen accuracy against its controls, and against seen."""
    full = metrics[metrics["input"] == FULL].set_index(["setting", "model"])["accuracy_mean"]
    if "unseen" not in full.index.get_level_values(0):
        return
    unseen = full["unseen"]
    asked = [name for name in unseen.index if is_subject(name) and not is_vectors(name)]
    asked = [name for name in asked if f"{RANDOM}{name}" in unseen.index]
    if not asked:
        return
    best = max(asked, key=lambda name: float(unseen[name]))
    rows = metrics.set_index(["setting", "model", "input"])
    partial = rows.loc[("unseen", best, PARTIAL), "accuracy_mean"]
    deviation = rows.loc[("unseen", best, FULL), "accuracy_std"]
    yield Finding(
        "Classifier",
        f"a net on {best} is right on {unseen[best]:.1f} % of the pairs of unseen hypernyms "
        f"(standard deviation {deviation:.1f}), on the same network with random weights "
        f"{unseen[f'{RANDOM}{best}']:.1f} %, and from the hypernym alone {partial:.1f} %.",
        label,
    )
    if ("seen", best) in full.index:
        yield Finding(
            "Generalisation",
            f"on {best}, the net is right for {full['seen'][best]:.1f} % of the pairs when it has "
            f"seen the hypernyms in training, and for {unseen[best]:.1f} % when it has not.",
            label,
        )
