"""`lama`: sources x models -> predictions -> metrics, the way LAMA does it and further."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from hyperprobe.cloze import SLOT, CandidateSet
from hyperprobe.errors import UserError
from hyperprobe.models.base import ClozeModel, shared_words
from hyperprobe.models.load import LastLoaded, identify, load_model
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.models.reference_tokens import use_reference_tokens
from hyperprobe.names import EMBEDDED, EMBEDDED_VECTORS, FREQ, RANDOM, distinct_models, is_vectors
from hyperprobe.options import LoadKeywords, ModelOptions, check_seed
from hyperprobe.probes.lama.asked import CONTROLS, RANDOM_CONTROL, relations_asked, words_asked
from hyperprobe.probes.lama.factors import with_factors
from hyperprobe.probes.lama.metrics import (
    add_filtered_rank,
    compare_on_facts,
    consistency,
    correlations,
    p_at_k,
    summarise_facts,
    summarise_mentions,
    summarise_negated,
)
from hyperprobe.probes.lama.predictions import (
    choose_mentions,
    predict_facts,
    predict_freq,
    predict_mentions,
    predict_negated,
)
from hyperprobe.probes.lama.protocol import DROPPED, Fact, Vocabulary, select
from hyperprobe.probes.lama.sources import DATA, WORDNET, Relation
from hyperprobe.probes.lama.vocabulary import drop_unspelled, make_vocabulary
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.run import Run

# What decides a candidate's score when it is several word pieces.
ONE_TOKEN = "log-probability of one token"
# (a pass for each number of masks; left to right it would be one for each beginning of a word)
SEVERAL_TOKENS = (
    "sum of the log-probabilities of the object's pieces, each with all of them masked "
    "(causal models: by the chain rule), among the relation's objects"
)


@dataclass(frozen=True)
class LamaResult:
    """The run's `folder`, its `predictions`, and the tables made from them alone.

    `facts` counts what was kept and dropped, and why; `tables` has the rest by
    file name: `mcnemar.csv`, `p_at_k.csv`, `correlations.csv`, and, when asked for,
    `negated.csv`, `mentions.csv`, `consistency.csv`.
    """

    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    facts: pd.DataFrame
    tables: dict[str, pd.DataFrame]


def lama(
    models: GivenModels = EMBEDDED,
    sources: Sequence[str] = (WORDNET,),
    data: Path = DATA,
    relations: Sequence[str] = (),
    vocab: Path | Sequence[str] | None = None,
    prompts: Path | None = None,
    lowercase: bool = False,
    multi_token: bool = False,
    negated: bool = False,
    mentions: bool = False,
    controls: Sequence[str] = (),
    results: Path = Path("results"),
    seed: int = 0,
    **keywords: Unpack[LoadKeywords],
) -> LamaResult:
    """Ask `models` and the baselines for the objects of facts.

    `sources` are names (`hyperprobe.probes.lama.sources.SOURCES`), files or folders;
    `data` holds LAMA's files; `relations` picks some. `vocab` is a file of words,
    or models whose common words it is (default: those of `models`). `prompts` is a
    file or folder of prompts instead of the source's own. `multi_token` keeps
    objects of several tokens, each ranked among all objects of its relation.
    `negated` and `mentions` add these analyses; `controls=("random",)` each model
    with random weights. Keywords are the fields of `ModelOptions` that say how models are
    loaded. Each (relation, model) is stored when it is done. Raises
    `UserError` on bad input.
    """
    models = model_names(models)
    given = dict(locals())
    options = ModelOptions(**keywords, pll="all-masked" if multi_token else "within-word")
    models = distinct_models(models)
    check_seed(seed)
    if unknown := [control for control in controls if control not in CONTROLS]:
        raise UserError(f"unknown control {unknown[0]}: choose from {', '.join(CONTROLS)}")
    asked, prompts_of = relations_asked(sources, data, relations, prompts)
    words = words_asked(vocab)
    names = list(dict.fromkeys([*models, *EMBEDDED_VECTORS]))
    language_models = [name for name in names if not is_vectors(name)]
    if not language_models:
        raise UserError("name at least one language model: vectors rank its vocabulary")
    if RANDOM_CONTROL in controls:
        names += [f"{RANDOM}{n}" for n in language_models if not n.startswith(RANDOM)]
        names = list(dict.fromkeys(names))
    held = LastLoaded(partial(_load, options))
    vocabulary = _vocabulary(words, vocab, language_models, held.get, lowercase)
    selected = {r: select(r, vocabulary, lowercase, multi_token) for r in asked}
    if multi_token:
        for name in language_models:
            selected = {r: drop_unspelled(held.get(name), *s) for r, s in selected.items()}
    kept = [(r, facts) for r, (facts, _) in selected.items() if facts]
    if not kept:
        raise UserError(_nothing_left(selected))
    settings = {
        "models": {name: identify(name) for name in names},
        "relations": {f"{r.source}/{r.name}": file_digest(r.path) for r in asked},
        "templates": {f"{r.source}/{r.name}": [r.template, r.negated] for r in asked},
        "prompts": {name: p.describe() for name, p in prompts_of.items()},
        "candidates": vocabulary.candidates.describe(),
        "scoring": SEVERAL_TOKENS if multi_token else ONE_TOKEN,
        "lowercase": lowercase,
        "negated": negated,
        "mentions": mentions,
        **options.identity(),
        "seed": seed,
    }
    run = Run(results, "lama", settings, given)
    answers: dict[str, list[pd.DataFrame]] = {"facts": [], "negated": [], "mentions": []}
    for name in names:
        for relation, facts in kept:
            common = {
                "relation": relation,
                "candidates": _candidates(vocabulary, facts, multi_token),
            }
            questions: list[tuple[str, Callable[..., pd.DataFrame], dict[str, Any]]] = [
                ("facts", predict_facts, {"facts": facts, "prompts": prompts_of.get(relation.name)})
            ]
            if negated and not is_vectors(name) and (some := _with_negation(relation, facts)):
                questions.append(("negated", predict_negated, {"facts": some}))
            if mentions and not is_vectors(name) and (chosen := choose_mentions(facts, seed)):
                questions.append(("mentions", predict_mentions, {"chosen": chosen}))
            for kind, predict, about in questions:
                compute = partial(held.answer, partial(predict, **common, **about), name)
                key = f"{kind}: {name} on {relation.source}/{relation.name}"
                answers[kind].append(run.cell(key, compute))
    answers["facts"] += [predict_freq(relation, facts) for relation, facts in kept]
    return _finish(run, answers, selected, names, seed)


def _load(options: ModelOptions, name: str) -> ClozeModel:
    """The model with the reference code's tokens around the mask, where that knew its kind."""
    model = load_model(name, options)
    use_reference_tokens(model)
    return model


