"""Relation extraction: sentences, mentions, folds, the net, and the graph's rankings."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.errors import UserError
from hyperprobe.probes.lama.extraction import baseline, net
from hyperprobe.probes.lama.extraction.graph import link, predict_extracted
from hyperprobe.probes.lama.extraction.net import Example, extract, train
from hyperprobe.probes.lama.extraction.sentences import (
    MAX_MENTIONS,
    Sentence,
    Statement,
    find_mentions,
    folds_of_subjects,
    names_in,
    read_sentences,
    split,
    words_of,
)
from hyperprobe.probes.lama.probe import lama
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation
from tests.commands import finished_cells, kill_after, one_line_error, run

KEY = "mine/P1"
PLACES = ("Rome", "Paris", "London", "Berlin", "Vienna", "Oslo")


# -- sentences ------------------------------------------------------------------------------


def write_rows(path: Path, *rows: dict[str, Any]) -> Relation:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    return Relation("mine", path.stem, path, "[X] was born in [Y] .")


def sight(sentence: str, subject: str, answer: str) -> dict[str, str]:
    return {"masked_sentence": sentence, "sub_surface": subject, "obj_surface": answer}


def test_a_sentence_with_both_surfaces(tmp_path: Path):
    seen = sight("In [MASK], Turing's machine met Turing.", "Turing", "Rome")
    rows = [
        {"sub_label": "Alan Turing", "obj_label": "Roma", "evidences": [seen, {}]},
        {"sub_label": "Machine", "obj_label": "Rome", "evidences": [{**seen, "sub_surface": "x"}]},
        {"sub_label": "nobody", "obj_label": "Rome"},
    ]
    (one,) = read_sentences([write_rows(tmp_path / "P1.jsonl", *rows)])
    assert one.words == ("In", "Rome", ",", "Turing", "'", "s", "machine", "met", "Turing", ".")
    assert one.statements == (
        Statement(KEY, "Alan Turing", "Roma", ((3, 4), (1, 2))),
        Statement(KEY, "Machine", "Rome", None),  # its surface is not there
    )


def test_a_snippet_in_which_the_labels_are_looked_for(tmp_path: Path):
    snippet = {"snippet": "Ann Lee was born in Rome. Lee died in Rome."}
    rows = [
        {"sub_label": "Ann Lee", "obj_label": "Rome", "evidences": [snippet]},
        {"sub_label": "Bob Lee", "obj_label": "Rome", "evidences": [snippet]},
        {"sub_label": "Ann Lee", "obj_label": "Oslo", "evidences": [snippet]},
    ]
    (one,) = read_sentences([write_rows(tmp_path / "P1.jsonl", *rows)])
    assert [said.spans for said in one.statements] == [((0, 2), (10, 11)), ((1, 2), (10, 11)), None]


def test_what_is_cut_off_has_no_place(tmp_path: Path):
    rows = [
        {"sub_label": name, "obj_label": "Rome", "evidences": [sight(text, name, "Rome")]}
        for name, text in (("Ann", "Ann " + "so " * 99 + "[MASK]"), ("Bob", "Bob [MASK]"))
    ]
    long, short = read_sentences([write_rows(tmp_path / "P1.jsonl", *rows)])
    assert len(long.words) == 100 and long.statements[0].spans is None
    assert short.statements[0].spans == ((0, 1), (1, 2))


@pytest.mark.parametrize(
    ("evidences", "says"),
    [
        ([{"snippet": 3}], "P1.jsonl, line 1: evidences.0.snippet"),
        ([], "no evidence sentences of two subjects in P1"),
        ([sight("no slot", "no", "Rome"), {"snippet": " "}], "no evidence sentences"),
    ],
)
def test_evidence_that_is_none(tmp_path: Path, evidences: list[Any], says: str):
    row = {"sub_label": "Ann", "obj_label": "Rome", "evidences": evidences}
    with pytest.raises(UserError, match=says):
        read_sentences([write_rows(tmp_path / "P1.jsonl", row)])


def mentions(text: str, *names: str, known: list[tuple[int, int]] | None = None) -> list[str]:
    words = words_of(text)
    found = find_mentions(words, frozenset(map(words_of, names)), known or ())
    return [" ".join(words[slice(*span)]) for span in found]


def test_mentions_are_names_and_runs_of_capitals():
    text = "The Bank of Rome gave Ann B. Lee a bass guitar in May."
    assert mentions(text) == ["Bank of Rome", "Ann B . Lee"]
    assert mentions(text, "guitar", "bass guitar", "Rome") == [
        "Bank of Rome", "Ann B . Lee", "bass guitar",
    ]  # fmt: skip
    assert mentions(text, known=[(3, 4)]) == ["Rome", "Ann B . Lee"]
    assert len(mentions("A, ".replace("A", "Xa") * 30)) == MAX_MENTIONS


# -- folds ----------------------------------------------------------------------------------


def toy_sentences(n: int, seed: int = 0) -> list[Sentence]:
    """People born in the first place and sent to the second; every fourth sentence has two."""
    random = np.random.default_rng(seed)
    made = []
    for i in range(n):
        home, other = (PLACES[j] for j in random.permutation(len(PLACES))[:2])
        words = f"Person{i} was born in {home} and sent to {other} by friends".split()
        said = [Statement(KEY, f"Person{i}", home, ((0, 1), (4, 5)))]
        said.append(Statement("mine/P2", f"Person{i}", other, ((0, 1), (8, 9))))
        if i % 4 == 0 and i:
            words += ["with", f"Person{i - 1}"]
            said.append(Statement("mine/P2", f"Person{i - 1}", other, ((12, 13), (8, 9))))
        made.append(Sentence(tuple(words), tuple(said)))
    return made


def test_no_sentence_about_a_tested_subject_trains():
    sentences = toy_sentences(40)
    folds = folds_of_subjects(sentences, seed=0)
    assert sorted(folds.values()) == [0] * 20 + [1] * 20
    both = set()
    for fold in (0, 1):
        training, tested = split(sentences, folds, fold)
        of_fold = {subject for subject, one in folds.items() if one == fold}
        for one in training:
            assert not {said.subject.lower() for said in one.statements} & of_fold
            assert not {word.lower() for word in one.words} & of_fold
        asked = {said.subject.lower() for i in tested for said in sentences[i].statements}
        assert of_fold <= asked
        assert len(training) + len(tested) == 40
        both |= {(i, fold) for i in tested}
    assert len(both) > 40  # a sentence about subjects of both folds trains neither


def test_labels_under_test_change_no_triple(monkeypatch: pytest.MonkeyPatch):
    sentences = toy_sentences(60)
    folds = folds_of_subjects(sentences, seed=0)

    def triples(known: list[Sentence]) -> pd.DataFrame:
        return baseline._extract(known, folds, 0, 0)[0]

    def relabelled(fold: int) -> list[Sentence]:
        return [
            Sentence(
                one.words,
                tuple(
                    Statement(KEY, said.subject, "Atlantis", ((0, 1), (2, 3)))
                    if any(folds[s.subject.lower()] == fold for s in one.statements)
                    else said
                    for said in one.statements
                ),
            )
            for one in sentences
        ]

    monkeypatch.setattr(net, "EPOCHS", 6)
    # (the net has a label for each relation of the whole run: both keep theirs)
    assert {s.relation for one in relabelled(0) for s in one.statements} == {KEY, "mine/P2"}
    plain = triples(sentences)
    assert len(plain)
    pd.testing.assert_frame_equal(plain, triples(relabelled(0)))
    assert not plain.equals(triples(relabelled(1)))


# -- the net --------------------------------------------------------------------------------


def planted(n: int, seed: int, shuffle: bool = False) -> list[Example]:
    """Four words of thirty at random; the word 1 or 2 between two mentions is their relation.

    Backwards there is none. `shuffle` gives the labels out anew.
    """
    random = np.random.default_rng(seed)
    words = random.integers(3, 30, (n, 5))
    words[:, 2] = random.integers(1, 3, n)
    label = words[:, 2].copy()
    if shuffle:
        label = random.permutation(label)
    pairs = (((1, 2), (3, 4)), ((3, 4), (1, 2)))
    return [Example(row, pairs, (int(one), 0)) for row, one in zip(words, label, strict=True)]


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_net_learns_what_is_planted_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, shuffle: bool
):
    monkeypatch.setattr(net, "EPOCHS", 4)
    vectors = np.random.default_rng(1).normal(size=(29, 8)).astype(np.float32)
    trained = train(planted(400, 0, shuffle), vectors, 3, seed=0)
    asked = planted(400, 1)
    found = extract(trained, asked)
    forwards = np.array([one.label[0] for one in found])
    right = np.mean(forwards == [one.labels[0] for one in asked])
    assert all(one.label[1] == 0 for one in found)  # the markers tell which comes first
    if shuffle:  # 400 throws of a coin lie within four standard deviations
        assert abs(right - 0.5) < 0.1
    else:
        assert right > 0.98
        assert np.mean([one.confidence[0] for one in found]) > 0.9


def test_context_is_of_the_other_pairs_of_the_sentence():
    vectors = np.eye(4, dtype=np.float32)
    made = net.Extractor(vectors, 3, torch.Generator().manual_seed(0)).eval()
    state = torch.randn(4, net.N_HIDDEN, generator=torch.Generator().manual_seed(1)).double()
    context = made._context(state, torch.tensor([0, 1, 1, 1]))
    assert (context[0] == 0).all()
    first, second, third = state[1:]
    weight = torch.exp(torch.stack([first @ made.attention @ x for x in (second, third)]))
    expected = (weight[0] * second + weight[1] * third) / weight.sum()
    assert context[1].detach().numpy() == pytest.approx(expected.detach().numpy())


def test_a_sentence_does_not_mind_the_batch():
    vectors = np.random.default_rng(1).normal(size=(29, 8)).astype(np.float32)
    trained = train(planted(50, 0), vectors, 3, seed=0)
    long = Example(np.arange(1, 25), tuple(permutations([(0, 2), (5, 6), (9, 10)], 2)))
    nothing = Example(np.array([4, 5]), ())
    together = extract(trained, [long, nothing, *planted(20, 2)])
    assert together[1].label.size == 0
    for one, found in zip([long, *planted(20, 2)], [together[0], *together[2:]], strict=True):
        (single,) = extract(trained, [one])
        assert single.confidence == pytest.approx(found.confidence, abs=1e-12)


# -- the graph ------------------------------------------------------------------------------

CANDIDATES = CandidateSet(("Rome", "Paris", "London", "Oslo"))
FACTS = [
    Fact("1", "Ann Lee", "Rome"),
    Fact("2", "Bob", "Paris"),
    Fact("3", "Cid", "London"),
    Fact("4", "Dora", "Oslo"),
    Fact("5", "Ann Lee", "Paris"),
]


def linked_frames(lowercase: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    def about(*said: tuple[str, str, str]) -> Sentence:
        return Sentence((), tuple(Statement(*one, None) for one in said))

    sentences = [
        about((KEY, "Ann Lee", "Rome"), (KEY, "Ann Lee", "Paris")),
        about((KEY, "Bob", "Paris")),
        about(("mine/P2", "Cid", "London")),
    ]
    rows = [
        (0, KEY, "Ann Lee", "London", 0.9),  # a wrong object
        (0, KEY, "Ann", "Rome", 0.95),  # a wrong subject
        (2, KEY, "Ann Lee", "Rome", 0.6),  # of a sentence that states no P1
        (2, KEY, "Ann Lee", "Rome", 0.7),
        (1, "mine/P2", "Bob", "Paris", 0.8),  # a wrong relation
        (1, KEY, "bob", "Oslo", 0.5),
        (2, "mine/P2", "Cid", "London", 0.9),
    ]
    triples = pd.DataFrame(rows, columns=list(baseline.TRIPLE))
    folds = {"ann lee": 0, "bob": 0, "cid": 0, "dora": 1}
    relation = Relation("mine", "P1", Path("P1.jsonl"), "[X] was born in [Y] .")
    facts = FACTS
    if lowercase:
        facts = [Fact(f.id, f.subject.lower(), f.object.lower()) for f in FACTS]
    words = CandidateSet(tuple(w.lower() for w in CANDIDATES.words)) if lowercase else CANDIDATES
    naive, oracle = (
        predict_extracted(one, relation, facts, words)
        for one in link([triples, triples.iloc[:0]], sentences, folds, lowercase)
    )
    return naive, oracle


def test_naive_linking_by_hand():
    naive, _ = linked_frames()
    # Ann Lee: London 0.9, Rome 0.7. Nothing of Bob (another relation, another spelling), of
    # Cid (another relation) or of Dora (the other fold).
    assert naive["gold_rank"].tolist() == [2, 0, 0, 0, 0]
    assert naive["gold_score"][0] == pytest.approx(np.log(0.7))
    assert naive["top"][0] == ["London", "Rome"] and naive["top"][1] == []
    assert naive["best"].fillna("").tolist() == ["London", "", "", "", "London"]
    assert naive["model"].unique().tolist() == ["re_naive"]


def test_oracle_linking_by_hand():
    _, oracle = linked_frames()
    # Sentence 0 states two facts of P1, and its triples are both: Rome and Paris 0.95; London is
    # gone. Sentence 1 states Bob's fact, and found P1 between others.
    assert oracle["gold_rank"].tolist() == [1, 1, 0, 0, 2]
    assert oracle["gold_tied"].tolist() == [1, 0, 0, 0, 1]
    assert oracle["gold_score"].tolist()[:2] == pytest.approx(np.log([0.95, 0.5]))
    assert oracle["top"][0] == ["Rome", "Paris"]


def test_linking_in_lower_case():
    naive, oracle = linked_frames(lowercase=True)
    assert naive["gold_rank"].tolist() == [2, 0, 0, 0, 0]
    assert naive["top"][1] == ["oslo"]  # "bob" is Bob now
    assert oracle["gold_rank"].tolist() == [1, 1, 0, 0, 2]


# -- the command ----------------------------------------------------------------------------


def write_source(folder: Path, n: int = 60) -> str:
    """Two relations with sentences, one without."""
    facts: dict[str, list[dict[str, Any]]] = {"P1": [], "P2": [], "P3": []}
    for i, one in enumerate(toy_sentences(n)):
        first, second = (said.object for said in one.statements[:2])
        for name, place in (("P1", first), ("P2", second)):
            text = " ".join(one.words).replace(place, "[MASK]")
            seen = sight(text, f"Person{i}", place)
            row = {"sub_label": f"Person{i}", "obj_label": place, "evidences": [seen]}
            facts[name].append(row)
        facts["P3"].append({"sub_label": f"Person{i}", "obj_label": first})
    (folder / "Mine").mkdir(parents=True)
    for name, rows in facts.items():
        (folder / "Mine" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    about = [{"relation": name, "template": "[X] is in [Y] .", "type": "N-1"} for name in facts]
    (folder / "relations.jsonl").write_text("\n".join(map(json.dumps, about)))
    return str(folder)


def test_the_command_and_a_kill(
    tmp_path: Path, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(net, "EPOCHS", 25)
    source = write_source(tmp_path / "facts", 40)
    model = ["--model", str(tiny_models["bert"]), "--lowercase"]
    command = ["lama", *model, "--source", source, "--multi-token", "--baseline", "re"]
    whole = run(tmp_path, *command, "--json", "--results", "whole")
    assert "no evidence sentences for P3: left out" in whole.stderr
    rows = json.loads(whole.stdout)["rows"]
    raw = {(r["model"], r["relation"]): r["p_at_1"] for r in rows if r["ranking"] == "raw"}
    # What a person's sentence says is found, and told from where the person was sent.
    for name in ("re_naive", "re_oracle"):
        assert raw[name, "P1"] > 80 and raw[name, "P2"] > 80 and (name, "P3") not in raw
        assert raw[name, "macro"] == pytest.approx((raw[name, "P1"] + raw[name, "P2"]) / 2)
    n_cells = 2 * 3 + 2
    kill_after(tmp_path, command, n_cells - 1)
    assert json.loads(run(tmp_path, *command, "--json").stdout)["rows"] == rows
    assert len(finished_cells(tmp_path)) == n_cells


def test_the_same_numbers_on_one_and_two_threads(
    tmp_path: Path, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(net, "EPOCHS", 2)
    source, before = write_source(tmp_path / "facts", 20), torch.get_num_threads()
    frames = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            result = lama(
                str(tiny_models["bert"]), source, multi_token=True, baselines="re",
                relations=["P1", "P2"], results=tmp_path / str(n), lowercase=True,
            )  # fmt: skip
            table = result.predictions
            frames.append(table[table["model"] == "re_naive"])
    finally:
        torch.set_num_threads(before)
    pd.testing.assert_frame_equal(*frames, check_exact=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--baseline", "re"), "--baseline re: no evidence sentences"),
        (("--baseline", "drqa9"), "unknown baseline 'drqa9'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str):
    assert says in one_line_error(run(tmp_path, "lama", *arguments))


def test_names_are_those_of_training_facts():
    first, second = toy_sentences(2)
    said = Statement(KEY, "The Old Town", "1 / 2", ((0, 1), (1, 2)))
    names = names_in([first, Sentence(("It", "Town"), (said,))])
    # Not a pronoun, not a number; nothing of the second sentence.
    stated = {("Person0",), (first.statements[0].object,), (first.statements[1].object,)}
    assert names == stated | {("The", "Old", "Town"), ("Town",)}
    assert second.statements[0].subject == "Person1"
