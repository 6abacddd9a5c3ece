"""Facts in LAMA's layout: what is read, what counts, what is refused and why."""

import json
from pathlib import Path

import pytest

from hyperprobe.cloze import CandidateSet
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.probes.lama.prompts import load_prompts
from hyperprobe.probes.lama.protocol import Vocabulary, select
from hyperprobe.probes.lama.sources import Relation, load_relations, load_sources
from hyperprobe.probes.lama.vocabulary import make_vocabulary, read_words
from hyperprobe.probes.lama.wordnet_facts import FOLDER, build_facts

WORDS = CandidateSet(("Paris", "Rome", "bird", "fish"))


def vocabulary(*words: str) -> Vocabulary:
    return Vocabulary(frozenset(words) if words else None, WORDS)


def write_rows(path: Path, rows: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def relation(path: Path, template: str | None = "[X] is in [Y] .") -> Relation:
    return Relation("mine", "P1", path, template)


def fact(sub: str, obj: str, **more: object) -> dict[str, object]:
    return {"sub_label": sub, "obj_label": obj, **more}


def votes(*answers: str) -> list[dict[str, str]]:
    return [{"rater": str(i), "judgment": answer} for i, answer in enumerate(answers)]


def test_rows_are_left_out_in_the_reference_codes_order(tmp_path: Path):
    rows = [
        fact("Louvre", "Paris"),
        fact("Louvre", "Paris", uuid="again"),
        {"sub_label": "nothing"},
        fact("Colosseum", "Rome", judgments=votes("yes", "no", "no")),
        fact("Forum", "Rome", judgments=votes("yes", "no")),
        fact("Hermitage", "Leningrad"),
        fact("Zoo", "Rome Paris"),
    ]
    path = write_rows(tmp_path / "P1.jsonl", rows)
    facts, counts = select(relation(path), vocabulary("Paris", "Rome"))
    # A tie of judgments is kept; two known words are in the vocabulary, but no one token.
    assert [(f.subject, f.object) for f in facts] == [("Louvre", "Paris"), ("Forum", "Rome")]
    assert counts == {
        "n_rows": 7,
        "n_no_label": 1,
        "n_too_long": 0,
        "n_not_in_vocabulary": 1,
        "n_several_tokens": 1,
        "n_denied": 1,
        "n_repeated": 1,
        "n_not_spelled": 0,
        "n_facts": 2,
    }
    _, counts = select(relation(path), vocabulary(), any_length=True)
    assert counts["n_facts"] == 4


def test_every_judgment_but_yes_is_a_no(tmp_path: Path):
    """As in the reference code, which counts `skip`, `maybe`, spellings and nothing at all."""
    rows = [
        fact("Louvre", "Paris", judgments=[*votes("yes"), {"judgment": None}]),
        fact("Forum", "Rome", judgments=votes("yes", "skip", "skip")),
        fact("Dante", "Rome", judgments=votes("skip")),
        fact("Zola", "Paris", judgments=votes("yes", "Yes", "maybe")),
        fact("Hugo", "Paris", judgments=votes("yes", "yes", "skip", "no")),
        fact("Proust", "Paris", judgments=[]),
    ]
    facts, counts = select(relation(write_rows(tmp_path / "P1.jsonl", rows)), vocabulary())
    assert [fact.subject for fact in facts] == ["Louvre", "Hugo", "Proust"]
    assert counts["n_denied"] == 3


def test_without_a_template_sentences_are_asked_and_not_deduplicated(tmp_path: Path):
    short = fact("Squad", "bird", masked_sentences=["A [MASK] and a [MASK] sang."])
    long = fact("Squad", "bird", masked_sentences=["word " * 100 + "[MASK]"])
    path = write_rows(tmp_path / "test.jsonl", [short, short, long])
    facts, counts = select(relation(path, template=None), vocabulary())
    assert (counts["n_too_long"], counts["n_repeated"], len(facts)) == (1, 0, 2)
    cloze = facts[0].cloze(None)
    assert (cloze.left, cloze.right) == ("A ", " and a [MASK] sang.")


def test_two_masked_sentences_are_asked_as_two(tmp_path: Path):
    rows = [
        fact("Dante", "Rome", masked_sentences=["Dante wrote.", "He died in [MASK] [MASK]."]),
        fact("Zola", "Paris", masked_sentences=["He died in [MASK].", "He wrote.", "A lot."]),
        fact("Hugo", "Paris", masked_sentences=["He died in [MASK]."], negated=["No.", "[MASK]."]),
    ]
    path = write_rows(tmp_path / "test.jsonl", rows)
    facts, _ = select(relation(path, template=None), vocabulary())
    assert [fact.cloze(None).sentences("X") for fact in facts] == [
        ("Dante wrote.", "He died in X [MASK]."),
        ("He died in X.", "He wrote. A lot."),
        ("He died in X.",),
    ]
    assert facts[2].cloze(None, negated=True).sentences("X") == ("No.", "X.")
    assert facts[0].cloze("[X] died in [Y] .").sentences("X") == ("Dante died in X .",)


def test_lowercase_spares_the_slot(tmp_path: Path):
    row = fact("Robin", "Bird", masked_sentences=["The Robin is a [MASK]."])
    path = write_rows(tmp_path / "test.jsonl", [row])
    facts, _ = select(relation(path, template=None), vocabulary(), lowercase=True)
    assert (facts[0].object, facts[0].sentence) == ("bird", "the robin is a [MASK].")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: should be a valid dict"),
        (
            '{"sub_label": 3, "obj_label": "bird"}',
            "line 2: sub_label: should be a valid string, not 3",
        ),
        ('{"sub_label": "x", "obj_label": " "}', "line 2: obj_label is empty"),
        ('{"sub_label": "x", "obj_label": "bird", "judgments": [1]}', "line 2: judgments"),
        ('{"sub_label": "x", "obj_label": "bird", "masked_sentences": "a"}', "line 2: masked_s"),
    ],
)
def test_a_broken_row_is_named_with_file_and_line(tmp_path: Path, text: str, says: str):
    path = tmp_path / "P1.jsonl"
    path.write_text(json.dumps(fact("Louvre", "Paris")) + "\n" + text + "\n")
    with pytest.raises(UserError, match=says) as caught:
        select(relation(path), vocabulary())
    assert str(path) in str(caught.value)


