"""Do minicons and lm-pub-quiz score as we do, on the same random-weight models?

    python -m benchmarks.parity

For each family and metric that a peer has too: the largest difference between its
score of a candidate and ours, over hypernymy prompts with the slot in the middle and
at the end, and candidates of one and of several pieces. The peers score tokens; ours
are the sums over the same tokens. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import END, save_bert, save_gpt2, save_t5
from hyperprobe.cloze import CandidateSet, Cloze, parse_cloze
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.models.load import load_model
from hyperprobe.render.terminal import print_table

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
LIMIT = 1e-4
Score = Callable[[Cloze, str], float]


def clozes(n: int) -> list[Cloze]:
    """Prompts with the slot before the full stop, and with text after it."""
    frame = load_diagnostic("lm-diagnostic")
    texts = list(frame["singular"][:n])
    texts += [text.replace("[MASK].", "[MASK] in the old garden.") for text in texts]
    return [parse_cloze(text, text) for text in texts]


def for_minicons(tokenizer: Any) -> Any:
    """minicons 0.3.39 calls a method that transformers 5 has no longer."""
    tokenizer.batch_encode_plus = lambda texts, **how: tokenizer(texts, **how)
    return tokenizer


def total(values: Any) -> float:
    return float(values.double().sum())


def minicons_masked(ours: Any, pll: str) -> Score:
    from minicons import scorer

    peer = scorer.MaskedLMScorer(ours.model, "cpu", tokenizer=for_minicons(ours.tokenizer))
    metric = {"within-word": "within_word_l2r", "original": "original"}[pll]

    def score(cloze: Cloze, word: str) -> float:
        (value,) = peer.conditional_score(
            [cloze.left.rstrip()], [word], [cloze.right.strip()],
            reduction=total, PLL_metric=metric,
        )  # fmt: skip
        return float(value)

    return score


def minicons_causal(ours: Any, scoring: str) -> Score:
    from minicons import scorer

    peer = scorer.IncrementalLMScorer(ours.model, "cpu", tokenizer=for_minicons(ours.tokenizer))

    def score(cloze: Cloze, word: str) -> float:
        # (its offset takes the prefix's length less one: the score of token i is at i - 1)
        text = word + cloze.right if scoring == "full" else word
        (value,) = peer.conditional_score([cloze.left.rstrip()], [text], reduction=total)
        return float(value)

    return score


def minicons_seq2seq(ours: Any, scoring: str) -> Score:
    from minicons import scorer

    peer = scorer.Seq2SeqScorer(ours.model, "cpu", tokenizer=for_minicons(ours.tokenizer))
    tokenizer = ours.tokenizer

    def score(cloze: Cloze, word: str) -> float:
        # It leaves </s> off the source and writes the decoder's start as text: give it ids.
        source = tokenizer([cloze.fill("<extra_id_0>")], return_tensors="pt")
        pieces = ours.pieces(word)
        written = [0, *tokenizer.convert_tokens_to_ids(["<extra_id_0>"]), *pieces]
        if scoring == "full":
            written += tokenizer.convert_tokens_to_ids(["<extra_id_1>"])
        target = tokenizer.pad({"input_ids": [written]}, return_tensors="pt")
        (values,) = peer.compute_conditional_stats((source, target, [0]))
        return float(np.sum(values[1:]))  # without the opening sentinel

    return score


def quiz(ours: Any, kind: str, **how: str) -> Score:
    from lm_pub_quiz import Evaluator

    peer = Evaluator.from_model(
        ours.model, model_type=kind, tokenizer=ours.tokenizer, device="cpu", **how
    )

    def score(cloze: Cloze, word: str) -> float:
        template = f"{cloze.left}[Y]{cloze.right}"
        ((scored, roles),) = peer.score_answers(template=template, answers=[word], reduction=None)
        chosen = list(roles["answer"])
        if kind == "CLM":
            # Its answer begins after the space, ours with it: a piece of its own, sometimes.
            first = len(ours.tokenizer(cloze.left.rstrip())["input_ids"])
            chosen = list(range(first, len(scored) if ours.scoring == "full" else chosen[-1] + 1))
        return float(sum(scored[i][1] for i in chosen))

    return score


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=9, help="prompts, each in two wordings")
    n_prompts = parser.parse_args(arguments).prompts
    warnings.simplefilter("ignore")
    prompts = clozes(n_prompts)
    words = CandidateSet(("bird", "insect", "vegetable", "birdhouse", "wheelbarrow"))
    texts = [cloze.text for cloze in prompts] * 20 + list(words.words)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bert = str(save_bert(folder / "bert", texts, **SMALL, intermediate_size=64))
        gpt2 = str(save_gpt2(folder / "gpt2", texts, n_embd=64, n_layer=2, n_head=2))
        t5 = str(save_t5(folder / "t5", texts, d_model=64, d_ff=64, num_layers=2, num_heads=2))
        asked: list[tuple[str, str, Any, Callable[[Any], Score]]] = []
        for pll in ("within-word", "original"):
            ours = load_model(bert, device="cpu", pll=pll)  # type: ignore[arg-type]
            metric = {"within-word": "within_word_l2r", "original": "original"}[pll]
            asked += [
                ("minicons", f"masked, {pll}", ours, lambda m, p=pll: minicons_masked(m, p)),
                ("lm-pub-quiz", f"masked, {pll}", ours,
                 lambda m, p=metric: quiz(m, "MLM", pll_metric=p)),
            ]  # fmt: skip
        for scoring in ("full", "continuation"):
            ours = load_model(gpt2, device="cpu", causal_scoring=scoring)  # type: ignore[arg-type]
            asked += [
                (
                    "minicons",
                    f"causal, {scoring}",
                    ours,
                    lambda m, s=scoring: minicons_causal(m, s),
                ),
                ("lm-pub-quiz", f"causal, {scoring}", ours, lambda m: quiz(m, "CLM")),
            ]
            ours = load_model(t5, device="cpu", causal_scoring=scoring)  # type: ignore[arg-type]
            asked.append(
                ("minicons", f"T5, {scoring}", ours, lambda m, s=scoring: minicons_seq2seq(m, s))
            )
        for peer, metric, ours, make in asked:
            try:
                score = make(ours)
            except ImportError as error:
                print(f"{peer}: left out, {error}")
                continue
            theirs = [[score(cloze, word) for word in words.words] for cloze in prompts]
            # lm-pub-quiz puts GPT-2's BOS before every text; we do where a text says so.
            opened = peer == "lm-pub-quiz" and ours.kind == "causal"
            own = [replace(c, left=f"{END}{c.left}") for c in prompts] if opened else prompts
            off = np.abs(ours.score(own, words) - theirs).max()
            rows.append([peer, metric, str(len(prompts) * len(words)), f"{off:.1e}",
                         "yes" if off < LIMIT else "NO"])  # fmt: skip
    print_table(
        "Largest difference from ours (nats)",
        ["peer", "metric", "scores", "difference", f"below {LIMIT:g}"],
        rows,
    )


if __name__ == "__main__":
    main()
