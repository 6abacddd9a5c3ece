"""How often is something claimed of models that know nothing?

    python -m benchmarks.false_claims 100

builds that many models of each kind of `tests/toy_models.py`, and as many small BERTs with random
weights, asks each about the 576 nouns, and prints of how many the question is found to add
something: by the interval over nouns and the test alone, and by the rules of reports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers import BertConfig, BertForMaskedLM

from hyperprobe.models.base import ClozeModel
from hyperprobe.models.load import load_model
from hyperprobe.probes.zero_shot import claims
from hyperprobe.probes.zero_shot.contrasts import question_adds
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.statistics.stratified import ALPHA
from tests.tiny_models import save_bert
from tests.toy_models import ASKED, EXTENDED, constant, frequency, uneven

FIRST = 1000  # seed; the tests have smaller ones
KINDS: dict[str, Callable[[int], ClozeModel]] = {
    "a bias for each category and prompt": constant,
    "frequency moves every answer": frequency,
    "frequency moves the answer to the question alone": lambda seed: frequency(seed, ("question",)),
    "wide noise for one category": uneven,
}


def random_weights(n: int) -> Iterator[ClozeModel]:
    with TemporaryDirectory() as folder:
        save_bert(Path(folder))
        for seed in range(n):
            torch.manual_seed(seed)
            BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
            yield load_model(folder)


def claimed(model: ClozeModel) -> tuple[bool, bool]:
    """Whether the question adds something, over nouns alone and by the rules of reports."""
    answers = predict(model, ASKED, "gold", shuffled=True).assign(diagnostic=EXTENDED)
    adds = question_adds(answers)
    over_nouns = ((adds["adds_low"] > 0) & (adds["p_holm"] < ALPHA)).any()
    return bool(over_nouns), any(claims.adds(row) for _, row in adds.iterrows())


def main(n: int) -> None:
    models = {kind: map(make, range(FIRST, FIRST + n)) for kind, make in KINDS.items()}
    for kind, made in {**models, "random weights": random_weights(n)}.items():
        found = [claimed(model) for model in made]
        shares = [100 * sum(column) / n for column in zip(*found, strict=True)]
        print(f"{kind}: over nouns {shares[0]:.0f} %, by the rules {shares[1]:.0f} %", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
