"""Models on the Hugging Face hub: is the name one, is it kept here, can the hub be reached?

Asked once, before transformers tries again and again.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hyperprobe.errors import UserError, quoted
from hyperprobe.families import FAMILIES
from hyperprobe.names import (
    EMBEDDED,
    EMBEDDED_VECTORS,
    RANDOM,
    distinct_models,
    file_family,
    model_path,
    target,
)

SECONDS = 5
_HUB_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?", re.ASCII)


def check_models(names: list[str] | None) -> list[str] | None:
    """The models that a user named, each once. Raises `UserError` for one that is nowhere."""
    if names is None:
        return None
    for name in (distinct := distinct_models(names)):
        path = model_path(name)
        if family := file_family(name):
            if not (path.exists() if FAMILIES[family].prefixed else path.is_file()):
                kind = "file" if FAMILIES[family].reads_text else "vectors file"
                raise UserError(f"no {kind} {path}{_did_you_mean(name) or ': check the name'}")
        elif not path.is_dir():
            only_local(target(name).removeprefix(RANDOM))
    return distinct


def is_hub_name(name: str) -> bool:
    """Whether the hub may have a model of this name; what looks like a path is never asked for."""
    if name.startswith((".", "~", "-")) or not _HUB_NAME.fullmatch(name):
        return False
    return "/" not in name or not Path(name).parent.is_dir()


@cache
def only_local(name: str) -> bool:
    """Whether the model's files have to come from the local Hugging Face cache alone.

    One attempt to reach the hub. Raises `UserError` for a model that is neither there nor here.
    """
    if not is_hub_name(name):
        raise UserError(
            f"no model {quoted(name)}: no such folder or file"
            f"{_did_you_mean(name) or ': check the name'}"
        )
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError

    cached = isinstance(try_to_load_from_cache(name, "config.json"), str)
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=SECONDS)
        return False
    except GatedRepoError as error:
        if not cached:
            raise UserError(
                f"the hub does not show {name} to everybody: ask for access on its page, and log "
                "in with hf auth login"
            ) from error
    except HfHubHTTPError as error:
        if not cached:
            raise UserError(_nowhere(name, "is it on the hub", "check the name")) from error
    # (no network, no name server, HF_HUB_OFFLINE, a proxy that refuses: all kinds of errors)
    except Exception as error:
        if not cached:
            raise UserError(
                _nowhere(name, "could the hub be reached", "check the name and the network")
            ) from error
    return True


def _nowhere(name: str, otherwise: str, remedy: str) -> str:
    return (
        f"no model {name}: it is neither a folder or file here nor in the local Hugging Face "
        f"cache, nor {otherwise}{_did_you_mean(name) or f': {remedy}'}"
    )


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
