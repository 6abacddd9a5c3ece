"""What `lama` shows in reports: sentences, figures and the tables of `tables`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from hyperprobe.names import FREQ, RETRIEVE_READ, is_subject
from hyperprobe.probes.lama import figures
from hyperprobe.probes.lama.metrics import MACRO, RAW
from hyperprobe.probes.lama.tables import (
    CORRELATIONS,
    FACTS,
    MCNEMAR,
    METRICS,
    P_AT_K,
    PREDICTIONS,
    Files,
    aggregate_tables,
    example_table,
    examples,
    extra_tables,
    facts_table,
    paper_table,
    relation_tables,
    systems_table,
)
from hyperprobe.render.charts import short_name
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.render.table import Table, format_p_value
from hyperprobe.runs.read import FinishedRun
from hyperprobe.statistics.stratified import ALPHA

MENTIONS = "mentions.parquet"


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The results of each run, then their details."""
    findings: list[Finding] = []
    results: list[Section] = []
    details: list[Section] = []
    subjects: list[str] = []
    metrics: list[pd.DataFrame] = []
    for label, run in runs.items():
        files = read_files(run)
        metrics.append(files[METRICS])
        subjects += filter(is_subject, files[METRICS]["model"])
        findings += find(files, label)
        shown: list[Table | Picture] = [
            *pictures(files),
            *aggregate_tables(files[METRICS]),
            *systems_table(files[METRICS]),
        ]
        results.append(
            Section(
                f"lama-{label}",
                f"Facts (run {label})",
                "Each model ranks words as the object of a fact. freq always ranks the objects of "
                "the relation by how frequent they are; vectors see the subject alone."
                + (f" {RETRIEVE_READ} looks in documents." if _looks_up(files) else ""),
                blocks=of_run(shown, label, run),
            )
        )
        more = [*relation_tables(files[METRICS]), *extra_tables(files), facts_table(files[FACTS])]
        shown_facts = examples(run.folder / PREDICTIONS, int(run.notes.get("seed") or 0))
        details.append(
            Section(
                f"lama-{label}-details",
                f"Facts: relations and examples (run {label})",
                "The raw ranking counts as the reference code does; the filtered one takes other "
                "right answers out.",
                blocks=of_run([*more, example_table(shown_facts)], label, run),
            )
        )
    return Part(
        subjects=tuple(dict.fromkeys(subjects)),
        findings=tuple(findings),
        sections=(*results, *details),
        papers={"facts": paper_table(pd.concat(metrics))} if metrics else {},
    )


def _looks_up(files: Files) -> bool:
    return bool((files[METRICS]["model"] == RETRIEVE_READ).any())


def read_files(run: FinishedRun) -> dict[str, pd.DataFrame]:
    """Every table of a finished run by its file name, but not its predictions. Raises `UserError`
    if one is damaged."""
    needs = {
        METRICS: ("source", "relation", "type", "model", "ranking", "p_at_1", "mean_log_prob"),
        FACTS: ("source", "relation", "n_rows", "n_facts"),
    }
    names = dict.fromkeys([*needs, *run.files])
    files = {
        name: run.table(name, needs.get(name, ()))
        for name in names
        if name.endswith((".csv", ".parquet")) and name != PREDICTIONS
    }
    files[METRICS] = files[METRICS].fillna({"type": ""})
    return files


def read_predictions(run: FinishedRun) -> pd.DataFrame:
    """The predictions of a finished run. Raises `UserError` if they are damaged."""
    needs = ("source", "relation", "model", "text", "gold", "top", "top_scores")
    return run.table(PREDICTIONS, needs).fillna({"type": ""})


