"""ELMo's files: options, weights and soft-max weights in HDF5, and the vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from hyperprobe.documents import Document, read_json
from hyperprobe.errors import UserError
from hyperprobe.models.hdf5_files import read_hdf5
from hyperprobe.models.torch_files import Weights, check_weights

OPTIONS, SOFTMAX, WEIGHTS, VOCABULARY = (
    "*options.json", "*softmax_weights.hdf5", "*weights.hdf5", "vocab*.txt",
)  # fmt: skip
START, END, UNKNOWN = "<S>", "</S>", "<UNK>"
LONGEST = 48  # bytes of a word that are read

Count = Annotated[int, Field(ge=1, le=100_000)]
Clip = Annotated[float, Field(gt=0, strict=False)]


class LstmOptions(Document):
    """How the LSTMs are made."""

    dim: Count
    projection_dim: Count
    n_layers: Annotated[int, Field(ge=1, le=100)]
    cell_clip: Clip
    proj_clip: Clip
    use_skip_connections: bool


class Characters(Document):
    """The width of a character's vector."""

    dim: Count


class CnnOptions(Document):
    """How words are made of characters; `filters` are (width, number)."""

    filters: list[Annotated[list[Count], Field(min_length=2, max_length=2)]]
    n_highway: Annotated[int, Field(ge=0, le=100)]
    embedding: Characters
    activation: str
    max_characters_per_token: int
    n_characters: int


class Options(Document):
    """ELMo's file of options."""

    lstm: LstmOptions
    char_cnn: CnnOptions


# -- files ----------------------------------------------------------------------------------


def files_of(path: Path) -> list[Path]:
    """Options, weights, soft-max and vocabulary of a folder. Raises `UserError`."""
    return [
        _only(path, OPTIONS),
        _only(path, WEIGHTS, SOFTMAX),
        _only(path, SOFTMAX),
        _only(path, VOCABULARY),
    ]


def _only(folder: Path, pattern: str, other: str = "") -> Path:
    """The one file of a folder that fits a pattern, and not another."""
    files = sorted(set(folder.glob(pattern)) - set(folder.glob(other) if other else ()))
    if len(files) != 1:
        wanted = ", ".join((OPTIONS, WEIGHTS, SOFTMAX, VOCABULARY))
        raise UserError(
            f"{folder} has {len(files)} files {pattern}: name a folder with one of each of ELMo's "
            f"files ({wanted})"
        )
    return files[0]


def read_options(path: Path) -> Options:
    """ELMo's options. Raises `UserError` for what no network is made of."""
    options = read_json(path, Options, "options")
    cnn = options.char_cnn
    fixed = {"activation": "relu", "max_characters_per_token": LONGEST + 2, "n_characters": 262}
    for key, value in fixed.items():
        if getattr(cnn, key) != value:
            raise UserError(f"{path}: {key} is not {value!r}, and nothing else is read: correct it")
    if not cnn.filters or max(width for width, _ in cnn.filters) > LONGEST + 2:
        raise UserError(f"{path}: no filters that fit a word: correct it")
    return options


def weight_shapes(options: Options) -> dict[str, tuple[int, ...]]:
    """The shape of each table of weights but the soft-max's."""
    lstm, cnn = options.lstm, options.char_cnn
    wide, narrow = sum(n for _, n in cnn.filters), lstm.projection_dim
    shapes: dict[str, tuple[int, ...]] = {
        "char_embed": (cnn.n_characters - 1, cnn.embedding.dim),
        "CNN_proj/W_proj": (wide, narrow),
        "CNN_proj/b_proj": (narrow,),
    }
    for i, (width, n) in enumerate(cnn.filters):
        shapes[f"CNN/W_cnn_{i}"] = (1, width, cnn.embedding.dim, n)
        shapes[f"CNN/b_cnn_{i}"] = (n,)
    for i in range(cnn.n_highway):
        for part in ("carry", "transform"):
            shapes[f"CNN_high_{i}/W_{part}"] = (wide, wide)
            shapes[f"CNN_high_{i}/b_{part}"] = (wide,)
    for direction in (0, 1):
        for layer in range(lstm.n_layers):
            key = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes[f"{key}/W_0"] = (2 * narrow, 4 * lstm.dim)
            shapes[f"{key}/B"] = (4 * lstm.dim,)
            shapes[f"{key}/W_P_0"] = (lstm.dim, narrow)
    return shapes


def read_weights(file: Path, softmax: Path, options: Options, n_words: int) -> Weights:
    """All weights, checked against the options and the size of the vocabulary."""
    shapes = {"softmax/W": (n_words, options.lstm.projection_dim), "softmax/b": (n_words,)}
    weights = check_weights(file, read_hdf5(file, "weights"), weight_shapes(options))
    return weights | check_weights(softmax, read_hdf5(softmax, "soft-max weights"), shapes)
