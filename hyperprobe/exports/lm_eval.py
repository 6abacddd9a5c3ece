"""`export lm-eval`: a folder of tasks for lm-evaluation-harness (multiple choice).

A task has the candidates of a probe after the text before its slot, as `--causal-scoring
continuation` scores them: what follows the slot is not read. The space before the slot belongs to
the candidate, so that tokens are those of the sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import hyperprobe
from hyperprobe.cloze import SLOT
from hyperprobe.diagnostic.sets import load_sets
from hyperprobe.exports.questions import Question, questions_of, slug
from hyperprobe.options import Article, ExportedProbes
from hyperprobe.runs.files import write_text

UTILS = '''"""How lm-evaluation-harness reads and measures the tasks of this folder."""

import json
from pathlib import Path

import datasets
import numpy as np


def load(file, **_):
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    return {"test": datasets.Dataset.from_list([json.loads(line) for line in lines])}


def process_results(doc, results):
    scores, gold = [score for score, _ in results], doc["gold"]
    return {"acc": float(np.argmax(scores) == gold), "acc_calibrated": (scores, gold)}


def calibrated(items):
    """Accuracy with each candidate's mean score over the other items subtracted."""
    scores, gold = (np.array(one) for one in zip(*items))
    others = (scores.sum(axis=0) - scores) / max(1, len(scores) - 1)
    return float(np.mean((scores - others).argmax(axis=1) == gold))
'''
METRICS = """metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
"""
CALIBRATED = """  - metric: acc_calibrated
    aggregation: !function utils.calibrated
    higher_is_better: true
process_results: !function utils.process_results
"""


def export_lm_eval(
    folder: Path,
    diagnostics: Sequence[str],
    article: Article,
    probes: ExportedProbes = "zero-shot",
) -> list[str]:
    """Write a task for each probe and set, a group for each set, and return the groups' names.

    Tasks of zero-shot have the metric `acc_calibrated` beside `acc`; those of consistency, where
    each question has its own candidates, do not. Raises `UserError` for what is no set.
    """
    groups = []
    for name, of_set in load_sets(diagnostics).items():
        by_probe: dict[str, list[Question]] = {}
        for question in questions_of(of_set, probes, article):
            if question.gold is not None:
                by_probe.setdefault(question.probe, []).append(question)
        group = f"hyperprobe_{slug(name)}_{slug(probes)}"
        tasks = [f"{group}_{slug(probe)}" for probe in by_probe]
        for task, questions in zip(tasks, by_probe.values(), strict=True):
            write_text(folder / f"{task}.jsonl", _lines(questions))
            write_text(folder / f"{task}.yaml", _task(task, probes))
        listed = "".join(f"  - {task}\n" for task in tasks)
        write_text(folder / f"{group}.yaml", f"group: {group}\ntask:\n{listed}")
        groups.append(group)
    write_text(folder / "utils.py", UTILS)
    return groups


def _lines(questions: Iterable[Question]) -> str:
    return "".join(json.dumps(_doc(one), ensure_ascii=False) + "\n" for one in questions)


def _doc(question: Question) -> dict[str, Any]:
    left = question.text.split(SLOT)[0]
    space = " " if left.endswith(" ") else ""
    return {
        **question.row(),
        "context": left.rstrip(" "),
        "choices": [f"{space}{word}" for word in question.candidates],
        "wording": question.wording,
    }


def _task(task: str, probes: ExportedProbes) -> str:
    """The YAML of a task; a JSON text is one of YAML."""
    return (
        f"task: {task}\n"
        "custom_dataset: !function utils.load\n"
        f"dataset_kwargs:\n  file: {json.dumps(f'{task}.jsonl')}\n"
        "test_split: test\n"
        "output_type: multiple_choice\n"
        'doc_to_text: "{{context}}"\n'
        "doc_to_choice: choices\n"
        "doc_to_target: gold\n"
        'target_delimiter: ""\n'
        f"{METRICS}{CALIBRATED if probes == 'zero-shot' else ''}"
        f"metadata:\n  version: 1.0\n  hyperprobe: {json.dumps(hyperprobe.__version__)}\n"
    )
