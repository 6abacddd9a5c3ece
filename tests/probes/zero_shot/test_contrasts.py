"""What the question adds and whether success is systematic, on frames worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.metrics import cohen_kappa_score

from hyperprobe.probes.zero_shot import claims
from hyperprobe.probes.zero_shot.contrasts import (
    ADDS_COLUMNS,
    SYSTEMATIC_COLUMNS,
    question_adds,
    systematicity,
    with_adds,
)

ITEMS = {"robin": "bird", "wren": "bird", "crow": "bird"}
ITEMS |= {"trout": "fish", "carp": "fish", "pike": "fish"}
# The score of "bird"; that of "fish" is 0. Calibrated, the answer is bird above the mean.
KNOWS = (5.0, 4.0, 3.0, -1.0, 1.0, 0.5)  # mean 2.08: all six are right; raw, carp and pike are not
HALF = (1.0, -3.0, -1.0, -1.0, -4.0, -3.0)  # mean -1.83: wren and trout are wrong
BARE = (2.0, 2.0, 2.0, 1.0, -8.0, -8.0)  # mean -1.5: trout is wrong


def rows(model: str, probe: str, birds: tuple[float, ...]) -> pd.DataFrame:
    table = pd.DataFrame({"item": list(ITEMS), "hypernym": list(ITEMS.values())})
    table["score_bird"], table["score_fish"] = birds, 0.0
    right = (table["score_bird"] > 0) == (table["hypernym"] == "bird")
    return table.assign(
        diagnostic="set", model=model, probe=probe, synset=table["item"], gold_tied=0,
        gold_rank=np.where(right, 1, 2), best=np.where(table["score_bird"] > 0, "bird", "fish"),
    )  # fmt: skip


ASKED = pd.concat(
    [
        rows("control:m", "singular", HALF),
        rows("control:m", "plural", KNOWS),
        rows("control-bare:m", "singular", BARE),
        rows("m", "singular", KNOWS),
        rows("m", "plural", HALF),
    ]
)


def test_the_harder_control_counts():
    table = question_adds(ASKED)
    assert list(table.columns) == list(ADDS_COLUMNS)
    found = table.set_index("probe")
    assert list(found.index) == ["singular", "plural", "paired_singular_plural"]
    assert set(found["model"]) == {"m"}  # a control has no control
    row = found.loc["singular"]  # control 4 of 6, without full stop 5 of 6
    assert row["control"] == "control-bare:m"
    assert row["control_calibrated"] == pytest.approx(500 / 6)
    assert row["raw"] == pytest.approx(400 / 6) and row["calibrated"] == 100
    assert row["adds"] == pytest.approx(100 / 6)
    assert (row["only_probe"], row["only_control"], row["p_value"]) == (1, 0, 1)  # trout
    assert (found["control"].iloc[1:] == "control:m").all()  # no plural without a full stop


def test_a_question_may_take_away():
    row = question_adds(ASKED).set_index("probe").loc["plural"]
    assert row["adds"] == pytest.approx(-200 / 6)
    assert (row["only_probe"], row["only_control"]) == (0, 2)  # wren and trout
    assert row["p_value"] == 0.5  # 2 of 2, both sides
    assert row["adds_low"] <= row["adds"] <= row["adds_high"] <= 0
    # By category -1/3 and -1/3: nothing varies between them.
    assert row["adds_categories_low"] == pytest.approx(-200 / 6)
    assert row["adds_categories_high"] == pytest.approx(-200 / 6)


def test_both_numbers_at_once():
    row = question_adds(ASKED).set_index("probe").loc["paired_singular_plural"]
    # Asked: all in the singular, four in the plural. Control: four and all. The same four.
    assert row["calibrated"] == row["control_calibrated"] == pytest.approx(400 / 6)
    assert (row["adds"], row["only_probe"], row["only_control"]) == (0, 0, 0)
    assert not claims.adds(row)


def test_a_control_that_has_no_items_is_none():
    assert question_adds(rows("m", "singular", KNOWS)).empty
    alone = question_adds(rows("m", "singular", KNOWS))
    assert list(alone.columns) == list(ADDS_COLUMNS)
    # Contexts are compared with their shuffled words alone.
    context = pd.concat([ASKED, rows("m", "contextual", KNOWS)])
    assert "contextual" not in set(question_adds(context)["probe"])
    shuffled = pd.concat([context, rows("shuffled:m", "contextual", HALF)])
    row = question_adds(shuffled).set_index("probe").loc["contextual"]
    assert row["control"] == "shuffled:m" and row["adds"] == pytest.approx(200 / 6)


def test_synonyms_are_drawn_together():
    # The control is wrong on wren and trout. As one synset of two it comes never, once or more
    # often, so that the interval is wider than that of two single items.
    apart = pd.concat([rows("m", "singular", KNOWS), rows("control:m", "singular", HALF)])
    together = apart.assign(synset=apart["item"].replace({"wren": "x", "trout": "x"}))
    one, two = (question_adds(table).iloc[0] for table in (apart, together))
    assert one["adds"] == two["adds"] == pytest.approx(200 / 6)
    assert two["adds_high"] > one["adds_high"]


def test_eighteen_of_eighteen():
    items = [f"noun{i}" for i in range(18)]
    gold = ["bird", "fish"] * 9
    table = pd.DataFrame({"item": items, "hypernym": gold, "synset": items, "gold_tied": 0})
    table = table.assign(diagnostic="set", probe="singular", score_fish=0.0)
    knows = table.assign(
        model="m", score_bird=np.where(table["hypernym"] == "bird", 1.0, -1.0), gold_rank=1
    )
    wrong = knows.assign(model="control:m", score_bird=-knows["score_bird"], gold_rank=2)
    row = question_adds(pd.concat([knows, wrong])).iloc[0]
    # Wilson: 18 / (18 + 1.96²) below, and no false certainty of 100 alone
    assert row["calibrated_low"] == pytest.approx(100 * 18 / (18 + 1.959964**2))
    assert (row["calibrated"], row["calibrated_high"]) == (100, 100)
    assert (row["adds"], row["adds_low"], row["adds_high"]) == (100, 100, 100)
    assert (row["only_probe"], row["p_value"]) == (18, 2 * 0.5**18)
    assert claims.adds(row)


def test_one_category_says_nothing():
    """Without another category everything is right, and nothing is added or related."""
    birds = {name: gold for name, gold in ITEMS.items() if gold == "bird"}
    table = ASKED[ASKED["item"].isin(birds)].drop(columns="score_fish").assign(gold_rank=1)
    for _, row in question_adds(table).iterrows():
        assert (row["calibrated"], row["control_calibrated"], row["adds"]) == (100, 100, 0)
        assert np.isnan(row["adds_categories_low"]) and not claims.adds(row)
    related = systematicity(table)
    assert related[["odds_ratio", "p_value", "kappa"]].isna().all(axis=None)
    assert not claims.is_systematic(question_adds(table).iloc[-1], related.iloc[-1])


def test_with_adds_gives_every_model_its_row():
    metrics = pd.DataFrame({"diagnostic": "set", "model": ["majority", "m"], "n_items": 6})
    wide = with_adds(metrics, question_adds(ASKED)).set_index("model")
    assert wide.loc["m", "singular_adds"] == pytest.approx(100 / 6)
    assert np.isnan(wide.loc["majority", "singular_adds"]) and len(wide) == 2


NAMES = ("bird", "fish", "tree")


def noisy(model: str, seed: int, n: int = 150) -> pd.DataFrame:
    """A model whose singular and plural share a part of what they know about each noun."""
    random = np.random.default_rng(seed)
    gold = np.arange(n) % 3
    shared = random.normal(0, 1, (n, 3)) + 0.8 * np.eye(3)[gold]
    parts = []
    for probe in ("singular", "plural"):
        scores = shared + random.normal(0, 0.7, (n, 3)) + random.normal(0, 3, 3)
        part = pd.DataFrame(scores, columns=[f"score_{name}" for name in NAMES])
        part["item"] = [f"noun{i}" for i in range(n)]
        part["hypernym"] = [NAMES[i] for i in gold]
        right = scores.argmax(axis=1) == gold
        part = part.assign(probe=probe, gold_rank=np.where(right, 1, 2), gold_tied=0, best="")
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return table.assign(diagnostic="set", model=model, synset=table["item"])


def answered(table: pd.DataFrame, probe: str) -> np.ndarray:
    """The calibrated answers, each mean over the others computed one by one."""
    scores = table[table["probe"] == probe][[f"score_{name}" for name in NAMES]].to_numpy()
    others = [np.delete(scores, i, axis=0).mean(axis=0) for i in range(len(scores))]
    return (scores - np.array(others)).argmax(axis=1)


def mantel_haenszel(a: np.ndarray, b: np.ndarray, strata: np.ndarray) -> tuple[float, float]:
    """Odds ratio and p-value from the four counts of each stratum (Agresti 2013, section 6.4)."""
    above = below = observed = expected = variance = 0.0
    for name in np.unique(strata):
        x, y = a[strata == name], b[strata == name]
        n, n_x, n_y = len(x), x.sum(), y.sum()
        above += (x & y).sum() * (~x & ~y).sum() / n
        below += (x & ~y).sum() * (~x & y).sum() / n
        observed += (x & y).sum()
        expected += n_x * n_y / n
        variance += n_x * n_y * (n - n_x) * (n - n_y) / (n**2 * (n - 1))
    statistic = (abs(observed - expected) - 0.5) ** 2 / variance
    return above / below, float(chi2.sf(statistic, 1))


def test_systematicity_by_the_textbook():
    models = {"m": noisy("m", 1), "control:m": noisy("control:m", 2), "w": noisy("w", 3)}
    table = systematicity(pd.concat(models.values()))
    assert list(table.columns) == list(SYSTEMATIC_COLUMNS)
    found = table.set_index("model")
    p_values = {}
    for model, asked in models.items():
        singular, plural = answered(asked, "singular"), answered(asked, "plural")
        gold = np.arange(150) % 3
        ratio, p = mantel_haenszel(singular == gold, plural == gold, gold)
        row = found.loc[model]
        assert row["odds_ratio"] == pytest.approx(ratio)
        assert row["p_value"] == pytest.approx(p, rel=1e-6)
        assert row["kappa"] == pytest.approx(cohen_kappa_score(singular, plural))
        assert row["odds_ratio_low"] < ratio < row["odds_ratio_high"]
        assert row["n_items"] == 150
        p_values[model] = p
    # Holm: the smallest of three times 3, the next times 2, and never below the one before.
    largest = 0.0
    for left, model in zip((3, 2, 1), sorted(p_values, key=p_values.__getitem__), strict=True):
        largest = max(largest, min(1.0, left * p_values[model]))
        assert found.loc[model, "p_holm"] == pytest.approx(largest, rel=1e-6)


def test_nouns_without_scores_are_in_no_pair():
    table = noisy("m", 1)
    scores = [f"score_{name}" for name in NAMES]
    lacking = (table["item"] == "noun7") & (table["probe"] == "plural")
    table.loc[lacking, scores], table.loc[lacking, "gold_rank"] = np.nan, 0
    assert systematicity(table)["n_items"].tolist() == [149]


def test_one_number_alone_is_not_systematic():
    only = noisy("m", 1)
    assert systematicity(only[only["probe"] == "singular"]).empty
    assert not claims.is_systematic(None, None)
