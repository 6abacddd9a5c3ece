"""Extractive question answering by a transformer: scores of one-word answers in paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.folders import check_rows, embedding_rows
from hyperprobe.models.pretrained import load_span_model
from hyperprobe.models.spelling import longest_input
from hyperprobe.options import ModelOptions
from hyperprobe.reading.ngrams import Token, tokenise

WINDOW, OVERLAP = 384, 128  # tokens, of what is read at once and of what two windows share
TOKENS, ROWS = 16_384, 64  # of a batch


class SpanReader:
    """A model with a head for question answering. Long paragraphs are read in windows; a word
    that is in several has its best score."""

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        self.name = name
        self.model = model
        self.tokenizer = tokenizer
        self.window = min(WINDOW, longest_input(model, tokenizer))

    @property
    def unknown_features(self) -> list[str]:
        """None: the model sees the texts alone."""
        return []

    def word_scores(
        self, question: str, paragraphs: Sequence[str]
    ) -> list[list[tuple[str, float]]]:
        """(word, score) of each word of each paragraph: the logit of a start at its first token
        and that of an end at its last."""
        words = [tokenise(paragraph) for paragraph in paragraphs]
        scores = [np.full(len(some), -np.inf) for some in words]
        read = [i for i, some in enumerate(words) if some]
        if read:
            self._read(self._cut(question), paragraphs, words, read, scores)
        return [
            [(word.text, float(score)) for word, score in zip(some, found, strict=True)]
            for some, found in zip(words, scores, strict=True)
        ]

    def _cut(self, question: str) -> str:
        """The question, cut to half a window."""
        offsets = self.tokenizer(
            question, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        most = self.window // 2 - self.tokenizer.num_special_tokens_to_add(pair=True)
        return question[: offsets[most][0]] if len(offsets) > most else question

    def _read(
        self,
        question: str,
        paragraphs: Sequence[str],
        words: Sequence[list[Token]],
        read: Sequence[int],
        scores: Sequence[NDArray[np.float64]],
    ) -> None:
        """Put the scores of the words of the paragraphs `read` into `scores`."""
        windows = self.tokenizer(
            [question] * len(read),
            [paragraphs[i] for i in read],
            truncation="only_second",
            max_length=self.window,
            stride=min(OVERLAP, self.window // 8),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        ids = windows["input_ids"]
        check_rows(self.name, embedding_rows(self.model), [tuple(one) for one in ids])

        def run(batch: list[int]) -> None:
            starts, ends = self._logits([{k: windows[k][i] for k in self._inputs} for i in batch])
            for row, i in enumerate(batch):
                paragraph = read[windows["overflow_to_sample_mapping"][i]]
                of_text = [part == 1 for part in windows.sequence_ids(i)]
                at = _tokens_at(windows["offset_mapping"][i], of_text, len(paragraphs[paragraph]))
                for j, word in enumerate(words[paragraph]):
                    first, last = at[word.start], at[word.end - 1]
                    if first >= 0 and last >= 0:
                        score = float(starts[row][first]) + float(ends[row][last])
                        scores[paragraph][j] = max(scores[paragraph][j], score)

        run_in_batches([len(one) for one in ids], run, TOKENS, ROWS)

    @property
    def _inputs(self) -> list[str]:
        known = self.tokenizer.model_input_names
        return [name for name in known if name in ("input_ids", "attention_mask", "token_type_ids")]

    @torch.inference_mode()
    def _logits(self, rows: list[dict[str, Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.tokenizer.pad_token is None:  # what pads is not attended to
            self.tokenizer.pad_token = self.tokenizer.eos_token or self.tokenizer.unk_token
        padded = self.tokenizer.pad(rows, return_tensors="pt")
        answer = self.model(**padded.to(self.model.device))
        starts, ends = answer.start_logits, answer.end_logits
        return starts.float().cpu().numpy(), ends.float().cpu().numpy()


def _tokens_at(
    offsets: Sequence[tuple[int, int]], of_text: Sequence[bool], length: int
) -> NDArray[np.int64]:
    """The token of each character of a text of this length; -1 where the window has none."""
    at = np.full(length, -1, dtype=np.int64)
    for token, ((start, end), inside) in enumerate(zip(offsets, of_text, strict=True)):
        if inside:
            at[start:end] = token
    return at


def load_span_reader(path: Path, options: ModelOptions) -> SpanReader:
    """The model in a folder. Raises `UserError` for a folder with anything else."""
    return SpanReader(str(path), *load_span_model(str(path), options))
