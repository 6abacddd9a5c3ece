"""The figure of prompt search, after Zhong et al. (2021)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.probes.lama.metrics import MACRO, MICRO, TYPES
from hyperprobe.probes.prompts.metrics import NONE
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis
from hyperprobe.render.figure import INK, MUTED, new_figure, styled

NO_PROMPT = ("majority", "class-prior")


def majority_figure(metrics: pd.DataFrame, splits: pd.DataFrame) -> Any:
    """How often each prompt elicits train's majority object, per relation (Figure 3).

    A line for each relation, in the order of the object's share of train, with a mark for each
    method on the first model itself, and lines across for the object's share of train and of test.
    """
    rows = metrics[~metrics["relation"].isin((MACRO, MICRO, *TYPES))]
    rows = rows[(rows["model"] == rows["model"].iloc[0]) & rows["control"].isin((NONE, ""))]
    shares = splits[splits["relation"].isin(rows["relation"])].sort_values("majority_share_train")
    order = shares["relation"].tolist()
    at = np.arange(len(order))
    methods = [m for m in dict.fromkeys(rows["method"]) if m not in NO_PROMPT]
    with styled():
        figure, axes = new_figure(1.2 + 0.3 * len(order))
        for part, colour in (("train", INK), ("test", MUTED)):
            values = shares[f"majority_share_{part}"]
            axes.plot(values, at, "|", color=colour, markersize=12, label=f"share of {part} facts")
        for i, method in enumerate(methods):
            of_method = rows[rows["method"] == method].set_index("relation").reindex(order)
            of_method = of_method.assign(model=rows["model"].iloc[0])
            dots(axes, at, of_method, "elicits_majority", i, method)
        name_rows(axes, order)
        percent_axis(axes, "test facts whose first answer is train's commonest object, percent")
        legend(figure, axes)
    return figure
