"""How LAMA's reference code tokenises around a BERT mask, where it differs from today's tokenizers.

A whitespace-separated token that holds the mask becomes the mask, and then
whatever else the token held as one piece of text that is not split at
punctuation: `[MASK]).` gives the mask and the word pieces of `).`, and `([MASK])`
gives the mask and those of `()`, after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hyperprobe.models.base import ClozeModel
from hyperprobe.models.masked import MaskedModel

Tokenise = Callable[[Sequence[str]], list[list[int]]]


def use_reference_tokens(model: ClozeModel) -> None:
    """From now on a masked model reads its texts as the reference code did, where that knew its
    kind of tokenizer; other models stay as they are."""
    if isinstance(model, MaskedModel) and (rule := reference_tokenise(model.tokenizer)):
        model.tokenise_by(rule)


def reference_tokenise(tokenizer: Any) -> Tokenise | None:
    """Texts -> token ids as in the reference code; none for tokenizers that it did not know so."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or type(backend.model).__name__ != "WordPiece":
        return None
    mask = tokenizer.mask_token

    def glued(text: str) -> bool:
        return any(mask in token and len(token) > len(mask) for token in text.split())

    def ids(text: str) -> list[int]:
        found: list[int] = []
        plain: list[str] = []
        for token in [*text.split(), mask]:  # one more mask, to flush the last words
            if mask not in token:
                plain.append(token)
                continue
            found += tokenizer(" ".join(plain), add_special_tokens=False)["input_ids"]
            plain = []
            found += [tokenizer.mask_token_id] * token.count(mask)
            rest = token.replace(mask, "")
            found += [piece.id for piece in backend.model.tokenize(rest)] if rest else []
        return [tokenizer.cls_token_id, *found[:-1], tokenizer.sep_token_id]

    def tokenise(texts: Sequence[str]) -> list[list[int]]:
        encoded: list[list[int]] = tokenizer(list(texts))["input_ids"]
        return [ids(text) if glued(text) else row for text, row in zip(texts, encoded, strict=True)]

    return tokenise
