"""The vector of a word in its sentence, from any Hugging Face encoder.

After Ravichander et al. (2020, section 2.2, note 8): the mean of the output
vectors of the word's pieces. The pieces are found by character offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hyperprobe.diagnostic.sentences import occurrences
from hyperprobe.errors import UserError
from hyperprobe.lexicon.morphology import plural
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.folders import check_rows, embedding_rows
from hyperprobe.models.language import CPU_TOKENS, GPU_TOKENS
from hyperprobe.models.spelling import longest_input
from hyperprobe.parallel import check_cancelled, run_parallel
from hyperprobe.progress import progress

Vectors = NDArray[np.float32]
Layers = tuple[int, ...]  # layers whose vectors are added; 0 is the embeddings, -1 the last
LAST: Layers = (-1,)
# Shares of the texts that can be encoded side by side: their number fixes the batches,
# and so the numbers, whatever the number of threads.
N_SHARES = 8


class Mention(NamedTuple):
    """A word where it stands: `sentence[start:end]`."""

    sentence: str
    start: int
    end: int


class Encoder(NamedTuple):
    """A Hugging Face model without its head, its tokenizer, and what identifies the two."""

    model: Any
    tokenizer: Any
    source: dict[str, Any]
    max_rows: int | None = None  # texts of a batch

    @property
    def depth(self) -> int:
        """Its layers, the embeddings not counted."""
        return n_layers(self.model.config)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.model.config.hidden_size)

    @property
    def device_type(self) -> str:
        """What computes: cpu, cuda or mps."""
        return str(self.model.device.type)

    def describe(self) -> dict[str, Any]:
        """What identifies it in a run."""
        return {
            "kind": "encoder",
            **self.source,
            "architecture": type(self.model).__name__,
            "n_parameters": sum(p.numel() for p in self.model.parameters()),
        }

    def encode(
        self, mentions: Sequence[Mention], layers: Sequence[Layers] = (LAST,), name: str = ""
    ) -> Vectors:
        """Vectors [len(layers), n_mentions, width] of the mentions; see `encode`."""
        of = name or "the model"
        return encode(self.model, self.tokenizer, mentions, layers, of, self.max_rows)


class _Text(NamedTuple):
    """Token ids of a text, and the pieces [from, to) of each of its mentions."""

    ids: list[int]
    pieces: list[tuple[int, int, int]]  # index of the mention, first piece, end


def find_word(word: str, sentence: str) -> Mention:
    """Where `word` stands as a whole word: as written, else in any case, else in the plural.

    The first one when there are several. Raises `UserError` when there is none.
    """
    lowered = sentence.lower()
    # (lower-casing may change the length of a text: then positions in it say nothing)
    comparable = lowered if len(lowered) == len(sentence) else sentence
    for form, text in (
        (word, sentence),
        (word.lower(), comparable),
        (plural(word.lower()), comparable),
    ):
        if found := occurrences(form, text):
            return Mention(sentence, *found[0].span())
    raise UserError(f"{word!r} does not stand in {sentence!r}: correct the sentence or the word")


def parse_layers(text: str) -> Layers:
    """`last`, a layer's number (0: the embeddings, negative: from the end) or a sum, `9+10+11`."""
    try:
        return LAST if text == "last" else tuple(int(part) for part in text.split("+"))
    except ValueError as error:
        raise UserError(
            f"--layer {text}: write last, a layer's number, or several to add up, as 9+10+11"
        ) from error


def n_layers(config: Any) -> int:
    """Layers of a model with this configuration, the embeddings not counted."""
    return int(config.get_text_config().num_hidden_layers)


