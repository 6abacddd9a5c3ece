"""Stage 4: the masked LM, a small BERT. Runs on a CPU and on a GPU unchanged.

Killed and started again, it continues from its last checkpoint to the same weights.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from gensim.models import KeyedVectors
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from recipe.batches import Sequences, epoch, load
from recipe.tokens import TEXTS

SAVE_SECONDS = 300


@dataclass(frozen=True)
class Settings:
    """What is trained, and how; written beside the weights."""

    hidden: int = 192
    layers: int = 2
    heads: int = 4
    intermediate: int = 768
    tokens: int = 24_000_000  # training length, in word pieces read
    batch_tokens: int = 2048
    learning_rate: float = 1.5e-3
    embedding_rate: float = 0.5  # of the learning rate: they start from word2vec
    warm_up: float = 0.03
    weight_decay: float = 0.01
    mask_first: float = 0.30  # share of word pieces masked, falling linearly
    mask_last: float = 0.20
    seed: int = 1


def new_model(
    settings: Settings, tokenizer: BertTokenizer, vectors: KeyedVectors
) -> BertForMaskedLM:
    """A random BERT whose whole-word embeddings are turned word2vec vectors."""
    torch.manual_seed(settings.seed)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=settings.intermediate,
            max_position_embeddings=128,
            type_vocab_size=1,
            # Few epochs: no overfitting to prevent, and random numbers cost time on a CPU.
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=tokenizer.pad_token_id,
            attn_implementation="eager",
        )
    )
    words = [(i, word) for word, i in tokenizer.get_vocab().items() if word in vectors]
    known = torch.tensor(np.stack([vectors[word] for _, word in words]))
    known = known - known.mean(0)
    known = known / known.norm(dim=1, keepdim=True)
    turn = torch.linalg.qr(torch.randn(settings.hidden, known.shape[1]))[0]
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        embeddings[[i for i, _ in words]] = 0.02 * math.sqrt(settings.hidden) * 1.5 * known @ turn.T
    return model


class Masker:
    """Chooses whole words to mask, rarer words more often: "the" teaches little."""

    def __init__(self, tokenizer: BertTokenizer, texts: dict[str, Sequences]) -> None:
        n = len(tokenizer)
        counts = sum(np.bincount(text.ids, minlength=n) for text in texts.values())
        share = torch.tensor(counts / counts.sum()).clamp_min(1e-9)
        weight = (3e-4 / share).sqrt().clamp(max=1.0)
        weight[tokenizer.all_special_ids] = 0.0
        self._weight = (weight / (weight * share).sum()).float()
        pieces = tokenizer.convert_ids_to_tokens(list(range(n)))
        self._inside = torch.tensor([piece.startswith("##") for piece in pieces])
        self.mask_id = tokenizer.mask_token_id

    def __call__(self, ids: torch.Tensor, rate: float, random: torch.Generator) -> torch.Tensor:
        """A boolean tensor like `ids`: the word pieces to mask, about `rate` of them."""
        chance = (rate * self._weight[ids]).clamp(max=0.6)
        chosen = torch.rand(ids.shape, generator=random) < chance
        # A word's later pieces follow its first one.
        position = torch.arange(ids.shape[1]).expand_as(ids)
        first = torch.where(self._inside[ids], 0, position).cummax(dim=1).values
        return chosen.gather(1, first) & (self._weight[ids] > 0)


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether the processor has bfloat16 products; emulated ones are slower than float32."""
    if device.type != "cpu":
        return True
    able = torch.cpu.get_capabilities()
    return bool(able.get("amx_bf16") or able.get("avx512_bf16"))


def masked_loss(
    model: BertForMaskedLM, ids: torch.Tensor, chosen: torch.Tensor, mask_id: int
) -> torch.Tensor:
    """Mean cross-entropy at the chosen tokens; the head sees no others."""
    device = model.device
    inputs = torch.where(chosen, mask_id, ids).to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=multiplies_bfloat16(device)):
        hidden = model.bert(input_ids=inputs).last_hidden_state
        logits = model.cls(hidden[chosen.to(device)])
    return cross_entropy(logits.float(), ids[chosen].to(device))


