"""ELMo's language model (Peters et al. 2018): words from their characters, two stacks of LSTMs.

The LSTMs have a projection and a skip connection, and clip memory and state. Each direction keeps
its state after a text, so that the same text read again gives other numbers; how often it is read
and from which state is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from hyperprobe.models.elmo_files import END, LONGEST, START, Options
from hyperprobe.models.torch_files import Weights

OPEN, CLOSE, PADDING = 258, 259, 260  # around the bytes of a word, and after them
WHOLE = {START: 256, END: 257}
WORDS_AT_ONCE = 256
Layer = tuple[torch.Tensor, torch.Tensor]  # state [n_texts, projection], memory [n_texts, cells]
State = list[Layer]


def characters(word: str) -> list[int]:
    """What the network reads of a word: its bytes between two marks, filled up to 50; each one
    more than its number, so that 0 is free."""
    inside = [WHOLE[word]] if word in WHOLE else list(word.encode("utf-8")[:LONGEST])
    read = [OPEN, *inside, CLOSE]
    return [c + 1 for c in read + [PADDING] * (LONGEST + 2 - len(read))]


def _gates(table: torch.Tensor) -> torch.Tensor:
    """A table whose columns are for the gates i, j, f and o, with them in the order i, f, o, j;
    in that of biases the forget gate's is one higher."""
    i, j, f, o = table.chunk(4, dim=-1)
    return torch.cat([i, f + 1 if table.dim() == 1 else f, o, j], dim=-1)


def _rows(state: State, order: torch.Tensor) -> State:
    return [(h[order], c[order]) for h, c in state]


def continued(zeros: State, before: State) -> State:
    """The state of a batch whose first texts go on from those of the batches before."""
    if not before:
        return zeros
    n = len(zeros[0][0])
    return [_first_rows(n, olds, news) for olds, news in zip(before, zeros, strict=True)]


def kept(before: State, after: State) -> State:
    """The states after a batch: rows beyond a smaller batch stay as they were."""
    if not before:
        return after
    n = max(len(after[0][0]), len(before[0][0]))
    return [_first_rows(n, news, olds) for olds, news in zip(before, after, strict=True)]


def _first_rows(n: int, first: Layer, then: Layer) -> Layer:
    """The first n rows of a layer's states, those that `first` lacks from `then`."""
    h, c = (torch.cat([a, b[len(a) :]])[:n] for a, b in zip(first, then, strict=True))
    return h, c


