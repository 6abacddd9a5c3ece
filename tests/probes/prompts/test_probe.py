"""Prompt search: splits, classifiers, texts, metrics, and the command from end to end."""

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hyperprobe.cloze import CandidateSet
from hyperprobe.errors import UserError
from hyperprobe.finished import load
from hyperprobe.models.load import load_model
from hyperprobe.options import ModelOptions
from hyperprobe.probes.lama.prompts import load_prompts
from hyperprobe.probes.lama.protocol import Fact, Vocabulary
from hyperprobe.probes.lama.sources import Relation, load_relations
from hyperprobe.probes.prompts import report
from hyperprobe.probes.prompts.asked import SearchOptions
from hyperprobe.probes.prompts.classifiers import majority, predict_class_prior, predict_naive_bayes
from hyperprobe.probes.prompts.controls import load_control
from hyperprobe.probes.prompts.metrics import mark_outcomes, paper_tables, summarise_prompts
from hyperprobe.probes.prompts.probe import PromptsResult, prompts
from hyperprobe.probes.prompts.splits import (
    Split,
    check_split,
    given_split,
    load_splits,
    seeded_split,
)
from hyperprobe.probes.prompts.texts import best_of, mine_templates
from hyperprobe.probes.prompts.uhn import leaks_answer
from hyperprobe.runs.read import read_run
from tests.commands import finished_cells, kill_after, one_line_error, run

WORDS = ("bird", "fish", "tree", "tool", "house")
VOCABULARY = Vocabulary(None, CandidateSet(WORDS))
RELATION = Relation("mine", "P1", Path("P1.jsonl"), "the [X] is a [Y] .", None, "N-1")
SUBJECTS = ["robin", "sparrow", "trout", "oak", "hammer", "car", "winter", "snow", "flower"]


def write_rows(path: Path, pairs: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"sub_label": s, "obj_label": o, "uuid": f"{s}-{o}"} for s, o in pairs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_source(folder: Path, n_relations: int = 2) -> Path:
    about = []
    for i in range(n_relations):
        pairs = [(s, ("bird", "bird", "tree", "tool")[j % 4]) for j, s in enumerate(SUBJECTS)]
        write_rows(folder / "Mine" / f"P{i}.jsonl", pairs)
        about.append({"relation": f"P{i}", "template": "[X] is a [Y] .", "type": "N-1"})
    (folder / "relations.jsonl").write_text("\n".join(map(json.dumps, about)))
    return folder


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperprobe.probes.prompts.optiprompt.MIN_STEPS", 2)
    monkeypatch.setattr("hyperprobe.probes.prompts.finetune.EPOCHS", 2)


@pytest.fixture
def bert(tiny_models: dict[str, Path]) -> Any:
    return load_model(str(tiny_models["bert"]))


# -- splits -------------------------------------------------------------------------------


def test_subjects_are_in_one_part_and_pairs_in_none_twice(tmp_path: Path):
    pairs = [(f"s{i}", word) for i in range(50) for word in WORDS[: 1 + i % 3]]
    pairs += [("S7", "house")]  # the same subject, written otherwise
    write_rows(tmp_path / "P1.jsonl", pairs)
    relation = Relation("x", "P1", tmp_path / "P1.jsonl", "[X] [Y]")
    split = seeded_split(relation, VOCABULARY, False, 0)
    parts = [{f.subject.lower() for f in facts} for facts in (split.train, split.dev, split.test)]
    assert [len(part) for part in parts] == [30, 10, 10]
    assert len(set.union(*parts)) == 50
    assert len(split.train) + len(split.dev) + len(split.test) == len(pairs)
    write_rows(tmp_path / "P1.jsonl", reversed(pairs))
    again = seeded_split(relation, VOCABULARY, False, 0)
    assert [f.subject for f in again.test] == [f.subject for f in split.test]
    other = seeded_split(relation, VOCABULARY, False, 1)
    assert {f.subject for f in other.test} != {f.subject for f in split.test}


