"""How much a shared prefix saves a causal model: nine candidates for each of 576 prompts.

    python -m benchmarks.causal [--layers 6] [--sample 64]

One random-weight model of DistilGPT-2's shape. "alone" runs each (prompt, candidate)
text by itself, "batched" all texts in length-sorted batches of hyperprobe's size,
neither shares anything, and both apply the head at the scored positions only. "lm-eval"
is `loglikelihood` of its Hugging Face model in batches of that size. These three are
timed on a random sample of the prompts and scaled up.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.models import save_gpt2
from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.causal import CausalModel
from hyperprobe.models.language import CPU_ROWS, CPU_TOKENS
from hyperprobe.models.load import load_model
from hyperprobe.probes.zero_shot.clozes import CONTEXTUAL, SINGULAR, make_clozes
from hyperprobe.render.terminal import print_table

Pair = tuple[tuple[int, ...], int]  # the text's tokens, and how many of them are given


def pairs_of(model: CausalModel, clozes: list[Cloze], candidates: CandidateSet) -> list[Pair]:
    """Each text with each candidate in it."""
    tokenizer = model.tokenizer
    pairs = []
    for cloze in clozes:
        n_left = len(tokenizer(cloze.left.rstrip())["input_ids"])
        for word in candidates.words:
            ids = tokenizer(cloze.fill(word) if model.scoring == "full" else cloze.left + word)
            pairs.append((tuple(ids["input_ids"]), n_left))
    return pairs


@torch.inference_mode()
def batched(model: CausalModel, pairs: list[Pair], rows: int) -> list[float]:
    """The sum of log-probabilities of each text's scored tokens, `rows` texts at most at once."""
    scores = [0.0] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i][0]))
    while order:
        n = max(1, min(rows, CPU_TOKENS // len(pairs[order[0]][0])))
        batch, order = order[:n], order[n:]
        ids = torch.zeros(len(batch), len(pairs[batch[0]][0]), dtype=torch.long)
        for row, i in enumerate(batch):
            ids[row, : len(pairs[i][0])] = torch.tensor(pairs[i][0])
        hidden = model.model.transformer(ids).last_hidden_state
        for row, i in enumerate(batch):
            tokens, given = pairs[i]
            log_probs = model.model.lm_head(hidden[row, given - 1 : len(tokens) - 1])
            log_probs = log_probs.log_softmax(-1)
            targets = torch.tensor(tokens[given:])
            scores[i] = log_probs.gather(1, targets[:, None]).sum().item()
    return scores


def lm_eval(
    model: CausalModel, clozes: list[Cloze], candidates: CandidateSet
) -> Callable[[], list[float]]:
    """What gives lm-eval's score of each text. Raises `ImportError` where it is not installed."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    asked = HFLM(
        pretrained=model.model, tokenizer=model.tokenizer, batch_size=CPU_ROWS, device="cpu"
    )
    requests = []
    for cloze in clozes:
        left = cloze.left.rstrip()
        for word in candidates.words:
            text = cloze.fill(word) if model.scoring == "full" else cloze.left + word
            requests.append(Instance("loglikelihood", {}, (left, text[len(left) :]), 0))
    return lambda: [score for score, _ in asked.loglikelihood(requests, disable_tqdm=True)]


def timed(run: Callable[..., Any], *arguments: Any) -> tuple[float, float, Any]:
    """Seconds on the clock, user CPU seconds, and what came back."""
    cpu, clock = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    answer = run(*arguments)
    return (
        time.perf_counter() - clock,
        resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu,
        answer,
    )


def compare(
    model: CausalModel, clozes: list[Cloze], candidates: CandidateSet, n_sample: int
) -> list[str]:
    """A row of the table, and proof that all three ways give the same numbers."""
    chosen = sorted(random.Random(0).sample(range(len(clozes)), n_sample))
    pairs = pairs_of(model, [clozes[i] for i in chosen], candidates)
    few = pairs[:: len(candidates) - 1]  # other candidates from prompt to prompt
    model.score(clozes[:8], candidates)
    shared, shared_cpu, scores = timed(model.score, clozes, candidates)
    alone, alone_cpu, some = timed(batched, model, few, 1)
    _, every_cpu, naive = timed(batched, model, pairs, CPU_ROWS)
    off = np.abs(scores[chosen].ravel() - naive).max()
    assert max(off, np.abs(np.array(naive[:: len(candidates) - 1]) - some).max()) < 1e-3
    try:
        run = lm_eval(model, [clozes[i] for i in chosen], candidates)
    except ImportError:
        peer_cpu = float("nan")
    else:
        _, peer_cpu, theirs = timed(run)
        assert np.abs(np.array(theirs) - naive).max() < 1e-3
    n_texts = len(clozes) * len(candidates)
    to_all, from_few = n_texts / len(pairs), n_texts / len(few)
    return [
        f"{n_texts}",
        f"{shared_cpu:.1f}",
        f"{to_all * every_cpu:.1f}",
        f"{from_few * alone_cpu:.1f}",
        f"{to_all * peer_cpu:.1f}",
        f"{to_all * every_cpu / shared_cpu:.1f}",
        f"{from_few * alone_cpu / shared_cpu:.1f}",
        f"{to_all * peer_cpu / shared_cpu:.1f}",
        f"{from_few * alone / shared:.1f}",
        f"{off:.0e}",
    ]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--sample", type=int, default=64, help="prompts that the rivals score")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--diagnostic", default="lm-diagnostic-extended")
    parser.add_argument("--width", type=int, default=768)
    arguments = parser.parse_args(words)
    torch.set_num_threads(arguments.threads)
    asked_set = load_set(arguments.diagnostic)
    frame = asked_set.frame
    texts = [*frame["singular"], *frame["plural"], *frame["contextual"]]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        save_gpt2(
            Path(folder),
            texts,
            4000,
            vocab_size=50_257,
            n_layer=arguments.layers,
            n_embd=arguments.width,
        )
        for probe in (SINGULAR, CONTEXTUAL):
            candidates = CandidateSet.of(frame[probe.gold])
            clozes = make_clozes(asked_set, frame[frame[probe.prompt] != ""], probe, "gold")
            for scoring in ("full", "continuation"):
                model = load_model(folder, device="cpu", causal_scoring=scoring)  # type: ignore[arg-type]
                assert isinstance(model, CausalModel)
                row = compare(model, clozes, candidates, arguments.sample)
                rows.append([f"{probe.name}, {scoring}", *row])
                print(*rows[-1], sep="\t", file=sys.stderr)  # it takes minutes
    print_table(
        f"Shared prefix, {arguments.threads} thread(s), fp32: user CPU seconds and ratios",
        ["probe, scoring", "texts", "shared", "batched", "alone", "lm-eval", "x batched", "x alone",
         "x lm-eval", "x alone (clock)", "largest difference"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
