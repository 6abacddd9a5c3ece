"""The noun taxonomy: WordNet 3.0, read by nltk."""

from __future__ import annotations

import warnings
import zipfile
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from hyperprobe.data.files import data_folder
from hyperprobe.documents import MAX_DOCUMENT
from hyperprobe.errors import UserError, one_line

FILES = (
    *(f"{kind}.{part}" for part in ("noun", "verb", "adj", "adv") for kind in ("data", "index")),
    *(f"{part}.exc" for part in ("noun", "verb", "adj", "adv")),
    "lexnames",
)
ORDER = ("adj", "adv", "noun", "verb")  # in which nltk reads them


def open_wordnet(folder: Path | None = None) -> Any:
    """An nltk `WordNetCorpusReader` on `folder`, or on the extract that ships; each is read once.

    `folder` may be the database of an installed WordNet 3.0 (with or without
    `lexnames`), or what `nltk.download("wordnet")` leaves: a folder or its
    `wordnet.zip`. Raises `UserError` when it is neither.
    """
    return _open(folder)  # (a cache would tell no argument from None)


@cache
def _open(folder: Path | None) -> Any:
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import SeekableUnicodeStreamReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            # Debian's package leaves this small table out; it is the same in every WordNet 3.0.
            lacks = file == "lexnames" and source.is_dir() and not (source / file).exists()
            if folder and not lacks:
                return super().open(file)
            # nltk reads no file that a group may write, as all of an installation often are.
            ours = (data_folder("wordnet_data") / file).open("rb")
            return SeekableUnicodeStreamReader(ours, "utf-8")

        def map_wn(self, version: str = "wordnet") -> None:
            """No mapping to other versions: it would look for nltk's downloaded corpora."""

        def _load_lemma_pos_offset_map(self) -> None:
            if folder:  # of a database that may be damaged each line is checked
                super()._load_lemma_pos_offset_map()
            else:
                texts = [(source / f"index.{part}").read_text("utf-8") for part in ORDER]
                self._lemma_pos_offset_map = _Index(texts, self.satellite_offsets)

    source = (folder or data_folder("wordnet_data")).resolve()
    if folder:
        _check_files(folder, source)
    # nltk reads only below its search path.
    if str(source) not in nltk.data.path:
        nltk.data.path.append(str(source))
    with damage_named(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "multilingual functions are not available"
        root: Any = str(source)
        if source.suffix == ".zip":
            nltk.data.path.append(str(source.parent))
            root = nltk.data.ZipFilePathPointer(str(source), f"{source.stem}/")
        return Reader(root, None)


class _Index(Mapping[str, dict[str, list[int]]]):
    """Lemma -> part of speech -> offsets of its synsets, of the index files `texts`.

    A lemma's lines are found and parsed when it is asked: nltk's own map of all 155,000 takes a
    second.
    """

    def __init__(self, texts: Iterable[str], satellites: Container[int]) -> None:
        self._satellites = satellites  # adjectives that nltk has under "s", too
        # Each file is nearly in this order already, behind a licence of indented lines.
        self._files = [
            sorted(line for line in text.splitlines() if line[:1] != " ") for text in texts
        ]

    def __getitem__(self, lemma: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for lines in self._files:
            start = bisect_left(lines, f"{lemma} ")
            if start == len(lines) or not lines[start].startswith(f"{lemma} "):
                continue
            _, part, n_synsets, *others = lines[start].split()
            found[part] = [int(offset) for offset in others[-int(n_synsets) :]]
            if part == "a":
                found["s"] = [offset for offset in found["a"] if offset in self._satellites]
        if not found:
            raise KeyError(lemma)
        return found

    def __iter__(self) -> Iterator[str]:
        lines = chain.from_iterable(self._files)
        return iter(dict.fromkeys(line[: line.index(" ")] for line in lines))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _check_files(folder: Path, source: Path) -> None:
    """Raise `UserError` unless each file of a WordNet is there, and no larger than it can be."""
    remedy = "name the folder that holds data.noun and the rest of WordNet 3.0, or nltk's zip"
    if source.is_dir():
        sizes = {p.name: p.stat().st_size for p in source.iterdir() if p.is_file()}
        sizes.setdefault("lexnames", 0)
    elif source.suffix == ".zip" and source.is_file():
        try:
            with zipfile.ZipFile(source) as archive:
                sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise UserError(f"{source} is no whole zip file ({error}): fetch it again") from error
        inside = f"{source.stem}/"
        sizes = {
            name.removeprefix(inside): n for name, n in sizes.items() if name.startswith(inside)
        }
    else:
        raise UserError(f"no WordNet at {folder}: {remedy}")
    for name in FILES:
        if name not in sizes:
            raise UserError(f"{source} has no {name}: {remedy}")
        if sizes[name] > MAX_DOCUMENT:
            raise UserError(f"{name} of {source} is larger than any WordNet's: {remedy}")


@contextmanager
def damage_named(folder: Path | None) -> Iterator[None]:
    """Turns whatever nltk raises over a user's database into a `UserError`.

    nltk checks nothing that it reads, and so fails in many ways on what is damaged.
    """
    try:
        with warnings.catch_warnings():
            if folder:  # nltk only warns of a synset that is not where it should be
                warnings.filterwarnings("error", module="nltk")
            yield
    except UserError:
        raise
    except Exception as error:
        if folder is None:
            raise
        reason = one_line(str(error))[:100] or type(error).__name__
        raise UserError(f"{folder} is a damaged WordNet ({reason}): install it again") from error


@cache
def noun_lemma(word: str) -> str:
    """The shortest of the forms that WordNet knows the noun under, or the word itself: `geese`
    -> `goose`. As nltk's `WordNetLemmatizer`, its mistakes included (`boss` -> `bos`)."""
    forms: list[str] = open_wordnet()._morphy(word, "n")
    return min(forms, key=len) if forms else word


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
