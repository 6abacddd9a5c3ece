"""`prompts`: methods x controls x relations -> predictions on test facts -> metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Unpack

import pandas as pd

from hyperprobe.diagnostic.corpus import corpus_files
from hyperprobe.errors import UserError
from hyperprobe.models.base import ClozeModel, TextModel
from hyperprobe.models.load import identify, load_network
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.names import EMBEDDED, MAJORITY, StrPath, listed
from hyperprobe.options import (
    PROMPTS_CONTROLS,
    RESULTS,
    LoadKeywords,
    Method,
    ModelOptions,
    PromptsControl,
)
from hyperprobe.probes.lama.asked import check_data
from hyperprobe.probes.lama.predictions import predict_facts, predict_freq
from hyperprobe.probes.lama.prompts import Prompts, prompts_file
from hyperprobe.probes.lama.protocol import Fact, Vocabulary
from hyperprobe.probes.lama.sources import DATA, WORDNET, load_sources
from hyperprobe.probes.lama.vocabulary import make_vocabulary, read_words
from hyperprobe.probes.prompts import report
from hyperprobe.probes.prompts.asked import (
    AUTOPROMPT,
    FINETUNE,
    MANUAL,
    MINE,
    OPTIPROMPT,
    SearchOptions,
    check_asked,
    slug,
)
from hyperprobe.probes.prompts.autoprompt import autoprompt
from hyperprobe.probes.prompts.classifiers import (
    CLASS_PRIOR,
    NAIVE_BAYES,
    majority,
    predict_class_prior,
    predict_naive_bayes,
)
from hyperprobe.probes.prompts.controls import NONE, load_control
from hyperprobe.probes.prompts.finetune import finetuned
from hyperprobe.probes.prompts.metrics import mark_outcomes, paper_tables, summarise_prompts
from hyperprobe.probes.prompts.optiprompt import optiprompt
from hyperprobe.probes.prompts.splits import Split, fact_files, load_splits
from hyperprobe.probes.prompts.texts import best_of, mine_templates
from hyperprobe.probes.prompts.uhn import leaks_answer
from hyperprobe.render.drawn import draw_once
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.files import corpus_digests, file_digest, write_bytes
from hyperprobe.runs.jobs import Cell, Job, answered_by, as_function
from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.run import Run

ASKING, SEARCH = 2.0, 200.0  # the cost for each fact that is tested
FILE, CONTENT = "prompts_file", "prompts"  # in cells: where the prompt goes, and what it is


@dataclass(frozen=True, repr=False, eq=False)
class PromptsResult(Result):
    """The run's `folder`, where `prompts/` holds what was found, its `predictions` on test
    facts, their `metrics`, the `splits`, and `frames` in the paper's layouts by file name."""

    command: ClassVar[str] = "prompts"
    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    splits: pd.DataFrame
    frames: dict[str, pd.DataFrame]

    @classmethod
    def read(cls, run: FinishedRun) -> PromptsResult:
        """The result of a finished run. Raises `UserError` if its tables are damaged."""
        metrics, splits = report.read_tables(run)
        predictions = run.table(report.PREDICTIONS, ("model", "method", "control", "right"))
        papers = [name for name in run.files if name.startswith("table")]
        return cls(
            run.folder,
            predictions.fillna({"control": ""}),
            metrics,
            splits,
            {name: run.table(name) for name in papers},
        )

    def tables(self) -> list[Table]:
        """The facts, P@1 per relation, and what the controls make of it."""
        return list(
            report.tables(**with_short_names({"metrics": self.metrics, "splits": self.splits}))
        )


