"""Prompts that are vectors: questions, the forward pass from vectors, scores.

A template such as `[X] [V1] [V2] [V3] [V4] [V5] [Y] .` (Zhong et al. 2021, section 3)
has marks for vectors beside those of the subject and of the answer. Its text is
tokenised as usual; at the marks `[V1]` ... the model reads the vectors instead of
rows of its embedding table. Of the output only the hidden state at the slot goes
through the head. Gradients flow where the caller lets them. Masked models only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hyperprobe.cloze import MARK, SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.base import ClozeModel, GradientModel, Scores, as_masked_model
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.language import head_sees

ROWS = 64  # questions scored at once


@dataclass(frozen=True)
class Question:
    """Token ids, special ones included, where the slot is, and where the vectors go."""

    ids: tuple[int, ...]
    slot: int
    positions: tuple[int, ...] = ()


def encode_subjects(model: GradientModel, subjects: Sequence[str], template: str) -> list[Question]:
    """The questions that `template` asks about each subject.

    A subject too long for the model loses its first tokens. Raises `UserError` for a
    template that leaves no room for any.
    """
    tokenizer = model.tokenizer
    whole = tokenizer(tokenizer.mask_token)["input_ids"]
    before = whole.index(tokenizer.mask_token_id)
    # Each part of the template as rows of ids, one per subject; a mark is one id.
    parts: list[tuple[str, list[list[int]]]] = [("", [whole[:before]] * len(subjects))]
    space = False
    for part in MARK.split(template):
        if part == "[X]":
            texts = [f" {subject}" if space else subject for subject in subjects]
            parts.append((part, tokenizer(texts, add_special_tokens=False)["input_ids"]))
        elif MARK.fullmatch(part):
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
    slot, positions = -1, []
    spare = max(0, sum(len(row) for _, row in parts) - limit)
    for name, row in parts:
        if name == "[Y]":
            slot = len(ids)
        elif name.startswith("[V"):
            positions.append(len(ids))
        ids += row[spare:] if name == "[X]" else row
    return Question(tuple(ids), slot, tuple(positions))


def encode_clozes(model: GradientModel, clozes: Sequence[Cloze]) -> list[Question]:
    """The questions of clozes, tokenised as the model's own scores tokenise them."""
    mask, mask_id = model.tokenizer.mask_token, model.tokenizer.mask_token_id
    encoded = model.tokenise([cloze.fill(mask).replace(SLOT, mask) for cloze in clozes])
    return [Question(tuple(ids), list(ids).index(mask_id)) for ids in encoded]


def candidate_ids(model: GradientModel, candidates: CandidateSet) -> torch.Tensor:
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


def candidate_mask(model: GradientModel, ids: torch.Tensor) -> torch.Tensor:
    """A row [vocabulary] to add to logits: 0 for the tokens `ids`, minus infinity for others."""
    network: Any = model.model
    n_tokens = network.get_output_embeddings().weight.shape[0]
    mask = torch.full((n_tokens,), -torch.inf, device=model.device)
    mask[ids] = 0.0
    return mask


def vectors_of_prompt(model: GradientModel, template: str) -> tuple[str, torch.Tensor]:
    """A manual prompt with a vector in the place of each of its tokens, and these vectors.

    A template of nothing but subject and slot has no vectors to learn.
    """
    table = model.input_embeddings().weight.detach().float()
    parts: list[str] = []
    ids: list[int] = []
    spaced = template.replace("[X]", " [X] ").replace("[Y]", " [Y] ")
    for word in spaced.split():
        if word in ("[X]", "[Y]"):
            parts.append(word)
            continue
        for token in model.token_ids([f" {word}"])[0]:
            ids.append(token)
            parts.append(f"[V{len(ids)}]")
    return " ".join(parts), table[torch.tensor(ids, dtype=torch.long, device=model.device)].clone()


def random_vectors(model: GradientModel, n: int) -> tuple[str, torch.Tensor]:
    """`[X] [V1] ... [Vn] [Y] .` and vectors [n, dimension] spread as the model's own rows."""
    table = model.input_embeddings().weight.detach().float()
    vectors = torch.randn(n, table.shape[1]) * float(table.std())
    return template_of_vectors(n), vectors.to(model.device)


