"""Records of Every Eval Ever, by its own validator."""

import json
from pathlib import Path

import pytest

from hyperprobe.exports.every_eval_ever import export_every_eval_ever
from hyperprobe.probes.zero_shot import ask
from hyperprobe.probes.zero_shot.probe import zero_shot
from tests.commands import one_line_error, run

SET = "lm-diagnostic"


def test_records_say_what_the_run_says(
    tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())
    name = str(tiny_models["bert"])
    result = zero_shot(name, SET, results=tmp_path / "results")
    (path,) = export_every_eval_ever(result.folder, tmp_path / "out", "me")
    written = path.read_bytes()
    assert export_every_eval_ever(result.folder, tmp_path / "out", "me") == [path]
    assert path.read_bytes() == written
    about = json.loads(written)
    (row,) = result.metrics[result.metrics["model"] == name].to_dict("records")
    scores = {
        one["evaluation_result_id"]: one["score_details"]["score"]
        for one in about["evaluation_results"]
    }
    metrics = ("singular", "paired_singular_plural_calibrated", "open_p_at_1", "plural_adds")
    assert [scores[f"{SET}/{metric}"] for metric in metrics] == [row[metric] for metric in metrics]
    samples = tmp_path / "out" / about["detailed_evaluation_results"]["file_path"]
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert len(lines) == 18 * 3 * 2
    for metric in ("singular", "plural_calibrated"):
        mine = [one for one in lines if one["evaluation_result_id"] == f"{SET}/{metric}"]
        shares = [one["evaluation"]["score"] for one in mine]
        assert 100 * sum(shares) / len(mine) == pytest.approx(row[metric])
        for one in mine:
            answer = one["output"]["raw"][0]
            assert answer in one["input"]["choices"]
            assert (answer in one["input"]["reference"]) >= one["evaluation"]["is_correct"]
    validator = pytest.importorskip("every_eval_ever.validator.validation_core")
    for file in (path, samples):
        report = validator.validate_file(file)
        assert report.valid, report.errors
    for file in (path, samples):
        relative = str(file.relative_to(tmp_path / "out"))
        assert not validator.check_path_structure(relative)
    assert not validator.check_score_metadata(about)
    relative = str(path.relative_to(tmp_path / "out"))
    assert not validator.check_model_identity_path(relative, about)
    assert not validator.check_companion_exists(
        relative, about, {about["detailed_evaluation_results"]["file_path"]},
        lambda file: (tmp_path / "out" / file).read_text(),
    )  # fmt: skip


def test_other_runs_are_refused(tmp_path: Path):
    done = run(tmp_path, "export", "every-eval-ever", "nothing", "out")
    assert "no finished run in nothing" in one_line_error(done)
