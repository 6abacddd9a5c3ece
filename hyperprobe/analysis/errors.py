"""What kind of mistake is an open-vocabulary answer?

The classes that Ravichander et al. (2020, section 3.3) found by hand in 50
answers of BERT, told apart automatically. The first that fits counts:

1. `itself`: the hyponym or its plural ("A yacht is a yacht").
2. `generic`: a word that fits any noun, often a part of speech ("is a noun").
3. `hypernym`: valid in WordNet, but none of the nine categories ("A poppy is a
   plant"); a synonym of the hyponym is valid too.
4. `fragment`: a piece of the hyponym's spelling ("A penknife is a pen").
5. `other`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

from hyperprobe.analysis.outcomes import each_model
from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.lexicon.wordnet import open_wordnet

CLASSES = ("itself", "hypernym", "generic", "fragment", "other")
GENERIC = frozenset(
    "noun verb adjective adverb pronoun word name surname nickname term title phrase letter "
    "thing object item entity something anything one kind type sort form class category group "
    "species genus family variety example member part piece unit synonym plural singular".split()
)
SHORTEST_FRAGMENT = 3  # letters
N_EXAMPLES = 5


def error_class(hyponym: str, answer: str) -> str:
    """The class of a wrong answer to "A HYPONYM is a [MASK]." in any case."""
    hyponym, answer = hyponym.lower(), answer.lower()
    if answer == hyponym or open_wordnet().morphy(answer, "n") == hyponym:
        return "itself"
    if answer in GENERIC:
        return "generic"
    if answer not in CATEGORIES and answer in valid_hypernyms(hyponym):
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
    table["error"] = [
        error_class(hyponym, answer)
        for hyponym, answer in zip(table["hyponym"], table["answer"], strict=True)
    ]
    return table.reset_index(drop=True)


def error_shares(errors: pd.DataFrame) -> pd.DataFrame:
    """How many of each model's errors are of each class: `n_errors` and `percent`.

    `examples` are the answers with the highest scores, the commonest answers of
    `other` come with their share of that class (a model's default answers).
    """
    rows = []
    for diagnostic, model, own in each_model(errors):
        for name in CLASSES:
            part = own[own["error"] == name].sort_values("score", ascending=False, kind="stable")
            answers = part["answer"].value_counts()
            row: dict[str, Any] = {"diagnostic": diagnostic, "model": model, "error": name}
            row |= {"n_errors": len(part), "percent": 100 * len(part) / len(own)}
            row["examples"] = ", ".join(
                f"{r.hyponym}: {r.answer}"
                for r in part.drop_duplicates("answer").head(N_EXAMPLES).itertuples()
            )
            row["commonest"] = str(answers.index[0]) if len(answers) else ""
            row["commonest_percent"] = 100 * answers.iloc[0] / len(part) if len(answers) else 0.0
            rows.append(row)
    return pd.DataFrame(rows)
