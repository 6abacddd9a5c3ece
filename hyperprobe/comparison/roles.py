"""What a model of a run is: by its description in `run.json`, not by its name alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hyperprobe.model_names import is_vectors
from hyperprobe.names import EMBEDDED_VECTORS, is_baseline
from hyperprobe.runs.read import FinishedRun

Role = Literal["baseline", "vectors", "language model"]
# The papers' models other than BERT-base: how their architecture begins, millions of parameters.
SIZES: dict[str, tuple[str, int, int]] = {
    "bert_large": ("Bert", 300, 350),
    "roberta_large": ("Roberta", 340, 370),
    "albert_xxlarge": ("Albert", 200, 240),
}
# Families that have a column of their own in the LAMA paper's Table 2, whatever their size.
COLUMNS = {
    "fconv": "fairseq_fconv", "transformer-xl": "transformer_xl_large", "elmo": "elmo_original",
}  # fmt: skip
LARGER_ELMO = "5.5B"  # in the names of its files


@dataclass(frozen=True)
class Models:
    """The models of one run, by the name that they have in its tables."""

    described: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, run: FinishedRun) -> Models:
        """From the descriptions in the run's cells."""
        found = run.notes.get("models") or {}
        described = [one for one in found.values() if isinstance(one, dict) and "name" in one]
        return cls({str(one["name"]): one for one in described})

    def role(self, name: str) -> Role:
        """Controls and random weights are baselines too."""
        if is_baseline(name):
            return "baseline"
        kind = self.described.get(name, {}).get("kind")
        is_static = kind == "static" if kind else is_vectors(name)
        return "vectors" if is_static or name in EMBEDDED_VECTORS else "language model"

    def paper_model(self, name: str) -> str:
        """The paper's model that a language model is compared with.

        One of `COLUMNS` by its kind (ELMo by its files too), one of `SIZES` if it has that
        architecture and size, BERT-base for any other.
        """
        about = self.described.get(name, {})
        if column := COLUMNS.get(str(about.get("kind"))):
            larger = column == "elmo_original" and LARGER_ELMO in str(about.get("sha256"))
            return "elmo_5.5b" if larger else column
        architecture, n = str(about.get("architecture", "")), about.get("n_parameters") or 0
        for model, (start, least, most) in SIZES.items():
            if architecture.startswith(start) and least <= n / 1e6 <= most:
                return model
        return "bert_base"
