"""What a server can do wrong ends in the right numbers, or in one line; never in others."""

import json
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest

import hyperprobe as hp
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.models.served import client
from tests.served_server import ALL, Answerer, Entry, Fault, TestServer, running, states, trickles

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
CLOZES = [hp.parse_cloze(f"A {noun} is a [MASK].", noun) for noun in ("robin", "trout")]
CANDIDATES = hp.CandidateSet(("bird", "fish", "birdhouse"))
Json = dict[str, Any]


@pytest.fixture(scope="module")
def expected(answerer: Answerer) -> np.ndarray:
    return load_model(str(answerer.folder)).score(CLOZES, CANDIDATES)


# -- faults ------------------------------------------------------------------------------------


def drops(handler: BaseHTTPRequestHandler, n: int) -> bool:
    return True


def drops_some(handler: BaseHTTPRequestHandler, n: int) -> bool:
    return n % 3 != 0


def slow(handler: BaseHTTPRequestHandler, n: int) -> bool:
    time.sleep(0.01)
    return False


def silent(handler: BaseHTTPRequestHandler, n: int) -> bool:
    if handler.path == "/v1/models":
        return False
    with suppress(OSError):
        handler.rfile.read(1)  # until the other side has had enough
    return True


def endless(handler: BaseHTTPRequestHandler, n: int) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    with suppress(OSError):
        for _ in range(10_000):
            handler.wfile.write(b" " * 65_536)
    return True


def mixture(handler: BaseHTTPRequestHandler, n: int) -> bool:
    kinds = [slow, drops, states(429, headers={"Retry-After": "0"}).send, states(500).send]
    return kinds[n % len(kinds)](handler, n)


def shifted_left(entries: list[Entry]) -> list[Entry]:
    values = [*[entry.log_prob for entry in entries[1:]], -1.0]
    return [replace(e, log_prob=value) for e, value in zip(entries, values, strict=True)]


def shifted_but_first(entries: list[Entry]) -> list[Entry]:
    first, *others = shifted_left(entries)
    return [replace(first, log_prob=None), *others]


def shifted_right(entries: list[Entry]) -> list[Entry]:
    values = [None, -1.0, *[entry.log_prob for entry in entries[1:-1]]]
    return [replace(e, log_prob=value) for e, value in zip(entries, values, strict=True)]


def noisy(entries: list[Entry]) -> list[Entry]:
    return with_values(entries, lambda value: value - random.expovariate(1))


def with_values(entries: list[Entry], change: Any) -> list[Entry]:
    return [
        replace(e, log_prob=None if e.log_prob is None else change(e.log_prob)) for e in entries
    ]


def last_is(value: float | None) -> Any:
    return lambda entries: [*entries[:-1], replace(entries[-1], log_prob=value)]


def first_has_one(entries: list[Entry]) -> list[Entry]:
    return [replace(entries[0], log_prob=-3.0), *entries[1:]]


def other_tokenizer(entries: list[Entry]) -> list[Entry]:
    return [replace(entry, text=f"w{entry.token}") for entry in entries]


def without(*keys: str) -> Any:
    def answer(full: Json) -> Json:
        return json.loads(json.dumps(full), object_hook=drop)

    def drop(value: Json) -> Json:
        return {key: one for key, one in value.items() if key not in keys}

    return answer


