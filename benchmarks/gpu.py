"""Probes of random-weight models of real shapes on a GPU, and whether their numbers are the CPU's.

    python -m benchmarks.gpu --shape bert-base
    python -m benchmarks.gpu --shape pythia-1b
    python -m benchmarks.gpu --shape llama-7b --check 16

Weights are drawn once, on the CPU in single precision, where `--check` facts are scored; the same
weights are then asked on `--device` in each of `--dtypes`: `zero-shot` and `consistency` in
seconds, the ranking of `lama` in facts per second beside the reference protocol, restated. Each
line is printed when it is measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertForMaskedLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from benchmarks.facts import Fact, hypernymy_facts, random_bert_base
from benchmarks.scoring import REFERENCE_BATCH, REFERENCE_TOP, reference_ranks
from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.causal import CausalModel
from hyperprobe.models.devices import TORCH_DTYPES
from hyperprobe.models.language import LanguageModel
from hyperprobe.models.masked import MaskedModel
from hyperprobe.options import CONSISTENCY_PLL, Pll
from hyperprobe.probes.consistency.predictions import predict as ask_consistently
from hyperprobe.probes.zero_shot.predictions import predict as ask_zero_shot

BERT, PYTHIA, LLAMA = "bert-base", "pythia-1b", "llama-7b"
WARM = 32  # facts that are ranked before the clock starts


def word_tokenizer(facts: Sequence[Fact], candidates: CandidateSet) -> PreTrainedTokenizerFast:
    """Whole words, so that each candidate is one token, as the reference protocol needs."""
    split = pre_tokenizers.BertPreTokenizer()
    texts = " ".join(cloze.fill(word) for cloze, word in facts)
    words = dict.fromkeys(word for word, _ in split.pre_tokenize_str(texts))
    vocabulary = ["[UNK]", "<s>", *dict.fromkeys([*candidates.words, *words])]
    inner = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    inner.pre_tokenizer = split
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="[UNK]", bos_token="<s>", pad_token="<s>"
    )


def drawn(shape: str, facts: Sequence[Fact], candidates: CandidateSet, divide: int) -> Any:
    """A network of that shape with random weights on the CPU, and its tokenizer."""
    if shape == BERT:
        return random_bert_base(candidates, n_layers=max(1, 12 // divide))
    tokenizer = word_tokenizer(facts, candidates)
    torch.manual_seed(0)
    if shape == PYTHIA:
        sizes = {"hidden_size": 2048, "intermediate_size": 8192, "vocab_size": 50_304}
        layers, heads, made = 16, 8, (GPTNeoXConfig, GPTNeoXForCausalLM)
    else:
        sizes = {"hidden_size": 4096, "intermediate_size": 11_008, "vocab_size": 32_000}
        layers, heads, made = 32, 32, (LlamaConfig, LlamaForCausalLM)
    smaller = {name: max(64, size // divide) for name, size in sizes.items()}
    smaller["vocab_size"] = max(smaller["vocab_size"], len(tokenizer))
    config, network = made
    shape_of = {"num_hidden_layers": max(1, layers // divide), "num_attention_heads": heads}
    return network(config(**smaller, **shape_of)).eval(), tokenizer


def asked(network: Any, tokenizer: Any, pll: Pll = "within-word") -> LanguageModel:
    """The network as hyperprobe asks it."""
    if isinstance(network, BertForMaskedLM):
        return MaskedModel("random", network, tokenizer, {}, pll)
    return CausalModel("random", network, tokenizer, {})


def scores_of(network: Any, tokenizer: Any, clozes: Sequence[Cloze], words: CandidateSet) -> Any:
    """Log-probabilities [n_clozes, n_words] at the slot; of causal models without what follows,
    which would be a text of its own for each of thousands of words."""
    model = asked(network, tokenizer)
    if isinstance(model, CausalModel):
        model.scoring = "continuation"
    return model.score(clozes, words)


def reference(model: LanguageModel, facts: Sequence[Fact], candidates: CandidateSet) -> list[int]:
    """The reference protocol: a soft-max over the whole vocabulary at every position."""
    if isinstance(model, MaskedModel):
        return reference_ranks(model.model, model.tokenizer, facts, candidates)
    index = torch.tensor(model.tokenizer.convert_tokens_to_ids(list(candidates.words)))
    ranks = []
    for start in range(0, len(facts), REFERENCE_BATCH):
        batch = facts[start : start + REFERENCE_BATCH]
        lefts = [cloze.left.rstrip() for cloze, _ in batch]
        encoded = model.tokenizer(lefts, return_tensors="pt", padding=True, padding_side="right")
        encoded.pop("token_type_ids", None)
        with torch.no_grad():
            logits = model.model(**encoded.to(model.device)).logits
            log_probs = torch.log_softmax(logits.float(), dim=-1).cpu()
        ends = encoded["attention_mask"].sum(1).cpu() - 1
        for row, end, (_, gold) in zip(log_probs, ends, batch, strict=True):
            scores = row[end].index_select(0, index)
            ranks.append(int((scores > scores[candidates.index[gold]]).sum()) + 1)
    return ranks


def seconds_of(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    answer = run()  # answers lie in the CPU's memory, so that all kernels have ended
    return time.perf_counter() - started, answer


def ranks_of(model: LanguageModel, facts: Sequence[Fact], candidates: CandidateSet) -> list[int]:
    gold = [candidates.index[word] for _, word in facts]
    ranking = model.rank([cloze for cloze, _ in facts], candidates, gold, 10)
    return [int(rank) for rank in ranking.gold_rank]


def measure(model: LanguageModel, facts: Sequence[Fact], candidates: CandidateSet, name: str,
            diagnostic: str) -> None:  # fmt: skip
    """Speed of the three probes on the model's device."""
    of_set = load_set(diagnostic)
    ranks_of(model, facts[:WARM], candidates)
    reference(model, facts[:WARM], candidates)
    seconds, ranks = seconds_of(lambda: ranks_of(model, facts, candidates))
    slower, expected = seconds_of(lambda: reference(model, facts, candidates))
    say(
        f"{name}: lama {len(facts) / seconds:,.1f} facts/s, reference protocol "
        f"{len(facts) / slower:,.1f}, {slower / seconds:.1f} times as slow"
    )
    if model.model.dtype == torch.float32:  # in half precision the reference has many ties
        same = sum(
            a == b or (b == 0 and a > REFERENCE_TOP) for a, b in zip(ranks, expected, strict=True)
        )
        say(f"{name}: {same} of {len(facts)} ranks equal the reference's")
    seconds, answers = seconds_of(lambda: ask_zero_shot(model, of_set, "gold"))
    say(f"{name}: zero-shot {seconds:.1f} s for {len(answers):,} answers")
    consistently = asked(model.model, model.tokenizer, CONSISTENCY_PLL)
    seconds, answers = seconds_of(lambda: ask_consistently(consistently, of_set))
    say(f"{name}: consistency {seconds:.1f} s")
    if torch.cuda.is_available():
        say(f"{name}: {torch.cuda.max_memory_allocated() / 1e9:.1f} GB of the GPU at most")


