import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from hyperprobe.analysis.coin import load_coin, memorisation_effect
from hyperprobe.errors import UserError
from hyperprobe.statistics.intervals import bootstrap_difference


def predictions(model: str = "embedded") -> pd.DataFrame:
    """An embedded model that is right exactly on what it read as a sentence."""
    coin = load_coin()
    coin = coin[(coin["n_definitions"] > 0) & (coin["category"] == "bird")]
    return pd.DataFrame(
        {
            "diagnostic": "lm-diagnostic-extended",
            "model": model,
            "probe": "singular",
            "item": coin.index,
            "gold_rank": np.where(coin["arm"] == "sentence", 1, 2),
            "gold_tied": 0,
        }
    )


def test_an_effect_that_is_all_of_it():
    (row,) = memorisation_effect(predictions()).to_dict("records")
    assert (row["probe"], row["sentence"], row["dictionary"]) == ("singular", 100, 0)
    assert row["difference"] == row["difference_low"] == row["difference_high"] == 100
    assert abs(row["n_sentence"] - row["n_dictionary"]) < 0.2 * row["n_sentence"]


def test_words_without_a_definition_do_not_count():
    extra = predictions().iloc[:1].assign(item="no-headword")
    with_extra = memorisation_effect(pd.concat([predictions(), extra]))
    pd.testing.assert_frame_equal(with_extra, memorisation_effect(predictions()))


def test_only_the_embedded_model_has_a_known_text():
    with pytest.raises(UserError, match="did not ask embedded"):
        memorisation_effect(predictions("bert-base-uncased"))


def test_the_difference_interval_is_scipys():
    random = np.random.default_rng(1)
    a, b = random.random(200) < 0.8, random.random(150) < 0.6
    theirs = bootstrap(
        (a.astype(float), b.astype(float)),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        method="percentile",
        rng=1,
    ).confidence_interval
    assert bootstrap_difference(a, b) == pytest.approx((theirs.low, theirs.high), abs=0.01)
