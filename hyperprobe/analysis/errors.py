"""What kind of mistake is an open-vocabulary answer?

The classes that Ravichander et al. (2020, section 3.3) found by hand in 50
answers of BERT, assigned automatically. Answers are raw: calibration is
for closed questions, whose candidates are the categories. The first class that fits counts:

1. `itself`: the hyponym or its plural ("A yacht is a yacht").
2. `generic`: a word that fits any noun, often a part of speech ("is a noun").
3. `hypernym`: valid in WordNet, but none of the set's categories ("A poppy is a
   plant"); a synonym of the hyponym is valid too.
4. `fragment`: a piece of the hyponym's spelling ("A penknife is a pen").
5. `other`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import each_model, titled
from hyperprobe.data.published import read_published
from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.lexicon.wordnet import open_wordnet
from hyperprobe.probes.zero_shot.tables import BERT, has_paper_items, largest_set
from hyperprobe.render.charts import legend, name_rows, percent_axis, short_name, stacked
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import RUN, Table, count, make_table, mean, source_of, text, with_ends
from hyperprobe.statistics.columns import share_columns

CLASSES = ("itself", "hypernym", "generic", "fragment", "other")
NAMES = {
    "itself": "the hyponym itself",
    "hypernym": "valid hypernym",
    "generic": "generic word",
    "fragment": "piece of the word",
    "other": "other",
}
GENERIC = frozenset(
    "noun verb adjective adverb pronoun word name surname nickname term title phrase letter "
    "thing object item entity something anything one kind type sort form class category group "
    "species genus family variety example member part piece unit synonym plural singular".split()
)
SHORTEST_FRAGMENT = 3  # letters
N_EXAMPLES = 5


def error_class(hyponym: str, answer: str, categories: Collection[str] = CATEGORIES) -> str:
    """The class of a wrong answer to "A HYPONYM is a [MASK]." in any case."""
    hyponym, answer = hyponym.lower(), answer.lower()
    if answer == hyponym or open_wordnet().morphy(answer, "n") == hyponym:
        return "itself"
    if answer in GENERIC:
        return "generic"
    if answer not in categories and answer in valid_hypernyms(hyponym):
        return "hypernym"
    if len(answer) >= SHORTEST_FRAGMENT and answer in hyponym:
        return "fragment"
    return "other"


@cache
def valid_hypernyms(hyponym: str) -> frozenset[str]:
    """The words of all synsets of the noun and of all above them, in lower case."""
    found: set[str] = set()
    agenda = list(open_wordnet().synsets(hyponym, "n"))
    seen = set(agenda)
    while agenda:
        synset = agenda.pop()
        found.update(name.lower().replace("_", " ") for name in synset.lemma_names())
        above = [*synset.hypernyms(), *synset.instance_hypernyms()]
        agenda += [one for one in above if one not in seen]
        seen.update(above)
    return frozenset(found)


def open_errors(predictions: pd.DataFrame) -> pd.DataFrame:
    """Each wrong open-vocabulary answer with its `error` class.

    Where gold ties with others at the top, the answer is wrong if it is another one.

    Columns: `diagnostic, model, hyponym, hypernym, answer, log_prob, error`.
    """
    asked = predictions[(predictions["probe"] == "open") & predictions["best"].notna()]
    other = (asked["gold_tied"] > 0) & (asked["best"] != asked["gold"])
    wrong = asked[(asked["gold_rank"] != 1) | other]
    table = wrong[["diagnostic", "model", "hyponym", "hypernym", "best", "best_score"]].rename(
        columns={"best": "answer", "best_score": "score"}
    )
    categories = predictions.groupby("diagnostic")["hypernym"].agg(set)
    table["error"] = [
        error_class(hyponym, answer, categories[diagnostic])
        for diagnostic, hyponym, answer in zip(
            table["diagnostic"], table["hyponym"], table["answer"], strict=True
        )
    ]
    return table.reset_index(drop=True)


def error_shares(errors: pd.DataFrame) -> pd.DataFrame:
    """How many of each model's errors are of each class: `n_errors`, `percent` (Wilson interval).

    `examples` are the answers with the highest scores, the commonest answers of
    `other` come with their share of that class (a model's default answers).
    """
    rows = []
    for diagnostic, model, wrong in each_model(errors):
        for name in CLASSES:
            part = wrong[wrong["error"] == name].sort_values(
                "score", ascending=False, kind="stable"
            )
            answers = part["answer"].value_counts()
            row: dict[str, Any] = {"diagnostic": diagnostic, "model": model, "error": name}
            row |= {"n_errors": len(part), **share_columns("percent", wrong["error"] == name)}
            row["examples"] = ", ".join(
                f"{r.hyponym}: {r.answer}"
                for r in part.drop_duplicates("answer").head(N_EXAMPLES).itertuples()
            )
            row["commonest"] = str(answers.index[0]) if len(answers) else ""
            row["commonest_percent"] = 100 * answers.iloc[0] / len(part) if len(answers) else 0.0
            rows.append(row)
    return pd.DataFrame(rows)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    keys = ["model", *([RUN] if RUN in table else [])]
    rows = table.pivot_table(index=keys, columns="error", values="percent", sort=False)
    rows["n"] = table.groupby(keys, sort=False)["n_errors"].sum()
    rows = rows.reset_index()
    caption = (
        "Raw answers: calibration is for closed questions, whose candidates are the categories. "
        "Intervals are in the file."
    )
    if has_paper_items(table):
        published, source = read_published("hypernymy_error_analysis")
        paper = dict(zip(("itself", "hypernym", "generic", "fragment", "other"),
                         published["percent"], strict=True))  # fmt: skip
        rows = pd.concat([rows, pd.DataFrame([{"model": BERT, "n": 50, **paper}])])
        caption += f" Last line: {source}, classified by hand."
    yield make_table(
        titled(table, "kinds of wrong open-vocabulary answers (percent of the errors)"),
        rows,
        {"model": text("model"), "errors": count("n")}
        | {NAMES[name]: mean(name) for name in CLASSES},
        caption,
        "errors.csv",
    )
    part = table[(table["n_errors"] > 0) & ~table["model"].str.contains(":")]
    yield make_table(
        titled(table, "examples of wrong answers, highest scores first"),
        part,
        {
            "kind": lambda row: NAMES[str(row["error"])],
            "model": text("model"),
            "noun: answer": text("examples"),
            "commonest answer": lambda r: (
                f'"{r["commonest"]}", {r["commonest_percent"]:.0f} % of them'
            ),
        },
        source="errors.csv",
    )


def errors_figure(errors: pd.DataFrame) -> Any:
    """The kinds of wrong open-vocabulary answers of each model, as shares of its errors."""
    with styled():
        table = errors.pivot_table(index="model", columns="error", values="percent", sort=False)
        table = table.reindex(columns=list(CLASSES)).fillna(0).reset_index()
        figure, axes = new_figure(1.15 + len(table) * 0.34)
        stacked(axes, table, {name: NAMES[name] for name in CLASSES})
        name_rows(axes, [short_name(name) for name in table["model"]])
        percent_axis(axes, "percent of the wrong answers")
        legend(figure, axes, 3)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    part = largest_set(frames["errors"])
    part = part[~part["model"].str.startswith("shuffled:")]
    if has_paper_items(part):
        published, _ = read_published("hypernymy_error_analysis")
        order = ["itself", "hypernym", "generic", "fragment", "other"]
        paper = pd.DataFrame({"model": BERT, "error": order, "percent": published["percent"]})
        part = pd.concat([part, paper])
    yield Picture(
        "errors",
        errors_figure(part),
        "Other valid hypernyms are not wrong at all, only outside the set's categories; the noun "
        "itself and pieces of it are copied from the question.",
        source_of(part, "errors.csv"),
        with_ends(part, "model", "error", "percent"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    share = rows.set_index("error")["percent"]
    return (
        f"of the wrong open answers of {model}, {share['itself']:.0f} % repeat the noun, "
        f"{share['hypernym']:.0f} % are other valid hypernyms, {share['generic']:.0f} % are "
        f"generic words and {share['fragment']:.0f} % pieces of the noun."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    errors = open_errors(material.predictions)
    return {"errors": error_shares(errors), "open_errors": errors}


ANALYSIS = Analysis(
    name="errors",
    title="Errors",
    words="What the models answer when any word is allowed.",
    files=("errors", "open_errors"),
    lists=("open_errors",),
    compute=_compute,
    tables={"errors": _tables},
    pictures=_pictures,
    lead="Errors",
    sentence=_sentence,
    reason=lambda material: "no open question was asked, or none has a wrong answer",
)
