"""Which names a model may have, where it would lie, and of which family it is; loads nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hyperprobe.addresses import prefixed, served
from hyperprobe.aliases import target, without_path
from hyperprobe.errors import UserError, quoted
from hyperprobe.families import FAMILIES, SERVED, STATIC
from hyperprobe.names import (
    BASELINES,
    CONTROL_PREFIXES,
    EMBEDDED,
    EMBEDDED_FOLDER,
    EMBEDDED_VECTORS,
    RANDOM,
)
from hyperprobe.revisions import check_revision, checkpoint, split_revision


def model_path(name: str) -> Path:
    """Where a model of this name would lie: the files that ship, or a path of the user's.

    Of a served model, where its tokenizer would.
    """
    if behind := served(name):
        return model_path(behind.tokenizer)
    if of_family := prefixed(name):
        return of_family.path
    name = target(name).removeprefix(RANDOM)
    if name in EMBEDDED_VECTORS:
        return EMBEDDED_FOLDER / f"{name}.safetensors"
    if name == EMBEDDED:
        return EMBEDDED_FOLDER / "masked-lm"
    base, revision = split_revision(name)
    return (revision and checkpoint(Path(base), revision)) or Path(name)


def file_family(name: str) -> str | None:
    """The family whose file a model of this name is or would be; none for a language model of
    Hugging Face."""
    if served(name):
        return SERVED
    if of_family := prefixed(name):
        return of_family.family
    path = model_path(name)
    if path.is_dir():
        return None
    for family, about in FAMILIES.items():
        if path.suffix and path.suffix in about.suffixes:
            return family
    return STATIC if path.is_file() else None


def is_vectors(name: str) -> bool:
    """Whether a model of this name is a file of static vectors, which read no text."""
    family = file_family(name)
    return family is not None and not FAMILIES[family].reads_text


def has_fixed_answers(name: str) -> bool:
    """Whether a model of this name is a file of answers, so that nothing else can be asked."""
    family = file_family(name)
    return family is not None and FAMILIES[family].fixed


def with_random_weights(names: Iterable[str]) -> list[str]:
    """`random:NAME` of each language model among the names that is here and not random already."""
    return [f"{RANDOM}{n}" for n in names if _has_weights(n) and not n.startswith(RANDOM)]


def _has_weights(name: str) -> bool:
    return not (is_vectors(name) or has_fixed_answers(name) or served(name))


def in_papers_order(names: Iterable[str]) -> list[str]:
    """The names as the columns of the LAMA paper's Table 2 stand: its older models first, in the
    order of `FAMILIES`, then the others as they come."""

    def place(name: str) -> int:
        older = prefixed(name)
        return list(FAMILIES).index(older.family) if older else len(FAMILIES)

    return sorted(names, key=place)


def distinct_models(names: Iterable[str]) -> list[str]:
    """The models that a user named, each once, in order.

    One that is written as NAME=PATH is called NAME from then on, in this process. Raises
    `UserError` for a name that stands for a baseline or a control in the tables, for one that
    no model can have, and for one that two models are given.
    """
    given = list(dict.fromkeys(names))
    distinct = [without_path(name) for name in given]
    for name in distinct:
        if distinct.count(name) > 1:
            raise UserError(f"two models are called {name}: give each a name of its own")
    for name in distinct:
        _check(name)
    return distinct


def _check(name: str) -> None:
    if not name.strip() or "\0" in name:
        raise UserError(
            f"{quoted(name)} is no model's name: write a folder, a vectors file or a hub name"
        )
    if name in BASELINES:
        raise UserError(f"{name} is a baseline's name: write ./{name} for a model of yours")
    for prefix in CONTROL_PREFIXES:
        if name.startswith(prefix):
            raise UserError(
                f"{quoted(name)}: {prefix} marks a control's rows: write ./{name} for a model of "
                "yours"
            )
    try:
        prefixed(name)
        check_revision(name)
        if served(name) and name.startswith(RANDOM):
            raise UserError(
                f"a served model has no random weights: write {RANDOM}FOLDER for a model here"
            )
        exists = Path(name).exists()
        weightless = name.startswith(RANDOM) and not _has_weights(name)
    except (OSError, ValueError) as error:  # too long, or with a null byte
        raise UserError(f"no model {quoted(name)}: check the name") from error
    if exists and name.startswith(RANDOM):
        raise UserError(
            f"{quoted(name)}: {RANDOM} asks for random weights: write ./{name} for a model of yours"
        )
    if weightless:
        raise UserError(
            f"{quoted(name)}: vectors and scores have no random weights: name a language model"
        )
