"""DrQA's reader: bidirectional LSTMs over question and paragraph, and where an answer begins and
ends (Chen et al. 2017, section 3.2). Reads its `.mdl` files as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from hyperprobe.documents import Document, check
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.devices import to_device
from hyperprobe.models.torch_files import check_weights, read_torch
from hyperprobe.reading.ngrams import normal, tokenise

STUBS = (("drqa.reader.data", "Dictionary"), ("argparse", "Namespace"))
UNKNOWN = 1  # 0 pads
TOKENS, ROWS = 20_000, 128  # of a batch
Floats = NDArray[np.float32]
Spans = tuple[Floats, Floats]  # scores of a start and of an end at each word


class Settings(Document):
    """What of the file's `args` the network is made from; the last four have one value only."""

    embedding_dim: int
    hidden_size: int
    doc_layers: int
    question_layers: int
    num_features: int
    use_qemb: bool
    concat_rnn_layers: bool
    model_type: str
    rnn_type: str
    question_merge: str


FIXED: dict[str, Any] = {
    "concat_rnn_layers": True, "model_type": "rnn", "rnn_type": "lstm",
    "question_merge": "self_attn",
}  # fmt: skip


@dataclass(frozen=True)
class Words:
    """The words of a text; lemmas, parts of speech and kinds of names where somebody has them."""

    texts: Sequence[str]
    lemmas: Sequence[str] = ()
    pos: Sequence[str] = ()
    ner: Sequence[str] = ()

    @classmethod
    def of(cls, text: str) -> Words:
        return cls([token.text for token in tokenise(text)])


def feature_rows(document: Words, question: Words, places: Mapping[str, int]) -> Tensor:
    """The features [n_words, n_features] of a document's words, those that `places` has: whether
    the question has the word, how frequent it is, and its annotations."""
    rows = torch.zeros(len(document.texts), len(places))
    cased, lemmas = set(question.texts), set(question.lemmas)
    lower = {word.lower() for word in question.texts}
    counts = Counter(word.lower() for word in document.texts)
    for i, word in enumerate(document.texts):
        values = {
            "in_question": float(word in cased),
            "in_question_uncased": float(word.lower() in lower),
            "tf": counts[word.lower()] / len(document.texts),
        }
        if document.lemmas:
            values["in_question_lemma"] = float(document.lemmas[i] in lemmas)
        if document.pos:
            values[f"pos={document.pos[i]}"] = 1.0
        if document.ner:
            values[f"ner={document.ner[i]}"] = 1.0
        for name, value in values.items():
            if name in places:
                rows[i, places[name]] = value
    return rows


# -- the network ----------------------------------------------------------------------------


class _Stacked(nn.Module):
    """Bidirectional LSTMs on each other, the outputs of all side by side."""

    def __init__(self, width: int, hidden: int, n_layers: int) -> None:
        super().__init__()
        widths = [width, *[2 * hidden] * (n_layers - 1)]
        self.rnns = nn.ModuleList(
            nn.LSTM(width, hidden, bidirectional=True, batch_first=True) for width in widths
        )

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs = []
        for rnn in self.rnns:
            packed, _ = rnn(packed)
            outputs.append(packed.data)
        both = torch.cat(outputs, 1)
        order = packed.sorted_indices, packed.unsorted_indices
        side_by_side = PackedSequence(both, packed.batch_sizes, *order)
        padded, _ = pad_packed_sequence(side_by_side, batch_first=True)
        return padded


class _Linear(nn.Module):
    """A layer under the name that the file gives it."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)


class Network(nn.Module):
    """The network; its parameters are named as in the file."""

    def __init__(self, n_words: int, settings: Settings) -> None:
        super().__init__()
        width, hidden = settings.embedding_dim, settings.hidden_size
        self.embedding = nn.Embedding(n_words, width)
        self.qemb_match = _Linear(width, width) if settings.use_qemb else None
        document = width * (1 + settings.use_qemb) + settings.num_features
        self.doc_rnn = _Stacked(document, hidden, settings.doc_layers)
        self.question_rnn = _Stacked(width, hidden, settings.question_layers)
        of_document, of_question = (
            2 * hidden * n for n in (settings.doc_layers, settings.question_layers)
        )
        self.self_attn = _Linear(of_question, 1)
        self.start_attn = _Linear(of_question, of_document)
        self.end_attn = _Linear(of_question, of_document)

    def forward(
        self, question: Tensor, documents: Tensor, features: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Scores [n_documents, longest] of starts and of ends: one question (ids), padded
        documents, their features and their lengths (on the CPU)."""
        asked = self.embedding(question)[None]
        read = self.embedding(documents)
        inputs = [read]
        if self.qemb_match is not None:
            x, y = (torch.relu(self.qemb_match.linear(one)) for one in (read, asked))
            inputs.append(torch.softmax(x @ y.transpose(1, 2), -1) @ asked)
        hidden = self.doc_rnn(torch.cat([*inputs, features], -1), lengths)
        states = self.question_rnn(asked, torch.tensor([len(question)]))[0]
        weights = torch.softmax(self.self_attn.linear(states), 0)
        vector = (weights * states).sum(0)
        starts, ends = (hidden @ one.linear(vector) for one in (self.start_attn, self.end_attn))
        return starts, ends


