"""How fast facts are ranked: hyperprobe beside what a user would pick instead.

    python -m benchmarks.scoring [--lama FOLDER] [--facts 1000]

One random-weight model of BERT-base's size and the same facts for all, each rival in a process of
its own (how memory is allocated is a part of the speed), round after round. Prints the machine,
processor and clock time a fact, ratios of both with their least and greatest over the rounds, and
the peak of memory above the model's own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformers import BertForMaskedLM, BertTokenizer, pipeline

from benchmarks.facts import Fact, hypernymy_facts, lama_facts, random_bert_base
from hyperprobe.cloze import CandidateSet
from hyperprobe.models.masked import MaskedModel
from hyperprobe.render.terminal import print_table

REFERENCE_BATCH = 32
ENCODER_BATCH = 64
REFERENCE_TOP = 10_000
SLOW_FACTS = 12  # for those that tokenise every candidate again for every fact
# What of a processor decides how fast matrices are multiplied, as Linux calls it.
FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16")


def hyperprobe_ranks(model: MaskedModel, facts: Sequence[Fact], candidates: CandidateSet) -> list:
    gold = [candidates.index[word] for _, word in facts]
    return model.rank([cloze for cloze, _ in facts], candidates, gold, 10).gold_rank.tolist()


def reference_ranks(
    model: BertForMaskedLM,
    tokenizer: BertTokenizer,
    facts: Sequence[Fact],
    candidates: CandidateSet,
) -> list:
    """The reference protocol, restated: batches as they come, log-softmax over the whole
    vocabulary at every position, then the common vocabulary, then a table of 10,000 a fact."""
    index = torch.tensor(tokenizer.convert_tokens_to_ids(list(candidates.words)))
    ranks = []
    for start in range(0, len(facts), REFERENCE_BATCH):
        batch = facts[start : start + REFERENCE_BATCH]
        texts = [cloze.fill(tokenizer.mask_token) for cloze, _ in batch]
        encoded = tokenizer(texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            logits = model(**encoded.to(model.device)).logits
            log_probs = torch.log_softmax(logits, dim=-1).cpu()
        for row, ids, (_, gold) in zip(log_probs, encoded["input_ids"], batch, strict=True):
            slot = (ids == tokenizer.mask_token_id).nonzero()[0, 0]
            filtered = row.index_select(dim=1, index=index)
            values, best = filtered[slot].topk(min(REFERENCE_TOP, len(candidates)))
            table = [
                {"i": i, "log_prob": value, "word": candidates.words[column]}
                for i, (value, column) in enumerate(
                    zip(values.tolist(), best.tolist(), strict=True), start=1
                )
            ]
            ranks.append(next((r["i"] for r in table if r["word"] == gold), 0))
    return ranks


def pipeline_ranks(
    model: BertForMaskedLM,
    tokenizer: BertTokenizer,
    facts: Sequence[Fact],
    candidates: CandidateSet,
) -> list:
    fill = pipeline("fill-mask", model=model, tokenizer=tokenizer, device=-1)
    words = list(candidates.words)
    ranks = []
    for cloze, gold in facts:
        best = fill(cloze.fill(tokenizer.mask_token), targets=words, top_k=len(words))
        ranks.append(next((i for i, r in enumerate(best, 1) if r["token_str"] == gold), 0))
    return ranks


def minicons_ranks(
    model: BertForMaskedLM,
    tokenizer: BertTokenizer,
    facts: Sequence[Fact],
    candidates: CandidateSet,
) -> list:
    from minicons import scorer

    asked = scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    index = torch.tensor(tokenizer.convert_tokens_to_ids(list(candidates.words)))
    ranks = []
    for start in range(0, len(facts), REFERENCE_BATCH):
        batch = facts[start : start + REFERENCE_BATCH]
        scores = asked.cloze_distribution([(cloze.fill("qslotq"), "qslotq") for cloze, _ in batch])
        for row, (_, gold) in zip(scores[:, index], batch, strict=True):
            ranks.append(int((row > row[candidates.index[gold]]).sum()) + 1)
    return ranks


def lm_pub_quiz_ranks(
    model: BertForMaskedLM,
    tokenizer: BertTokenizer,
    facts: Sequence[Fact],
    candidates: CandidateSet,
) -> list:
    """Of its two ways the one without a pass for every candidate. It counts [CLS] and [SEP] among
    a candidate's pieces and masks as many, so that its ranks are others."""
    from lm_pub_quiz.evaluators.tyq_evaluator import TyQEvaluator

    asked = TyQEvaluator.from_model(model, model_type="MLM", tokenizer=tokenizer, device="cpu")
    ranks = []
    for cloze, gold in facts:
        scores = asked.score_answers(
            template=cloze.fill("[Y]"), answers=candidates.words, subject=None
        )
        best = scores[candidates.index[gold]]
        ranks.append(sum(score > best for score in scores) + 1)
    return ranks


def bare_encoder(model: BertForMaskedLM, tokenizer: BertTokenizer, facts: Sequence[Fact]) -> list:
    """The encoder alone, no head, over texts sorted by length."""
    texts = [cloze.fill(tokenizer.mask_token) for cloze, _ in facts]
    rows = sorted(tokenizer(texts)["input_ids"], key=len, reverse=True)
    with torch.inference_mode():
        for start in range(0, len(rows), ENCODER_BATCH):
            batch = rows[start : start + ENCODER_BATCH]
            ids = torch.zeros((len(batch), len(batch[0])), dtype=torch.long)
            attention = torch.zeros_like(ids)
            for i, row in enumerate(batch):
                ids[i, : len(row)] = torch.tensor(row)
                attention[i, : len(row)] = 1
            model.base_model(input_ids=ids, attention_mask=attention)
    return []


