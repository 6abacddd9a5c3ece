"""The families of models: a registry of strings, so that it is read without torch.

A family is one module with its class, and its entry here. A family that reads files of its own
(`from_file`) has a class method `load(name, path, source)`; one that is `prefixed` also says by
`files(path)` which files make a model; `SERVED` has none, and its class is given what the name of a
model says. Any other is one of transformers: its class is a
`hyperprobe.models.language.LanguageModel`, which says how a configuration is recognised and what
its tokenizer needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hyperprobe.registry import load


@dataclass(frozen=True)
class Family:
    """A family of models.

    `loader` is the `module:class` that makes them; `settings` are those of a study that change
    their numbers; `suffixes` are those of its files, without the other families' files.
    The models of a `prefixed` family are named `FAMILY:PATH`, or `FAMILY:PATH?key=value` with one
    of its `choices` (the first is the default). `load` gets those as keywords, and the fields of
    `ModelOptions` in `keywords`. One that is `fixed` has answers to the questions in its file,
    and to no others.
    """

    loader: str
    settings: tuple[str, ...] = ()
    reads_text: bool = True
    from_file: bool = False
    suffixes: tuple[str, ...] = ()
    prefixed: bool = False
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    fixed: bool = False

    def model_class(self) -> Any:
        """The class that makes its models; imports torch."""
        return load(self.loader)


STATIC = "static"  # any file that no other family's suffix claims
SERVED = "served"  # asked over the network; `hyperprobe.addresses.served` reads their names
FAMILIES: dict[str, Family] = {
    "masked": Family("hyperprobe.models.masked:MaskedModel", ("article", "dtype", "pll")),
    "causal": Family(
        "hyperprobe.models.causal:CausalModel", ("article", "dtype", "causal_scoring")
    ),
    "seq2seq": Family(
        "hyperprobe.models.seq2seq:Seq2SeqModel", ("article", "dtype", "causal_scoring")
    ),
    "fconv": Family(
        "hyperprobe.models.fconv:FconvModel",
        ("article", "causal_scoring"),
        from_file=True,
        prefixed=True,
        keywords=("device", "causal_scoring"),
    ),
    "transformer-xl": Family(
        "hyperprobe.models.transformer_xl:TransformerXLModel",
        ("article", "causal_scoring"),
        from_file=True,
        prefixed=True,
        choices={"memory": ("zero", "none"), "tokens": ("0.6.1", "0.6.2")},
        keywords=("device", "causal_scoring"),
    ),
    "elmo": Family(
        "hyperprobe.models.elmo:ElmoModel",
        ("article",),
        from_file=True,
        prefixed=True,
        choices={"state": ("zero-state-10", "zero-state-1", "reference-order")},
        keywords=("device",),
    ),
    SERVED: Family(
        "hyperprobe.models.served.model:ServedModel",
        ("article", "causal_scoring"),
        from_file=True,
    ),
    "scores": Family(
        "hyperprobe.models.scores:ScoresModel",
        ("article",),
        from_file=True,
        prefixed=True,
        fixed=True,
    ),
    STATIC: Family(
        "hyperprobe.models.static:StaticModel",
        reads_text=False,
        from_file=True,
        suffixes=(".txt", ".vec", ".bin", ".kv", ".model", ".gz", ".wordvectors"),
    ),
}