def say(line: str) -> None:
    print(line, flush=True)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=(BERT, PYTHIA, LLAMA), default=BERT)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtypes", nargs="+", choices=list(TORCH_DTYPES), default=["fp32", "bf16"])
    parser.add_argument("--facts", type=int, default=5000)
    parser.add_argument("--check", type=int, default=128, help="facts that the CPU scores too")
    parser.add_argument("--diagnostic", default="lm-diagnostic-extended")
    parser.add_argument("--divide", type=int, default=1, help="the shape by this, for a trial")
    given = parser.parse_args(words)
    facts, candidates = hypernymy_facts(given.facts, 1)
    seconds, (network, tokenizer) = seconds_of(
        lambda: drawn(given.shape, facts, candidates, given.divide)
    )
    n = sum(parameter.numel() for parameter in network.parameters())
    say(f"{given.shape}: {n:,} parameters, drawn in {seconds:.0f} s; {len(candidates)} candidates")
    checked = [cloze for cloze, _ in facts[: given.check]]
    seconds, expected = seconds_of(lambda: scores_of(network, tokenizer, checked, candidates))
    say(f"{given.shape} on cpu, fp32: {len(checked)} facts scored in {seconds:.1f} s")
    for dtype in given.dtypes:
        name = f"{given.shape} on {given.device}, {dtype}"
        network = network.to(given.device, TORCH_DTYPES[dtype])
        scores = scores_of(network, tokenizer, checked, candidates)
        best = int((scores.argmax(1) == expected.argmax(1)).sum())
        say(
            f"{name}: at most {np.abs(scores - expected).max():.2g} nats from the CPU's fp32, the "
            f"same best candidate for {best} of {len(checked)}"
        )
        measure(asked(network, tokenizer), facts, candidates, name, given.diagnostic)


if __name__ == "__main__":
    main()
