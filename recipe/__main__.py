"""The whole recipe: `python -m recipe --source CORPUS --work FOLDER`.

Each stage that left its files in the work folder is not done again; training
continues from its last checkpoint.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import BertTokenizer

from recipe.batches import encode
from recipe.corpus import build
from recipe.doses import write_arms
from recipe.export import askable_words, export
from recipe.glove import frequent_words, train_glove
from recipe.tables import write_tables
from recipe.tokens import train_tokenizer
from recipe.train import Settings, train
from recipe.vectors import train_fasttext, train_word2vec

SEED = 1
PIECES = 12_000


def main() -> None:
    defaults = Settings()
    parser = argparse.ArgumentParser(prog="recipe", description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="folder of the .txt.xz sources")
    parser.add_argument("--work", type=Path, default=Path("recipe/work"))
    parser.add_argument("--tokens", type=int, default=defaults.tokens, help="training length")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--export", action="store_true", help="replace the files that ship")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    work: Path = arguments.work
    stages = (
        ("training text", work / "tossed.tsv", lambda: build(arguments.source, work, SEED)),
        ("tokenizer", work / "tokenizer", lambda: train_tokenizer(work, PIECES)),
        (
            "token ids",
            work / "held_out.npz",
            lambda: encode(work, BertTokenizer.from_pretrained(work / "tokenizer")),
        ),
        ("word2vec", work / "word2vec.kv", lambda: train_word2vec(work, SEED)),
        (
            "masked LM",
            work / "model" / "training.json",
            lambda: train(work, Settings(tokens=arguments.tokens)),
        ),
        ("glove", work / "glove.kv", lambda: train_glove(work, frequent_words(work), SEED)),
        (
            "fasttext",
            work / "fasttext.kv",
            lambda: train_fasttext(work, askable_words(work), SEED),
        ),
        ("table of doses", work / "arms_summary.tsv", lambda: write_arms(work)),
        ("corpus tables", work / "corpus_pairs.tsv", lambda: write_tables(work)),
    )
    for label, product, make in stages:
        if product.exists():
            print(f"{label}: done before")
            continue
        print(f"{label} ...", flush=True)
        make()
    if arguments.export:
        export(work)


if __name__ == "__main__":
    main()
