"""A served model answers as the same model here does; its key is nowhere, its answers are kept."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hyperprobe as hp
from hyperprobe.cli.zero_shot import say_without_open
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.errors import UserError
from hyperprobe.models.base import score_pairs
from hyperprobe.models.load import (
    config_of,
    identify,
    load_encoder,
    load_model,
    load_network,
)
from hyperprobe.models.served import cache, model
from hyperprobe.models.served import server as server_module
from hyperprobe.models.served.client import Client
from hyperprobe.runs.read import read_run
from tests.commands import one_line_error, run
from tests.served_server import ALL, MODEL, Answerer, Entry, Fault, TestServer, running

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
TEXTS = (
    "A robin is a [MASK].",
    "Robins are [MASK] in winter, when some snow is in the tree.",
    "A robin is a [MASK].",  # the same text again
    "[MASK] is a robin.",  # nothing before the slot
    "A robin (a [MASK]) perches.",
    "A b[MASK] in winter",  # a token that spans the join
)
CLOZES = [hp.parse_cloze(text, str(i)) for i, text in enumerate(TEXTS)]
# One token, several tokens, beginnings of each other, and two words.
WORDS = ("bird", "fish", "birdhouse", "birds", "zebra", "a bird", "ird")
CANDIDATES = hp.CandidateSet(WORDS)
LIMIT = 1e-4


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("architecture", ["answerer", "llama"])  # without a BOS, and with one
def test_served_equals_local(architecture: str, dialect: str, request: pytest.FixtureRequest):
    answerer = request.getfixturevalue(architecture)
    with running(TestServer(answerer, (dialect,))) as server:
        for scoring in ("full", "continuation"):
            there = load_model(server.name, causal_scoring=scoring)
            here = load_model(str(answerer.folder), causal_scoring=scoring)
            expected = here.score(CLOZES, CANDIDATES)
            np.testing.assert_allclose(there.score(CLOZES, CANDIDATES), expected, atol=LIMIT)
            some = list(WORDS[: len(CLOZES)])
            expected = score_pairs(here, CLOZES, some)
            np.testing.assert_allclose(score_pairs(there, CLOZES, some), expected, atol=LIMIT)
            assert there.max_tokens == here.max_tokens - 1
            assert there.fit(CLOZES) == here.fit(CLOZES) and there.words() == here.words()
        gold = [0, 1, 2, None, 4, 5]
        ours, theirs = (one.rank(CLOZES, CANDIDATES, gold, 3) for one in (there, here))
        assert (ours.gold_rank == theirs.gold_rank).all() and (ours.top == theirs.top).all()
        assert there.describe()["noise"] < LIMIT
        if dialect == "echo":
            with pytest.raises(UserError, match="all tokens at once: ask for candidates, or serve"):
                there.rank_open(CLOZES, ["bird"] * len(CLOZES), 5)
            return
        (ours, ours_top), (theirs, theirs_top) = (
            one.rank_open(CLOZES, list(WORDS[:6]), 5) for one in (there, here)
        )
        assert ours_top == theirs_top and (ours.gold_rank == theirs.gold_rank).all()
        np.testing.assert_allclose(ours.top_score, theirs.top_score, atol=LIMIT)
        scores, again, _ = there.score_and_rank_open(CLOZES[:4], CANDIDATES, list(WORDS[:4]), 5)
        np.testing.assert_allclose(scores, here.score(CLOZES[:4], CANDIDATES), atol=LIMIT)
        np.testing.assert_allclose(again.top_score, theirs.top_score[:4], atol=LIMIT)


# -- probes -----------------------------------------------------------------------------------

PAIRS = "word1\tword2\tlabel\nrobin\tbird\tTrue\noak\ttree\tTrue\nrobin\ttree\tFalse\n"
FACTS = (("robin", "bird"), ("trout", "fish"), ("oak", "tree"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    two = load_diagnostic("lm-diagnostic").iloc[[0, -1]]
    two.to_csv(folder / "nouns.tsv", sep="\t", index=False)
    (folder / "pairs.tsv").write_text(PAIRS)
    rows = [
        {"sub_label": a, "obj_label": b, "masked_sentences": [f"A {a} is a [MASK] ."]}
        for a, b in FACTS
    ]
    (folder / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "words.txt").write_text("\n".join(("a", "is", "bird", "fish", "tree", "are", "in")))
    return folder


Probe = Callable[[list[str], Path, Path], pd.DataFrame]
PROBES: dict[str, Probe] = {
    "zero-shot": lambda models, files, results: (
        hp.zero_shot(
            models, diagnostics=str(files / "nouns.tsv"), results=results, controls="shuffled"
        ).predictions
    ),
    "consistency": lambda models, files, results: (
        hp.consistency(models, diagnostics=str(files / "nouns.tsv"), results=results).predictions
    ),
    "pairs": lambda models, files, results: (
        hp.pairs(
            [files / "pairs.tsv"], models=models, results=results, causal_scoring="continuation"
        ).predictions
    ),
    "lama": lambda models, files, results: (
        hp.lama(
            models, sources=str(files / "facts.jsonl"), vocab=files / "words.txt", results=results
        ).predictions
    ),
}
NUMBERS = ("score", "scores", "margin", "prior", "bias", "log_prob", "reverse", "best_score")


@pytest.mark.parametrize("probe", PROBES)
def test_probes_see_no_difference(probe: str, answerer: Answerer, files: Path, tmp_path: Path):
    with running(TestServer(answerer)) as server:
        models = [str(answerer.folder), server.name]
        predictions = PROBES[probe](models, files, tmp_path)
    asked = predictions["model"].str
    here, there = (
        predictions[asked.contains(name, regex=False) & ~asked.contains(other, regex=False)]
        for name, other in ((models[0], OPENAI), (server.name, "\0"))
    )
    assert len(here) == len(there) > 0
    for column in set(predictions) - {"model"}:
        ours, theirs = there[column].tolist(), here[column].tolist()
        if column.startswith(NUMBERS) or "score" in column:
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a, b, atol=LIMIT, err_msg=column)
        else:
            assert [str(one) for one in ours] == [str(one) for one in theirs], column


OPENAI = "openai:"


def test_without_a_vocabulary_there_is_no_open_probe(answerer, files, tmp_path, capsys):
    with running(TestServer(answerer, ("vllm",), most_log_probs=False)) as server:
        arguments = ["--model", server.name, "--diagnostic", str(files / "nouns.tsv")]
        done = run(tmp_path, "zero-shot", "--article", "gold", *arguments)
        assert done.returncode == 0, done.stderr
        assert "no open probe" in done.stderr and "--max-logprobs -1" in done.stderr
        found = hp.load(next((tmp_path / "results").iterdir()))
        metrics = found.metrics.set_index("model")
        assert np.isnan(metrics.loc[server.name, "open_p_at_1"])
        assert not np.isnan(metrics.loc[server.name, "singular"])
        say_without_open(found.metrics, "gold")  # as a study says it
        assert capsys.readouterr().err.splitlines() == done.stderr.splitlines()[-1:]
        say_without_open(found.metrics, "marginal")
        assert not capsys.readouterr().err


def test_many_candidates_need_a_vocabulary(answerer, monkeypatch):
    monkeypatch.setattr(model, "MOST_CANDIDATES", 6)
    with running(TestServer(answerer, ("echo",))) as server:
        there = load_model(server.name)
        with pytest.raises(UserError, match=r"7 texts for each prompt are too many: name fewer"):
            there.rank(CLOZES, CANDIDATES, [0] * len(CLOZES), 1)


@pytest.mark.parametrize("load", [load_network, load_encoder, config_of])
def test_what_needs_the_network_says_so(load: Callable[[str], Any], answerer: Answerer):
    name = f"openai:http://127.0.0.1:1/v1#{MODEL}?tokenizer={answerer.folder}"
    with pytest.raises(UserError, match="is of the family served, and this needs a model in the"):
        load(name)


# -- the server and its model ---------------------------------------------------------------------


def test_a_model_that_is_not_served(answerer: Answerer):
    with running(TestServer(answerer)) as server:
        name = server.name.replace(f"#{MODEL}", "#other")
        with pytest.raises(UserError, match="has no model 'other': it serves 'tiny'"):
            load_model(name)
    for name in (server.name, f"openai:http://a..b/v1#m?tokenizer={answerer.folder}"):
        with pytest.raises(UserError, match="cannot reach .*: is the server running there"):
            load_model(name)


def test_requests_at_a_time(answerer: Answerer):
    now, most, lock = 0, 0, threading.Lock()

    def count(entries: list[Entry]) -> list[Entry]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return entries

    with running(TestServer(answerer, fault=Fault(entries=count))) as server:
        load_model(server.name, concurrency=3).score(CLOZES, CANDIDATES)
    assert most == 3


@pytest.mark.parametrize("dialect", ["vllm", "echo"])
def test_a_server_that_changes_is_not_believed(dialect: str, answerer: Answerer):
    with running(TestServer(answerer, (dialect,))) as server:
        there = load_model(server.name)
        server.fault.temperature = 3.0  # as another model would answer
        with pytest.raises(UserError, match=r"passed its self-test and now fails.* \d.\d\d nats"):
            there.score(CLOZES, CANDIDATES)
        with pytest.raises(UserError, match=r"answers otherwise than it did \(\d.\d\d nats\)"):
            load_model(server.name)
        server.fault.temperature = None  # of what was said in between, nothing was stored
        expected = load_model(str(answerer.folder)).score(CLOZES, CANDIDATES)
        found = load_model(server.name).score(CLOZES, CANDIDATES)
        np.testing.assert_allclose(found, expected, atol=LIMIT)


# -- the cache ----------------------------------------------------------------------------------


def n_answers(stored: cache.Cache) -> int:
    with sqlite3.connect(stored.path) as file:
        return int(file.execute("select count(*) from answers").fetchone()[0])


def test_what_was_asked_is_not_asked_again(answerer: Answerer, monkeypatch: pytest.MonkeyPatch):
    """A run that stops in the middle goes on where it stopped."""
    monkeypatch.setattr(server_module, "AT_ONCE", 4)
    left = 60

    def send(handler: Any, n: int) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    with running(TestServer(answerer, fault=Fault(send=send))) as server:
        with pytest.raises(UserError, match="no connection"):
            load_model(server.name, concurrency=2).score(CLOZES, CANDIDATES)
        left = 10_000
        there = load_model(server.name)
        n_stored = n_answers(there.model.cache)
        assert n_stored > 8
        server.asked.clear()
        scores = there.score(CLOZES, CANDIDATES)
        # (each new question once, and the known tokens now and then)
        n_asked = len([n for n in server.asked.values() if n == 1])
        assert n_asked + n_stored == n_answers(there.model.cache)
        server.asked.clear()
        assert (there.score(CLOZES, CANDIDATES) == scores).all() and not server.asked
    expected = load_model(str(answerer.folder)).score(CLOZES, CANDIDATES)
    np.testing.assert_allclose(scores, expected, atol=LIMIT)


def test_a_damaged_cache():
    made = cache.Cache("x")
    made.put([((1, 2, 3), 1, [-0.5, -1.5]), ((1, 2, 3), 2, [-1.5])])
    assert made.get((1, 2, 3), 1) == [-0.5, -1.5] and made.get((1, 2), 1) is None
    assert cache.Cache("y").get((1, 2, 3), 1) is None
    with sqlite3.connect(made.path) as file:
        (row,) = file.execute("select answer from answers where length(answer) = 12")
        file.execute("update answers set answer = ?", [b"\1" + row[0][1:]])
    assert cache.Cache("x").get((1, 2, 3), 1) is None
    made.path.write_bytes(b"no database" * 1000)
    with pytest.raises(UserError, match=r"cannot use .*sqlite .*: delete it, or set"):
        cache.Cache("x").get((1, 2, 3), 1)


# -- the key ------------------------------------------------------------------------------------

KEY = "sk-very-secret-0123456789"


def test_the_key_is_sent_and_nowhere_else(answerer, files, tmp_path, monkeypatch):
    with running(TestServer(answerer, key=KEY)) as server:
        arguments = ["--model", server.name, "--diagnostic", str(files / "nouns.tsv")]
        said = one_line_error(run(tmp_path, "zero-shot", *arguments))
        assert "wants a key" in said and "OPENAI_API_KEY" in said
        said = one_line_error(run(tmp_path, "zero-shot", *arguments, OPENAI_API_KEY="sk-wrong"))
        assert "does not take the key in OPENAI_API_KEY" in said and "sk-wrong" not in said
        done = run(tmp_path, "zero-shot", *arguments, "--key-env", "MINE", MINE=KEY + "\n")
        assert done.returncode == 0, done.stderr
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        client = Client(server.url, 1)
        assert KEY not in repr(client)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in written)
    assert any(path.suffix == ".sqlite" for path in written)
    assert all(KEY.encode() not in path.read_bytes() for path in written)
    assert KEY not in done.stdout + done.stderr
    (folder,) = tmp_path.glob("results/zero-shot-*")
    assert "--key-env MINE" in read_run(folder).command_line
    notes = json.loads(next(tmp_path.rglob("run.json")).read_text())
    assert notes["options"]["key_env"] == "MINE" and "key_env" not in notes["settings"]


@pytest.mark.parametrize("given", [KEY, "abcd0123", "A B", ""])
def test_a_key_instead_of_its_name_is_not_repeated(given: str, tmp_path: Path):
    said = one_line_error(run(tmp_path, "zero-shot", "--key-env", given))
    assert "--key-env names no environment variable" in said and (not given or given not in said)


def test_a_key_that_is_none_is_not_repeated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk\nX-Other: secret")
    with pytest.raises(UserError, match="the key in OPENAI_API_KEY has characters") as caught:
        Client("http://127.0.0.1:1/v1", 1)
    assert "secret" not in str(caught.value)


def test_what_identifies_a_served_model(answerer: Answerer):
    about = identify(f"openai:http://host:8000/v1/#{MODEL}?tokenizer={answerer.folder}")
    assert about["url"] == "http://host:8000/v1" and about["model"] == MODEL
    assert set(about["sha256"]) >= {"tokenizer.json"}
    assert not any(name.endswith(".safetensors") for name in about["sha256"])