PROMPT_ENTRIES = ("prompt_logprobs", "logprobs", "input_token_logprobs")
RIGHT = {
    "a temperature of 0.5 where none is sent": Fault(),  # (the server always has that)
    "drops some connections": Fault(send=drops_some),
    "is slow": Fault(send=slow),
    "a storm of 429": states(429, 6, {"Retry-After": "0"}),
    "500 now and then": states(500, 2),
    "503 with Retry-After": states(503, 3, {"Retry-After": "0"}),
    "cuts answers": Fault(body=lambda body, n: body[: len(body) // 2] if n % 3 else body),
    "a mixture": Fault(send=mixture),
}
REFUSED = {
    "drops all connections": (Fault(send=drops), "no connection"),
    "only 500": (states(500), "HTTP 500"),
    "only 429": (states(429), "HTTP 429"),
    "429 for ever": (states(429, headers={"Retry-After": "86400"}), "HTTP 429"),
    "cuts all answers": (Fault(body=lambda body, n: body[:-9]), "no JSON"),
    "a page": (Fault(body=lambda body, n: b"<html></html>"), "no JSON"),
    "a list": (Fault(body=lambda body, n: b"[]"), "no JSON object"),
    "never ends": (Fault(send=endless), "answers with more than 1 MB"),
    "401": (states(401), "wants a key"),
    "redirects": (states(302, headers={"Location": "http://127.0.0.1:1/"}), "redirects"),
    "ignores echo": (Fault(entries=lambda entries: []), "entries for a text"),
    "off by one": (Fault(entries=shifted_left), "first token has|the tokens behind"),
    "off by one behind the first": (Fault(entries=shifted_but_first), "with the tokens behind"),
    "off by one the other way": (Fault(entries=shifted_right), "tokens get one log-prob"),
    "adds a BOS": (Fault(read=lambda ids: [0, *ids]), "entries for a text"),
    "adds a BOS and hides it": (
        Fault(read=lambda ids: [0, *ids], entries=lambda entries: entries[1:]),
        "entries for a text",
    ),
    "an entry too many": (Fault(entries=lambda entries: [*entries, *entries[-2:]]), "entries for"),
    "an entry twice": (Fault(entries=lambda e: [*e[:5], *e[4:]]), "entries for a text"),
    "equal questions, other answers": (Fault(entries=noisy), "apart"),
    "NaN": (Fault(entries=last_is(float("nan"))), "finite number"),
    "minus infinity": (Fault(entries=last_is(-float("inf"))), "finite number"),
    "null": (Fault(entries=last_is(None)), "missing|no log-probability"),
    "above zero": (Fault(entries=last_is(2.5)), "above zero"),
    "probabilities": (
        Fault(entries=lambda e: with_values(e, lambda v: 0.01 * v)),
        "add up|from the one",
    ),
    "one value for all": (Fault(entries=lambda e: with_values(e, lambda v: -2.0)), "different tok"),
    "no prompt log-probabilities": (Fault(answer=without(*PROMPT_ENTRIES)), "as asked for"),
    "another tokenizer": (Fault(entries=other_tokenizer), "to the tokenizer: name the model's own"),
    "another temperature for what it draws": (Fault(drawn_temperature=0.3), "when given"),
}


def score(server: TestServer) -> np.ndarray:
    return load_model(server.name, concurrency=4).score(CLOZES, CANDIDATES)


def in_dialects(
    faults: Mapping[str, Any], of_answers: Callable[[Any], bool]
) -> list[tuple[str, str]]:
    """Each fault with each dialect; how answers are sent is the same in all of them."""
    some = {name: ALL if of_answers(how) else ALL[:1] for name, how in faults.items()}
    return [(name, dialect) for name, dialects in some.items() for dialect in dialects]


@pytest.mark.parametrize(("fault", "dialect"), in_dialects(RIGHT, lambda how: how == Fault()))
def test_the_right_numbers(fault: str, dialect: str, answerer: Answerer, expected: np.ndarray):
    with running(TestServer(answerer, (dialect,), RIGHT[fault])) as server:
        np.testing.assert_allclose(score(server), expected, atol=1e-4)


@pytest.mark.parametrize(("fault", "dialect"), in_dialects(REFUSED, lambda how: how[0].wrong))
def test_one_line(fault: str, dialect: str, answerer: Answerer):
    how, says = REFUSED[fault]
    with (
        running(TestServer(answerer, (dialect,), how)) as server,
        pytest.raises(UserError, match=says) as caught,
    ):
        score(server)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("send", "says"), [(silent, "no answer within"), (trickles, "no answer within|no JSON")]
)
def test_no_waiting_without_an_end(
    send: Any, says: str, answerer: Answerer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "DEADLINE", 0.2)
    with running(TestServer(answerer, fault=Fault(send=send))) as server:
        start = time.monotonic()
        with pytest.raises(UserError, match=says):
            score(server)
    assert time.monotonic() - start < 3
