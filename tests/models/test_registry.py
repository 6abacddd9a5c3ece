"""The registry of families: who claims a file, and what a further family takes."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hyperprobe.errors import UserError
from hyperprobe.families import FAMILIES, Family
from hyperprobe.model_names import file_family, is_vectors
from hyperprobe.models.base import as_masked_model, as_text_model
from hyperprobe.models.load import family, load_model


def test_every_family_is_there_and_called_as_it_says():
    for name, about in FAMILIES.items():
        made = about.model_class()
        assert made.kind == name and made.reads_text == about.reads_text


def test_the_registry_needs_no_torch():
    code = (
        "import sys, hyperprobe.families, hyperprobe.names, hyperprobe.models.loaded\n"
        "assert not {'torch', 'transformers', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_further_family_is_a_module_and_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Counts:
        kind, reads_text = "counts", True

        @classmethod
        def load(cls, name: str, path: Path, source: dict[str, Any]) -> SimpleNamespace:
            return SimpleNamespace(name=name, text=path.read_text(), source=source)

    module = ModuleType("counts_family")
    module.Counts = Counts  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "counts_family", module)
    entry = Family("counts_family:Counts", ("article",), from_file=True, suffixes=(".counts",))
    monkeypatch.setitem(FAMILIES, "counts", entry)
    path = tmp_path / "mine.counts"
    path.write_text("bird 3")
    assert file_family(str(path)) == family(str(path)) == "counts"
    assert not is_vectors(str(path))
    model: Any = load_model(str(path))
    assert model.text == "bird 3" and set(model.source["sha256"]) == {"mine.counts"}
    assert file_family(str(tmp_path / "none.bin")) == "static"
    assert file_family(str(tmp_path)) is None and file_family("bert-base-uncased") is None


def test_models_are_what_a_probe_needs(tiny_models: dict[str, Path]):
    masked, vectors = load_model(str(tiny_models["bert"])), load_model("word2vec")
    assert as_masked_model(masked, "x") is as_text_model(masked) is masked
    with pytest.raises(UserError, match="word2vec holds static vectors, which read no prompt"):
        as_text_model(vectors)
    with pytest.raises(UserError, match="x needs a masked language model, and word2vec is a stat"):
        as_masked_model(vectors, "x")
