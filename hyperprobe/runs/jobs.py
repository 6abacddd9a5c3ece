"""A probe as a job: the cells of a run, each computed for itself, and a way to finish.

A probe plans its job before any of it is computed. So whoever runs it may first say what is
missing, compute some of the cells elsewhere, and finish when all are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from itertools import groupby
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

import pandas as pd

from hyperprobe.progress import progress
from hyperprobe.runs.frames import Frames
from hyperprobe.runs.run import Run, digest_of

Answers = tuple[pd.DataFrame, Any]  # predictions, and the description of what made them


class Describes(Protocol):
    """A model of any kind."""

    def describe(self) -> dict[str, Any]:
        """What identifies it in a run."""


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Model = TypeVar("Model", bound=Describes)


class Once(Generic[Result]):
    """A function of names whose results are kept, but not when it goes to another process."""

    def __init__(self, make: Callable[..., Result]) -> None:
        self._make = make
        self._made: dict[tuple[str, ...], Result] = {}

    def __call__(self, *names: str) -> Result:
        if names not in self._made:
            self._made[names] = self._make(*names)
        return self._made[names]

    def keep(self, made: Result, *names: str) -> None:
        """The result for `names`, where the caller has it anyway."""
        self._made.setdefault(names, made)

    def __reduce__(self) -> tuple[type[Once[Result]], tuple[Callable[..., Result]]]:
        return Once, (self._make,)


class LastLoaded:
    """Loads models when they are first asked, and holds one at a time; what is `kept` of its
    answers goes with it. A model that has a method `again` may give what is asked next itself."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}
        self._asked: tuple[Any, ...] | None = None
        self._model: Any = None

    def get(self, load: Callable[..., Model], *asked: Any) -> Model:
        """What `load` makes of these arguments."""
        if (load, *asked) != self._asked:
            same = self._asked is not None and self._asked[0] is load
            again = getattr(self._model, "again", None) if same else None
            made = again(*asked) if again else None
            self._asked = self._model = again = None  # free it before the next one comes
            self.kept = {}
            self._model = made if made is not None else load(*asked)
            self._asked = (load, *asked)
        model: Model = self._model
        return model


@dataclass(frozen=True)
class Cell:
    """One unit of work of a run, such as the answers of one model on one set.

    `key` tells it from the others of its run, and `identity` (JSON) from any other: it says all
    that decides the numbers. `compute` gets the models that are held by whoever runs it; the
    cells of one `model` (none: "") are run in a row. `cost` is about how much work it is, where
    to ask one fact of `lama` is 1. A cell of `one_thread` runs beside others of its kind, after
    `prepare`, on which all threads may work; the two functions themselves keep what it prepares.
    """

    key: str
    model: str
    identity: Any
    compute: Callable[[LastLoaded], Answers]
    cost: float = 1.0
    one_thread: bool = False
    prepare: Callable[[], object] = lambda: None

    def compute_alone(self, models: LastLoaded) -> Answers:
        """`compute`, with no other cell beside it."""
        self.prepare()
        return self.compute(models)


def answered_by(
    load: Callable[..., Model], *asked: Any, predict: Callable[[Model], pd.DataFrame]
) -> Callable[[LastLoaded], Answers]:
    """The `compute` of a cell: what `predict` makes of the model that `load` makes of `asked`."""

    def compute(models: LastLoaded) -> Answers:
        model = models.get(load, *asked)
        return predict(model), model.describe()

    return compute


@dataclass(frozen=True)
class Job(Generic[Result]):
    """A run, its cells, and `finish`: run and frames (in the order of the cells, each read when it
    is asked for) -> result. `read` gives the result of a run that is finished already, if there
    is a quicker way to it."""

    run: Run
    cells: Sequence[Cell]
    finish: Callable[[Run, Frames], Result]
    read: Callable[[Run], Result | None] = lambda run: None

    @property
    def cost(self) -> float:
        """That of all cells."""
        return sum(cell.cost for cell in self.cells)

    def missing(self) -> list[int]:
        """The indices of the cells that are still to be computed."""
        return [i for i, cell in enumerate(self.cells) if not self.is_stored(cell)]

    def is_stored(self, cell: Cell) -> bool:
        """Whether the cell was computed before."""
        return self.run.seconds(self.key(cell)) is not None

    def compute(self, cell: Cell, models: LastLoaded) -> None:
        """Compute and store the cell, unless it is stored."""
        self.run.compute(self.key(cell), partial(cell.compute, models))

    def finished(self) -> Result:
        """The result, once all cells are stored. Raises `UserError` for one that is not."""
        return self.finish(self.run, Frames(self.run, [self.key(cell) for cell in self.cells]))

    def key(self, cell: Cell) -> str:
        """What the run stores the cell under: all that decides it, if runs share their cells."""
        if not self.run.shares_cells:
            return cell.key
        return f"{cell.key} {digest_of(cell.identity)}"


def run_job(job: Job[Result]) -> Result:
    """The job's result: computes the cells that are not stored, and finishes."""
    if (found := job.read(job.run)) is not None:
        return found
    with progress(job.run.command, len(job.cells)) as advance:
        compute_cells(job, job.cells, LastLoaded(), advance)
    return job.finished()


def compute_cells(
    job: Job[Any],
    cells: Sequence[Cell],
    models: LastLoaded,
    advance: Callable[[int], None] = lambda n: None,
) -> None:
    """Compute and store those of some cells of the job that are not stored.

    `advance` is called with the number of cells that are done.
    """
    for one_thread, group in groupby(cells, lambda cell: cell.one_thread):
        if one_thread:
            _side_by_side(job, list(group), models, advance)
            continue
        for cell in group:
            job.compute(cell, models)
            advance(1)


def _side_by_side(
    job: Job[Any], cells: Sequence[Cell], models: LastLoaded, advance: Callable[[int], None]
) -> None:
    # The longest first, so that no core is left with one of them at the end.
    missing = sorted((cell for cell in cells if not job.is_stored(cell)), key=lambda c: -c.cost)
    advance(len(cells) - len(missing))
    for cell in missing:
        cell.prepare()

    def compute(cell: Cell) -> None:
        job.compute(cell, models)
        advance(1)

    if missing:
        from hyperprobe.parallel import run_parallel  # loads torch

        run_parallel(compute, missing)


def as_function(plan: Callable[Arguments, Job[Result]]) -> Callable[Arguments, Result]:
    """The function of a probe: it plans, runs and gives the result. Its documentation, and its
    name without `plan_`, are those of `plan`."""

    @wraps(plan)
    def function(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return run_job(plan(*args, **kwargs))

    function.__name__ = function.__qualname__ = plan.__name__.removeprefix("plan_")
    returned = str(plan.__annotations__["return"]).removeprefix("Job[").removesuffix("]")
    function.__annotations__ = {**plan.__annotations__, "return": returned}
    function.__signature__ = signature(plan).replace(  # type: ignore[attr-defined]
        return_annotation=returned
    )
    return function
