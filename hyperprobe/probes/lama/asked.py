"""What `lama` is asked to do, checked before any model or torch is loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hyperprobe.errors import UserError
from hyperprobe.names import RE_NAIVE, StrPath
from hyperprobe.probes.lama.prompts import Prompts, load_prompts
from hyperprobe.probes.lama.sources import DATA, Relation, load_sources, reads_data
from hyperprobe.probes.lama.vocabulary import read_words


def check_data(data: Path) -> None:
    """Raises `UserError` for a folder of data that was named and is not there."""
    if data != DATA and not data.is_dir():
        raise UserError(f"no folder {data}: run hyperprobe lama fetch, or name yours with --data")


def relations_asked(
    sources: Sequence[str], data: Path, only: Sequence[str], prompts: Path | None
) -> tuple[list[Relation], dict[str, Prompts]]:
    """The relations asked, those without a prompt left out when prompts are given.

    Raises `UserError` for sources, relations or prompts that are not there or damaged.
    """
    check_data(data)
    asked = load_sources(sources, data, only)
    if prompts is None:
        return asked, {}
    prompts_of = load_prompts(prompts)
    asked = [relation for relation in asked if relation.name in prompts_of]
    if not asked:
        raise UserError(
            f"{prompts} has prompts for {', '.join(sorted(prompts_of)[:5])}, and for none of the "
            "relations asked: choose another --source or --relation"
        )
    return asked, {relation.name: prompts_of[relation.name] for relation in asked}


def words_asked(vocab: StrPath | Sequence[str] | None) -> list[str] | None:
    """The words of a vocabulary file; none when the words are those of models."""
    return read_words(Path(vocab)) if isinstance(vocab, str | os.PathLike) else None


def notes(sources: Sequence[str], data: Path, missing: Sequence[str]) -> list[str]:
    """What was asked for and had no effect, a line each; `missing` are options without facts."""
    lines = [f"{option}: no fact asked has any: nothing was asked" for option in missing]
    if data != DATA and not reads_data(sources):
        lines.append(f"--data {data} is not used by {', '.join(sources)}")
    return lines


def without_extraction(predictions: pd.DataFrame) -> list[str]:
    """A line for relations that relation extraction, where it was asked, has no sentences of."""
    extracted = set(predictions["relation"][predictions["model"] == RE_NAIVE])
    without = [name for name in predictions["relation"].unique() if name not in extracted]
    if not extracted or not without:
        return []
    return [f"--baseline re: no evidence sentences for {', '.join(without)}: left out"]
