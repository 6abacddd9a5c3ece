"""Token ids on disk, and batches of equal length: no padding, no attention mask."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from recipe.tokens import TEXTS

MAX_TOKENS = 64
PROSE_TOKENS = 48
HELD_OUT = 400  # one line in this many is kept for the held-out loss

# How often an epoch reads each text: definitions say what things are, and are short.
SHARES = {
    "dictionary": 0.1,
    "sentences": 0.35,
    "doses": 4.0,
    "mentions": 0.35,
    "textbooks": 0.03,
    "fiction": 0.01,
}


@dataclass(frozen=True)
class Sequences:
    """Ragged token ids: sequence i is `ids[starts[i]:starts[i + 1]]`, special tokens included."""

    ids: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1


def encode(work: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """Write `NAME.npz` (training) and `held_out.npz` from the texts."""
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    held_out: list[list[int]] = []
    for name in TEXTS:
        lines = (work / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        pack = PROSE_TOKENS - 2 if name in ("textbooks", "fiction") else 0
        sequences: list[list[int]] = []
        current: list[int] = []
        for start in range(0, len(lines), 50_000):
            chunk = lines[start : start + 50_000]
            encoded = tokenizer.backend_tokenizer.encode_batch(chunk, add_special_tokens=False)
            for line, encoding in zip(chunk, encoded, strict=True):
                ids = encoding.ids[: MAX_TOKENS - 2]
                if len(ids) < 4:
                    continue
                # The experiment's lines are all read: each noun gets its dose.
                if name != "doses" and _is_held_out(line):
                    held_out.append([cls, *ids, sep])
                elif pack and current and len(current) + len(ids) <= pack:
                    current += ids
                else:
                    if current:
                        sequences.append([cls, *current, sep])
                    current = ids
        sequences.append([cls, *current, sep])
        _save(work / f"{name}.npz", sequences)
        print(f"{name}: {len(sequences)} sequences, {sum(map(len, sequences))} tokens")
    _save(work / "held_out.npz", held_out)


def _is_held_out(line: str) -> bool:
    return hashlib.sha256(line.encode()).digest()[:4] < (2**32 // HELD_OUT).to_bytes(4, "big")


def _save(path: Path, sequences: list[list[int]]) -> None:
    np.savez(
        path,
        ids=np.fromiter((i for s in sequences for i in s), np.uint16),
        starts=np.cumsum([0, *map(len, sequences)]),
    )


def load(path: Path) -> Sequences:
    with np.load(path) as arrays:
        return Sequences(arrays["ids"], arrays["starts"])


def epoch(
    texts: dict[str, Sequences], number: int, seed: int, batch_tokens: int
) -> Iterator[np.ndarray]:
    """The batches of one epoch, each [n_sequences, length] of one length, in seeded order.

    Of a text whose share is below one, epoch k reads the part after epoch k - 1's.
    """
    random = np.random.default_rng([seed, number])
    members: dict[int, list[tuple[str, int]]] = {}
    for name, sequences in texts.items():
        lengths = np.diff(sequences.starts)
        order = np.random.default_rng([seed, len(name)]).permutation(len(sequences))
        take = int(SHARES[name] * len(order))
        for i in np.take(order, np.arange(number * take, (number + 1) * take), mode="wrap"):
            members.setdefault(int(lengths[i]), []).append((name, int(i)))
    batches = []
    for length in sorted(members):
        same = [members[length][i] for i in random.permutation(len(members[length]))]
        size = max(1, batch_tokens // length)
        batches += [same[i : i + size] for i in range(0, len(same), size)]
    for b in random.permutation(len(batches)):
        yield np.stack(
            [texts[n].ids[texts[n].starts[i] : texts[n].starts[i + 1]] for n, i in batches[b]]
        )
