"""Does a model know what it has read, or what it was told in the very form of the question?

Of the embedded model's headwords, a coin decided which had their definitions
printed as encyclopedia sentences ("A robin is a ...") and which in dictionary
form; so the difference between the two arms is the effect of having seen the
defining sentence, where Ravichander et al. (2020, section 3.4) could only
correlate (78.34 % on pairs seen in Wikipedia against 67.53 % on all).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from hyperprobe.errors import UserError
from hyperprobe.metrics.hypernymy import outcome_table
from hyperprobe.metrics.uncertainty import bootstrap_difference
from hyperprobe.models.load import EMBEDDED, EMBEDDED_FOLDER

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
    definition in its corpus at all. Raises `UserError` when the run did not ask it.
    """
    coin = load_coin()
    rows = []
    for model in (EMBEDDED, f"control:{EMBEDDED}"):
        for diagnostic, own in predictions[predictions["model"] == model].groupby(
            "diagnostic", sort=False
        ):
            right = outcome_table(own)
            right = right[right.index.isin(coin.index[coin["n_definitions"] > 0])]
            arm = coin["arm"].reindex(right.index)
            for probe in PROBES:
                first, second = (right[probe][arm == name].dropna() for name in ARMS)
                if first.empty or second.empty:
                    continue
                low, high = bootstrap_difference(first, second, seed)
                rows.append(
                    {
                        "diagnostic": diagnostic,
                        "model": model,
                        "probe": probe,
                        "n_sentence": len(first),
                        "sentence": 100 * first.mean(),
                        "n_dictionary": len(second),
                        "dictionary": 100 * second.mean(),
                        "difference": 100 * (first.mean() - second.mean()),
                        "difference_low": 100 * low,
                        "difference_high": 100 * high,
                    }
                )
    if not rows:
        raise UserError(
            f"the run did not ask {EMBEDDED}, the one model whose training text is known: "
            "run hyperprobe zero-shot without --model"
        )
    return pd.DataFrame(rows)


def read_predictions(run: Path) -> pd.DataFrame:
    """The predictions of a finished run folder. Raises `UserError` when there are none."""
    path = run / "predictions.parquet"
    if not path.is_file():
        raise UserError(f"no predictions in {run}: name the folder that a zero-shot run printed")
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged: delete the folder and run again") from error
