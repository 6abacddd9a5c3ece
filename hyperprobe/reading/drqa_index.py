"""DrQA's own index: `docs-tfidf-ngram=2-hash=16777216-tokenizer=simple.npz`, and its `docs.db`.

Numbers are mapped from the archive where they lie in it as they are, as DrQA writes them; what is
packed is unpacked once, beside the runs. The pickled `metadata` is read as data.
"""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.documents import FREE_BYTES, MAX_RATIO
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.pickles import ARRAYS, Record, as_record, read_array, read_pickle
from hyperprobe.reading.index import Index, connect, one_row
from hyperprobe.runs.files import write_atomically, write_text

NUMBERS = {"data": "f8", "indices": "i", "indptr": "i", "shape": "i"}
METADATA = "metadata"
BY_ID = "SELECT id, text FROM documents WHERE id = ?"
_BAD = (ValueError, IndexError, KeyError, TypeError, EOFError, OSError, zlib.error,
        zipfile.BadZipFile, NotImplementedError)  # fmt: skip


def database_of(path: Path) -> Path:
    """Where the documents of an index lie: `docs.db` beside `docs-tfidf-....npz`."""
    return path.with_name(path.name.partition("-tfidf")[0].removesuffix(".npz") + ".db")


def open_drqa(path: Path, folder: Path) -> Index:
    """DrQA's index in `path`; `folder` holds what had to be unpacked of it.

    Raises `UserError` for a file that is no such index, or was made with another tokenizer.
    """
    database_path = database_of(path)
    database = connect(database_path)
    try:
        numbers = {name: _numbers(path, name, folder) for name in NUMBERS}
        about = _metadata(path, folder)
    except _BAD as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"cannot read the index {path} ({reason}): fetch it again") from error
    ids: list[str] = about["ids"]
    n_buckets = len(about["doc_freqs"])
    if numbers["shape"].tolist() != [n_buckets, len(ids)]:
        raise UserError(f"{path}: its table does not fit its {len(ids)} documents: fetch it again")

    def document(column: int) -> tuple[str, str]:
        found, text = one_row(database_path, database, BY_ID, ids[column])
        return str(found), str(text)

    return Index(
        path,
        numbers["data"],
        numbers["indices"],
        numbers["indptr"],
        about["doc_freqs"],
        len(ids),
        about["ngram"],
        document,
    )


def _numbers(path: Path, name: str, folder: Path) -> NDArray[Any]:
    """One array of the archive, mapped from it or from its unpacked copy."""
    unpacked = folder / f"{name}.npy"
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{name}.npy")
        if member.compress_type == zipfile.ZIP_STORED:
            return _checked(name, *_stored(path, member))
        if not unpacked.is_file() or unpacked.stat().st_size != member.file_size:
            _check_size(path, member)

            def write(partial: Path) -> None:
                with archive.open(member) as packed, partial.open("wb") as file:
                    shutil.copyfileobj(packed, file, 1 << 20)

            write_atomically(unpacked, write)
    return _checked(name, unpacked, 0)


def _stored(path: Path, member: zipfile.ZipInfo) -> tuple[Path, int]:
    """Where the bytes of a member that is not packed begin."""
    with path.open("rb") as file:
        file.seek(member.header_offset + 26)
        lengths = file.read(4)
    n_name, n_extra = (int.from_bytes(lengths[i : i + 2], "little") for i in (0, 2))
    return path, member.header_offset + 30 + n_name + n_extra


def _checked(name: str, path: Path, start: int) -> NDArray[Any]:
    with path.open("rb") as file:
        file.seek(start)
        shape, kind = _header(file)
        if len(shape) != 1 or not kind.str[1:].startswith(NUMBERS[name]) or kind.hasobject:
            raise ValueError(f"{name} is no list of numbers")
        if shape == (0,):
            return np.empty(0, dtype=kind)
        return np.memmap(path, dtype=kind, mode="r", offset=file.tell(), shape=shape)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
        np.lib.format.read_array_header_2_0
    )  # fmt: skip
    shape, _, kind = read(file)
    return shape, kind


def _check_size(path: Path, member: zipfile.ZipInfo) -> None:
    if member.file_size > max(FREE_BYTES, MAX_RATIO * path.stat().st_size):
        raise ValueError(f"{member.filename} unpacks to more than {MAX_RATIO} times its size")


# -- metadata -------------------------------------------------------------------------------


def _metadata(path: Path, folder: Path) -> dict[str, Any]:
    """`doc_freqs`, `ngram` and `ids`; kept in `folder`, as a pickle of millions takes long."""
    counts, about = folder / "doc_freqs.npy", folder / "metadata.json"
    if not (counts.is_file() and about.is_file()):
        doc_freqs, rest = _pickled(path)

        def write(partial: Path) -> None:
            with partial.open("wb") as file:
                np.save(file, doc_freqs)

        write_atomically(counts, write)
        write_text(about, json.dumps(rest))
    kept: dict[str, Any] = json.loads(about.read_text(encoding="utf-8"))
    return {"doc_freqs": np.load(counts, mmap_mode="r"), **kept}


def _pickled(path: Path) -> tuple[NDArray[Any], dict[str, Any]]:
    """What the pickle in `metadata.npy` says. Raises `ValueError` and its like."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{METADATA}.npy")
        _check_size(path, member)
        with archive.open(member) as file:
            shape, kind = _header(file)
            if shape != () or not kind.hasobject:
                raise ValueError("its metadata is no table")
            held = as_record(read_pickle(file.read(), ARRAYS))
    # numpy pickles the array of one object as a record whose state ends with the list of objects.
    content = held.state[-1][0]
    if not isinstance(content, dict):
        raise ValueError("its metadata is no table")
    for key, wanted in (("tokenizer", "simple"), ("hash_size", None), ("ngram", None)):
        value = content[key]
        if wanted is not None and value != wanted:
            raise UserError(
                f"{path}: made with the tokenizer {quoted(value)}, and only {wanted!r} is known: "
                "name the index that DrQA distributes, or the documents themselves"
            )
    counts = content["doc_freqs"]
    if not isinstance(counts, Record):
        raise ValueError("its doc_freqs are no array")
    doc_freqs = read_array(counts, ("i8", "i4", "f8"))
    _, ids = content["doc_dict"]
    ngram = content["ngram"]
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise ValueError("its doc_dict has no list of ids")
    if content["hash_size"] != len(doc_freqs) or doc_freqs.ndim != 1:
        raise ValueError("its hash_size is not that of doc_freqs")
    if type(ngram) is not int or not 1 <= ngram <= 5:
        raise ValueError(f"its ngram is {quoted(ngram)}")
    return doc_freqs, {"ngram": ngram, "ids": ids}
