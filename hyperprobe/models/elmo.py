"""ELMo's language model as LAMA asks it: a slot from both sides.

The score of a word is the mean of the log-probabilities that the forward direction gives it after
the words before the slot and the backward direction before the words after it. The soft-max is
cut to the candidates, `<S>` and `</S>`.

The LSTMs keep their state from text to text. `zero-state-10` (the default) reads every text ten
times from a state of zeros and scores the tenth time, so that numbers depend on the text alone;
`zero-state-1` reads it once. `reference-order` does as LAMA's program does: texts by length in
batches of 32, each batch read ten times, states going from batch to batch. Each question
to the model (a relation, say) starts from zeros there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.documents import read_json, read_lines
from hyperprobe.errors import UserError
from hyperprobe.models.elmo_network import (
    END,
    LONGEST,
    START,
    ElmoNetwork,
    Layer,
    Options,
    State,
)
from hyperprobe.models.hdf5_files import read_hdf5
from hyperprobe.models.language import BLOCK_NUMBERS, Blocks
from hyperprobe.models.pretrained import to_device
from hyperprobe.models.torch_files import check_weights, drawn
from hyperprobe.models.word_level import WordModel, Words, lama_tokens
from hyperprobe.names import RANDOM
from hyperprobe.progress import progress

UNKNOWN = "<UNK>"
PASSES = {"zero-state-10": 10, "zero-state-1": 1, "reference-order": 10}
REFERENCE_ORDER = "reference-order"
BATCH = 32  # texts that LAMA's program reads at once
MAX_TEXTS = 256  # read at once: a step of the LSTMs is a small product
OPTIONS, SOFTMAX, WEIGHTS, VOCABULARY = (
    "*options.json", "*softmax_weights.hdf5", "*weights.hdf5", "vocab*.txt",
)  # fmt: skip


class Text(NamedTuple):
    """The words of a text, its marks included, and where its slot is."""

    words: tuple[str, ...]
    slot: int


class ElmoModel(WordModel):
    """ELMo's language model as a `TextModel`."""

    kind = "elmo"
    between_sentences = f" {END} {START} "
    model: ElmoNetwork

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Words,
        source: dict[str, Any],
        state: str = "zero-state-10",
    ) -> None:
        super().__init__(name, model, tokenizer, source)
        self.state = state
        self.max_rows = max(self.max_rows, MAX_TEXTS)

    @classmethod
    def files(cls, path: Path) -> list[Path]:
        """Options, weights, soft-max and vocabulary of a folder. Raises `UserError`."""
        return [
            _only(path, OPTIONS),
            _only(path, WEIGHTS, SOFTMAX),
            _only(path, SOFTMAX),
            _only(path, VOCABULARY),
        ]

    @classmethod
    def load(
        cls,
        name: str,
        path: Path,
        source: dict[str, Any],
        device: str = "auto",
        state: str = "zero-state-10",
    ) -> Self:
        """The model in a folder; with random weights if its name asks for them.

        Raises `UserError` for damaged files.
        """
        options_file, file, softmax, vocabulary = cls.files(path)
        options = read_options(options_file)
        words = [line for _, line in read_lines(vocabulary, "vocabulary")]
        weights = check_weights(file, read_hdf5(file, "weights"), _shapes(options))
        shapes = {
            "softmax/W": (len(words), options.lstm.projection_dim),
            "softmax/b": (len(words),),
        }
        weights |= check_weights(softmax, read_hdf5(softmax, "soft-max weights"), shapes)
        network = ElmoNetwork(options, drawn(weights) if name.startswith(RANDOM) else weights)
        tokenizer = Words(name, words, UNKNOWN, [START, END], lama_tokens)
        return cls(name, to_device(network, device), tokenizer, {**source, "state": state}, state)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "scoring": "both sides", "soft-max": "candidates"}

    def can_spell(self, words: Sequence[str]) -> list[bool]:
        """Whether each is one word of the vocabulary: a slot has no room for more."""
        return [len(ids) == 1 for ids in self.split(words)]

    # -- questions ----------------------------------------------------------------------------

    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        known = self.split(candidates.words)
        if several := [w for w, ids in zip(candidates.words, known, strict=True) if len(ids) > 1]:
            raise UserError(
                f"{self.name} has one word for a slot, and {several[0]!r} is several: take it out "
                "of the candidates, or ask another model"
            )
        unknown = self.tokenizer.unk_token_id  # (has a column, and no score in the end)
        columns = [ids[0] if ids else unknown for ids in known]
        scored = {id for ids in known for id in ids}
        scored |= {self.tokenizer.ids[mark] for mark in (START, END)}
        cut = torch.tensor(sorted(scored), device=self.device)
        where = {id: i for i, id in enumerate(cut.tolist())}
        index = torch.tensor([where.get(id, 0) for id in columns], device=self.device)
        blocks = self._blocks(clozes, cut, len(candidates))
        picked = ((indices, scores.index_select(1, index)) for indices, scores in blocks)
        return self._without_unknown(picked, candidates)

    def _open(self, clozes: Sequence[Cloze]) -> Blocks:
        return self._blocks(clozes, None, len(self.tokenizer))

    def _blocks(
        self, clozes: Sequence[Cloze], columns: torch.Tensor | None, n_candidates: int
    ) -> Blocks:
        """(indices of clozes, scores [n_indices, n_columns]), block after block."""
        texts = [self.text(cloze) for cloze in clozes]
        with progress(f"scoring with {self.name}", len(set(texts))) as advance, torch.inference_mode():
            forward, backward = self.sides(texts, clozes, advance)
            size = max(64, BLOCK_NUMBERS // n_candidates)
            for some in torch.split(torch.arange(len(texts)), size):
                before, after = (
                    self.model.logits(side[some], columns).log_softmax(dim=-1)
                    for side in (forward, backward)
                )
                yield some.tolist(), before.add_(after).div_(2)

    def text(self, cloze: Cloze) -> Text:
        """The words that stand for a cloze."""
        left = [START, *self.tokenizer.split(cloze.left)]
        return Text((*left, UNKNOWN, *self.tokenizer.split(cloze.right), END), len(left))

    # -- reading ------------------------------------------------------------------------------

    def sides(
        self, texts: Sequence[Text], clozes: Sequence[Cloze], advance: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What both directions give next to each slot, [n_texts, projection] each."""
        words = list(dict.fromkeys(word for text in texts for word in text.words))
        vectors = self.model.word_vectors(words)
        row = {word: i for i, word in enumerate(words)}
        width = vectors.shape[1]
        forward, backward = (vectors.new_zeros(len(texts), width) for _ in range(2))
        if self.state == REFERENCE_ORDER:
            order = reference_order(clozes)
            states: list[State] = [[], []]
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                states = self.read(texts, batch, vectors, row, (forward, backward), states)
                advance(len(batch))
            return forward, backward
        where = {text: i for i, text in enumerate(texts)}  # equal texts are read once
        longest_first = sorted(where.values(), key=lambda i: (-len(texts[i].words), texts[i].slot))
        for length, group in groupby(longest_first, key=lambda i: len(texts[i].words)):
            alike = list(group)

            def run(batch: list[int], alike: list[int] = alike) -> None:
                chosen = [alike[i] for i in batch]
                self.read(texts, chosen, vectors, row, (forward, backward))

            self._in_batches([length] * len(alike), run, advance)
        read = torch.tensor([where[text] for text in texts], device=self.device)
        return forward[read], backward[read]

    def read(
        self,
        texts: Sequence[Text],
        batch: Sequence[int],
        vectors: torch.Tensor,
        row: dict[str, int],
        sides: tuple[torch.Tensor, torch.Tensor],
        states: Sequence[State] | None = None,
    ) -> list[State]:
        """Reads a batch of texts, and puts what both directions give next to the slots into the
        rows of `sides`. `states` go on from the last batch (none: every text starts from zeros).
        """
        chosen = [texts[i] for i in batch]
        lengths = torch.tensor([len(text.words) for text in chosen], device=self.device)
        after = []
        for direction, side in enumerate(sides):
            onwards = -1 if direction else 1
            ids, _ = self._padded([[row[w] for w in text.words[::onwards]] for text in chosen])
            # The step that has read all words before the slot, in reading order.
            steps = [
                (len(text.words) - text.slot - 1 if direction else text.slot) - 1 for text in chosen
            ]
            state = self.model.no_state(len(chosen))
            if states is not None:
                state = _continued(state, states[direction])
            n_last = max(steps) + 1 if states is None else None
            outputs, state = self.model.read(
                direction, vectors[ids], lengths, state, PASSES[self.state], n_last
            )
            side[list(batch)] = outputs[torch.arange(len(chosen)), steps]
            if states is not None:
                state = _kept(states[direction], state)
            after.append(state)
        return after


def _continued(zeros: State, before: State) -> State:
    """The state of a batch whose first texts go on from those of the batches before."""
    if not before:
        return zeros
    n = len(zeros[0][0])
    return [_rows(n, olds, news) for olds, news in zip(before, zeros, strict=True)]


def _kept(before: State, after: State) -> State:
    """The states after a batch: rows beyond a smaller batch stay as they were."""
    if not before:
        return after
    n = max(len(after[0][0]), len(before[0][0]))
    return [_rows(n, news, olds) for olds, news in zip(before, after, strict=True)]


def _rows(n: int, first: Layer, then: Layer) -> Layer:
    """The first n rows of a layer's states, those that `first` lacks from `then`."""
    h, c = (torch.cat([a, b[len(a) :]])[:n] for a, b in zip(first, then, strict=True))
    return h, c


def reference_order(clozes: Sequence[Cloze]) -> list[int]:
    """Indices by the number of words between white space, in order where these are equal."""
    return sorted(range(len(clozes)), key=lambda i: len(clozes[i].text.split()))


# -- files ----------------------------------------------------------------------------------


def _only(folder: Path, pattern: str, other: str = "") -> Path:
    """The one file of a folder that fits a pattern, and not another."""
    files = sorted(set(folder.glob(pattern)) - set(folder.glob(other) if other else ()))
    if len(files) != 1:
        wanted = ", ".join((OPTIONS, WEIGHTS, SOFTMAX, VOCABULARY))
        raise UserError(
            f"{folder} has {len(files)} files {pattern}: name a folder with one of each of ELMo's "
            f"files ({wanted})"
        )
    return files[0]


def read_options(path: Path) -> Options:
    """ELMo's options. Raises `UserError` for what no network is made of."""
    options = read_json(path, Options, "options")
    cnn = options.char_cnn
    fixed = {"activation": "relu", "max_characters_per_token": LONGEST + 2, "n_characters": 262}
    for key, value in fixed.items():
        if getattr(cnn, key) != value:
            raise UserError(f"{path}: {key} is not {value!r}, and nothing else is read: correct it")
    if not cnn.filters or max(width for width, _ in cnn.filters) > LONGEST + 2:
        raise UserError(f"{path}: no filters that fit a word: correct it")
    return options


def _shapes(options: Options) -> dict[str, tuple[int, ...]]:
    """The shape of each table of weights but the soft-max's."""
    lstm, cnn = options.lstm, options.char_cnn
    wide, narrow = sum(n for _, n in cnn.filters), lstm.projection_dim
    shapes: dict[str, tuple[int, ...]] = {
        "char_embed": (cnn.n_characters - 1, cnn.embedding.dim),
        "CNN_proj/W_proj": (wide, narrow),
        "CNN_proj/b_proj": (narrow,),
    }
    for i, (width, n) in enumerate(cnn.filters):
        shapes[f"CNN/W_cnn_{i}"] = (1, width, cnn.embedding.dim, n)
        shapes[f"CNN/b_cnn_{i}"] = (n,)
    for i in range(cnn.n_highway):
        for part in ("carry", "transform"):
            shapes[f"CNN_high_{i}/W_{part}"] = (wide, wide)
            shapes[f"CNN_high_{i}/b_{part}"] = (wide,)
    for direction in (0, 1):
        for layer in range(lstm.n_layers):
            key = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes[f"{key}/W_0"] = (2 * narrow, 4 * lstm.dim)
            shapes[f"{key}/B"] = (4 * lstm.dim,)
            shapes[f"{key}/W_P_0"] = (lstm.dim, narrow)
    return shapes