# -- the reader -----------------------------------------------------------------------------


class DrqaReader:
    """Scores one-word answers in paragraphs."""

    def __init__(
        self, network: Network, ids: Mapping[str, int], places: Mapping[str, int], device: str
    ) -> None:
        self.network: Network = to_device(network.eval(), device)
        self.ids = ids
        self.places = places

    @property
    def unknown_features(self) -> list[str]:
        """The features that need annotations, which no text has here: they are zero."""
        return [
            name for name in self.places if name.startswith(("in_question_lemma", "pos=", "ner="))
        ]

    def word_scores(
        self, question: str, paragraphs: Sequence[str]
    ) -> list[list[tuple[str, float]]]:
        """(word, score) of each word of each paragraph: the log of DrQA's unnormalised score of
        an answer that begins and ends there."""
        documents = [Words.of(paragraph) for paragraph in paragraphs]
        spans = self.scores(Words.of(question), documents)
        return [
            list(zip(document.texts, (starts + ends).tolist(), strict=True))
            for document, (starts, ends) in zip(documents, spans, strict=True)
        ]

    def scores(self, question: Words, documents: Sequence[Words]) -> list[Spans]:
        """The scores of a start and of an end at each word of each document; none (minus
        infinity) where the question has no words."""
        nowhere = [np.full(len(one.texts), -np.inf, dtype=np.float32) for one in documents]
        spans: list[Spans] = [(none, none) for none in nowhere]
        read = [i for i, one in enumerate(documents) if one.texts] if question.texts else []

        def run(batch: list[int]) -> None:
            some = [read[i] for i in batch]
            answers = self._batch(question, [documents[i] for i in some])
            for i, answer in zip(some, answers, strict=True):
                spans[i] = answer

        run_in_batches([len(documents[i].texts) for i in read], run, TOKENS, ROWS)
        return spans

    @torch.inference_mode()
    def _batch(self, question: Words, documents: Sequence[Words]) -> list[Spans]:
        device = self.network.embedding.weight.device
        lengths = torch.tensor([len(one.texts) for one in documents])
        words, features = (
            nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)
            for rows in (
                [self._ids(one) for one in documents],
                [feature_rows(one, question, self.places) for one in documents],
            )
        )
        starts, ends = self.network(self._ids(question).to(device), words, features, lengths)
        pairs = zip(starts.cpu().numpy(), ends.cpu().numpy(), lengths.tolist(), strict=True)
        return [(start[:n], end[:n]) for start, end, n in pairs]

    def _ids(self, words: Words) -> Tensor:
        return torch.tensor([self.ids.get(normal(word), UNKNOWN) for word in words.texts])


def load_drqa_reader(path: Path, device: str = "auto") -> DrqaReader:
    """The reader in a `.mdl` file. Raises `UserError` for one that is none, or of another kind."""
    content = read_torch(path, "reader", STUBS)
    keys = ("state_dict", "word_dict", "feature_dict", "args")
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise UserError(f"{path}: no reader of DrQA ({', '.join(keys)}): is it the right file?")
    settings = check(Settings, getattr(content["args"], "__dict__", None), f"{path}, args")
    for key, value in FIXED.items():
        if getattr(settings, key) != value:
            raise UserError(
                f"{path}: {key} is {quoted(getattr(settings, key))}, and only {quoted(value)} is "
                "read: name a reader as DrQA distributes it"
            )
    for key, number in settings:
        if type(number) is int and not (key != "num_features") <= number <= 100_000:
            raise UserError(f"{path}: {key} is {number}, no fit number: fetch the file again")
    ids = _table(path, getattr(content["word_dict"], "tok2ind", None), "word_dict")
    places = _table(path, content["feature_dict"], "feature_dict")
    if len(places) != settings.num_features:
        raise UserError(
            f"{path}: {len(places)} features, and args has {settings.num_features}: fetch it again"
        )
    # On no device: numbers are read before any memory is taken for them.
    with torch.device("meta"):
        network = Network(len(ids), settings)
    shapes = {key: tuple(table.shape) for key, table in network.state_dict().items()}
    weights = check_weights(path, content["state_dict"], shapes)
    network.load_state_dict(weights, assign=True)
    return DrqaReader(network, ids, places, device)


def _table(path: Path, table: Any, name: str) -> dict[str, int]:
    """A table of names and their places 0, 1, 2, ... Raises `UserError` for anything else."""
    if (
        not isinstance(table, dict)
        or not all(isinstance(key, str) for key in table)
        or not all(type(value) is int for value in table.values())
        or sorted(table.values()) != list(range(len(table)))
    ):
        raise UserError(f"{path}: {name} does not number its entries: fetch the file again")
    return table
