"""The tables that `lama` shows, on the terminal and in reports."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.probes.lama.metrics import FILTERED, MACRO, MICRO, RAW, TYPES
from hyperprobe.probes.lama.sources import CONCEPTNET, GOOGLE_RE, SQUAD, TREX
from hyperprobe.render.table import Table, count, make_table, mean, number, share, text
from hyperprobe.render.terminal import MISSING, percent

PREDICTIONS, METRICS, FACTS = "predictions.parquet", "metrics.csv", "facts.csv"
MCNEMAR, P_AT_K, CORRELATIONS = "mcnemar.csv", "p_at_k.csv", "correlations.csv"
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
CORPORA = (GOOGLE_RE, TREX, CONCEPTNET, SQUAD)  # in the paper's order
PARTLY = (
    "In brackets: the percentage of facts whose object the model can score, where it is not all; "
    "the others count as wrong."
)
Files = Mapping[str, pd.DataFrame]  # the run's tables by file name
Row = Mapping[Hashable, Any]


def tables(files: Files) -> Iterator[Table]:
    """What the terminal shows: facts, relations, means, examples, and what was asked besides.

    Of the predictions, `files` has the `examples`.
    """
    yield facts_table(files[FACTS])
    yield from relation_tables(files[METRICS])
    yield from aggregate_tables(files[METRICS])
    yield from systems_table(files[METRICS])
    yield example_table(files[PREDICTIONS])
    yield from extra_tables(files)


def _relation(row: dict[str, Any]) -> str:
    """A relation or a mean over relations, and the source that it is of."""
    return f"{row['source']} {row['relation']}"


def facts_table(facts: pd.DataFrame) -> Table:
    """How many rows of each relation were kept, and why others were not."""
    reasons = [column for column in DROPPED_WORDS if facts[column].any()]
    return make_table(
        "facts kept, and left out for what reason",
        facts,
        {
            "relation": _relation,
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
        of = {
            (row["relation"], row["model"], row["ranking"]): row for row in rows.to_dict("records")
        }
        models = list(dict.fromkeys(rows["model"]))
        lines = tuple(
            (
                str(row["relation"]),
                str(row["type"]),
                str(row["n_facts"]),
                *(_p_at_1(of, row["relation"], model) for model in models),
            )
            for row in rows.drop_duplicates("relation").to_dict("records")
        )
        yield Table(
            f"{source}: P@1 in percent, raw / filtered",
            ("relation", "type", "facts", *models),
            lines,
            caption=PARTLY if any(_scored(row) < 100 for row in of.values()) else "",
            source=METRICS,
        )


def _p_at_1(of: Mapping[tuple[str, str, str], Row], relation: str, model: str) -> str:
    """The two numbers of a model, and how many of the facts they are about if not all."""
    raw, filtered = (of.get((relation, model, ranking)) for ranking in (RAW, FILTERED))
    if raw is None or filtered is None or not (scored := _scored(raw)):
        return MISSING
    shown = f"{percent(raw['p_at_1'])} / {percent(filtered['p_at_1'])}"
    return shown if scored == 100 else f"{shown} ({percent(scored)} %)"


def _scored(row: Row) -> float:
    """The percentage of facts whose objects have a score (runs of old do not say: all)."""
    n_scored = row.get("n_scored", math.nan)
    return 100.0 if n_scored != n_scored else 100 * float(n_scored / row["n_facts"])


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
                "scored",
                *(f"{mean} {name}" for mean in (MACRO, MICRO) for name in ("P@1", "P@10", "MRR")),
                "log p of gold",
            ),
            tuple(
                (
                    str(macro["model"]),
                    str(macro["ranking"]),
                    percent(_scored(micro)),
                    *(cell for row in (macro, micro) for cell in _means(row)),
                    number("mean_log_prob")({"mean_log_prob": micro["mean_log_prob"]}),
                )
                for macro, micro in zip(both[MACRO], both[MICRO], strict=True)
            ),
            "scored: the percentage of facts whose object the model can score; the others count as "
            "wrong.",
            source=METRICS,
        )


def _means(row: Row) -> tuple[str, str, str]:
    if not _scored(row):
        return MISSING, MISSING, MISSING
    by_name = {str(key): value for key, value in row.items()}
    return share("p_at_1")(by_name), share("p_at_10")(by_name), f"{row['mrr']:.3f}"


def paper_table(metrics: pd.DataFrame) -> Table:
    """Means over relations, narrow enough for a column of a paper."""
    rows = metrics[(metrics["relation"] == MACRO) & (metrics["ranking"] == RAW)]
    several = rows["source"].nunique() > 1
    return make_table(
        "Right objects of facts, in percent: means over relations, raw ranking",
        rows.drop_duplicates(["source", "model"]),
        {
            "model": text("model"),
            **({"source": text("source")} if several else {}),
            "P@1": share("p_at_1"),
            "P@10": mean("p_at_10"),
        },
        "95 % intervals over facts.",
    )


def systems_table(metrics: pd.DataFrame) -> Iterator[Table]:
    """All systems side by side on LAMA's corpora, in the rows and the order of the paper's Table 2.

    A number stands over all relations of its row; one over fewer, where a system has not
    answered some, is a dash.
    """
    raw = metrics[(metrics["ranking"] == RAW) & metrics["source"].isin(CORPORA)]
    models = list(dict.fromkeys(raw["model"]))
    lines = []
    for source in (source for source in CORPORA if source in set(raw["source"])):
        rows = raw[raw["source"] == source]
        names = [name for name in dict.fromkeys(rows["relation"]) if name != MICRO]
        if source != GOOGLE_RE:  # the others have a row for a type alone
            names = [name for name in names if name in (*TYPES, MACRO)]
        for name in names:
            of = {row["model"]: row for row in rows[rows["relation"] == name].to_dict("records")}
            n_facts = max(row["n_facts"] for row in of.values())
            cells = (
                percent(of[model]["p_at_1"])
                if model in of and of[model]["n_facts"] == n_facts and _scored(of[model])
                else MISSING
                for model in models
            )
            lines.append((source, "total" if name == MACRO else name, str(n_facts), *cells))
    if lines:
        yield Table(
            "P@1 in percent, raw, means over relations, as in the LAMA paper's Table 2",
            ("corpus", "relation", "facts", *models),
            tuple(lines),
            source=METRICS,
        )


def examples(path: Path, seed: int) -> pd.DataFrame:
    """One random fact of each relation as the last model answers it (the paper's Table 3), from a
    file of predictions, which may be larger than memory."""
    from pyarrow.parquet import ParquetFile

    names = ["source", "relation", "model"]
    with ParquetFile(path, read_dictionary=names) as file:
        asked = file.read(names).to_pandas()
        rows = asked[asked["model"] == asked["model"].iloc[-1]]
        picked = rows.groupby(names[:2], sort=False, observed=True).sample(1, random_state=seed)
        found, start = [], 0
        for i in range(file.num_row_groups):
            end = start + file.metadata.row_group(i).num_rows
            inside = [row - start for row in picked.index if start <= row < end]
            if inside:
                found.append(file.read_row_group(i).take(inside).to_pandas())
            start = end
    return pd.concat(found, ignore_index=True)


def example_table(examples: pd.DataFrame) -> Table:
    """The five best answers of a model to `examples`."""
    model = examples["model"].iloc[-1]

    def answers(row: dict[str, Any]) -> str:
        best = zip(row["top"][:5], row["top_scores"][:5], strict=True)
        return ", ".join(f"{word} {score:.1f}" for word, score in best) or MISSING

    return make_table(
        f"{model}: a random fact of each relation, its five best answers and their log p",
        examples.head(MAX_EXAMPLES),
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
                "relation": _relation,
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
                "relation": _relation,
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
                "source": text("source"),
                "model": text("model"),
                "facts": count("n_facts"),
                "mean rank": number("mean_rank", 0),
                "quartiles": lambda row: ", ".join(f"{row[f'rank_{q}']:.0f}" for q in (25, 50, 75)),
                "deviation between sentences": number("mean_deviation", 0),
            },
            source="mentions.csv",
        )