def held_out_loss(model: BertForMaskedLM, held_out: Sequences, masker: Masker) -> float:
    """Mean loss over the held-out lines, 20 % masked, always the same tokens (nats)."""
    random = torch.Generator().manual_seed(0)
    total, n = 0.0, 0
    model.eval()
    with torch.inference_mode():
        lengths = np.diff(held_out.starts)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            ids = torch.tensor(
                np.stack(
                    [held_out.ids[held_out.starts[i] : held_out.starts[i + 1]] for i in rows]
                ).astype(np.int64)
            )
            chosen = masker(ids, 0.2, random)
            if chosen.any():
                k = int(chosen.sum())
                total += float(masked_loss(model, ids, chosen, masker.mask_id)) * k
                n += k
    model.train()
    return total / n


def train(work: Path, settings: Settings) -> None:
    """Train to `settings.tokens`; leaves `work/checkpoint.pt`, `work/log.jsonl`, `work/model/`."""
    tokenizer = BertTokenizer.from_pretrained(work / "tokenizer")
    texts = {name: load(work / f"{name}.npz") for name in TEXTS}
    held_out = load(work / "held_out.npz")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = new_model(settings, tokenizer, KeyedVectors.load(str(work / "word2vec.kv"))).to(device)
    embedding = model.get_input_embeddings().weight
    others = [p for p in model.parameters() if p is not embedding]
    optimizer = torch.optim.AdamW(
        [
            {"params": [embedding], "scale": settings.embedding_rate, "weight_decay": 0.0},
            {"params": [p for p in others if p.ndim > 1], "scale": 1.0},
            {"params": [p for p in others if p.ndim == 1], "scale": 1.0, "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=settings.weight_decay,
        fused=True,
    )
    masker = Masker(tokenizer, texts)
    random = torch.Generator().manual_seed(settings.seed)
    state = {"epoch": 0, "batch": 0, "tokens": 0, "step": 0}
    checkpoint = work / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        # The length alone may change: a machine may turn out slower than thought.
        if saved["settings"] | {"tokens": settings.tokens} != asdict(settings):
            raise SystemExit(
                f"{checkpoint} was made with other settings: move it away to start again"
            )
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        random.set_state(saved["random"])
        state = saved["state"]

    def save() -> None:
        partial = checkpoint.with_suffix(".partial")
        torch.save(
            {
                "settings": asdict(settings),
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "random": random.get_state(),
                "state": state,
            },
            partial,
        )
        partial.replace(checkpoint)

    model.train()
    started, tokens_before, running = time.monotonic(), state["tokens"], []
    last_save = time.monotonic()
    while state["tokens"] < settings.tokens:
        for number, batch in enumerate(
            epoch(texts, state["epoch"], settings.seed, settings.batch_tokens)
        ):
            if number < state["batch"]:
                continue
            done = state["tokens"] / settings.tokens
            if done >= 1:
                break
            scale = min(1.0, done / settings.warm_up) * (1 - done) / (1 - settings.warm_up)
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * group["scale"] * min(1.0, max(scale, 1e-3))
            rate = settings.mask_first + (settings.mask_last - settings.mask_first) * done
            ids = torch.tensor(batch.astype(np.int64))
            chosen = masker(ids, rate, random)
            if chosen.any():
                loss = masked_loss(model, ids, chosen, masker.mask_id)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                before = embedding.detach().clone()
                optimizer.step()
                # Adam moves every row by as much as its gradients agree, however small they
                # are: the words that a batch only normalises over would drift away from
                # their word2vec start long before they are read. So they stay where they are.
                absent = torch.ones(len(embedding), dtype=torch.bool, device=device)
                absent[ids.unique().to(device)] = False
                with torch.no_grad():
                    embedding[absent] = before[absent]
                optimizer.zero_grad()
                running.append(loss.detach())
            state["tokens"] += ids.numel()
            state["batch"] = number + 1
            state["step"] += 1
            if state["step"] % 100 == 0:
                row = {
                    **state,
                    "loss": float(torch.stack(running).mean()),
                    "held_out": held_out_loss(model, held_out, masker)
                    if state["step"] % 4000 == 0
                    else None,
                    "tokens_per_second": (state["tokens"] - tokens_before)
                    / (time.monotonic() - started),
                }
                running = []
                with (work / "log.jsonl").open("a") as log:
                    log.write(json.dumps(row) + "\n")
                print(json.dumps(row), flush=True)
            if time.monotonic() - last_save > SAVE_SECONDS:
                save()
                last_save = time.monotonic()
        else:
            state["epoch"] += 1
            state["batch"] = 0
    save()
    model.half().save_pretrained(work / "model")
    tokenizer.save_pretrained(work / "model")
    (work / "model" / "training.json").write_text(json.dumps(asdict(settings), indent=1) + "\n")
