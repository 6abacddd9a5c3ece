"""How fast facts are ranked: hyperprobe beside what a user would pick instead.

    python -m benchmarks.scoring [--lama FOLDER] [--facts 1000]

One process, one random-weight model of BERT-base's size, the same facts for
all. Prints facts per second, the ratio to the plain reference protocol, the
share of the bare encoder's speed, and the peak of memory above the model's own.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from transformers import BertForMaskedLM, BertTokenizer, pipeline

from benchmarks.facts import Fact, hypernymy_facts, lama_facts, random_bert_base
from hyperprobe.cloze import CandidateSet
from hyperprobe.models.language import CPU_ROWS, CPU_TOKENS
from hyperprobe.models.masked import MaskedModel
from hyperprobe.render.terminal import print_table

REFERENCE_BATCH = 32
REFERENCE_TOP = 10_000
PIPELINE_FACTS = 30  # it tokenises every candidate again for every fact


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


def bare_encoder(model: MaskedModel, facts: Sequence[Fact]) -> list:
    """The limit: the encoder alone over the same tokens, in the same batches, no head."""
    rows = sorted(
        (row.ids for row in model._encode([c for c, _ in facts], 1)), key=len, reverse=True
    )
    start = 0
    with torch.inference_mode():
        while start < len(rows):
            batch = rows[start : start + max(1, min(CPU_ROWS, CPU_TOKENS // len(rows[start])))]
            start += len(batch)
            ids = torch.zeros((len(batch), len(batch[0])), dtype=torch.long)
            attention = torch.zeros_like(ids)
            for i, row in enumerate(batch):
                ids[i, : len(row)] = torch.tensor(row)
                attention[i, : len(row)] = 1
            model.model.base_model(input_ids=ids, attention_mask=attention)
    return []


class PeakMemory:
    """The most resident memory above that at the start, in MB, looked at every 5 ms."""

    def __enter__(self) -> PeakMemory:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what earlier rivals freed shall not hide our growth
        self._before, self._peak, self._stop = self._resident(), 0.0, False
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()

    @staticmethod
    def _resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    def _watch(self) -> None:
        while not self._stop:
            self._peak = max(self._peak, self._resident() - self._before)
            time.sleep(0.005)

    @property
    def megabytes(self) -> float:
        return self._peak


def measure(run: Callable[[], list]) -> tuple[float, float, list]:
    """Seconds, megabytes and the answer of one run."""
    with PeakMemory() as memory:
        started = time.perf_counter()
        ranks = run()
        seconds = time.perf_counter() - started
    return seconds, memory.megabytes, ranks


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lama", type=Path, help="a folder with data/ and vocab/ as LAMA has them")
    parser.add_argument("--facts", type=int, default=1000, help="facts that all are timed on")
    parser.add_argument("--memory-facts", type=int, default=5000, help="facts for our own memory")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=12, help="of BERT-base's 12")
    arguments = parser.parse_args(words)
    torch.set_num_threads(arguments.threads)
    if arguments.lama:
        many, candidates = lama_facts(arguments.lama, arguments.memory_facts, arguments.seed)
    else:
        many, candidates = hypernymy_facts(arguments.memory_facts, arguments.seed)
    facts = many[: arguments.facts]
    weights, tokenizer = random_bert_base(candidates, arguments.layers)
    ours = MaskedModel("random-bert-base", weights, tokenizer, {})
    warm = facts[:32]
    bare_encoder(ours, warm)
    hyperprobe_ranks(ours, warm, candidates)

    timings: list[tuple[str, float, float]] = []
    answers: dict[str, list] = {}
    rivals: list[tuple[str, Callable[[], list]]] = [
        ("bare encoder (the limit)", lambda: bare_encoder(ours, facts)),
        ("hyperprobe", lambda: hyperprobe_ranks(ours, facts, candidates)),
        (
            "reference protocol, restated",
            lambda: reference_ranks(weights, tokenizer, facts, candidates),
        ),
        (
            "transformers fill-mask pipeline",
            lambda: pipeline_ranks(weights, tokenizer, facts[:PIPELINE_FACTS], candidates),
        ),
        ("minicons", lambda: minicons_ranks(weights, tokenizer, facts, candidates)),
    ]
    for name, run in rivals:
        try:
            seconds, megabytes, answers[name] = measure(run)
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        timings.append((name, (len(answers[name]) or len(facts)) / seconds, megabytes))
    _, megabytes, _ = measure(lambda: hyperprobe_ranks(ours, many, candidates))
    timings.append((f"hyperprobe, {len(many)} facts", float("nan"), megabytes))
    half = MaskedModel("random-bert-base", weights.bfloat16(), tokenizer, {})
    hyperprobe_ranks(half, warm, candidates)
    seconds, megabytes, _ = measure(lambda: hyperprobe_ranks(half, facts, candidates))
    timings.append(("hyperprobe, bf16", len(facts) / seconds, megabytes))

    speed = {name: rate for name, rate, _ in timings}
    reference, limit = (
        speed["reference protocol, restated"],
        speed["bare encoder (the limit)"],
    )
    print_table(
        f"Ranking {len(facts)} facts over {len(candidates)} candidates, "
        f"{arguments.threads} threads, fp32 unless said",
        ["", "facts/s", "x reference", "x bare encoder", "peak MB above the model"],
        [
            [
                name,
                "" if rate != rate else f"{rate:.1f}",
                "" if rate != rate else f"{rate / reference:.2f}",
                "" if rate != rate else f"{rate / limit:.2f}",
                f"{megabytes:.0f}",
            ]
            for name, rate, megabytes in timings
        ],
    )
    # The reference and pipeline keep ties in another order; with random weights there are none.
    expected = answers["hyperprobe"]
    for name in answers:
        if answers[name] and name != "hyperprobe":
            same = sum(
                a == b or (b == 0 and a > REFERENCE_TOP)
                for a, b in zip(expected, answers[name], strict=False)
            )
            print(f"{name}: {same} of {len(answers[name])} ranks equal hyperprobe's")


if __name__ == "__main__":
    main()
