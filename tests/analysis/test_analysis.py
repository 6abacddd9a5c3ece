"""The analyses against scipy, against hand-made cases, and on sixty errors labelled by reading."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kruskal, mannwhitneyu, shapiro, spearmanr

from hyperprobe.analysis.agreement import agreement, category_scores
from hyperprobe.analysis.article import article_leak
from hyperprobe.analysis.base import Material
from hyperprobe.analysis.corpus_counts import (
    CorpusCounts,
    count_file,
    embedded_counts,
    read_pair_counts,
    sum_counts,
)
from hyperprobe.analysis.errors import error_class, error_shares, open_errors
from hyperprobe.analysis.frequency import frequency_curve, frequency_test
from hyperprobe.analysis.negation import negation
from hyperprobe.analysis.pairs import pair_effect
from hyperprobe.analysis.variants import (
    NEGATED,
    TEMPLATES,
    ask_again,
    fill_template,
    with_run_prompt,
)
from hyperprobe.analysis.wording import PROMPT, template_accuracy, template_spread
from hyperprobe.diagnostic.corpus import Skipped
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.registry import ANALYSES, load

ERRORS = Path(__file__).parent / "open_errors.tsv"
SET = load_diagnostic("lm-diagnostic")


def made(n: int = 40, model: str = "m") -> pd.DataFrame:
    """Singular and plural predictions on n birds and fish with frequencies that matter a little."""
    random = np.random.default_rng(3)
    zipf = random.uniform(1, 4, n).round(2)
    rows = []
    for i in range(n):
        for probe, chance in (("singular", zipf[i] / 4), ("plural", 0.5)):
            right = random.random() < chance
            hypernym = "bird" if i % 2 else "fish"
            scores = {"score_bird": -1.0, "score_fish": -2.0}
            rows.append(
                {"diagnostic": "d", "model": model, "probe": probe, "item": f"x{i}",
                 "hyponym": f"x{i}", "hypernym": hypernym, "zipf": zipf[i], "gold": hypernym,
                 "gold_rank": 1 if right else 2, "gold_tied": 0, "best": "bird", "margin": 0.0,
                 **scores}
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_the_frequency_tests_are_scipys():
    table = made()
    (row,) = frequency_test(table)[lambda t: t["probe"] == "singular"].to_dict("records")
    own = table[table["probe"] == "singular"]
    counts = 10 ** own["zipf"]
    yes, no = counts[own["gold_rank"] == 1], counts[own["gold_rank"] == 2]
    h, p = kruskal(yes, no)
    n = len(own)
    assert (row["kruskal_h"], row["kruskal_p"]) == pytest.approx((h, p))
    assert row["shapiro_p_recognised"] == pytest.approx(shapiro(yes).pvalue)
    assert row["shapiro_p_unrecognised"] == pytest.approx(shapiro(no).pvalue)
    assert row["epsilon_squared"] == pytest.approx(h / (n - 1))
    u = mannwhitneyu(yes, no).statistic
    assert row["superiority"] == pytest.approx(100 * u / len(yes) / len(no))
    assert row["mean_recognised"] == pytest.approx(yes.mean())
    assert row["n_recognised"] + row["n_unrecognised"] == n


def test_a_test_that_cannot_be_made_is_empty():
    table = made()
    table.loc[table["item"] != "x0", "gold_rank"] = 1
    table.loc[table["item"] == "x0", "gold_rank"] = 2
    row = frequency_test(table).iloc[0]
    assert row["n_unrecognised"] == 1 and np.isnan(row["shapiro_p_unrecognised"])
    assert frequency_test(table.assign(gold_rank=1)).empty
    same = frequency_test(table.assign(zipf=2.0)).iloc[0]
    assert (same["kruskal_p"], same["superiority"]) == (1.0, 50.0)


def test_the_curve_has_every_item_once():
    table = made()
    curve = frequency_curve(table)
    assert curve["n_items"].sum() == table["item"].nunique()
    whole = (table[table["probe"] == "singular"]["gold_rank"] == 1).mean()
    weighted = (curve["singular"] * curve["n_items"]).sum() / curve["n_items"].sum()
    assert weighted == pytest.approx(100 * whole)
    words = pd.Series({f"x{i}": [0, 5, 5000][i % 3] for i in range(40)})
    counted = CorpusCounts("mine", words, pd.DataFrame())
    bands = frequency_curve(table, [counted])[lambda t: t["source"] == "mine"]
    assert bands["from"].tolist() == [0, 1, 1000] and bands["n_items"].tolist() == [14, 13, 13]


def test_sixty_errors_labelled_by_reading():
    table = pd.read_csv(ERRORS, sep="\t")
    answers = [error_class(a, b) for a, b in zip(table["hyponym"], table["answer"], strict=True)]
    assert len(table) == 60
    assert (table["label"] == answers).mean() >= 0.95


@pytest.mark.parametrize(
    ("hyponym", "answer", "expected"),
    [
        ("yacht", "yacht", "itself"),
        ("yacht", "Yachts", "itself"),
        ("imaret", "noun", "generic"),
        ("bumblebee", "animal", "hypernym"),
        ("steamboat", "boat", "hypernym"),  # valid before a piece of the word
        ("penknife", "pen", "fragment"),
        ("penknife", "p", "other"),
        ("penknife", "horse", "other"),
        ("trout", "bird", "other"),  # another of the nine
        ("no-such-word", "animal", "other"),
    ],
)
def test_error_classes_of_the_papers_examples(hyponym: str, answer: str, expected: str):
    assert error_class(hyponym, answer) == expected


def test_error_shares_add_up():
    rows = [("robin", "bird", 1), ("robin", "robin", 2), ("oak", "thing", 7), ("pine", "x", 9)]
    table = pd.DataFrame(
        [
            {"diagnostic": "d", "model": "m", "probe": "open", "item": a, "hyponym": a,
             "hypernym": "bird", "gold": "bird", "best": b, "gold_rank": rank, "gold_tied": 0,
             "best_score": -rank}
            for a, b, rank in rows
        ]
    )  # fmt: skip
    shares = error_shares(open_errors(table)).set_index("error")
    assert shares["n_errors"].to_dict() == {
        "itself": 1, "hypernym": 0, "generic": 1, "fragment": 0, "other": 1,
    }  # fmt: skip
    assert shares["percent"].sum() == pytest.approx(100)
    assert shares.at["other", "commonest"] == "x" and shares.at["itself", "examples"] == (
        "robin: robin"
    )


def test_agreement_and_scores():
    table = made()
    parts = agreement(table).set_index("category")
    assert (parts[["both", "singular_only", "plural_only", "neither"]].sum(axis=1)).round(
        6
    ).tolist() == [100] * 3
    assert parts.at["all", "n_items"] == 40 == parts.at["bird", "n_items"] * 2
    right = table.pivot(index="item", columns="probe", values="gold_rank") == 1
    assert parts.at["all", "both"] == pytest.approx(100 * right.all(axis=1).mean())
    scores = category_scores(table)
    assert len(scores) == 2 * 2 * 2
    assert scores.set_index("category")["score"].to_dict() == {"bird": -1.0, "fish": -2.0}


def test_pairs_seen_and_not_seen():
    table = made()
    seen = {f"x{i}" for i in range(0, 40, 4)}
    pairs = table.drop_duplicates("item")[["hyponym", "hypernym"]]
    counts = CorpusCounts(
        "mine", None, pairs.assign(n_hearst=[3 if w in seen else 0 for w in pairs["hyponym"]])
    )
    table["gold_rank"] = np.where(table["item"].isin(seen), 1, 2)
    effect = pair_effect(table, [counts]).set_index("probe").loc["singular"]
    assert (effect["n_seen"], effect["n_unseen"], effect["mean_count"]) == (10, 30, 3)
    assert effect["difference"] == effect["difference_low"] == 100
    assert pair_effect(table, [CorpusCounts("other", None, counts.pairs, ("someone",))]).empty


def test_a_users_file_of_pair_counts(tmp_path: Path):
    table = predict_rows()
    path = tmp_path / "counts.txt.gz"
    with gzip.open(path, "wt") as out:
        out.write("robin\tbird\t12\nRobin\tbird\t1\nrobin\tfish\t9\nparrot_fish\tfish\t2\n")
    counts = read_pair_counts(path, table).pairs.set_index("hyponym")["n_hearst"]
    assert counts.to_dict() == {"robin": 13, "trout": 0}
    (tmp_path / "bad.tsv").write_text("robin\tbird\t1\nrobin bird 2\n")
    with pytest.raises(UserError, match=r"bad\.tsv:2: write hyponym"):
        read_pair_counts(tmp_path / "bad.tsv", table)
    with pytest.raises(UserError, match="no file of pair counts"):
        read_pair_counts(tmp_path / "none.tsv", table)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UserError, match="damaged"):
        read_pair_counts(path, table)


def predict_rows() -> pd.DataFrame:
    return pd.DataFrame({"hyponym": ["robin", "trout"], "hypernym": ["bird", "fish"]})


def test_real_hearst_counts_are_read(shared: Path):
    extended = load_diagnostic("lm-diagnostic-extended")
    counts = read_pair_counts(shared / "hearst" / "hearst_counts.txt.gz", extended).pairs
    assert len(counts) == 576 and 50 < (counts["n_hearst"] > 0).sum() < 576


def test_a_users_corpus_is_counted(tmp_path: Path):
    (tmp_path / "a.txt").write_text(
        "A robin is a bird. Robins are birds.\nBirds such as the robin sing; trout swim.\n"
    )
    (tmp_path / "b.jsonl").write_text('{"body": "Robins and other birds. A robin is a tool."}\n')
    tables = [
        count_file(path, predict_rows(), "body", Skipped()) for path in sorted(tmp_path.iterdir())
    ]
    counts = sum_counts("mine", tables)
    assert counts.words is not None and counts.words.to_dict() == {"robin": 3, "trout": 1}
    robin = counts.pairs.set_index("hyponym").loc["robin"]
    assert robin[["n_is_a", "n_are", "n_hearst"]].tolist() == [1, 1, 2]


def test_the_embedded_corpus_is_about_its_models_alone():
    counts = embedded_counts()
    table = pd.concat([made(model="embedded"), made(model="bert-base-uncased")])
    assert set(counts.about(table)["model"]) == {"embedded"}
    assert counts.words is not None and counts.words["robin"] > 0


@pytest.fixture(scope="module")
def asked(tiny_models: dict[str, Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A tiny BERT's predictions, and those of all variants with its own prompt."""
    model = load_model(str(tiny_models["bert"]))
    own = predict(model, SET, "gold").assign(diagnostic="d")
    again = ask_again(model, SET, "gold").assign(diagnostic="d", model=model.name)
    return own, with_run_prompt(own, again, "gold")


