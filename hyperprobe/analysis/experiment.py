"""Does a model know what it read, and does the form in which it read it matter?

The definitions of the embedded model's diagnostic nouns were dealt to three arms by chance,
within categories: printed as encyclopedia sentences ("A robin is a ..."), printed as dictionary
lines with the same number of exposures and of tokens, or withheld. So `line` - `withheld` is
the effect of having read their content, `sentence` - `line` that of the form, where Ravichander
et al. (2020, section 3.4) could only correlate. That correlation, for any model and any corpus,
is in `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import (
    PROBES,
    is_shown,
    points,
    probe_name,
    scored_outcomes,
    titled,
    with_items,
)
from hyperprobe.names import CONTROL_PREFIXES, EMBEDDED, EMBEDDED_FOLDER, EMBEDDED_VECTORS
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, outcome_table
from hyperprobe.probes.zero_shot.tables import PROBE_NAMES, largest_set
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import (
    Table,
    count,
    make_table,
    p_value,
    share,
    source_of,
    text,
    with_ends,
)
from hyperprobe.statistics.adjusted import adjusted_effects
from hyperprobe.statistics.columns import share_columns
from hyperprobe.statistics.stratified import holm

SENTENCE, LINE, WITHHELD = ARMS = ("sentence", "line", "withheld")
EFFECTS = ("content", "form")
READERS = (EMBEDDED, *(f"{p}{EMBEDDED}" for p in CONTROL_PREFIXES), *EMBEDDED_VECTORS)


def load_arms() -> pd.DataFrame | None:
    """The arm and the dose of each diagnostic noun, indexed by lemma; None if none ship."""
    path = EMBEDDED_FOLDER / "arms.tsv"
    if not path.is_file():
        return None
    return pd.read_csv(path, sep="\t", keep_default_na=False).set_index("lemma")


def experiment_effects(predictions: pd.DataFrame, arms: pd.DataFrame) -> pd.DataFrame:
    """Calibrated accuracy by arm and the effects, in percent: one row per (set, model, probe).

    Of the embedded model, its controls and the embedded vectors. `n_*` and `sentence`, `line`
    and `withheld` are as they are, with Wilson intervals; `content` (line - withheld) and `form`
    (sentence - line) are adjusted for category, Zipf frequency and log(1 + plural forms in the
    text), with intervals robust to synsets, `*_p` and `*_p_holm` over all effects of the set.
    `n_undefined` nouns of the arms have no definition, `n_unscored` others cannot be scored by
    the model: both are left out. Of few nouns the effects are empty; a set without a noun in
    each arm has no row.
    """
    rows = []
    for diagnostic, of_set in predictions.groupby("diagnostic", sort=False):
        by_model = dict(list(of_set.groupby("model", sort=False)))
        for model in READERS:
            if model in by_model:
                about = {"diagnostic": diagnostic, "model": model}
                rows += [about | row for row in _of_model(by_model[model], arms)]
    return _with_holm(pd.DataFrame(rows))


def _of_model(asked: pd.DataFrame, arms: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of one model and set."""
    was_asked = outcome_table(asked)
    table = with_items(scored_outcomes(asked), asked).join(
        arms[["arm", "n_definitions", "n_plural"]], how="inner"
    )
    has_definition = table["n_definitions"] > 0
    for probe in PROBES:
        metric = f"{probe}{CALIBRATED}"
        to_ask = was_asked[metric].reindex(table.index).notna()
        part = table[has_definition & table[metric].notna()]
        groups = {arm: part.loc[part["arm"] == arm, metric] for arm in ARMS}
        if any(group.empty for group in groups.values()):
            continue
        row: dict[str, Any] = {"probe": probe, "n_items": len(part)}
        row["n_undefined"] = int((to_ask & ~has_definition).sum())
        row["n_unscored"] = int((to_ask & has_definition).sum()) - len(part)
        for arm, right in groups.items():
            row |= {f"n_{arm}": len(right), **share_columns(arm, right)}
        effects = adjusted_effects(
            part[metric],
            # A line has the content, a sentence has it in the form of the question.
            {"content": part["arm"] != WITHHELD, "form": part["arm"] == SENTENCE},
            {"zipf": part["zipf"], "plural": np.log1p(part["n_plural"])},
            part["hypernym"],
            part["synset"],
        )
        for name, found in effects.items():
            row |= {
                name: 100 * found.effect,
                f"{name}_low": 100 * found.low,
                f"{name}_high": 100 * found.high,
                f"{name}_p": found.p_value,
            }
        yield row


