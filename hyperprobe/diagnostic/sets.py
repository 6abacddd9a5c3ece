"""A diagnostic set with what belongs to it: its templates, its word forms and its taxonomy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from hyperprobe.diagnostic.files import frame_digest, load_diagnostic
from hyperprobe.diagnostic.templates import Noun, Templates
from hyperprobe.lexicon.taxonomy import Taxonomy, WordNetTaxonomy


@dataclass(frozen=True)
class DiagnosticSet:
    """A set's items, how they are asked, and where their kinds stand.

    `forms` are the nouns whose forms the set gives; others are inflected as English ones. The
    taxonomy's node of an item is its `synset`.
    """

    name: str
    frame: pd.DataFrame
    templates: Templates = field(default_factory=Templates)
    forms: Mapping[str, Noun] = field(default_factory=dict)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        return WordNetTaxonomy()

    @property
    def digest(self) -> str:
        """The SHA-256 of the set's content, in hex."""
        return frame_digest(self.frame)

    def noun(self, word: str) -> Noun:
        """A word with its forms."""
        return self.forms.get(word) or Noun.english(word)


def load_set(name: str) -> DiagnosticSet:
    """The set of a name or file (`load_diagnostic`). Raises `UserError`."""
    frame = load_diagnostic(name)
    forms: dict[str, Noun] = {}
    for kind in ("hyponym", "hypernym"):
        for word, many in zip(frame[kind], frame[f"{kind}_plural"], strict=True):
            forms[word] = Noun(word, many, Noun.english(word).article)
    return DiagnosticSet(name, frame, Templates(), forms)
