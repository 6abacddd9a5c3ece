"""What `lama` shows: tables, figures and sentences, on the terminal and in reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from hyperprobe.names import FREQ, RETRIEVE_READ, is_subject
from hyperprobe.probes.lama import figures
from hyperprobe.probes.lama.metrics import FILTERED, MACRO, MICRO, RAW
from hyperprobe.render.charts import short_name
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.render.table import Table, count, make_table, number, share, text
from hyperprobe.render.terminal import MISSING, percent
from hyperprobe.runs.read import FinishedRun

PREDICTIONS, METRICS, FACTS = "predictions.parquet", "metrics.csv", "facts.csv"
ALWAYS = (PREDICTIONS, METRICS, FACTS)
P_AT_K, CORRELATIONS, MENTIONS = "p_at_k.csv", "correlations.csv", "mentions.parquet"
DROPPED_WORDS = {
    "n_no_label": "no label",
    "n_too_long": "too long",
    "n_not_in_vocabulary": "not in vocabulary",
    "n_several_tokens": "several tokens",
    "n_denied": "denied",
    "n_repeated": "repeated",
    "n_not_spelled": "letters unknown",
}
MAX_EXAMPLES = 8
Files = Mapping[str, pd.DataFrame]  # the run's tables by file name


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The results of each run, then their details."""
    findings: list[Finding] = []
    results: list[Section] = []
    details: list[Section] = []
    subjects: list[str] = []
    for label, run in runs.items():
        files = read_files(run)
        subjects += filter(is_subject, files[METRICS]["model"])
        findings += find(files, label)
        shown: list[Table | Picture] = [*pictures(files), *aggregate_tables(files[METRICS])]
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
        seed = int(run.notes.get("seed") or 0)
        details.append(
            Section(
                f"lama-{label}-details",
                f"Facts: relations and examples (run {label})",
                "The raw ranking counts as the reference code does; the filtered one takes other "
                "right answers out.",
                blocks=of_run([*more, example_table(files[PREDICTIONS], seed)], label, run),
            )
        )
    return Part(
        subjects=tuple(dict.fromkeys(subjects)),
        findings=tuple(findings),
        sections=(*results, *details),
    )


def _looks_up(files: Files) -> bool:
    return bool((files[METRICS]["model"] == RETRIEVE_READ).any())


def read_files(run: FinishedRun) -> dict[str, pd.DataFrame]:
    """Every table of a finished run by its file name. Raises `UserError` if one is damaged."""
    needs = {
        PREDICTIONS: ("source", "relation", "model", "text", "gold", "top", "top_scores"),
        METRICS: ("source", "relation", "type", "model", "ranking", "p_at_1", "mean_log_prob"),
        FACTS: ("source", "relation", "n_rows", "n_facts"),
    }
    names = dict.fromkeys([*needs, *run.files])
    files = {
        name: run.table(name, needs.get(name, ()))
        for name in names
        if name.endswith((".csv", ".parquet"))
    }
    for name in (PREDICTIONS, METRICS):
        files[name] = files[name].fillna({"type": ""})
    return files


def tables(files: Files, seed: int) -> Iterator[Table]:
    """What the terminal shows: facts, relations, means, examples, and what was asked besides."""
    yield facts_table(files[FACTS])
    yield from relation_tables(files[METRICS])
    yield from aggregate_tables(files[METRICS])
    yield example_table(files[PREDICTIONS], seed)
    yield from extra_tables(files)


def facts_table(facts: pd.DataFrame) -> Table:
    """How many rows of each relation were kept, and why others were not."""
    reasons = [column for column in DROPPED_WORDS if facts[column].any()]
    return make_table(
        "facts kept, and left out for what reason",
        facts,
        {
            "relation": lambda row: f"{row['source']} {row['relation']}",
            "rows": count("n_rows"),
            **{DROPPED_WORDS[reason]: count(reason) for reason in reasons},
            "kept": count("n_facts"),
        },
        source=FACTS,
    )


def relation_tables(metrics: pd.DataFrame) -> Iterator[Table]:
    """P@1 of every model on every relation, raw / filtered, for each source."""
    for source, rows in metrics.groupby("source", sort=False):
        rows = rows[~rows["relation"].isin((MACRO, MICRO))]
        rows = rows[rows["relation"] != rows["type"]]
        raw, filtered = (
            rows[rows["ranking"] == ranking].pivot(
                index="relation", columns="model", values="p_at_1"
            )
            for ranking in (RAW, FILTERED)
        )
        models = list(dict.fromkeys(rows["model"]))
        first = rows.drop_duplicates("relation").set_index("relation")
        lines = tuple(
            (
                str(name),
                str(first["type"][name]),
                str(first["n_facts"][name]),
                *(f"{percent(raw[m][name])} / {percent(filtered[m][name])}" for m in models),
            )
            for name in first.index
        )
        yield Table(
            f"{source}: P@1 in percent, raw / filtered",
            ("relation", "type", "facts", *models),
            lines,
            source=METRICS,
        )


