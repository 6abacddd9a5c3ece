"""`export inspect`: a task file for Inspect, which asks chat models for a letter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hyperprobe.diagnostic.sets import load_sets
from hyperprobe.exports.questions import slug, zero_shot_questions
from hyperprobe.options import Article
from hyperprobe.runs.files import write_text

TASK = '''"""Questions of hyperprobe as multiple choice: inspect eval {file} -T probe=singular"""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


def samples(probe):
    path = Path(__file__).with_suffix(".jsonl")
    for line in path.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if question["probe"] == probe:
            yield Sample(
                input="Which of the words fits into the place of [MASK]? " + question["text"],
                choices=question["candidates"],
                target=chr(ord("A") + question["gold"]),
                id=question["noun"],
                metadata={{"category": question["category"]}},
            )


@task
def hyperprobe(probe="singular"):
    data = MemoryDataset(list(samples(probe)), name=f"{{Path(__file__).stem}} {{probe}}")
    return Task(dataset=data, solver=multiple_choice(), scorer=choice())
'''


def export_inspect(folder: Path, diagnostics: Sequence[str], article: Article) -> list[Path]:
    """Write a task file and its data for each set, and return the task files.

    A chat model is shown all candidates and writes a letter, which is another question than the
    score of each candidate: the numbers are not those of zero-shot. Raises `UserError` for what is
    no set.
    """
    written = []
    for name, of_set in load_sets(diagnostics).items():
        questions = [one for one in zero_shot_questions(of_set, article) if one.gold is not None]
        path = folder / f"hyperprobe_{slug(name)}.py"
        lines = (json.dumps(one.row(), ensure_ascii=False) + "\n" for one in questions)
        write_text(path.with_suffix(".jsonl"), "".join(lines))
        write_text(path, TASK.format(file=path.name))
        written.append(path)
    return written
