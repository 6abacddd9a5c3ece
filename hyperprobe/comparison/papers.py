"""Runs against the papers' tables, for `hyperprobe compare --published`.

Each function takes a finished run and gives rows of `runs.COLUMNS`: every number of
the run that a paper gives of a model in the same role, and the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.comparison.roles import SIZES, Models
from hyperprobe.data.published import read_published
from hyperprobe.documents import Document
from hyperprobe.names import (
    CONTROL_BARE,
    EMBEDDED_VECTORS,
    FREQ,
    MAJORITY,
    RE_NAIVE,
    RE_ORACLE,
    RETRIEVE_READ,
)
from hyperprobe.probes.lama.metrics import MACRO, RAW
from hyperprobe.probes.lama.sources import CONCEPTNET, GOOGLE_RE, SQUAD, TREX
from hyperprobe.probes.zero_shot.outcomes import METRICS
from hyperprobe.runs.read import FinishedRun
from hyperprobe.statistics.intervals import newcombe_interval

# Items of the paper's sets (sections 2.1.1 and 2.1.2), and those with a contextual prompt.
PAPER_ITEMS = {"lm-diagnostic": 18, "lm-diagnostic-extended": 576}
PAPER_CONTEXTUAL = 186
NEED_CONTEXT = ("contextual", "paired_aggregate")
# LAMA's names of its corpora and of Google-RE's relations, in Petroni et al.'s Table 2.
PAPER_CORPORA = {
    GOOGLE_RE: "Google-RE", TREX: "T-REx", CONCEPTNET: "ConceptNet", SQUAD: "SQuAD",
}  # fmt: skip
PAPER_RELATIONS = {
    MACRO: "total", "place_of_birth": "birth-place", "date_of_birth": "birth-date",
    "place_of_death": "death-place",
}  # fmt: skip
# Columns of that table that are baselines here.
PAPER_BASELINES = {FREQ: "freq", RETRIEVE_READ: "drqa", RE_NAIVE: RE_NAIVE, RE_ORACLE: RE_ORACLE}
# The OptiPrompt paper's controls, and its names of methods where ours differ.
CONTROLS = ("random-model", "random-embeddings")
OPTIPROMPT_METHODS = {
    "lama_manual": "manual",
    "autoprompt_5": "autoprompt",
    "optiprompt_5": "optiprompt-5",
    "optiprompt_10": "optiprompt-10",
    "optiprompt_manual": "optiprompt-manual",
    "optiprompt": "optiprompt-manual",  # of the tables that have one
}
PROMPT_METRICS = ("p_at_1", "p_at_1_majority", "p_at_1_easy", "p_at_1_hard", "p_at_1_uhn")


class SearchOptions(Document):
    vectors: str


class PromptSettings(Document):
    """What a comparison must know of a prompt search's settings."""

    options: SearchOptions


def with_table_2(run: FinishedRun) -> Iterator[dict[str, Any]]:
    """Each model of a zero-shot run against its kind in the paper's Table 2."""
    published, source = read_published("hypernymy_table2_zero_shot")
    paper = published.set_index(["dataset", "model"])
    needs = ("diagnostic", "model", "n_items", "n_contextual", *METRICS)
    models = Models.of(run)
    for row in run.table("metrics.csv", needs).to_dict("records"):
        key = (row["diagnostic"], paper_kind(row["model"], models))
        if key not in paper.index:
            continue
        for metric in METRICS:
            theirs = float(paper.at[key, metric])
            if row[metric] != row[metric] or theirs != theirs:
                continue
            contextual = metric in NEED_CONTEXT and row["diagnostic"] != "lm-diagnostic"
            m = PAPER_CONTEXTUAL if contextual else PAPER_ITEMS[row["diagnostic"]]
            n = int(row["n_contextual"] if metric in NEED_CONTEXT else row["n_items"])
            low, high = newcombe_interval(row[metric] / 100, n, theirs / 100, m)
            yield {
                "command": "zero-shot",
                "setting": row["diagnostic"],
                "metric": metric,
                "model": row["model"],
                "run": run.folder.name,
                "value": row[metric],
                "other": f"published {key[1]}",
                "other_run": source,
                "other_value": theirs,
                "difference": row[metric] - theirs,
                "difference_low": 100 * low,
                "difference_high": 100 * high,
                "n_items": n,
                "n_other": m,
            }


def paper_kind(model: str, models: Models) -> str:
    """The row of Table 2 to compare a model with: BERT's for any language model, or "none"."""
    if model == MAJORITY or model in EMBEDDED_VECTORS:
        return model
    if model.startswith(CONTROL_BARE):  # the paper's control has no full stop
        return "bert-control"
    return "bert" if models.role(model) == "language model" else "none"


def with_table_4(run: FinishedRun) -> Iterator[dict[str, Any]]:
    """Classifier probes against the paper's Table 4; intervals are from our standard deviation."""
    published, source = read_published("hypernymy_table4_classifier")
    paper = published.set_index("model")
    models = Models.of(run)
    for row in run.table("metrics.csv", ("model", "setting", "accuracy_mean")).to_dict("records"):
        role = models.role(row["model"])
        if role == "baseline" and row["model"] != MAJORITY:
            continue
        kind = "static" if role == "vectors" else "bert-context"
        if row.get("input") == "partial":
            kind = kind.removesuffix("-context") + "-partial"
        kind = MAJORITY if row["model"] == MAJORITY else kind
        column = f"{row['setting']}_mean"
        if column in paper:
            yield _against(run, row, "accuracy_mean", kind, float(paper.at[kind, column]), source)


