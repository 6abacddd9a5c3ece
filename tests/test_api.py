"""The package as a user of Python meets it: names, plain texts as arguments, results."""

import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hyperprobe as hp
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.registry import COMMANDS
from hyperprobe.registry import load as named
from hyperprobe.runs.run import Run
from tests.conftest import Within


@pytest.fixture(scope="module")
def few_nouns(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("set") / "few.tsv"
    load_diagnostic("lm-diagnostic").iloc[:6].to_csv(path, sep="\t", index=False)
    return str(path)


@pytest.fixture(scope="module")
def asked(
    few_nouns: str, drawing: Within, all_vectors: Within, tiny_models, tmp_path_factory
) -> hp.ZeroShotResult:
    """A zero-shot run of a tiny model, all arguments as plain texts."""
    results = str(tmp_path_factory.mktemp("results"))
    with drawing(), all_vectors():
        return hp.zero_shot(str(tiny_models["bert"]), diagnostics=few_nouns, results=results)


def test_importing_loads_nothing():
    code = (
        "import sys, hyperprobe as hp; dir(hp)\n"
        "heavy = {'torch', 'transformers', 'pandas', 'numpy', 'matplotlib', 'pydantic'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_every_name_is_there_and_no_module_stands_in_its_place():
    modules = {module.name for module in pkgutil.iter_modules(hp.__path__)}
    assert not modules & set(hp.__all__)
    for name in hp.__all__:
        assert name in dir(hp)
        assert callable(getattr(hp, name)) or isinstance(getattr(hp, name), str)
    with pytest.raises(AttributeError, match="no attribute 'zero_shots'"):
        hp.zero_shots  # noqa: B018


def test_every_command_has_a_result_class_and_a_part():
    for command, about in COMMANDS.items():
        result = named(about.result)
        assert issubclass(result, hp.Result) and result.command == command
        assert callable(result.read) and callable(named(about.part))


def test_texts_stand_for_paths_and_one_name_for_a_list(asked: hp.ZeroShotResult, tiny_models):
    tiny = str(tiny_models["bert"])
    assert list(dict.fromkeys(asked.metrics["model"])) == [
        "majority", "word2vec", "glove", "fasttext", f"control:{tiny}", f"control-bare:{tiny}",
        tiny,
    ]  # fmt: skip
    assert asked.folder.is_dir()


def test_a_result_shows_its_tables(asked: hp.ZeroShotResult):
    assert "what the question adds to the noun" in repr(asked)
    assert repr(asked).endswith(f"zero-shot run in {asked.folder}")
    assert asked._repr_html_().count("<table") == len(asked.tables()) == 4
    assert len(asked.tables(paired=True)) == 7


def test_a_finished_run_is_loaded_from_its_folder(asked: hp.ZeroShotResult):
    loaded = hp.load(str(asked.folder))
    assert isinstance(loaded, hp.ZeroShotResult)
    pd.testing.assert_frame_equal(loaded.metrics, asked.metrics, check_dtype=False)
    pd.testing.assert_frame_equal(
        loaded.predictions.select_dtypes("number"), asked.predictions.select_dtypes("number")
    )
    assert repr(loaded) == repr(asked)
    with pytest.raises(hp.UserError, match="no finished run in"):
        hp.load(asked.folder.parent)


def test_a_run_without_a_result_is_not_loaded(tmp_path: Path):
    mined = Run(tmp_path, "contexts-mine", {})
    mined.finish({})
    with pytest.raises(hp.UserError, match="is a run of contexts-mine: load one of zero-shot"):
        hp.load(mined.folder)


def test_figures_are_files_of_the_run_and_drawn_once(
    asked: hp.ZeroShotResult,
    all_vectors: Within,
    few_nouns: str,
    tiny_models,
    monkeypatch: pytest.MonkeyPatch,
):
    assert set(asked.figures) == {"adds", "accuracy"}
    figure = asked.figures["adds"]
    assert figure == asked.folder / "adds.svg" and figure.read_text().startswith("<?xml")
    monkeypatch.setattr("hyperprobe.render.drawn.save_figures", lambda *_: pytest.fail("drawn"))
    with all_vectors():
        again = hp.zero_shot([str(tiny_models["bert"])], [few_nouns], results=asked.folder.parent)
    assert again.figures == asked.figures


def test_a_damaged_figure_is_drawn_again(
    asked: hp.ZeroShotResult, all_vectors: Within, drawn: None, few_nouns: str, tiny_models
):
    figure = asked.figures["accuracy"]
    before = figure.read_bytes()
    figure.write_bytes(b"")
    with all_vectors():
        hp.zero_shot([str(tiny_models["bert"])], [few_nouns], results=asked.folder.parent)
    assert figure.read_bytes() == before


def test_an_error_in_a_notebook_is_one_line():
    with pytest.raises(hp.UserError) as caught:
        hp.load_model("no\x1bwhere.vec")
    (line,) = caught.value._render_traceback_()
    assert line.startswith("UserError: ") and "\n" not in line and "\x1b" not in line


@pytest.mark.parametrize(
    ("command", "arguments", "choices"),
    [
        ("zero_shot", {"article": "sen"}, "gold, fixed, marginal"),
        ("zero_shot", {"controls": "sen"}, "shuffled, random"),
        ("zero_shot", {"pll": "sen"}, "within-word, original, all-masked"),
        ("lama", {"controls": ["sen"]}, "random"),
        ("classify", {"setting": "sen"}, "seen, unseen, both"),
        ("classify", {"analyses": "sen"}, "layers, control-task, code-length"),
        ("prompts", {"methods": "sen"}, "manual, lpaqa, mine, autoprompt, optiprompt, finetune"),
        ("prompts", {"controls": "sen"}, "none, random-model, random-embeddings"),
        ("build_diagnostic", {"monosemous": "sen"}, "noun or any"),
    ],
)
def test_a_choice_that_is_none_is_named_with_the_choices(
    command: str, arguments: dict[str, Any], choices: str, tmp_path: Path
):
    with pytest.raises(hp.UserError, match=choices) as caught:
        getattr(hp, command)(**arguments, results=str(tmp_path))
    assert "sen" in str(caught.value) and not list(tmp_path.iterdir())
