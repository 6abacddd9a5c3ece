"""Questions asked again: articles, negation and wordings, raw and calibrated, by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from statsmodels.stats.multitest import multipletests

from hyperprobe.analysis.article import article_leak
from hyperprobe.analysis.negation import negation
from hyperprobe.analysis.variants import NEGATED, TEMPLATES, fill_template
from hyperprobe.analysis.wording import ANALYSIS, PROMPT, template_accuracy, template_spread
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.statistics.generalisability import generalisability

SET = load_diagnostic("lm-diagnostic")
Asked = tuple[pd.DataFrame, pd.DataFrame]


def calibrated_by_hand(rows: pd.DataFrame) -> pd.DataFrame:
    """The scores of one prompt [items, categories], each less its mean over the other items."""
    scores = rows.set_index("item").sort_index().filter(like="score_")
    scores = scores.drop(columns=["gold_score", "best_score"], errors="ignore").astype(float)
    scores.columns = scores.columns.str.removeprefix("score_")
    return scores - (scores.sum() - scores) / (len(scores) - 1)


def right_by_hand(table: pd.DataFrame, variant: str) -> pd.Series:
    rows = table[table["variant"] == variant]
    gold = rows.set_index("item")["hypernym"].sort_index()
    return calibrated_by_hand(rows).idxmax(axis=1) == gold


def test_all_variants_are_asked(asked: Asked):
    own, table = asked
    expected = {"gold", "fixed", "marginal", NEGATED, *TEMPLATES}
    assert set(table["variant"]) == expected and len(TEMPLATES) == 12
    assert table.groupby("variant").size().eq(18).all()
    assert set(table["model"]) == {m for m in own["model"] if not m.startswith("control")}


def test_templates_have_the_right_articles():
    ant = SET[SET["hyponym"] == "ant"]
    filled = [fill_template(DiagnosticSet("ant", ant), template)[0] for template in TEMPLATES]
    assert filled[0] == "The ant is an [MASK]." and filled[3] == "An ant is a kind of [MASK]."
    assert all(text.count("[MASK]") == 1 for text in filled)
    assert not [text for text in filled if " a ant" in text or "{" in text]


def test_article_leak_is_against_marginal(asked: Asked):
    own, table = asked
    leak = article_leak(table).set_index("policy")
    singular = own[(own["probe"] == "singular") & ~own["model"].str.startswith("control")]
    assert leak.at["gold", "singular"] == pytest.approx(100 * (singular["gold_rank"] == 1).mean())
    for column, name in (("leak_raw", "singular"), ("leak", "singular_calibrated")):
        assert leak.at["gold", column] == pytest.approx(
            leak.at["gold", name] - leak.at["marginal", name]
        )
    hand = {policy: 100 * right_by_hand(table, policy).mean() for policy in leak.index}
    assert leak["singular_calibrated"].to_dict() == pytest.approx(hand)
    assert leak.at["marginal", "leak"] == 0 and leak.at["marginal", "n_vowel"] == 2
    assert np.isnan(leak.at["marginal", "p_value"])


def test_negation_by_hand(asked: Asked):
    _, table = asked
    false = {("d", row["hyponym"]): row["false_hypernym"] for row in SET.to_dict("records")}
    row = negation(table, "gold", false).iloc[0]
    plus, minus = (
        table[table["variant"] == v].set_index("item").sort_index() for v in ("gold", NEGATED)
    )
    columns = [c for c in plus.columns if c.startswith("score_")]
    rho = [spearmanr(plus.loc[i, columns], minus.loc[i, columns]).statistic for i in plus.index]
    assert row["spearman"] == pytest.approx(np.mean(rho))
    assert row["change"] == pytest.approx((minus["gold_score"] - plus["gold_score"]).mean())
    assert row["same_answer"] == pytest.approx(100 * (plus["best"] == minus["best"]).mean())
    above = [
        minus.at[i, f"score_{false['d', i]}"] >= minus.at[i, "gold_score"] for i in minus.index
    ]
    assert row["prefers_false"] == pytest.approx(100 * np.mean(above)) and row["n_false"] == 18


def test_negation_calibrated_by_hand(asked: Asked):
    _, table = asked
    false = {("d", row["hyponym"]): row["false_hypernym"] for row in SET.to_dict("records")}
    row = negation(table, "gold", false).iloc[0]
    plus, minus = (calibrated_by_hand(table[table["variant"] == v]) for v in ("gold", NEGATED))
    gold = table[table["variant"] == "gold"].set_index("item")["hypernym"]
    yes, no = (right_by_hand(table, variant) for variant in ("gold", NEGATED))
    assert row["affirmed_calibrated"] == pytest.approx(100 * yes.mean())
    assert row["difference"] == pytest.approx(100 * (yes.mean() - no.mean()))
    same = plus.idxmax(axis=1) == minus.idxmax(axis=1)
    assert row["same_answer_calibrated"] == pytest.approx(100 * same.mean())
    change = minus - plus
    relative = [change.at[i, gold[i]] - change.loc[i].drop(gold[i]).mean() for i in change.index]
    assert row["relative_change_calibrated"] == pytest.approx(np.mean(relative), abs=1e-5)
    above = [plus.at[i, gold[i]] > plus.at[i, false["d", i]] for i in plus.index]
    assert row["prefers_true_calibrated"] == pytest.approx(100 * np.mean(above))


def test_a_model_that_obeys_negation_is_seen(asked: Asked):
    _, table = asked
    table = table[table["variant"].isin(("gold", NEGATED))].copy()
    for i in table.index:
        true = f"score_{table.at[i, 'hypernym']}"
        for column in [c for c in table.columns if c.startswith("score_")]:
            table.at[i, column] = -3.0
        table.at[i, true] = -1.0 if table.at[i, "variant"] == "gold" else -9.0
        table.at[i, "gold_score"] = table.at[i, true]
        table.at[i, "gold_rank"] = 1 if table.at[i, "variant"] == "gold" else 9
    row = negation(table, "gold", {}).iloc[0]
    assert (row["affirmed"], row["negated"], row["lowered"]) == (100, 0, 100)
    assert (row["change"], row["relative_change"], row["spearman"]) == pytest.approx((-8, -8, -1))
    calibrated = (row["affirmed_calibrated"], row["negated_calibrated"], row["difference"])
    assert calibrated == (100, 0, 100) and row["p_holm"] < 0.001
    assert row["n_false"] == 0 and np.isnan(row["prefers_true"])


def test_a_false_category_that_the_set_does_not_have_does_not_count(
    asked: Asked,
):
    _, table = asked
    birds = table[table["hypernym"] == "bird"].assign(diagnostic="birds")
    birds = birds.drop(columns=[c for c in birds if c.startswith("score_") and c != "score_bird"])
    birds = birds.assign(score_fish=-5.0)
    both = pd.concat([table, birds], ignore_index=True)
    words = set(birds["item"])
    false = {("birds", item): "tree" for item in words} | {("d", item): "fish" for item in words}
    rows = negation(both, "gold", false).set_index("diagnostic")
    assert rows.at["birds", "n_false"] == 0 and np.isnan(rows.at["birds", "prefers_true"])
    assert rows.at["d", "n_false"] == len(words)


def test_the_seed_reaches_every_interval(asked: Asked):
    _, table = asked
    rng = np.random.default_rng(0)
    parts = [table.assign(item=table["item"] + str(i)) for i in range(12)]
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(synset=table["item"])
    scores = [c for c in table if c.startswith("score_")]
    table[scores] += rng.normal(0, 1, (len(table), len(scores)))
    for column, compute in (
        ("leak", article_leak),
        ("difference", lambda t, seed: template_accuracy(t, "gold", seed)),
    ):
        first, again, other = (compute(table, seed=seed) for seed in (0, 0, 1))
        pd.testing.assert_frame_equal(first, again)
        assert (first[column] == other[column]).all()
        ends = [f"{column}_low", f"{column}_high"]
        assert (first[ends] != other[ends]).any(axis=None)


def test_each_wording_by_hand(asked: Asked):
    _, table = asked
    accuracy = template_accuracy(table, "gold").set_index("template")
    assert list(accuracy.index) == [PROMPT, *TEMPLATES]
    right = pd.DataFrame({name: right_by_hand(table, name) for name in ("gold", *TEMPLATES)})
    right = right.rename(columns={"gold": PROMPT})
    assert accuracy["singular_calibrated"].to_dict() == pytest.approx(
        (100 * right.mean()).to_dict()
    )
    difference = 100 * (right.mean() - right[PROMPT].mean())
    assert accuracy["difference"].to_dict() == pytest.approx(difference.to_dict())
    assert np.isnan(accuracy.at[PROMPT, "p_value"]) and np.isnan(accuracy.at[PROMPT, "p_holm"])
    p = accuracy["p_value"].drop(PROMPT)
    assert accuracy["p_holm"].drop(PROMPT).tolist() == pytest.approx(
        multipletests(p, method="holm")[1].tolist()
    )


def test_the_spread_over_templates(asked: Asked):
    _, table = asked
    accuracy = template_accuracy(table, "gold").set_index("template")
    row = template_spread(table, "gold").iloc[0]
    for suffix in ("", "_calibrated"):
        each = accuracy[f"singular{suffix}"]
        assert row["n_templates"] == 13 and row[f"prompt{suffix}"] == each[PROMPT]
        assert row[f"sd{suffix}"] == pytest.approx(each.std(ddof=1))
        assert (row[f"lowest{suffix}"], row[f"highest{suffix}"]) == (each.min(), each.max())
    right = pd.DataFrame({name: right_by_hand(table, name) for name in ("gold", *TEMPLATES)})
    assert row["always_calibrated"] == pytest.approx(100 * right.all(axis=1).mean())
    assert row["never_calibrated"] == pytest.approx(100 * (~right).all(axis=1).mean())
    same = table[table["variant"].isin(("gold", *TEMPLATES))].assign(best="bird")
    assert template_spread(same, "gold").iloc[0]["consistency"] == 100


def test_components_are_those_of_the_calibrated_outcomes(asked: Asked):
    _, table = asked
    row = template_spread(table, "gold").iloc[0]
    right = pd.DataFrame({name: right_by_hand(table, name) for name in ("gold", *TEMPLATES)})
    category = table[table["variant"] == "gold"].set_index("item")["hypernym"].sort_index()
    found = generalisability(right.to_numpy(float), category)
    assert row["variance_noun"] == pytest.approx(found.noun)
    assert row["variance_residual"] == pytest.approx(found.residual)
    assert row["generalisability"] == pytest.approx(found.coefficient)
    # Cronbach's alpha of the same table, for which rows that are constant help.
    k, each = right.shape[1], right.astype(float)
    alpha = k / (k - 1) * (1 - each.var().sum() / each.sum(axis=1).var())
    assert row["generalisability"] == pytest.approx(alpha)


def test_wordings_with_a_bias_of_their_own_agree_when_calibrated():
    """One ability per noun, and in each wording a bias that hides it: raw, no wording agrees."""
    random = np.random.default_rng(4)
    n, names = 120, ["bird", "fish", "tree"]
    gold = np.array(names * (n // 3))
    known = random.random(n) < 0.7
    rows = []
    for i, variant in enumerate(("gold", *TEMPLATES)):
        scores = np.zeros((n, 3))
        wrong = np.roll(names, 1)
        for j in range(n):
            answer = names.index(gold[j]) if known[j] else list(wrong).index(gold[j])
            scores[j, answer] = 1.0
        scores[:, i % 3] += 5.0
        best = np.array(names)[scores.argmax(axis=1)]
        part = pd.DataFrame(scores, columns=[f"score_{name}" for name in names])
        items = [f"x{j}" for j in range(n)]
        rows.append(
            part.assign(
                diagnostic="d", model="m", variant=variant, item=items, synset=items,
                hypernym=gold, gold=gold, best=best, gold_rank=np.where(best == gold, 1, 2),
                gold_tied=0,
            )
        )  # fmt: skip
    row = template_spread(pd.concat(rows, ignore_index=True), "gold").iloc[0]
    assert row["always"] == 0 and row["consistency"] < 40
    assert row["always_calibrated"] == pytest.approx(100 * known.mean())
    assert row["generalisability"] == pytest.approx(1) and row["wordings_needed"] == 1
    assert row["variance_wording"] == pytest.approx(0, abs=1e-9)
    assert "in all of them on" in ANALYSIS.sentence("m", pd.DataFrame([row]))
