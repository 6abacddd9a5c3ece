"""What the eight probes of consistency cost, in units of zero-shot.

    python -m benchmarks.consistency --layers 12

asks a random-weight BERT of base's width, with the embedded model's tokenizer, about the 576 nouns:
the questions of `zero-shot`, and those of `consistency`. Processor seconds of one thread, and the
tokens that the encoder reads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.base import ClozeModel
from hyperprobe.models.masked import MaskedModel
from hyperprobe.names import EMBEDDED_FOLDER
from hyperprobe.probes.consistency.paths import Paths
from hyperprobe.probes.consistency.plan import Items
from hyperprobe.probes.consistency.predictions import predict as ask_consistently
from hyperprobe.probes.zero_shot.predictions import predict as ask_zero_shot


def random_bert(n_layers: int, width: int) -> MaskedModel:
    """A BERT of base's proportions with random weights."""
    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED_FOLDER / "masked-lm", local_files_only=True)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=n_layers,
        num_attention_heads=max(1, width // 64),
        intermediate_size=4 * width,
    )
    return MaskedModel("random", BertForMaskedLM(config), tokenizer, {}, pll="all-masked")


def measured(model: MaskedModel, ask: Callable[[ClozeModel], Any]) -> tuple[float, int]:
    """Processor seconds of a probe, and the tokens that the encoder reads in it."""
    n_tokens = 0

    def count(module: Any, args: Any, keywords: dict[str, Any]) -> None:
        nonlocal n_tokens
        n_tokens += keywords["input_ids"].numel()

    handle = model.model.register_forward_pre_hook(count, with_kwargs=True)
    start = time.process_time()
    ask(model)
    handle.remove()
    return time.process_time() - start, n_tokens


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--diagnostic", default="lm-diagnostic-extended")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    of_set = load_set(given.diagnostic)
    Paths(Items(of_set))  # WordNet is read before the clock starts
    model = random_bert(given.layers, given.width)
    plain = measured(model, lambda model: ask_zero_shot(model, of_set, "gold"))
    probes = measured(model, lambda model: ask_consistently(model, of_set))
    for name, (seconds, tokens) in (("zero-shot", plain), ("consistency", probes)):
        print(f"{name}: {seconds:.1f} s, {tokens:,} tokens")
    seconds, tokens = (b / a for a, b in zip(plain, probes, strict=True))
    print(f"ratio: {seconds:.2f} in time, {tokens:.2f} in tokens")


if __name__ == "__main__":
    main()
