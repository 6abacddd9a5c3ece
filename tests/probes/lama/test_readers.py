"""Files of facts, relations, prompts and words from outside: a value, or one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from safetensors.numpy import save_file

from hyperprobe.cloze import CandidateSet
from hyperprobe.errors import UserError, one_line
from hyperprobe.options import check_seed
from hyperprobe.probes.lama.asked import notes, relations_asked
from hyperprobe.probes.lama.prompts import load_prompts
from hyperprobe.probes.lama.protocol import Fact, Row, Vocabulary, is_row, select
from hyperprobe.probes.lama.sources import Relation, load_relations, load_sources
from hyperprobe.probes.lama.vocabulary import read_words
from hyperprobe.probes.prompts.asked import SearchOptions, check_asked
from hyperprobe.probes.prompts.splits import Split, check_split

WORDS = Vocabulary(None, CandidateSet(("Paris", "Rome")))
FACT = {
    "uuid": "a", "id": 3, "sub_label": "Louvre", "obj_label": "Paris",
    "masked_sentences": ["The Louvre is in [MASK] ."], "negated": ["It is not in [MASK] ."],
    "evidences": [{"masked_sentence": "In [MASK] ."}], "judgments": [{"judgment": "yes"}],
}  # fmt: skip
DESCRIPTION = {
    "relation": "P1", "template": "[X] is in [Y] .", "template_negated": "[X] is not in [Y] .",
    "type": "N-1", "label": "place",
}  # fmt: skip
PROMPTS = (
    {"relation": "P1", "template": "[X] [Y]"},
    {"pattern": "[X] [Y]"},
    {"template": "[X] [Y]", "weight": 0.5},
)
# Every JSON type, and numbers, texts and lists that readers have stumbled on.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e300, "", "a", "[MASK]", "[Y]", "\u2028", [], [1], ["a"], [[]], {},
    {"a": 1}, [{}], [{"judgment": []}], [{"masked_sentence": 1}], 10**400,
)  # fmt: skip
DAMAGE = (
    b"", b"\xff", b"[" * 100_000, b'{"a": ' * 100_000, b"9" * 5000, b"null", b"[]", b'"a"', b"1",
    b'{"relation": "\\ud800"}', b'{"template": NaN}', b"\xef\xbb\xbf", b"\x00", b"{" * 10,
    b'{"sub_label": "a", "obj_label": ' + b"9" * 5000 + b"}", b'{"pattern": Infinity}',
)  # fmt: skip
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def read_facts(path: Path, template: str | None = "[X] is in [Y] .") -> Any:
    return select(Relation("mine", "P1", path, template), WORDS)


def read_descriptions(path: Path) -> Any:
    (path.parent / "relations.jsonl").write_bytes(path.read_bytes())
    return load_relations(str(path))


def read_vectors(path: Path) -> Any:
    other = path.with_name("P1.safetensors")
    other.write_bytes(path.read_bytes())
    return load_prompts(other)


READERS: tuple[Callable[[Path], Any], ...] = (
    read_facts,
    lambda path: read_facts(path, None),
    read_descriptions,
    load_prompts,
    read_vectors,
    read_words,
)


def value_or_line(read: Callable[[Path], Any], path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        read(path)
    except UserError as error:
        assert len(one_line(str(error))) < 500


@pytest.mark.parametrize("read", READERS)
@QUICK
@given(content=st.binary(max_size=100))
def test_any_bytes(tmp_path: Path, read: Callable[[Path], Any], content: bytes):
    value_or_line(read, tmp_path / "any.jsonl", content)


@pytest.mark.parametrize("read", READERS)
def test_damage_that_readers_have_stumbled_on(tmp_path: Path, read: Callable[[Path], Any]):
    for content in DAMAGE:
        value_or_line(read, tmp_path / "any.jsonl", content)


@pytest.mark.parametrize(
    ("read", "row"),
    [
        (read_facts, FACT),
        (READERS[1], FACT),
        (read_descriptions, DESCRIPTION),
        *((load_prompts, row) for row in PROMPTS),
    ],
)
def test_every_field_of_every_type(tmp_path: Path, read: Callable[[Path], Any], row: Any):
    whole = tmp_path / "any.jsonl"
    whole.write_text(json.dumps(row))
    assert read(whole)
    for key in row:
        for value in VALUES:
            value_or_line(read, whole, json.dumps({**row, key: value}).encode())


SCHEMA = TypeAdapter(Row)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FACT)), json_values | st.sampled_from(VALUES))
def test_the_quick_check_of_a_fact_is_the_schemas(key: str, value: Any):
    def in_schema(row: Any) -> bool:
        try:
            SCHEMA.validate_python(row)
        except ValidationError:
            return False
        return True

    for row in (value, {key: value}, {**FACT, key: value}):
        assert is_row(row) == in_schema(row)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**FACT, "sub_label": 3}, "line 2: sub_label: should be a valid string, not 3"),
        ({**FACT, "evidences": [3]}, "line 2: evidences.0: "),
        ({**FACT, "judgments": [{"judgment": []}]}, "line 2: judgments.0.judgment: "),
        ({**FACT, "uuid": [1]}, "line 2: uuid"),
        ({**FACT, "sub_label": "a [MASK]"}, "holds .MASK., and only one slot"),
    ],
)
def test_a_bad_fact_is_named(tmp_path: Path, row: Any, says: str):
    path = tmp_path / "P1.jsonl"
    path.write_text(json.dumps(FACT) + "\n" + json.dumps(row))
    with pytest.raises(UserError, match=says):
        read_facts(path)


def test_marks_in_a_subject_are_text():
    cloze = Fact("1", "the [Y] of [X]", "Paris").cloze("[Y] has [X] .")
    assert (cloze.left, cloze.right) == ("", " has the [Y] of [X] .")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([DESCRIPTION, DESCRIPTION], "line 2: relation 'P1' occurs twice"),
        ([{**DESCRIPTION, "template": "[X]"}], r"line 1: .*write \[Y\] exactly once"),
        ([{**DESCRIPTION, "template": "[X] [Y] [MASK]"}], r"line 1: .*holds \[MASK\]"),
        ([{**DESCRIPTION, "type": "M-N"}], "line 1: type: "),
        ([{"template": "[X] [Y]"}], "line 1: relation: Field required"),
    ],
)
def test_a_bad_description_is_named(tmp_path: Path, rows: list[Any], says: str):
    (tmp_path / "P1.jsonl").write_text(json.dumps(FACT))
    (tmp_path / "relations.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UserError, match=says):
        load_relations(str(tmp_path / "P1.jsonl"))


def test_a_folder_of_facts_itself(tmp_path: Path):
    inside = tmp_path / "TREx"
    inside.mkdir()
    (inside / "P1.jsonl").write_text(json.dumps(FACT))
    (inside / "P2.jsonl").write_text(json.dumps(FACT))
    assert [r.template for r in load_relations(str(inside))] == [None, None]
    (tmp_path / "relations.jsonl").write_text(json.dumps(DESCRIPTION))
    assert [(r.name, r.type) for r in load_relations(str(inside))] == [("P1", "N-1")]
    (inside / "relations.jsonl").write_text(json.dumps({**DESCRIPTION, "relation": "P2"}))
    assert [r.name for r in load_relations(str(inside))] == ["P2"]
    (inside / "macro.jsonl").write_text(json.dumps(FACT))
    with pytest.raises(UserError, match="has a row macro"):
        load_relations(str(inside / "macro.jsonl"))


def test_a_relation_may_be_in_one_of_several_sources(tmp_path: Path):
    (tmp_path / "P1.jsonl").write_text(json.dumps(FACT))
    both = ["wordnet", str(tmp_path / "P1.jsonl")]
    assert [r.name for r in load_sources(both, only=["P1"])] == ["P1"]
    with pytest.raises(UserError, match="has no relation P9"):
        load_sources(both, only=["P1", "P9"])
    with pytest.raises(UserError, match="no source"):
        load_sources(["a\0b"])
    with pytest.raises(UserError, match="no source"):
        load_sources(["n" * 5000])


# -- prompts --------------------------------------------------------------------------------


def weighted(*weights: str) -> str:
    rows = (f'{{"template": "[X] [Y] {i}", "weight": {w}}}' for i, w in enumerate(weights))
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (weighted("0.5", "1e999"), "line 2: weight: "),
        (weighted("NaN"), "line 1: NaN is not a number"),
        (weighted("0.5", "-0.5"), "line 2: weight: "),
        (weighted("1e300"), "line 1: weight: "),
        (weighted("true"), "line 1: weight: "),
        (weighted("0", "0.0"), "all weights are zero"),
        (weighted("1e-300"), "all weights are zero"),
        ('{"relation": "P1", "template": "[X] [Y]"}\n' * 2, "line 2: relation 'P1' has prompts"),
        ('{"relation": "P1", "template": "[X] [Y]"}\n{"pattern": "[X] [Y]"}', "line 2: relation"),
        ('{"pattern": "[X] [Y] [MASK]"}', "line 1: .*holds"),
        ("\n", "is empty"),
    ],
)
def test_a_bad_prompt_is_named(tmp_path: Path, text: str, says: str):
    path = tmp_path / "P1.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=says) as caught:
        load_prompts(path)
    assert str(path) in str(caught.value)


def test_weights_may_be_zero_beside_others(tmp_path: Path):
    path = tmp_path / "P1.jsonl"
    path.write_text(weighted("0", "2"))
    assert load_prompts(path)["P1"].weights == (0.0, 2.0)


GOOD = {"template": "[X] [V1] [V2] [Y]", "relation": "P1", "model": {"name": "m", "sha256": {}}}


@pytest.mark.parametrize(
    ("table", "header", "says"),
    [
        (np.full((2, 3), np.nan), GOOD, "vector 1 holds no finite"),
        (np.array([[0, 1.0], [np.inf, 0]]), GOOD, "vector 2 holds no finite"),
        (np.full((2, 3), 1e300), GOOD, "vector 1 holds no finite"),
        (np.zeros((2, 3), dtype=int), GOOD, "holds no prompt of vectors"),
        (np.zeros((2, 3, 1)), GOOD, "holds no prompt of vectors"),
        (np.zeros(2), GOOD, "holds no prompt of vectors"),
        (np.zeros((3, 3)), GOOD, "3 vectors of 3 numbers, but its template has 2"),
        (np.zeros((2, 0)), GOOD, "2 vectors of 0 numbers"),
        (np.zeros((2, 3)), {**GOOD, "relation": "P2"}, "the vectors of 'P2'"),
        (np.zeros((2, 3)), {**GOOD, "template": 1}, "header: template: "),
        (np.zeros((2, 3)), {**GOOD, "template": "[X] [V1] [V3] [Y]"}, "header: .*in order"),
        (np.zeros((2, 3)), {**GOOD, "model": []}, "header: model: "),
        (np.zeros((2, 3)), [], "header: "),
    ],
)
def test_bad_vectors_are_named(tmp_path: Path, table: Any, header: Any, says: str):
    path = tmp_path / "P1.safetensors"
    save_file({"vectors": table}, path, {"hyperprobe": json.dumps(header)})
    with pytest.raises(UserError, match=says) as caught:
        load_prompts(path)
    assert str(path) in str(caught.value)


# -- words ----------------------------------------------------------------------------------


def test_words_lose_what_stands_around_them(tmp_path: Path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffa \r\nb\t\n\nc\u2028\n".encode())
    assert read_words(path) == ["a", "b", "c"]
    path.write_text("a\nb\t3\n")
    with pytest.raises(UserError, match=r"line 2: a tab or a control character inside 'b\\t3'"):
        read_words(path)
    with pytest.raises(UserError, match="is a folder"):
        read_words(tmp_path)


# -- options --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [-1, 2**64, True, 1.5, "1"])
def test_a_seed_that_not_every_generator_takes(seed: Any):
    with pytest.raises(UserError, match="--seed"):
        check_seed(seed)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (SearchOptions(vectors="²"), "--vectors"),
        (SearchOptions(vectors="0"), "--vectors"),
        (SearchOptions(vectors="1000"), "of at most 100"),
        (SearchOptions(steps=0), "--steps 0"),
        (SearchOptions(n_candidates=-1), "--candidates -1"),
        (SearchOptions(top_k=-1), "--top-k -1"),
    ],
)
def test_numbers_of_a_search_are_checked_first(options: SearchOptions, says: str):
    with pytest.raises(UserError, match=says):
        check_asked(["m"], ["optiprompt"], ["none"], options, 0)


def test_data_that_is_not_there_or_not_used(tmp_path: Path):
    with pytest.raises(UserError, match="no folder"):
        relations_asked(["wordnet"], tmp_path / "nowhere", (), None)
    asked, _ = relations_asked(["wordnet"], tmp_path, (), None)
    assert notes(["wordnet"], tmp_path, asked, ["--negated"]) == [
        "--negated: no fact asked has any: nothing was asked",
        f"--data {tmp_path} is not used by wordnet",
    ]
    assert notes(["trex"], tmp_path, [Relation("trex", "P1", Path("P1"))], []) == []


def test_test_pairs_in_train_are_one_line():
    facts = [Fact("1", "Louvre", "Paris")]
    with pytest.raises(UserError, match="1 test pairs are in train"):
        check_split(Split(Relation("mine", "P1", Path("P1")), facts, [], facts, {}))
