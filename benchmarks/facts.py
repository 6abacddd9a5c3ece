"""The facts and the model that the benchmark scores: real facts, random BERT-base-sized weights."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from hyperprobe.cloze import CandidateSet, Cloze, Template
from hyperprobe.diagnostic.build import build_diagnostic
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.models.load import load_model
from hyperprobe.names import EMBEDDED
from hyperprobe.probes.zero_shot.clozes import PLURAL, SINGULAR, make_clozes

Fact = tuple[Cloze, str]
BERT_BASE_VOCABULARY = 30_522


def lama_facts(folder: Path, n: int, seed: int) -> tuple[list[Fact], CandidateSet]:
    """`n` facts from a folder in LAMA's layout, and its common vocabulary."""
    vocabulary = CandidateSet.of(
        (folder / "vocab" / "common_vocab_cased.txt").read_text(encoding="utf-8").split()
    )
    templates = {}
    for line in (folder / "data" / "relations.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        templates[row["relation"]] = Template(row["template"])
    facts: list[Fact] = []
    for path in sorted((folder / "data" / "TREx").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["obj_label"] in vocabulary.index:
                cloze = templates[path.stem].cloze(path.stem, row["sub_label"])
                facts.append((cloze, row["obj_label"]))
    return _take(facts, n, seed), vocabulary


def hypernymy_facts(n: int, seed: int) -> tuple[list[Fact], CandidateSet]:
    """`n` hypernymy prompts, singular and plural, and the embedded model's words: needs no data."""
    frame = build_diagnostic("lm-diagnostic-extended", size=None)
    facts = [
        (cloze, gold)
        for probe in (SINGULAR, PLURAL)
        for cloze, gold in zip(
            make_clozes(DiagnosticSet("all", frame), frame, probe, "gold"),
            frame[probe.gold],
            strict=True,
        )
    ]
    return _take(facts, n, seed), CandidateSet.of(load_model(EMBEDDED).words())


def _take(facts: list[Fact], n: int, seed: int) -> list[Fact]:
    random.Random(seed).shuffle(facts)
    # More than there are: begin again, in another wording, so that no text is a repetition.
    rounds = -(-n // len(facts))
    repeated = [
        (Cloze(c.id, " ".join(["Indeed,"] * r) + " " * bool(r) + c.left, c.right, c.subject), gold)
        for r in range(rounds)
        for c, gold in facts
    ]
    return repeated[:n]


def random_bert_base(
    candidates: CandidateSet, n_layers: int = 12
) -> tuple[BertForMaskedLM, BertTokenizer]:
    """A random-weight model of BERT-base's size whose vocabulary holds every candidate."""
    spelt = {letter for word in candidates.words for letter in word}
    letters = sorted(spelt | set(string.ascii_letters + "'().,-"))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *candidates.words]
    pieces += [p for letter in letters for p in (letter, f"##{letter}") if p not in set(pieces)]
    pieces += [f"[unused{i}]" for i in range(BERT_BASE_VOCABULARY - len(pieces))]
    tokenizer = BertTokenizer(
        vocab={piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, do_lower_case=False
    )
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(vocab_size=len(tokenizer), num_hidden_layers=n_layers)
    ).eval()
    return model, tokenizer
