"""ELMo's language model as LAMA asks it: a slot from both sides.

The score of a word is the mean of the log-probabilities that the forward direction gives it after
the words before the slot and the backward direction before the words after it. Where candidates
are ranked, the soft-max is cut to them, `<S>` and `</S>`, as LAMA does; scores are over the whole
vocabulary. A candidate of several words has the sum of its words'
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
from hyperprobe.documents import read_lines
from hyperprobe.models.devices import to_device
from hyperprobe.models.elmo_files import END, START, UNKNOWN, files_of, read_options, read_weights
from hyperprobe.models.elmo_network import ElmoNetwork, State, continued, kept
from hyperprobe.models.language import BLOCK_NUMBERS
from hyperprobe.models.plans import Tokens
from hyperprobe.models.ranking import Blocks
from hyperprobe.models.torch_files import drawn
from hyperprobe.models.word_level import WordModel, Words, lama_tokens
from hyperprobe.names import RANDOM
from hyperprobe.progress import progress

PASSES = {"zero-state-10": 10, "zero-state-1": 1, "reference-order": 10}
REFERENCE_ORDER = "reference-order"
BATCH = 32  # texts that LAMA's program reads at once
MAX_TEXTS = 256  # read at once: a step of the LSTMs is a small product


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


class Sides(NamedTuple):
    """What each direction gives next to slots [n_texts, projection], and both their states."""

    forward: torch.Tensor
    backward: torch.Tensor
    states: Sequence[State]


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
        """The files that make the model. Raises `UserError` where one is missing."""
        return files_of(path)

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
        options_file, file, softmax, vocabulary = files_of(path)
        options = read_options(options_file)
        words = [line.strip() for _, line in read_lines(vocabulary, "vocabulary")]
        weights = read_weights(file, softmax, options, len(words))
        network = ElmoNetwork(options, drawn(weights) if name.startswith(RANDOM) else weights)
        tokenizer = Words(name, words, UNKNOWN, [START, END], lama_tokens)
        return cls(name, to_device(network, device), tokenizer, {**source, "state": state}, state)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "scoring": "both sides", "ranking": "soft-max cut"}

    # -- questions ----------------------------------------------------------------------------

    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        return self._scored(clozes, candidates, self._vocabulary().tolist(), None)

    def _ranked(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        competing = {id for ids in self.split(candidates.words) for id in ids}
        words = sorted(competing | {self.tokenizer.ids[mark] for mark in (START, END)})
        return self._scored(clozes, candidates, words, torch.tensor(words, device=self.device))

    def _scored(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        words: Sequence[int],
        cut: torch.Tensor | None,
    ) -> Blocks:
        """`_blocks`, each candidate asked word by word, with a soft-max over `words`."""
        row = {id: i for i, id in enumerate(words)}
        asked: dict[tuple[Tokens, Tokens], list[tuple[int, int]]] = {}
        for column, ids in enumerate(self.split(candidates.words)):
            for i, target in enumerate(ids):
                asked.setdefault((ids[:i], ids[i + 1 :]), []).append((column, row[target]))
        steps = [
            Step(*around, *torch.tensor(pairs, device=self.device).T)
            for around, pairs in asked.items()
        ]
        return self._without_unknown(self._blocks(clozes, steps, cut, len(candidates)), candidates)

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
        n_words = len(self.tokenizer) if words is None else len(words)
        size = max(self.max_rows // 4, BLOCK_NUMBERS // max(n_words, n_candidates))
        with torch.inference_mode():
            sides = [self.sides(clozes, step.before, step.after) for step in steps]
            for some in torch.split(torch.arange(len(clozes)), size):
                scores = torch.zeros(len(some), n_candidates, device=self.device)
                for step, of in zip(steps, sides, strict=True):
                    for side in (of.forward, of.backward):
                        logits = self.model.logits(side[some], words)
                        asked = logits.index_select(1, step.targets)
                        asked -= logits.logsumexp(dim=-1, keepdim=True)
                        scores[:, step.columns] += asked.div_(2)
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
        self,
        clozes: Sequence[Cloze],
        before: Tokens = (),
        after: Tokens = (),
        states: Sequence[State] = ([], []),
    ) -> Sides:
        """What both directions give next to each slot. In the reference order, texts go on from
        the `states` of both directions after others (default: zeros)."""
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
                for start in range(0, len(order), BATCH):
                    batch = order[start : start + BATCH]
                    states = self.read(texts, batch, vectors, row, sides, states)
                    advance(len(batch))
                return Sides(sides[0], sides[1], states)
            read = list(where.values())

            def run(batch: list[int]) -> None:
                self.read(texts, [read[i] for i in batch], vectors, row, sides)

            self._in_batches([len(texts[i].words) for i in read], run, advance)
        of = torch.tensor([where[text] for text in texts], device=self.device)
        return Sides(sides[0, of], sides[1, of], states)

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
                state = continued(state, states[direction])
            asked = n_before if states is None else None
            outputs, state = self.model.read(
                direction, vectors[ids], lengths, state, PASSES[self.state], asked
            )
            every = torch.arange(len(chosen), device=self.device)
            side[list(batch)] = outputs[every, n_before - 1]
            if states is not None:
                state = kept(states[direction], state)
            after.append(state)
        return after


def reference_order(clozes: Sequence[Cloze]) -> list[int]:
    """Indices by the number of words between white space, in order where these are equal."""
    return sorted(range(len(clozes)), key=lambda i: len(clozes[i].text.split()))
