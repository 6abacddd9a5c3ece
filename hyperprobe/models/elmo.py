"""ELMo's language model as LAMA asks it: a slot from both sides.

The score of a word is the mean of the log-probabilities that the forward direction gives it after
the words before the slot and the backward direction before the words after it. The soft-max is
cut to the candidates, `<S>` and `</S>`. A candidate of several words has the sum of its words'
scores, the others shown: the mean of what the chain rule gives in both directions.

The LSTMs keep their state from text to text. `zero-state-10` (the default) reads every text ten
times from a state of zeros and scores the tenth time, so that numbers depend on the text alone;
`zero-state-1` reads it once. `reference-order` does as LAMA's program does: texts by length in
batches of 32, each batch read ten times, states going from batch to batch. Each question
to the model (a relation, say) starts from zeros there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.documents import read_json, read_lines
from hyperprobe.errors import UserError
from hyperprobe.models.autoregressive import Tokens
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


class Step(NamedTuple):
    """Candidates of several words are asked word by word: with the words `before` and `after` the
    slot shown, how probable are the `targets`? Adds to the candidates `columns`."""

    before: Tokens
    after: Tokens
    columns: torch.Tensor
    targets: torch.Tensor


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
        weights = check_weights(file, read_hdf5(file, "weights"), weight_shapes(options))
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

    # -- questions ----------------------------------------------------------------------------

    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        asked: dict[tuple[Tokens, Tokens], list[tuple[int, int]]] = {}
        for column, ids in enumerate(self.split(candidates.words)):
            for i, target in enumerate(ids):
                asked.setdefault((ids[:i], ids[i + 1 :]), []).append((column, target))
        marks = {self.tokenizer.ids[mark] for mark in (START, END)}
        competing = sorted(marks | {target for pairs in asked.values() for _, target in pairs})
        row = {id: i for i, id in enumerate(competing)}
        steps = [
            Step(*around, *(torch.tensor(side, device=self.device) for side in zip(*[
                (column, row[target]) for column, target in pairs
            ], strict=True)))
            for around, pairs in asked.items()
        ]  # fmt: skip
        words = torch.tensor(competing, device=self.device)
        blocks = self._blocks(clozes, steps, words, len(candidates))
        return self._without_unknown(blocks, candidates)

    def _open(self, clozes: Sequence[Cloze]) -> Blocks:
        every = self._vocabulary()
        return self._blocks(clozes, [Step((), (), every, every)], None, len(every))

    def _blocks(
        self,
        clozes: Sequence[Cloze],
        steps: Sequence[Step],
        words: torch.Tensor | None,
        n_candidates: int,
    ) -> Blocks:
        """(indices of clozes, scores [n_indices, n_candidates]), block after block; the soft-max
        is cut to `words` (none: it is over the vocabulary)."""
        with torch.inference_mode():
            sides = [self.sides(clozes, step.before, step.after) for step in steps]
            for some in torch.split(
                torch.arange(len(clozes)), max(64, BLOCK_NUMBERS // n_candidates)
            ):
                scores = torch.zeros(len(some), n_candidates, device=self.device)
                for step, (forward, backward) in zip(steps, sides, strict=True):
                    log_probs = self.model.logits(forward[some], words).log_softmax(dim=-1)
                    log_probs += self.model.logits(backward[some], words).log_softmax(dim=-1)
                    scores[:, step.columns] += log_probs.div_(2)[:, step.targets]
                yield some.tolist(), scores

    def text(self, cloze: Cloze, before: Tokens = (), after: Tokens = ()) -> Text:
        """The words that stand for a cloze, some of its candidate's shown around the slot."""
        left = [START, *self.tokenizer.split(cloze.left), *self._shown(before)]
        right = [*self._shown(after), *self.tokenizer.split(cloze.right), END]
        return Text((*left, UNKNOWN, *right), len(left))

    def _shown(self, ids: Tokens) -> list[str]:
        return [self.tokenizer.words[id] for id in ids]

    # -- reading ------------------------------------------------------------------------------

    def sides(
        self, clozes: Sequence[Cloze], before: Tokens = (), after: Tokens = ()
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What both directions give next to each slot, [n_clozes, projection] each."""
        texts = [self.text(cloze, before, after) for cloze in clozes]
        words = list(dict.fromkeys(word for text in texts for word in text.words))
        vectors = self.model.word_vectors(words)
        row = {word: i for i, word in enumerate(words)}
        sides = vectors.new_zeros(2, len(texts), vectors.shape[1])
        where = {text: i for i, text in enumerate(texts)}  # equal texts are read once
        n_read = len(texts) if self.state == REFERENCE_ORDER else len(where)
        with progress(f"scoring with {self.name}", n_read) as advance:
            if self.state == REFERENCE_ORDER:
                order = reference_order(clozes)
                states: list[State] = [[], []]
                for start in range(0, len(order), BATCH):
                    batch = order[start : start + BATCH]
                    states = self.read(texts, batch, vectors, row, sides, states)
                    advance(len(batch))
                return sides[0], sides[1]
            read = list(where.values())

            def run(batch: list[int]) -> None:
                self.read(texts, [read[i] for i in batch], vectors, row, sides)

            self._in_batches([len(texts[i].words) for i in read], run, advance)
        of = torch.tensor([where[text] for text in texts], device=self.device)
        return sides[0, of], sides[1, of]

    def read(
        self,
        texts: Sequence[Text],
        batch: Sequence[int],
        vectors: torch.Tensor,
        row: dict[str, int],
        sides: torch.Tensor,
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
            # How many words stand before the slot, in reading order.
            n_before = torch.tensor(
                [len(text.words) - text.slot - 1 if direction else text.slot for text in chosen],
                device=self.device,
            )
            state = self.model.no_state(len(chosen))
            if states is not None:
                state = _continued(state, states[direction])
            asked = n_before if states is None else None
            outputs, state = self.model.read(
                direction, vectors[ids], lengths, state, PASSES[self.state], asked
            )
            side[list(batch)] = outputs[torch.arange(len(chosen)), n_before - 1]
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


def weight_shapes(options: Options) -> dict[str, tuple[int, ...]]:
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
