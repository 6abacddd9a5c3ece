"""Revisions and checkpoints of models: NAME@REVISION, and the training step that a name says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from hyperprobe.addresses import prefixed, served
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import EMBEDDED, EMBEDDED_VECTORS, RANDOM

AT = "@"  # NAME@REVISION: a branch, tag or commit of the hub, or a checkpoint in a folder
_REVISION = re.compile(r"[\w+-][\w.+-]*(/[\w+-][\w.+-]*)*", re.ASCII)
_STEP = re.compile(r"(?:step|checkpoint|ckpt|iter)s?[-_]?(\d+)(k?)(?![a-z\d])", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)(k?)", re.IGNORECASE)


def at_revision(name: str, revision: str) -> str:
    """`NAME@REVISION`. Raises `UserError` for a name that can have no revision, or has one."""
    joined = f"{name}{AT}{revision}"
    if not _REVISION.fullmatch(revision):
        raise UserError(f"{quoted(revision)} is no revision: write a branch, a tag or a commit")
    if split_revision(name)[1] or split_revision(joined) != (name, revision):
        raise UserError(f"{quoted(name)} takes no revision: name a folder or a model of the hub")
    check_revision(joined)
    return joined


def split_revision(name: str) -> tuple[str, str]:
    """The name and the revision of `NAME@REVISION`; no revision of a path that exists as it
    stands, or of a name with a family's prefix."""
    base, at, revision = name.rpartition(AT)
    body = base.removeprefix(RANDOM)
    if not at or not body or not _REVISION.fullmatch(revision) or prefixed(name) or served(name):
        return name, ""
    return (name, "") if Path(name.removeprefix(RANDOM)).exists() else (base, revision)


class Step(NamedTuple):
    """A checkpoint: of which training, and after how many steps."""

    training: str
    number: int


def training_step(name: str) -> Step | None:
    """The training step that a revision, or a folder's own name, says; none for any other name.

    `pythia@step1000` is step 1000 of `pythia`, `out/checkpoint-500` step 500 of `out`, and
    `olmo@stage1-step5000-tokens21B` step 5000 of `olmo@stage1`; `@main` says none.
    """
    _, at, revision = name.rpartition(AT)
    last = revision if at else name.rstrip("/").rpartition("/")[2]
    if not (found := _STEP.search(last) or (at and _NUMBER.fullmatch(last))):
        return None
    before = name.rstrip("/").removesuffix(last) + last[: found.start()]
    training = re.sub(r"(?i)global[-_]?$", "", before).rstrip("@/-_. ")
    return Step(training or ".", int(found[1]) * (1000 if found[2] else 1))


def checkpoint(folder: Path, revision: str) -> Path | None:
    """Where a checkpoint lies in a folder: as a folder of that name, as transformers' Trainer
    writes it, or as the Hugging Face cache keeps it; none if it is not there."""
    if not folder.is_dir():
        return None
    paths = [folder / revision]
    if step := re.fullmatch(r"(?:step[-_]?)?(\d+)", revision):
        paths += [folder / f"checkpoint-{step[1]}", folder / f"step{step[1]}"]
    reference = folder / "refs" / revision
    commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
    if _REVISION.fullmatch(commit):
        paths.append(folder / "snapshots" / commit)
    return next((path for path in paths if path.is_dir()), None)


def check_revision(name: str) -> None:
    """Raises `UserError` for a revision of what has none."""
    base, revision = split_revision(name)
    body = base.removeprefix(RANDOM)
    if revision and (body in (EMBEDDED, *EMBEDDED_VECTORS) or Path(body).is_file()):
        raise UserError(f"{body} has no revisions: leave {AT}{revision} out")
