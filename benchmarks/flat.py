"""Do memory and time stay in proportion as inputs grow? Large sets, made up, with a tiny model.

    python -m benchmarks.flat --facts 100000 1000000
    python -m benchmarks.flat --items 20000 100000 --models 50 --megabytes 50 500

`--facts` asks `lama` for made-up facts of ten relations among 1,000 words, `--items` asks
`zero-shot` for the nine categories of made-up nouns, `--models` compares so many random-weight
models on the shipped set and makes a report of them, `--megabytes` mines made-up text for contexts
and counts pairs of words in it. Each runs in a process of its own, after the same on a small input,
and the peak of memory is that above the small one's. Two sizes show whether it grows.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from hyperprobe.names import EMBEDDED_FOLDER
from hyperprobe.render.terminal import print_table
from hyperprobe.runs.run import peak_memory

N_RELATIONS, N_WORDS, FEW = 10, 1000, 50
CATEGORIES = (
    "bird",
    "fish",
    "tree",
    "tool",
    "flower",
    "insect",
    "vehicle",
    "building",
    "vegetable",
)
SET = "lm-diagnostic-extended"


def save_model(folder: Path, seed: int = 0) -> str:
    """A BERT of one small layer with random weights, and the embedded model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED_FOLDER / "masked-lm")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.2,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _words() -> list[str]:
    from hyperprobe.models.load import load_model
    from hyperprobe.names import EMBEDDED

    return [word for word in load_model(EMBEDDED).words() if word.isalpha() and len(word) > 2]


def _phrases(words: Sequence[str]) -> Iterator[str]:
    return (f"{first} {second}" for first, second in product(words, words) if first != second)


# -- what is run, on n of its unit ---------------------------------------------------------------


