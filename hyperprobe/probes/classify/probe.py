"""Classifier probes: folds x representations -> nets -> predictions -> metrics.

After Ravichander et al. (2020, sections 2.2 and 4): does a net that is trained to
tell hypernyms from others of their group still tell them for words it has not
seen? Beside each representation: the hypernym alone, random weights, spelling.

A predictions frame has one row per answer: `setting, model, input, classifier,
layer, fold, seed, question, hyponym, hypernym, label, log_odds, known`. `question`
is `pair` for the test itself, `reversed` for its positive pairs the wrong way round,
`control` for the control task. Above zero, `log_odds` (nats) say "hypernym". Pairs
with a word that has no vector are not `known`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Unpack

import pandas as pd

from hyperprobe.diagnostic.build import LM_DIAGNOSTIC_EXTENDED, NAMES
from hyperprobe.errors import UserError
from hyperprobe.model_names import is_vectors, with_random_weights
from hyperprobe.models.embedding import n_layers, parse_layers
from hyperprobe.models.load import config_of, identify, load_static
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.names import CHARACTERS, EMBEDDED, EMBEDDED_VECTORS, StrPath, listed, listed_paths
from hyperprobe.options import (
    CLASSIFY_ANALYSES,
    N_NETS,
    RESULTS,
    ClassifyAnalysis,
    LoadKeywords,
    ModelOptions,
    Setting,
    check_choice,
    check_choices,
    check_seed,
)
from hyperprobe.options import SETTINGS as SETTING_CHOICES
from hyperprobe.probes.classify import report
from hyperprobe.probes.classify.answers import (
    CODE_LENGTH,
    CONTROL_TASK,
    FULL,
    LAYER,
    PARTIAL,
    answer,
    predict_majority,
)
from hyperprobe.probes.classify.folds import folds_of, read_folds
from hyperprobe.probes.classify.metrics import summarise, summarise_layers
from hyperprobe.probes.classify.pairs import SETTINGS
from hyperprobe.probes.classify.representations import Representation, represent
from hyperprobe.render.drawn import draw_once
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.jobs import Answers, Cell, Job, LastLoaded, Once, as_function
from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.run import Run

FULL_COST, QUICK = 2000.0, 200.0  # of nets on full views of contextual models, and of others
COLUMNS = (
    "setting",
    "model",
    "input",
    "classifier",
    "layer",
    "fold",
    "seed",
    "question",
    "hyponym",
    "hypernym",
    "label",
    "log_odds",
    "known",
)


@dataclass(frozen=True, repr=False, eq=False)
class ClassifyResult(Result):
    """The run's `folder`, the `folds` of both settings, the `predictions`, and their tables.

    `layers` and `code_lengths` are empty frames unless asked for. `notes` say what was left out.
    """

    command: ClassVar[str] = "classify"
    folder: Path
    folds: pd.DataFrame
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    layers: pd.DataFrame
    code_lengths: pd.DataFrame
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, run: FinishedRun) -> ClassifyResult:
        """The result of a finished run. Raises `UserError` if its tables are damaged."""
        return cls(run.folder, *report.read_files(run).values())

    def tables(self) -> list[Table]:
        """Accuracy, what stands beside it, and layers where they were asked for."""
        of = with_short_names({"metrics": self.metrics, "layers": self.layers})
        return list(report.tables(**of))


def plan_classify(
    models: GivenModels = EMBEDDED,
    setting: Setting = "both",
    folds: StrPath | None = None,
    layer: str = "last",
    analyses: ClassifyAnalysis | Sequence[ClassifyAnalysis] = (),
    n_seeds: int = N_NETS,
    seed: int = 0,
    results: StrPath = RESULTS,
    diagnostic: str = LM_DIAGNOSTIC_EXTENDED,
    contexts: StrPath | Sequence[StrPath] = (),
    **keywords: Unpack[LoadKeywords],
) -> Job[ClassifyResult]:
    """Train and test the probe on `models` and the baselines, in three folds.

    Folds are made of the set `diagnostic` (a name or file) and the sentences in the files
    `contexts`, by default those that ship for the sets that do; words without any stand by
    themselves. `folds` is a folds file to use instead; `layer` is a layer of
    contextual models or a sum of some (see `parse_layers`); `analyses` adds layer
    curves, the control task and the online code. Each cell is stored when it is
    done, so an interrupted call that is repeated continues. Neither
    the number of threads nor of cores changes a number. Keywords are the fields of
    `ModelOptions` that say how models are loaded. Raises `UserError` on bad input.
    """
    models, analyses, contexts = model_names(models), listed(analyses), listed_paths(contexts)
    given = dict(locals())
    options = ModelOptions(**keywords)
    check_choice("setting", setting, SETTING_CHOICES)
    check_choices("analysis", analyses, CLASSIFY_ANALYSES)
    if n_seeds < 1:
        raise UserError(f"--seeds {n_seeds}: a probe needs at least one")
    check_seed(seed)
    layers = parse_layers(layer)
    settings: tuple[str, ...] = SETTINGS if setting == "both" else (setting,)
    notes: list[str] = []
    if folds is None:
        table, notes = folds_of(diagnostic, contexts, settings, seed)
        settings = tuple(one for one in settings if one in set(table["setting"]))
    elif contexts or diagnostic != LM_DIAGNOSTIC_EXTENDED:
        raise UserError(
            "--folds brings its own words and sentences: leave out --diagnostic and --contexts"
        )
    else:
        table = read_folds(Path(folds), settings)
    names = _names(models)
    if diagnostic not in NAMES:
        names, said = _that_know(names, models, table)
        notes += said
    identity: dict[str, Any] = {
        "models": {name: identify(name) for name in names},
        "settings": list(settings),
        "folds": hashlib.sha256(table.to_csv(index=False).encode()).hexdigest(),
        "layer": layer,
        "analyses": sorted(set(analyses)),
        "n_seeds": n_seeds,
        "seed": seed,
        **options.identity(),
    }
    run = Run(results, "classify", identity, given)
    views = {name: _views(name, models, analyses, options.trust_remote_code) for name in names}
    encodings, every_layer = Path(results) / "encodings", "layers" in analyses
    seeds = [seed + i for i in range(n_seeds)]
    common = [identity["folds"], layer, seeds, options.identity()]

    @Once
    def representation(name: str) -> Representation:
        return represent(name, table, encodings, layers, every_layer, options)

    def answers(one: str, name: str, view: str, models: LastLoaded) -> Answers:
        rows = (table["setting"] == one).to_numpy()
        shown = representation(name).of(rows)
        return answer(shown, table[rows], view, seeds), shown.about

    cells = [
        Cell(
            f"{one} {name} {view}",
            "" if name == CHARACTERS else name,
            [one, name, view, identity["models"][name], *common],
            partial(answers, one, name, view),
            n_seeds
            * (QUICK if view == PARTIAL or name == CHARACTERS or is_vectors(name) else FULL_COST),
            one_thread=True,
            prepare=partial(representation, name),
        )
        for one in settings
        for name in names
        for view in views[name]
    ]
    return Job(run, cells, partial(_finish, table, settings, seed, tuple(notes)))


classify = as_function(plan_classify)


def _finish(
    folds: pd.DataFrame,
    settings: Sequence[str],
    seed: int,
    notes: tuple[str, ...],
    run: Run,
    frames: Sequence[pd.DataFrame],
) -> ClassifyResult:
    """The tables and figures made from the cells' frames, stored in the run's folder."""
    codes = [frame for frame in frames if "bits" in frame]
    majority = predict_majority(folds[folds["setting"].isin(settings)])
    answers = [majority, *(frame for frame in frames if "bits" not in frame)]
    predictions = pd.concat(answers, ignore_index=True)[list(COLUMNS)]
    # Settings in order, and in each the models as they were asked.
    order = predictions["setting"].map(SETTINGS.index).argsort(kind="stable")
    predictions = predictions.iloc[order].reset_index(drop=True)
    code_lengths = pd.concat(codes, ignore_index=True) if codes else pd.DataFrame()
    result = ClassifyResult(
        run.folder,
        folds,
        predictions,
        summarise(predictions, code_lengths),
        summarise_layers(predictions),
        code_lengths,
        notes,
    )
    files = {
        report.FOLDS: folds,
        report.PREDICTIONS: predictions,
        report.METRICS: result.metrics,
        report.LAYERS: result.layers,
        report.CODES: code_lengths,
    }
    short = with_short_names({"predictions": predictions, "layers": result.layers})
    drawn = draw_once(run, lambda: report.pictures(**short))
    run.finish({name: frame for name, frame in files.items() if len(frame)}, seed, drawn)
    return result


def _that_know(
    names: Sequence[str], models: Sequence[str], folds: pd.DataFrame
) -> tuple[list[str], list[str]]:
    """The names without the vectors that ship and have none of the words; and a note on those."""
    words = [str(word) for word in {*folds["hyponym"], *folds["hypernym"]}]
    known = [
        name
        for name in names
        if name not in EMBEDDED_VECTORS
        or name in models
        or len(load_static(name).vectors_of(words)[1]) < len(words)
    ]
    without = ", ".join(name for name in names if name not in known)
    return known, [f"{without}: no vector for any of the words: left out"] if without else []


def _names(models: Sequence[str]) -> list[str]:
    """All that is probed, in the order of the paper's Table 4: vectors, spelling, encoders."""
    static = [name for name in models if is_vectors(name)]
    encoders = [name for name in models if not is_vectors(name)]
    shuffled = with_random_weights(encoders)
    return list(dict.fromkeys([*EMBEDDED_VECTORS, *static, CHARACTERS, *shuffled, *encoders]))


def _views(
    name: str, models: Sequence[str], analyses: Sequence[ClassifyAnalysis], trust_remote_code: bool
) -> list[str]:
    """What is done with a representation; layer curves are of the models that were named."""
    views = [PARTIAL, FULL]
    if "layers" in analyses and name in models and not is_vectors(name):
        depth = n_layers(config_of(name, trust_remote_code))
        views += [f"{LAYER}{i}" for i in range(depth + 1)]
    return [*views, *(view for view in (CONTROL_TASK, CODE_LENGTH) if view in analyses)]