@pytest.mark.parametrize(("n", "sizes"), [(1, (1, 0, 0)), (2, (1, 0, 1)), (3, (1, 1, 1))])
def test_relations_of_few_facts(n: int, sizes: tuple[int, ...], tmp_path: Path):
    write_rows(tmp_path / "P1.jsonl", [(f"s{i}", "bird") for i in range(n)])
    relation = Relation("x", "P1", tmp_path / "P1.jsonl", "[X] [Y]")
    split = seeded_split(relation, VOCABULARY, False, 0)
    assert (len(split.train), len(split.dev), len(split.test)) == sizes
    assert split.selection == (split.dev or split.train)


def test_given_parts_lose_what_the_test_has(tmp_path: Path):
    write_rows(tmp_path / "P1" / "train.jsonl", [("robin", "bird"), ("Oak", "tree"), ("a", "fish")])
    write_rows(tmp_path / "P1" / "dev.jsonl", [("oak", "tree"), ("oak", "house")])
    write_rows(tmp_path / "P1" / "test.jsonl", [("oak", "tree"), ("car", "two words")])
    (tmp_path / "relations.jsonl").write_text('{"relation": "P1", "template": "[X] is [Y] ."}')
    (relation,) = load_relations(str(tmp_path))
    assert (relation.name, relation.path.name) == ("P1", "test.jsonl")
    split = given_split(relation, VOCABULARY, False)
    assert [f.subject for f in split.train] == ["robin", "a"]
    assert [f.object for f in split.dev] == ["house"] and len(split.test) == 1
    assert (split.counts["n_in_test"], split.counts["n_several_tokens"]) == (2, 1)
    (loaded,) = load_splits([str(tmp_path)], tmp_path, (), VOCABULARY, False, 0)
    assert loaded == split
    with pytest.raises(UserError, match="1 test pairs"):
        check_split(Split(relation, split.test, [], split.test, {}))


def test_a_relation_needs_a_template_and_a_template_a_slot(tmp_path: Path):
    write_rows(tmp_path / "P1" / "train.jsonl", [("robin", "bird")])
    write_rows(tmp_path / "P1" / "test.jsonl", [("oak", "tree")])
    with pytest.raises(UserError, match="P1"):
        load_splits([str(tmp_path)], tmp_path, (), VOCABULARY, False, 0)
    (tmp_path / "relations.jsonl").write_text('{"relation": "P1", "template": "[X] is here ."}')
    with pytest.raises(UserError, match=r"write \[Y\] exactly once"):
        load_splits([str(tmp_path)], tmp_path, (), VOCABULARY, False, 0)


# -- classifiers --------------------------------------------------------------------------

TRAIN = [
    Fact("1", "robin", "bird"),
    Fact("2", "robin car", "bird"),
    Fact("3", "oak", "tree"),
]


def test_class_prior_by_hand():
    split = Split(RELATION, TRAIN, [], [], {})
    facts = [Fact("4", "snow", "tree"), Fact("5", "snow", "bird"), Fact("6", "snow", "fish")]
    table = predict_class_prior(split, facts)
    assert table["gold_rank"].tolist() == [2, 1, 0]
    assert table["gold_score"][:2].tolist() == pytest.approx([math.log(1 / 3), math.log(2 / 3)])
    assert set(table["best"]) == {"bird"}
    tied = [Fact("1", "a", "tree"), Fact("2", "a", "bird")]
    assert majority(tied) == "bird" == predict_class_prior(
        Split(RELATION, tied, [], [], {}), facts
    )["best"][0]  # fmt: skip


def test_naive_bayes_by_hand(bert: Any):
    split = Split(RELATION, TRAIN, [], [], {})
    facts = [Fact("4", "oak", "tree"), Fact("5", "robin oak oak", "bird"), Fact("6", "car", "fish")]
    table = predict_naive_bayes(split, facts, bert)
    size = len(bert.tokenizer)
    # pieces of the subjects of bird: robin 2, car 1; of tree: oak 1
    bird = {"robin": 3 / (3 + size), "car": 2 / (3 + size), "oak": 1 / (3 + size)}
    tree = {"robin": 1 / (1 + size), "car": 1 / (1 + size), "oak": 2 / (1 + size)}
    scores = [
        [
            math.log(prior) + sum(math.log(shares[w]) for w in fact.subject.split())
            for prior, shares in ((2 / 3, bird), (1 / 3, tree))
        ]
        for fact in facts
    ]
    assert table["gold_score"][:2].tolist() == pytest.approx([scores[0][1], scores[1][0]])
    best = [("bird", "tree")[int(np.argmax(row))] for row in scores]
    assert table["best"].tolist() == best == ["tree" if scores[0][1] > scores[0][0] else "bird",
                                              best[1], "bird"]  # fmt: skip
    assert table["gold_rank"].tolist()[2] == 0  # train has no fish


