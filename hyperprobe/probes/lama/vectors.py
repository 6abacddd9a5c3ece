"""Prompts that are vectors: questions, the forward pass from vectors, scores.

A template such as `[X] [V1] [V2] [V3] [V4] [V5] [Y] .` (Zhong et al. 2021, section 3)
has places for vectors beside those of the subject and of the answer. Its text is
tokenised as usual; at the places `[V1]` ... the model reads the vectors instead of
rows of its embedding table. Of the output only the hidden state at the slot goes
through the head. Gradients flow where the caller lets them. Masked models only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.base import Scores
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.language import head_sees
from hyperprobe.probes.lama.prompts import PLACE

ROWS = 64  # questions scored at once


@dataclass(frozen=True)
class Question:
    """Token ids, special ones included, where the slot is, and where `[V1]`, `[V2]`, ... are."""

    ids: tuple[int, ...]
    slot: int
    places: tuple[int, ...] = ()


def check_masked(model: Any, what: str) -> None:
    """Raises `UserError` for a model that is no masked language model."""
    if model.kind != "masked":
        raise UserError(
            f"{what} needs a masked language model, and {model.name} is a {model.kind} one: "
            "name another --model, or another --method"
        )


def encode_subjects(model: Any, subjects: Sequence[str], template: str) -> list[Question]:
    """The questions that `template` asks about each subject.

    A subject too long for the model loses its first tokens. Raises `UserError` for a
    template that leaves no room for any.
    """
    tokenizer = model.tokenizer
    whole = tokenizer(tokenizer.mask_token)["input_ids"]
    before = whole.index(tokenizer.mask_token_id)
    # Each part of the template as rows of ids, one per subject; a place is one id.
    parts: list[tuple[str, list[list[int]]]] = [("", [whole[:before]] * len(subjects))]
    space = False
    for part in PLACE.split(template):
        if part == "[X]":
            texts = [f" {subject}" if space else subject for subject in subjects]
            parts.append((part, tokenizer(texts, add_special_tokens=False)["input_ids"]))
        elif PLACE.fullmatch(part):
            parts.append((part, [[tokenizer.mask_token_id]] * len(subjects)))
        elif part.strip():
            text = f" {part.strip()}" if space or part[0].isspace() else part.strip()
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            parts.append(("", [ids] * len(subjects)))
        space = part[-1:].isspace() if part else space
    parts.append(("", [whole[before + 1 :]] * len(subjects)))
    limit = model.max_tokens
    n_fixed = sum(len(rows[0]) for name, rows in parts if name != "[X]" and rows)
    if n_fixed >= limit:
        raise UserError(
            f"a template of {n_fixed} tokens leaves no room for a subject in {model.name}, which "
            f"reads {limit}: use fewer vectors or words"
        )
    return [
        _question([(name, rows[i]) for name, rows in parts], limit) for i in range(len(subjects))
    ]


def _question(parts: Sequence[tuple[str, Sequence[int]]], limit: int) -> Question:
    ids: list[int] = []
    slot, places = -1, []
    spare = max(0, sum(len(row) for _, row in parts) - limit)
    for name, row in parts:
        if name == "[Y]":
            slot = len(ids)
        elif name.startswith("[V"):
            places.append(len(ids))
        ids += row[spare:] if name == "[X]" else row
    return Question(tuple(ids), slot, tuple(places))


def encode_clozes(model: Any, clozes: Sequence[Cloze]) -> list[Question]:
    """The questions of clozes, tokenised as the model's own scores tokenise them."""
    mask, mask_id = model.tokenizer.mask_token, model.tokenizer.mask_token_id
    encoded = model.tokenise([cloze.fill(mask).replace(SLOT, mask) for cloze in clozes])
    return [Question(tuple(ids), list(ids).index(mask_id)) for ids in encoded]


def candidate_ids(model: Any, candidates: CandidateSet) -> torch.Tensor:
    """The token ids [n_candidates] of candidates that are one token each.

    Raises `UserError` for one that is not.
    """
    texts = [f" {word}" for word in candidates.words]
    encoded = model.tokenizer(texts, add_special_tokens=False)["input_ids"]
    for word, ids in zip(candidates.words, encoded, strict=True):
        if len(ids) != 1:
            raise UserError(
                f"{word!r} is {len(ids)} tokens of {model.name}: prompts of vectors ask for one "
                "(leave out --multi-token)"
            )
    return torch.tensor([ids[0] for ids in encoded], device=model.device)


def slot_logits(
    model: Any, questions: Sequence[Question], vectors: torch.Tensor | None = None
) -> torch.Tensor:
    """Logits [n_questions, vocabulary] at the slots, in single precision.

    `vectors` [n_places, dimension] stand at the places of every question. Gradients
    reach them, and the weights that ask for gradients.
    """
    device = model.device
    length = max(len(question.ids) for question in questions)
    padding = model.tokenizer.pad_token_id or 0
    ids = torch.full((len(questions), length), padding)
    attention = torch.zeros((len(questions), length), dtype=torch.long)
    for i, question in enumerate(questions):
        ids[i, : len(question.ids)] = torch.tensor(question.ids)
        attention[i, : len(question.ids)] = 1
    rows = torch.arange(len(questions), device=device)
    embeddings = model.model.get_input_embeddings()(ids.to(device))
    if vectors is not None and len(vectors):
        places = torch.tensor([question.places for question in questions], device=device)
        shown = vectors.to(embeddings.dtype).expand(len(questions), -1, -1)
        embeddings = embeddings.index_put((rows[:, None], places), shown)

    slots = [question.slot for question in questions]
    with head_sees(model.model.base_model, range(len(questions)), slots):
        logits = model.model(inputs_embeds=embeddings, attention_mask=attention.to(device)).logits[
            0
        ]
    return logits.to(torch.promote_types(logits.dtype, torch.float32))  # type: ignore[no-any-return]


def score_questions(
    model: Any,
    questions: Sequence[Question],
    columns: torch.Tensor,
    vectors: torch.Tensor | None = None,
) -> torch.Tensor:
    """Natural log-probabilities [n_questions, n_columns] of the tokens `columns`, over the
    whole vocabulary, without gradients, in length-sorted batches."""
    scores = torch.empty(len(questions), len(columns), device=model.device)

    def run(batch: list[int]) -> None:
        logits = slot_logits(model, [questions[i] for i in batch], vectors)
        places = torch.tensor(batch, device=model.device)
        scores[places] = logits.index_select(1, columns) - logits.logsumexp(1, keepdim=True)

    with torch.no_grad():
        run_in_batches([len(q.ids) for q in questions], run, model.token_budget, ROWS)
    return scores


def score_vectors(
    model: Any,
    subjects: Sequence[str],
    template: str,
    vectors: np.ndarray[Any, np.dtype[np.float32]],
    candidates: CandidateSet,
) -> Scores:
    """Natural log-probabilities [n_subjects, n_candidates] of a prompt of vectors."""
    check_masked(model, "a prompt of vectors")
    dimension = model.model.get_input_embeddings().embedding_dim
    if vectors.shape[1] != dimension:
        raise UserError(
            f"the prompt's vectors have {vectors.shape[1]} numbers and {model.name} reads "
            f"{dimension}: name the model that they belong to"
        )
    questions = encode_subjects(model, subjects, template)
    table = torch.tensor(vectors, device=model.device)
    scores = score_questions(model, questions, candidate_ids(model, candidates), table)
    return scores.cpu().numpy()
