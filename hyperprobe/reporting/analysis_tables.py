"""The tables of `hyperprobe analyze`, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from hyperprobe.analysis.agreement import ALL, OUTCOMES
from hyperprobe.analysis.errors import CLASSES
from hyperprobe.data.published import read_published
from hyperprobe.diagnostic.build import LM_DIAGNOSTIC_EXTENDED, PAPER_SIZE
from hyperprobe.probes.zero_shot.tables import category_order
from hyperprobe.render.table import (
    RUN,
    Cell,
    Table,
    count,
    make_table,
    number,
    p_value,
    share,
    text,
)

PROBE_NAMES = {
    "singular": "singular",
    "plural": "plural",
    "contextual": "contextual",
    "paired_singular_plural": "paired",
}
ERROR_NAMES = {
    "itself": "the hyponym itself",
    "hypernym": "valid hypernym",
    "generic": "generic word",
    "fragment": "piece of the word",
    "other": "other",
}
BERT = "BERT (published)"


def analysis_tables(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Table]]:
    """(analysis, table) for every analysis that was made; each on the largest set."""
    for name, make in MAKERS.items():
        if name in tables and len(tables[name]):
            for table in make(largest_set(tables[name])):
                yield name, table


def largest_set(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the set with the most items (of several, the extended one)."""
    sets = list(dict.fromkeys(table["diagnostic"]))
    size = [c for c in table.columns if c.startswith("n_") and c not in ("n_templates", "n_false")]
    if len(sets) == 1 or not size:
        return table
    totals = table.groupby("diagnostic", sort=False)[size].max().sum(axis=1)
    return table[table["diagnostic"] == totals.idxmax()]


def has_paper_items(table: pd.DataFrame) -> bool:
    """Whether a table is about the set of the paper's size, beside which its BERT may stand."""
    items = table["n_items"] if "n_items" in table else pd.Series([PAPER_SIZE])
    return set(table["diagnostic"]) == {LM_DIAGNOSTIC_EXTENDED} and bool(
        (items == PAPER_SIZE).all()
    )


def _title(table: pd.DataFrame, what: str) -> str:
    return f"{table['diagnostic'].iloc[0]}: {what}"


def _probe(row: dict[str, object]) -> str:
    return PROBE_NAMES.get(str(row["probe"]), str(row["probe"]))


def agreement_tables(table: pd.DataFrame) -> Iterator[Table]:
    whole = table[table["category"] == ALL]
    shares: dict[str, Cell] = {name.replace("_", " "): share(name) for name in OUTCOMES}
    caption = ""
    rows = whole
    if has_paper_items(whole):
        published, source = read_published("hypernymy_singular_plural_agreement")
        paper = {r.outcome.replace(" ", "_"): r.percent for r in published.itertuples()}
        rows = pd.concat([whole, pd.DataFrame([{"model": BERT, "n_items": PAPER_SIZE, **paper}])])
        caption = f"Last line: {source}."
    yield make_table(
        _title(table, "right in the singular, the plural, both or neither (percent)"),
        rows,
        {"model": text("model"), "items": count("n_items"), **shares},
        caption,
        "agreement.csv",
    )
    asked = [name for name in table["model"].unique() if f"control:{name}" in set(table["model"])]
    subjects = table[(table["category"] != ALL) & table["model"].isin(asked)]
    if subjects.empty:
        return
    yield make_table(
        _title(table, "the same by category, language models (percent)"),
        subjects.sort_values("category", key=category_order, kind="stable"),
        {"category": text("category"), "model": text("model"), "items": count("n_items"), **shares},
        source="agreement.csv",
    )


def frequency_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, "are recognised nouns more frequent?"),
        table[table["probe"].isin(("singular", "paired_singular_plural"))],
        {
            "model": text("model"),
            "probe": _probe,
            "counts from": text("source"),
            "n right": count("n_recognised"),
            "their mean": number("mean_recognised", 0),
            "n wrong": count("n_unrecognised"),
            "their mean ": number("mean_unrecognised", 0),
            "Kruskal-Wallis H": number("kruskal_h"),
            "p": p_value("kruskal_p"),
            "ε²": number("epsilon_squared", 3),
            "right one more frequent, %": number("superiority", 1),
        },
        "wordfreq counts are occurrences in 10^9 words. ε² is the effect's size, 0 to 1; the last "
        "column is how often a recognised noun is the more frequent one of a pair (50: no "
        "effect). Other probes and Shapiro-Wilk p-values are in the file.",
        "frequency.csv",
    )


def coin_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, "definitions read as sentences, or in dictionary form (percent right)"),
        table,
        {
            "model": text("model"),
            "probe": _probe,
            "sentence": share("sentence"),
            "n": count("n_sentence"),
            "dictionary": share("dictionary"),
            "n ": count("n_dictionary"),
            "difference": share("difference"),
        },
        "A coin decided which form each noun's definitions had in the embedded model's text, so "
        "the difference is the effect of having read the defining sentence.",
        "coin.csv",
    )


