"""What `prompts` is asked to do, checked before any model or torch is loaded."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hyperprobe.diagnostic.corpus import corpus_files
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import StrPath
from hyperprobe.options import (
    METHODS,
    N_CANDIDATES,
    PROMPTS_CONTROLS,
    STEPS,
    VECTORS,
    check_choices,
    check_seed,
)
from hyperprobe.probes.lama.prompts import Prompts, load_prompts

MANUAL, LPAQA, MINE, AUTOPROMPT, OPTIPROMPT, FINETUNE = METHODS
MAX_VECTORS = 100  # the paper has 5 and 10


@dataclass(frozen=True)
class SearchOptions:
    """How the methods search: `vectors` is OptiPrompt's start, a number or `manual`;
    `steps` and `n_candidates` are AutoPrompt's; `top_k` templates of `lpaqa` and `mine`
    (0: LPAQA's weights, the one best mined); `given` prompt files by method."""

    vectors: str = VECTORS
    steps: int = STEPS
    n_candidates: int = N_CANDIDATES
    top_k: int = 0
    corpus: StrPath | Sequence[StrPath] = ()
    given: Mapping[str, StrPath] = field(default_factory=dict)


def check_asked(
    models: Sequence[str],
    methods: Sequence[str],
    controls: Sequence[str],
    options: SearchOptions,
    seed: int,
) -> dict[str, dict[str, Prompts]]:
    """The given prompts by method and relation. Raises `UserError` for what cannot be done."""
    check_seed(seed)
    if not models:
        raise UserError("no model: name at least one language model")
    check_choices("method", methods, METHODS)
    check_choices("control", controls, PROMPTS_CONTROLS)
    _check_numbers(options)
    for method in options.given:
        if method not in methods or method in (MANUAL, FINETUNE):
            raise UserError(f"--prompts {method}=...: name a --method of this run that searches")
    if LPAQA in methods and LPAQA not in options.given:
        raise UserError("lpaqa wants prompt files: name them as --prompts lpaqa=FILE_OR_FOLDER")
    if MINE in methods and MINE not in options.given:
        if not options.corpus:
            raise UserError("mining wants a corpus: name text files or folders with --corpus")
        corpus_files(options.corpus)
    return {method: load_prompts(Path(path)) for method, path in options.given.items()}


def _check_numbers(options: SearchOptions) -> None:
    vectors = options.vectors
    is_number = re.fullmatch("[0-9]{1,9}", vectors) and 1 <= int(vectors) <= MAX_VECTORS
    if vectors != "manual" and not is_number:
        raise UserError(
            f"--vectors {quoted(vectors)}: write manual, or a number such as 5 or 10, of at most "
            f"{MAX_VECTORS}"
        )
    for option, value, least in (
        ("--steps", options.steps, 1),
        ("--candidates", options.n_candidates, 1),
        ("--top-k", options.top_k, 0),
    ):
        if type(value) is not int or value < least:
            raise UserError(f"{option} {quoted(value)}: give a whole number of at least {least}")


def slug(name: str) -> str:
    """The folder of a model's prompts; two models never share one."""
    words = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:80]
    return words if words == name else f"{words}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
