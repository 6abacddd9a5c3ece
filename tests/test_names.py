"""What models may be called, and options that are refused before anything is loaded."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hyperprobe.addresses import Prefixed, prefixed
from hyperprobe.diagnostic.build import LM_DIAGNOSTIC
from hyperprobe.errors import UserError
from hyperprobe.model_names import (
    distinct_models,
    file_family,
    in_papers_order,
    is_vectors,
    model_path,
)
from hyperprobe.models import hub
from hyperprobe.models.load import load_model
from hyperprobe.options import check_device
from hyperprobe.probes.prompts.asked import slug
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.revisions import at_revision, split_revision, training_step


def test_each_model_is_asked_once_and_in_order():
    assert distinct_models(["b", "./b", "a", "b"]) == ["b", "./b", "a"]


@pytest.mark.parametrize(
    "name",
    [
        "majority",
        "freq",
        "characters",
        "control:embedded",
        "shuffled:x",
        "",
        " ",
        "a\0b",
        "a" * 5000,
    ],
)
def test_names_of_baselines_and_of_nothing(name: str):
    with pytest.raises(UserError) as caught:
        distinct_models(["embedded", name])
    assert len(str(caught.value)) < 200


def test_a_folder_called_as_the_random_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert distinct_models(["random:x"]) == ["random:x"]
    Path("random:x").mkdir()
    with pytest.raises(UserError, match=r"write ./random:x"):
        distinct_models(["random:x"])
    with pytest.raises(UserError, match="no random weights"):
        distinct_models(["random:glove"])


def test_a_familys_prefix_and_its_choices():
    name = "transformer-xl:../my models/x:y?tokens=0.6.2"
    assert prefixed(name) == prefixed(f"random:{name}")
    assert prefixed(name) == Prefixed(
        "transformer-xl", Path("../my models/x:y"), {"memory": "zero", "tokens": "0.6.2"}
    )
    assert file_family(name) == "transformer-xl" and not is_vectors(name)
    assert model_path(f"random:{name}") == Path("../my models/x:y")
    assert prefixed("elmo:x").choices == {"state": "zero-state-10"}  # type: ignore[union-attr]
    for other in ("elmo", "./elmo:x", "bert:x", "static:x.vec", "org/elmo:x"):
        assert prefixed(other) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("elmo:", "no path behind elmo: write elmo:FOLDER"),
        ("elmo:?state=zero-state-1", "no path behind elmo"),
        ("elmo:x?state=one", "elmo has no 'state=one': choose from state=zero-state-10, state=z"),
        ("elmo:x?memory=none", "elmo has no 'memory=none'"),
        ("elmo:x?state", "elmo has no 'state'"),
        ("transformer-xl:x?memory=none&", "transformer-xl has no ''"),
        ("fconv:x?state=one", "fconv has no 'state=one': write the path alone"),
    ],
)
def test_choices_that_a_family_does_not_have(name: str, says: str):
    with pytest.raises(UserError, match=re.escape(says)):
        distinct_models(["embedded", name])


def test_a_folder_of_vectors_suffix_is_no_vectors_file(tmp_path: Path):
    (tmp_path / "my.model").mkdir()
    assert not is_vectors(str(tmp_path / "my.model"))
    assert is_vectors(str(tmp_path / "none.model"))


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:12", "mps", "spread"])
def test_devices(device: str):
    assert check_device(device) == device


@pytest.mark.parametrize(
    "device", ["nonsense", "", "meta", "CPU", "cuda:", "cuda:-1", "cuda:01", "cpu\n", "cuda:9999"]
)
def test_what_is_no_device(device: str, tiny_models: dict[str, Path]):
    with pytest.raises(UserError, match="unknown device .*choose from auto"):
        check_device(device)
    with pytest.raises(UserError, match="unknown device"):
        load_model(str(tiny_models["bert"]), device=device)


def test_a_device_that_is_not_here(tiny_models: dict[str, Path]):
    with pytest.raises(UserError, match="cannot use device cuda:99"):
        load_model(str(tiny_models["bert"]), device="cuda:99")


def test_a_devices_name_is_refused_without_torch():
    code = (
        "import sys, hyperprobe.cli as c; sys.argv = ['hyperprobe', 'zero-shot', '--device', 'x']\n"
        "try: c.main()\n"
        "finally: assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "unknown device 'x'" in done.stderr


@pytest.mark.parametrize(
    "name",
    ["./m", "../m", "/m/a", "~/m", "a\\b", "a/b/c", "", "a b", "https://x/y", "m\u00fc/x", "-m"],
)
def test_paths_are_not_looked_for_on_the_hub(name: str):
    assert not hub.is_hub_name(name)


def test_names_that_the_hub_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert hub.is_hub_name("bert-base-uncased") and hub.is_hub_name("mine/my-brt")
    Path("mine").mkdir()
    assert not hub.is_hub_name("mine/my-brt")  # a folder of that parent is here


def test_a_mistyped_folder_is_found_beside_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("mine/my-bert").mkdir(parents=True)
    started = time.monotonic()
    with pytest.raises(UserError, match=r"no model 'mine/my-brt': .*did you mean mine/my-bert\?"):
        hub.check_models(["mine/my-brt"])
    with pytest.raises(UserError, match=r"did you mean \./mine/my-bert\?"):
        load_model("./mine/my-brt")
    assert time.monotonic() - started < 5


def test_a_vectors_file_that_is_not_there(tmp_path: Path):
    (tmp_path / "glove.txt").touch()
    with pytest.raises(UserError, match="no vectors file .*did you mean .*glove.txt"):
        hub.check_models([str(tmp_path / "glvoe.txt")])


def test_without_the_hub_there_is_one_attempt_and_one_line(monkeypatch: pytest.MonkeyPatch):
    import huggingface_hub

    calls = []

    def unreachable(url: str, **kwargs: object) -> None:
        calls.append((url, kwargs))
        raise OSError("no route")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", unreachable)
    hub.find.cache_clear()
    with pytest.raises(UserError, match="no model some/model: .*check the name and the network"):
        hub.find("some/model")
    assert len(calls) == 1 and "some/model" in calls[0][0]
    assert calls[0][1]["timeout"] == hub.SECONDS


def test_slugs_are_distinct():
    names = ["./m/a", "m/a", "./m-a", "m-a", "m a", "m_a", ".m-a", "M-a", "x" * 300, "x" * 301]
    assert len({slug(name) for name in names}) == len(names)
    assert slug("bert-base-uncased") == "bert-base-uncased"
    assert all(len(slug(name)) < 100 for name in names)


def test_a_folder_called_as_a_baseline_is_asked_beside_it(
    tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("majority", "control:embedded"):
        shutil.copytree(tiny_models["bert"], name)
    with pytest.raises(UserError, match=r"write \./majority"):
        zero_shot(["majority"], results=tmp_path / "results")
    result = zero_shot(
        ["./majority", "./control:embedded", "./majority"],
        [LM_DIAGNOSTIC],
        controls=("shuffled",),
        results=tmp_path / "results",
    )
    asked = result.predictions[result.predictions["probe"] == "singular"]["model"].value_counts()
    assert {"majority", "./majority", "./control:embedded"} <= set(asked.index)
    assert asked.nunique() == 1  # each word once in each


def test_the_older_models_come_first_in_the_papers_order():
    asked = ["gpt2", "elmo:b", "bert", "elmo:a", "transformer-xl:t?memory=none", "fconv:f"]
    assert in_papers_order(asked) == [
        "fconv:f", "transformer-xl:t?memory=none", "elmo:b", "elmo:a", "gpt2", "bert",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("EleutherAI/pythia-70m@step1000", ("EleutherAI/pythia-70m", 1000)),
        ("olmo@stage1-step5000-tokens21B", ("olmo@stage1", 5000)),
        ("bloom@global_step0", ("bloom", 0)),
        ("out@500", ("out", 500)),
        ("a/out/checkpoint-500/", ("a/out", 500)),
        ("google/multiberts-seed_0-step_20k", ("google/multiberts-seed_0", 20_000)),
        ("pythia@main", None),
        ("pythia@1a2b3c4d5e", None),
        ("llama-7b", None),
        ("stepwise-3", None),
    ],
)
def test_the_step_that_a_name_says(name: str, step: tuple[str, int] | None):
    assert training_step(name) == step


def test_a_revision_is_behind_the_last_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert split_revision("random:org/m@refs/pr/1") == ("random:org/m", "refs/pr/1")
    assert split_revision("elmo:me@host") == ("elmo:me@host", "")
    assert split_revision("a@../b") == ("a@../b", "")
    Path("me@host").mkdir()
    assert split_revision("me@host") == ("me@host", "")
    assert split_revision("me@host@step1") == ("me@host", "step1")
    assert at_revision("random:m", "v1") == "random:m@v1"
    for name, revision in (("m@v1", "v2"), ("m", "v 1"), ("elmo:m", "v1"), ("embedded", "v1")):
        with pytest.raises(UserError, match="revision"):
            at_revision(name, revision)


def test_where_a_checkpoint_lies(tmp_path: Path):
    for folder in ("step1", "checkpoint-20", "snapshots/abc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "refs").mkdir()
    (tmp_path / "refs" / "main").write_text("abc")
    (tmp_path / "refs" / "evil").write_text("../step1")
    for revision, folder in (
        ("step1", "step1"),
        ("1", "step1"),
        ("step20", "checkpoint-20"),
        ("20", "checkpoint-20"),
        ("main", "snapshots/abc"),
        ("abc", "snapshots/abc"),
    ):
        assert model_path(f"{tmp_path}@{revision}") == tmp_path / folder
    for revision in ("step2", "evil"):
        assert model_path(f"{tmp_path}@{revision}") == Path(f"{tmp_path}@{revision}")