def facts(folder: Path, n: int) -> None:
    """`lama` on n facts; writing them down is not measured."""
    words, choose = _words(), random.Random(0)
    objects, phrases = words[:N_WORDS], _phrases(words)
    folder.mkdir(parents=True)
    rows = []
    for i in range(N_RELATIONS):
        rows.append({"relation": f"r{i}", "template": f"[X] is {words[i]} of [Y] .", "type": "N-1"})
        with (folder / f"r{i}.jsonl").open("w") as file:
            for j in range(n // N_RELATIONS):
                row = {"uuid": f"{i}-{j}", "sub_label": next(phrases)}
                file.write(json.dumps({**row, "obj_label": choose.choice(objects)}) + "\n")
    (folder / "relations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    vocabulary = folder.with_suffix(".txt")
    vocabulary.write_text("\n".join(objects))
    model = save_model(folder.with_suffix(".model"))
    with measured():
        from hyperprobe.probes.lama.probe import lama

        given = {"sources": str(folder), "vocab": str(vocabulary)}
        str(lama(model, **given, results=folder.with_suffix(".results")))


def items(folder: Path, n: int) -> None:
    """`zero-shot` on a set of n nouns."""
    phrases, choose = _phrases(_words()), random.Random(0)
    path = folder.with_suffix(".tsv")
    with path.open("w") as file:
        file.write("hyponym\thyponym_plural\thypernym\thypernym_plural\n")
        for i in range(n):
            noun = next(phrases)
            kind = CATEGORIES[i] if i < len(CATEGORIES) else choose.choice(CATEGORIES)
            many = kind if kind == "fish" else f"{kind}s"
            file.write(f"{noun}\t{noun}s\t{kind}\t{many}\n")
    model = save_model(folder.with_suffix(".model"))
    with measured():
        from hyperprobe.probes.zero_shot.probe import zero_shot

        str(zero_shot(model, str(path), results=folder.with_suffix(".results")))


def models(folder: Path, n: int) -> None:
    """`zero-shot` of n models and a report of it."""
    names = [save_model(folder / f"m{i}", i) for i in range(n)]
    results = folder / "results"
    with measured("zero-shot"):
        from hyperprobe.probes.zero_shot.probe import zero_shot

        run = zero_shot(names, SET, results=results).folder
    with measured("report"):
        from hyperprobe.reporting.report import HTML, report

        page = report(run, results).folder / HTML
    sizes = {"page": page, "mcnemar.csv": run / "mcnemar.csv"}
    for name, path in sizes.items():
        print(json.dumps({"size": name, "MB": path.stat().st_size / 1e6}))


def megabytes(folder: Path, n: int) -> None:
    """`contexts mine` over n MB of text, in this process, and the pairs of words in it."""
    import pandas as pd

    from hyperprobe.diagnostic.files import load_diagnostic

    frame, choose = load_diagnostic(SET), random.Random(0)
    pairs = list(zip(frame["hyponym"], frame["hypernym"], strict=True))
    words = choose.choices(_words()[:5000], k=1_000_000)
    path, size = folder.with_suffix(".txt"), 0
    with path.open("w") as file:
        while size < n * 1e6:
            noun, category = choose.choice(pairs)
            told = f"{noun} is a {category}" if size % 7 == 0 else noun
            start = choose.randrange(len(words) - 25)
            rest = " ".join(words[start : start + choose.randint(5, 25)])
            size += file.write(f"The {told} {rest}.\n")
    results = folder.with_suffix(".results")
    with measured("mine"):
        from hyperprobe.diagnostic.mine import mine

        mine(path, SET, processes=1, results=results)
    with measured("counts"):
        from hyperprobe.analysis.corpus_counts import plan_counts
        from hyperprobe.runs.files import file_digest
        from hyperprobe.runs.jobs import run_job
        from hyperprobe.runs.run import Run

        run = Run(results, "counts", {"n": n})
        asked = pd.DataFrame(frame[["hyponym", "hypernym"]])
        run_job(plan_counts(run, {path: file_digest(path)}, asked, "text"))


CASES: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "facts": (facts, 20 * N_RELATIONS),
    "items": (items, FEW),
    "models": (models, 1),
    "megabytes": (megabytes, 1),
}


@contextmanager
def measured(what: str = "") -> Iterator[None]:
    """Prints the seconds and the peak of memory of a block, as JSON."""
    clock, processor = time.perf_counter(), time.process_time()
    yield
    found = {"what": what, "cpu": time.process_time() - processor}
    found |= {"wall": time.perf_counter() - clock, "peak": peak_memory()["ram"]}
    print(json.dumps(found), flush=True)


def run_case(case: str, n: int, folder: Path) -> list[dict[str, Any]]:
    """What `measured` and others have said of a case, first of a small input, in this process."""
    command = [sys.executable, "-m", "benchmarks.flat", "--case", case, str(n), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def rows_of(case: str, n: int, said: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A line of the table for each block that was measured."""
    timed = [one for one in said if "cpu" in one]
    first = {one["what"]: one["peak"] for one in reversed(timed)}  # of the small input
    for one in timed[len(timed) // 2 :]:
        above = one["peak"] - max(first.values())
        name = f"{one['what'] or case} ({n:,} {case})"
        yield name, f"{one['cpu']:.1f}", f"{one['wall']:.1f}", f"{above:.0f}"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for case in CASES:
        parser.add_argument(f"--{case}", type=int, nargs="*", default=[])
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.case:
        case, n, folder = given.case[0], int(given.case[1]), Path(given.case[2])
        folder.mkdir(parents=True, exist_ok=True)
        run, few = CASES[case]
        run(folder / "small", few)
        run(folder / "large", n)
        return
    rows: list[tuple[str, ...]] = []
    sizes = []
    for case in CASES:
        for n in getattr(given, case):
            with tempfile.TemporaryDirectory() as made:
                said = run_case(case, n, Path(made))
            rows += rows_of(case, n, said)
            sizes += [one for one in said if "size" in one][-2:]
    headers = ["", "CPU s", "clock s", "MB above a small input"]
    print_table("Large inputs", headers, rows)
    for one in sizes:
        print(f"{one['size']}: {one['MB']:.2f} MB")


if __name__ == "__main__":
    main()
