"""The files of fairseq's convolutional language model: a checkpoint and a dictionary.

The checkpoint is read as data. Two layouts of the weights exist, which their keys tell apart.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hyperprobe.documents import read_lines
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.torch_files import Weights, check_weights, read_torch

WEIGHTS, DICTIONARY = "wiki103.pt", "dict.txt"
SPECIAL = ("<Lua heritage>", "<pad>", "</s>", "<unk>")  # ids 0 to 3
# What checkpoints hold beside tables of numbers: their settings, and the trainer's clocks.
METERS = [("fairseq.meters", name) for name in ("AverageMeter", "TimeMeter", "StopwatchMeter")]
STUBS = [("argparse", "Namespace"), *METERS]
# Keys that the older of the two layouts lacks: of the weight norm's direction, and of the widths
# and places of the soft-max's tails.
NEW_NORM, NEW_TAILS = "decoder.version", "decoder.adaptive_softmax.version"
MOST = {"layers": 1000, "width": 100_000, "kernel": 10_000}


@dataclass(frozen=True)
class Layer:
    """`width` channels of outputs that see `kernel` words; what comes out of the layer `residual`
    layers before is added (0: nothing)."""

    width: int
    kernel: int
    residual: int


@dataclass(frozen=True)
class Shape:
    """What the weights' shapes follow from; `cutoffs` end with the size of the vocabulary."""

    width: int
    layers: tuple[Layer, ...]
    cutoffs: tuple[int, ...]

    def widths(self) -> list[int]:
        """Of what goes into the first layer, and of what comes out of each."""
        return [self.layers[0].width, *(layer.width for layer in self.layers)]


def files_of(path: Path) -> list[Path]:
    """The weights, named or in a folder, and the dictionary beside them. Raises `UserError`."""
    weights = path / WEIGHTS if path.is_dir() else path
    files = [weights, weights.with_name(DICTIONARY)]
    for file in files:
        if not file.is_file():
            raise UserError(
                f"no file {file}: name the folder with fairseq's {WEIGHTS} and {DICTIONARY}, "
                "or the file of weights beside the latter"
            )
    return files


def read_dictionary(path: Path) -> list[str]:
    """The words of fairseq's dictionary by id, its four special ones first."""
    words = list(SPECIAL)
    for number, line in read_lines(path, "dictionary"):
        word, space, count = line.rpartition(" ")
        if not space or not count.isdecimal():
            raise UserError(
                f"{path}, line {number}: {quoted(line)} is no word and its count: fetch it again"
            )
        words.append(word)
    return words


def read_weights(path: Path, n_words: int) -> tuple[Shape, Weights]:
    """The network's shape and its weights, checked against it and the size of the vocabulary."""
    content = read_torch(path, "fairseq checkpoint", STUBS)
    model = content.get("model") if isinstance(content, dict) else None
    args = content.get("args") if isinstance(content, dict) else None
    said = vars(args) if hasattr(args, "__dict__") else {}
    if not isinstance(model, dict) or not said:
        raise UserError(f"{path}: no model and args of fairseq: is it the right file?")
    shape = Shape(
        _number(path, said, "decoder_embed_dim"),
        parse_layers(str(said.get("decoder_layers")), f"{path}: decoder_layers"),
        _cutoffs(path, said.get("adaptive_softmax_cutoff"), n_words),
    )
    shapes = weight_shapes(shape, NEW_NORM not in model, NEW_TAILS not in model)
    return shape, check_weights(path, model, shapes)


def _number(path: Path, said: dict[str, Any], key: str) -> int:
    value = said.get(key)
    if type(value) is not int or not 1 <= value <= MOST["width"]:
        raise UserError(f"{path}: {key} is {quoted(value)}, no fit number: fetch it again")
    return value


