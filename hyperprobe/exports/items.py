"""`export items`: what the zero-shot probes ask, as a table to fill with scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hyperprobe.diagnostic.sets import load_sets
from hyperprobe.errors import UserError
from hyperprobe.exports.questions import zero_shot_questions
from hyperprobe.options import Article
from hyperprobe.runs.files import write_frame

COLUMNS = ("text", "candidate", "probe", "noun")
FORMATS = (".tsv", ".csv", ".parquet")


def export_items(path: Path, diagnostics: Sequence[str], article: Article) -> pd.DataFrame:
    """Write every question and candidate of the sets' zero-shot probes, each once, and return them.

    The frame has `COLUMNS`; a column `score` makes it a file for `hyperprobe score`. The path
    ends in `.tsv`, `.csv` or `.parquet`. Raises `UserError` for any other.
    """
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: end the file's name in one of {', '.join(FORMATS)}")
    rows = [
        (question.text, candidate, question.probe, question.noun)
        for of_set in load_sets(diagnostics).values()
        for question in zero_shot_questions(of_set, article)
        for candidate in question.candidates
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS)).drop_duplicates(["text", "candidate"])
    write_frame(path, table)
    return table
