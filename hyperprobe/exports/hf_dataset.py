"""`export hf-dataset`: a folder that `datasets.load_dataset` reads, with a card and Croissant.

Two configurations: `items`, the nouns of the sets with their categories and prompts, and
`questions`, each text with its candidates. `croissant.json` describes both
(https://mlcommons.org/croissant).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import hyperprobe
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.sets import DiagnosticSet, load_sets
from hyperprobe.exports.questions import slug, zero_shot_questions
from hyperprobe.options import Article
from hyperprobe.runs.files import file_digest, write_frame, write_text

LICENSE = (
    "The nouns and categories are from WordNet 3.0 (WordNet License); 18 pairs are from Ettinger's "
    "(2020) NEG-136 stimuli (MIT); prompts and contexts are from hyperprobe (Apache-2.0)."
)
CITATION = (
    "Ravichander, Hovy, Suleman, Trischler & Cheung (2020): On the Systematicity of Probing "
    "Contextualized Word Representations: The Case of Hypernymy in BERT. *SEM."
)
FIELDS = {
    "set": "the set's name",
    "hyponym": "the noun",
    "hypernym": "its category, the right answer",
    "group": "the group of categories that it is of",
    "synset": "the WordNet synset of the noun",
    "zipf": "log10 of its occurrences in a billion words (wordfreq)",
    "false_hypernym": "a category that it is not of",
    "probe": "which probe asks: singular, plural, contextual, or a control",
    "noun": "the noun that is asked about",
    "category": "its category",
    "text": "the question; [MASK] is the slot",
    "candidates": "the words that compete for the slot",
    "gold": "the index of the right candidate",
}
NUMBERS = {"zipf": "sc:Float", "gold": "sc:Integer"}
# The JSON-LD context of Croissant 1.1: these terms and the plain ones.
TERMS = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileProperty fileObject "
    "fileSet format includes isArray isLiveDataset jsonPath key md5 parentField path recordSet "
    "references regex repeated replace samplingRate separator source subField transform"
)
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in TERMS.split()},
}


def export_hf_dataset(
    folder: Path, diagnostics: Sequence[str], article: Article
) -> dict[str, pd.DataFrame]:
    """Write the dataset of some sets and return its tables, by configuration.

    Raises `UserError` for what is no set.
    """
    sets = load_sets(diagnostics)
    items = [one.frame.assign(set=slug(name)) for name, one in sets.items()]
    tables = {
        "items": pd.concat(items, ignore_index=True),
        "questions": pd.DataFrame(_questions(sets, article)),
    }
    first = tables["items"].pop("set")
    tables["items"].insert(0, "set", first)
    for name, table in tables.items():
        write_frame(folder / f"{name}.jsonl", table)
    about = "-".join(slug(name) for name in sets)
    licensed = LICENSE if set(sets) <= set(NAMES) else ""
    languages = sorted({one.templates.language for one in sets.values()})
    write_text(folder / "README.md", _card(about, sets, tables, languages, licensed))
    document = _croissant(folder, about, tables, licensed)
    write_text(folder / "croissant.json", json.dumps(document, indent=1) + "\n")
    return tables


def _questions(sets: Mapping[str, DiagnosticSet], article: Article) -> list[dict[str, Any]]:
    """The rows of `questions`; those without a noun have no right answer, and are left out."""
    return [
        {"set": slug(name), **one.row()}
        for name, of_set in sets.items()
        for one in zero_shot_questions(of_set, article)
        if one.gold is not None
    ]


def _card(
    about: str,
    sets: Mapping[str, DiagnosticSet],
    tables: Mapping[str, pd.DataFrame],
    languages: Sequence[str],
    licensed: str,
) -> str:
    """The README with its YAML header; a JSON text is one of YAML."""
    configs = [
        {
            "config_name": name,
            "data_files": [{"split": "test", "path": f"{name}.jsonl"}],
            "default": name == "items",
        }
        for name in tables
    ]
    header = {"pretty_name": f"hyperprobe {about}", "language": languages, "configs": configs}
    if licensed:
        header |= {"license": "other", "license_name": "several"}
    lines = [f"{key}: {json.dumps(value)}" for key, value in header.items()]
    sizes = "\n".join(f"- `{slug(n)}`: {len(one.frame)} nouns" for n, one in sets.items())
    columns = "\n".join(
        f"- `{name}`: " + ", ".join(f"`{column}`" for column in table)
        for name, table in tables.items()
    )
    return (
        "---\n" + "\n".join(lines) + "\n---\n\n"
        f"# {about}\n\n"
        "Nouns and their categories, for the question whether a language model systematically "
        "knows that a robin is a bird. The nouns are to be asked about and not to be trained on.\n"
        f"\n## Sets\n\n{sizes}\n\n## Tables\n\n{columns}\n\n"
        "`candidates` compete for `[MASK]` in `text`, and `gold` is the index of the right one. "
        "Accuracy alone shows no knowledge: read it beside the probes `control:singular` and "
        "`control-bare:singular`, which name the noun and ask nothing.\n\n"
        f"## Source\n\nWritten by hyperprobe {hyperprobe.__version__}, after {CITATION}\n\n"
        f"## Licence\n\n{licensed or 'None is stated: name yours here.'}\n"
    )


def _croissant(
    folder: Path, about: str, tables: Mapping[str, pd.DataFrame], licensed: str
) -> dict[str, Any]:
    """The JSON-LD of the dataset."""
    document: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": about,
        "description": f"Nouns and their categories: {about}.",
        "citeAs": CITATION,
        "version": hyperprobe.__version__.split(".dev")[0],
        "distribution": [_file(folder / f"{name}.jsonl") for name in tables],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "field": [_field(name, column) for column in table],
            }
            for name, table in tables.items()
        ],
    }
    return document | ({"license": licensed} if licensed else {})


def _file(path: Path) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": "application/jsonlines",
        "sha256": file_digest(path),
    }


def _field(table: str, column: str) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": FIELDS.get(column, column.replace("_", " ")),
        "dataType": NUMBERS.get(column, "sc:Text"),
        "source": {"fileObject": {"@id": f"{table}.jsonl"}, "extract": {"column": column}},
    }
    return field | ({"isArray": True, "arrayShape": "-1"} if column == "candidates" else {})
