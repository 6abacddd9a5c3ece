"""What else might make an encoder faster: larger batches, other kernels, a compiler.

    python -m benchmarks.kernels [--lama FOLDER] [--compile] [--onnx]

One random-weight model of BERT-base's shape on one thread. Prints how much of the benchmark's texts
is padding, processor time a token by tokens in a batch, and that of each way beside the encoder as
it is, round after round, with the processor time it takes to make and the largest difference from
the hidden states.
"""

from __future__ import annotations

import argparse
import copy
import resource
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.facts import hypernymy_facts, lama_facts, random_bert_base
from benchmarks.scoring import ENCODER_BATCH
from hyperprobe.heap import keep_freed_memory
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.language import CPU_ROWS, CPU_TOKENS
from hyperprobe.render.terminal import print_table

LENGTH = 15  # tokens, of a fact
ROWS = (8, 16, 32, 64, 128)

Encode = Callable[[torch.Tensor], Any]  # ids -> what has the hidden states first


def seconds() -> float:
    """Processor seconds of this process, and of the compilers that it started."""
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in of)


def padding(lengths: Sequence[int]) -> tuple[float, float]:
    """Tokens computed for each real one: in sorted batches of one size, and in hyperprobe's."""
    rows = sorted(lengths, reverse=True)
    parts = [rows[i : i + ENCODER_BATCH] for i in range(0, len(rows), ENCODER_BATCH)]
    ours: list[int] = []
    run_in_batches(
        lengths,
        lambda batch: ours.append(len(batch) * lengths[batch[0]]),
        CPU_TOKENS,
        CPU_ROWS,
    )
    total = sum(lengths)
    return sum(part[0] * len(part) for part in parts) / total, sum(ours) / total


def transposed(encoder: Any) -> Encode:
    """The same encoder, its weights in the order in which they are multiplied."""
    turned = copy.deepcopy(encoder)
    for module in turned.modules():
        if isinstance(module, torch.nn.Linear):
            module.weight.data = module.weight.data.t().contiguous().t()
    return turned  # type: ignore[no-any-return]


def compiled(encoder: Any) -> Encode:
    """torch.compile, with constant weights and any size of batch."""
    import torch._inductor.config

    torch._inductor.config.freezing = True
    return torch.compile(encoder, dynamic=True)


def in_onnx(encoder: Any) -> Encode:
    """An export to ONNX Runtime. Raises `ImportError` where that is not installed."""
    import onnxruntime

    class Hidden(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return encoder(ids).last_hidden_state  # type: ignore[no-any-return]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "encoder.onnx")
        sizes = ({0: torch.export.Dim("rows"), 1: torch.export.Dim("tokens")},)
        example = torch.ones(3, LENGTH, dtype=torch.long)
        torch.onnx.export(
            Hidden(), (example,), path, dynamo=True, input_names=["ids"], dynamic_shapes=sizes
        )
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids: [torch.from_numpy(session.run(None, {"ids": ids.numpy()})[0])]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lama", type=Path, help="a folder with data/ and vocab/ as LAMA has them")
    parser.add_argument("--facts", type=int, nargs="+", default=[300, 1000, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--onnx", action="store_true")
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    keep_freed_memory()
    largest = max(given.facts)
    found = lama_facts(given.lama, largest, 1) if given.lama else hypernymy_facts(largest, 1)
    facts, candidates = found
    model, tokenizer = random_bert_base(candidates, given.layers)
    lengths = [len(ids) for ids in tokenizer([c.fill("[MASK]") for c, _ in facts])["input_ids"]]
    for n in given.facts:
        plain, ours = padding(lengths[:n])
        print(f"{n} facts: tokens a real one {plain:.2f} sorted, {ours:.2f} as hyperprobe")
    batches = [torch.randint(5, 200, (rows, LENGTH)) for rows in ROWS]
    ways: dict[str, Encode] = {"as it is": model.bert}
    making, states = {"as it is": 0.0}, {}
    asked = {"transposed weights": transposed}
    asked |= {"torch.compile": compiled} if given.compile else {}
    asked |= {"ONNX Runtime": in_onnx} if given.onnx else {}
    with torch.inference_mode():
        for name, make in asked.items():
            start = seconds()
            ways[name] = make(model.bert)
            ways[name](batches[0])  # (compiled now)
            making[name] = seconds() - start
        states = {name: run(batches[-1])[0] for name, run in ways.items()}
        spent: dict[tuple[str, int], list[float]] = {}
        for _ in range(given.rounds):
            for rows, ids in zip(ROWS, batches, strict=True):
                for name, run in ways.items():
                    start = seconds()
                    run(ids)
                    spent.setdefault((name, rows), []).append(seconds() - start)
    print_table(
        f"CPU ms a token by tokens in a batch, {given.rounds} rounds",
        ["", *(str(LENGTH * rows) for rows in ROWS), "as it is / this", "to make, s", "difference"],
        [
            [
                name,
                *(f"{1000 * median(spent[name, rows]) / LENGTH / rows:.2f}" for rows in ROWS),
                _ratio(spent["as it is", ROWS[-1]], spent[name, ROWS[-1]]),
                f"{making[name]:.0f}",
                f"{(states[name] - states['as it is']).abs().max():.0e}",
            ]
            for name in ways
        ],
    )


def _ratio(first: Sequence[float], second: Sequence[float]) -> str:
    """Of the largest batches, round by round: the median, least and greatest."""
    ratios = [a / b for a, b in zip(first, second, strict=True)]
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


if __name__ == "__main__":
    main()