def test_a_row_needs_a_template_or_a_slot(tmp_path: Path):
    path = write_rows(tmp_path / "test.jsonl", [fact("x", "bird")])
    with pytest.raises(UserError, match="no template for P1 and no"):
        select(relation(path, template=None), vocabulary())


def test_sources_in_lamas_layout(tmp_path: Path):
    data = tmp_path / "data"
    write_rows(
        data / "relations.jsonl",
        [
            {"relation": "P19", "template": "[X] was born in [Y] .", "type": "N-1"},
            {"relation": "P54", "template": "[X] plays with [Y] .", "type": "N-M"},
        ],
    )
    rows = [fact("Dante", "Rome")]
    for name in ("TREx/P19", "Google_RE/place_of_death_test", "ConceptNet/test", "Squad/test"):
        write_rows(data / f"{name}.jsonl", rows)
    # The folder that holds data/ will do too; relations without facts are passed over.
    (trex,) = load_relations("trex", tmp_path)
    assert (trex.name, trex.type, trex.template) == ("P19", "N-1", "[X] was born in [Y] .")
    (death,) = load_relations("google-re", data)
    assert death.template == "[X] died in [Y] ."
    assert load_relations("squad", data)[0].template is None
    (own,) = load_relations(str(data / "TREx" / "P19.jsonl"), data)
    assert own.template == trex.template
    assert [r.name for r in load_relations(str(data), tmp_path)] == ["P19"]
    with pytest.raises(UserError, match="has no relation P20: choose from P19"):
        load_sources(["trex"], data, ["P20"])
    with pytest.raises(UserError, match="no source nonsense"):
        load_relations("nonsense", data)
    with pytest.raises(UserError, match="run hyperprobe lama fetch"):
        load_relations("trex", tmp_path / "absent")


