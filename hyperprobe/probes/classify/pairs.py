"""Pairs of words, balanced over labels, in three folds.

After Ravichander et al. (2020, section 2.2): a positive pair is a hyponym and its
category, a negative one the hyponym and another category of the same group. In
`seen`, hypernyms of the test occur in training, hyponyms do not; in `unseen`,
neither does: each fold holds one group out.

Nothing but the relation may distinguish the labels. So in each partition every
hyponym occurs in one positive and one negative pair with the same sentences, and
every hypernym in as many positive as negative pairs, each of its sentences as
often in the one as in the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from hyperprobe.diagnostic.sentences import Context
from hyperprobe.errors import UserError

SETTINGS = ("seen", "unseen")
PARTITIONS = ("train", "dev", "test")
COLUMNS = (
    "setting",
    "fold",
    "partition",
    "group",
    "hyponym",
    "hypernym",
    "label",
    "hyponym_sentence",
    "hypernym_sentence",
)
N_FOLDS = 3
# `seen` deals the hyponyms into this many parts: one for the test, one for dev, as
# near as it gets to the paper's Table 6 (14 and 16 % of the pairs).
N_PARTS = 7
TRAIN_CONTEXTS = 8  # instances of a training pair (the paper: 8 to 9, from Tables 5 and 6)

Members = dict[str, list[str]]  # hypernym -> its hyponyms


def make_folds(
    items: pd.DataFrame,
    contexts: Iterable[Context],
    settings: Sequence[str],
    seed: int = 0,
    bare: bool = False,
) -> pd.DataFrame:
    """The folds of `settings` as a frame with `COLUMNS`, one row per instance.

    `items` is a diagnostic set (`hyponym`, `hypernym`, `group`, `zipf`). A training
    pair has `TRAIN_CONTEXTS` rows, each with other sentences; a dev or test pair has
    one. No sentence is in two partitions of a fold. Without any groups, the categories are one
    group in `seen`, and are dealt into `n_parts_of` for `unseen`. With `bare`, a word with too few
    sentences stands by itself. Raises `UserError` when a word
    has too few sentences or there are too few groups for the folds of `unseen`.
    """
    sentences = _sentences(contexts)
    if bare:
        sentences = _with_bare(items, sentences)
    rows = []
    for setting in settings:
        groups = _groups(items if has_groups(items) else _grouped(items, setting, seed))
        deal = _deal_seen if setting == "seen" else _deal_unseen
        for fold, partitions in enumerate(deal(groups, seed), start=1):
            dice = random.Random(f"{seed} {setting} {fold}")
            by_partition = _sentences_by_partition(groups, sentences, dice)
            for partition, members_of in partitions.items():
                for group, members in members_of.items():
                    for row in _instances(members, partition, sentences, by_partition, dice):
                        rows.append((setting, fold, partition, group, *row))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def has_groups(items: pd.DataFrame) -> bool:
    """Whether some items name a group."""
    return bool((items["group"] != "").any())


def n_parts_of(items: pd.DataFrame) -> int:
    """Of how many parts `unseen` can hold one out, where there are no groups: each has two
    categories or more."""
    n_categories = int(items["hypernym"].nunique())
    return min(N_FOLDS, n_categories // 2)


def _grouped(items: pd.DataFrame, setting: str, seed: int) -> pd.DataFrame:
    """The items, all in one group for `seen`, and for `unseen` in parts of about equal size."""
    if setting == "seen":
        return items.assign(group="all")
    n_parts = n_parts_of(items)
    if n_parts < 2:
        raise UserError("unseen holds one group out: without groups it needs four categories")
    sizes = items["hypernym"].value_counts()
    dice = random.Random(f"{seed} parts")
    categories = dice.sample(sorted(sizes.index), len(sizes))
    categories.sort(key=lambda category: -sizes[category])
    parts: list[list[str]] = [[] for _ in range(n_parts)]
    for category in categories:  # the largest first, each to the part with the fewest items
        lacking = [part for part in parts if len(part) < 2]
        smallest = min(lacking or parts, key=lambda part: sum(sizes[one] for one in part))
        smallest.append(category)
    part_of = {category: f"part {i}" for i, part in enumerate(parts, 1) for category in part}
    return items.assign(group=items["hypernym"].map(part_of))


def _with_bare(items: pd.DataFrame, sentences: dict[str, list[str]]) -> dict[str, list[str]]:
    """The sentences, and each word by itself that has too few."""
    few = {word: [word] for word in items["hyponym"] if not sentences.get(word)}
    for word in items["hypernym"]:
        if len(set(sentences.get(word, ()))) < len(PARTITIONS):
            few[word] = [word]
    return sentences | few


def balanced_pairs(members: Mapping[str, Sequence[str]]) -> list[tuple[str, str, int]]:
    """(hyponym, hypernym, label): each hyponym once with label 1 and once with 0, each
    hypernym equally often with both.

    That needs a hypernym to have no more hyponyms than the others together: its
    surplus, at the end of its list, is left out.
    """
    kept = _without_surplus(members)
    # A circle of hyponyms, category by category. None fills more than half of it, so
    # half way round there is always another category; and as every index is reached
    # once, each category is used as often as it has members.
    circle = [(hyponym, hypernym) for hypernym, hyponyms in kept.items() for hyponym in hyponyms]
    half = len(circle) // 2
    pairs = []
    for i, (hyponym, hypernym) in enumerate(circle):
        pairs += [(hyponym, hypernym, 1), (hyponym, circle[(i + half) % len(circle)][1], 0)]
    return pairs


def _without_surplus(members: Mapping[str, Sequence[str]]) -> Members:
    sizes = {hypernym: len(hyponyms) for hypernym, hyponyms in members.items()}
    total = sum(sizes.values())
    return {
        hypernym: list(hyponyms)[: total - sizes[hypernym]]
        for hypernym, hyponyms in members.items()
    }


def _groups(items: pd.DataFrame) -> dict[str, Members]:
    """Group -> hypernym -> hyponyms, the most frequent first, without the rarest surplus."""
    order = items.sort_values(["zipf", "hyponym"], ascending=[False, True], kind="stable")
    groups: dict[str, Members] = {}
    for row in order.to_dict("records"):
        if not row["group"]:
            raise UserError(f"{row['hyponym']} has no group: negatives are of the same group")
        groups.setdefault(row["group"], {}).setdefault(row["hypernym"], []).append(row["hyponym"])
    return {
        group: _without_surplus({hypernym: groups[group][hypernym] for hypernym in sorted(members)})
        for group, members in sorted(groups.items())
    }


def _dealt(members: Members, n_parts: int, dice: random.Random) -> list[Members]:
    """Each hypernym's hyponyms shuffled and dealt into parts that are about equally large."""
    parts: list[Members] = [{} for _ in range(n_parts)]
    n_dealt = 0
    for hypernym, hyponyms in members.items():
        for hyponym in dice.sample(hyponyms, len(hyponyms)):
            parts[n_dealt % n_parts].setdefault(hypernym, []).append(hyponym)
            n_dealt += 1
    return parts


