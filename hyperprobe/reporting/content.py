"""What a report says, in order: sections of paragraphs, tables and figures, for any medium."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from hyperprobe.analysis.outcomes import is_baseline
from hyperprobe.comparison.report import comparison_findings, comparison_tables
from hyperprobe.comparison.runs import COLUMNS
from hyperprobe.data.published import read_published
from hyperprobe.probes.zero_shot.tables import category_table, metrics_tables, paired_tables
from hyperprobe.render.figure import svg_of
from hyperprobe.render.table import RUN, Table
from hyperprobe.reporting import figures
from hyperprobe.reporting.analysis_tables import (
    BERT,
    PROBE_NAMES,
    analysis_tables,
    has_paper_items,
    largest_set,
)
from hyperprobe.reporting.collect import Material
from hyperprobe.reporting.findings import (
    Finding,
    analysis_findings,
    best_model,
    headline,
    subjects,
    zero_shot_findings,
)
from hyperprobe.reporting.generic_table import generic_table


@dataclass(frozen=True)
class Picture:
    """A matplotlib `figure`, its `name` as a file, and a caption that says what to see."""

    name: str
    figure: Any
    caption: str
    source: str

    @cached_property
    def svg(self) -> str:
        return svg_of(self.figure)


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    id: str
    title: str
    words: str = ""
    findings: list[Finding] = field(default_factory=list)
    blocks: list[Table | Picture] = field(default_factory=list)


@dataclass(frozen=True)
class Content:
    """A whole report but for its provenance."""

    title: str
    headline: str
    findings: list[Finding]
    sections: list[Section]


def make_content(material: Material) -> Content:
    """Everything that the runs have to say."""
    found: list[Finding] = []
    sections: list[Section] = []
    title = "hyperprobe report"
    head = "What the runs measured"
    metrics = material.zero_shot.get("metrics")
    if metrics is not None:
        head = headline(metrics)
        title = f"hyperprobe: {', '.join(subjects(metrics['model']))}"
        found += zero_shot_findings(metrics, material.zero_shot["mcnemar"])
        sections += zero_shot_sections(material.zero_shot)
    if material.analysis:
        found += analysis_findings(material.analysis)
        sections += analysis_sections(material.analysis)
    elif metrics is not None:
        sections.append(
            Section(
                "why", "Why it fails",
                "Not analysed yet: hyperprobe analyze with the folder of a run below, then this "
                "report again.",
            )
        )  # fmt: skip
    for label in material.others:
        run = material.runs[label]
        name = f"{run.command} (run {label})"
        if run.command == "compare":
            differences = run.table("metrics.csv", COLUMNS)
            found += comparison_findings(differences, label)
            sections.append(
                Section(f"other-{label}", "Comparison", blocks=list(comparison_tables(differences)))
            )
        elif run.has("metrics.csv"):
            table = generic_table(run.table("metrics.csv").assign(**{RUN: label}), run.command)
            sections.append(Section(f"other-{label}", name, blocks=[table]))
        else:
            words = "This run has no table of metrics; its provenance is below."
            sections.append(Section(f"other-{label}", name, words))
    best = best_model(metrics) if metrics is not None else ""
    shown = [finding for finding in found if finding.model in ("", best)]
    return Content(title, head, shown, [_with_findings(s, found) for s in sections])


def _with_findings(section: Section, found: list[Finding]) -> Section:
    """The section with the sentences of its topic, where there are several models to tell of."""
    own = [f for f in found if f.topic and SHARED.get(f.topic, f.topic) == section.id]
    return replace(section, findings=own) if len({f.model for f in own}) > 1 else section


def zero_shot_sections(tables: Mapping[str, pd.DataFrame]) -> Iterator[Section]:
    metrics = tables["metrics"]
    largest = largest_set(metrics)
    picture = Picture(
        "accuracy",
        figures.accuracy_figure(largest),
        "A model that knows its categories stands far right in all rows. Paired asks for the "
        "singular and the plural of the same noun; right of the tick, the two answers go "
        "together more than chance would have them. Bars are 95 % intervals over nouns.",
        _source(largest, "metrics.csv"),
    )
    yield Section(
        "accuracy",
        "What the models know",
        "Each noun's category is the best of nine. majority always says the commonest one, "
        "control:MODEL sees the bare noun without the question, and vectors compare words.",
        blocks=[picture, *reversed(list(metrics_tables(metrics)))],
    )
    blocks: list[Table | Picture] = list(paired_tables(largest, tables["mcnemar"]))
    names = [name for name in dict.fromkeys(metrics["model"]) if name != "majority"]
    breakdown = tables["breakdown"]
    blocks.append(category_table(breakdown[breakdown["model"].isin(names)]))
    yield Section(
        "systematic",
        "Is it systematic?",
        "If success in the singular and in the plural were independent, paired accuracy would be "
        "their product.",
        blocks=blocks,
    )


TITLES = {
    "agreement": ("Singular against plural", "The same noun asked about one and about many."),
    "frequency": ("Frequency", "Do models fail on rare nouns?"),
    "coin": ("Memorisation", "Is it knowledge, or having read the sentence?"),
    "errors": ("Errors", "What the models say when they may say anything."),
    "prior": ("The prior of the categories", "Does a category win for being a frequent word?"),
    "article": ("The article", "A bumblebee is an ...: the article gives insect away."),
    "negation": ("Negation", "Does a model mind the word not?"),
    "templates": ("Wording", "The same question in other words."),
}
SHARED = {"pairs": "coin", "template_accuracy": "templates"}


def analysis_sections(tables: Mapping[str, pd.DataFrame]) -> Iterator[Section]:
    """One section for each analysis: its figure first."""
    made: dict[str, list[Table | Picture]] = {}
    for name, table in analysis_tables(tables):
        made.setdefault(SHARED.get(name, name), []).append(table)
    names = subjects(tables["agreement"]["model"])
    for name, blocks in made.items():
        title, words = TITLES[name]
        pictures = list(PICTURES[name](tables, names)) if name in PICTURES else []
        yield Section(name, title, words, blocks=[*pictures, *blocks])


def _source(table: pd.DataFrame, file: str) -> str:
    """`FILE of run A, B`."""
    labels = sorted(dict.fromkeys(table[RUN].dropna())) if RUN in table else []
    return f"{file} of run {', '.join(labels)}" if labels else file


def _agreement(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    for i, name in enumerate(names[:6]):
        table = largest_set(tables["agreement"])
        own = table[table["model"] == name]
        if len(own):
            yield Picture(
                f"agreement-{i + 1}",
                figures.agreement_figure(own),
                f"{name}: a category that is known is blue all the way. The middle parts are "
                "nouns whose category hangs on grammatical number.",
                _source(own, "agreement.csv"),
            )
        scores = largest_set(tables["category_scores"])
        own = scores[scores["model"] == name]
        if len(own):
            yield Picture(
                f"scores-{i + 1}",
                figures.scores_figure(own),
                f"{name}: mean log-probability of each category for the nouns of one, in both "
                "numbers. The large mark is the right category and should stand rightmost.",
                _source(own, "category_scores.csv"),
            )


def _frequency(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    curve = largest_set(tables["frequency_curve"])
    shown = [m for m in dict.fromkeys(curve["model"]) if not is_baseline(m)][:6]
    own = curve[curve["model"].isin(shown)]
    yield Picture(
        "frequency",
        figures.frequency_figure(own),
        "A line that climbs says that frequent nouns are easier. Bands with few nouns have long "
        "bars.",
        _source(own, "frequency_curve.csv"),
    )


def _memorisation(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    rows = []
    for table, seen, unseen, label in (
        ("coin", "sentence", "dictionary", "by coin"),
        ("pairs", "seen", "unseen", "by pattern"),
    ):
        if table not in tables:
            continue
        own = largest_set(tables[table])
        own = own[own["model"].isin(names) & own["probe"].isin(tuple(PROBE_NAMES))]
        if "pattern" in own:
            own = own[own["pattern"].isin(("any", "hearst"))].drop_duplicates(
                ["source", "model", "probe"], keep="last"
            )
        for r in own.to_dict("records"):
            of = f"{figures.short_name(r['model'])}, " if len(names) > 1 else ""
            name = f"{of}{PROBE_NAMES[r['probe']]}, {label}"
            rows.append({"label": name, "with": r[seen], "without": r[unseen], RUN: r.get(RUN)})
    if rows:
        frame = pd.DataFrame(rows)
        yield Picture(
            "memorisation",
            figures.memorisation_figure(frame),
            "Long lines are effects of the training text. By coin: the noun's definitions were "
            "printed as sentences or not, by chance, so the line is the effect itself. By "
            "pattern: a corpus has or has not the noun and its category in a defining pattern.",
            _source(frame, "coin.csv and pairs.csv"),
        )


def _errors(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    own = largest_set(tables["errors"])
    own = own[~own["model"].str.startswith("shuffled:")]
    if has_paper_items(own):
        published, _ = read_published("hypernymy_error_analysis")
        order = ["itself", "hypernym", "generic", "fragment", "other"]
        paper = pd.DataFrame({"model": BERT, "error": order, "percent": published["percent"]})
        own = pd.concat([own, paper])
    yield Picture(
        "errors",
        figures.errors_figure(own),
        "Green answers are not wrong at all, only outside the nine categories; blue and purple "
        "ones copy the noun or a piece of it.",
        _source(own, "errors.csv"),
    )


def _article(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    own = largest_set(tables["article"])
    yield Picture(
        "article",
        figures.article_figure(own),
        "The further gold stands right of marginal, the more the article gives away.",
        _source(own, "article.csv"),
    )


def _negation(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    own = largest_set(tables["negation"])
    yield Picture(
        "negation",
        figures.negation_figure(own),
        "If the model minded the negation, the square would stand near zero. Where both marks lie "
        "on each other, it does not.",
        _source(own, "negation.csv"),
    )


def _templates(tables: Mapping[str, pd.DataFrame], names: list[str]) -> Iterator[Picture]:
    own = largest_set(tables["template_accuracy"])
    shown = own[own["model"].isin(list(dict.fromkeys(own["model"]))[:6])]
    yield Picture(
        "wording",
        figures.wording_figure(shown),
        "Knowledge would not care how it is asked for: the wider the spread, the more a result "
        "hangs on the prompt.",
        _source(own, "template_accuracy.csv"),
    )


PICTURES: dict[str, Callable[[Mapping[str, pd.DataFrame], list[str]], Iterator[Picture]]] = {
    "agreement": _agreement,
    "frequency": _frequency,
    "coin": _memorisation,
    "errors": _errors,
    "article": _article,
    "negation": _negation,
    "templates": _templates,
}