def test_the_wordnet_facts_that_ship_are_those_that_are_built():
    built = build_facts()
    shipped = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*.jsonl")}
    assert built == shipped
    names = [relation.name for relation in load_relations("wordnet")]
    assert names[:4] == ["is-a", "has-kind", "part-of", "has-part"]
    pairs = {
        tuple(json.loads(line)[key] for key in ("sub_label", "obj_label"))
        for line in shipped["WordNet/made-of.jsonl"].splitlines()
    }
    assert ("coffee", "caffeine") in pairs


def test_the_vocabulary_is_what_every_model_writes_as_one_token(tiny_models: dict[str, Path]):
    bert, roberta = (load_model(str(tiny_models[name])) for name in ("bert", "roberta"))
    given = make_vocabulary(["bird", "Bird", "sparrowhawk", "robin"], [bert], lowercase=False)
    assert given.candidates.words == ("bird", "robin")  # an uncased model has no "Bird"
    lower = make_vocabulary(["Bird", "bird"], [bert], lowercase=True)
    assert lower.candidates.words == ("bird",)
    shared_by_both = make_vocabulary(None, [bert, roberta], lowercase=False)
    assert set(shared_by_both.candidates.words) == set(bert.words()) & set(roberta.words())
    with pytest.raises(UserError, match="--lowercase"):
        make_vocabulary(["Bird"], [bert], lowercase=False)


def test_vocabulary_files(tmp_path: Path):
    path = tmp_path / "words.txt"
    path.write_text("a\n\nb\n")
    assert read_words(path) == ["a", "b"]
    path.write_text("\n")
    with pytest.raises(UserError, match="is empty"):
        read_words(path)
    with pytest.raises(UserError, match="no vocabulary"):
        read_words(tmp_path / "absent")


def test_prompt_files_of_three_kinds(tmp_path: Path):
    one = write_rows(
        tmp_path / "relations.jsonl",
        [{"relation": "P1", "template": "[X]vik nationwide [Y]."}],
    )
    assert load_prompts(one)["P1"].templates == ("[X]vik nationwide [Y].",)
    folder = tmp_path / "mine"
    write_rows(
        folder / "P1.jsonl",
        [{"template": "[X] in [Y]", "weight": 0.75}, {"template": "[Y] has [X]", "weight": 0.25}],
    )
    ensemble = load_prompts(folder)["P1"]
    assert (ensemble.kind, ensemble.weights) == ("ensemble", (0.75, 0.25))
    patterns = write_rows(
        tmp_path / "P2.jsonl", [{"pattern": "[X] is [Y]."}, {"pattern": "[X], a [Y]."}]
    )
    assert load_prompts(patterns)["P2"].kind == "patterns"
    for row, says in (
        ({"relation": "P1", "template": "no slot [X]"}, r"line 1: .*write \[Y\] exactly once"),
        ({"template": "[X] [Y]"}, "line 1: weight: Field required"),
        ({"relation": "P1"}, "line 1: template: Field required"),
    ):
        with pytest.raises(UserError, match=says):
            load_prompts(write_rows(tmp_path / "bad.jsonl", [row]))


def test_released_prompt_files_load_verbatim(shared: Path):
    prompts = shared / "lama" / "prompts"
    auto = load_prompts(prompts / "AutoPrompt_relations.jsonl")
    assert auto["P1001"].templates == ("[X]vik nationwide disabilities policing within [Y].",)
    assert len(load_prompts(prompts / "LPAQA_relations.jsonl")) == 41
    mined = load_prompts(prompts / "lpaqa" / "mine")
    assert len(mined) == 16
    assert all(sum(p.weights) == pytest.approx(1, abs=1e-6) for p in mined.values())
    assert all(p.kind == "patterns" for p in load_prompts(prompts / "pararel").values())