# -- texts --------------------------------------------------------------------------------


def test_the_best_templates_on_train_and_their_mean(bert: Any):
    split = Split(RELATION, [Fact(str(i), s, "bird") for i, s in enumerate(SUBJECTS)], [], [], {})
    templates = ["the [X] is a [Y] .", "[Y] , the [X]", "a [X] in [Y] .", "[X] ( [Y] )"]
    gold = CandidateSet(WORDS).index["bird"]
    quality = {}
    for template in templates:
        scores = bert.score([f.cloze(template) for f in split.train], CandidateSet(WORDS))
        right = (scores.argmax(axis=1) == gold).mean()
        quality[template] = (right, scores[:, gold].mean())
    order = sorted(templates, key=lambda t: quality[t], reverse=True)
    one = best_of(bert, split, CandidateSet(WORDS), templates, 1)
    assert (one.kind, one.templates) == ("template", (order[0],))
    three = best_of(bert, split, CandidateSet(WORDS), templates, 3)
    assert three.templates == tuple(order[:3]) and three.weights == pytest.approx([1 / 3] * 3)


def test_mining_finds_the_words_between(tmp_path: Path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(
        "They say the robin is a small bird indeed. Every oak, that tall tree, sleeps.\n"
        "The oak is a small tree. A trout is no tree. Robins are birds. bird robin.\n"
        "A bird like the robin sings. A [MASK] robin is a bad bird.\n"
    )
    split = Split(RELATION, TRAIN, [], [], {})
    (templates,) = mine_templates([corpus], [split]).values()
    assert templates[0] == RELATION.template  # the manual one is always tried
    assert templates[1] == "[X] is a small [Y] ."  # of two facts
    assert set(templates[2:]) == {
        "[X] , that tall [Y] .".replace(" ,", ","),
        "[Y] like the [X] .",
        "the [X] is a small [Y] indeed .",
        "every [X] , that tall [Y] sleeps .".replace(" ,", ","),
        "a [Y] like the [X] sings .",
    } - {"[X], that tall [Y] .", "every [X], that tall [Y] sleeps ."} | {
        "[X] , that tall [Y] .", "every [X] , that tall [Y] sleeps .",
    }  # fmt: skip
    with pytest.raises(UserError, match="no corpus"):
        mine_templates([tmp_path / "absent"], [split])


# -- UHN, metrics -------------------------------------------------------------------------


def test_names_that_give_the_answer_away(bert: Any):
    facts = [Fact("1", "robin Birdsong", "bird"), Fact("2", "oak", "tree")]
    candidates = CandidateSet(WORDS)
    assert leaks_answer(bert, RELATION, facts, candidates) == [True, False]
    person = Relation("x", "P19", Path("x"), "[X] in [Y] .")
    template = "oak is a common name in the following city: [MASK] ."
    from hyperprobe.cloze import parse_cloze

    (scores,) = bert.score([parse_cloze(template, "1")], candidates)
    best = {WORDS[i] for i in np.argsort(-scores)[:3]}
    for word in WORDS:
        found = leaks_answer(bert, person, [Fact("1", "oak", word)], candidates)
        assert found == [word in best]


def answers(method: str, control: str, best: list[str], dev: float = 50.0) -> pd.DataFrame:
    gold = ["bird", "bird", "tree", "fish"]
    return pd.DataFrame(
        {
            "source": "s", "relation": "P1", "type": "N-1", "model": "m", "method": method,
            "control": control, "item": [f"{i}" for i in range(4)], "gold": gold, "best": best,
            "gold_rank": [1 if a == b else 2 for a, b in zip(gold, best, strict=True)],
            "train_majority": "bird", "n_train": 7, "dev_p_at_1": dev,
            "helpful_name": [True, False, False, False],
        }
    )  # fmt: skip


def test_the_numbers_by_hand():
    table = pd.concat(
        [
            answers("naive-bayes", "", ["bird", "tree", "fish", "tree"]),
            answers("manual", "none", ["tree", "fish", "tree", "tree"]),
            answers("opti", "none", ["bird", "bird", "tree", "bird"]),
            answers("opti", "random-model", ["bird", "tree", "bird", "fish"]),
        ],
        ignore_index=True,
    )
    marked = mark_outcomes(table)
    # easy: item 0 (naive Bayes, control) and 3 (control)
    assert marked["easy"].tolist() == [True, False, False, True] * 4
    metrics = summarise_prompts(marked).set_index(["method", "control", "relation"])
    row = metrics.loc[("opti", "none", "P1")]
    assert row["p_at_1"] == 75 and row["p_at_1_majority"] == 50 and row["elicits_majority"] == 75
    assert row["majority_of_correct"] == pytest.approx(200 / 3)
    assert (row["n_easy"], row["n_hard"], row["n_uhn"]) == (2, 2, 3)
    assert row["n_easy"] + row["n_hard"] == row["n_facts"] == 4
    assert row["p_at_1_easy"] == 50 and row["p_at_1_hard"] == 100
    assert row["p_at_1_uhn"] == pytest.approx(200 / 3)
    assert row["mrr"] == pytest.approx(7 / 8)
    macro = metrics.loc[("opti", "none", "macro")]
    assert (macro["n_better"], macro["n_equal"], macro["n_worse"]) == (1, 0, 0)
    control = metrics.loc[("opti", "random-model", "macro")]
    assert control["majority_of_correct"] == 50 and control["p_at_1"] == 50
    tables = paper_tables(metrics.reset_index())
    (easy_hard,) = tables["table4_easy_hard.csv"].query("method == 'opti'").to_dict("records")
    assert (easy_hard["all"], easy_hard["easy"], easy_hard["hard"]) == (75, 50, 100)
    (control_row,) = tables["table8_random_controls.csv"].to_dict("records")
    assert control_row["random_model_opti_majority"] == 25
    assert control_row["random_model_opti_accuracy"] == 50
    (whole,) = tables["table9_easy_hard.csv"].to_dict("records")
    assert (whole["easy_facts"], whole["hard_opti"]) == (2, 100)


# -- other people's files -----------------------------------------------------------------

ODD = ("[X]PA communerug speaks proper [Y].", "[X]vik nationwide within [Y].", "[X] ↔ → [Y],")


def reference_tokens(tokenizer: Any, text: str) -> list[str]:
    """OptiPrompt's reading: word by word, the mask apart from what touches it."""
    tokens = []
    for word in text.split():
        tokens += tokenizer.tokenize(word)
    return [tokenizer.cls_token, *tokens, tokenizer.sep_token]


@cache
def embedded() -> Any:
    return load_control(ModelOptions(), "embedded")


def check_tokens(templates: Any) -> None:
    model = embedded()
    for template in templates:
        cloze = Fact("1", "Jean Dupont", "x").cloze(template)
        (ids,) = model.tokenise([cloze.fill("[MASK]")])
        tokens = model.tokenizer.convert_ids_to_tokens(list(ids))
        assert tokens == reference_tokens(model.tokenizer, cloze.fill("[MASK]")), template


def test_odd_templates_stay_as_they_are(tmp_path: Path):
    path = tmp_path / "auto.jsonl"
    rows = [json.dumps({"relation": f"P{i}", "template": text}) for i, text in enumerate(ODD)]
    path.write_text("\n".join(rows))
    assert [p.templates[0] for p in load_prompts(path).values()] == list(ODD)
    check_tokens(ODD)


def test_released_prompts_are_read_verbatim(shared: Path):
    folder = shared / "lama" / "prompts"
    for name in ("AutoPrompt_relations.jsonl", "LPAQA_relations.jsonl"):
        rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        found = load_prompts(folder / name)
        texts = {row["relation"]: row["template"] for row in rows}
        assert {key: p.templates[0] for key, p in found.items()} == texts and len(texts) > 39
        check_tokens(texts.values())
    for kind in ("mine", "paraphrase"):
        for name, found_one in load_prompts(folder / "lpaqa" / kind).items():
            lines = (folder / "lpaqa" / kind / f"{name}.jsonl").read_text().splitlines()
            assert list(found_one.templates) == [json.loads(line)["template"] for line in lines]
            assert sum(found_one.weights) == pytest.approx(1, abs=1e-6)
            check_tokens(found_one.templates)


# -- the whole ----------------------------------------------------------------------------


def test_every_method_and_control(tmp_path: Path, tiny_models: dict[str, Path]):
    source, model = str(write_source(tmp_path / "facts")), str(tiny_models["bert"])
    lpaqa = tmp_path / "lpaqa"
    lpaqa.mkdir()
    for i in range(2):
        rows = [
            {"template": "[X] is a [Y] .", "weight": 0.5},
            {"template": "[Y] [X]", "weight": 0.5},
        ]
        (lpaqa / f"P{i}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("A robin is some bird. The oak, a tree.\n")
    options = SearchOptions("5", 5, 2, 0, (corpus,), {"lpaqa": lpaqa})
    methods = ["lpaqa", "mine", "autoprompt", "optiprompt", "finetune"]
    result = prompts([model], methods, sources=[source], search=options, results=tmp_path)
    rows = result.metrics
    asked = {(m, c) for m in ["manual", *methods]
             for c in ("none", "random-model", "random-embeddings")}  # fmt: skip
    asked |= {("majority", ""), ("class-prior", ""), ("naive-bayes", "")}
    assert set(zip(rows["method"], rows["control"], strict=True)) == asked
    assert set(rows["relation"]) == {"P0", "P1", "N-1", "macro", "micro"}
    assert (rows["n_easy"] + rows["n_hard"] == rows["n_facts"]).all()
    kept = {str(path.relative_to(result.folder)) for path in result.folder.rglob("*P0.*")}
    assert sum(name.endswith("optiprompt/P0.safetensors") for name in kept) == 3
    assert sum(name.endswith("lpaqa/P0.jsonl") for name in kept) == 3
    found = load_prompts(next(result.folder.glob("prompts/*/optiprompt")))
    assert set(found) == {"P0", "P1"}
    assert set(result.figures) == {"majority"}
    loaded = load(result.folder)
    assert isinstance(loaded, PromptsResult) and repr(loaded) == repr(result)
    said = report.part({"A": read_run(result.folder)})
    blocks = [block for section in said.sections for block in section.blocks]
    assert len(blocks) == len(result.tables()) + 1 and said.subjects == (model,)
    macro = rows[rows["relation"] == "macro"].set_index(["method", "control"])["p_at_1"]
    searched = [macro[method, "none"] for method in methods]
    assert f"{max(searched):.1f} %" in said.findings[0].text
    assert f"the manual prompt on {macro['manual', 'none']:.1f} %" in said.findings[0].text
    assert "% with random model and" in said.findings[1].text
    # Each relation alone gets what it gets among others.
    alone = prompts([model], ["optiprompt"], ["none"], [source], relations=["P1"],
                    search=SearchOptions("5"), results=tmp_path / "alone")  # fmt: skip
    keys = ["method", "control"]
    own = rows[(rows["relation"] == "P1") & (rows["method"] == "optiprompt")].set_index(keys)
    other = alone.metrics[alone.metrics["relation"] == "P1"].set_index(keys)
    pick = ("optiprompt", "none")
    assert own["mrr"].loc[pick] == pytest.approx(other["mrr"].loc[pick])


def test_one_training_fact_is_enough_and_none_is_told(tmp_path: Path, tiny_models: dict[str, Path]):
    folder = write_source(tmp_path / "facts", 2)
    write_rows(folder / "Mine" / "P0.jsonl", [("robin", "bird"), ("oak", "tree")])
    write_rows(folder / "Mine" / "P1.jsonl", [("robin", "bird"), ("oak", "sparrowhawk")])
    model = str(tiny_models["bert"])
    result = prompts([model], ["optiprompt", "autoprompt"], ["none"], [str(folder)],
                     search=SearchOptions(steps=2, n_candidates=2), results=tmp_path)  # fmt: skip
    sizes = result.splits.set_index("relation")
    assert sizes.loc["P0", ["n_train", "n_dev", "n_test"]].tolist() == [1, 0, 1]
    # The object of several tokens went, and with it the only test fact.
    assert sizes.loc["P1", ["n_several_tokens", "n_train", "n_test"]].tolist() == [1, 1, 0]
    assert "P1" not in set(result.metrics["relation"])
    with pytest.raises(UserError, match="no relation has a fact to learn from"):
        prompts([model], sources=[str(folder)], relations=["P1"], results=tmp_path)


@pytest.mark.usefixtures("drawn")
def test_prompts_from_the_command_line(tmp_path: Path, tiny_models: dict[str, Path]):
    source, model = str(write_source(tmp_path / "facts", 1)), str(tiny_models["bert"])
    command = ["prompts", "--model", model, "--source", source, "--control", "none", "--control",
               "random-model", "--method", "autoprompt", "--steps", "1"]  # fmt: skip
    done = run(tmp_path, *command, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    for text in ("autoprompt random-model", "class-prior", "naive-bayes", "of what is right",
                 "easy", "uhn", "facts: no pair of train or dev is in test"):  # fmt: skip
        assert text in done.stdout
    (folder,) = (tmp_path / "results").iterdir()
    assert (folder / "majority.svg").read_text().startswith("<?xml")
    document = json.loads(run(tmp_path, *command, "--json").stdout)
    assert document["run"] == str(folder.relative_to(tmp_path)) and document["command"] == "prompts"
    row = next(r for r in document["rows"] if r["method"] == "autoprompt")
    keys = {"source", "relation", "type", "model", "control", "n_facts", "p_at_1", "p_at_1_low"}
    assert keys | {"dev_p_at_1", "majority_of_correct", "elicits_majority"} <= set(row)
    (found,) = folder.glob("prompts/random-model-*/autoprompt/P0.jsonl")
    asked = run(tmp_path, "lama", "--model", model, "--source", source, "--prompts", str(found),
                "--json")  # fmt: skip
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--method", "lpaqa"), "--prompts lpaqa=FILE_OR_FOLDER"),
        (("--method", "mine"), "--corpus"),
        (("--prompts", "nonsense"), "write METHOD=PATH"),
        (("--prompts", "lpaqa=x"), "name a --method of this run"),
        (("--vectors", "many"), "a number such as 5 or 10"),
        (("--vectors", "²"), "a number such as 5 or 10"),
        (("--vectors", "1000"), "of at most 100"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
        (("--data", "nowhere"), "no folder nowhere"),
        (("--prompts", "optiprompt="), "write METHOD=PATH"),
        (("--model", "word2vec"), "static vectors, which read no prompt"),
        (("--source", "trex"), "run hyperprobe lama fetch"),
        (("--relation", "P999"), "has no relation P999"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str):
    assert says in one_line_error(run(tmp_path, "prompts", *arguments))


def test_a_killed_search_goes_on(tmp_path: Path, tiny_models: dict[str, Path]):
    source, model = str(write_source(tmp_path / "facts", 3)), str(tiny_models["bert"])
    command = ["prompts", "--model", model, "--source", source, "--control", "none",
               "--method", "autoprompt", "--steps", "1", "--json"]  # fmt: skip
    before = kill_after(tmp_path, command, 7)
    assert 7 <= len(before) < 9  # after baselines and manual, amid the search
    rows = json.loads(run(tmp_path, *command).stdout)["rows"]
    after = finished_cells(tmp_path)
    assert len(after) == 9 and all(after[path] == when for path, when in before.items())
    whole = json.loads(run(tmp_path, *command, "--results", "whole").stdout)["rows"]
    assert rows == whole
    counts = Counter(row["method"] for row in rows if row["relation"] == "P0")
    assert counts == dict.fromkeys(
        ("manual", "autoprompt", "majority", "class-prior", "naive-bayes"), 1
    )