def _with_holm(table: pd.DataFrame) -> pd.DataFrame:
    """With `content_p_holm` and `form_p_holm`: adjusted over all effects of a set."""
    if table.empty:
        return table
    tests = table.set_index("diagnostic")[[f"{name}_p" for name in EFFECTS]]
    tests = tests.stack(future_stack=True)  # with the effects of few nouns, which are empty
    adjusted = tests.groupby(level=0, sort=False).transform(holm).to_numpy().reshape(-1, 2)
    return table.assign(**{f"{name}_p_holm": adjusted[:, i] for i, name in enumerate(EFFECTS)})


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "what was read, by the arms of the experiment (percent right, calibrated)"),
        table,
        {
            "model": text("model"),
            "probe": probe_name,
            **{
                header: cell
                for arm in ARMS
                for header, cell in ((arm, share(arm)), (f"n, {arm}", count(f"n_{arm}")))
            },
        },
        "Chance decided which nouns' definitions the embedded model and vectors read as sentences, "
        "which in dictionary form, and which not at all.",
        "experiment.csv",
    )
    known = table[table["content"].notna()]
    if known.empty:
        return
    left_out = known[["n_undefined", "n_unscored"]].max()
    yield make_table(
        titled(known, "effects of what was read (points, adjusted)"),
        known,
        {
            "model": text("model"),
            "probe": probe_name,
            "nouns": count("n_items"),
            "content": share("content"),
            "p (Holm)": p_value("content_p_holm"),
            "form": share("form"),
            "p (Holm) ": p_value("form_p_holm"),
        },
        "Content: in dictionary form against not at all. Form: as sentences against in dictionary "
        "form. Adjusted for category, frequency and plural forms in the text; intervals over "
        f"synsets. Left out: {int(left_out['n_undefined'])} nouns without a definition, and those "
        f"that a model cannot score (at most {int(left_out['n_unscored'])}).",
        "experiment.csv",
    )


def experiment_figure(table: pd.DataFrame) -> Any:
    """Accuracy in each arm, with intervals, for each model and probe."""
    with styled():
        figure, axes = new_figure(0.95 + len(table) * 0.42)
        lines = np.arange(len(table))
        for series, arm in enumerate(ARMS):
            dots(axes, lines + (series - 1) * 0.2, table, arm, series, arm)
        labels = [
            f"{short_name(row['model'])}, {PROBE_NAMES[row['probe']]}"
            for row in table.to_dict("records")
        ]
        name_rows(axes, labels)
        percent_axis(axes, "percent right, calibrated")
        legend(figure, axes, 3)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    part = largest_set(frames["experiment"])
    part = part[part["model"].isin((EMBEDDED, *EMBEDDED_VECTORS))]
    if len(part):
        yield Picture(
            "experiment",
            experiment_figure(part),
            "The same kind of nouns, dealt to three arms by chance: definitions read as "
            "sentences, in dictionary form, or withheld.",
            source_of(part, "experiment.csv"),
            with_ends(part, "model", "probe", *ARMS),
        )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    accuracy = (
        f"{model} is right on {row['withheld']:.1f} % of the nouns whose definitions were "
        f"withheld, on {row['line']:.1f} % where it read them in dictionary form, on "
        f"{row['sentence']:.1f} % where as sentences"
    )
    if pd.isna(row["content"]):
        return f"{accuracy}: too few nouns to say more."
    shown = [name for name in EFFECTS if is_shown(row, name, f"{name}_p_holm")]
    verdict = f"an effect of {' and of '.join(shown)}" if shown else "no effect is shown"
    effects = "; ".join(f"{name} {points(row, name, f'{name}_p_holm')}" for name in EFFECTS)
    return f"{accuracy}: {verdict} (adjusted: {effects})."


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    arms = load_arms()
    if arms is None or EMBEDDED not in set(material.predictions["model"]):
        return {"experiment": pd.DataFrame()}
    return {"experiment": experiment_effects(material.predictions, arms)}


def _reason(material: Material) -> str:
    if EMBEDDED not in set(material.predictions["model"]):
        return (
            f"the run did not ask {EMBEDDED}, the one model whose text was dealt to arms: run "
            "hyperprobe zero-shot without --model"
        )
    if load_arms() is None:
        return f"the table of arms is not among the files of {EMBEDDED}"
    return "the sets have no noun in some of the arms"


ANALYSIS = Analysis(
    name="experiment",
    title="Memorisation",
    words="Is it knowledge, or having read the sentence?",
    files=("experiment",),
    compute=_compute,
    tables={"experiment": _tables},
    pictures=_pictures,
    lead="Memorisation, by experiment",
    sentence=_sentence,
    reason=_reason,
)
