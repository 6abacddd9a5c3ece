"""What a model's name says that begins with a family's prefix: a path and choices, or a server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hyperprobe.aliases import target
from hyperprobe.errors import UserError, quoted
from hyperprobe.families import FAMILIES
from hyperprobe.names import OPENAI, RANDOM


@dataclass(frozen=True)
class Prefixed:
    """What a name such as `elmo:FOLDER?state=reference-order` says; `choices` are all of the
    family's, with defaults."""

    family: str
    path: Path
    choices: dict[str, str]


def prefixed(name: str) -> Prefixed | None:
    """What a name with a family's prefix says; none for any other name.

    Raises `UserError` for a choice that the family does not have.
    """
    family, colon, rest = target(name).removeprefix(RANDOM).partition(":")
    if not colon or family not in FAMILIES or not FAMILIES[family].prefixed:
        return None
    path, _, asked = rest.partition("?")
    of_family = FAMILIES[family].choices
    chosen = {key: values[0] for key, values in of_family.items()}
    for pair in asked.split("&") if asked else []:
        key, _, value = pair.partition("=")
        if value not in of_family.get(key, ()):
            known = [f"{key}={value}" for key, values in of_family.items() for value in values]
            remedy = f"choose from {', '.join(known)}" if known else "write the path alone"
            raise UserError(f"{quoted(name)}: {family} has no {quoted(pair)}: {remedy}")
        chosen[key] = value
    if not path:
        raise UserError(f"{quoted(name)}: no path behind {family}: write {family}:FOLDER")
    return Prefixed(family, Path(path), chosen)


@dataclass(frozen=True)
class Served:
    """What `openai:URL#MODEL?tokenizer=TOKENIZER` says: the address of the server's interface, its
    own name for the model, and the folder or hub name of the tokenizer (default: that name)."""

    url: str
    model: str
    tokenizer: str


def served(name: str) -> Served | None:
    """What the name of a served model says; none for any other name.

    Raises `UserError` for one that says something else, without repeating what may be a secret.
    """
    name = target(name).removeprefix(RANDOM)
    if not name.startswith(OPENAI):
        return None
    url, _, rest = name.removeprefix(OPENAI).partition("#")
    model, asked, tokenizer = rest.partition("?")
    wanted = f"write {OPENAI}http://HOST:PORT/v1#MODEL?tokenizer=FOLDER"
    try:
        address = urlsplit(url)
        known = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # a port that is no number
        known = False
    if "@" in url:
        raise UserError(
            f"a model's name begins {OPENAI} and has a user or password in its address: put the "
            "key into OPENAI_API_KEY, or name another variable with --key-env"
        )
    if not known or not model or not re.fullmatch("[!->@-~]+", url):
        raise UserError(f"a name that begins {OPENAI} needs an address and a model: {wanted}")
    if asked and not (tokenizer.startswith("tokenizer=") and tokenizer != "tokenizer="):
        raise UserError(f"a name that begins {OPENAI} may end in ?tokenizer= alone: {wanted}")
    return Served(url.rstrip("/"), model, tokenizer.removeprefix("tokenizer=") or model)