def pictures(files: Files) -> Iterator[Picture]:
    """The figures of the tables that exist, after Petroni et al. (2019)."""
    if len(files.get(P_AT_K, ())):
        yield Picture(
            "p_at_k",
            figures.p_at_k_figure(files[P_AT_K]),
            "How often the right object is among the best k answers. A line that starts high "
            "knows the object; one that rises late has it somewhere in the list.",
            P_AT_K,
            _some_ranks(files[P_AT_K]),
        )
    if len(files.get(CORRELATIONS, ())):
        yield Picture(
            "correlations",
            figures.correlations_figure(files[CORRELATIONS]),
            "What goes together with a right answer (last row of each panel): Pearson "
            "correlations, purple above zero and orange below. SM, OM: mentions of the subject and "
            "of the object in the source; LPFP: log-probability of the first prediction; SOCS: "
            "cosine of subject and object; ST, SWP: tokens and word pieces of the subject.",
            CORRELATIONS,
            files[CORRELATIONS],
        )
    if len(files.get(MENTIONS, ())):
        yield Picture(
            "mentions",
            figures.mentions_figure(files[MENTIONS]),
            "The mean rank of each fact's object over ten sentences that mention the fact; "
            "further left is better.",
            MENTIONS,
            files.get("mentions.csv"),
        )


def _some_ranks(curves: pd.DataFrame) -> pd.DataFrame:
    """The points of the curves at k of 1, 2, 5, 10, 20, 50, ..., in the raw ranking."""
    k = curves["k"].to_numpy(float)
    round_k = np.isin(k / 10 ** np.floor(np.log10(k)), (1, 2, 5))
    return curves[round_k & (curves["ranking"] == RAW)]


def _beyond_frequency(files: Files, source: str, model: str) -> str:
    """Whether a model is right where the most frequent objects are not, as a sentence."""
    tests = files.get(MCNEMAR, pd.DataFrame(columns=["source", "ranking"]))
    tests = tests[(tests["source"] == source) & (tests["ranking"] == RAW)]
    for row in tests.to_dict("records"):
        if {row["model"], row["other"]} != {model, FREQ}:
            continue
        alone, frequent = row["only_model"], row["only_other"]
        if row["other"] == model:
            alone, frequent = frequent, alone
        if row["p_holm"] >= ALPHA:
            verdict = f"that {model} is right more often is not shown"
        elif alone > frequent:
            verdict = f"{model} is right more often"
        else:
            verdict = "the most frequent objects are right more often"
        return (
            f" Of single facts, {model} alone is right on {alone:,}, the most frequent object "
            f"alone on {frequent:,}: {verdict} (Holm-adjusted p {format_p_value(row['p_holm'])})."
        )
    return ""


def find(files: Files, label: str = "") -> Iterator[Finding]:
    """Of the best model on the first source: P@1 against freq, and what a negation changes."""
    metrics = files[METRICS]
    source = metrics["source"].iloc[0]
    rows = metrics[(metrics["source"] == source) & (metrics["relation"] == MACRO)]
    rows = rows[rows["ranking"] == RAW].set_index("model")
    asked = [name for name in rows.index if is_subject(name)]
    if not asked or FREQ not in rows.index:
        return
    best = max(asked, key=lambda name: float(rows["p_at_1"][name]))
    yield Finding(
        "Facts",
        f"on {short_name(source)}, {best} ranks the right object first for "
        f"{rows['p_at_1'][best]:.1f} % of facts (95 % interval "
        f"{rows['p_at_1_low'][best]:.1f} to {rows['p_at_1_high'][best]:.1f}; "
        "mean over relations); the most frequent object of each relation is right for "
        f"{rows['p_at_1'][FREQ]:.1f} %.{_beyond_frequency(files, source, best)}",
        label,
    )
    if "negated.csv" in files:
        negated = files["negated.csv"]
        negated = negated[(negated["relation"] == MACRO) & (negated["model"] == best)]
        for row in negated[negated["source"] == source].to_dict("records"):
            yield Finding(
                "Negated facts",
                f"{best} gives the same first answer to {row['overlap']:.1f} % of the questions "
                "when they are negated.",
                label,
            )
