"""Does a model know what it read in exactly the form of the question?

Of the embedded model's headwords, a coin decided which had their definitions
printed as encyclopedia sentences ("A robin is a ...") and which in dictionary
form; so the difference between the two arms is the effect of having seen the
defining sentence, where Ravichander et al. (2020, section 3.4) could only
correlate (78.34 % on pairs seen in Wikipedia against 67.53 % on all). That
correlation, for any model and any corpus, is in `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import how_sure, probe_name, titled
from hyperprobe.errors import UserError
from hyperprobe.names import CONTROL, EMBEDDED, EMBEDDED_FOLDER
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.probes.zero_shot.tables import PROBE_NAMES, largest_set
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import MUTED, new_figure, styled
from hyperprobe.render.table import RUN, Table, count, make_table, share, source_of, text
from hyperprobe.statistics.columns import difference_columns

ARMS = ("sentence", "dictionary")
PROBES = ("singular", "plural", "paired_singular_plural", "contextual")


def load_coin() -> pd.DataFrame:
    """The toss of each diagnostic item, indexed by lemma."""
    return pd.read_csv(EMBEDDED_FOLDER / "coin.tsv", sep="\t", keep_default_na=False).set_index(
        "lemma"
    )


def memorisation_effect(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per (diagnostic, probe): accuracy in both arms and their difference, in percent.

    Of the model `embedded` and its control prompt, for items that have a
    definition in its corpus: no rows where a set has none of them. Raises
    `UserError` when the run did not ask it.
    """
    if EMBEDDED not in set(predictions["model"]):
        raise UserError(
            f"the run did not ask {EMBEDDED}, the one model whose training text is known: "
            "run hyperprobe zero-shot without --model"
        )
    coin = load_coin()
    rows = []
    for model in (EMBEDDED, f"{CONTROL}{EMBEDDED}"):
        asked = predictions[predictions["model"] == model]
        for diagnostic, part in asked.groupby("diagnostic", sort=False):
            right = outcome_table(part)
            right = right[right.index.isin(coin.index[coin["n_definitions"] > 0])]
            arm = coin["arm"].reindex(right.index)
            for probe in PROBES:
                first, second = (right[probe][arm == name].dropna() for name in ARMS)
                if first.empty or second.empty:
                    continue
                rows.append(
                    {
                        "diagnostic": diagnostic,
                        "model": model,
                        "probe": probe,
                        "n_sentence": len(first),
                        "sentence": 100 * first.mean(),
                        "n_dictionary": len(second),
                        "dictionary": 100 * second.mean(),
                        **difference_columns(first, second, seed),
                    }
                )
    return pd.DataFrame(rows)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "definitions read as sentences, or in dictionary form (percent right)"),
        table,
        {
            "model": text("model"),
            "probe": probe_name,
            "sentence": share("sentence"),
            "n": count("n_sentence"),
            "dictionary": share("dictionary"),
            "n ": count("n_dictionary"),
            "difference": share("difference"),
        },
        "A coin decided which form each noun's definitions had in the embedded model's text, so "
        "the difference is the effect of having read the defining sentence.",
        "coin.csv",
    )


def memorisation_figure(rows: pd.DataFrame) -> Any:
    """Accuracy with and without the sentence or pattern in the corpus.

    `rows` has `label`, `with` and `without`, each with its `n_`.
    """
    with styled():
        figure, axes = new_figure(0.95 + len(rows) * 0.36)
        lines = np.arange(len(rows))
        axes.hlines(lines, rows["without"], rows["with"], color=MUTED, linewidth=1.2)
        dots(axes, lines, rows, "with", 0, "read in the corpus")
        dots(axes, lines, rows, "without", 1, "not read")
        name_rows(axes, list(rows["label"]))
        percent_axis(axes)
        legend(figure, axes)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    """Both effects in one figure: the coin's, and that of the pairs in a corpus."""
    rows = []
    for name, seen, unseen, label in (
        ("coin", "sentence", "dictionary", "by coin"),
        ("pairs", "seen", "unseen", "by pattern"),
    ):
        if name not in frames:
            continue
        for r in _shown(largest_set(frames[name]), models).to_dict("records"):
            of = f"{short_name(r['model'])}, " if len(models) > 1 else ""
            words = f"{of}{PROBE_NAMES[r['probe']]}, {label}"
            rows.append({"label": words, "with": r[seen], "without": r[unseen], RUN: r.get(RUN)})
    if rows:
        frame = pd.DataFrame(rows)
        yield Picture(
            "memorisation",
            memorisation_figure(frame),
            "Long lines are effects of the training text. By coin: the noun's definitions were "
            "printed as sentences or not, by chance, so the line is the effect itself. By "
            "pattern: the noun and its category are in a defining pattern of a corpus, or not.",
            source_of(frame, "coin.csv and pairs.csv"),
        )


def _shown(table: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """The rows of language models; of several patterns the widest."""
    rows = table[table["model"].isin(models) & table["probe"].isin(tuple(PROBE_NAMES))]
    if "pattern" not in rows:
        return rows
    rows = rows[rows["pattern"].isin(("any", "hearst"))]
    return rows.drop_duplicates(["source", "model", "probe"], keep="last")


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return (
        f"{model} is right on {row['sentence']:.1f} % of the nouns "
        f"whose definitions it read as sentences and on {row['dictionary']:.1f} % of the others "
        f"({how_sure(row)})."
    )


def _was_asked(material: Material) -> bool:
    return EMBEDDED in set(material.predictions["model"])


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    if not _was_asked(material):
        return {"coin": pd.DataFrame()}
    return {"coin": memorisation_effect(material.predictions, material.seed)}


def _reason(material: Material) -> str:
    words = f"none of the sets' nouns was tossed a coin for in {EMBEDDED}'s text"
    return words if _was_asked(material) else ""


ANALYSIS = Analysis(
    name="coin",
    title="Memorisation",
    words="Is it knowledge, or having read the sentence?",
    files=("coin",),
    compute=_compute,
    tables={"coin": _tables},
    pictures=_pictures,
    lead="Memorisation, by experiment",
    sentence=_sentence,
    reason=_reason,
)
