"""Files of fconv, Transformer-XL and ELMo that are damaged, lie, or want to run something."""

import argparse
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models.fconv_files import STUBS
from hyperprobe.models.load import config_of, identify, load_encoder, load_model, load_network
from hyperprobe.models.torch_files import read_torch
from tests.commands import one_line_error, run
from tests.lama_files import OLD, refused

PICKLES = [
    ("fconv", "wiki103.pt"),
    ("transformer-xl", "pytorch_model.bin"), ("transformer-xl", "vocab.bin"),
    ("elmo", "tiny_weights.hdf5"), ("elmo", "tiny_softmax_weights.hdf5"),
]  # fmt: skip


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


@pytest.mark.parametrize(("family", "name"), PICKLES)
@pytest.mark.parametrize("how", ["torch", "torch zip", "pickle", "hidden"])
def test_a_file_that_wants_to_run_something_is_refused(family: str, name: str, how: str, copy_of):
    path = copy_of(family)
    made = path / "made"
    content: Any = Evil(made)
    if how == "hidden":  # deep in what is otherwise right, where only that can be read
        if family == "elmo":
            pytest.skip("HDF5 holds no objects")
        content = content_of(path / name)
        (
            content.pop("args", None),
            content.pop("extra_state", None),
        )  # (of stubs, which do not pickle)
        content["deep"] = [Evil(made)]
    if how == "pickle":
        (path / name).write_bytes(pickle.dumps(content, protocol=2))
    else:
        torch.save(content, path / name, _use_new_zipfile_serialization=how == "torch zip")
    said = refused(family, path)
    assert not made.exists()
    assert name in said
    if family != "elmo" and how != "pickle":
        assert "open" in said and "nothing of it was run" in said


def content_of(path: Path) -> dict[str, Any]:
    """What a file of torch holds."""
    return dict(read_torch(path, "file", STUBS))


FILES = [
    *PICKLES, ("fconv", "dict.txt"), ("transformer-xl", "config.json"),
    ("elmo", "tiny_options.json"), ("elmo", "vocab-tiny.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "name"), FILES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_a_file_that_was_cut(family: str, name: str, share: float, copy_of):
    path = copy_of(family)
    data = (path / name).read_bytes()
    (path / name).write_bytes(data[: int(share * len(data))])
    assert str(path) in refused(family, path)


@pytest.mark.parametrize(("family", "name"), FILES)
def test_a_file_that_is_missing(family: str, name: str, copy_of):
    path = copy_of(family)
    (path / name).unlink()
    assert str(path) in refused(family, path)
    with pytest.raises(UserError):
        identify(f"{family}:{path}")


@pytest.mark.parametrize(("family", "name"), PICKLES)
@pytest.mark.parametrize("damage", ["shape", "unknown", "missing", "texts", "swollen"])
def test_weights_that_do_not_fit(family: str, name: str, damage: str, copy_of):
    if name == "vocab.bin":
        pytest.skip("it holds no weights")
    path = copy_of(family)
    file = path / name
    weights = read_weights(file)
    key = next(key for key in weights if weights[key].dim() == 2)
    if damage == "shape":
        weights[key] = weights[key][1:]
    elif damage == "unknown":
        weights["decoder.surprise"] = torch.zeros(3)
    elif damage == "missing":
        del weights[key]
    elif damage == "texts":
        weights[key] = "numbers"
    else:  # one number that says it is a table of any size
        weights[key] = torch.zeros(1).expand(10**6, 10**6)
        if family == "elmo":
            pytest.skip("HDF5 has no such tables")
    write_weights(file, weights)
    said = refused(family, path)
    assert name in said
    assert {
        "shape": "has the shape", "unknown": "unknown weights 'decoder.surprise'",
        "missing": f"no weights {key}", "texts": "numbers", "swollen": "has the shape",
    }[damage] in said  # fmt: skip


def read_weights(file: Path) -> dict[str, Any]:
    if file.suffix == ".hdf5":
        found: dict[str, Any] = {}

        def add(key: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[key] = torch.tensor(item[...])

        with h5py.File(file) as opened:
            opened.visititems(add)
        return found
    content = content_of(file)
    return dict(content.get("model", content))


def write_weights(file: Path, weights: dict[str, Any]) -> None:
    if file.suffix == ".hdf5":
        with h5py.File(file, "w") as opened:
            for key, table in weights.items():
                opened[key] = table if isinstance(table, str) else table.numpy()
        return
    if file.suffix == ".bin":
        torch.save(weights, file, **OLD)
        return
    args = argparse.Namespace(
        decoder_embed_dim=9, decoder_layers="[(12, 3)] * 2 + [(10, 1, 2)] + [(16, 4)]",
        adaptive_softmax_cutoff="9,20,30",
    )  # fmt: skip
    torch.save({"args": args, "model": weights}, file, **OLD)


def test_elmo_files_that_are_there_twice(copy_of):
    path = copy_of("elmo")
    shutil.copy(path / "tiny_options.json", path / "other_options.json")
    assert "2 files *options.json" in refused("elmo", path)


@pytest.mark.parametrize(("family", "name"), FILES)
def test_bytes_that_were_changed_end_in_numbers_or_one_line(family: str, name: str, copy_of):
    path = copy_of(family)
    data = (path / name).read_bytes()
    random = Random(name)
    for _ in range(12):
        changed = bytearray(data)
        for _ in range(random.choice((1, 3, 20))):
            i = random.randrange(min(len(changed), random.choice((200, 3000, 10**9))))
            changed[i : i + random.choice((0, 1, 1, 8))] = random.randbytes(
                random.choice((0, 1, 4))
            )
        (path / name).write_bytes(bytes(changed))
        try:
            model = load_model(f"{family}:{path}", device="cpu")
            cloze = parse_cloze("A robin is a [MASK] in winter", "x")
            scores = model.score([cloze], CandidateSet(("bird", "fish")))
            assert not np.isnan(scores).any()
        except UserError as error:
            assert "\n" not in str(error)


# -- on the command line ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("fconv:nowhere", "no file nowhere"),
        ("fconv:{fconv}?memory=none", "fconv has no 'memory=none': write the path alone"),
        ("elmo:{elmo}?state=foo", "choose from state=zero-state-10, state=zero-state-1, state=ref"),
        ("transformer-xl:", "no path behind transformer-xl"),
        ("transformer-xl:{fconv}", "no file"),
        ("elmo:{fconv}", "has 0 files *options.json"),
        ("fconv:{fconv}/dict.txt", "cannot read fairseq checkpoint"),
    ],
)
def test_a_name_that_is_wrong_ends_in_one_line(
    model: str, says: str, lama_folders: dict[str, Path], tmp_path: Path
):
    command = [
        "zero-shot",
        "--diagnostic",
        "lm-diagnostic",
        "--model",
        model.format(**lama_folders),
    ]
    assert says in one_line_error(run(tmp_path, *command))


@pytest.mark.parametrize("needs", [load_encoder, load_network, config_of])
def test_what_needs_a_transformer_says_so(needs: Callable[[str], Any], lama_folders):
    with pytest.raises(UserError, match="is of the family elmo, and this needs a model in the for"):
        needs(f"elmo:{lama_folders['elmo']}")
