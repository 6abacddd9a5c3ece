"""How fast the LAMA paper's older models rank facts, beside LAMA's own protocol for them.

    python -m benchmarks.lama_models [--lama FOLDER] [--facts 64] [--model fconv] [--divide 1]

Random weights in the released shapes (`--divide` makes widths, memory and vocabulary smaller by a
factor). Both sides rank the same facts over the same candidates in one process. The protocol,
restated (`benchmarks.lama_reference`): texts sorted by length in batches of 32, every position,
the whole vocabulary, and a table of the 10,000 best candidates a fact. ELMo is timed a second time
with the soft-max cut to the candidates on both sides, as LAMA cuts it.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import lama_reference as reference
from benchmarks.facts import Fact, hypernymy_facts, lama_facts
from benchmarks.scoring import REFERENCE_BATCH, REFERENCE_TOP
from hyperprobe.cloze import CandidateSet
from hyperprobe.models import (
    elmo,
    elmo_files,
    fconv,
    fconv_files,
    transformer_xl,
    transformer_xl_files,
)
from hyperprobe.models.elmo_files import END, START, UNKNOWN
from hyperprobe.models.elmo_network import ElmoNetwork
from hyperprobe.models.word_level import WordModel, Words, lama_tokens
from hyperprobe.render.terminal import print_table

Batch = Callable[[list[Any]], torch.Tensor]  # texts -> log-probabilities at every position
SEED = 0


def filled_up(words: Sequence[str], size: int) -> list[str]:
    """The distinct words, and more up to `size`."""
    distinct = list(dict.fromkeys(words))
    return distinct + [f"[unused{i}]" for i in range(size - len(distinct))]


def words_of(facts: Sequence[Fact], candidates: CandidateSet) -> list[str]:
    """The words of candidates and texts."""
    found = dict.fromkeys(candidates.words)
    for cloze, _ in facts:
        found |= dict.fromkeys(lama_tokens(cloze.left) + lama_tokens(cloze.right))
    return list(found)


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


# -- the three models in the released shapes: ours, and the protocol on the same weights -------


def make_fconv(words: list[str], divide: int) -> tuple[WordModel, Batch]:
    def narrow(width: int) -> int:
        return max(16, width // divide)

    layers = [(850, 6)] * 3 + [(850, 1)] + [(850, 5)] * 4 + [(850, 1)] + [(850, 4)] * 3
    layers += [(1024, 4), (2048, 4)]
    vocabulary = filled_up([*fconv_files.SPECIAL, *words], max(len(words) + 400, 267_744 // divide))
    ends = [max(50 * (i + 1), end // divide) for i, end in enumerate((10_000, 20_000, 200_000))]
    shape = fconv_files.Shape(
        narrow(280),
        tuple(fconv_files.Layer(narrow(width), kernel, 1) for width, kernel in layers),
        (*ends, len(vocabulary)),
    )
    weights = reference.random_weights(fconv_files.weight_shapes(shape), SEED)
    tokenizer = Words("fconv", vocabulary, "<unk>", fconv_files.SPECIAL, lama_tokens)
    ours = fconv.FconvModel("fconv", fconv.FconvNetwork(shape, weights), tokenizer, {})

    def every_position(batch: list[Any]) -> torch.Tensor:
        rows = [(2, *tokenizer(cloze.text), 2) for cloze in batch]
        return reference.fconv(shape, weights, padded(rows, 2))

    return ours, every_position


def make_transformer_xl(words: list[str], divide: int) -> tuple[WordModel, Batch]:
    vocabulary = filled_up(["<eos>", "<unk>", *words], max(len(words) + 400, 267_735 // divide))
    ends = [max(50 * (i + 1), end // divide) for i, end in enumerate((20_000, 40_000, 200_000))]
    width = max(64, 1024 // divide)
    config = transformer_xl_files.Config(
        n_token=len(vocabulary), cutoffs=ends, d_model=width, d_embed=width,
        d_head=width // 16, d_inner=4 * width, n_head=16, n_layer=max(2, 18 // divide), div_val=4,
        mem_len=1600 // divide, clamp_len=1000 // divide,
    )  # fmt: skip
    weights = reference.random_weights(transformer_xl_files.weight_shapes(config), SEED)
    network = transformer_xl.TransformerXLNetwork(config, weights, zero_memory=True)
    split = transformer_xl_files.TOKENS["0.6.1"]
    tokenizer = Words("transformer-xl", vocabulary, "<unk>", ["<eos>"], split)
    ours = transformer_xl.TransformerXLModel("transformer-xl", network, tokenizer, {})

    def every_position(batch: list[Any]) -> torch.Tensor:
        rows = [(0, *tokenizer(cloze.text))[:-1] for cloze in batch]
        return reference.transformer_xl(config, weights, padded(rows, 0), config.mem_len)

    return ours, every_position


class WholeElmo(elmo.ElmoModel):
    """ELMo with its soft-max over the whole vocabulary, as it is in the protocol restated."""

    def _blocks(self, clozes: Any, steps: Any, words: Any, n_candidates: int) -> Any:
        every = [step._replace(targets=words[step.targets]) for step in steps]
        return super()._blocks(clozes, every, None, n_candidates)


def make_elmo(
    words: list[str], divide: int, candidates: CandidateSet, cut: bool
) -> tuple[WordModel, Batch]:
    n = max(8, 512 // divide)
    filters = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]
    options = elmo_files.Options.model_validate({
        "lstm": {
            "use_skip_connections": True, "projection_dim": n, "dim": 8 * n, "n_layers": 2,
            "cell_clip": 3, "proj_clip": 3,
        },
        "char_cnn": {
            "activation": "relu", "n_highway": 2, "embedding": {"dim": 16}, "n_characters": 262,
            "max_characters_per_token": 50,
            "filters": [[width, max(2, number // divide)] for width, number in filters],
        },
    })  # fmt: skip
    marks = [START, END, UNKNOWN]
    vocabulary = filled_up([*marks, *words], max(len(words) + 400, 793_471 // divide))
    shapes = elmo_files.weight_shapes(options)
    shapes |= {"softmax/W": (len(vocabulary), n), "softmax/b": (len(vocabulary),)}
    weights = reference.random_weights(shapes, SEED)
    network = ElmoNetwork(options, {key: table.clone() for key, table in weights.items()})
    tokenizer = Words("elmo", vocabulary, UNKNOWN, [START, END], lama_tokens)
    ours = (elmo.ElmoModel if cut else WholeElmo)("elmo", network, tokenizer, {})
    kept = sorted(tokenizer.ids[word] for word in (START, END, *candidates.words))

    def every_position(batch: list[Any]) -> torch.Tensor:
        texts = [ours.text(cloze).words for cloze in batch]
        columns = torch.tensor(kept) if cut else None
        return reference.elmo(options, weights, texts, 10, columns)

    if cut:  # the columns of the protocol's answers are those of the words that it keeps
        every_position.words = [vocabulary[id] for id in kept]  # type: ignore[attr-defined]
    return ours, every_position


MODELS: dict[str, Callable[..., tuple[WordModel, Batch]]] = {
    "fconv": lambda words, divide, candidates: make_fconv(words, divide),
    "transformer-xl": lambda words, divide, candidates: make_transformer_xl(words, divide),
    "elmo": lambda words, divide, candidates: make_elmo(words, divide, candidates, False),
    "elmo, soft-max cut": lambda words, divide, candidates: make_elmo(
        words, divide, candidates, True
    ),
}


# -- both sides --------------------------------------------------------------------------------


def protocol_ranks(
    model: WordModel, every_position: Batch, facts: Sequence[Fact], candidates: CandidateSet
) -> list[int]:
    """The rank of each gold word among the candidates, by the protocol."""
    words = getattr(every_position, "words", model.tokenizer.words)
    ids = {word: i for i, word in enumerate(words)}
    index = torch.tensor([ids[word] for word in candidates.words])
    order = sorted(range(len(facts)), key=lambda i: len(facts[i][0].text.split()))
    ranks = [0] * len(facts)
    for start in range(0, len(order), REFERENCE_BATCH):
        batch = order[start : start + REFERENCE_BATCH]
        with torch.inference_mode():
            log_probs = every_position([facts[i][0] for i in batch])
        for i, rows in zip(batch, log_probs, strict=True):
            cloze, gold = facts[i]
            n_before = len(model.tokenizer(cloze.left))
            slot = n_before + 1 if isinstance(model, elmo.ElmoModel) else n_before
            row = rows[slot].index_select(0, index)
            values, best = row.topk(min(REFERENCE_TOP, len(candidates)))
            table = [
                {"i": i, "log_prob": value, "word": candidates.words[column]}
                for i, (value, column) in enumerate(
                    zip(values.tolist(), best.tolist(), strict=True), start=1
                )
            ]
            ranks[i] = next((row["i"] for row in table if row["word"] == gold), 0)
    return ranks


def our_ranks(model: WordModel, facts: Sequence[Fact], candidates: CandidateSet) -> list[int]:
    gold = [candidates.index[word] for _, word in facts]
    ranking = model.rank([cloze for cloze, _ in facts], candidates, gold, 10)
    return [int(rank) for rank in ranking.gold_rank]


def timed(run: Callable[[], list[int]]) -> tuple[float, float, list[int]]:
    """Seconds on the clock, CPU seconds, and what came back."""
    before, clock = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    ranks = run()
    seconds, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, ranks


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lama", type=Path, help="a folder with data/ and vocab/ as LAMA has them")
    parser.add_argument("--facts", type=int, default=64)
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--divide", type=int, default=1, help="the released shapes by this factor")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(words)
    torch.set_num_threads(arguments.threads)
    if arguments.lama:
        facts, candidates = lama_facts(arguments.lama, arguments.facts, arguments.seed)
    else:
        facts, candidates = hypernymy_facts(arguments.facts, arguments.seed)
    known = words_of(facts, candidates)
    rows = []
    for name in arguments.model or MODELS:
        model, every_position = MODELS[name](known, arguments.divide, candidates)
        one = facts[:1]
        our_ranks(model, one, candidates)
        protocol_ranks(model, every_position, one, candidates)
        ours, our_cpu, ranks = timed(lambda m=model: our_ranks(m, facts, candidates))
        theirs, their_cpu, expected = timed(
            lambda m=model, e=every_position: protocol_ranks(m, e, facts, candidates)
        )
        same = sum(
            a == b or (b == 0 and a > REFERENCE_TOP) for a, b in zip(ranks, expected, strict=True)
        )
        near = max(abs(a - b) for a, b in zip(ranks, expected, strict=True) if b)
        n = len(facts)
        rows.append([
            name, f"{n / ours:.2f}", f"{n / theirs:.2f}", f"{theirs / ours:.1f}",
            f"{their_cpu / our_cpu:.1f}", f"{same} of {n}", f"{near}",
        ])  # fmt: skip
        del model, every_position
    print_table(
        f"Ranking {len(facts)} facts over {len(candidates)} candidates, random weights, released "
        f"shapes by {arguments.divide}, {arguments.threads} thread(s), fp32",
        ["", "facts/s", "protocol", "x protocol", "x (CPU time)", "equal ranks", "largest step"],
        rows,
    )


if __name__ == "__main__":
    main()
