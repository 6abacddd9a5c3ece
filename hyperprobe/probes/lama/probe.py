"""`lama`: sources x models -> predictions -> metrics, the way LAMA does it and further."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import ClassVar, Unpack

import pandas as pd

from hyperprobe.errors import UserError
from hyperprobe.model_names import in_papers_order, is_vectors, with_random_weights
from hyperprobe.models.base import ClozeModel, shared_words
from hyperprobe.models.load import identify, load_outline
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.names import (
    BASELINES,
    EMBEDDED,
    EMBEDDED_VECTORS,
    FREQ,
    RANDOM,
    RETRIEVE_READ,
    StrPath,
    listed,
)
from hyperprobe.options import (
    LAMA_BASELINES,
    LAMA_CONTROLS,
    RESULTS,
    LamaBaseline,
    LamaControl,
    LoadKeywords,
    ModelOptions,
    check_choices,
    check_seed,
)
from hyperprobe.probes.lama import report, tables
from hyperprobe.probes.lama.asked import check_baselines, relations_asked, words_asked
from hyperprobe.probes.lama.extraction.baseline import RE, cells_of_re, predict_re
from hyperprobe.probes.lama.extraction.sentences import Sentence, read_sentences
from hyperprobe.probes.lama.gather import Answered, gather
from hyperprobe.probes.lama.metrics import summarise_mentions, summarise_negated
from hyperprobe.probes.lama.predictions import predict_freq
from hyperprobe.probes.lama.protocol import DROPPED, Fact, Vocabulary, select
from hyperprobe.probes.lama.questions import FACTS, MENTIONS, NEGATED, Asked, Part, Questions
from hyperprobe.probes.lama.sources import DATA, WORDNET, Relation
from hyperprobe.probes.lama.vocabulary import drop_unspelled, make_vocabulary
from hyperprobe.reading.answers import RetrieveRead
from hyperprobe.render.drawn import draw_once
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.frames import Frames
from hyperprobe.runs.jobs import Job, as_function
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.run import Run

# What decides a candidate's score when it is several word pieces.
ONE_TOKEN = "log-probability of one token"
# (a pass for each number of masks; left to right it would be one for each beginning of a word)
SEVERAL_TOKENS = (
    "sum of the log-probabilities of the object's pieces, each with all of them masked "
    "(causal models: by the chain rule), among the relation's objects"
)


Selected = dict[Relation, tuple[list[Fact], dict[str, int]]]  # facts kept, and counts of the rest


@dataclass(frozen=True, repr=False, eq=False)
class LamaResult(Result):
    """The run's `folder`, its `predictions` (read when they are asked for), and the tables made
    from them alone.

    `facts` counts what was kept and dropped, and why; `frames` has the rest by
    file name: `mcnemar.csv`, `p_at_k.csv`, `correlations.csv`, and, when asked for,
    `negated.csv`, `mentions.csv`, `consistency.csv`. `seed` picks the examples shown.
    """

    command: ClassVar[str] = "lama"
    folder: Path
    metrics: pd.DataFrame
    facts: pd.DataFrame
    frames: dict[str, pd.DataFrame]
    seed: int = 0

    @classmethod
    def read(cls, run: FinishedRun) -> LamaResult:
        """The result of a finished run. Raises `UserError` if its tables are damaged."""
        files = report.read_files(run)
        seed = int(run.notes.get("seed") or 0)
        metrics, facts = (files.pop(name) for name in (tables.METRICS, tables.FACTS))
        return cls(run.folder, metrics, facts, files, seed)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """The answer of every model to every fact."""
        return report.read_predictions(read_run(self.folder))

    def tables(self) -> list[Table]:
        """Facts kept, P@1 per relation and in all, examples, and what was asked besides."""
        examples = tables.examples(self.folder / tables.PREDICTIONS, self.seed)
        shown = {tables.PREDICTIONS: examples, **self.files()}
        return list(tables.tables(with_short_names(shown)))

    def files(self) -> dict[str, pd.DataFrame]:
        """Every table made from the predictions, by its file name in the folder."""
        return {
            tables.METRICS: self.metrics,
            tables.FACTS: self.facts,
            **self.frames,
        }


def plan_lama(
    models: GivenModels = EMBEDDED,
    sources: str | Sequence[str] = WORDNET,
    data: StrPath = DATA,
    relations: str | Sequence[str] = (),
    vocab: StrPath | Sequence[str] | None = None,
    prompts: StrPath | None = None,
    lowercase: bool = False,
    multi_token: bool = False,
    negated: bool = False,
    mentions: bool = False,
    controls: LamaControl | Sequence[LamaControl] = (),
    baselines: LamaBaseline | Sequence[LamaBaseline] = (),
    documents: StrPath | None = None,
    reader: StrPath | None = None,
    questions: StrPath | None = None,
    results: StrPath = RESULTS,
    seed: int = 0,
    **keywords: Unpack[LoadKeywords],
) -> Job[LamaResult]:
    """Ask `models` and the baselines for the objects of facts.

    `sources` are names (`hyperprobe.probes.lama.sources.SOURCES`), files or folders;
    `data` holds LAMA's files; `relations` picks some. `vocab` is a file of words,
    or a list of models whose common words it is (default: those of `models`). `prompts` is a
    file or folder of prompts instead of the source's own. `multi_token` keeps
    objects of several tokens, each ranked among all objects of its relation.
    `negated` and `mentions` add these analyses; `controls=("random",)` each model
    with random weights. `baselines`: `re` is relation extraction from the facts' evidence
    sentences; `retrieve-read` finds `documents` near each question and reads them with `reader`
    (`hyperprobe.reading`), where `questions` is a file of SQuAD with questions by the ids of
    facts. Keywords are the fields of `ModelOptions` that say how models are
    loaded. Each (relation, model) is stored when it is done. Raises
    `UserError` on bad input.
    """
    models, sources, controls = model_names(models), listed(sources), listed(controls)
    relations, baselines = listed(relations), listed(baselines)
    documents, reader, questions = (
        None if path is None else Path(path) for path in (documents, reader, questions)
    )
    given = dict(locals())
    options = ModelOptions(**keywords, pll="all-masked" if multi_token else "within-word")
    check_seed(seed)
    check_choices("control", controls, LAMA_CONTROLS)
    check_choices("baseline", baselines, LAMA_BASELINES)
    prompts = None if prompts is None else Path(prompts)
    by_id = check_baselines(baselines, documents, reader, questions, multi_token)
    asked, prompts_of = relations_asked(sources, Path(data), relations, prompts)
    sentences = read_sentences(asked) if RE in baselines else []
    words = words_asked(vocab)
    shown = [name for name in models if not is_vectors(name)]
    if not shown:
        raise UserError("name at least one language model: vectors rank its vocabulary")
    names = _names(models, shown if controls else [])
    outline = cache(partial(load_outline, options=options))
    vocabulary = _vocabulary(words, vocab, shown, outline, lowercase)
    selected = {r: select(r, vocabulary, lowercase, multi_token) for r in asked}
    if multi_token:
        for name in shown:
            selected = {r: drop_unspelled(outline(name), *s) for r, s in selected.items()}
    if not any(facts for facts, _ in selected.values()):
        raise UserError(_nothing_left(selected))
    ids = {name: identify(name) for name in names}
    settings = {
        "models": ids,
        "relations": {f"{r.source}/{r.name}": file_digest(r.path) for r in asked},
        "templates": {f"{r.source}/{r.name}": [r.template, r.negated] for r in asked},
        "prompts": {name: p.describe() for name, p in prompts_of.items()},
        "candidates": vocabulary.candidates.describe(),
        "scoring": SEVERAL_TOKENS if multi_token else ONE_TOKEN,
        "lowercase": lowercase,
        "negated": negated,
        "mentions": mentions,
        "baselines": sorted(set(baselines)),
        **options.identity(),
        "seed": seed,
    }
    found = None
    if documents is not None and reader is not None:
        found = RetrieveRead(documents, reader, Path(results), options)
        settings[RETRIEVE_READ] = {
            **found.identity,
            "questions": None if questions is None else file_digest(questions),
        }
    run = Run(results, "lama", settings, given)
    asks = Questions(
        [(relation, facts) for relation, (facts, _) in selected.items() if facts],
        vocabulary.candidates, prompts_of, multi_token, negated, mentions, lowercase, seed, options,
        settings,
    )  # fmt: skip
    asked_cells: list[Asked] = []
    if found is not None:  # before the models: that the documents can be read is seen last
        asked_cells += asks.retrieve_read_cells(found, by_id)
    if sentences:
        cells = cells_of_re(sentences, settings["relations"], seed)
        asked_cells += [Asked(RE, cell) for cell in cells]
    for name in names:
        asked_cells += asks.cells_of(name, ids[name])
    finish = partial(_finish, asks, asked_cells, sentences, selected, names)
    return Job(run, [one.cell for one in asked_cells], finish, partial(_read, seed))


lama = as_function(plan_lama)


def _vocabulary(
    words: list[str] | None,
    vocab: StrPath | Sequence[str] | None,
    models: Sequence[str],
    load: Callable[[str], ClozeModel],
    lowercase: bool,
) -> Vocabulary:
    # One model after the other: they need not fit into memory together.
    if words is None and vocab and not isinstance(vocab, str | os.PathLike):
        words = shared_words(map(load, vocab))
    return make_vocabulary(words, map(load, models), lowercase)


def _nothing_left(selected: Selected) -> str:
    total: Counter[str] = Counter()
    for _, counts in selected.values():
        total.update(counts)
    most = max((reason for reason in DROPPED), key=lambda reason: total[reason])
    return (
        f"none of {total['n_rows']} facts is left ({total[most]} {most.removeprefix('n_')}): "
        "choose another --vocab, --lowercase for uncased models, or --multi-token"
    )


def _names(models: Sequence[str], randomised: Sequence[str]) -> list[str]:
    """All that is asked: the models, the vectors, and random weights in the shape of some."""
    shuffled = with_random_weights(randomised)
    return list(dict.fromkeys([*in_papers_order(models), *EMBEDDED_VECTORS, *shuffled]))


def _read(seed: int, run: Run) -> LamaResult | None:
    finished = run.finished(seed)
    return LamaResult.read(finished) if finished else None


def _finish(
    asks: Questions,
    asked: Sequence[Asked],
    sentences: Sequence[Sentence],
    selected: Selected,
    names: Sequence[str],
    run: Run,
    cells: Frames,
) -> LamaResult:
    """The tables and figures, made from the answers alone, written into the run's folder."""
    seed = asks.seed
    of_kind: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(asked):
        of_kind[one.kind].append(i)
    answered = _answered(asks, asked, sentences, cells)
    answered.sort(key=lambda one: _rank(one.model, names))
    freq = next(one for one in answered if one.model == FREQ)
    schema = cells.schema([freq.parts[0]()], of_kind[FACTS])
    frames = gather(answered, asks.parts, schema, run.folder / tables.PREDICTIONS, seed)
    metrics = frames.pop(tables.METRICS)
    facts = pd.DataFrame(
        [
            {"source": relation.source, "relation": relation.name, **counts}
            for relation, (_, counts) in selected.items()
        ]
    )
    if of_kind[NEGATED]:
        negated = pd.concat(cells[i] for i in of_kind[NEGATED])
        frames["negated.csv"] = summarise_negated(negated)
    if of_kind[MENTIONS]:
        mentions = pd.concat((cells[i] for i in of_kind[MENTIONS]), ignore_index=True)
        frames |= {"mentions.csv": summarise_mentions(mentions), report.MENTIONS: mentions}
    result = LamaResult(run.folder, metrics, facts, frames, seed)
    drawn = draw_once(run, lambda: report.pictures(with_short_names(frames)))
    run.finish(result.files(), seed, [tables.PREDICTIONS, *drawn])
    return result


