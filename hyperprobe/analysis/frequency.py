"""Are recognised hyponyms more frequent than unrecognised ones?

After Ravichander et al. (2020, section 3.4): mean frequency of both groups,
Shapiro-Wilk tests of normality and a Kruskal-Wallis test between the groups;
with the effect's size, and accuracy over frequency bands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kruskal, rankdata, shapiro

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.corpus_counts import CorpusCounts
from hyperprobe.analysis.outcomes import Outcomes, probe_name, titled
from hyperprobe.names import CONTROL, is_baseline
from hyperprobe.probes.zero_shot.metrics import FREQUENCY_BANDS
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, RAW
from hyperprobe.probes.zero_shot.tables import largest_set
from hyperprobe.render.charts import legend, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import MARKERS, model_colours, new_figure, styled
from hyperprobe.render.table import (
    RUN,
    Table,
    count,
    format_p_value,
    interval,
    make_table,
    number,
    p_value,
    source_of,
    text,
)
from hyperprobe.statistics.clusters import interval_over_clusters
from hyperprobe.statistics.columns import share_columns
from hyperprobe.statistics.ranks import more
from hyperprobe.statistics.stratified import ALPHA, with_holm

WORDFREQ = "wordfreq"  # occurrences in 10^9 words
PROBES = ("singular", "plural", "contextual", "paired_singular_plural")
COUNT_BANDS = (0, 1, 10, 100, 1000, math.inf)
WITHIN = (
    "superiority_within", "superiority_categories_low", "superiority_categories_high", "p_value",
)  # fmt: skip
SHAPIRO_LEAST = 3  # scipy's test needs this many values


def frequency_test(outcomes: Outcomes, sources: Sequence[CorpusCounts] = ()) -> pd.DataFrame:
    """One row per (source, diagnostic, model, probe): the two groups and their tests.

    Recognised is right, calibrated; items that the model cannot score are left out.
    `mean_*` and `median_*` are occurrences (for `wordfreq` per 10^9 words),
    `shapiro_p_*` and `kruskal_p` p-values, `kruskal_h` the statistic.
    `epsilon_squared` is H (n + 1) / (n^2 - 1), 0 to 1 (Kelley 1935; Tomczak &
    Tomczak 2014, "The need to report effect size estimates revisited").
    `superiority` is the chance in percent that a recognised hyponym is more
    frequent than an unrecognised one, ties half (Vargha & Delaney 2000).

    Categories differ in frequency and in difficulty, so that these can be far from nothing
    without a noun's frequency mattering. `superiority_within` is over pairs of one category,
    and `p_value` of a Kruskal-Wallis test on ranks within categories (`p_holm` over the set);
    `superiority_categories_*` are the ends of the interval of its mean over categories, each
    counted once: a model whose answers follow frequency helps one category and harms another.
    `control_superiority_within` is that of the model's control prompt, the noun alone.
    """
    rows = []
    for source, diagnostic, model, table in _with_counts(outcomes, sources):
        for probe in PROBES:
            known = table.dropna(subset=[f"{probe}{CALIBRATED}", "count"])
            counts = known["count"].to_numpy(float)
            # (where gold ties it is not recognised)
            alone = (known[f"{probe}{CALIBRATED}"] == 1).to_numpy()
            groups = [counts[some] for some in (alone, ~alone)]
            if min(map(len, groups)) == 0:
                continue
            row: dict[str, Any] = {"source": source, "diagnostic": diagnostic, "model": model}
            row["probe"] = probe
            for name, values in zip(("recognised", "unrecognised"), groups, strict=True):
                row[f"n_{name}"] = len(values)
                row[f"mean_{name}"] = values.mean()
                row[f"median_{name}"] = float(np.median(values))
                row[f"shapiro_p_{name}"] = _shapiro_p(values)
            within = _within(counts, alone, known["hypernym"].to_numpy(str))
            rows.append({**row, **_kruskal(*groups), **within})
    return _beside_control(with_holm(pd.DataFrame(rows))) if rows else pd.DataFrame()


def _beside_control(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["source", "diagnostic", "model", "probe"]
    control = table[[*keys, "superiority_within"]].rename(
        columns={"superiority_within": "control_superiority_within"}
    )
    is_control = control["model"].str.startswith(CONTROL)
    control = control[is_control].assign(model=control["model"].str.removeprefix(CONTROL))
    return table.merge(control, on=keys, how="left")


def _shapiro_p(values: np.ndarray) -> float:
    if len(values) < SHAPIRO_LEAST or np.ptp(values) == 0:
        return math.nan
    return float(shapiro(values).pvalue)


def _kruskal(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    n = len(first) + len(second)
    if np.ptp(np.concatenate([first, second])) == 0:  # all values equal: nothing to test
        return {"kruskal_h": 0.0, "kruskal_p": 1.0, "epsilon_squared": 0.0, "superiority": 50.0}
    h, p = kruskal(first, second)
    return {
        "kruskal_h": float(h),
        "kruskal_p": float(p),
        "epsilon_squared": float(h * (n + 1) / (n * n - 1)),
        "superiority": 100 * float(more(first[:, None], second).mean()),
    }


def _within(counts: np.ndarray, recognised: np.ndarray, categories: np.ndarray) -> dict[str, float]:
    """The comparison of the two groups category by category, over those that have both."""
    above, ranks = [], np.full(len(counts), np.nan)
    for category in np.unique(categories):
        own = categories == category
        part, is_right = counts[own], recognised[own]
        if is_right.any() and not is_right.all():
            # Of all pairs of a recognised and another item, whether the former is more frequent.
            above.append(more(part[is_right][:, None], part[~is_right]).ravel())
            ranks[own] = (rankdata(part) - 0.5) / len(part)
    if not above:
        return dict.fromkeys(WITHIN, math.nan)
    each = [100 * part.mean() for part in above]
    over = interval_over_clusters(each, range(len(each)), differences=True)
    both = ~np.isnan(ranks)
    tested = _kruskal(ranks[both & recognised], ranks[both & ~recognised])
    superiority = 100 * float(np.concatenate(above).mean())
    values = (superiority, over.low, over.high, tested["kruskal_p"])
    return dict(zip(WITHIN, values, strict=True))


def frequency_curve(outcomes: Outcomes, sources: Sequence[CorpusCounts] = ()) -> pd.DataFrame:
    """Accuracy (percent, Wilson interval) by frequency band: one row per band of each model.

    Raw and `_calibrated`, over those of the band's `n_items` that the model can score.

    Bands of `wordfreq` are on the Zipf scale, those of corpora in occurrences;
    `band` is their order, `from` and `to` their ends, [from, to).
    """
    rows = []
    for source, diagnostic, model, table in _with_counts(outcomes, sources):
        edges = FREQUENCY_BANDS if source == WORDFREQ else COUNT_BANDS
        value = table["zipf"] if source == WORDFREQ else table["count"]
        bands = np.searchsorted(edges, value.to_numpy(float), side="right") - 1
        for band in range(len(edges) - 1):
            part = table[(bands == band) & value.notna()]
            if part.empty:
                continue
            row: dict[str, Any] = {"source": source, "diagnostic": diagnostic, "model": model}
            row |= {"band": band}
            row |= {"from": edges[band], "to": edges[band + 1], "n_items": len(part)}
            for probe in PROBES:
                for suffix in (RAW, CALIBRATED):
                    row |= share_columns(f"{probe}{suffix}", part[f"{probe}{suffix}"])
            rows.append(row)
    return pd.DataFrame(rows)


def _with_counts(
    outcomes: Outcomes, sources: Sequence[CorpusCounts]
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """(source, diagnostic, model, outcomes with a `count` column)."""
    for diagnostic, model, table in outcomes:
        if table["zipf"].notna().any():
            yield WORDFREQ, diagnostic, model, table.assign(count=10 ** table["zipf"])
        for counts in sources:
            if counts.words is not None and counts.is_about(model):
                found = table["hyponym"].map(counts.words)
                yield counts.source, diagnostic, model, table.assign(count=found)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "are recognised nouns more frequent?"),
        table[table["probe"].isin(("singular", "paired_singular_plural"))],
        {
            "model": text("model"),
            "probe": probe_name,
            "counts from": text("source"),
            "n right": count("n_recognised"),
            "their mean": number("mean_recognised", 0),
            "n wrong": count("n_unrecognised"),
            "their mean ": number("mean_unrecognised", 0),
            "Kruskal-Wallis H": number("kruskal_h"),
            "p": p_value("kruskal_p"),
            "ε²": number("epsilon_squared", 3),
            "right one more frequent, %": number("superiority_within", 1),
            "over categories": interval("superiority_categories", 0),
            "p (Holm)": p_value("p_holm"),
        },
        "Right is calibrated; wordfreq counts are occurrences in 10^9 words. H, its p and ε², the "
        "effect's size from 0 to 1, are over all nouns, as in the paper. The last three columns "
        "compare nouns of one category: how often the right one is the more frequent of a pair "
        "(50: no effect), the interval of its mean over categories, and the adjusted p. Other "
        "probes and Shapiro-Wilk p-values are in the file.",
        "frequency.csv",
    )


def frequency_figure(curve: pd.DataFrame) -> Any:
    """Calibrated singular accuracy over frequency bands, a panel for each source of counts."""
    with styled():
        sources = list(dict.fromkeys(curve["source"]))
        models = list(dict.fromkeys(curve["model"]))
        colours = model_colours(models)
        figure, panels = new_figure(
            0.6 + 2.2 * len(sources), nrows=len(sources), sharey=True, squeeze=False
        )
        for axes, source in zip(panels[:, 0], sources, strict=True):
            part = curve[curve["source"] == source]
            bands = part.drop_duplicates("band").sort_values("band")
            for series, model in enumerate(models):
                line = part[part["model"] == model].sort_values("band")
                x = [list(bands["band"]).index(band) for band in line["band"]]
                y = line["singular_calibrated"].to_numpy(float)
                ends = line[[f"singular_calibrated_{end}" for end in ("low", "high")]]
                spread = np.abs(ends.to_numpy(float).T - y)
                shift = (series - (len(models) - 1) / 2) * 0.07
                axes.errorbar(
                    np.array(x) + shift, y, yerr=spread, marker=MARKERS[series % 6], markersize=5,
                    color=colours[model], elinewidth=1, linewidth=1.4, label=short_name(model),
                )  # fmt: skip
            names = [_band(row, source) for row in bands.to_dict("records")]
            axes.set_xticks(range(len(bands)), names)
            axes.set_ylim(-3, 103)
            axes.set_ylabel("percent right, calibrated")
            axes.set_title(f"counts from {source}")
            axes.set_xlabel("Zipf frequency" if source == WORDFREQ else "occurrences in the corpus")
        legend(figure, panels[0, 0], 3)
    return figure


def _band(row: dict[str, Any], source: str) -> str:
    """The band [from, to) in words."""
    low, high = row["from"], row["to"]
    if source == WORDFREQ:
        return f"under {high:g}" if low == 0 else f"{low:g}+" if high > 8 else f"{low:g}–{high:g}"
    if high == math.inf:
        return f"{low:g}+"
    return f"{low:g}" if high - low == 1 else f"{low:g}–{high - 1:g}"


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    curve = largest_set(frames["frequency_curve"])
    shown = [m for m in dict.fromkeys(curve["model"]) if not is_baseline(m)][:6]
    part = curve[curve["model"].isin(shown)]
    yield Picture(
        "frequency",
        frequency_figure(part),
        "A line that climbs says that bands of frequent nouns are easier, whatever their "
        "categories. Bands with few nouns have long bars.",
        source_of(part, "frequency_curve.csv"),
        part.drop(columns=["diagnostic", RUN], errors="ignore"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[-1]
    verdict = "are not shown to be more or less frequent than"
    if row["p_holm"] < ALPHA and row["superiority_categories_low"] > 50:
        verdict = "are more frequent than"
    if row["p_holm"] < ALPHA and row["superiority_categories_high"] < 50:
        verdict = "are rarer than"
    if pd.isna(row["p_holm"]):
        return f"no category has nouns that {model} gets right and nouns that it gets wrong."
    return (
        f"within a category, nouns that {model} gets right {verdict} the others (one of the former "
        f"is the more frequent of a pair {row['superiority_within']:.0f} % of the time, counted in "
        f"{row['source']}; p {format_p_value(row['p_holm'])}{_of_control(row)})."
    )


def _of_control(row: pd.Series) -> str:
    """What the same comparison gives for the noun alone, which shares most of it."""
    share = row["control_superiority_within"]
    return "" if pd.isna(share) else f"; asked with the noun alone {share:.0f} %"


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    outcomes, counts = material.scored, material.counts
    return {
        "frequency": frequency_test(outcomes, counts),
        "frequency_curve": frequency_curve(outcomes, counts),
    }


ANALYSIS = Analysis(
    name="frequency",
    title="Frequency",
    words="Do models fail on rare nouns?",
    files=("frequency", "frequency_curve"),
    compute=_compute,
    tables={"frequency": _tables},
    pictures=_pictures,
    lead="Frequency",
    sentence=_sentence,
    reason=lambda material: "the sets' nouns have no frequency, or are all right or all wrong",
)
