"""Prompt files: one template per relation, weighted ensembles, paraphrases, vectors.

- OptiPrompt's `relations.jsonl` layout, also AutoPrompt's released prompts: rows
  {"relation", "template"}
- LPAQA's: a file P19.jsonl, or a folder of them, rows {"template", "weight"}; weights are
  not negative and not all zero
- ParaRel's: a file P19.jsonl, or a folder of them, rows {"pattern", ...}
- hyperprobe's vectors: a file P19.safetensors, or a folder of them, with the table `vectors`
  [n_vectors, dimension] and, in its header as `hyperprobe`, a JSON object with the
  `template` and the `model` that the vectors belong to
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import Field

from hyperprobe.cloze import MARK
from hyperprobe.documents import Document, check, parse_json, read_jsonl
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.base import ClozeModel
from hyperprobe.probes.lama.sources import template_at

Kind = Literal["template", "ensemble", "patterns", "vectors"]
TABLE, HEADER = "vectors", "hyperprobe"
NO_VECTORS = np.zeros((0, 0), dtype=np.float32)
NUMBERS = ("F16", "F32", "F64")  # of the safetensors format
# Weights are summed in single precision: outside these bounds a sum is meaningless.
MIN_TOTAL, MAX_WEIGHT = 1e-6, 1e6

T = TypeVar("T", bound=Document)


class TemplateRow(Document):
    """A row of OptiPrompt's `relations.jsonl` layout."""

    relation: str
    template: str


class PatternRow(Document):
    """A row of ParaRel's files."""

    pattern: str


class WeightedRow(Document):
    """A row of LPAQA's files."""

    template: str
    weight: Annotated[float, Field(ge=0, le=MAX_WEIGHT)]


class Owner(Document):
    """The model that vectors belong to."""

    name: str
    sha256: dict[str, str] = Field(default_factory=dict)


class Header(Document):
    """What a file of vectors says about them."""

    template: str
    model: Owner
    relation: str | None = None


class AnyRow(Document):
    """A row of a prompt file whose kind is not known yet."""

    relation: Any = None
    pattern: Any = None


@dataclass(frozen=True)
class Prompts:
    """How a relation is asked: by one template, by a weighted sum of the log-probabilities
    of several (Jiang et al. 2020, section 4.2), by each of several separately, or by a
    template with markers for `vectors` [n_vectors, dimension] of one `owner`, a model."""

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
        """What distinguishes these prompts from others, for a run's settings."""
        about: dict[str, Any] = {
            "kind": self.kind,
            "templates": self.templates,
            "weights": self.weights,
        }
        if self.kind == "vectors":
            digest = hashlib.sha256(np.ascontiguousarray(self.vectors).tobytes()).hexdigest()
            about |= {"vectors": digest, "owner": self.owner}
        return about

    def check_owner(self, model: ClozeModel) -> None:
        """Raises `UserError` when vectors belong to another model than `model`."""
        if self.kind == "vectors" and not _same(self.owner, owner_of(model)):
            raise UserError(
                f"these vectors belong to {self.owner.get('name')} and mean nothing to "
                f"{model.name} (its files differ): name that --model, or search again with "
                "hyperprobe prompts"
            )