def aggregate_tables(metrics: pd.DataFrame) -> Iterator[Table]:
    """The means over relations (macro) and over facts (micro), for each source."""
    for source, rows in metrics.groupby("source", sort=False):
        both = {mean: rows[rows["relation"] == mean].to_dict("records") for mean in (MACRO, MICRO)}
        yield Table(
            f"{source}: means over relations (macro) and facts (micro), in percent "
            "with 95 % intervals",
            (
                "model",
                "ranking",
                *(f"{mean} {name}" for mean in (MACRO, MICRO) for name in ("P@1", "P@10", "MRR")),
                "log p of gold",
            ),
            tuple(
                (
                    str(macro["model"]),
                    str(macro["ranking"]),
                    *(cell for row in (macro, micro) for cell in _means(row)),
                    number("mean_log_prob")({"mean_log_prob": micro["mean_log_prob"]}),
                )
                for macro, micro in zip(both[MACRO], both[MICRO], strict=True)
            ),
            source=METRICS,
        )


def _means(row: Mapping[Hashable, Any]) -> tuple[str, str, str]:
    by_name = {str(key): value for key, value in row.items()}
    return share("p_at_1")(by_name), share("p_at_10")(by_name), f"{row['mrr']:.3f}"


def example_table(predictions: pd.DataFrame, seed: int) -> Table:
    """One random fact of each relation and the model's five best answers (the paper's Table 3)."""
    model = predictions["model"].iloc[-1]
    rows = predictions[predictions["model"] == model]
    picked = rows.groupby(["source", "relation"], sort=False).sample(1, random_state=seed)

    def answers(row: dict[str, Any]) -> str:
        best = zip(row["top"][:5], row["top_scores"][:5], strict=True)
        return ", ".join(f"{word} {score:.1f}" for word, score in best) or MISSING

    return make_table(
        f"{model}: a random fact of each relation, its five best answers and their log p",
        picked.head(MAX_EXAMPLES),
        {"question": text("text"), "right": text("gold"), "answers": answers},
        source=PREDICTIONS,
    )


def extra_tables(files: Files) -> Iterator[Table]:
    """What was asked for besides: paraphrases, negation, mentions."""
    if "consistency.csv" in files:
        yield make_table(
            "consistency over paraphrased prompts, in percent",
            files["consistency.csv"],
            {
                "relation": text("relation"),
                "model": text("model"),
                "patterns": count("n_patterns"),
                "mean P@1": share("p_at_1"),
                "same answer": share("consistency"),
                "all right": share("consistent_p_at_1"),
            },
            source="consistency.csv",
        )
    if "negated.csv" in files:
        yield make_table(
            "question and negation: same first answer in percent, rank correlation of all answers",
            files["negated.csv"],
            {
                "relation": text("relation"),
                "model": text("model"),
                "facts": count("n_facts"),
                "overlap@1": share("overlap"),
                "Spearman": number("spearman"),
            },
            source="negated.csv",
        )
    if "mentions.csv" in files:
        yield make_table(
            "rank of the object in ten sentences that mention the fact",
            files["mentions.csv"],
            {
                "model": text("model"),
                "facts": count("n_facts"),
                "mean rank": number("mean_rank", 0),
                "quartiles": lambda row: ", ".join(f"{row[f'rank_{q}']:.0f}" for q in (25, 50, 75)),
                "deviation between sentences": number("mean_deviation", 0),
            },
            source="mentions.csv",
        )


def pictures(files: Files) -> Iterator[Picture]:
    """The figures of the tables that exist, after Petroni et al. (2019)."""
    if len(files.get(P_AT_K, ())):
        yield Picture(
            "p_at_k",
            figures.p_at_k_figure(files[P_AT_K]),
            "How often the right object is among the best k answers. A line that starts high "
            "knows the object; one that rises late has it somewhere in the list.",
            P_AT_K,
        )
    if len(files.get(CORRELATIONS, ())):
        yield Picture(
            "correlations",
            figures.correlations_figure(files[CORRELATIONS]),
            "What goes together with a right answer (last row of each panel): Pearson "
            "correlations, red above zero and blue below.",
            CORRELATIONS,
        )
    if len(files.get(MENTIONS, ())):
        yield Picture(
            "mentions",
            figures.mentions_figure(files[MENTIONS]),
            "The mean rank of each fact's object over ten sentences that mention the fact; "
            "further left is better.",
            MENTIONS,
        )


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
        f"{rows['p_at_1'][FREQ]:.1f} %.",
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
