"""What a masked LM or a vectors file knows, calibrated: `python -m recipe.measure FOLDER ...`.

For trials of the recipe; `hyperprobe zero-shot` is the tool. From each category's score
its mean over the other items is taken, then the best category wins.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from hyperprobe.diagnostic import CATEGORIES, LM_DIAGNOSTIC_EXTENDED
from hyperprobe.diagnostic_files import load_diagnostic
from hyperprobe.metrics.hypernymy import SCORE
from hyperprobe.models.load import load_model
from hyperprobe.predictions import CONTEXTUAL, PLURAL, SINGULAR, predict_probe

DRAWS = 2000
ARM_PROBES = ("singular", "plural", "paired", "contextual")


def calibrated(scores: np.ndarray) -> np.ndarray:
    """Scores [n, k] less each column's mean over the other rows; rows of NaN stay out."""
    known = ~np.isnan(scores).any(axis=1)
    total, n = scores[known].sum(0), known.sum()
    return scores - (total - scores) / (n - 1)


def answers(model: object, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Probe -> frame indexed by noun with `raw` and `calibrated`, right (1.0) or wrong."""
    bare = frame.assign(
        bare=frame["control"].str.removesuffix("."),
        bare_plural=frame["control_plural"].str.removesuffix("."),
    )
    asked = {"singular": SINGULAR, "plural": PLURAL}
    if model.kind != "static":  # vectors read no prompt
        asked["contextual"] = CONTEXTUAL
        for name, probe, columns in (
            ("singular", SINGULAR, ("control", "bare")),
            ("plural", PLURAL, ("control_plural", "bare_plural")),
        ):
            for column in columns:
                asked[f"{column} ({name})"] = probe.__class__(
                    probe.name, column, probe.subject, probe.gold
                )
    out = {}
    for name, probe in asked.items():
        table = predict_probe(model, bare, probe, "gold")
        scores = table[[f"{SCORE}{c}" for c in CATEGORIES]].to_numpy()
        gold = table["hypernym"].map(CATEGORIES.index).to_numpy()
        known = ~np.isnan(scores).any(axis=1)
        out[name] = pd.DataFrame(
            {
                "category": table["hypernym"].to_numpy(),
                "raw": (np.nan_to_num(scores, nan=-np.inf).argmax(1) == gold) & known,
                "calibrated": (
                    np.nan_to_num(calibrated(scores), nan=-np.inf).argmax(1) == gold
                ) & known,
            },
            index=table["hyponym"].to_numpy(),
        ).assign(scored=known)  # fmt: skip
    return out


def report(name: str, frame: pd.DataFrame, arms: pd.DataFrame | None) -> None:
    """Print the model's numbers; with `arms`, the experiment's effects."""
    model = load_model(name)
    right = answers(model, frame)
    right["paired"] = _all_of(right, ("singular", "plural"))
    if "contextual" in right:
        right["paired all"] = _all_of(right, ("singular", "plural", "contextual"))
    print(f"\n== {name}")
    rows = {
        probe: {kind: 100 * table[kind].mean() for kind in ("raw", "calibrated")}
        | {
            "on scored": 100 * table["calibrated"][table["scored"]].mean(),
            "macro": 100 * table.groupby("category")["calibrated"].mean().mean(),
        }
        for probe, table in right.items()
    }
    print(pd.DataFrame(rows).T.round(1).to_string())
    for probe in ("singular", "plural"):
        controls = [key for key in right if key.endswith(f"({probe})")]
        if controls:
            harder = max(controls, key=lambda key: right[key]["calibrated"].mean())
            gain = right[probe]["calibrated"].astype(float) - right[harder]["calibrated"]
            low, high = _bootstrap(gain.to_numpy())
            print(
                f"the question adds, {probe}: {100 * gain.mean():.1f} [{low:.1f}, {high:.1f}] "
                f"over {harder}; {(gain > 0).sum()} against {(gain < 0).sum()}"
            )
    shown = [p for p in right if p in ("singular", "plural", "contextual", "control (singular)")]
    by = pd.DataFrame({p: right[p].groupby("category")["calibrated"].mean() for p in shown})
    print((100 * by.reindex(CATEGORIES)).round(0).to_string())
    if arms is not None:
        for probe in (*ARM_PROBES, *(k for k in right if "(" in k)):
            if probe in right:
                print_effects(probe, right[probe], arms)


def print_effects(probe: str, right: pd.DataFrame, arms: pd.DataFrame) -> None:
    """Accuracy by arm; effects from least squares with category and log frequency beside."""
    table = right.join(arms.drop(columns="category")).dropna(subset=["arm"])
    table = table[(table["n_definitions"] > 0) & table["scored"]]
    design = pd.DataFrame(
        {
            "content": table["arm"].isin(["line", "sentence"]).astype(float),
            "form": (table["arm"] == "sentence").astype(float),
            "frequency": table["zipf"],
            "plural": np.log1p(table["n_plural"]),
        }
    ).join(pd.get_dummies(table["category"], dtype=float))
    y = 100 * table["calibrated"].to_numpy(float)
    random = np.random.default_rng(0)
    x = design.to_numpy()
    draws = np.array(
        [
            np.linalg.lstsq(x[pick], y[pick], rcond=None)[0][:2]
            for pick in (random.integers(len(y), size=len(y)) for _ in range(DRAWS))
        ]
    )
    effects = np.linalg.lstsq(x, y, rcond=None)[0]
    means = (100 * table.groupby("arm")["calibrated"].mean()).round(1).to_dict()
    text = ", ".join(
        f"{what} {effects[i]:+.1f} [{low:.1f}, {high:.1f}]"
        for i, what in enumerate(("content", "form"))
        for low, high in [np.percentile(draws[:, i], [2.5, 97.5])]
    )
    print(f"{probe}: {means}; {text}")


def _all_of(right: dict[str, pd.DataFrame], probes: tuple[str, ...]) -> pd.DataFrame:
    first = right[probes[0]]
    both = {
        kind: np.logical_and.reduce([right[p][kind].reindex(first.index, fill_value=False)
                                     for p in probes])
        for kind in ("raw", "calibrated", "scored")
    }  # fmt: skip
    return first.assign(**both)


def _bootstrap(differences: np.ndarray) -> tuple[float, float]:
    random = np.random.default_rng(0)
    picks = random.integers(len(differences), size=(DRAWS, len(differences)))
    low, high = np.percentile(100 * differences[picks].mean(1), [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(prog="recipe.measure", description=__doc__)
    parser.add_argument("models", nargs="+", help="folders, vectors files, or embedded")
    parser.add_argument("--arms", type=Path, help="the table of doses: prints the effects too")
    arguments = parser.parse_args()
    frame = load_diagnostic(LM_DIAGNOSTIC_EXTENDED)
    arms = None
    if arguments.arms:
        arms = pd.read_csv(arguments.arms, sep="\t", keep_default_na=False).set_index("lemma")
        arms = arms.join(frame.set_index("hyponym")["zipf"])
    for name in arguments.models:
        report(name, frame, arms)


if __name__ == "__main__":
    main()
