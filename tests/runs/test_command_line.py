"""The command line that a run tells is the call that made it."""

import inspect
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hyperprobe.cli import app
from hyperprobe.cli.lama import join_vocab_models
from hyperprobe.probes.prompts.asked import SearchOptions
from hyperprobe.runs.command_line import as_options, command_line

ODD = "a b/it's $x; [b] -e"
CALLS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("zero-shot", "hyperprobe.probes.zero_shot.probe", "zero_shot", {}),
    ("zero-shot", "hyperprobe.probes.zero_shot.probe", "zero_shot", {
        "models": [ODD, "embedded", "ü"], "diagnostics": ["own.tsv"], "article": "marginal",
        "controls": ["random", "shuffled"], "results": Path("my results"), "device": "cpu",
        "dtype": "bf16", "trust_remote_code": True, "seed": 7, "pll": "original",
        "causal_scoring": "continuation",
    }),
    ("lama", "hyperprobe.probes.lama.probe", "lama", {}),
    ("lama", "hyperprobe.probes.lama.probe", "lama", {
        "models": ["glove"], "sources": ["trex", ODD], "data": Path("d"),
        "relations": ["P19", "P20"],
        "vocab": ["a", "b"], "prompts": Path("p"), "lowercase": True, "multi_token": True,
        "negated": True, "mentions": True, "controls": ["random"], "seed": 3,
    }),
    ("lama", "hyperprobe.probes.lama.probe", "lama", {"vocab": Path("words.txt")}),
    ("classify", "hyperprobe.probes.classify.probe", "classify", {}),
    ("classify", "hyperprobe.probes.classify.probe", "classify", {
        "models": ["embedded", "glove"], "setting": "seen", "folds": Path(ODD), "layer": "1+2",
        "analyses": ["layers", "code-length"], "n_seeds": 2, "seed": 1,
    }),
    ("prompts", "hyperprobe.probes.prompts.probe", "prompts", {}),
    ("prompts", "hyperprobe.probes.prompts.probe", "prompts", {
        "models": ["embedded"], "methods": ["mine", "lpaqa"], "controls": ["none"],
        "lowercase": True,
        "search": SearchOptions("5", 3, 4, 2, (Path("c"), Path(ODD)), {"lpaqa": Path("x=y")}),
    }),
    ("analyze", "hyperprobe.analysis.analyze", "analyze", {"run": Path("-run")}),
    ("analyze", "hyperprobe.analysis.analyze", "analyze", {
        "run": Path(ODD), "pairs": Path("p"), "corpus": [Path("c"), Path("d")],
        "text_field": "body", "ask_models": False, "device": "cpu", "seed": 2,
    }),
    ("compare", "hyperprobe.comparison.runs", "compare", {
        "folders": [Path("-a"), Path(ODD)], "published": True, "seed": 4,
    }),
    ("report", "hyperprobe.reporting.report", "report", {"runs": [Path("a"), Path(ODD)]}),
    ("study", "hyperprobe.studies.study", "plan_study", {
        "path": Path("s.toml"), "seed": 2, "trust_remote_code": True,
    }),
    ("contexts-mine", "hyperprobe.diagnostic.mine", "mine", {
        "corpus": [Path("a"), Path(ODD)], "diagnostics": ["own.tsv"], "best": 3,
        "text_field": "body", "processes": 1, "seed": 5,
    }),
    ("build-diagnostic", "hyperprobe.built", "build", {
        "names": ["lm-diagnostic"], "size": "all", "monosemous": "any", "wordnet": Path("w"),
    }),
    ("build-diagnostic", "hyperprobe.built", "build", {
        "categories": ["fruit.n.01", f"{ODD}=tool.n.01"], "pairs": Path(ODD), "name": "x",
        "taxonomy": Path("t"), "templates": Path("u"), "contexts": [Path("c"), Path("d")],
    }),
    ("classify", "hyperprobe.probes.classify.probe", "classify", {
        "diagnostic": ODD, "contexts": [Path("c"), Path("d")],
    }),
]  # fmt: skip


def arguments_of(function: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What a function is called with, its defaults too, as JSON has it."""
    bound = inspect.signature(function).bind(**settings)
    bound.apply_defaults()
    if bound.arguments.get("search", 0) is None:
        bound.arguments["search"] = SearchOptions()
    return plural(as_options(bound.arguments))


def plural(options: dict[str, Any]) -> dict[str, Any]:
    """The options with one name as a list of one, where a function takes both."""
    several = ("models", "diagnostics", "sources", "methods", "controls", "relations", "analyses")
    return {
        name: [value] if name in several and isinstance(value, str) else value
        for name, value in options.items()
    }


@pytest.mark.parametrize(("command", "module", "name", "settings"), CALLS)
def test_the_line_makes_the_same_call(
    command: str,
    module: str,
    name: str,
    settings: dict,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.chdir(tmp_path)
    for model in (ODD, "ü"):  # the command line looks for models before it calls
        Path(model).mkdir(parents=True)
    function = getattr(import_module(module), name)
    options = arguments_of(function, settings)
    called: dict[str, Any] = {}

    class CalledError(Exception):
        pass

    def record(*given: Any, **named: Any) -> None:
        bound = inspect.signature(function).bind(*given, **named)
        bound.apply_defaults()
        called.update(plural(as_options(bound.arguments)))
        raise CalledError

    monkeypatch.setattr(f"{module}.{name}", record)
    # ... and for files of facts
    monkeypatch.setattr("hyperprobe.probes.lama.asked.relations_asked", lambda *_: ([], {}))
    monkeypatch.setattr("hyperprobe.probes.lama.asked.words_asked", lambda *_: None)
    monkeypatch.setattr(
        "hyperprobe.probes.lama.protocol.check_data", lambda *_: None, raising=False
    )
    monkeypatch.setattr("hyperprobe.probes.lama.sources.load_sources", lambda *_: None)
    monkeypatch.setattr("hyperprobe.probes.prompts.asked.check_asked", lambda *_: None)
    words = shlex.split(command_line(command, options))
    assert words[0] == "hyperprobe"
    result = CliRunner().invoke(app, join_vocab_models(words[1:]))
    assert isinstance(result.exception, CalledError), result.output
    assert {key: called[key] for key in options} == options


def test_a_line_that_a_reader_knows():
    options = {"models": ["embedded"], "article": "gold", "trust_remote_code": False, "folds": None}
    assert command_line("zero-shot", options) == (
        "hyperprobe zero-shot --model embedded --article gold"
    )
    assert command_line("report", {"runs": ["a b"], "results": "r"}) == (
        "hyperprobe report --results r 'a b'"
    )


def test_options_that_were_changed_by_hand_still_make_a_line():
    for value in (None, True, 1, 2.5, "x", [], ["a"], {"a": "b"}):
        for name in ("models", "given", "vocab", "ask_models", "runs", ""):
            assert command_line("report", {name: value}).startswith("hyperprobe report")
