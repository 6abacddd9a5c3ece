"""What models are called, and where those that ship lie; needs nothing loaded."""

from __future__ import annotations

from pathlib import Path

EMBEDDED = "embedded"
RANDOM = "random:"  # prefix: the shape and tokenizer of the model named after it, random weights
EMBEDDED_VECTORS = ("word2vec", "glove", "fasttext")
EMBEDDED_FOLDER = Path(__file__).parent / "embedded"
