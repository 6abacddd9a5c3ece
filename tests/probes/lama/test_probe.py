"""The relational evaluator: answers, and the command from end to end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow.parquet import ParquetFile
from scipy.stats import spearmanr

from hyperprobe.cli.lama import join_vocab_models
from hyperprobe.cloze import CandidateSet
from hyperprobe.errors import UserError
from hyperprobe.finished import load
from hyperprobe.models.load import load_model
from hyperprobe.models.reference_tokens import reference_tokenise
from hyperprobe.names import FREQ
from hyperprobe.probes.lama import questions, report, sources, wordnet_facts
from hyperprobe.probes.lama.metrics import add_filtered_rank
from hyperprobe.probes.lama.predictions import (
    choose_mentions,
    predict_facts,
    predict_freq,
    predict_mentions,
    predict_negated,
)
from hyperprobe.probes.lama.probe import LamaResult, lama
from hyperprobe.probes.lama.prompts import Prompts
from hyperprobe.probes.lama.protocol import Fact, first_slot
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.runs import files
from hyperprobe.runs.read import read_run
from tests.commands import finished_cells, kill_after, one_line_error, run
from tests.conftest import Within

CANDIDATES = CandidateSet(("bird", "fish", "tree", "tool", "house"))
RELATION = Relation(
    "mine", "P1", Path("P1.jsonl"), "the [X] is a [Y] .", "the [X] is in a [Y] .", "N-M"
)
FACTS = [
    Fact("1", "robin", "bird"),
    Fact("2", "robin", "fish"),
    Fact("3", "sparrow", "bird"),
    Fact("4", "oak", "tree"),
]


@pytest.fixture
def bert(tiny_models: dict[str, Path]) -> Any:
    return load_model(str(tiny_models["bert"]))


def test_answers_are_those_of_the_scores(bert: Any):
    table = predict_facts(bert, RELATION, FACTS, CANDIDATES)
    scores = bert.score([fact.cloze(RELATION.template) for fact in FACTS], CANDIDATES)
    for i, fact in enumerate(FACTS):
        gold = scores[i, CANDIDATES.index[fact.object]]
        assert table["gold_score"][i] == pytest.approx(gold, abs=1e-5)
        assert table["gold_rank"][i] == 1 + (scores[i] > gold).sum()
        assert table["top"][i][0] == table["best"][i] == CANDIDATES.words[scores[i].argmax()]
    both = add_filtered_rank(table)
    better = both["gold_rank"][:2].idxmin()
    assert both["filtered_rank"][1 - better] == both["gold_rank"][1 - better] - 1


def test_an_ensemble_is_the_weighted_sum_of_log_probabilities(bert: Any):
    templates, weights = ("the [X] is a [Y] .", "a [Y] , the [X]"), (0.75, 0.25)
    table = predict_facts(
        bert, RELATION, FACTS, CANDIDATES, Prompts("ensemble", templates, weights)
    )
    total = sum(
        weight * bert.score([fact.cloze(template) for fact in FACTS], CANDIDATES)
        for template, weight in zip(templates, weights, strict=True)
    )
    gold = [CANDIDATES.index[fact.object] for fact in FACTS]
    assert table["gold_score"].to_numpy() == pytest.approx(total[range(4), gold], abs=1e-5)
    assert table["best"].tolist() == [CANDIDATES.words[i] for i in total.argmax(axis=1)]
    assert set(table["prompt"]) == {"ensemble of 2"}


def test_each_paraphrase_is_asked_on_its_own(bert: Any):
    prompts = Prompts("patterns", ("the [X] is a [Y] .", "a [Y] , the [X]"))
    table = predict_facts(bert, RELATION, FACTS, CANDIDATES, prompts)
    assert table.groupby("prompt")["item"].nunique().to_dict() == dict.fromkeys(
        prompts.templates, 4
    )


def test_objects_of_several_pieces_are_ranked_by_pseudo_log_likelihood(bert: Any):
    facts = [Fact("1", "robin", "sparrowhawk"), Fact("2", "oak", "tree")]
    objects = CandidateSet(("sparrowhawk", "tree"))
    table = predict_facts(bert, RELATION, facts, objects)
    scores = bert.score([fact.cloze(RELATION.template) for fact in facts], objects)
    assert table["gold_score"].tolist() == pytest.approx([scores[0, 0], scores[1, 1]], abs=1e-5)


def test_freq_ranks_objects_by_their_count():
    table = predict_freq(RELATION, FACTS)
    assert table["gold_rank"].tolist() == [1, 2, 1, 3]
    assert table["gold_score"][0] == pytest.approx(np.log(2 / 4))
    assert add_filtered_rank(table)["filtered_rank"].tolist() == [1, 1, 1, 3]


def test_static_vectors_answer_from_the_subject_alone():
    table = predict_facts(load_model("word2vec"), RELATION, FACTS, CANDIDATES)
    assert table["best"][2] == "bird"  # the word nearest to sparrow
    unknown = predict_facts(
        load_model("word2vec"), RELATION, [Fact("1", "Q Zx", "bird")], CANDIDATES
    )
    assert unknown["gold_rank"].tolist() == [0] and unknown["best"].isna().all()


def test_negation_overlap_and_rank_correlation(bert: Any):
    table = predict_negated(bert, RELATION, FACTS, CANDIDATES)
    plain = bert.score([fact.cloze(RELATION.template) for fact in FACTS], CANDIDATES)
    other = bert.score([fact.cloze(RELATION.negated) for fact in FACTS], CANDIDATES)
    for i in range(len(FACTS)):
        assert table["spearman"][i] == pytest.approx(spearmanr(plain[i], other[i]).statistic)
        assert table["overlap"][i] == (plain[i].argmax() == other[i].argmax())


def test_ten_mentions_of_a_fact(bert: Any):
    many = tuple(f"{'the ' * i}robin is a [MASK] ." for i in range(1, 13))
    facts = [Fact("1", "robin", "bird", mentions=many), Fact("2", "oak", "tree", mentions=many[:9])]
    chosen = choose_mentions(facts, seed=0)
    assert [(fact.id, len(texts)) for fact, texts in chosen] == [("1", 10)]
    assert choose_mentions(facts, seed=0) == chosen != choose_mentions(facts, seed=1)
    table = predict_mentions(bert, RELATION, chosen, CANDIDATES)
    scores = bert.score([first_slot(text, "1", None) for text in chosen[0][1]], CANDIDATES)
    assert table["gold_rank"].tolist() == (1 + (scores > scores[:, :1]).sum(axis=1)).tolist()


def test_a_text_that_is_too_long_is_cut_around_its_slot(bert: Any):
    long = first_slot("the bird " * 150 + "is a [MASK] in " + "snow " * 150 + ".", "1", "bird")
    (cut,) = bert.fit([long])
    assert cut.left.endswith("bird is a ") and cut.right.startswith(" in snow")
    assert 240 < len(bert.tokenizer(cut.text)["input_ids"]) <= bert.max_tokens
    assert bert.score([cut], CANDIDATES).shape == (1, 5)


def test_tokens_around_the_mask_are_the_reference_codes(bert: Any):
    tokenise = reference_tokenise(bert.tokenizer)
    assert tokenise is not None
    (ids,) = tokenise(["robin (in [MASK]). a ([MASK]) tree"])
    tokens = bert.tokenizer.convert_ids_to_tokens(ids)
    # `).` is no piece of this vocabulary in one, `##.` neither: unknown as in the reference.
    assert tokens[:5] == ["[CLS]", "robin", "(", "in", "[MASK]"]
    assert tokens[5:] == ["[UNK]", "a", "[MASK]", "[UNK]", "tree", "[SEP]"]
    plain = "robin is a [MASK] ."
    assert tokenise([plain]) == bert.tokenizer([plain])["input_ids"]


def test_further_slots_are_shown_as_masks(bert: Any):
    two = first_slot("a [MASK] is a [MASK] .", "1", None)
    (score,) = bert.score([two], CANDIDATES)
    import torch

    ids = bert.tokenizer("a [MASK] is a [MASK] .", return_tensors="pt")
    with torch.no_grad():
        logits = bert.model(**ids).logits[0, 2].log_softmax(dim=-1)
    places = bert.tokenizer.convert_tokens_to_ids(list(CANDIDATES.words))
    assert score == pytest.approx(logits[places].numpy(), abs=1e-5)


def write_source(folder: Path, n_relations: int = 3) -> Path:
    rows, words = [], ["robin", "sparrow", "trout", "oak", "hammer", "car"]
    (folder / "Mine").mkdir(parents=True)
    for i in range(n_relations):
        rows.append(
            {
                "relation": f"P{i}",
                "template": f"{'the ' * i}[X] is a [Y] .",
                "template_negated": "[X] is not a [Y] .",
                "type": ("1-1", "N-1", "N-M")[i % 3],
            }
        )
        facts = [
            {"sub_label": sub, "obj_label": obj, "uuid": f"{sub}-{obj}"}
            for sub in words
            for obj in ("bird", "tree", "tool")[: 1 + i % 3]
        ]
        (folder / "Mine" / f"P{i}.jsonl").write_text("\n".join(map(json.dumps, facts)))
    (folder / "relations.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_a_users_source_from_python(
    tmp_path: Path, all_vectors: Within, tiny_models: dict[str, Path]
):
    source = str(write_source(tmp_path / "facts"))
    model = str(tiny_models["bert"])
    with all_vectors():
        result = lama([model], [source], results=tmp_path, negated=True, controls=["random"])
    assert list(dict.fromkeys(result.metrics["model"])) == [
        "freq", "word2vec", "glove", "fasttext", f"random:{model}", model,
    ]  # fmt: skip
    assert set(result.metrics["relation"]) == {
        "P0", "P1", "P2", "1-1", "N-1", "N-M", "macro", "micro",
    }  # fmt: skip
    columns = {"source", "relation", "type", "model", "ranking", "n_facts", "p_at_1", "p_at_10"}
    assert columns | {"mrr", "p_at_1_low", "mean_log_prob"} <= set(result.metrics)
    own = result.metrics[result.metrics["model"] == model].set_index(["relation", "ranking"])
    assert own["n_facts"].loc["micro"].tolist() == [36, 36]
    assert (own.xs("filtered", level=1)["mrr"] >= own.xs("raw", level=1)["mrr"]).all()
    assert set(result.frames["negated.csv"]["relation"]) == {"P0", "P1", "P2", "macro"}
    assert set(result.figures) == {"p_at_k", "correlations"}
    loaded = load(result.folder)
    assert isinstance(loaded, LamaResult) and repr(loaded) == repr(result)
    said = report.part({"A": read_run(result.folder)})
    assert said.subjects == (model,)
    blocks = [block for section in said.sections for block in section.blocks]
    assert len(blocks) == len(result.tables()) + len(result.figures)
    macro = result.metrics.query("relation == 'macro' and ranking == 'raw'").set_index("model")[
        "p_at_1"
    ]
    facts, negated = said.findings
    assert f"{macro[model]:.1f} %" in facts.text and f"{macro['freq']:.1f} %" in facts.text
    assert "the most frequent objects are right more often (Holm-adjusted p = 0.0" in facts.text
    assert negated.lead == "Negated facts" and negated.run == "A"
    for name in ("predictions.parquet", "metrics.csv", "facts.csv", "p_at_k.csv", "run.json"):
        assert (result.folder / name).is_file()
    assert pd.read_parquet(result.folder / "predictions.parquet")["top"].str.len().max() == 10


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ((FREQ, "m", 2, 30, 0.001), "m alone is right on 30, the most frequent object alone on 2: "
         "m is right more often (Holm-adjusted p = 0.0010)."),
        (("m", FREQ, 2, 30, 0.001), "on 2, the most frequent object alone on 30: "
         "the most frequent objects are right more often (Holm"),
        (("m", FREQ, 30, 2, 0.2), "that m is right more often is not shown"),
        (("other", FREQ, 30, 2, 0.001), None),
    ],
)  # fmt: skip
def test_a_model_is_set_against_the_frequencies(row, verdict: str | None):
    names = ["model", "other", "only_model", "only_other", "p_holm"]
    tests = pd.DataFrame([row], columns=names).assign(source="s", ranking="raw")
    metrics = pd.DataFrame(
        {"source": "s", "relation": "macro", "ranking": "raw", "model": [FREQ, "m"],
         "p_at_1": [3.0, 9.0], "p_at_1_low": 1.0, "p_at_1_high": 10.0}
    )  # fmt: skip
    (facts,) = report.find({"metrics.csv": metrics, "mcnemar.csv": tests})
    assert "9.0 % of facts" in facts.text and "right for 3.0 %." in facts.text
    assert verdict in facts.text if verdict else facts.text.endswith("3.0 %.")


def test_the_same_numbers_whatever_the_order_of_relations(
    tmp_path: Path, tiny_models: dict[str, Path]
):
    source, model = str(write_source(tmp_path / "facts")), str(tiny_models["bert"])
    forward = lama([model], [source], results=tmp_path)
    lines = (tmp_path / "facts" / "relations.jsonl").read_text().splitlines()
    (tmp_path / "facts" / "relations.jsonl").write_text("\n".join(reversed(lines)))
    backward = lama([model], [source], results=tmp_path)
    keys = ["relation", "ranking", "model"]
    a, b = (r.metrics.set_index(keys)["mrr"] for r in (forward, backward))
    assert a.to_dict() == pytest.approx(b.to_dict())


def test_several_tokens_on_request(tmp_path: Path, tiny_models: dict[str, Path]):
    source = write_source(tmp_path / "facts", 1)
    rows = [{"sub_label": "robin", "obj_label": word} for word in ("bird", "sparrowhawk")]
    (source / "Mine" / "P0.jsonl").write_text("\n".join(map(json.dumps, rows)))
    model = str(tiny_models["bert"])
    strict = lama([model], [str(source)], results=tmp_path)
    assert strict.facts["n_several_tokens"].tolist() == [1]
    free = lama([model], [str(source)], results=tmp_path, multi_token=True)
    assert free.facts["n_facts"].tolist() == [2]
    rows.append({"sub_label": "robin", "obj_label": "птица"})  # letters that the model lacks
    (source / "Mine" / "P0.jsonl").write_text("\n".join(map(json.dumps, rows)))
    other = lama([model], [str(source)], results=tmp_path, multi_token=True)
    assert (other.facts["n_not_spelled"].item(), other.facts["n_facts"].item()) == (1, 2)
    settings = json.loads((free.folder / "run.json").read_text())["settings"]
    assert "all of them masked" in settings["scoring"]


def test_paraphrases_give_consistency(tmp_path: Path, tiny_models: dict[str, Path]):
    source, model = str(write_source(tmp_path / "facts")), str(tiny_models["bert"])
    prompts = tmp_path / "P1.jsonl"
    prompts.write_text('{"pattern": "[X] is a [Y] ."}\n{"pattern": "some [X] are [Y] ."}\n')
    result = lama([model], [source], prompts=prompts, results=tmp_path)
    assert result.frames["consistency.csv"]["n_patterns"].tolist() == [2]
    assert set(result.metrics["relation"]) == {"P1", "N-1", "macro", "micro"}
    with pytest.raises(UserError, match="for none of the relations asked"):
        lama([model], [source], relations=["P0"], prompts=prompts, results=tmp_path)


# -- the command ------------------------------------------------------------------------


def test_the_same_tables_in_parts(
    tmp_path: Path, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    """Facts asked seven at a time, and written nine rows at a time, are those asked at once."""
    source, model = str(write_source(tmp_path / "facts")), str(tiny_models["albert"])
    prompts = tmp_path / "P2.jsonl"  # (a subject of P2 has several right objects)
    prompts.write_text('{"pattern": "[X] is a [Y] ."}\n{"pattern": "some [X] are [Y] ."}\n')
    asked = {"prompts": prompts, "negated": True, "seed": 3}
    whole = lama([model], [source], results=tmp_path / "whole", **asked)
    monkeypatch.setattr(questions, "FACTS_AT_ONCE", 7)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 9)
    parts = lama([model], [source], results=tmp_path / "parts", **asked)
    for name, table in whole.files().items():
        numbers = table.select_dtypes("number")
        pd.testing.assert_frame_equal(parts.files()[name][numbers.columns], numbers, rtol=1e-5)
    keys = ["model", "prompt", "item"]
    one, other = (run.predictions.sort_values(keys, ignore_index=True) for run in (whole, parts))
    exact = [*keys, "gold_rank", "filtered_rank", "best", "subject_zipf", "cosine"]
    pd.testing.assert_frame_equal(other[exact], one[exact])
    assert ParquetFile(parts.folder / "predictions.parquet").num_row_groups > 4
    again = lama([model], [source], results=tmp_path / "parts", **asked)
    assert repr(again) == repr(parts)


@pytest.fixture
def few_wordnet_facts(tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any) -> None:
    """The first facts of each relation that ships."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "WordNet").mkdir()
    for path in Path(str(wordnet_facts.FOLDER)).glob("WordNet/*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "WordNet" / path.name).write_text("".join(lines[:20]), encoding="utf-8")
    relations = Path(str(wordnet_facts.FOLDER)) / "relations.jsonl"
    (folder / "relations.jsonl").write_bytes(relations.read_bytes())
    monkeypatch.setattr(sources, "WORDNET_FOLDER", folder)


@pytest.mark.usefixtures("drawn")
def test_lama_with_no_options(tmp_path: Path, few_wordnet_facts: None):
    done = run(tmp_path, "lama")
    assert done.returncode == 0, done.stderr
    for text in ("wordnet is-a", "freq", "word2vec", "embedded", "macro P@1", "filtered"):
        assert text in done.stdout
    again = run(tmp_path, "lama", "--json")
    document = json.loads(again.stdout)
    (folder,) = (tmp_path / "results").iterdir()
    assert document["run"] == str(folder.relative_to(tmp_path))
    row = document["rows"][0]
    assert (row["source"], row["relation"], row["model"]) == ("wordnet", "is-a", "freq")
    assert {"n_facts", "p_at_1", "p_at_10", "mrr", "ranking", "type"} <= set(row)


def test_vocab_intersect_takes_models_as_they_come():
    asked = ["lama", "--vocab", "intersect", "a", "b/c", "--json"]
    assert join_vocab_models(asked) == ["lama", "--vocab", "intersect a b/c", "--json"]
    plain = ["lama", "--vocab", "words.txt", "fetch"]
    assert join_vocab_models(plain) == plain


def test_vocab_intersect_from_the_command_line(tmp_path: Path, tiny_models: dict[str, Path]):
    source = str(write_source(tmp_path / "facts", 1))
    bert, roberta = str(tiny_models["bert"]), str(tiny_models["roberta"])
    done = run(
        tmp_path, "lama", "--source", source, "--model", bert, "--json",
        "--vocab", "intersect", bert, roberta,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    notes = json.loads((tmp_path / document["run"] / "run.json").read_text())
    words = set(load_model(bert).words()) & set(load_model(roberta).words())
    assert notes["settings"]["candidates"]["n"] == len(words)


def test_what_has_no_effect_is_said_in_a_line(tmp_path: Path, tiny_models: dict[str, Path]):
    """A source without the relation, questions that no fact has, data that no source reads."""
    first, second = (str(write_source(tmp_path / name, n)) for name, n in (("a", 2), ("b", 1)))
    relations = tmp_path / "a" / "relations.jsonl"
    rows = [json.loads(line) for line in relations.read_text().splitlines()]
    relations.write_text("\n".join(json.dumps({**r, "template_negated": None}) for r in rows))
    done = run(
        tmp_path, "lama", "--model", str(tiny_models["bert"]), "--relation", "P1",
        "--source", second, "--source", first, "--data", str(tmp_path), "--negated", "--mentions",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    for line in (
        f"--source {second} has none of the relations asked: it is left out",
        "--negated: no fact asked has any: nothing was asked",
        "--mentions: no fact asked has any: nothing was asked",
        f"--data {tmp_path} is not used by {second}, {first}",
    ):
        assert line in said
    assert " P1 " in done.stdout and " P0 " not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--source", "trex"), "run hyperprobe lama fetch"),
        (("--source", "nonsense"), "no source nonsense"),
        (("--relation", "P999"), "has no relation P999"),
        (("--vocab", "absent.txt"), "no vocabulary absent.txt"),
        (("--prompts", "absent.jsonl"), "no prompts absent.jsonl"),
        (("--model", "absent-model"), "absent-model"),
        (("--vocab", ""), "name a file, or intersect"),
        (("--vocab", "intersect"), "name a file, or intersect"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
        (("--data", "nowhere"), "no folder nowhere"),
        (("--model", "word2vec"), "at least one language model"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str):
    assert says in one_line_error(run(tmp_path, "lama", *arguments))


def test_a_killed_run_goes_on_without_repeating_what_was_done(
    tmp_path: Path, tiny_models: dict[str, Path]
):
    source = str(write_source(tmp_path / "facts", 5))
    command = ["lama", "--model", str(tiny_models["bert"]), "--source", source, "--json"]
    whole = json.loads(run(tmp_path, *command, "--results", "whole").stdout)["rows"]
    before = kill_after(tmp_path, command, 3)
    assert 3 <= len(before) < 2 * 5
    rows = json.loads(run(tmp_path, *command).stdout)["rows"]
    after = finished_cells(tmp_path)
    assert len(after) == 2 * 5 and all(after[path] == time for path, time in before.items())
    assert rows == whole