def _cutoffs(path: Path, text: Any, n_words: int) -> tuple[int, ...]:
    parts = text.split(",") if isinstance(text, str) else []
    cutoffs = [int(part) if part.strip().isdecimal() and len(part) < 10 else 0 for part in parts]
    if not cutoffs or sorted({0, *cutoffs, n_words}) != [0, *cutoffs, n_words]:
        raise UserError(
            f"{path}: adaptive_softmax_cutoff is {quoted(text)}, which does not fit a dictionary "
            f"of {n_words} words: fetch both files again"
        )
    return (*cutoffs, n_words)


def weight_shapes(
    shape: Shape, old_norm: bool = False, old_tails: bool = False
) -> dict[str, tuple[int, ...]]:
    """The shape of each table of weights, in the newer layout or with older parts."""
    widths = shape.widths()
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(key: str, n_in: int, n_out: int) -> None:
        shapes.update({f"{key}.bias": (n_out,), f"{key}.weight_g": (n_out, 1)})
        shapes[f"{key}.weight_v"] = (n_out, n_in)

    shapes["decoder.embed_tokens.weight"] = (shape.cutoffs[-1], shape.width)
    linear("decoder.fc1", shape.width, widths[0])
    for i, layer in enumerate(shape.layers):
        key, n_out = f"decoder.convolutions.{i}", 2 * layer.width
        shapes[f"{key}.bias"] = (n_out,)
        shapes[f"{key}.weight_g"] = (layer.kernel, 1, 1) if old_norm else (1, 1, n_out)
        shapes[f"{key}.weight_v"] = (layer.kernel, widths[i], n_out)
        added = widths[i + 1 - layer.residual] if layer.residual else layer.width
        if added != layer.width:
            linear(f"decoder.projections.{i}", added, layer.width)
    key, d = "decoder.adaptive_softmax", widths[-1]
    shapes[f"{key}.head.weight"] = (shape.cutoffs[0] + len(shape.cutoffs) - 1, d)
    for i, (low, high) in enumerate(pairwise(shape.cutoffs)):
        inner = d // 4 ** (i if old_tails else i + 1)
        shapes[f"{key}.tail.{i}.0.weight"] = (inner, d)
        shapes[f"{key}.tail.{i}.2.weight"] = (high - low, inner)
    if not old_norm:
        shapes[NEW_NORM] = (1,)
    if not old_tails:
        shapes[NEW_TAILS] = (1,)
    return shapes


def parse_layers(text: str, where: str) -> tuple[Layer, ...]:
    """The layers that fairseq's expression lists, such as `[(850, 6)] * 3 + [(850, 1, 2)]`.

    It is parsed, and not evaluated: sums of lists, and lists times a number. Raises `UserError`.
    """
    try:
        if len(text) > 10_000:
            raise ValueError("too long")
        found = _layers(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(
            f"{where} is {quoted(text)}, no list of (channels, kernel): fetch the file again"
        ) from error
    for i, layer in enumerate(found):
        if layer.residual > i + 1:
            raise UserError(f"{where}: layer {i} adds what no layer gives: fetch the file again")
    return tuple(found)


def _layers(node: ast.expr) -> list[Layer]:
    """The layers of a part of the expression. Raises `ValueError` for anything but such."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found = _layers(node.left) + _layers(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        times = _within(node.right, 1, MOST["layers"])
        found = _layers(node.left) * times
    elif isinstance(node, ast.List):
        found = [_layer(one) for one in node.elts]
    else:
        raise ValueError("neither a list nor a sum of lists")
    if not 1 <= len(found) <= MOST["layers"]:
        raise ValueError("too many layers, or none")
    return found


def _layer(node: ast.expr) -> Layer:
    if not isinstance(node, ast.Tuple) or len(node.elts) not in (2, 3):
        raise ValueError("no (channels, kernel)")
    residual = _within(node.elts[2], 0, MOST["layers"]) if len(node.elts) == 3 else 1
    width, kernel = node.elts[:2]
    return Layer(_within(width, 1, MOST["width"]), _within(kernel, 1, MOST["kernel"]), residual)


def _within(node: ast.expr, least: int, most: int) -> int:
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        raise ValueError("no number")
    if not least <= node.value <= most:
        raise ValueError("a number out of range")
    return node.value
