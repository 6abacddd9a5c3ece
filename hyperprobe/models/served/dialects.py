"""How servers are asked for the log-probabilities of given tokens, and what they answer.

Prompts are token ids. Every setting that changes a distribution is sent with the value that leaves
it as the model has it, since servers take defaults from a model's `generation_config.json`; so
"processed" log-probabilities are the model's own, too. An answer counts only if it has the shape
that was asked for, with the asked tokens in it: anything else is a `RefusedError`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field, ValidationError

from hyperprobe.documents import Document
from hyperprobe.errors import printable
from hyperprobe.models.served.client import Client, RefusedError

Tokens = tuple[int, ...]
NEUTRAL = {"temperature": 1.0, "top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
NEUTRAL_OPEN = {**NEUTRAL, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
ROUNDING = 1e-3  # of a log-probability above zero
Shape = TypeVar("Shape", bound=Document)


class Dialect(ABC):
    """One way to ask. `few` next tokens are asked for one by one: one request for them all would
    cost more."""

    name: ClassVar[str]
    few: ClassVar[int]

    def __init__(self, client: Client, model: str, tokenizer: Any) -> None:
        self.client, self.model, self.tokenizer = client, model, tokenizer

    @abstractmethod
    def log_probs(self, ids: Tokens, start: int) -> list[float]:
        """Log P(token | tokens before it) of `ids[start:]`; `start` is 1 or more."""

    @abstractmethod
    def generate(self, ids: Tokens) -> tuple[list[int], float]:
        """The tokens that the next one, as the server draws it, may be, and its log-probability."""

    def next_log_probs(self, ids: Tokens, wanted: Sequence[int]) -> list[float]:
        """Log P(token | ids) of each wanted token, in one request."""
        raise RefusedError("no log-probabilities of tokens that are named")

    def _check(self, shown: Sequence[str | None], ids: Sequence[int]) -> None:
        """Raises `RefusedError` where the server reads an id as another text than we do."""
        for text, token in zip(shown, ids, strict=True):
            ours = self.tokenizer.decode([token]).strip()
            theirs = _bare(text)
            if theirs.isalnum() and ours.isalnum() and theirs.isascii() and theirs != ours:
                raise RefusedError(
                    f"token {token} is {theirs[:20]!r} to the server and {ours[:20]!r} to the "
                    "tokenizer: name the model's own with ?tokenizer="
                )


def _bare(text: str | None) -> str:
    """A token's text without the marks of a space before it or behind it."""
    return (text or "").strip("Ġ▁ ").removesuffix("</w>").removeprefix("##")


def read(shape: type[Shape], answer: dict[str, Any]) -> Shape:
    """The answer, if it has this shape. Raises `RefusedError`."""
    try:
        return shape.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        where = printable(".".join(map(str, first["loc"])))[:60]
        raise RefusedError(f"no {where} as asked for ({first['msg'].lower()})") from None


def checked(values: Sequence[float | None]) -> list[float]:
    """The values, if all are log-probabilities. Raises `RefusedError`."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if len(known) < len(values):
        raise RefusedError("a log-probability is missing")
    if any(value > ROUNDING for value in known):
        raise RefusedError(f"a log-probability of {max(known):.2f}, which is above zero")
    return known


def count(n: int, expected: int) -> None:
    """Raises `RefusedError` unless the server has read as many tokens as it was given."""
    if n != expected:
        raise RefusedError(f"{n} entries for a text of {expected} tokens")


# -- the completions protocol ------------------------------------------------------------------


class _Usage(Document):
    prompt_tokens: int


class _Shown(Document):
    """`logprobs` of a choice."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None = None


class _One(Document):
    """An entry of vLLM's `prompt_logprobs`."""

    logprob: float
    decoded_token: str | None = None


class _EchoChoice(Document):
    logprobs: _Shown


class _VllmChoice(Document):
    prompt_logprobs: list[dict[str, _One] | None]
    logprobs: _Shown


class _Echoed(Document):
    choices: list[_EchoChoice] = Field(min_length=1, max_length=1)
    usage: _Usage | None = None


class _Vllm(Document):
    choices: list[_VllmChoice] = Field(min_length=1, max_length=1)
    usage: _Usage | None = None