def _vocabulary(
    words: list[str] | None,
    vocab: Path | Sequence[str] | None,
    models: Sequence[str],
    load: Callable[[str], ClozeModel],
    lowercase: bool,
) -> Vocabulary:
    # One model after the other: they need not fit into memory together.
    if words is None and vocab and not isinstance(vocab, Path):
        words = shared_words(map(load, vocab))
    return make_vocabulary(words, map(load, models), lowercase)


def _candidates(vocabulary: Vocabulary, facts: list[Fact], multi_token: bool) -> CandidateSet:
    return CandidateSet.of(f.object for f in facts) if multi_token else vocabulary.candidates


def _with_negation(relation: Relation, facts: list[Fact]) -> list[Fact]:
    """The facts that can be negated: all by a template, else those that bring a sentence."""
    if relation.template is not None:
        return facts if relation.negated else []
    return [fact for fact in facts if SLOT in fact.negated]


def _nothing_left(selected: dict[Relation, tuple[list[Fact], dict[str, int]]]) -> str:
    total: Counter[str] = Counter()
    for _, counts in selected.values():
        total.update(counts)
    most = max((reason for reason in DROPPED), key=lambda reason: total[reason])
    return (
        f"none of {total['n_rows']} facts is left ({total[most]} {most.removeprefix('n_')}): "
        "choose another --vocab, --lowercase for uncased models, or --multi-token"
    )


def _finish(
    run: Run,
    answers: dict[str, list[pd.DataFrame]],
    selected: dict[Relation, tuple[list[Fact], dict[str, int]]],
    names: Sequence[str],
    seed: int,
) -> LamaResult:
    """The tables, made from the answers alone, written into the run's folder."""
    table = add_filtered_rank(_in_order(pd.concat(answers["facts"], ignore_index=True), names))
    table = with_factors(table)
    # Of several paraphrases the first one is the headline, as ParaRel's base pattern.
    first = table.groupby(["source", "relation", "model"])["prompt"].transform("first")
    headline = table[table["prompt"] == first]
    facts = pd.DataFrame(
        [
            {"source": relation.source, "relation": relation.name, **counts}
            for relation, (_, counts) in selected.items()
        ]
    )
    metrics = summarise_facts(headline, seed)
    tables = {
        "mcnemar.csv": compare_on_facts(headline),
        "p_at_k.csv": p_at_k(headline),
        "correlations.csv": correlations(headline),
    }
    if len(headline) < len(table):
        tables["consistency.csv"] = consistency(table)
    if answers["negated"]:
        tables["negated.csv"] = summarise_negated(pd.concat(answers["negated"]))
    if answers["mentions"]:
        mentions = pd.concat(answers["mentions"], ignore_index=True)
        tables |= {"mentions.csv": summarise_mentions(mentions), "mentions.parquet": mentions}
    files = {"predictions.parquet": table, "metrics.csv": metrics, "facts.csv": facts}
    run.finish({**files, **tables}, seed)
    return LamaResult(run.folder, table, metrics, facts, tables)


def _in_order(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """`freq`, vectors, random weights and models, each with its relations in order."""

    def place(model: str) -> int:
        if model == FREQ:
            return -1
        kind = 0 if is_vectors(model) else 1 if model.startswith(RANDOM) else 2
        return kind * len(names) + list(names).index(model)

    order = {model: place(model) for model in table["model"].unique()}
    return table.iloc[np.argsort(table["model"].map(order).to_numpy(), kind="stable")].reset_index(
        drop=True
    )