def plan_prompts(
    models: GivenModels = EMBEDDED,
    methods: Method | Sequence[Method] = OPTIPROMPT,
    controls: PromptsControl | Sequence[PromptsControl] = PROMPTS_CONTROLS,
    sources: str | Sequence[str] = WORDNET,
    data: StrPath = DATA,
    relations: str | Sequence[str] = (),
    vocab: StrPath | None = None,
    lowercase: bool = False,
    search: SearchOptions | None = None,
    results: StrPath = RESULTS,
    seed: int = 0,
    **keywords: Unpack[LoadKeywords],
) -> Job[PromptsResult]:
    """Search a prompt for each relation, in each model and its controls, and ask the test facts.

    The manual prompt, the majority object, class prior and naive Bayes always stand
    beside. `search` says how prompts are found, keywords (the fields of `ModelOptions`) how
    models are loaded. Each (model, control, method, relation) is stored when it is done. Raises
    `UserError` on bad input.
    """
    models, methods, controls = model_names(models), listed(methods), listed(controls)
    sources, relations, search = listed(sources), listed(relations), search or SearchOptions()
    called = dict(locals())
    options = ModelOptions(**keywords)
    asked = tuple(dict.fromkeys([MANUAL, *methods]))
    given = check_asked(models, asked, controls, search, seed)
    if FINETUNE in asked and options.dtype == "int8":
        raise UserError(
            "finetune trains all weights, and those of int8 are fixed: use another --dtype"
        )
    data = Path(data)
    check_data(data)
    load_sources(sources, data, relations)
    words = read_words(Path(vocab)) if vocab else None
    outlines = [load_network(name, options, weights=False) for name in models]
    vocabulary = make_vocabulary(words, outlines, lowercase)
    splits = load_splits(sources, data, relations, vocabulary, lowercase, seed)
    kept = [split for split in splits if split.train and split.test]
    if not kept:
        raise UserError(
            "no relation has a fact to learn from and one to test: choose another --vocab, or "
            "--lowercase for uncased models"
        )
    mines = MINE in asked and MINE not in given
    corpus = corpus_digests(corpus_files(search.corpus) if mines else [])
    settings: dict[str, Any] = {
        "models": {name: identify(name) for name in models},
        "methods": asked, "controls": list(controls),
        "relations": {
            _key(split): [file_digest(path) for path in fact_files(split.relation)]
            for split in splits
        },
        "templates": {_key(split): split.template for split in splits},
        "candidates": vocabulary.candidates.describe(),
        "options": {**asdict(search), "corpus": corpus, "given": {
            method: {name: p.describe() for name, p in found.items()}
            for method, found in given.items()
        }},
        "lowercase": lowercase, **options.identity(), "seed": seed,
    }  # fmt: skip
    find = _Finder(kept, vocabulary, search, given, seed)
    cells = _cells(find, models, controls, asked, options, settings)
    run = Run(results, "prompts", settings, called)
    return Job(run, cells, partial(_finish, splits, seed))


prompts = as_function(plan_prompts)


def _key(split: Split) -> str:
    return f"{split.relation.source}/{split.relation.name}"


def _cells(
    find: _Finder,
    models: Sequence[str],
    controls: Sequence[str],
    methods: Sequence[str],
    options: ModelOptions,
    settings: Mapping[str, Any],
) -> list[Cell]:
    """The answers on the test facts: of the baselines, and by every control and method."""
    load = partial(load_control, options)

    def cell(what: str, name: str, control: str, split: Split, predict: Any, work: float) -> Cell:
        asked = [_key(split), split.relation.type, split.relation.label]
        of_relation = [settings[key][_key(split)] for key in ("relations", "templates")]
        others = ("candidates", "options", "lowercase", "seed")
        common = [*(settings[key] for key in others), options.identity()]
        return Cell(
            f"{what}: {name} on {_key(split)}",
            name,
            [what, name, settings["models"][name], asked, *of_relation, *common],
            answered_by(load, name, control, predict=partial(predict, name=name)),
            work * len(split.test),
        )

    cells = []
    for name in models:
        for split in find.splits:
            ask = partial(_baselines, split, find.uhn)
            cells.append(cell("baselines", name, NONE, split, ask, ASKING))
        for control, method, split in product(controls, methods, find.splits):
            ask = partial(find.answer, method, control, split)
            work = ASKING if method == MANUAL or method in find.given else SEARCH
            cells.append(cell(f"{method}, {control}", name, control, split, ask, work))
    return cells


class _Finder:
    """Finds the prompt of a relation by any method, and asks the test facts with it."""

    def __init__(
        self,
        splits: Sequence[Split],
        vocabulary: Vocabulary,
        options: SearchOptions,
        given: dict[str, dict[str, Prompts]],
        seed: int,
    ) -> None:
        self.splits, self.candidates = splits, vocabulary.candidates
        self.options, self.given, self.seed = options, given, seed
        self._mined: dict[str, list[str]] | None = None

    def uhn(self, model: ClozeModel, split: Split) -> list[bool]:
        return leaks_answer(model, split.relation, split.test, self.candidates)

    def prompt(self, model: ClozeModel, method: str, split: Split) -> Prompts:
        """The method's prompt for one relation: all that it may see is train and dev."""
        options, name = self.options, split.relation.name
        if method in self.given:
            found = self.given[method].get(name)
            if found is None:
                raise UserError(
                    f"{options.given[method]} has no prompt for {name}: add one, or choose "
                    "relations with --relation"
                )
            if found.kind == "patterns" or (found.kind == "ensemble" and options.top_k):
                top_k = options.top_k or 1
                return best_of(model, split, self.candidates, found.templates, top_k)
            return found
        if method == MINE:
            if self._mined is None:
                self._mined = mine_templates(options.corpus, self.splits)
            templates = self._mined[name]
            return best_of(model, split, self.candidates, templates, options.top_k or 1)
        if method == AUTOPROMPT:
            steps, n = options.steps, options.n_candidates
            return autoprompt(model, split, self.candidates, self.seed, steps=steps, n_candidates=n)
        if method == OPTIPROMPT:
            return optiprompt(model, split, self.candidates, self.seed, options.vectors)
        return Prompts("template", (split.template,))  # manual, and what fine-tuning asks with

    def answer(
        self, method: str, control: str, split: Split, model: ClozeModel, name: str
    ) -> pd.DataFrame:
        """The predictions on the test facts, with the file of the prompt in the first row."""
        found = self.prompt(model, method, split)
        tuned = method == FINETUNE
        ask = partial(predict_facts, model, split.relation, candidates=self.candidates)
        with finetuned(model, split, self.candidates, self.seed) if tuned else nullcontext():
            frame = ask(facts=split.test, prompts=found)
            dev = ask(facts=split.selection, prompts=found)
        if not tuned:
            file, content = prompts_file(split.relation.name, found)
            frame[FILE] = f"{slug(model.name)}/{method}/{file}"
            frame[CONTENT] = pd.Series([content], dtype=object).reindex(frame.index)
        dev_p_at_1 = 100 * float((dev["gold_rank"] == 1).mean())
        return frame.assign(model=name, method=method, control=control, dev_p_at_1=dev_p_at_1)


