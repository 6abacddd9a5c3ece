"""Prompt files: one template per relation, weighted ensembles, paraphrases, vectors.

- OptiPrompt's `relations.jsonl` layout, also AutoPrompt's released prompts: rows
  {"relation", "template"}
- LPAQA's: a file P19.jsonl, or a folder of them, rows {"template", "weight"}
- ParaRel's: a file P19.jsonl, or a folder of them, rows {"pattern", ...}
- our own vectors: a file P19.safetensors, or a folder of them, with the table `vectors`
  [n_vectors, dimension] and, in its header as `hyperprobe`, a JSON object with the
  `template` and the `model` that the vectors belong to
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hyperprobe.cloze import Template
from hyperprobe.errors import UserError
from hyperprobe.lama.sources import read_rows
from hyperprobe.runs import write_atomically, write_text

Kind = Literal["template", "ensemble", "patterns", "vectors"]
TABLE, HEADER = "vectors", "hyperprobe"
NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True)
class Prompts:
    """How a relation is asked: by one template, by a weighted sum of the log-probabilities
    of several (Jiang et al. 2020, section 4.2), by each of several on its own, or by a
    template with places for `vectors` [n_vectors, dimension] of one `owner`, a model."""

    kind: Kind
    templates: tuple[str, ...]
    weights: tuple[float, ...] = ()
    vectors: np.ndarray[Any, np.dtype[np.float32]] = field(
        default_factory=lambda: NO_VECTORS, compare=False, repr=False
    )
    owner: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """What the predictions call an ensemble, or a lone template."""
        if self.kind == "ensemble":
            return f"ensemble of {len(self.templates)}"
        return self.templates[0]

    def describe(self) -> dict[str, Any]:
        """What tells these prompts from others, for a run's settings."""
        about: dict[str, Any] = {
            "kind": self.kind,
            "templates": self.templates,
            "weights": self.weights,
        }
        if self.kind == "vectors":
            digest = hashlib.sha256(np.ascontiguousarray(self.vectors).tobytes()).hexdigest()
            about |= {"vectors": digest, "owner": self.owner}
        return about

    def check_owner(self, model: Any) -> None:
        """Raises `UserError` when vectors belong to another model than `model`."""
        if self.kind == "vectors" and not _same(self.owner, owner_of(model)):
            raise UserError(
                f"these vectors belong to {self.owner.get('name')} and mean nothing to "
                f"{model.name} (its files differ): name that --model, or search anew with "
                "hyperprobe prompts"
            )


def owner_of(model: Any) -> dict[str, Any]:
    """What identifies a model in a prompt file: its name and the digests of its files."""
    return {"name": model.name, "sha256": model.describe().get("sha256") or {}}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same files, whatever folder they lie in; of hub models, the same name."""
    if not (one.get("sha256") and other.get("sha256")):
        return one.get("name") == other.get("name")
    # Random weights have the files of the model whose shape they take, and another prefix.
    prefixes = [name.rpartition(":")[0] for name in (str(one.get("name")), str(other["name"]))]
    return prefixes[0] == prefixes[1] and one["sha256"] == other["sha256"]


def save_prompts(stem: Path, relation: str, prompts: Prompts) -> Path:
    """Write the prompts of one relation as `STEM.jsonl` or `STEM.safetensors`; the file."""
    if prompts.kind == "vectors":
        from safetensors.numpy import save_file

        path = stem.with_name(f"{stem.name}.safetensors")
        header = {"template": prompts.templates[0], "relation": relation, "model": prompts.owner}
        table = {TABLE: np.ascontiguousarray(prompts.vectors)}
        notes = {HEADER: json.dumps(header)}
        write_atomically(path, lambda partial: save_file(table, partial, notes))
        return path
    path = stem.with_name(f"{stem.name}.jsonl")
    if prompts.kind == "template":
        rows: list[dict[str, Any]] = [{"relation": relation, "template": prompts.templates[0]}]
    else:
        pairs = zip(prompts.templates, prompts.weights, strict=True)
        rows = [{"template": template, "weight": weight} for template, weight in pairs]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def load_prompts(path: Path) -> dict[str, Prompts]:
    """Relation name -> its prompts, from a file or a folder of files.

    Raises `UserError` with file and line on what is none of the four kinds.
    """
    inside = (p for p in path.glob("*") if p.suffix in (".jsonl", ".safetensors"))
    paths = sorted(inside) if path.is_dir() else [path]
    if not paths:
        raise UserError(
            f"no .jsonl or .safetensors files in {path}: name a file or folder of prompts"
        )
    prompts: dict[str, Prompts] = {}
    for file in paths:
        if file.suffix == ".safetensors":
            prompts[file.stem] = _load_vectors(file)
            continue
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


def _load_vectors(path: Path) -> Prompts:
    from safetensors import SafetensorError, safe_open

    from hyperprobe.lama.vectors import count_places

    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})[HEADER])
            vectors = file.get_tensor(TABLE).astype(np.float32)
            template, owner = header["template"], dict(header["model"])
            n_places = count_places(template)
    except FileNotFoundError as error:
        raise UserError(f"no file {path}: check the name") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} holds no prompt of vectors ({error}): name one that hyperprobe prompts wrote"
        ) from error
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    if vectors.shape[:1] != (n_places,) or vectors.ndim != 2:
        raise UserError(f"{path}: {vectors.shape[0]} vectors for {n_places} places: write it anew")
    return Prompts("vectors", (template,), vectors=vectors, owner=owner)


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