def _answered(
    asks: Questions, asked: Sequence[Asked], sentences: Sequence[Sentence], cells: Frames
) -> list[Answered]:
    """The answers of all models and baselines, relation by relation."""
    read: dict[tuple[str, Relation], list[Callable[..., pd.DataFrame]]] = defaultdict(list)
    for i, one in enumerate(asked):
        if one.kind == FACTS and one.relation is not None:
            read[one.cell.model or RETRIEVE_READ, one.relation].append(partial(cells.read, i))
    for part in asks.parts:
        whole = asks.facts_of[part.relation]
        read[FREQ, part.relation].append(partial(_freq, part, whole))
    if sentences:
        triples = [cells[i] for i, one in enumerate(asked) if one.kind == RE]
        of_relations = [(r, facts, asks.candidates_for(facts)) for r, facts in asks.kept]
        found = predict_re(triples, sentences, of_relations, asks.lowercase, asks.seed)
        relations = {(r.source, r.name): r for r, _ in asks.kept}
        for frame in found:
            source, name, model = frame[["source", "relation", "model"]].iloc[0]
            read[model, relations[source, name]].append(partial(_some, frame))
    return [Answered(model, relation, parts) for (model, relation), parts in read.items()]


def _freq(part: Part, whole: Sequence[Fact], columns: Sequence[str] | None = None) -> pd.DataFrame:
    return _some(predict_freq(part.relation, part.facts, whole, part.start), columns)


def _some(frame: pd.DataFrame, columns: Sequence[str] | None = None) -> pd.DataFrame:
    return frame if columns is None else frame[list(columns)]


def _rank(model: str, names: Sequence[str]) -> int:
    """Baselines come first, then vectors, random weights and models."""
    if model in BASELINES:
        return BASELINES.index(model) - len(BASELINES)
    kind = 0 if is_vectors(model) else 1 if model.startswith(RANDOM) else 2
    return kind * len(names) + list(names).index(model)
