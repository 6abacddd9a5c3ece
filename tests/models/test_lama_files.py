"""Files of fconv, Transformer-XL and ELMo that are damaged, lie, or want to run something."""

import argparse
import json
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
from hyperprobe.models.fconv_files import STUBS, Layer, parse_layers
from hyperprobe.models.load import config_of, identify, load_encoder, load_model, load_network
from hyperprobe.models.torch_files import read_torch
from tests.commands import one_line_error, run
from tests.lama_files import SAVERS, VOCABULARY

OLD = {"_use_new_zipfile_serialization": False}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each family."""
    return {family: save(tmp_path_factory.mktemp("whole")) for family, save in SAVERS.items()}


@pytest.fixture
def folder(whole: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy that a test may damage."""
    return lambda family: Path(shutil.copytree(whole[family], tmp_path / family))


def refused(family: str, path: Path) -> str:
    """What is said of a model that is refused: one line."""
    with pytest.raises(UserError) as error:
        load_model(f"{family}:{path}", device="cpu")
    text = str(error.value)
    assert "\n" not in text and len(text) < 400
    return text


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
def test_a_file_that_wants_to_run_something_is_refused(family: str, name: str, how: str, folder):
    path = folder(family)
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
def test_a_file_that_was_cut(family: str, name: str, share: float, folder):
    path = folder(family)
    data = (path / name).read_bytes()
    (path / name).write_bytes(data[: int(share * len(data))])
    assert str(path) in refused(family, path)


@pytest.mark.parametrize(("family", "name"), FILES)
def test_a_file_that_is_missing(family: str, name: str, folder):
    path = folder(family)
    (path / name).unlink()
    assert str(path) in refused(family, path)
    with pytest.raises(UserError):
        identify(f"{family}:{path}")


@pytest.mark.parametrize(("family", "name"), PICKLES)
@pytest.mark.parametrize("damage", ["shape", "unknown", "missing", "texts", "swollen"])
def test_weights_that_do_not_fit(family: str, name: str, damage: str, folder):
    if name == "vocab.bin":
        pytest.skip("it holds no weights")
    path = folder(family)
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


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize(("family", "name"), [("fconv", "dict.txt"), ("elmo", "vocab-tiny.txt")])
def test_a_vocabulary_of_another_length(family: str, name: str, more: bool, folder):
    path = folder(family)
    lines = (path / name).read_text().splitlines()
    end = "word 3" if family == "fconv" else "word"
    lines = [*lines, end] if more else [*lines[:5], *lines[6:]]
    (path / name).write_text("\n".join(lines) + "\n")
    assert "would fit the model's settings and vocabulary" in refused(family, path)


def test_a_transformer_xl_vocabulary_of_another_length(folder):
    path = folder("transformer-xl")
    content = torch.load(path / "vocab.bin", weights_only=True)
    content["idx2sym"].append("surplus")
    torch.save(content, path / "vocab.bin", **OLD)
    n = len(VOCABULARY) + 2
    assert f"{n + 1} words, and config.json says {n}" in refused("transformer-xl", path)


@pytest.mark.parametrize("word", ["<unk>", "<eos>"])
def test_a_vocabulary_without_its_marks(word: str, folder):
    path = folder("transformer-xl")
    content = torch.load(path / "vocab.bin", weights_only=True)
    content["idx2sym"][content["idx2sym"].index(word)] = "other"
    torch.save(content, path / "vocab.bin", **OLD)
    assert f"no {word} in the vocabulary" in refused("transformer-xl", path)


@pytest.mark.parametrize(
    ("family", "name", "change"),
    [
        ("transformer-xl", "config.json", {"same_length": False}),
        ("transformer-xl", "config.json", {"n_layer": 0}),
        ("transformer-xl", "config.json", {"n_layer": "two"}),
        ("transformer-xl", "config.json", {"n_layer": 10**6}),
        ("transformer-xl", "config.json", {"mem_len": 10**6}),
        ("transformer-xl", "config.json", {"d_model": 10**12}),
        ("transformer-xl", "config.json", {"cutoffs": [20, 9, 30]}),
        ("transformer-xl", "config.json", {"cutoffs": [9, 20, 3000]}),
        ("transformer-xl", "config.json", {"div_val": 1000}),
        ("transformer-xl", "config.json", {"tie_projs": [True, True, True, True]}),
        ("elmo", "tiny_options.json", {"lstm": {}}),
        ("elmo", "tiny_options.json", {"lstm": 3}),
    ],
)
def test_settings_that_no_network_has(family: str, name: str, change: dict, folder):
    path = folder(family)
    said = json.loads((path / name).read_text())
    (path / name).write_text(json.dumps(said | change))
    assert name in refused(family, path)


