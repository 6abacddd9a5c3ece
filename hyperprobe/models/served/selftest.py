"""Does a server give the log-probabilities of given tokens, and in which dialect?

Asked of known tokens before anything is scored. What no answer can show is whether the weights
are those of the model's name, or a fixed temperature is in all that the server says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperprobe.documents import Document
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.served.client import Client, RefusedError
from hyperprobe.models.served.dialects import Dialect, Echo, Sglang, Tokens, Vllm, read

DIALECTS: tuple[type[Dialect], ...] = (Vllm, Sglang, Echo)
# Nats between equal questions: half-precision logits of 16 to 32 are 0.125 apart.
TOLERANCE = 0.25
KNOWN = "A robin is a bird, and the trout in the river is a fish. The bird sings in the tree."
OTHERS = "house music water three summer king green letter horse money city night stone paper"
N_VARIANTS = 12
# Nats below one in all tokens: a drawn one is so rare once in e^10 times.
IMPROBABLE = 10
SAME_TEXT = 3  # tokens that are called alike, with and without a space
WHOLE = 0.9  # of the probability, that a vocabulary has at least


@dataclass(frozen=True)
class Tested:
    """A dialect in which the server answers rightly, and how it has answered.

    `noise` is the largest difference in nats between equal questions; `known` are tokens with
    their log-probabilities, to be asked again; `vocabulary` is how many tokens, from the first
    one on, it gives at once, 0 if it does not.
    """

    dialect: Dialect
    noise: float
    known: Tokens
    log_probs: list[float]
    vocabulary: int


class _Listed(Document):
    id: str
    max_model_len: int | None = None


class _Models(Document):
    data: list[_Listed]


def max_tokens(client: Client, model: str) -> int | None:
    """How many tokens the model reads, where the server says it. Raises `UserError` if it lists
    models and not this one."""
    try:
        listed = read(_Models, client.get(f"{client.url}/models")).data
    except RefusedError:  # not every server has a list
        return None
    for one in listed:
        if one.id == model:
            return one.max_model_len
    if not listed:  # nor does every list say what can be asked for
        return None
    names = ", ".join(quoted(one.id) for one in listed[:5])
    raise UserError(f"{client.url} has no model {quoted(model)}: it serves {names}")


def choose_dialect(
    name: str, client: Client, model: str, tokenizer: Any, known: Tokens, others: Tokens
) -> Tested:
    """The first dialect in which the server passes. `known` is a text's tokens, `others` are
    tokens that may stand in it. Raises `UserError` for a server that passes in none."""
    variants = _variants(known, others)
    reasons: dict[str, list[str]] = {}
    for dialect in DIALECTS:
        try:
            return _tested(dialect(client, model, tokenizer), known, variants)
        except RefusedError as error:
            reasons.setdefault(str(error), []).append(dialect.name)
    why = "; ".join(f"{', '.join(asked)}: {reason}" for reason, asked in reasons.items())
    raise UserError(
        f"{name}: the server gives no log-probabilities of given tokens that can be trusted "
        f"({why}): serve the model with vLLM or SGLang"
    )


def _variants(known: Tokens, others: Tokens) -> list[Tokens]:
    """The text with other tokens in its middle, one each; the first is the text as it is."""
    at = len(known) // 2
    chosen = list(dict.fromkeys((known[at], *others)))[:N_VARIANTS]
    return [(*known[:at], token, *known[at + 1 :]) for token in chosen]


def _tested(dialect: Dialect, known: Tokens, variants: Sequence[Tokens]) -> Tested:
    at = len(known) // 2
    dialect.log_probs(known, 1)  # one question, before there are many
    first, second = _answers(dialect, variants), _answers(dialect, variants)
    if (noise := float(np.abs(first - second).max())) > TOLERANCE:
        raise RefusedError(
            f"equal questions get log-probabilities that are {noise:.2f} apart: serve the model "
            "in single precision"
        )
    # (column i has the log-probability of token i + 1)
    before, here = first[:, : at - 1], first[:, at - 1]
    if np.ptp(before, axis=0).max(initial=0.0) > TOLERANCE:
        raise RefusedError("log-probabilities change with the tokens behind them")
    if np.ptp(here) <= max(noise, 1e-4):
        raise RefusedError("different tokens get one log-probability")
    if (total := float(np.exp(here).sum())) > math.exp(noise) * 1.001:
        raise RefusedError(f"probabilities of {len(here)} tokens add up to {total:.2f}")
    _check_generation(dialect, known)
    vocabulary = _check_vocabulary(dialect, variants, here)
    return Tested(dialect, noise, known, first[0].tolist(), vocabulary)


def _answers(dialect: Dialect, texts: Sequence[Tokens]) -> Any:
    """Log-probabilities [n_texts, n_tokens - 1], asked for at the same time."""
    found = dict(dialect.client.map(lambda ids: dialect.log_probs(ids, 1), texts))
    return np.array([found[ids] for ids in texts])


def _check_generation(dialect: Dialect, known: Tokens) -> None:
    """Raises `RefusedError` unless a token has the same log-probability when the server draws it
    and when it is given, and is no improbable one (logits may look like log-probabilities)."""
    differences: list[float] = []
    least = -math.log(len(dialect.tokenizer)) - IMPROBABLE
    for length in range(len(known) // 2, len(known)):
        tokens, drawn = dialect.generate(known[:length])
        if drawn < least:
            raise RefusedError(f"it generates a token with a log-probability of {drawn:.0f}")
        if not 0 < len(tokens) <= SAME_TEXT:
            continue
        given = [dialect.log_probs((*known[:length], token), length)[0] for token in tokens]
        differences = [abs(drawn - value) for value in given]
        break
    if not differences:
        raise RefusedError("it generates tokens that the tokenizer does not have")
    if min(differences) > TOLERANCE:
        raise RefusedError(
            f"a token that it generates has a log-probability {min(differences):.2f} from the one "
            "that it has when given"
        )


def _check_vocabulary(dialect: Dialect, variants: Sequence[Tokens], here: Any) -> int:
    """How many tokens the server gives at once (`Tested.vocabulary`). Raises `RefusedError` if
    these log-probabilities are not those of the same tokens asked one by one."""
    at = len(variants[0]) // 2
    # (added tokens may have no row in the model)
    sizes: tuple[int, int] = len(dialect.tokenizer), dialect.tokenizer.vocab_size
    for n in dict.fromkeys(sizes):
        try:
            found = np.array(dialect.next_log_probs(variants[0][:at], range(n)))
        except RefusedError:
            continue
        apart = np.abs(found[[ids[at] for ids in variants]] - here).max()
        total = float(np.exp(found).sum())
        if apart > TOLERANCE or total > 1.01:
            raise RefusedError(
                f"the next token's log-probabilities are {apart:.2f} from those of given tokens, "
                f"and their probabilities add up to {total:.2f}"
            )
        if total > WHOLE:
            return n
    return 0