def template_of_vectors(n: int) -> str:
    """`[X] [V1] ... [Vn] [Y] .`"""
    marks = " ".join(f"[V{i}]" for i in range(1, n + 1))
    return f"[X] {marks} [Y] ."


def mask_tokens(model: GradientModel, n: int) -> torch.Tensor:
    """The token id of the mask, `n` times."""
    return torch.full((n,), model.tokenizer.mask_token_id, device=model.device)


def written(model: GradientModel, tokens: torch.Tensor) -> list[str]:
    """Each token as a text of its own."""
    return [model.tokenizer.decode([token]).strip() for token in tokens.tolist()]


def plain_words(model: GradientModel, without: set[str]) -> torch.Tensor:
    """The tokens [n] that are whole words of no capital letter and none of `without`, and that,
    written into a text, are read as the very same token."""
    tokenizer = model.tokenizer
    special = set(tokenizer.all_special_ids)
    ids = [i for i in range(len(tokenizer)) if i not in special]
    words = [text.strip() for text in tokenizer.batch_decode([[i] for i in ids])]
    encoded = tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
    excluded = {word.lower() for word in without}
    kept = [
        i
        for i, word, again in zip(ids, words, encoded, strict=True)
        if again == [i] and word == word.lower() and word not in excluded and "[" not in word
    ]
    return torch.tensor(kept, device=model.device)


@contextmanager
def frozen(model: GradientModel) -> Iterator[None]:
    """Within it no weight of the model asks for gradients."""
    asked = [p for p in model.model.parameters() if p.requires_grad]
    for parameter in asked:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in asked:
            parameter.requires_grad_(True)


def slot_logits(
    model: GradientModel, questions: Sequence[Question], vectors: torch.Tensor | None = None
) -> torch.Tensor:
    """Logits [n_questions, vocabulary] at the slots, in single precision.

    `vectors` [n_vectors, dimension] stand at the positions of every question. Gradients
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
    embeddings = model.input_embeddings()(ids.to(device))
    if vectors is not None and len(vectors):
        positions = torch.tensor([question.positions for question in questions], device=device)
        shown = vectors.to(embeddings.dtype).expand(len(questions), -1, -1)
        embeddings = embeddings.index_put((rows[:, None], positions), shown)

    slots = [question.slot for question in questions]
    network: Any = model.model
    with head_sees(network.base_model, range(len(questions)), slots):
        output = network(inputs_embeds=embeddings, attention_mask=attention.to(device))
    logits: torch.Tensor = output.logits[0]
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def score_questions(
    model: GradientModel,
    questions: Sequence[Question],
    columns: torch.Tensor,
    vectors: torch.Tensor | None = None,
) -> torch.Tensor:
    """Natural log-probabilities [n_questions, n_columns] of the tokens `columns`, over the
    whole vocabulary, without gradients, in length-sorted batches."""
    scores = torch.empty(len(questions), len(columns), device=model.device)

    def run(batch: list[int]) -> None:
        logits = slot_logits(model, [questions[i] for i in batch], vectors)
        rows = torch.tensor(batch, device=model.device)
        scores[rows] = logits.index_select(1, columns) - logits.logsumexp(1, keepdim=True)

    with torch.no_grad():
        run_in_batches([len(q.ids) for q in questions], run, model.token_budget, ROWS)
    return scores


def score_vectors(
    model: ClozeModel,
    subjects: Sequence[str],
    template: str,
    vectors: np.ndarray[Any, np.dtype[np.float32]],
    candidates: CandidateSet,
) -> Scores:
    """Natural log-probabilities [n_subjects, n_candidates] of a prompt of vectors."""
    model = as_masked_model(model, "a prompt of vectors")
    dimension = model.input_embeddings().embedding_dim
    if vectors.shape[1] != dimension:
        raise UserError(
            f"the prompt's vectors have {vectors.shape[1]} numbers and {model.name} reads "
            f"{dimension}: name the model that they belong to"
        )
    questions = encode_subjects(model, subjects, template)
    table = torch.tensor(vectors, device=model.device)
    scores = score_questions(model, questions, candidate_ids(model, candidates), table)
    return scores.cpu().numpy()
