"""What `lama` is asked to do, checked before any model or torch is loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hyperprobe.errors import UserError
from hyperprobe.names import RE_NAIVE, RETRIEVE_READ, StrPath
from hyperprobe.options import LAMA_BASELINES, check_choices
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


def check_baselines(
    baselines: Sequence[str],
    documents: Path | None,
    reader: Path | None,
    questions: Path | None,
    multi_token: bool,
) -> dict[str, str]:
    """The questions of the baseline `retrieve-read` by id, none without a file of them.

    Raises `UserError` for files that are missing or damaged, and for those that nothing asks.
    """
    check_choices("baseline", baselines, LAMA_BASELINES)
    files = {"--documents": documents, "--reader": reader, "--questions": questions}
    if RETRIEVE_READ not in baselines:
        if unused := [option for option, path in files.items() if path is not None]:
            raise UserError(
                f"{unused[0]} is for {RETRIEVE_READ}: add --baseline {RETRIEVE_READ}, or leave it "
                "out"
            )
        return {}
    from hyperprobe.probes.lama.retrieve_read import read_questions
    from hyperprobe.reading.answers import check_documents, check_reader

    if documents is None or reader is None:
        missing = "--documents" if documents is None else "--reader"
        raise UserError(f"--baseline {RETRIEVE_READ} needs {missing}: name its files")
    if multi_token:
        raise UserError(f"{RETRIEVE_READ} answers in one word: leave --multi-token out")
    check_documents(documents)
    check_reader(reader)
    return {} if questions is None else read_questions(questions)


def words_asked(vocab: StrPath | Sequence[str] | None) -> list[str] | None:
    """The words of a vocabulary file; none when the words are those of models."""
    return read_words(Path(vocab)) if isinstance(vocab, str | os.PathLike) else None


def notes(
    sources: Sequence[str], data: Path, asked: Sequence[Relation], missing: Sequence[str]
) -> list[str]:
    """What was asked for and had no effect, a line each.

    `asked` are the relations of `relations_asked`, `missing` the options without facts.
    """
    lines = [f"{option}: no fact asked has any: nothing was asked" for option in missing]
    having = {relation.source for relation in asked}
    lines += [
        f"--source {source} has none of the relations asked: it is left out"
        for source in dict.fromkeys(sources)
        if source not in having
    ]
    if data != DATA and not reads_data(sources):
        lines.append(f"--data {data} is not used by {', '.join(sources)}")
    return lines


def without_extraction(metrics: pd.DataFrame, facts: pd.DataFrame) -> list[str]:
    """A line for relations that relation extraction, where it was asked, has no sentences of."""
    extracted = set(metrics["relation"][metrics["model"] == RE_NAIVE])
    asked = facts["relation"][facts["n_facts"] > 0].unique()
    without = [name for name in asked if name not in extracted]
    if not extracted or not without:
        return []
    return [f"--baseline re: no evidence sentences for {', '.join(without)}: left out"]