def _baselines(
    split: Split,
    uhn: Callable[[TextModel, Split], list[bool]],
    model: TextModel,
    name: str,
) -> pd.DataFrame:
    """Majority, class prior and naive Bayes, with `helpful_name` of each fact."""
    methods: dict[str, Callable[[Sequence[Fact]], pd.DataFrame]] = {
        MAJORITY: lambda facts: predict_freq(split.relation, facts),
        CLASS_PRIOR: lambda facts: predict_class_prior(split, facts),
        NAIVE_BAYES: lambda facts: predict_naive_bayes(split, facts, model),
    }
    frames = []
    for method, predict in methods.items():
        dev = float("nan")  # the majority is that of the facts asked: an oracle
        if method != MAJORITY:
            dev = 100 * float((predict(split.selection)["gold_rank"] == 1).mean())
        frame = predict(split.test)
        frames.append(frame.assign(model=name, method=method, control="", dev_p_at_1=dev))
    return pd.concat(frames, ignore_index=True).assign(helpful_name=uhn(model, split) * 3)


def _finish(
    splits: Sequence[Split], seed: int, run: Run, cells: Sequence[pd.DataFrame]
) -> PromptsResult:
    """The prompts, tables and the figure, made from the answers alone, written into the run's
    folder."""
    for frame in cells:
        if FILE in frame and not (path := run.folder / "prompts" / frame[FILE].iloc[0]).is_file():
            write_bytes(path, frame[CONTENT].iloc[0])
    parts = [frame.drop(columns=[FILE, CONTENT], errors="ignore") for frame in cells]
    table = pd.concat(parts, ignore_index=True)
    fact = ["source", "relation", "model", "item"]
    helpful = table.dropna(subset="helpful_name").drop_duplicates(fact).set_index(fact)
    index = pd.MultiIndex.from_frame(table[fact])
    table["helpful_name"] = helpful["helpful_name"].reindex(index).to_numpy(dtype=bool)
    by_name = {(s.relation.source, s.relation.name): s for s in splits}
    keys = list(zip(table["source"], table["relation"], strict=True))
    words = {key: majority(split.train) for key, split in by_name.items() if split.train}
    table["train_majority"] = [words[key] for key in keys]
    table["n_train"] = [len(by_name[key].train) for key in keys]
    marked = mark_outcomes(table)
    metrics = summarise_prompts(marked, seed)
    summary = pd.DataFrame([_about(split) for split in splits])
    frames = paper_tables(metrics)
    files = {report.PREDICTIONS: marked, report.METRICS: metrics, report.SPLITS: summary}
    short = with_short_names({"metrics": metrics, "splits": summary})
    drawn = draw_once(run, lambda: report.pictures(**short))
    run.finish({**files, **frames}, seed, drawn)
    return PromptsResult(run.folder, marked, metrics, summary, frames)


def _about(split: Split) -> dict[str, Any]:
    """Sizes of the parts; how frequent train's majority object is in train and in test."""
    row: dict[str, Any] = {"source": split.relation.source, "relation": split.relation.name}
    row |= {f"n_{part}": len(getattr(split, part)) for part in ("train", "dev", "test")}
    row["majority"] = majority(split.train) if split.train else None
    for part in ("train", "test"):
        same = [fact.object == row["majority"] for fact in getattr(split, part)]
        row[f"majority_share_{part}"] = 100 * sum(same) / len(same) if same else float("nan")
    return row | split.counts