class ElmoNetwork(torch.nn.Module):
    """Character convolutions, both directions of LSTMs, and the soft-max over words."""

    def __init__(self, options: Options, weights: Weights) -> None:
        super().__init__()
        self.options = options
        self.weights = torch.nn.ParameterDict()
        for key, table in weights.items():
            made = _gates(table) if key.endswith(("/W_0", "/B")) else table
            self.weights[key] = torch.nn.Parameter(made, requires_grad=False)

    @property
    def device(self) -> torch.device:
        device: torch.device = self.weights["char_embed"].device
        return device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self.weights["char_embed"].dtype
        return dtype

    def _cell(self, direction: int, layer: int, part: str) -> torch.Tensor:
        key = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{part}"
        table: torch.Tensor = self.weights[key]
        return table

    # -- words --------------------------------------------------------------------------------

    def word_vectors(self, words: Sequence[str]) -> torch.Tensor:
        """The vectors [n_words, projection] that the LSTMs read."""
        ids = torch.tensor([characters(word) for word in words], device=self.device)
        return torch.cat([self._convolved(some) for some in torch.split(ids, WORDS_AT_ONCE)])

    def _convolved(self, ids: torch.Tensor) -> torch.Tensor:
        # (no word is padding, whose row is the one that `char_embed` leaves out)
        x = functional.embedding(ids - 1, self.weights["char_embed"]).transpose(1, 2)
        parts = []
        for i in range(len(self.options.char_cnn.filters)):
            kernel = self.weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
            y = functional.conv1d(x, kernel, self.weights[f"CNN/b_cnn_{i}"])
            parts.append(y.amax(dim=-1).relu())
        y = torch.cat(parts, dim=-1)
        for i in range(self.options.char_cnn.n_highway):
            key = f"CNN_high_{i}"
            gate = y @ self.weights[f"{key}/W_carry"] + self.weights[f"{key}/b_carry"]
            new = y @ self.weights[f"{key}/W_transform"] + self.weights[f"{key}/b_transform"]
            y = y.lerp(new.relu(), gate.sigmoid())
        result: torch.Tensor = y @ self.weights["CNN_proj/W_proj"] + self.weights["CNN_proj/b_proj"]
        return result

    # -- texts --------------------------------------------------------------------------------

    def no_state(self, n_texts: int) -> State:
        """The state before any text: zeros."""
        lstm = self.options.lstm
        zeros = torch.zeros(n_texts, lstm.projection_dim + lstm.dim, device=self.device)
        h, c = torch.split(zeros, [lstm.projection_dim, lstm.dim], dim=1)
        return [(h, c)] * lstm.n_layers

    def read(
        self,
        direction: int,
        x: torch.Tensor,
        lengths: torch.Tensor,
        state: State,
        passes: int,
        asked: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, State]:
        """What the last layer gives for each word of texts [n_texts, longest, projection], read
        `passes` times from `state` on, and the state after each text's own last word.

        Words are in reading order: the backward direction (1) gets its texts reversed. Of the last
        pass only the first `asked` words of each text are read, if given: the state is of no use
        then. Nothing is promised of what stands behind a text's end.
        """
        order = lengths.argsort(descending=True)  # those that go on are the first rows
        lengths, state = lengths[order], _rows(state, order)
        # What the first layer gets from the words is the same in each pass.
        first = self._from_input(direction, 0, x[order].transpose(0, 1))
        for _ in range(passes - 1):
            _, state = self._pass(direction, first, lengths, state)
        if asked is not None:
            again = asked[order].argsort(descending=True)
            order, lengths, state = order[again], asked[order][again], _rows(state, again)
            first = first[: int(lengths[0]), again]
        outputs, state = self._pass(direction, first, lengths, state)
        back = order.argsort()
        return outputs[:, back].transpose(0, 1), _rows(state, back)

    def _pass(
        self, direction: int, first: torch.Tensor, lengths: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, State]:
        """`read` once, with texts in order of falling lengths: what the last layer gives [longest,
        n_texts, projection], and the states. `first` is what the first layer gets from the words.
        """
        n_going = [int((lengths > step).sum()) for step in range(int(lengths[0]))]
        after: State = []
        given = first
        for layer in range(self.options.lstm.n_layers):
            inputs = self._from_input(direction, layer, given) if layer else first
            outputs, last = self._steps(direction, layer, inputs, n_going, state[layer])
            after.append(last)
            skips = layer and self.options.lstm.use_skip_connections
            given = outputs.add_(given) if skips else outputs
        return given, after

    def _from_input(self, direction: int, layer: int, x: torch.Tensor) -> torch.Tensor:
        """The share of inputs [longest, n_texts, ..] in the gates [longest, n_texts, 4 cells]."""
        weight = self._cell(direction, layer, "W_0")[: x.shape[2]]
        bias = self._cell(direction, layer, "B")
        return torch.addmm(bias, x.reshape(-1, x.shape[2]), weight).view(*x.shape[:2], -1)

    def _steps(
        self, direction: int, layer: int, inputs: torch.Tensor, n_going: list[int], state: Layer
    ) -> tuple[torch.Tensor, Layer]:
        """The states of a layer after each word [longest, n_texts, projection], and the last ones;
        at each step the first `n_going` texts have not ended."""
        lstm = self.options.lstm
        weight = self._cell(direction, layer, "W_0")[lstm.projection_dim :]
        projection = self._cell(direction, layer, "W_P_0")
        h, c = state[0].clone(), state[1].clone()
        outputs = h.new_zeros(len(n_going), *h.shape)
        for step, n in enumerate(n_going):
            gates = torch.addmm(inputs[step, :n], h[:n], weight)
            inner = gates[:, : 3 * lstm.dim].sigmoid_()
            new = gates[:, 3 * lstm.dim :].tanh_()
            i, f, o = inner.chunk(3, dim=1)
            c[:n].mul_(f).addcmul_(i, new).clamp_(-lstm.cell_clip, lstm.cell_clip)
            out = c[:n].tanh().mul_(o) @ projection
            h[:n] = out.clamp_(-lstm.proj_clip, lstm.proj_clip)
            outputs[step, :n] = h[:n]
        return outputs, (h, c)

    def logits(self, states: torch.Tensor, columns: torch.Tensor | None) -> torch.Tensor:
        """Logits [n, n_columns] of some words of the vocabulary (none: of all)."""
        weight, bias = self.weights["softmax/W"], self.weights["softmax/b"]
        if columns is not None:
            weight, bias = weight[columns], bias[columns]
        return functional.linear(states, weight, bias)
