"""The figure of prompt search, after Zhong et al. (2021)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hyperprobe.probes.lama.metrics import MACRO, MICRO, TYPES
from hyperprobe.probes.prompts.metrics import NONE
from hyperprobe.render.figure import INK, MARKERS, MUTED, SERIES, new_figure, styled

NO_PROMPT = ("majority", "class-prior")


def majority_figure(metrics: pd.DataFrame, splits: pd.DataFrame) -> Any:
    """How often each prompt elicits train's majority object, per relation (Figure 3).

    Lines are the methods on the first model itself, beside the object's share of train
    and of test; relations in the order of that share of train.
    """
    rows = metrics[~metrics["relation"].isin((MACRO, MICRO, *TYPES))]
    rows = rows[(rows["model"] == rows["model"].iloc[0]) & rows["control"].isin((NONE, ""))]
    shares = splits[splits["relation"].isin(rows["relation"])].sort_values("majority_share_train")
    order = shares["relation"].tolist()
    wide = rows.pivot(index="relation", columns="method", values="elicits_majority").loc[order]
    with styled():
        figure, axes = new_figure(3.2)
        for part, color in (("train", INK), ("test", MUTED)):
            values = shares[f"majority_share_{part}"]
            axes.plot(order, values, "--", color=color, label=f"share of {part} facts")
        methods = [m for m in dict.fromkeys(rows["method"]) if m not in NO_PROMPT]
        for i, method in enumerate(methods):
            axes.plot(
                order, wide[method], label=method, color=SERIES[i % len(SERIES)],
                marker=MARKERS[i % len(MARKERS)], markersize=4,
            )  # fmt: skip
        axes.set_title("The first answer is train's most frequent object")
        axes.set_ylabel("percent of test facts")
        axes.set_ylim(-2, 102)
        axes.tick_params(axis="x", rotation=90)
        axes.legend()
    return figure