def test_all_variants_are_asked(asked: tuple[pd.DataFrame, pd.DataFrame]):
    own, table = asked
    expected = {"gold", "fixed", "marginal", NEGATED, *TEMPLATES}
    assert set(table["variant"]) == expected and len(TEMPLATES) == 12
    assert table.groupby("variant").size().eq(18).all()
    assert set(table["model"]) == {m for m in own["model"] if not m.startswith("control")}


def test_templates_have_the_right_articles():
    ant = SET[SET["hyponym"] == "ant"]
    filled = [fill_template(ant, template)[0] for template in TEMPLATES]
    assert filled[0] == "The ant is an [MASK]." and filled[3] == "An ant is a kind of [MASK]."
    assert all(text.count("[MASK]") == 1 for text in filled)
    assert not [text for text in filled if " a ant" in text or "{" in text]


def test_article_leak_is_against_marginal(asked: tuple[pd.DataFrame, pd.DataFrame]):
    own, table = asked
    leak = article_leak(table).set_index("policy")
    singular = own[(own["probe"] == "singular") & ~own["model"].str.startswith("control:")]
    assert leak.at["gold", "singular"] == pytest.approx(100 * (singular["gold_rank"] == 1).mean())
    assert leak.at["gold", "leak"] == pytest.approx(
        leak.at["gold", "singular"] - leak.at["marginal", "singular"]
    )
    assert leak.at["marginal", "leak"] == 0 and leak.at["marginal", "n_vowel"] == 2