def with_lama(run: FinishedRun) -> Iterator[dict[str, Any]]:
    """Raw P@1 against the LAMA paper's Table 2: BERT's for language models, and baselines."""
    published, source = read_published("lama_table2_p_at_1")
    paper = published.set_index(["corpus", "relation"])
    needs = ("model", "ranking", "relation", "source", "p_at_1")
    models = Models.of(run)
    for row in run.table("metrics.csv", needs).to_dict("records"):
        model = row["model"]
        known = models.role(model) == "language model" or model in PAPER_BASELINES
        if row["ranking"] != RAW or not known:
            continue
        column = PAPER_BASELINES.get(model) or models.paper_model(model)
        column = column if column in paper else "bert_base"  # of the sizes it has only BERT's
        relation = PAPER_RELATIONS.get(row["relation"], row["relation"])
        key = (PAPER_CORPORA.get(row["source"]), relation)
        if key in paper.index and paper.at[key, column] == paper.at[key, column]:
            yield _against(run, row, "p_at_1", column, float(paper.at[key, column]), source)


def with_optiprompt(run: FinishedRun) -> Iterator[dict[str, Any]]:
    """Prompt search on T-REx against the OptiPrompt paper's tables; the interval is ours."""
    start = run.settings(PromptSettings).options.vectors
    published = _optiprompt_numbers()
    needs = ("model", "control", "method", "relation", "source", *PROMPT_METRICS)
    models = Models.of(run)
    for row in run.table("metrics.csv", needs).to_dict("records"):
        model = models.paper_model(str(row["model"]))
        control = row["control"] if row["control"] in CONTROLS else ""
        method = f"optiprompt-{start}" if row["method"] == "optiprompt" else row["method"]
        for metric in PROMPT_METRICS:
            key = (model, method, control, row["relation"], metric)
            if row["source"] == TREX and key in published and row[metric] == row[metric]:
                label = " ".join(filter(None, key[:3]))
                yield _against(run, row, metric, label, *published[key])


def _optiprompt_numbers() -> dict[tuple[str, str, str, str, str], tuple[float, str]]:
    """(model, method, control, relation, metric) -> the paper's percentage and its table."""
    base, methods = "bert_base", ("manual", "lpaqa", "autoprompt", "optiprompt")
    per_relation, _ = read_published("optiprompt_table7_per_relation")
    names = dict(zip(per_relation["name"], per_relation["relation"], strict=True)) | {"all": MACRO}
    found: dict[tuple[str, str, str, str, str], tuple[float, str]] = {}

    def add(table: str, cells: Callable[[pd.Series], Iterator[tuple[str, ...]]]) -> None:
        """`cells` of a row: (column, model, method, control, relation, metric) of its numbers."""
        published, source = read_published(f"optiprompt_{table}")
        for _, row in published.iterrows():
            for column, model, method, control, relation, metric in cells(row):
                if row[column] == row[column]:
                    named = OPTIPROMPT_METHODS.get(method, method)
                    relation = names.get(relation, relation)
                    key = (model, named, control, relation, metric)
                    found.setdefault(key, (float(row[column]), source))

    add(
        "table2_overall",
        lambda row: chain(
            ((c, base, row["method"], "", c, "p_at_1") for c in ("1-1", "N-1", "N-M", "all")),
            [("uhn", base, row["method"], "", MACRO, "p_at_1_uhn")],
        ),
    )
    add(
        "table3_classifiers",
        lambda row: (
            (c, base, c.replace("_", "-"), "", row["relation"], "p_at_1")
            for c in ("class_prior", "naive_bayes")
        ),
    )
    add(
        "table4_easy_hard",
        lambda row: (
            (c, base, row["method"], "", MACRO, f"p_at_1_{c.split('_')[0]}")
            for c in ("easy_10546", "hard_23493")
        ),
    )
    # Table 6 uses another vocabulary: of BERT-base only what Table 2 does not give.
    add(
        "table6_models",
        lambda row: (
            (f"{model}_{kind}", model, row["method"], control, MACRO, "p_at_1")
            for model in (base, *SIZES)
            for kind, control in (("pretrained", ""), ("random", "random-model"))
        ),
    )
    add(
        "table7_per_relation",
        lambda row: ((method, base, method, "", row["relation"], "p_at_1") for method in methods),
    )
    add(
        "table8_random_controls",
        lambda row: (
            (
                f"{control}_{method}_{kind}".replace("-", "_"),
                base,
                method,
                control,
                row["relation"],
                m,
            )
            for control in CONTROLS
            for method in ("autoprompt", "optiprompt", "finetune")
            for kind, m in (("majority", "p_at_1_majority"), ("accuracy", "p_at_1"))
        ),
    )
    add(
        "table9_easy_hard",
        lambda row: (
            (f"{part}_{method}", base, method, "", row["relation"], f"p_at_1_{part}")
            for part in ("easy", "hard")
            for method in methods
        ),
    )
    return found


def _against(
    run: FinishedRun, row: dict[str, Any], metric: str, other: str, theirs: float, source: str
) -> dict[str, Any]:
    """One value against a published one, whose uncertainty is not known."""
    words = dict.fromkeys(v for k, v in row.items() if isinstance(v, str) and k != "model")
    ends = {
        f"difference_{end}": row.get(f"{metric}_{end}", np.nan) - theirs for end in ("low", "high")
    }
    return {
        "command": run.command,
        "setting": " ".join(words),
        "metric": metric,
        "model": row["model"],
        "run": run.folder.name,
        "value": row[metric],
        "other": f"published {other}",
        "other_run": source,
        "other_value": theirs,
        "difference": row[metric] - theirs,
        **ends,
    }


PUBLISHED: dict[str, Callable[[FinishedRun], Iterable[dict[str, Any]]]] = {
    "zero-shot": with_table_2,
    "classify": with_table_4,
    "lama": with_lama,
    "prompts": with_optiprompt,
}