class Vllm(Dialect):
    """vLLM: completions with `prompt_logprobs`.

    Its `logprob_token_ids` are not used: they are at most 128, and in one of its two engines they
    overwrite the answers to other requests of a batch. A whole vocabulary comes with
    `logprobs=-1`, where the server was started with `--max-logprobs -1`.
    """

    name = "vLLM prompt_logprobs"
    few = 64
    LABEL = "token_id:"

    def _ask(self, ids: Tokens, logprobs: int) -> _VllmChoice:
        body = {
            "model": self.model,
            "prompt": ids,
            "max_tokens": 1,
            "prompt_logprobs": 1,
            "logprobs": logprobs,
            "return_tokens_as_token_ids": True,
            "seed": 0,
            **NEUTRAL_OPEN,
        }
        answer = read(_Vllm, self.client.post(f"{self.client.url}/completions", body))
        if answer.usage:
            count(answer.usage.prompt_tokens, len(ids))
        return answer.choices[0]

    def log_probs(self, ids: Tokens, start: int) -> list[float]:
        first, *entries = self._ask(ids, 0).prompt_logprobs or [None]
        count(1 + len(entries), len(ids))
        if first is not None:
            raise RefusedError("the first token has a log-probability: something stands before it")
        found = []
        for entry, token in zip(entries, ids[1:], strict=True):
            if entry is None or str(token) not in entry:
                raise RefusedError(f"no log-probability of token {token}, which was given")
            found.append(entry[str(token)])
        self._check([one.decoded_token for one in found], ids[1:])
        return checked([one.logprob for one in found])[start - 1 :]

    def generate(self, ids: Tokens) -> tuple[list[int], float]:
        shown = self._ask(ids, 0).logprobs
        tokens = [token.removeprefix(self.LABEL) for token in shown.tokens]
        if len(tokens) != 1 or not tokens[0].isdecimal() or len(shown.token_logprobs) != 1:
            raise RefusedError("no id of the token that it generates")
        return [int(tokens[0])], checked(shown.token_logprobs)[0]

    def next_log_probs(self, ids: Tokens, wanted: Sequence[int]) -> list[float]:
        values = (self._ask(ids, -1).logprobs.top_logprobs or [None])[0] or {}
        return checked([values.get(f"{self.LABEL}{token}") for token in wanted])


class Echo(Dialect):
    """The OpenAI completions protocol with `echo` and `logprobs`."""

    name = "echo with logprobs"
    few = 0

    def _ask(self, ids: Tokens) -> _Shown:
        """The entries of the prompt, and of one more token."""
        body = {
            "model": self.model,
            "prompt": ids,
            "max_tokens": 1,
            "echo": True,
            "logprobs": 1,
            "seed": 0,
            **NEUTRAL,
        }
        answer = read(_Echoed, self.client.post(f"{self.client.url}/completions", body))
        if answer.usage:
            count(answer.usage.prompt_tokens, len(ids))
        return answer.choices[0].logprobs

    def log_probs(self, ids: Tokens, start: int) -> list[float]:
        shown = self._ask(ids)
        n = len(shown.token_logprobs)
        count(len(shown.tokens), n)
        # (with the token that it generates behind them, unless that ends the text)
        count(n if n == len(ids) else n - 1, len(ids))
        first, *values = shown.token_logprobs[: len(ids)]
        if first is not None:
            raise RefusedError("the first token has a log-probability: something stands before it")
        self._check(shown.tokens[: len(ids)], ids)
        return checked(values)[start - 1 :]

    def generate(self, ids: Tokens) -> tuple[list[int], float]:
        shown = self._ask(ids)
        if len(shown.tokens) != len(ids) + 1 or len(shown.token_logprobs) != len(ids) + 1:
            raise RefusedError("no log-probability of the token that it generates")
        said = shown.tokens[-1]
        texts = self.tokenizer.batch_decode([[i] for i in range(len(self.tokenizer))])
        tokens = [i for i, text in enumerate(texts) if text == said]
        if not tokens and said in self.tokenizer.get_vocab():
            tokens = [self.tokenizer.get_vocab()[said]]
        return tokens, checked(shown.token_logprobs[-1:])[0]


# -- SGLang ------------------------------------------------------------------------------------


# (log-probability, id, text); JSON has no tuples
_Entry = Annotated[tuple[float | None, int, str | None], Field(strict=False)]


class _Meta(Document):
    prompt_tokens: int
    input_token_logprobs: list[_Entry]
    output_token_logprobs: list[_Entry]
    output_token_ids_logprobs: list[list[_Entry] | None] | None = None


class _Generated(Document):
    meta_info: _Meta


class Sglang(Dialect):
    """SGLang's own `/generate`, which stands beside the completions protocol."""

    name = "SGLang /generate"
    few = 1

    def _ask(self, ids: Tokens, start: int, **more: Any) -> _Meta:
        body = {
            "input_ids": ids,
            "sampling_params": {"max_new_tokens": 1, "ignore_eos": True, **NEUTRAL_OPEN},
            "return_logprob": True,
            "logprob_start_len": start - 1,
            "return_text_in_logprobs": True,
            **more,
        }
        url = self.client.url.removesuffix("/v1") + "/generate"
        meta = read(_Generated, self.client.post(url, body)).meta_info
        count(meta.prompt_tokens, len(ids))
        return meta

    def log_probs(self, ids: Tokens, start: int) -> list[float]:
        # (the first entry is of the token before, and has no log-probability)
        entries = self._ask(ids, start).input_token_logprobs[1:]
        count(start + len(entries), len(ids))
        for (_, shown, text), token in zip(entries, ids[start:], strict=True):
            if shown == token:
                self._check([text], [token])
            elif shown != 0:  # (it shows its last token as token 0)
                raise RefusedError(f"token {shown} where token {token} was given")
        return checked([value for value, _, _ in entries])

    def generate(self, ids: Tokens) -> tuple[list[int], float]:
        output = self._ask(ids, len(ids)).output_token_logprobs
        count(len(output), 1)
        ((value, token, _),) = output
        return [token], checked([value])[0]

    def next_log_probs(self, ids: Tokens, wanted: Sequence[int]) -> list[float]:
        more = {"token_ids_logprob": list(wanted), "return_text_in_logprobs": False}
        entries = (self._ask(ids, len(ids), **more).output_token_ids_logprobs or [None])[0]
        values = {token: value for value, token, _ in entries or ()}
        return checked([values.get(token) for token in wanted])