def test_negation_by_hand(asked: tuple[pd.DataFrame, pd.DataFrame]):
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


def test_a_model_that_obeys_negation_is_seen(asked: tuple[pd.DataFrame, pd.DataFrame]):
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
    assert row["n_false"] == 0 and np.isnan(row["prefers_true"])


def test_a_false_category_that_the_set_does_not_have_does_not_count(
    asked: tuple[pd.DataFrame, pd.DataFrame],
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


def test_every_analysis_is_one_file_that_makes_what_it_names(
    asked: tuple[pd.DataFrame, pd.DataFrame],
):
    own, table = asked
    material = Material(own, asked=table)
    seen: list[str] = []
    for name in ANALYSES:
        analysis = load(name)
        assert tuple(analysis.compute(material)) == analysis.files
        assert set(analysis.tables) | set(analysis.lists) <= set(analysis.files)
        seen += analysis.files
    assert len(seen) == len(set(seen)) == 12
    # Without what they need, they give no rows, and say why or nothing.
    without = Material(own[own["probe"] == "plural"].assign(gold_rank=1, gold_tied=0))
    for name in ("article", "negation", "wording"):
        analysis = load(f"hyperprobe.analysis.{name}:ANALYSIS")
        assert all(frame.empty for frame in analysis.compute(without).values())
        assert analysis.reason(without) == ""


def test_the_seed_reaches_every_interval(asked: tuple[pd.DataFrame, pd.DataFrame]):
    _, table = asked
    rng = np.random.default_rng(0)
    parts = [table.assign(item=table["item"] + str(i)) for i in range(12)]
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(gold_rank=rng.integers(1, 3, len(table)), gold_tied=0)
    for compute in (article_leak, lambda t, seed: template_accuracy(t, "gold", seed)):
        first, again, other = (compute(table, seed=seed) for seed in (0, 0, 1))
        pd.testing.assert_frame_equal(first, again)
        assert (first["singular"] == other["singular"]).all()
        assert (first["singular_low"] != other["singular_low"]).any() or (
            first["singular_high"] != other["singular_high"]
        ).any()


def test_the_spread_over_templates(asked: tuple[pd.DataFrame, pd.DataFrame]):
    _, table = asked
    accuracy = template_accuracy(table, "gold").set_index("template")
    assert list(accuracy.index) == [PROMPT, *TEMPLATES]
    assert accuracy.at[PROMPT, "difference"] == 0
    row = template_spread(table, "gold").iloc[0]
    assert row["n_templates"] == 13 and row["prompt"] == accuracy.at[PROMPT, "singular"]
    assert row["sd"] == pytest.approx(accuracy["singular"].std(ddof=1))
    assert (row["lowest"], row["highest"]) == (
        accuracy["singular"].min(), accuracy["singular"].max(),
    )  # fmt: skip
    same = table[table["variant"].isin(("gold", *TEMPLATES))].assign(best="bird")
    assert template_spread(same, "gold").iloc[0]["consistency"] == 100
