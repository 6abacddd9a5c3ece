"""A tiny causal model, and requests that wait for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperprobe.models.served import client
from tests.served_server import Answerer
from tests.tiny_models import save_model


@pytest.fixture(scope="package")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Answerer:
    """A GPT-2, whose texts begin with no token of their own."""
    return Answerer(save_model("GPT2", tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(scope="package")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Answerer:
    """A Llama, whose texts begin with a BOS."""
    return Answerer(save_model("Llama", tmp_path_factory.mktemp("llama")))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache, no key, and waits of a thousandth."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(client, "FIRST_WAIT", 0.0005)
    monkeypatch.setattr(client, "DEADLINE", 5.0)
    monkeypatch.setattr(client, "MAX_BYTES", 1 << 20)
