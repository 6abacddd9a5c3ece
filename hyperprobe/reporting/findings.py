"""What the numbers say, in plain sentences made from the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from hyperprobe.analysis.outcomes import is_baseline
from hyperprobe.names import EMBEDDED
from hyperprobe.render.table import RUN, format_p
from hyperprobe.reporting.analysis_tables import largest_set, readable_template


@dataclass(frozen=True)
class Finding:
    """A sentence, and the label of the run that it is about where there are several."""

    text: str
    run: str = ""
    topic: str = ""  # the analysis
    model: str = ""


N_NAMED = 6  # models in one sentence


def subjects(models: pd.Series) -> list[str]:
    """The language models of a table: neither controls nor vectors, in order."""
    names = [str(name) for name in dict.fromkeys(models)]
    controlled = [name for name in names if f"control:{name}" in names]
    return controlled or [name for name in names if not is_baseline(name)]


def best_model(metrics: pd.DataFrame) -> str:
    """The language model with the highest paired accuracy on the largest set."""
    rows = largest_set(metrics).drop_duplicates("model").set_index("model")
    names = subjects(pd.Series(rows.index)) or list(rows.index)
    return max(names, key=lambda name: float(rows["paired_singular_plural"][name]))


def headline(metrics: pd.DataFrame) -> str:
    """The one sentence that a reader should take away, about the best language model."""
    row = largest_set(metrics).drop_duplicates("model").set_index("model").loc[best_model(metrics)]
    who = "The embedded model" if row.name == EMBEDDED else str(row.name)
    best = f"{who} names the right category of"
    if row["paired_singular_plural"] >= row["singular"] - 1:
        return f"{best} {_of(row['singular'], row['n_items'])} nouns, one or many{_in_context(row)}"
    return (
        f"{best} {_of(row['singular'], row['n_items'])} nouns when asked about one, of "
        f"{row['paired_singular_plural']:.0f} % when asked about many as well{_in_context(row)}"
    )


def _of(percent: float, n: float) -> str:
    return f"{percent:.0f} % of {int(n)}"


def _in_context(row: pd.Series) -> str:
    if row["paired_aggregate"] != row["paired_aggregate"]:
        return ""
    return f", and of {row['paired_aggregate']:.0f} % when a sentence has to fit too"


def zero_shot_findings(metrics: pd.DataFrame, mcnemar: pd.DataFrame) -> Iterator[Finding]:
    """Systematicity and the baselines, on the largest set."""
    table = largest_set(metrics).drop_duplicates("model").set_index("model")
    tests = mcnemar[mcnemar["metric"] == "paired_singular_plural"]
    tests = tests[tests["diagnostic"] == table["diagnostic"].iloc[0]]
    names = subjects(pd.Series(table.index))[:N_NAMED]
    for name in names:
        row = table.loc[name]
        above = row["paired_difference"]
        clear = row["paired_difference_low"] > 0 or row["paired_difference_high"] < 0
        yield Finding(
            f"Systematic? {name} is right in both numbers on {row['paired_singular_plural']:.1f} % "
            f"of the nouns, {abs(above):.1f} points {'more' if above >= 0 else 'less'} than if "
            "its singular and plural answers had nothing to do with each other "
            f"({'a clear difference' if clear else 'within chance'}).",
            _run(row),
            "systematic",
            name,
        )
        others = table[[is_baseline(m) or m not in names for m in table.index]]
        others = others.drop(index=name, errors="ignore")["paired_singular_plural"].dropna()
        if others.empty:
            continue
        rival = str(others.idxmax())
        pair = tests[
            ((tests["model"] == name) & (tests["other"] == rival))
            | ((tests["model"] == rival) & (tests["other"] == name))
        ]
        p = f", McNemar p {_p(pair['p_value'].iloc[0])}" if len(pair) else ""
        yield Finding(
            f"Against its baselines: the best of them, {rival}, gets {others.max():.1f} % in both "
            f"numbers, {name} {row['paired_singular_plural']:.1f} %{p}.",
            _run(row),
            "systematic",
            name,
        )


def _run(row: pd.Series) -> str:
    return str(row[RUN]) if RUN in row else ""


def _p(value: float) -> str:
    shown = format_p(value)
    return shown if shown.startswith("<") else f"= {shown}"


def analysis_findings(tables: Mapping[str, pd.DataFrame]) -> Iterator[Finding]:
    """One sentence for each analysis and language model, on the largest set."""
    names = subjects(tables["agreement"]["model"])[:N_NAMED]
    for name, sentence in SENTENCES.items():
        if name not in tables:
            continue
        table = largest_set(tables[name])
        for model in names:
            own = table[table["model"] == model]
            if "probe" in own:
                own = own[own["probe"] == "singular"]
            if len(own):
                yield Finding(sentence(model, own), _run(own.iloc[-1]), name, model)


def _agreement(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[0]
    return (
        f"Singular and plural: {model} is right in both on {row['both']:.1f} % of the nouns, in "
        f"the singular only on {row['singular_only']:.1f} %, in the plural only on "
        f"{row['plural_only']:.1f} %, in neither on {row['neither']:.1f} %."
    )


def _frequency(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[-1]
    if row["kruskal_p"] >= 0.05:
        verdict = "are not clearly more or less frequent than"
    elif row["superiority"] > 50:
        verdict = "are more frequent than"
    else:
        verdict = "are rarer than"
    return (
        f"Frequency: nouns that {model} recognises {verdict} those it does not "
        f"(Kruskal-Wallis p {_p(row['kruskal_p'])}; one of the former is the more frequent of a "
        f"pair {row['superiority']:.0f} % of the time, counted in {row['source']})."
    )


def _difference(row: pd.Series) -> str:
    low, high = row["difference_low"], row["difference_high"]
    verdict = "clear" if low > 0 or high < 0 else "could be chance"
    return f"{row['difference']:+.1f} points, 95 % interval {low:.1f} to {high:.1f}: {verdict}"


def _coin(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[0]
    return (
        f"Memorisation, by experiment: {model} is right on {row['sentence']:.1f} % of the nouns "
        f"whose definitions it read as sentences and on {row['dictionary']:.1f} % of the others "
        f"({_difference(row)})."
    )


def _pairs(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[-1]
    return (
        f"Memorisation, by correlation: where {row['source']} says that the noun is one of its "
        f"category, {model} is right on {row['seen']:.1f} %, elsewhere on {row['unseen']:.1f} % "
        f"({_difference(row)})."
    )


def _errors(model: str, own: pd.DataFrame) -> str:
    share = own.set_index("error")["percent"]
    return (
        f"Errors: of the wrong open answers of {model}, {share['itself']:.0f} % repeat the noun, "
        f"{share['hypernym']:.0f} % are other valid hypernyms, {share['generic']:.0f} % are "
        f"generic words and {share['fragment']:.0f} % pieces of the noun."
    )


def _prior(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[0]
    return (
        f"Prior: with what {model} says about the bare noun taken off, singular accuracy goes "
        f"from {row['raw']:.1f} % to {row['corrected']:.1f} %."
    )


def _article(model: str, own: pd.DataFrame) -> str:
    row = own[own["policy"] == "gold"].iloc[0]
    return (
        f"Article: the right answer's own article is worth {row['leak']:.1f} points to {model} "
        f"(95 % interval {row['leak_low']:.1f} to {row['leak_high']:.1f})."
    )


def _negation(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[0]
    return (
        f'Negation: after "is not a", {model} still gives the true category for '
        f'{row["negated"]:.1f} % of the nouns ({row["affirmed"]:.1f} % after "is a"), and the same '
        f"answer to both for {row['same_answer']:.1f} %."
    )


def _templates(model: str, own: pd.DataFrame) -> str:
    row = own.iloc[0]
    return (
        f"Wording: over {int(row['n_templates'])} ways to ask, {model} is right on "
        f"{row['lowest']:.1f} to {row['highest']:.1f} % of the nouns (worst: "
        f'"{readable_template(str(row["worst"]))}"), and on {row["always"]:.1f} % in all of them.'
    )


SENTENCES: dict[str, Callable[[str, pd.DataFrame], str]] = {
    "agreement": _agreement,
    "frequency": _frequency,
    "coin": _coin,
    "pairs": _pairs,
    "errors": _errors,
    "prior": _prior,
    "article": _article,
    "negation": _negation,
    "templates": _templates,
}
