"""The two steps of DrQA: find the documents near a question, then read them for a word."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hyperprobe.diagnostic.corpus import corpus_files
from hyperprobe.errors import UserError
from hyperprobe.options import ModelOptions
from hyperprobe.runs.files import corpus_digests, file_digest
from hyperprobe.runs.run import digest_of

# (what searches and reads is imported when it is needed: most runs of `lama` do neither)
if TYPE_CHECKING:
    from hyperprobe.reading.index import Index

N_DOCUMENTS = 5  # that are read for a question, as in the paper
INDEX = ".npz"


class Reader(Protocol):
    """A model that finds answers in paragraphs."""

    @property
    def unknown_features(self) -> list[str]:
        """Inputs of the model that no text has here."""

    def word_scores(self, question: str, paragraphs: list[str]) -> list[list[tuple[str, float]]]:
        """(word, score) of each word of each paragraph, as an answer by itself. Scores of one
        question compare, between paragraphs too; minus infinity for what is no answer."""


def check_documents(path: Path) -> list[Path]:
    """The files of the documents: an index of DrQA's with its database, or texts.

    A folder with an index stands for that. Raises `UserError` for what is not there.
    """
    from hyperprobe.reading.drqa_index import database_of

    inside = sorted(path.glob(f"*{INDEX}")) if path.is_dir() else []
    if len(inside) > 1:
        raise UserError(f"{len(inside)} indexes in {path}: name one of them")
    found = inside[0] if inside else path
    if found.suffix != INDEX:
        return corpus_files(path)
    for needed in (found, database_of(found)):
        if not needed.is_file():
            raise UserError(f"no file {needed}: DrQA's index needs its documents beside it")
    return [found, database_of(found)]


def check_reader(path: Path) -> Path:
    """The file or folder of a reader, if one may be there. Raises `UserError` otherwise."""
    if not (path / "config.json").is_file() and not path.is_file():
        raise UserError(
            f"no reader {path}: name DrQA's .mdl file, or the folder of a question-answering "
            "model of Hugging Face"
        )
    return path


def load_reader(path: Path, options: ModelOptions) -> Reader:
    """DrQA's reader in a file, or a question-answering model in a folder of Hugging Face.

    Raises `UserError` for anything else.
    """
    if path.is_dir():
        from hyperprobe.reading.span_reader import load_span_reader

        return load_span_reader(path, options)
    from hyperprobe.reading.drqa_reader import load_drqa_reader

    return load_drqa_reader(path, options.device)


@dataclass(frozen=True)
class RetrieveRead:
    """Documents and a reader, each opened when it is first needed. What has to be made of the
    documents goes into a folder of `results`."""

    documents: Path
    reader_path: Path
    results: Path
    options: ModelOptions = field(default_factory=ModelOptions)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What decides the answers: the content of the documents and of the reader."""
        names = corpus_digests(check_documents(self.documents))
        path = self.reader_path
        files = sorted(p for p in path.glob("*") if p.is_file()) if path.is_dir() else [path]
        return {
            "documents": sorted([Path(name).name, digest] for name, digest in names.items()),
            "reader": {file.name: file_digest(file) for file in files},
            "n_documents": N_DOCUMENTS,
        }

    @cached_property
    def index(self) -> Index:
        """Raises `UserError` for documents that cannot be read."""
        from hyperprobe.reading.build import open_or_build
        from hyperprobe.reading.drqa_index import open_drqa

        files = check_documents(self.documents)
        folder = self.results / f"documents-{digest_of(self.identity['documents'])}"
        return (
            open_drqa(files[0], folder)
            if files[0].suffix == INDEX
            else open_or_build(files, folder)
        )

    @cached_property
    def reader(self) -> Reader:
        """Raises `UserError` for a reader that cannot be loaded."""
        return load_reader(self.reader_path, self.options)

    def answers(self, question: str) -> Mapping[str, float]:
        """Each word of the documents found, in NFC, and its best score where it stands.

        Empty where no document shares a word with the question.
        """
        paragraphs: list[str] = []
        for column, _ in self.index.scores(question)[:N_DOCUMENTS]:
            _, text = self.index.document(column)
            paragraphs += [part for line in text.split("\n") if (part := line.strip())]
        best: dict[str, float] = {}
        for words in self.reader.word_scores(question, paragraphs) if paragraphs else []:
            for word, score in words:
                if score != score:
                    raise UserError(
                        f"{self.reader_path} answers with NaN: its weights are damaged: fetch it "
                        "again"
                    )
                word = unicodedata.normalize("NFC", word)
                best[word] = max(score, best.get(word, score))
        return best

    def describe(self) -> dict[str, Any]:
        """What identifies it in a run, and which inputs of the reader are zero here."""
        return {**self.identity, "zero_features": self.reader.unknown_features}
