"""Runs to report on, and a reader of pages."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

from hyperprobe.probes.lama.sources import GOOGLE_RE, TREX
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import read_run

VOID = {"meta", "link", "br", "img", "hr", "input"}


def run_of(folder: Path, model: str) -> Path:
    for path in folder.glob("zero-shot-*"):
        models = read_run(path).notes["settings"]["models"]
        if any(Path(name).name.startswith(model) for name in models):
            return path
    raise AssertionError(model)


def other_run(
    results: Path, command: str, rows: list[dict[str, object]], name: str = "x",
    settings: dict[str, object] | None = None, models: dict[str, object] | None = None,
) -> Path:  # fmt: skip
    folder = results / f"{command}-{name}"
    folder.mkdir()
    pd.DataFrame(rows).to_csv(folder / "metrics.csv", index=False)
    files = {"metrics.csv": file_digest(folder / "metrics.csv")}
    about = {"settings": settings or {}, "models": models or {}}
    notes = {"command": command, "files": files, **about}
    (folder / "run.json").write_text(json.dumps(notes))
    return folder


LAMA = [
    {"source": source, "relation": relation, "type": kind, "model": "bert-base", "ranking": ranking,
     "n_facts": 100, "p_at_1": 30.0, "p_at_1_low": 28.0, "p_at_1_high": 33.0, "mrr": 0.4}
    for source, relation, kind, ranking in (
        (TREX, "P19", "N-1", "raw"), (TREX, "macro", None, "raw"),
        (TREX, "macro", None, "filtered"),
        (TREX, "N-1", "N-1", "raw"), (GOOGLE_RE, "place_of_death", None, "raw"),
    )
]  # fmt: skip
CLASSIFY = [
    {"setting": "seen", "model": "embedded", "input": part, "accuracy_mean": 70.0,
     "accuracy_std": 2.0, "n_folds": 3, "n_seeds": 1}
    for part in ("full", "partial")
]  # fmt: skip


class Page(HTMLParser):
    """Tags and their attributes, the text, and what is wrong with the nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script", "pre"):
            self.text += data

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)
