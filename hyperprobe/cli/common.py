"""What the commands share: the app itself, their common options, and lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, get_type_hints

import typer

from hyperprobe.errors import UserError
from hyperprobe.models.hub import check_models
from hyperprobe.options import (
    Article,
    CausalScoring,
    Dtype,
    ModelOptions,
    Pll,
    check_choices,
    check_concurrency,
    check_device,
    check_key_env,
)
from hyperprobe.progress import be_quiet
from hyperprobe.progress import print_error as print_error
from hyperprobe.progress import say as say

if TYPE_CHECKING:
    import pandas as pd

    from hyperprobe.engines.cluster import Cluster
    from hyperprobe.render.result import Result
    from hyperprobe.render.table import Table


Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress and no notes: results and errors alone."),
]


Function = TypeVar("Function", bound=Callable[..., Any])


class Register(Protocol):
    """A decorator of any function."""

    def __call__(self, function: Function, /) -> Function: ...


def with_quiet(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the option --quiet."""
    hints = get_type_hints(function, include_extras=True)
    given = signature(function).parameters.values()
    parameters = [one.replace(annotation=hints[one.name]) for one in given]
    quiet_option = Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)

    @wraps(function)
    def command(*args: Any, quiet: bool = False, **kwargs: Any) -> None:
        if quiet:
            be_quiet()
        function(*args, **kwargs)

    command.__signature__ = Signature([*parameters, quiet_option])  # type: ignore[attr-defined]
    command.__annotations__ = {**hints, "quiet": Quiet}
    return command


class App(typer.Typer):
    """Commands that all have the option --quiet."""

    def command(self, *args: Any, **kwargs: Any) -> Register:
        return _quiet(super().command(*args, **kwargs))

    def callback(self, *args: Any, **kwargs: Any) -> Register:
        return _quiet(super().callback(*args, **kwargs))


def _quiet(register: Callable[..., Any]) -> Register:
    """A decorator that registers a function with --quiet, and leaves it as it is."""

    def decorate(function: Function) -> Function:
        register(with_quiet(function))
        return function

    return decorate


app = App(
    name="hyperprobe",
    help="Does a language model systematically know that a robin is a bird?",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


DEFAULT = ModelOptions()
Choices = Callable[[list[str] | None], list[str] | None]


def each_of(name: str, choices: tuple[str, ...]) -> Choices:
    """A callback for a repeatable option: every value is one of `choices`, and counts once."""

    def check(values: list[str] | None) -> list[str] | None:
        check_choices(name, values or (), choices)
        return list(dict.fromkeys(values)) if values else values

    return check


Results = Annotated[Path, typer.Option("--results", help="Where run folders go.")]
Json = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON, and nothing else.")]
Device = Annotated[
    str,
    typer.Option(
        callback=check_device,
        help="auto, cpu, cuda, cuda:1, mps; spread: over all GPUs, then the CPU.",
    ),
]
Precision = Annotated[Dtype, typer.Option(help="Precision of the weights; int8 needs torchao.")]
PseudoLogLikelihood = Annotated[
    Pll,
    typer.Option(help="Masked models: which other pieces of a candidate are masked."),
]
Scoring = Annotated[
    CausalScoring,
    typer.Option(help="Causal and seq2seq models: with what follows the slot, or without."),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        min=1, help="Texts asked at once at most; changes no numbers. Default: what fits."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Only so many items of each set, in turn from each category."),
]
Remote = Annotated[
    bool, typer.Option("--trust-remote-code", help="Let a model run the code that comes with it.")
]
Concurrency = Annotated[
    int, typer.Option(callback=check_concurrency, help="Served models: requests at a time.")
]
KeyEnv = Annotated[
    str,
    typer.Option(
        callback=check_key_env, help="Served models: the environment variable with the key."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        callback=check_models,
        help="A Hugging Face name or folder, with @REVISION; vectors; openai:URL#NAME; repeatable.",
    ),
]
Diagnostics = Annotated[
    list[str] | None,
    typer.Option(help="lm-diagnostic, lm-diagnostic-extended or a file; repeatable."),
]
Paired = Annotated[
    bool, typer.Option("--paired", help="Also print whether paired success is systematic.")
]
ArticlePolicy = Annotated[
    Article | None,
    typer.Option(
        "--article",
        help="Before the slot: the right answer's, always the same, or each candidate's own. "
        "Default: gold, or marginal for a set of yours.",
    ),
]
LamaData = Annotated[Path, typer.Option(help="The folder with LAMA's files.")]
OnlyRelations = Annotated[list[str] | None, typer.Option(help="Only this relation; repeatable.")]
Lowercase = Annotated[
    bool, typer.Option("--lowercase", help="Lower-case facts and vocabulary (uncased models).")
]
OnRay = Annotated[
    str,
    typer.Option("--ray", help="Compute on a Ray cluster: auto, an address, or local (a new one)."),
]
GpusPerCell = Annotated[float, typer.Option(min=0, help="With --ray: GPUs for each cell.")]
Signed = Annotated[
    bool, typer.Option("--signature", help="Print what numbers are of, to be quoted with them.")
]
IntervalSeed = Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")]
TextField = Annotated[str, typer.Option("--field", help="The text field of JSONL.")]
Runs = Annotated[list[Path], typer.Argument(help="Folders of runs, of any command.")]


def cluster_of(address: str, gpus_per_cell: float) -> Cluster | None:
    """What `--ray` and `--gpus-per-cell` name, if anything."""
    from hyperprobe.engines.cluster import Cluster

    if gpus_per_cell and not address:
        raise UserError("--gpus-per-cell is for a Ray cluster: add --ray auto")
    return Cluster(address, gpus_per_cell) if address else None


def show_result(
    result: Result,
    metrics: pd.DataFrame,
    settings: dict[str, Any],
    as_json: bool,
    tables: Iterable[Table] | None = None,
    what: str = "predictions, metrics and provenance",
    signature: bool = False,
) -> None:
    """The metrics as JSON, or `tables` (those of the result), with their signatures if asked, and
    where `what` is."""
    from hyperprobe.render import terminal
    from hyperprobe.render.table import show

    if as_json:
        rows = terminal.json_rows(metrics)
        terminal.print_json(result.command, settings, result.folder, rows)
        return
    for table in result.tables() if tables is None else tables:
        show(table)
        if signature and table.signature:
            terminal.print_line(table.signature)
    say(f"{what} in {result.folder}")
