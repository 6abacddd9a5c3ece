"""Models on the Hugging Face hub: is the name one, is it kept here, can the hub be reached?

Asked once, before transformers tries again and again.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hyperprobe.addresses import served
from hyperprobe.aliases import target
from hyperprobe.errors import UserError, quoted
from hyperprobe.families import FAMILIES
from hyperprobe.model_names import distinct_models, file_family, model_path
from hyperprobe.names import EMBEDDED, EMBEDDED_VECTORS, RANDOM
from hyperprobe.revisions import AT, split_revision, training_step

SECONDS = 5
_HUB_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?", re.ASCII)


def check_models(names: list[str] | None) -> list[str] | None:
    """The models that a user named, each once. Raises `UserError` for one that is nowhere."""
    if names is None:
        return None
    for name in (distinct := distinct_models(names)):
        path = model_path(name)
        if behind := served(name):
            if not path.is_dir():
                find(behind.tokenizer)
        elif family := file_family(name):
            if not (path.exists() if FAMILIES[family].prefixed else path.is_file()):
                kind = "file" if FAMILIES[family].reads_text else "vectors file"
                raise UserError(f"no {kind} {path}{_did_you_mean(name) or ': check the name'}")
        elif not path.is_dir():
            find(target(name).removeprefix(RANDOM))
    return distinct


def is_hub_name(name: str) -> bool:
    """Whether the hub may have a model of this name; what looks like a path is never asked for."""
    if name.startswith((".", "~", "-")) or not _HUB_NAME.fullmatch(name):
        return False
    return "/" not in name or not Path(name).parent.is_dir()


class OnHub(NamedTuple):
    """Whether a model's files have to come from the local Hugging Face cache alone, and which
    commit its revision is."""

    local: bool
    commit: str | None


class Source(NamedTuple):
    """Where transformers finds a model: a folder or a name on the hub, whether the hub is left
    alone, and the branch, tag or commit there, which `commit` resolves."""

    folder: str
    local: bool = True
    commit: str | None = None
    revision: str = "main"

    def keywords(self) -> dict[str, Any]:
        """What `from_pretrained` is told of it."""
        return {"local_files_only": self.local, "revision": self.revision}


@cache
def find(name: str) -> OnHub:
    """The model `NAME` or `NAME@REVISION` on the hub.

    One attempt to reach it. Raises `UserError` for a model or a revision that is neither there
    nor in the local cache.
    """
    base, revision = split_revision(name)
    if revision and Path(base).is_dir():
        raise UserError(_no_checkpoint(base, revision))
    if not is_hub_name(base):
        raise UserError(
            f"no model {quoted(name)}: no such folder or file"
            f"{_did_you_mean(name) or ': check the name'}"
        )
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    at = revision or None
    cached = try_to_load_from_cache(base, "config.json", revision=at)
    cached = cached if isinstance(cached, str) else None
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        url = hf_hub_url(base, "config.json", revision=at)
        return OnHub(False, get_hf_file_metadata(url, timeout=SECONDS).commit_hash)
    # (no network, no name server, HF_HUB_OFFLINE, a proxy that refuses: all kinds of errors)
    except Exception as error:
        if cached:
            return OnHub(True, Path(cached).parent.name)
        raise UserError(_why_not(base, revision, error)) from error


def _why_not(base: str, revision: str, error: Exception) -> str:
    """Why the hub does not give a model that the local cache lacks."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RevisionNotFoundError

    if isinstance(error, GatedRepoError):
        return (
            f"the hub does not show {base} to everybody: ask for access on its page, and log in "
            "with hf auth login"
        )
    if isinstance(error, RevisionNotFoundError):
        return f"{base} has no revision {revision} on the hub{_instead(revision, _refs(base))}"
    if isinstance(error, HfHubHTTPError):
        return _nowhere(base, revision, "is it on the hub", "check the name")
    return _nowhere(base, revision, "could the hub be reached", "check the name and the network")


def _no_checkpoint(folder: str, revision: str) -> str:
    """Why a folder has no such revision."""
    kept = [path.parent.name for path in sorted(Path(folder).glob("*/config.json"))]
    if not kept and (Path(folder) / ".git").exists():
        return (
            f"{folder} is a git repository, of which only the files checked out are read: try "
            f"git -C {folder} worktree add NEW-FOLDER {revision}, and name that folder"
        )
    return f"{folder} holds no checkpoint {revision}{_instead(revision, kept)}"


def _instead(revision: str, known: Iterable[str]) -> str:
    """The three of the known revisions that are most like it."""
    known = list(dict.fromkeys(known))
    wanted = training_step(AT + revision)
    steps = {name: step.number for name in known if (step := training_step(AT + name))}
    if wanted and steps:
        close = sorted(steps, key=lambda name: abs(steps[name] - wanted.number))[:3]
    else:
        close = difflib.get_close_matches(revision, known, 3, 0.5) or known[:3]
    return f": it has {', '.join(close)}" if close else ": check the name"


def _refs(name: str) -> list[str]:
    """The branches and tags of a model on the hub; none if it does not say."""
    from huggingface_hub import HfApi

    try:
        refs = HfApi().list_repo_refs(name)
    except Exception:  # the message says less then
        return []
    return [ref.name for ref in (*refs.branches, *refs.tags)]


def _nowhere(name: str, revision: str, otherwise: str, remedy: str) -> str:
    if revision and (kept := _cached_revisions(name)):
        remedy = f"of its revisions, {', '.join(kept[:3])} {'are' if kept[1:] else 'is'} there"
        return (
            f"no revision {revision} of {name} in the local Hugging Face cache, nor {otherwise}: "
            f"{remedy}"
        )
    return (
        f"no model {name}: it is neither a folder or file here nor in the local Hugging Face "
        f"cache, nor {otherwise}{_did_you_mean(name) or f': {remedy}'}"
    )


def _cached_revisions(name: str) -> list[str]:
    """The branches and tags of a model that the local cache knows."""
    from huggingface_hub.constants import HF_HUB_CACHE

    refs = Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "refs"
    return [str(path.relative_to(refs)) for path in sorted(refs.rglob("*")) if path.is_file()]


def _did_you_mean(name: str) -> str:
    """The name that is most like it, of what lies beside it and in the cache."""
    known = dict.fromkeys([*_beside(name), *_cached(), EMBEDDED, *EMBEDDED_VECTORS])
    close = difflib.get_close_matches(name, known, 1, 0.75)
    return f": did you mean {close[0]}?" if close else ""


def _beside(name: str) -> Iterator[str]:
    """Folders and files in the folder where this name would lie, called as it is."""
    start = name.rpartition("/")[0] + "/" if "/" in name else ""
    try:
        for path in sorted(Path(start or ".").iterdir())[:1000]:
            yield start + path.name
    except (OSError, ValueError):
        return


def _cached() -> Iterator[str]:
    from huggingface_hub.constants import HF_HUB_CACHE

    for path in sorted(Path(HF_HUB_CACHE).glob("models--*")):
        yield path.name.removeprefix("models--").replace("--", "/")
