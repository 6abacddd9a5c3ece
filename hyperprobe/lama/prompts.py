"""Prompt files: one template per relation, weighted ensembles, sets of paraphrases.

- OptiPrompt's `relations.jsonl` layout, also AutoPrompt's released prompts: rows
  {"relation", "template"}
- LPAQA's: a file P19.jsonl, or a folder of them, rows {"template", "weight"}
- ParaRel's: a file P19.jsonl, or a folder of them, rows {"pattern", ...}
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hyperprobe.cloze import Template
from hyperprobe.errors import UserError
from hyperprobe.lama.sources import read_rows

Kind = Literal["template", "ensemble", "patterns"]


@dataclass(frozen=True)
class Prompts:
    """How a relation is asked: by one template, by a weighted sum of the log-probabilities
    of several (Jiang et al. 2020, section 4.2), or by each of several on its own."""

    kind: Kind
    templates: tuple[str, ...]
    weights: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """What the predictions call an ensemble, or a lone template."""
        if self.kind == "ensemble":
            return f"ensemble of {len(self.templates)}"
        return self.templates[0]


def load_prompts(path: Path) -> dict[str, Prompts]:
    """Relation name -> its prompts, from a file or a folder of files.

    Raises `UserError` with file and line on a row that is none of the three kinds.
    """
    paths = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not paths:
        raise UserError(f"no .jsonl files in {path}: name a file or folder of prompts")
    prompts: dict[str, Prompts] = {}
    for file in paths:
        rows = [(f"{file}, line {number}", row) for number, row in read_rows(file)]
        if not rows:
            raise UserError(f"{file} is empty: write one prompt a line")
        first = rows[0][1]
        if "relation" in first:
            for where, row in rows:
                prompts[str(row.get("relation"))] = Prompts("template", (_text(row, where),))
        elif "pattern" in first:
            texts = dict.fromkeys(_text(row, where, "pattern") for where, row in rows)
            prompts[file.stem] = Prompts("patterns", tuple(texts))
        else:
            prompts[file.stem] = Prompts(
                "ensemble",
                tuple(_text(row, where) for where, row in rows),
                tuple(_weight(row, where) for where, row in rows),
            )
    return prompts


def _text(row: dict[str, Any], where: str, key: str = "template") -> str:
    text = row.get(key)
    if not isinstance(text, str):
        raise UserError(f"{where}: no {key}: write one with [X] and [Y]")
    try:
        return Template(text).pattern
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _weight(row: dict[str, Any], where: str) -> float:
    weight = row.get("weight")
    if not isinstance(weight, int | float) or isinstance(weight, bool):
        raise UserError(f"{where}: no weight: an ensemble needs a number for each template")
    return float(weight)