REFERENCE, ENCODER = "LAMA's protocol, restated", "bare encoder"
OURS, BF16 = "hyperprobe", "hyperprobe, bf16"


def rivals() -> dict[str, Callable[[Any, Any, Sequence[Fact], CandidateSet], list]]:
    """Name -> ranks of the gold words of facts, from the weights and their tokenizer."""

    asked: list[MaskedModel] = []  # made once, and with it the candidates' tokens

    def ours(model: Any, tokenizer: Any, facts: Sequence[Fact], candidates: CandidateSet) -> list:
        if not asked:
            asked.append(MaskedModel("random-bert-base", model, tokenizer, {}))
        return hyperprobe_ranks(asked[0], facts, candidates)

    return {
        ENCODER: lambda model, tokenizer, facts, _: bare_encoder(model, tokenizer, facts),
        OURS: ours,
        BF16: ours,
        REFERENCE: reference_ranks,
        "minicons": minicons_ranks,
        "lm-pub-quiz": lm_pub_quiz_ranks,
        "fill-mask pipeline": pipeline_ranks,
    }


SLOW = (lm_pub_quiz_ranks, pipeline_ranks)


def measured(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """One run of a rival: its ranks, seconds a fact, and MB above the model's own."""
    torch.set_num_threads(given.threads)
    if given.lama:
        facts, candidates = lama_facts(given.lama, given.facts, given.seed)
    else:
        facts, candidates = hypernymy_facts(given.facts, given.seed)
    weights, tokenizer = random_bert_base(candidates, given.layers)
    run = rivals()[name]
    if run in SLOW:
        facts = facts[:SLOW_FACTS]
    if name == BF16:
        weights = weights.bfloat16()
    run(weights, tokenizer, facts[: 1 if run in SLOW else 32], candidates)
    before = _peak()
    clock, processor = time.perf_counter(), time.process_time()
    ranks = run(weights, tokenizer, facts, candidates)
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    return {
        "ranks": ranks,
        "cpu": processor / len(facts),
        "wall": clock / len(facts),
        "memory": _peak() - before,
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def run_alone(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """`measured` in a process of its own. Raises `ImportError` where the rival is not installed."""
    words = [f"--{key}={value}" for key, value in vars(given).items() if value is not None]
    command = [sys.executable, "-m", "benchmarks.scoring", *words, f"--only={name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1]
        raise (ImportError if reason.startswith("ModuleNotFound") else RuntimeError)(reason)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def machine() -> str:
    """The processor in words: how many cores, and what it has of `FLAGS`."""
    file = Path("/proc/cpuinfo")
    known = file.read_text(encoding="utf-8").split() if file.is_file() else []
    flags = [flag for flag in FLAGS if flag in known]
    return f"{os.cpu_count()} cores ({' '.join([platform.machine(), *flags])})"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lama", type=Path, help="a folder with data/ and vocab/ as LAMA has them")
    parser.add_argument("--facts", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=12, help="of BERT-base's 12")
    parser.add_argument("--only", help="run this rival once, and print what was measured as JSON")
    given = parser.parse_args(words)
    if given.only:
        print(json.dumps(measured(given.only, given)))
        return
    found: dict[str, list[dict[str, Any]]] = {}
    for number in range(1, given.rounds + 1):
        for name in rivals():
            try:
                run = run_alone(name, given)
            except ImportError as error:
                print(f"{name}: left out, {error}")
                continue
            found.setdefault(name, []).append(run)
            spent = f"{1000 * run['cpu']:.1f} ms of a processor, {1000 * run['wall']:.1f} ms"
            print(f"round {number} of {given.rounds}: {name}: {spent}", file=sys.stderr)
    print_table(
        f"{given.facts} facts, {given.layers} layers, {given.rounds} rounds, {given.threads} "
        f"threads of {machine()}",
        ["", "CPU ms", "x LAMA's", "x bare encoder", "clock ms", "x LAMA's (clock)", "MB"],
        [
            [
                name,
                f"{1000 * median(run['cpu'] for run in rounds):.1f}",
                _ratio(found[REFERENCE], rounds, "cpu"),
                _ratio(found[ENCODER], rounds, "cpu"),
                f"{1000 * median(run['wall'] for run in rounds):.1f}",
                _ratio(found[REFERENCE], rounds, "wall"),
                f"{max(run['memory'] for run in rounds):.0f}",
            ]
            for name, rounds in found.items()
        ],
    )
    print(f"bf16 beside fp32, CPU: x {_ratio(found[OURS], found[BF16], 'cpu')}")
    # The reference and pipeline keep ties in another order; with random weights there are none.
    expected = found[OURS][0]["ranks"]
    for name, rounds in found.items():
        ranks = rounds[0]["ranks"]
        if ranks and name not in (OURS, BF16):
            same = sum(
                a == b or (b == 0 and a > REFERENCE_TOP)
                for a, b in zip(expected, ranks, strict=False)
            )
            print(f"{name}: {same} of {len(ranks)} ranks equal hyperprobe's")


def _ratio(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]], key: str) -> str:
    """How many times as long the first takes, round by round: the median, least and greatest."""
    ratios = [a[key] / b[key] for a, b in zip(first, second, strict=True)]
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


if __name__ == "__main__":
    main()