def _deal_seen(groups: dict[str, Members], seed: int) -> list[dict[str, dict[str, Members]]]:
    """Folds -> partition -> group -> members: hyponyms in one partition each."""
    dice = random.Random(f"{seed} seen")
    parts = {group: _dealt(members, N_PARTS, dice) for group, members in groups.items()}
    folds = []
    for fold in range(N_FOLDS):
        not_train = {fold: "test", fold + N_FOLDS: "dev"}
        partitions: dict[str, dict[str, Members]] = {name: {} for name in PARTITIONS}
        for group, dealt in parts.items():
            for i, part in enumerate(dealt):
                members = partitions[not_train.get(i, "train")].setdefault(group, {})
                for hypernym, hyponyms in part.items():
                    members.setdefault(hypernym, []).extend(hyponyms)
        folds.append(partitions)
    return folds


def _deal_unseen(groups: dict[str, Members], seed: int) -> list[dict[str, dict[str, Members]]]:
    """Folds -> partition -> group -> members: one group held out, halved into dev and test."""
    if len(groups) < 2:
        raise UserError("unseen holds one group out: the diagnostic set needs at least two")
    dice = random.Random(f"{seed} unseen")
    folds = []
    for held_out in groups:
        dev, test = _dealt(groups[held_out], 2, dice)
        rest = {group: members for group, members in groups.items() if group != held_out}
        folds.append({"train": rest, "dev": {held_out: dev}, "test": {held_out: test}})
    return folds


def _sentences(contexts: Iterable[Context]) -> dict[str, list[str]]:
    """Word -> its sentences, of all kinds."""
    found: dict[str, list[str]] = {}
    for context in contexts:
        found.setdefault(context.word, []).append(context.sentence)
    return found


def _sentences_by_partition(
    groups: dict[str, Members], sentences: dict[str, list[str]], dice: random.Random
) -> dict[tuple[str, str], list[str]]:
    """(hypernym, partition) -> the sentences of the hypernym in it."""
    by_partition: dict[tuple[str, str], list[str]] = {}
    for members in groups.values():
        for hypernym in members:
            found = list(dict.fromkeys(sentences.get(hypernym, [])))
            if found == [hypernym]:  # no sentence: the same in all partitions
                by_partition |= {(hypernym, partition): found for partition in PARTITIONS}
                continue
            if len(found) < len(PARTITIONS):
                raise UserError(
                    f"{hypernym} has {len(found)} context sentences: it needs one or more for "
                    "each of training, dev and test"
                )
            found = dice.sample(found, len(found))
            share = max(1, len(found) // 6)
            by_partition[hypernym, "dev"] = found[:share]
            by_partition[hypernym, "test"] = found[share:][:share]
            by_partition[hypernym, "train"] = found[2 * share :]
    return by_partition


def _instances(
    members: Members,
    partition: str,
    sentences: dict[str, list[str]],
    by_partition: dict[tuple[str, str], list[str]],
    dice: random.Random,
) -> list[tuple[str, str, int, str, str]]:
    """(hyponym, hypernym, label, hyponym's sentence, hypernym's sentence) of one group."""
    rows = []
    turn: dict[tuple[str, int], int] = {}  # how many pairs with this hypernym and label so far
    order: dict[str, list[str]] = {}
    for hyponym, hypernym, label in balanced_pairs(members):
        if hyponym not in order:
            found = sentences.get(hyponym, [])
            if not found:
                raise UserError(f"{hyponym} has no context sentence: write one or leave it out")
            order[hyponym] = dice.sample(found, len(found))
        of_hyponym, of_hypernym = order[hyponym], by_partition[hypernym, partition]
        n = min(TRAIN_CONTEXTS, len(of_hypernym)) if partition == "train" else 1
        start = turn.get((hypernym, label), 0)
        turn[hypernym, label] = start + n
        for k in range(n):
            rows.append(
                (
                    hyponym,
                    hypernym,
                    label,
                    of_hyponym[k % len(of_hyponym)],
                    of_hypernym[(start + k) % len(of_hypernym)],
                )
            )
    return rows
