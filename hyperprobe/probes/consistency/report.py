"""What consistency runs say in a report, from their tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from hyperprobe.names import EMBEDDED, is_subject
from hyperprobe.probes.consistency import claims
from hyperprobe.probes.consistency.figures import agreement_figure, level_figure, profile_figure
from hyperprobe.probes.consistency.tables import (
    agreement_tables,
    level_tables,
    listed_nouns,
    noun_tables,
    profile_tables,
    side_by_side_tables,
    typicality_tables,
    without_controls,
)
from hyperprobe.render.document import Part, Picture, Section
from hyperprobe.render.table import RUN, source_of, with_ends, without_repeated_captions
from hyperprobe.runs.read import FinishedRun

Frames = Mapping[str, pd.DataFrame]
METRICS = "metrics"  # the file of the profile
TABLES: dict[str, tuple[str, ...]] = {
    METRICS: ("diagnostic", "model", "probe", "n_items", "calibrated", "chance", "adds", "p_holm"),
    "levels": (),
    "nouns": (),
    "summary": (),
    "agreement": (),
    "typicality": (),
}
N_NAMED = 6  # models with findings


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of consistency runs: in which probes a model is shown to know, and about what."""
    tables = {name: _together(runs, name, needs) for name, needs in TABLES.items()}
    largest = largest_set(tables)
    profile = largest[METRICS]
    models = [m for m in dict.fromkeys(profile["model"]) if is_subject(m)]
    models = models or list(dict.fromkeys(without_controls(profile)["model"]))
    best = max(models, key=lambda m: (len(claims.shown(profile, m)), -models.index(m)))
    who = "the embedded model" if best == EMBEDDED else best
    words = claims.headline(profile, best, who)
    found = [
        finding
        for model in models[:N_NAMED]
        for finding in claims.findings(profile, largest["summary"], largest["typicality"], model)
    ]
    return Part(words, tuple(models), tuple(found), tuple(_sections(tables, largest)), (best,))


def largest_set(tables: Frames) -> dict[str, pd.DataFrame]:
    """The rows of all tables on the set with the most nouns."""
    metrics = tables[METRICS]
    name = metrics.loc[metrics["n_items"].idxmax(), "diagnostic"]
    return {
        key: table[table["diagnostic"] == name] if len(table) else table
        for key, table in tables.items()
    }


def pictures(tables: Frames) -> Iterator[Picture]:
    """Profile, level curve and agreement of the probes, on the largest set."""
    shown = {name: without_controls(t) if len(t) else t for name, t in tables.items()}
    profile, levels, agreement = (shown[name] for name in (METRICS, "levels", "agreement"))
    yield Picture(
        "profile",
        profile_figure(profile),
        "Percent of questions right, calibrated, with 95 % intervals. The line across a bar is "
        "what needs no knowledge: a guess or the noun alone, whichever is higher.",
        source_of(profile, "metrics.csv"),
        with_ends(profile, "model", "probe", "calibrated", "chance", "noun_alone"),
    )
    if len(levels):
        yield Picture(
            "levels",
            level_figure(levels),
            "The right kind against its siblings, step by step up the taxonomy.",
            source_of(levels, "levels.csv"),
            with_ends(levels, "model", "distance", "n_items", "calibrated", "chance"),
        )
    if agreement["correlation"].notna().any() if len(agreement) else False:
        yield Picture(
            "agreement",
            agreement_figure(agreement[agreement["model"].isin(_asked_most(agreement))]),
            "Correlation of a noun's success in one probe with its success in another, within "
            "categories. What is known through and through succeeds in all.",
            source_of(agreement, "agreement.csv"),
            with_ends(agreement, "model", "probe", "other", "n_items", "correlation"),
        )


def _asked_most(agreement: pd.DataFrame) -> list[str]:
    """The models that were asked the most probes."""
    n = agreement.groupby("model", sort=False).size()
    return [str(model) for model in n[n == n.max()].index]


def _together(runs: Mapping[str, FinishedRun], name: str, needs: tuple[str, ...]) -> pd.DataFrame:
    frames = [run.table(f"{name}.csv", needs).assign(**{RUN: key}) for key, run in runs.items()]
    return pd.concat(frames, ignore_index=True)


def _sections(tables: Frames, largest: Frames) -> Iterator[Section]:
    drawn = {picture.name: picture for picture in pictures(largest)}
    yield Section(
        claims.PROFILE,
        "Consistency",
        "A model that knows a kind knows it however it is asked. Each probe asks about the same "
        "nouns in another way.",
        blocks=(
            drawn["profile"],
            *side_by_side_tables(tables[METRICS]),
            *profile_tables(tables[METRICS]),
        ),
    )
    yield Section(
        claims.NOUNS,
        "Noun by noun",
        "Which nouns are known through and through, and which by luck.",
        blocks=(
            *([drawn["agreement"]] if "agreement" in drawn else []),
            *noun_tables(tables["summary"]),
            *listed_nouns(largest["nouns"]),
            *agreement_tables(largest["agreement"]),
        ),
    )
    if "levels" in drawn:
        yield Section(
            "consistency-levels",
            "Up the taxonomy",
            "From the nearest kind to the most general one.",
            blocks=(drawn["levels"], *level_tables(largest["levels"])),
        )
    if len(largest["typicality"]):
        yield Section(
            claims.TYPICALITY,
            "Typicality",
            "People find a robin a better bird than a penguin.",
            blocks=tuple(
                without_repeated_captions(
                    (
                        *typicality_tables(largest["typicality"]),
                        *typicality_tables(largest["typicality"], each=True),
                    )
                )
            ),
        )
