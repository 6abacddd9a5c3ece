"""What served models are called, and what of a name is never repeated."""

from pathlib import Path

import pytest

from hyperprobe.addresses import Served, served
from hyperprobe.errors import UserError
from hyperprobe.families import SERVED
from hyperprobe.model_names import distinct_models, file_family, is_vectors, with_random_weights
from hyperprobe.models.hub import check_models
from hyperprobe.names import is_subject
from hyperprobe.options import ModelOptions
from hyperprobe.render.labels import short_names

NAME = "openai:http://127.0.0.1:8000/v1#org/model?tokenizer=a/folder"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (NAME, Served("http://127.0.0.1:8000/v1", "org/model", "a/folder")),
        ("openai:https://host/v1/#m", Served("https://host/v1", "m", "m")),
        ("openai:http://[::1]:80#m?tokenizer=./a?b#c", Served("http://[::1]:80", "m", "./a?b#c")),
        ("openai-community/gpt2", None),
        ("gpt2", None),
    ],
)
def test_what_a_name_says(name: str, expected: Served | None):
    assert served(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "openai:",
        "openai:gpt-secret",
        "openai:http://host/v1",
        "openai:http://host/v1#",
        "openai:http://#m",
        "openai:ftp://host/secret#m",
        "openai:http://host:secret/v1#m",
        "openai:http://user:secret@host/v1#m",
        "openai:http://secret@host/v1#m",
        "openai:http://host/v1?key=secret#m",
        "openai:http://host/v1#m?key=secret",
        "openai:http://host/v1#m?tokenizer=",
        "openai:http://host/a b#m",
        "openai:http://host/\n#m",
        "random:openai:http://user:secret@host/v1#m",
        "random:openai:http://host/v1#m",
    ],
)
def test_names_that_say_nothing(name: str):
    with pytest.raises(UserError) as caught:
        distinct_models([name])
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_what_kind_of_model_it_is(tmp_path: Path):
    assert file_family(NAME) == SERVED and is_subject(NAME) and not is_vectors(NAME)
    assert with_random_weights([NAME, "gpt2"]) == ["random:gpt2"]
    here = NAME.replace("a/folder", str(tmp_path))
    assert check_models([here, here]) == [here]
    with pytest.raises(UserError, match="no model './nowhere'"):
        check_models([NAME.replace("a/folder", "./nowhere")])


def test_what_it_is_called_in_tables():
    others = [NAME.replace("8000", "8001"), NAME.replace("a/", "b/"), f"control:{NAME}"]
    short = short_names([NAME, "x/gpt2"])
    assert short == {NAME: "model", "x/gpt2": "gpt2"}
    assert len(set(short_names([NAME, *others]).values())) == 4
    assert short_names([NAME, others[2]]) == {NAME: "model", others[2]: "control:model"}


def test_how_it_is_reached_decides_no_number():
    reached = ModelOptions(concurrency=3, device="cpu")
    assert reached.identity() == ModelOptions().identity()
    for n in (0, 5000, True, "3"):
        with pytest.raises(UserError, match="--concurrency .*: give a whole number from 1"):
            ModelOptions(concurrency=n)  # type: ignore[arg-type]
