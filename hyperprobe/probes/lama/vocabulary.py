"""The words that compete for the slot: a file, what several models share, or the models' own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hyperprobe.cloze import CandidateSet
from hyperprobe.documents import read_lines
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.base import ClozeModel, as_text_model, shared_words
from hyperprobe.probes.lama.protocol import Fact, Vocabulary

_INSIDE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_words(path: Path) -> list[str]:
    """The words of a vocabulary file, one a line, without the white space around them."""
    words = []
    for number, line in read_lines(path, "vocabulary"):
        if word := line.strip():
            if _INSIDE.search(word):
                raise UserError(
                    f"{path}, line {number}: a tab or a control character inside "
                    f"{quoted(word)}: write one word a line"
                )
            words.append(word)
    if not words:
        raise UserError(f"the vocabulary {path} is empty: write one word a line")
    return words


def make_vocabulary(
    words: Sequence[str] | None, models: Iterable[ClozeModel], lowercase: bool
) -> Vocabulary:
    """`words` (none: what the models share) that every model writes as one token.

    Raises `UserError` when none is left.
    """
    given = None if words is None else dict.fromkeys(w.lower() if lowercase else w for w in words)
    candidates = list(given) if given is not None else shared_words(models)
    if given is not None:
        for model in models:
            one = as_text_model(model).single_tokens(candidates)
            candidates = [word for word, is_one in zip(candidates, one, strict=True) if is_one]
    if not candidates:
        raise UserError(
            "no word of the vocabulary is one token of the models: for uncased models use "
            "--lowercase, or name another --vocab"
        )
    return Vocabulary(None if given is None else frozenset(given), CandidateSet.of(candidates))


def drop_unspelled(
    model: ClozeModel, facts: Sequence[Fact], counts: dict[str, int]
) -> tuple[list[Fact], dict[str, int]]:
    """The facts whose objects the tokenizer can spell, and the counts brought up to date."""
    spelled = as_text_model(model).can_spell([fact.object for fact in facts])
    kept = [fact for fact, is_spelled in zip(facts, spelled, strict=True) if is_spelled]
    n_lost = len(facts) - len(kept)
    more = {"n_not_spelled": counts["n_not_spelled"] + n_lost, "n_facts": len(kept)}
    return kept, {**counts, **more}