def encode(
    model: Any,
    tokenizer: Any,
    mentions: Sequence[Mention],
    layers: Sequence[Layers] = (LAST,),
    name: str = "the model",
    max_rows: int | None = None,
) -> Vectors:
    """Vectors [len(layers), n_mentions, width] in float32: the mean over a mention's pieces.

    On a CPU a model in single precision computes in double if it can, so that its rounding, which
    depends on the processor and the batch, is not seen. Each distinct sentence is run once. Of a
    sentence that is longer than the model reads, as much on both sides of the word is used as
    fits. Raises `UserError` for a layer that is not there or a tokenizer without character offsets.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise UserError(
            f"the tokenizer of {name} gives no character offsets: use a model with a fast tokenizer"
        )
    depth = n_layers(model.config)
    for layer in (layer for added in layers for layer in added):
        if not -depth - 1 <= layer <= depth:
            raise UserError(f"{name} has no layer {layer}: it has 0 (the embeddings) to {depth}")
    texts = _texts(model, tokenizer, mentions, name)
    result = np.empty((len(layers), len(mentions), model.config.hidden_size), dtype=np.float32)
    on_cpu = model.device.type == "cpu"
    exact = torch.float64 if on_cpu else torch.float32

    def encode_share(share: list[_Text]) -> None:
        def run(batch: list[int]) -> None:
            check_cancelled()
            rows = [share[i] for i in batch]
            hidden = _hidden_states(model, tokenizer, [row.ids for row in rows])
            for i, added in enumerate(layers):
                summed = torch.stack([hidden[layer] for layer in added]).to(exact).sum(dim=0)
                for row, vectors in zip(rows, summed, strict=True):
                    for index, first, end in row.pieces:
                        result[i, index] = vectors[first:end].mean(dim=0).cpu().numpy()
            advance(len(batch))

        run_in_batches(
            [len(text.ids) for text in share],
            run,
            CPU_TOKENS if on_cpu else GPU_TOKENS,
            max_rows or len(share),
        )

    shortest = texts[-1].ids
    with (
        _in_double_precision(model, lambda: _hidden_states(model, tokenizer, [shortest])),
        progress(f"encoding with {name}", len(texts)) as advance,
    ):
        if on_cpu:
            run_parallel(encode_share, [texts[i::N_SHARES] for i in range(N_SHARES)])
        else:
            encode_share(texts)
    check_vectors(result, name)
    return result


@contextmanager
def _in_double_precision(model: Any, compute: Callable[[], object]) -> Iterator[None]:
    """While it lasts, what is in single precision on a CPU has its weights in double, unless it
    cannot `compute` so; then as before: every single-precision number is one in double."""
    tensors = [*model.parameters(), *model.buffers()]
    floats = {(t.dtype, t.device.type) for t in tensors if t.is_floating_point()}
    if floats != {(torch.float32, "cpu")}:
        yield
        return
    try:
        try:
            model.double()
            compute()
        except (RuntimeError, TypeError, ValueError):  # (Mixtral, XGLM)
            model.float()
        yield
    finally:
        model.float()


def check_vectors(vectors: Vectors, name: str) -> None:
    """Raises `UserError` unless all numbers are finite, and not all of a layer's are zero."""
    if not np.isfinite(vectors).all():
        raise UserError(
            f"{name} gives vectors with NaN or infinite numbers: its weights are damaged, or "
            "overflow in this precision (try --dtype fp32)"
        )
    if not vectors.any(axis=(1, 2)).all():
        raise UserError(f"{name} gives nothing but zeros: its weights are damaged")


def _hidden_states(
    model: Any, tokenizer: Any, rows: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, ...]:
    """The vectors [n_rows, length, width] of every layer, embeddings first; padded on the right."""
    length = max(map(len, rows))
    ids = torch.full((len(rows), length), tokenizer.pad_token_id or 0)
    attention = torch.zeros((len(rows), length), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        attention[i, : len(row)] = 1
    with torch.inference_mode():
        output = model(
            input_ids=ids.to(model.device),
            attention_mask=attention.to(model.device),
            output_hidden_states=True,
        )
    states: tuple[torch.Tensor, ...] = output.hidden_states
    return states


def _texts(model: Any, tokenizer: Any, mentions: Sequence[Mention], name: str) -> list[_Text]:
    """The distinct texts, longest first, with the pieces of their mentions."""
    limit = longest_input(model, tokenizer)
    sentences = list(dict.fromkeys(mention.sentence for mention in mentions))
    encoded = tokenizer(sentences, return_offsets_mapping=True, verbose=False)
    known = {
        sentence: (ids, offsets)
        for sentence, ids, offsets in zip(
            sentences, encoded["input_ids"], encoded["offset_mapping"], strict=True
        )
    }
    check_rows(name, embedding_rows(model), [tuple(ids) for ids, _ in known.values()])
    texts: dict[str, _Text] = {}
    for index, mention in enumerate(mentions):
        ids, offsets = known[mention.sentence]
        if len(ids) > limit:
            mention, ids, offsets = _cut_around(tokenizer, mention, limit, name)
        pieces = _pieces(mention, offsets)
        if pieces is None:
            word = mention.sentence[mention.start : mention.end]
            raise UserError(f"the tokenizer of {name} leaves nothing of {word!r}: take it out")
        text = texts.setdefault(mention.sentence, _Text(ids, []))
        text.pieces.append((index, *pieces))
    return sorted(texts.values(), key=lambda text: -len(text.ids))


def _pieces(mention: Mention, offsets: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """The tokens [first, end) that share a character with the mention."""
    inside = [
        i
        for i, (start, end) in enumerate(offsets)
        if start < mention.end and end > mention.start and end > start
    ]
    return (inside[0], inside[-1] + 1) if inside else None


def _cut_around(
    tokenizer: Any, mention: Mention, limit: int, name: str
) -> tuple[Mention, list[int], list[tuple[int, int]]]:
    """As many whole words on both sides of the mention as fit, or as there are."""
    sentence, start, end = mention
    # Where the text may begin and end: with what is glued to the word, then word by word.
    begins = [start, *(m.start() for m in reversed([*re.finditer(r"\S+", sentence[:start])]))]
    ends = [end, *(end + m.end() for m in re.finditer(r"\S+", sentence[end:]))]
    low, high = 0, max(len(begins), len(ends)) - 1
    best: tuple[Mention, list[int], list[tuple[int, int]]] | None = None
    while low <= high:
        n = (low + high) // 2
        begin = begins[min(n, len(begins) - 1)]
        text = sentence[begin : ends[min(n, len(ends) - 1)]]
        encoded = tokenizer(text, return_offsets_mapping=True, verbose=False)
        if len(encoded["input_ids"]) <= limit:
            best = (
                Mention(text, start - begin, end - begin),
                encoded["input_ids"],
                encoded["offset_mapping"],
            )
            low = n + 1
        else:
            high = n - 1
    if best is None:
        raise UserError(
            f"{sentence[start:end]!r} alone is longer than the {limit} "
            f"tokens that {name} reads: take it out"
        )
    return best
