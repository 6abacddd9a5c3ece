"""A study file: which models, and the options of each probe, checked before anything is asked.

The options of a probe are the parameters of the function that plans it, and are checked by their
types.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    StrictInt,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from hyperprobe import registry
from hyperprobe.documents import Document, check, read_toml
from hyperprobe.errors import UserError
from hyperprobe.model_names import file_family
from hyperprobe.names import EMBEDDED
from hyperprobe.options import StudyKeywords
from hyperprobe.probes.zero_shot.tables import SETTINGS
from hyperprobe.revisions import at_revision, split_revision

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
ZERO_SHOT = "zero-shot"
# A file without a table for a probe is about zero-shot, and has its options at the top.
AT_THE_TOP = ("diagnostics", "controls", "settings")
# These are said once for a whole study, and not in its file.
ELSEWHERE = ("results", "seed", "return", *StudyKeywords.__annotations__)


def _as_words(value: Any) -> Any:
    """One text or a list of texts, without repetition."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
        raise ValueError("must be a text or a list of texts")
    if not values:
        raise ValueError("must name one at least")
    return tuple(dict.fromkeys(values))


Words = Annotated[tuple[str, ...], BeforeValidator(_as_words)]


class Shared(Document):
    """What all probes of a file have in common."""

    models: Words | None = None
    revisions: Words = ()


@dataclass(frozen=True)
class StudyFile:
    """The `name` of a study, and the arguments of each probe's plan by its command."""

    name: str
    probes: Mapping[str, Mapping[str, Any]]


def plans() -> dict[str, Callable[..., Any]]:
    """The plans of the probes that a study covers, by their command. Imports torch."""
    return {name: registry.load(one.plan) for name, one in registry.COMMANDS.items() if one.plan}


def read_study(path: Path) -> StudyFile:
    """What the TOML file at `path` asks for. Raises `UserError` on what is no study, and where."""
    document = read_toml(path, dict, "study")
    known = plans()
    _check_keys(str(path), "key", document, (*Shared.model_fields, *AT_THE_TOP, *known))
    shared = check(Shared, document, str(path))
    top = {key: document[key] for key in AT_THE_TOP if key in document}
    tables = {name: document[name] for name in known if name in document}
    if tables and top:
        raise UserError(f"{path}: {min(top)} belongs to one probe: move it into [{ZERO_SHOT}]")
    if not tables:
        settings = check(dict[str, Any], top.pop("settings", {}), f"{path}: settings")
        _check_keys(str(path), "setting", settings, SETTINGS)
        tables = {ZERO_SHOT: top | settings}
    probes = {}
    for name, table in tables.items():
        where = f"{path}, [{name}]" if name in document else str(path)
        options, table = options_of(known[name]), check(dict[str, Any], table, where)
        _check_keys(where, "option", table, tuple(options.model_fields))
        for parameter in signature(known[name]).parameters.values():
            needed = parameter.default is Parameter.empty and parameter.kind in _NAMED
            if needed and parameter.name not in table:
                raise UserError(f"{where}: no {parameter.name}: the probe needs it")
        given = _given(check(options, table, where))
        models = given.get("models", shared.models)
        if models is None and shared.revisions:
            models = (EMBEDDED,)
        if models is not None:
            given["models"] = with_revisions(models, shared.revisions)
        probes[name] = given
    return StudyFile(path.stem, probes)


def with_revisions(models: Sequence[str], revisions: Sequence[str]) -> list[str]:
    """`NAME@REVISION` for each language model of Hugging Face and each revision, in order; what
    ships and files of other families have none, and a name may have its own already."""
    named = []
    for name in models:
        alone = split_revision(name)[1] or name == EMBEDDED or file_family(name)
        named += (
            [at_revision(name, one) for one in revisions] if revisions and not alone else [name]
        )
    return named


def options_of(plan: Callable[..., Any]) -> type[BaseModel]:
    """The options that a file may give to a probe: the parameters of its plan, as a schema."""
    # (the type of `models` is for those that a caller has loaded, too)
    named = {k: v for k, v in plan.__annotations__.items() if k not in (*ELSEWHERE, "models")}
    hints = get_type_hints(type("Named", (), {"__annotations__": named}), plan.__globals__)
    (keywords,) = get_args(hints.pop("keywords"))
    hints = {"models": Words} | hints | get_type_hints(keywords)
    return _schema({name: hint for name, hint in hints.items() if name not in ELSEWHERE})


def _schema(hints: Mapping[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {name: (_of_toml(hint), None) for name, hint in hints.items()}
    schema: type[BaseModel] = create_model(
        "Options", __config__=ConfigDict(extra="forbid"), **fields
    )
    return schema


def _of_toml(hint: Any) -> Any:
    """The type of a parameter as TOML has it: without paths and null, and numbers are no truths."""
    if hint in (int, bool):
        return StrictInt if hint is int else StrictBool
    if get_origin(hint) is os.PathLike:
        return str
    if isinstance(hint, type) and is_dataclass(hint):
        of_fields = _schema(get_type_hints(hint))
        return Annotated[of_fields, AfterValidator(lambda read: hint(**_given(read)))]
    if get_origin(hint) is Sequence:
        return list[_of_toml(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = dict.fromkeys(_of_toml(one) for one in get_args(hint) if one is not NoneType)
    several = [one for one in kinds if get_origin(one) is list]
    return Annotated[several[0], WrapValidator(_one_or_several)] if several else Union[*kinds]


def _one_or_several(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    if value == []:
        raise ValueError("must name one at least")
    return validate(value) if isinstance(value, list) else validate([value])[0]


def _given(read: BaseModel) -> dict[str, Any]:
    """The options that a table has."""
    return {name: getattr(read, name) for name in read.model_fields_set}


def _check_keys(where: str, kind: str, table: Iterable[str], known: Sequence[str]) -> None:
    if unknown := sorted(set(table) - set(known)):
        raise UserError(f"{where}: unknown {kind} {unknown[0]}: choose from {', '.join(known)}")