def owner_of(model: ClozeModel) -> dict[str, Any]:
    """What identifies a model in a prompt file: its name and the digests of its files."""
    return {"name": model.name, "sha256": model.describe().get("sha256") or {}}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same files, whatever folder they are in; of hub models, the same name."""
    if not (one.get("sha256") and other.get("sha256")):
        return one.get("name") == other.get("name")
    # Random weights have the files of the model whose shape they take, and another prefix.
    prefixes = [name.rpartition(":")[0] for name in (str(one.get("name")), str(other["name"]))]
    return prefixes[0] == prefixes[1] and one["sha256"] == other["sha256"]


def prompts_file(relation: str, prompts: Prompts) -> tuple[str, bytes]:
    """The prompts of one relation as a file: its name, RELATION.jsonl or .safetensors, and what
    is in it."""
    if prompts.kind == "vectors":
        from safetensors.numpy import save

        header = {"template": prompts.templates[0], "relation": relation, "model": prompts.owner}
        table = {TABLE: np.ascontiguousarray(prompts.vectors)}
        notes = {HEADER: json.dumps(header)}
        return f"{relation}.safetensors", save(table, notes)
    if prompts.kind == "template":
        rows: list[dict[str, Any]] = [{"relation": relation, "template": prompts.templates[0]}]
    else:
        pairs = zip(prompts.templates, prompts.weights, strict=True)
        rows = [{"template": template, "weight": weight} for template, weight in pairs]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return f"{relation}.jsonl", "".join(lines).encode()


def count_markers(template: str) -> int:
    """How many vectors a template has. Raises `UserError` unless they are `[V1]` to `[Vn]`."""
    numbers = [int(part[2:-1]) for part in MARK.findall(template) if part.startswith("[V")]
    if numbers != list(range(1, len(numbers) + 1)):
        raise UserError(f"template {quoted(template)}: number its vectors [V1], [V2], ... in order")
    return len(numbers)


def load_prompts(path: Path) -> dict[str, Prompts]:
    """Relation name -> its prompts, from a file or a folder of files.

    Raises `UserError` with file and line on what is not one of the four kinds, and for a
    relation that two rows or files ask for.
    """
    inside = (p for p in path.glob("*") if p.suffix in (".jsonl", ".safetensors"))
    paths = sorted(inside) if path.is_dir() else [path]
    if not paths:
        raise UserError(
            f"no .jsonl or .safetensors files in {path}: name a file or folder of prompts"
        )
    prompts: dict[str, Prompts] = {}
    for file in paths:
        load = _load_vectors if file.suffix == ".safetensors" else _load_texts
        for where, name, found in load(file):
            if name in prompts:
                raise UserError(
                    f"{where}: relation {quoted(name)} has prompts already: keep one of the two"
                )
            prompts[name] = found
    return prompts


def _load_texts(file: Path) -> Iterator[tuple[str, str, Prompts]]:
    """(where, relation, prompts) of a JSONL file; its first row decides the kind."""
    _, first = next(read_jsonl(file, AnyRow, "prompts"), (0, None))
    if first is None:
        raise UserError(f"{file} is empty: write one prompt a line")
    if "relation" in first.model_fields_set:
        for where, row in _rows(file, TemplateRow):
            yield where, row.relation, Prompts("template", (template_at(row.template, where),))
    elif "pattern" in first.model_fields_set:
        texts = [template_at(row.pattern, where) for where, row in _rows(file, PatternRow)]
        yield str(file), file.stem, Prompts("patterns", tuple(dict.fromkeys(texts)))
    else:
        rows = list(_rows(file, WeightedRow))
        templates = tuple(template_at(row.template, where) for where, row in rows)
        weights = tuple(row.weight for _, row in rows)
        if sum(weights) < MIN_TOTAL:
            raise UserError(f"{file}: all weights are zero: an ensemble needs one that counts")
        yield str(file), file.stem, Prompts("ensemble", templates, weights)


def _rows(file: Path, schema: type[T]) -> Iterator[tuple[str, T]]:
    for number, row in read_jsonl(file, schema, "prompts"):
        yield f"{file}, line {number}", row


def _load_vectors(path: Path) -> Iterator[tuple[str, str, Prompts]]:
    """(where, relation, prompts) of a file of vectors."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise UserError(f"no prompts {path}: check the name")
    try:
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {})[HEADER]
            table = file.get_slice(TABLE)
            shape, dtype = table.get_shape(), table.get_dtype()
            if dtype not in NUMBERS or len(shape) != 2:
                raise ValueError(f"its table is {dtype} of shape {shape}")
            # A number too large for single precision becomes infinite, and is refused below.
            with np.errstate(over="ignore"):
                vectors = file.get_tensor(TABLE).astype(np.float32)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, MemoryError) as error:
        raise UserError(
            f"{path} holds no prompt of vectors ({error}): name one that hyperprobe prompts wrote"
        ) from error
    where = f"{path}, header"
    header = check(Header, parse_json(text, where), where)
    template = template_at(header.template, where)
    try:
        n_markers = count_markers(template)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    if len(vectors) != n_markers or not vectors.shape[1]:
        raise UserError(
            f"{path}: {len(vectors)} vectors of {vectors.shape[1]} numbers, but its template "
            f"has {n_markers}: write it again"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise UserError(f"{path}: vector {bad[0] + 1} holds no finite numbers: write it again")
    if header.relation not in (None, path.stem):
        raise UserError(
            f"{path}: these are the vectors of {quoted(header.relation)}: name the file after it"
        )
    owner = header.model.model_dump()
    yield str(path), path.stem, Prompts("vectors", (template,), vectors=vectors, owner=owner)
