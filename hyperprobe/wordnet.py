"""The noun taxonomy: WordNet 3.0, read with nltk's own reader."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hyperprobe.data import data_folder
from hyperprobe.errors import UserError

PARTS_OF_SPEECH = ("n", "v", "a", "r")


@cache
def open_wordnet(folder: Path | None = None) -> Any:
    """An nltk `WordNetCorpusReader` on `folder`, or on the extract that ships.

    `folder` may be the database of an installed WordNet 3.0 (with or without
    `lexnames`), or what `nltk.download("wordnet")` leaves: a folder or its
    `wordnet.zip`. Raises `UserError` when it is neither.
    """
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            # Debian's package leaves this small table out; it is the same in every WordNet 3.0.
            theirs = source / file
            if file == "lexnames" and source.is_dir() and not theirs.exists():
                return (data_folder("wordnet_data") / file).open(encoding="utf-8")
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """No mapping to other versions: it would look for nltk's downloaded corpora."""

    source = (folder or data_folder("wordnet_data")).resolve()
    if not source.exists():
        raise UserError(f"no WordNet at {folder}: name a folder that holds data.noun")
    # nltk reads only below its search path.
    if str(source) not in nltk.data.path:
        nltk.data.path.append(str(source))
    root: Any = str(source)
    if source.suffix == ".zip":
        nltk.data.path.append(str(source.parent))
        root = nltk.data.ZipFilePathPointer(str(source), f"{source.stem}/")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "multilingual functions are not available"
            return Reader(root, None)
    except Exception as error:
        raise UserError(
            f"cannot read a WordNet database in {source} ({str(error).splitlines()[0]}): "
            "name the folder that holds data.noun, index.noun and the other parts of speech"
        ) from error


def count_senses(wordnet: Any, lemma: str, parts: str = "nvar") -> int:
    """How many synsets `lemma` has in `parts` of speech, with no lemmatisation."""
    senses: dict[str, list[int]] = wordnet._lemma_pos_offset_map.get(lemma, {})
    return sum(len(senses.get(part, ())) for part in parts)


def taxonomy_below(synset: Any) -> Iterator[Any]:
    """Each distinct synset below `synset`, instances (named entities) left out."""
    seen = {synset}
    agenda = [synset]
    while agenda:
        for child in agenda.pop().hyponyms():
            if child not in seen:
                seen.add(child)
                agenda.append(child)
                yield child
