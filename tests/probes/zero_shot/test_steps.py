"""Checkpoints of one training: their tables, their curve, and the sentence that they may earn."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest

import hyperprobe as hp
from hyperprobe.probes.zero_shot import ask, claims, probe
from hyperprobe.probes.zero_shot.contrasts import question_adds
from hyperprobe.probes.zero_shot.curves import steps_figure, steps_pictures, with_training_names
from hyperprobe.probes.zero_shot.outcomes import outcome_tables, right_answers
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.probes.zero_shot.probe import ZeroShotResult, zero_shot
from hyperprobe.probes.zero_shot.steps import growth, known_steps
from hyperprobe.revisions import Step
from hyperprobe.statistics.stratified import ALPHA
from tests.toy_models import ASKED, EXTENDED, Toy, constant, knowing, uneven

EARNED = "the question adds"


def named(name: str, toy: Toy) -> Toy:
    return Toy(name, toy.formula, toy.seed)


LEARNT = {
    "lab/toy@step0": constant(1),
    "lab/toy@step10": knowing(1, asked=0.6),
    "lab/toy@step1000": knowing(1, asked=0.95, alone=0.4),
    "lab/toy@main": knowing(1),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ZeroShotResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ask, "EMBEDDED_VECTORS", ())
        patch.setattr(ask, "load_model", lambda name, options: named(name, LEARNT[name]))
        patch.setattr(probe, "identify", lambda name: {"name": name})
        patch.setattr(probe, "touching_settings", lambda names, trust: {"pll"})
        return zero_shot(list(LEARNT), EXTENDED, results=tmp_path_factory.mktemp("results"))


def test_the_table_over_steps(run: ZeroShotResult):
    steps = run.steps
    assert set(steps["training"]) == {"lab/toy"}
    pd.testing.assert_frame_equal(steps, hp.load(run.folder).steps)
    assert sorted(set(steps["step"])) == [0, 10, 1000]  # `main` says no step
    metrics = run.metrics.set_index("model")
    added = run.adds.set_index(["model", "probe"])
    for row in steps.to_dict("records"):
        of_model, name = metrics.loc[row["model"]], row["probe"]
        for end in ("", "_low", "_high"):
            assert row[f"raw{end}"] == of_model[f"{name}{end}"]
            assert row[f"calibrated{end}"] == of_model[f"{name}_calibrated{end}"]
        assert row["majority"] == metrics.loc["majority", name]
        n_categories = ASKED.frame["hypernym"].nunique()
        assert row["chance"] == pytest.approx(
            100 / n_categories ** (2 if name == "paired_singular_plural" else 1)
        )
        if (row["model"], name) in added.index:
            beside = added.loc[row["model"], name]
            assert row["control_raw"] == beside["control_raw"] and row["adds"] == beside["adds"]
    shown = repr(run)
    assert "toy over training steps, paired" in shown and "0 to 1,000" in shown


def test_growth_is_a_difference_of_differences(run: ZeroShotResult):
    """Against a naive computation from the predictions."""
    assert set(run.growth["probe"]) == {"singular", "plural", "paired_singular_plural"}
    row = run.growth.set_index("probe").loc["singular"]
    assert (row["first"], row["last"]) == (0, 1000)
    gain = {}
    for name in (row["model"], row["other"]):
        control = run.adds.set_index(["model", "probe"])["control"][name, "singular"]
        asked, alone = (
            right_answers(run.predictions.query("model == @one and probe == 'singular'"))
            for one in (name, control)
        )
        gain[name] = asked - alone
    difference = gain[row["model"]] - gain[row["other"]]
    assert row["adds"] == pytest.approx(100 * difference.mean())
    assert row["adds"] == pytest.approx(row["adds_last"] - row["adds_first"])
    up, down = int((difference > 0).sum()), int((difference < 0).sum())
    assert row["p_value"] == pytest.approx(binomtest(up, up + down).pvalue)


def test_the_report_has_the_curve_and_the_earned_sentence(run: ZeroShotResult, tmp_path: Path):
    assert {"steps"} <= set(run.figures)
    page = (hp.report([run.folder], results=tmp_path).folder / "report.md").read_text()
    assert "## Over training" in page and "Accuracy of toy over training steps" in page
    said = [line for line in page.splitlines() if EARNED in line and "asked about one," in line]
    assert any("at step 0 of toy" in line and "at step 1,000" in line for line in said)


@pytest.mark.parametrize(
    ("last", "n_claimed"), [(uneven(1), 0), (knowing(1, asked=0.9, alone=0.4), 3)]
)
def test_growth_that_a_bias_makes_is_not_claimed(last: Toy, n_claimed: int):
    """Both last steps are above the first over nouns; one is so by the noise of a category."""
    names = ("m@step0", "m@step1")
    steps = {name: Step("m", i) for i, name in enumerate(names)}
    toys = (named(name, toy) for name, toy in zip(names, (constant(1), last), strict=True))
    answers = pd.concat([predict(toy, ASKED, "gold") for toy in toys]).assign(diagnostic=EXTENDED)
    adds = question_adds(answers)
    grown = growth(answers, adds, outcome_tables(answers), steps)
    assert len(grown) == 3 and ((grown["adds_low"] > 0) & (grown["p_holm"] < ALPHA)).all()
    of = adds.set_index(["model", "probe"])
    said = [
        claims.growth_sentence(row, of.loc[row["model"], row["probe"]])
        for _, row in grown.iterrows()
    ]
    assert len(list(filter(None, said))) == n_claimed


def test_which_models_are_checkpoints_of_one_training():
    names = ["a@step1", "a@main", "b@step1", "out/checkpoint-5", "random:a@step2", "a@step2"]
    assert list(known_steps([*names, "out/checkpoint-10"])) == [
        "a@step1", "out/checkpoint-5", "a@step2", "out/checkpoint-10",
    ]  # fmt: skip


def test_the_axis_is_logarithmic_where_steps_span_decades(run: ZeroShotResult):
    assert steps_figure(run.steps).axes[0].get_xscale() == "symlog"
    near = run.steps.assign(step=run.steps["step"].map({0: 0, 10: 500, 1000: 1000}))
    figure = steps_figure(near)
    assert figure.axes[0].get_xscale() == "linear" and len(figure.axes) == 4


def test_trainings_of_several_runs_and_settings_are_told_apart(run: ZeroShotResult):
    both = pd.concat([run.steps.assign(run=label) for label in "AB"])
    assert set(with_training_names(both)["training"]) == {"toy [A]", "toy [B]"}
    asked = pd.concat([run.steps.assign(article=one) for one in ("gold", "marginal")])
    assert set(with_training_names(asked, ["article"])["training"]) == {"toy gold", "toy marginal"}
    assert [one.name for one in steps_pictures(both)] == ["steps", "steps-2"]
