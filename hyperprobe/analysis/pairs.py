"""Are pairs that occur in a corpus in a defining pattern known better than others?

For any model and any corpus that was counted; a correlation, as in Ravichander et al.
(2020, section 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.corpus_counts import PATTERNS, CorpusCounts
from hyperprobe.analysis.outcomes import PROBES, Outcomes, is_shown, points, probe_name, titled
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, RAW
from hyperprobe.probes.zero_shot.tables import PROBE_NAMES, largest_set, raw_and_calibrated
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import (
    RUN,
    Table,
    count,
    make_table,
    p_value,
    share,
    source_of,
    text,
)
from hyperprobe.statistics.adjusted import adjusted_effects
from hyperprobe.statistics.columns import difference_columns, share_columns
from hyperprobe.statistics.stratified import with_holm


def pair_effect(outcomes: Outcomes, sources: Sequence[CorpusCounts], seed: int = 0) -> pd.DataFrame:
    """Accuracy (percent) on pairs that a corpus has in a pattern and on the others.

    One row per (source, pattern, diagnostic, model, probe): `n_seen`, `mean_count` (occurrences
    of a seen pair), `n_unseen`; `seen` and `unseen`, raw and `_calibrated`, with Wilson intervals;
    the `difference` of the calibrated with its interval; and the same `adjusted` for category and
    Zipf frequency, with an interval robust to synsets, `p_value` and `p_holm` over the set (empty
    where there are too few pairs). `any` is any of the patterns. Pairs that a model cannot score
    are left out.
    """
    rows = []
    for source in sources:
        columns = [name for name in PATTERNS if name in source.pairs]
        counts = source.pairs.set_index(["hyponym", "hypernym"])[columns]
        counts = counts.assign(any=counts.sum(axis=1))
        for diagnostic, model, table in outcomes:
            if not source.is_about(model):
                continue
            pairs = pd.MultiIndex.from_frame(table[["hyponym", "hypernym"]])
            found = counts.reindex(pairs).set_axis(table.index)
            for pattern in (*columns, "any") if len(columns) > 1 else columns:
                about = {"source": source.source, "pattern": pattern.removeprefix("n_")}
                about |= {"diagnostic": diagnostic, "model": model}
                for probe in PROBES:
                    row = _effect(table.assign(count=found[pattern]), probe, seed)
                    if row:
                        rows.append({**about, "probe": probe, **row})
    return with_holm(pd.DataFrame(rows)) if rows else pd.DataFrame()


def _effect(table: pd.DataFrame, probe: str, seed: int) -> dict[str, Any]:
    """The row of one probe, empty unless there are seen and unseen pairs."""
    known = table.dropna(subset=[f"{probe}{CALIBRATED}", "count"])
    is_seen = known["count"] > 0
    if not is_seen.any() or is_seen.all():
        return {}
    row: dict[str, Any] = {"n_seen": int(is_seen.sum()), "n_unseen": int((~is_seen).sum())}
    row["mean_count"] = known["count"][is_seen].mean()
    for suffix in (RAW, CALIBRATED):
        right = known[f"{probe}{suffix}"]
        row |= share_columns(f"seen{suffix}", right[is_seen])
        row |= share_columns(f"unseen{suffix}", right[~is_seen])
    right = known[f"{probe}{CALIBRATED}"]
    row |= difference_columns(right[is_seen], right[~is_seen], seed)
    # (a set of one's own may know no frequencies)
    covariates = {"zipf": known["zipf"]} if known["zipf"].notna().any() else {}
    effect = adjusted_effects(
        right, {"seen": is_seen}, covariates, known["hypernym"], known["synset"]
    )["seen"]
    row |= {
        "adjusted": 100 * effect.effect,
        "adjusted_low": 100 * effect.low,
        "adjusted_high": 100 * effect.high,
    }
    return row | {"p_value": effect.p_value}


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    any_or_only = (table["pattern"] == "any") | (
        ~table["source"].isin(table["source"][table["pattern"] == "any"])
    )
    chosen = table[any_or_only]
    yield make_table(
        titled(table, "pairs that occur in a corpus, and pairs that do not (percent right)"),
        chosen[chosen["probe"].isin(("singular", "plural", "paired_singular_plural"))],
        {
            "model": text("model"),
            "probe": probe_name,
            "corpus": text("source"),
            "pattern": lambda row: str(row["pattern"]).replace("_", " "),
            "in it": raw_and_calibrated("seen"),
            "n": count("n_seen"),
            "not in it": raw_and_calibrated("unseen"),
            "n ": count("n_unseen"),
            "difference": share("difference"),
            "adjusted": share("adjusted"),
            "p (Holm)": p_value("p_holm"),
        },
        "Raw, as in the paper, / calibrated; the differences are of calibrated outcomes. Adjusted: "
        "between nouns of one category and equally frequent. A correlation all the same. Each "
        "pattern by itself is in the file.",
        "pairs.csv",
    )


def memorisation_figure(rows: pd.DataFrame) -> Any:
    """Accuracy with and without the pattern in the corpus.

    `rows` has `label`, `with` and `without`, each with its ends.
    """
    with styled():
        figure, axes = new_figure(0.95 + len(rows) * 0.36)
        lines = np.arange(len(rows))
        dots(axes, lines - 0.1, rows, "with", 0, "in the corpus")
        dots(axes, lines + 0.1, rows, "without", 1, "not in it")
        name_rows(axes, list(rows["label"]))
        percent_axis(axes, "percent right, calibrated")
        legend(figure, axes)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    rows = []
    for r in _widest(largest_set(frames["pairs"]), models).to_dict("records"):
        of = f"{short_name(r['model'])}, " if len(models) > 1 else ""
        row = {"label": f"{of}{PROBE_NAMES[r['probe']]}, {r['source']}", "model": r["model"]}
        row[RUN] = r.get(RUN)
        for end in ("", "_low", "_high"):
            row[f"with{end}"] = r[f"seen{CALIBRATED}{end}"]
            row[f"without{end}"] = r[f"unseen{CALIBRATED}{end}"]
        rows.append(row)
    if rows:
        frame = pd.DataFrame(rows)
        yield Picture(
            "memorisation",
            memorisation_figure(frame),
            "Nouns that a corpus has together with their category in a defining pattern, and "
            "nouns that it has not. The two also differ in category and frequency.",
            source_of(frame, "pairs.csv"),
            frame.drop(columns=RUN),
        )


def _widest(table: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """The rows of language models; of several patterns the widest."""
    rows = table[table["model"].isin(models) & table["pattern"].isin(("any", "hearst"))]
    return rows.drop_duplicates(["source", "model", "probe"], keep="last")


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[-1]
    accuracy = (
        f"where {row['source']} says that the noun is one of its category, {model} is right on "
        f"{row['seen_calibrated']:.1f} %, elsewhere on {row['unseen_calibrated']:.1f} %"
    )
    if pd.isna(row["adjusted"]):
        return f"{accuracy}: too few nouns to compare like with like."
    verdict = "a difference remains" if is_shown(row, "adjusted") else "no difference is shown"
    return (
        f"{accuracy}; between nouns of one category and equally frequent {verdict} "
        f"({points(row, 'adjusted')})."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    return {"pairs": pair_effect(material.scored, material.counts, material.seed)}


ANALYSIS = Analysis(
    name="pairs",
    title="Memorisation",
    words="Are pairs that occur in a corpus known better than others?",
    files=("pairs",),
    compute=_compute,
    tables={"pairs": _tables},
    pictures=_pictures,
    lead="Memorisation, by correlation",
    sentence=_sentence,
    reason=lambda material: "no corpus was counted that has some of the pairs and not others",
    within="experiment",
)
