"""Whatever an answer's shape, a dialect reads log-probabilities in it or refuses it."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hyperprobe.models.served.client import RefusedError
from hyperprobe.models.served.dialects import Dialect, Echo, Sglang, Tokens, Vllm
from tests.served_server import MODEL, Answerer, TestServer

IDS: Tokens = (5, 9, 12, 7)
VALUES = (None, [], {}, "x", "token_id:x", 5.5, float("nan"), -1, True, [None], [None, None], [[]])
ASK: dict[str, Callable[[Dialect], Any]] = {
    "log_probs": lambda dialect: dialect.log_probs(IDS, 2),
    "generate": lambda dialect: dialect.generate(IDS),
    "next_log_probs": lambda dialect: dialect.next_log_probs(IDS, (3, 4)),
}


class Fixed:
    """A client that gets the same answer, whatever it asks."""

    url = "http://host/v1"

    def __init__(self, server: TestServer) -> None:
        self.server = server
        self.answer: Any = None

    def post(self, url: str, body: dict[str, Any]) -> Any:
        if self.answer is None:
            self.answer = self.server.answer(url.removeprefix("http://host"), body)[1]
        return self.answer


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is in a JSON value; of long lists and objects the first few."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())[:4]
    elif isinstance(value, list):
        items = list(enumerate(value))[:4]
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("dialect", [Vllm, Sglang, Echo])
def test_answers_of_any_shape(dialect: type[Dialect], ask: str, answerer: Answerer):
    name = {Vllm: "vllm", Sglang: "sglang", Echo: "echo"}[dialect]
    client: Any = Fixed(TestServer(answerer, (name,)))
    asked = dialect(client, MODEL, answerer.tokenizer)
    if (dialect, ask) == (Echo, "next_log_probs"):
        with pytest.raises(RefusedError, match="named"):
            ASK[ask](asked)
        return
    right, whole = ASK[ask](asked), client.answer
    n_refused = 0
    for place in places(whole):
        for value in (*VALUES, KeyError):
            client.answer = copy.deepcopy(whole)
            inner = client.answer
            for key in place[:-1]:
                inner = inner[key]
            if value is KeyError:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            try:
                found = ASK[ask](asked)
            except RefusedError:
                n_refused += 1
            else:
                assert type(found) is type(right)
    assert n_refused > 50
