"""What an analysis is: what it computes, its tables, its pictures, its sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from hyperprobe.analysis.corpus_counts import CorpusCounts
from hyperprobe.analysis.outcomes import Outcomes, each_outcome
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.options import Article
from hyperprobe.render.document import Picture
from hyperprobe.render.table import Table

Frames = Mapping[str, pd.DataFrame]  # by file name, without its ending


@dataclass(frozen=True)
class Material:
    """What the analyses of a run are computed from.

    `asked` are the variants of the prompt beside the run's prompt (`with_run_prompt`): empty where
    no language model was asked, None where the models were not to be asked again. `article` is
    the run's policy, `sets` the sets that were asked again, by name, and `false` the false
    category of a (diagnostic, item), where a set names one.
    """

    predictions: pd.DataFrame
    counts: Sequence[CorpusCounts] = ()
    asked: pd.DataFrame | None = None
    article: Article = "gold"
    sets: Mapping[str, DiagnosticSet] = field(default_factory=dict)
    false: Mapping[tuple[str, str], str] = field(default_factory=dict)
    seed: int = 0

    @cached_property
    def scored(self) -> Outcomes:
        """The outcomes of each model on the items that it can score."""
        return each_outcome(self.predictions, scored=True)

    @property
    def has_variants(self) -> bool:
        return self.asked is not None and len(self.asked) > 0

    @property
    def variants(self) -> pd.DataFrame:
        """`asked`, which is not None here."""
        assert self.asked is not None  # noqa: S101 (only called where `has_variants`)
        return self.asked


def no_pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    yield from ()


def no_reason(material: Material) -> str:
    return ""


@dataclass(frozen=True)
class Analysis:
    """One analysis of zero-shot runs. A frame without rows says that it does not apply.

    `compute` gives a frame for each of `files`, of which those in `lists` are long lists
    rather than results. `tables` has for each file that is shown a function from the rows of
    the largest set to tables; `pictures` sees the frames of all analyses and the language
    models. `sentence` says what the first file says about one model, from its rows on the
    largest set (the singular ones, where there are several probes), and follows `lead`.
    `reason` says why there is nothing, or "".

    `within` names the analysis in whose section this one is shown; `is_first` puts the section
    before the others.
    """

    name: str
    title: str
    words: str
    files: tuple[str, ...]
    compute: Callable[[Material], dict[str, pd.DataFrame]]
    tables: Mapping[str, Callable[[pd.DataFrame], Iterator[Table]]]
    lead: str
    sentence: Callable[[str, pd.DataFrame], str]
    pictures: Callable[[Frames, Sequence[str]], Iterator[Picture]] = no_pictures
    reason: Callable[[Material], str] = no_reason
    lists: tuple[str, ...] = ()
    within: str = ""
    is_first: bool = False

    @property
    def section(self) -> str:
        """The id of its section."""
        return self.within or self.name