@pytest.mark.parametrize(
    "change",
    [
        {"activation": "tanh"},
        {"n_characters": 100},
        {"filters": []},
        {"filters": [[60, 4]]},
        {"filters": [[1, 4, 5]]},
        {"embedding": {"dim": -1}},
    ],
)
def test_elmo_options_of_another_word_network(change: dict, folder):
    path = folder("elmo")
    file = path / "tiny_options.json"
    said = json.loads(file.read_text())
    said["char_cnn"] |= change
    file.write_text(json.dumps(said))
    assert "tiny_options.json" in refused("elmo", path)


@pytest.mark.parametrize("how", ["soft link", "external link", "external table", "virtual"])
def test_numbers_of_an_hdf5_file_are_its_own(how: str, folder, tmp_path: Path):
    path = folder("elmo")
    secret = tmp_path / "secret.bin"
    np.full(1000, 7.0, dtype=np.float32).tofile(secret)
    other = tmp_path / "other.hdf5"
    file = path / "tiny_weights.hdf5"
    with h5py.File(file, "r+") as opened, h5py.File(other, "w") as source:
        shape = opened["CNN_proj/b_proj"].shape
        source["table"] = np.zeros(shape, dtype=np.float32)
        del opened["CNN_proj/b_proj"]
        if how == "soft link":
            opened["CNN_proj/b_proj"] = h5py.SoftLink("/CNN_proj/W_proj")
        elif how == "external link":
            opened["CNN_proj/b_proj"] = h5py.ExternalLink(str(other), "/table")
        elif how == "external table":
            opened.create_dataset(
                "CNN_proj/b_proj", shape, "f4", external=[(str(secret), 0, 4 * shape[0])]
            )
        else:
            layout = h5py.VirtualLayout(shape, "f4")
            layout[:] = h5py.VirtualSource(str(other), "table", shape)
            opened.create_virtual_dataset("CNN_proj/b_proj", layout)
    said = refused("elmo", path)
    assert "is a link to somewhere else" in said or "has its numbers elsewhere" in said


def test_a_table_that_promises_more_than_the_file_holds(folder):
    path = folder("elmo")
    with h5py.File(path / "tiny_weights.hdf5", "r+") as opened:
        opened.create_dataset("bomb", (10**7, 10**4), "f4", chunks=(1000, 1000), compression="gzip")
    assert "promises more numbers than the file can hold" in refused("elmo", path)


def test_elmo_files_that_are_there_twice(folder):
    path = folder("elmo")
    shutil.copy(path / "tiny_options.json", path / "other_options.json")
    assert "2 files *options.json" in refused("elmo", path)


@pytest.mark.parametrize(("family", "name"), FILES)
def test_bytes_that_were_changed_end_in_numbers_or_one_line(family: str, name: str, folder):
    path = folder(family)
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


# -- decoder_layers ---------------------------------------------------------------------------


def test_layers_are_parsed():
    layer = Layer
    assert parse_layers("[(850, 6)] * 2 + [(10, 1, 2)]", "x") == (
        layer(850, 6, 1), layer(850, 6, 1), layer(10, 1, 2),
    )  # fmt: skip
    assert parse_layers("([(3, 1)] + [(4, 2, 0), (5, 3)]) * 2", "x")[-2:] == (
        layer(4, 2, 0), layer(5, 3, 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "None", "[]", "[(1, 2)] * 0", "[(1, 2)] * 10**9", "[(1, 2)] * 2000",
        "[(1, 2)] * -1", "[(1, 2)] - [(1, 2)]", "[(1,)]", "[(1, 2, 3, 4)]", "[1, 2]", "[(1, '2')]",
        "[(1, True)]", "[(10**9, 2)]", "[(1, 2, 3)]", "[(0, 1)]", "__import__('os').system('true')",
        "[(__import__('os').getpid(), 1)]", "[x for x in ()]", "(" * 3000,
        "[(1, 2)]" * 900, "[(1, 2)]" + " + [(1, 2)]" * 2000,
    ],
)  # fmt: skip
def test_layers_that_are_no_list_are_refused(text: str):
    with pytest.raises(UserError, match="x"):
        parse_layers(text, "x")


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
    model: str, says: str, whole: dict[str, Path], tmp_path: Path
):
    command = ["zero-shot", "--diagnostic", "lm-diagnostic", "--model", model.format(**whole)]
    assert says in one_line_error(run(tmp_path, *command))


@pytest.mark.parametrize("needs", [load_encoder, load_network, config_of])
def test_what_needs_a_transformer_says_so(needs: Callable[[str], Any], whole):
    with pytest.raises(UserError, match="is of the family elmo, and this needs a model in the for"):
        needs(f"elmo:{whole['elmo']}")
