"""The families of models: a registry of strings, so that it is read without torch.

A family is one module with its class, and its entry here. A family that reads files of its own
(`from_file`) has a class method `load(name, path, source)`. Any other is one of transformers:
its class is a `hyperprobe.models.language.LanguageModel`, which says how a configuration is
recognised and what its tokenizer needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hyperprobe.registry import load


@dataclass(frozen=True)
class Family:
    """A family of models.

    `loader` is the `module:class` that makes them; `settings` are those of a study that change
    their numbers; `suffixes` are those of its files, without the other families' files.
    """

    loader: str
    settings: tuple[str, ...] = ()
    reads_text: bool = True
    from_file: bool = False
    suffixes: tuple[str, ...] = ()

    def model_class(self) -> Any:
        """The class that makes its models; imports torch."""
        return load(self.loader)


STATIC = "static"  # any file that no other family's suffix claims
FAMILIES: dict[str, Family] = {
    "masked": Family("hyperprobe.models.masked:MaskedModel", ("article", "dtype", "pll")),
    "causal": Family(
        "hyperprobe.models.causal:CausalModel", ("article", "dtype", "causal_scoring")
    ),
    "seq2seq": Family(
        "hyperprobe.models.seq2seq:Seq2SeqModel", ("article", "dtype", "causal_scoring")
    ),
    STATIC: Family(
        "hyperprobe.models.static:StaticModel",
        reads_text=False,
        from_file=True,
        suffixes=(".txt", ".vec", ".bin", ".kv", ".model", ".gz", ".wordvectors"),
    ),
}
