"""Knowledge over training: the numbers of checkpoints of one model by their training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from hyperprobe.names import MAJORITY, is_baseline
from hyperprobe.predictions import of_items
from hyperprobe.probes.zero_shot.contrasts import CONTROLS, effect_columns
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, PAIRED, Outcomes
from hyperprobe.revisions import Step, training_step
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.stratified import with_holm

OF_ADDS = ("control_raw", "control_calibrated", "adds", "adds_low", "adds_high")
ENDS = ("", "_low", "_high")


def known_steps(models: Sequence[str]) -> dict[str, Step]:
    """Model -> step, of each that is one of two or more checkpoints of the same training."""
    found = {name: step for name in models if (step := training_step(name))}
    steps = {name: step for name, step in found.items() if not is_baseline(name)}
    numbers: dict[str, set[int]] = {}
    for step in steps.values():
        numbers.setdefault(step.training, set()).add(step.number)
    return {name: step for name, step in steps.items() if len(numbers[step.training]) > 1}


def over_steps(
    predictions: pd.DataFrame,
    metrics: pd.DataFrame,
    adds: pd.DataFrame,
    steps: Mapping[str, Step],
    settings: Sequence[str] = (),
) -> pd.DataFrame:
    """One row per (diagnostic, settings, training, probe, step): accuracy in percent, `raw` and
    `calibrated` with the ends of their intervals, that of the control, what the question `adds`
    (the columns of `question_adds`), and the accuracy of `majority` and of `chance`.

    `settings` are columns of both tables that tell rows of one model apart.
    """
    chances = _chances(predictions)
    majority = metrics[metrics["model"] == MAJORITY].set_index("diagnostic")
    rows = []
    for row in metrics[metrics["model"].isin(list(steps))].to_dict("records"):
        step, diagnostic = steps[row["model"]], row["diagnostic"]
        about = {key: row[key] for key in ("diagnostic", *settings)}
        about |= {"training": step.training, "step": step.number, "model": row["model"]}
        for probe in CONTROLS:
            if row[probe] == row[probe]:
                accuracy = {f"raw{end}": row[f"{probe}{end}"] for end in ENDS}
                accuracy |= {f"calibrated{e}": row[f"{probe}{CALIBRATED}{e}"] for e in ENDS}
                beside = {"majority": majority[probe].get(diagnostic)}
                beside["chance"] = 100 * chances[diagnostic, probe]
                about |= {"probe": probe, "n_items": row["n_items"]}
                rows.append({**about, **accuracy, **beside})
    if not rows:
        return pd.DataFrame()
    keys = ["diagnostic", *settings, "model", "probe"]
    table = pd.DataFrame(rows).merge(adds[[*keys, *OF_ADDS]], on=keys, how="left")
    order = {name: i for i, name in enumerate(CONTROLS)}
    by = ["diagnostic", "training", *settings, "probe", "step"]
    return table.sort_values(
        by, key=lambda c: c.map(order) if c.name == "probe" else c, kind="stable"
    ).reset_index(drop=True)


def _chances(predictions: pd.DataFrame) -> dict[tuple[str, str], float]:
    """(diagnostic, probe) -> the share of right answers of a blind guess among the categories."""
    n_categories = predictions.groupby(["diagnostic", "probe"])["gold"].nunique()
    chances = {(str(d), str(p)): 1 / max(1, n) for (d, p), n in n_categories.items()}
    for diagnostic in predictions["diagnostic"].unique():
        for probe, probes in PAIRED.items():
            chances[diagnostic, probe] = 1.0
            for one in probes:
                chances[diagnostic, probe] *= chances.get((diagnostic, one), 1.0)
    return chances


def growth(
    predictions: pd.DataFrame,
    adds: pd.DataFrame,
    outcomes: Outcomes,
    steps: Mapping[str, Step],
    seed: int = 0,
) -> pd.DataFrame:
    """What the question adds at the last step (`model`) minus at the first (`other`), in points.

    One row per (diagnostic, training, probe). The difference is taken noun by noun, so its
    columns are those of `question_adds`; `p_value` is the exact sign test on the nouns, `p_holm`
    adjusted for all rows of the set.
    """
    trainings: dict[str, list[str]] = {}
    for name in sorted(steps, key=lambda name: steps[name].number):
        trainings.setdefault(steps[name].training, []).append(name)
    rows = []
    for diagnostic, of_set in predictions.groupby("diagnostic", sort=False):
        items = of_items(of_set, "synset", "hypernym")
        asked = adds[adds["diagnostic"] == diagnostic].set_index(["model", "probe"])
        for training, names in trainings.items():
            first, last = names[0], names[-1]
            for probe in CONTROLS:
                if not {(first, probe), (last, probe)} <= set(asked.index):
                    continue
                gains = {}
                for name in (first, last):
                    right, control = (
                        outcomes[str(diagnostic), model][f"{probe}{CALIBRATED}"]
                        for model in (name, asked["control"][name, probe])
                    )
                    gains[name] = right - control
                difference = (gains[last] - gains[first]).dropna()
                *_, p = mcnemar_exact(difference > 0, difference < 0)
                about = {"diagnostic": diagnostic, "training": training, "probe": probe}
                about |= {"first": steps[first].number, "last": steps[last].number}
                about |= {"model": last, "other": first, "n_items": len(difference)}
                ends = {"adds_first": asked["adds"][first, probe]}
                ends["adds_last"] = asked["adds"][last, probe]
                effect = effect_columns(difference, items.reindex(difference.index), seed)
                rows.append({**about, **ends, **effect, "p_value": p})
    return with_holm(pd.DataFrame(rows))