def pairs_tables(table: pd.DataFrame) -> Iterator[Table]:
    any_or_only = (table["pattern"] == "any") | (
        ~table["source"].isin(table["source"][table["pattern"] == "any"])
    )
    chosen = table[any_or_only]
    yield make_table(
        _title(table, "pairs that stand in a corpus, and pairs that do not (percent right)"),
        chosen[chosen["probe"].isin(("singular", "plural", "paired_singular_plural"))],
        {
            "model": text("model"),
            "probe": _probe,
            "corpus": text("source"),
            "pattern": lambda row: str(row["pattern"]).replace("_", " "),
            "in it": share("seen"),
            "n": count("n_seen"),
            "not in it": share("unseen"),
            "n ": count("n_unseen"),
            "difference": share("difference"),
        },
        "A correlation: nouns that stand in such a pattern are also more frequent. Each pattern "
        "by itself is in the file.",
        "pairs.csv",
    )


def error_tables(table: pd.DataFrame) -> Iterator[Table]:
    keys = ["model", *([RUN] if RUN in table else [])]
    rows = table.pivot_table(index=keys, columns="error", values="percent", sort=False)
    rows["n"] = table.groupby(keys, sort=False)["n_errors"].sum()
    rows = rows.reset_index()
    caption = ""
    if has_paper_items(table):
        published, source = read_published("hypernymy_error_analysis")
        paper = dict(zip(("itself", "hypernym", "generic", "fragment", "other"),
                         published["percent"], strict=True))  # fmt: skip
        rows = pd.concat([rows, pd.DataFrame([{"model": BERT, "n": 50, **paper}])])
        caption = f"Last line: {source}, told apart by hand."
    yield make_table(
        _title(table, "kinds of wrong open-vocabulary answers (percent of the errors)"),
        rows,
        {"model": text("model"), "errors": count("n")}
        | {ERROR_NAMES[name]: number(name, 1) for name in CLASSES},
        caption,
        "errors.csv",
    )
    own = table[(table["n_errors"] > 0) & ~table["model"].str.contains(":")]
    yield make_table(
        _title(table, "examples of wrong answers, surest first"),
        own,
        {
            "kind": lambda row: ERROR_NAMES[str(row["error"])],
            "model": text("model"),
            "noun: answer": text("examples"),
            "commonest answer": lambda r: f"{r['commonest']} ({r['commonest_percent']:.0f} %)",
        },
        source="errors.csv",
    )


def prior_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, "with the control prompt's log-probabilities taken off (percent right)"),
        table,
        {
            "model": text("model"),
            "probe": _probe,
            "as it is": number("raw", 1),
            "corrected": number("corrected", 1),
            "difference": share("difference"),
        },
        "The control prompt is the noun and the slot alone. What it knows already is taken off "
        "too, so a large drop says that the question adds little to the noun.",
        "prior.csv",
    )


def article_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, "what the article gives away (singular, percent right)"),
        table,
        {
            "model": text("model"),
            "article": text("policy"),
            "singular": share("singular"),
            "of insects": number("vowel", 1),
            "against marginal": lambda row: (
                "" if row["policy"] == "marginal" else share("leak")(row)
            ),
            "p": lambda row: "" if row["policy"] == "marginal" else p_value("p_value")(row),
        },
        "gold: the right answer's article, as the paper; fixed: always a; marginal: each "
        "candidate with its own, which gives nothing away.",
        "article.csv",
    )


def negation_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, 'after "is a" and after "is not a"'),
        table,
        {
            "model": text("model"),
            "true category, is a": share("affirmed"),
            "true category, is not a": share("negated"),
            "same answer, %": number("same_answer", 1),
            "change of log P(true)": number("change"),
            "relative to the others": number("relative_change"),
            "lowered, %": number("lowered", 1),
            "rank correlation": number("spearman"),
        },
        "A model that understood the negation would hardly ever give the true category after it. "
        "Changes are in nats.",
        "negation.csv",
    )


def template_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, "the singular question in other words (percent right)"),
        table,
        {
            "model": text("model"),
            "templates": count("n_templates"),
            "own prompt": number("prompt", 1),
            "mean": number("mean", 1),
            "sd": number("sd", 1),
            "lowest": number("lowest", 1),
            "highest": number("highest", 1),
            "right in all": number("always", 1),
            "right in none": number("never", 1),
            "same answer in a pair": number("consistency", 1),
        },
        source="templates.csv",
    )


def template_accuracy_tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        _title(table, "each wording (percent right)"),
        table,
        {
            "wording": lambda row: readable_template(str(row["template"])),
            "model": text("model"),
            "singular": share("singular"),
            "against own prompt": share("difference"),
            "p": p_value("p_value"),
        },
        source="template_accuracy.csv",
    )


def readable_template(template: str) -> str:
    """A template with a robin in it."""
    return template.format(A="A", a="a", x="robin", b="a")


MAKERS: dict[str, Callable[[pd.DataFrame], Iterator[Table]]] = {
    "agreement": agreement_tables,
    "frequency": frequency_tables,
    "coin": coin_tables,
    "pairs": pairs_tables,
    "errors": error_tables,
    "prior": prior_tables,
    "article": article_tables,
    "negation": negation_tables,
    "templates": template_tables,
    "template_accuracy": template_accuracy_tables,
}
