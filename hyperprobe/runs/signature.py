"""Signatures: one line that says what a number is of, for a paper to quote.

    hyperprobe:0.3.0|command:zero-shot|set:lm-diagnostic.18.4bf0cb12|model:bert.8c11a2de|article:gold

Parts are `key:value`, joined by `|`, after the example of sacreBLEU (Post 2018). Those that decide
no number of their row are left out; files are named by the first eight digits of a SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

import pandas as pd

from hyperprobe.errors import UserError, quoted
from hyperprobe.families import FAMILIES
from hyperprobe.names import BASELINES, CONTROL_PREFIXES, RANDOM

COLUMN = "signature"  # of metrics.csv
ANY = "*"  # the value of a part that differs between rows
SUFFIXES = {"_calibrated": "calibrated", "_pmi": "pmi"}  # of metrics; others are raw
# Columns of metrics.csv that say what a row is of, beside its set and its model.
OF_ROW = (
    "source", "relation", "setting", "method", "control", "input", "measure", "fold", "article",
    "dtype", "pll", "causal_scoring",
)  # fmt: skip
# Settings whose value for the row is a part by another name.
SPLIT = ("models", "diagnostics", "files", "relations", "settings")
OF_FAMILY = ("article", "dtype", "pll", "causal_scoring")  # what touches some families alone
_DIGEST = re.compile("[0-9a-f]{64}")


def signed(
    metrics: pd.DataFrame,
    about: Mapping[str, Any],
    models: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """The signature of each row of a run's metrics.

    `about` has the run's `hyperprobe`, `command`, `settings` and `seed`, as `run.json` has them;
    `models` is the description of each model under its name.
    """
    return [signature(row, about, models) for row in metrics.to_dict("records")]


def signature(
    row: Mapping[Any, Any], about: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]
) -> str:
    """The signature of one row of metrics; see `signed`."""
    settings = about["settings"]
    parts: dict[str, Any] = {"hyperprobe": about["hyperprobe"], "command": about["command"]}
    if diagnostic := row.get("diagnostic"):
        digests = settings.get("diagnostics") or settings.get("files") or {}
        n = row.get("n_items", row.get("n_pairs"))
        parts["set"] = _joined(_end(diagnostic), n, _short(digests.get(diagnostic)))
    name = _without(CONTROL_PREFIXES, str(row["model"]))
    body = name.removeprefix(RANDOM)
    prefix = str(row["model"]).removesuffix(body)
    known, described = settings["models"].get(name, {}), models.get(name, {})
    local = known.get("sha256")
    identity = _short(local) if local else (described.get("revision") or "")[:8]
    parts["model"] = _joined(f"{prefix}{_end(body) if local else body}", identity)
    parts |= {key: row[key] for key in OF_ROW if _is_given(row.get(key))}
    if "relation" in parts:
        facts = settings.get("relations", {})  # of all of them, where a row is a mean
        one = facts.get(f"{row.get('source')}/{row['relation']}", facts)
        parts["relation"] = _joined(row["relation"], _short(one))
    kind = described.get("kind")
    for key, value in settings.items():
        if key in SPLIT or (key in OF_ROW and key in row) or not _is_given(value):
            continue
        if key in OF_FAMILY and (name in BASELINES or not _touches(key, kind)):
            continue
        parts[key] = _value(value)
    if about.get("seed") is not None:
        parts["seed"] = about["seed"]
    return "|".join(f"{key}:{_escaped(value)}" for key, value in parts.items())


def of_metric(signature: str, metric: str) -> str:
    """The signature of one number of a row: with the metric, and whether it is raw."""
    suffix = next((suffix for suffix in SUFFIXES if metric.endswith(suffix)), "")
    score = SUFFIXES.get(suffix, "raw")
    return f"{signature}|metric:{metric.removesuffix(suffix)}|score:{score}"


def parse(signature: str) -> dict[str, str]:
    """The parts of a signature. Raises `UserError` for what is none."""
    parts = [part.partition(":") for part in signature.split("|")]
    if parts[0][0] != "hyperprobe" or not all(colon for _, colon, _ in parts):
        raise UserError(f"{quoted(signature)} is no signature: it begins with hyperprobe:VERSION")
    return {key: unquote(value) for key, _, value in parts}


def common(signatures: Iterable[str]) -> str:
    """The one signature of several rows: a part that differs is `*`.

    A part that some rows lack, because it touches none of their numbers, is that of the others.
    """
    rows = [parse(one) for one in dict.fromkeys(signatures)]
    keys = dict.fromkeys(key for row in sorted(rows, key=len, reverse=True) for key in row)
    values = {key: {row[key] for row in rows if key in row} for key in keys}
    return "|".join(
        f"{key}:{ANY if len(of) > 1 else _escaped(next(iter(of)))}" for key, of in values.items()
    )


def differences(one: str, other: str) -> dict[str, tuple[str, str]]:
    """Part -> its two values, of the parts in which two signatures differ; `none` for a part that
    one lacks."""
    first, second = parse(one), parse(other)
    both = {key: (first.get(key, "none"), second.get(key, "none")) for key in first | second}
    return {key: (a, b) for key, (a, b) in both.items() if a != b}


def _without(prefixes: Iterable[str], name: str) -> str:
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    return name


def _touches(setting: str, kind: str | None) -> bool:
    """Whether a setting changes the numbers of a family; of an unknown one any may."""
    return kind not in FAMILIES or setting in FAMILIES[kind].settings


def _is_given(value: Any) -> bool:
    return not (value is None or value is False or value != value or value in ("", [], {}))


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return "+".join(value)
    if isinstance(value, str) and not _DIGEST.fullmatch(value):
        return value
    return _short(value) if isinstance(value, (str, list, tuple, Mapping)) else str(value)


def _short(value: Any) -> str:
    """Eight hex digits that identify a value: a digest's own first ones."""
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return value[:8]
    if not _is_given(value):
        return ""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def _joined(*parts: Any) -> str:
    return ".".join(str(part) for part in parts if _is_given(part))


def _end(name: Any) -> str:
    """The last part of a path: where files lie decides no number."""
    return str(name).rstrip("/").rsplit("/", 1)[-1]


def _escaped(value: Any) -> str:
    return str(value).replace("%", "%25").replace("|", "%7C")
