"""Revisions: checkpoints in folders, in the layout of the Hugging Face cache, and on a hub."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from hyperprobe.errors import UserError
from hyperprobe.models import hub
from hyperprobe.models.load import identify, load_encoder, load_model

NAME = "some-lab/tiny"
STEPS = {"step0": "0" * 39 + "a", "step1000": "0" * 39 + "b", "main": "0" * 39 + "c"}


@pytest.fixture(scope="module")
def checkpoints(
    tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Revision -> folder of one model with other weights in each; `main` cannot say `hammer`."""
    folder, made = tmp_path_factory.mktemp("training"), {}
    for number, revision in enumerate(STEPS):
        made[revision] = shutil.copytree(tiny_models["bert"], folder / revision)
        weights = load_file(made[revision] / "model.safetensors")
        weights = {key: value * (1 + 0.5 * number) for key, value in weights.items()}
        save_file(weights, made[revision] / "model.safetensors", metadata={"format": "pt"})
    text = (made["main"] / "tokenizer.json").read_text(encoding="utf-8")
    (made["main"] / "tokenizer.json").write_text(text.replace('"hammer"', '"hammre"'))
    return made


@pytest.fixture
def cache(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The local cache with all revisions but `main`, as huggingface_hub fills it; no network."""
    kept = tmp_path / f"models--{NAME.replace('/', '--')}"
    for revision, commit in list(STEPS.items())[:2]:
        shutil.copytree(checkpoints[revision], kept / "snapshots" / commit)
        (kept / "refs").mkdir(exist_ok=True)
        (kept / "refs" / revision).write_text(commit)
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.setattr(f"huggingface_hub.constants.{variable}", str(tmp_path), raising=False)
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(tmp_path))
    hub.find.cache_clear()
    yield tmp_path
    hub.find.cache_clear()


def first_weight(model: object) -> torch.Tensor:
    return model.model.get_input_embeddings().weight  # type: ignore[attr-defined]


def weight_in(folder: Path) -> torch.Tensor:
    return load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]


def test_checkpoints_in_a_folder(checkpoints: dict[str, Path]):
    training = checkpoints["step0"].parent
    for revision, folder in checkpoints.items():
        model = load_model(f"{training}@{revision}")
        assert first_weight(model).equal(weight_in(folder))
        assert model.describe()["sha256"] == identify(str(folder))["sha256"]
    with pytest.raises(UserError, match="holds no checkpoint step900: it has step1000, step0"):
        load_model(f"{training}@step900")
    with pytest.raises(UserError, match="holds no checkpoint man: it has main"):
        hub.check_models([f"random:{training}@man"])


def test_a_git_repository_is_not_read_behind_its_back(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    with pytest.raises(UserError, match="worktree add NEW-FOLDER v1"):
        load_model(f"{tmp_path}@v1")


def test_revisions_in_the_cache(cache: Path, checkpoints: dict[str, Path]):
    for revision, commit in list(STEPS.items())[:2]:
        for name in (f"{NAME}@{revision}", f"{NAME}@{commit}"):
            model = load_model(name)
            assert first_weight(model).equal(weight_in(checkpoints[revision]))
            about = model.describe()
            assert (about["name"], about["revision"]) == (name, commit)
        assert load_encoder(f"{NAME}@{revision}").source["revision"] == commit
    drawn = load_model(f"random:{NAME}@step0").describe()
    assert (drawn["name"], drawn["revision"]) == (f"random:{NAME}@step0", STEPS["step0"])
    with pytest.raises(UserError) as caught:
        load_model(f"{NAME}@step500")
    assert str(caught.value).startswith(f"no revision step500 of {NAME} in the local Hugging Face")
    assert str(caught.value).endswith("of its revisions, step0, step1000 are there")


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as a download needs: files by revision, and the list of revisions."""

    folders: dict[str, Path]

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = self.path.split("?")[0].split("/")
        if self.path.startswith(f"/api/models/{NAME}/"):
            return self.answer(200, json.dumps(self.about(*parts[5:7])).encode())
        if self.path.startswith(f"/{NAME}/resolve/"):
            revision, file = parts[4], parts[-1]
            revision = {c: r for r, c in STEPS.items()}.get(revision, revision)
            if revision not in self.folders:
                return self.answer(404, b"", **{"X-Error-Code": "RevisionNotFound"})
            path = self.folders[revision] / file
            headers = {"X-Repo-Commit": STEPS[revision], "ETag": f'"{file}-{revision}"'}
            if path.is_file():
                return self.answer(200, path.read_bytes(), **headers)
            return self.answer(404, b"", **headers, **{"X-Error-Code": "EntryNotFound"})
        return self.answer(404, b"", **{"X-Error-Code": "RepoNotFound"})

    def about(self, what: str, revision: str = "") -> object:
        if what == "refs":
            refs = [
                {"name": r, "ref": "refs/heads/" + r, "targetCommit": c} for r, c in STEPS.items()
            ]
            return {"branches": refs, "tags": [], "converts": []}
        return {"id": NAME, "sha": STEPS[revision]} if what == "revision" else []

    def answer(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def server(
    cache: Path, checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[type[Hub]]:
    """A stand-in for the hub on this machine, which the hub's own client asks."""
    Hub.folders = checkpoints
    running = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{running.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
        url + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    # (transformers looks for chat templates in a list that this hub does not have)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    yield Hub
    running.shutdown()
    running.server_close()


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_revisions_of_a_hub(server: type[Hub], checkpoints: dict[str, Path]):
    model = load_model(f"{NAME}@main")
    assert first_weight(model).equal(weight_in(checkpoints["main"]))
    assert model.describe()["revision"] == STEPS["main"]
    assert not model.single_tokens(["hammer"])[0]  # the tokenizer is of this revision, too
    assert load_model(f"{NAME}@step1000").single_tokens(["hammer"])[0]
    with pytest.raises(UserError, match="no revision step700 on the hub: it has step1000, step0"):
        load_model(f"{NAME}@step700")
    with pytest.raises(UserError, match="no model some-lab/other: .*is it on the hub"):
        load_model("some-lab/other@step1")
