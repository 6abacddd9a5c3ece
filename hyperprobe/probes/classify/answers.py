"""What the nets of one setting answer, fold by fold, as rows of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from hyperprobe.names import MAJORITY
from hyperprobe.parallel import check_cancelled
from hyperprobe.probes.classify.analyses import control_task, logistic_log_odds, online_code
from hyperprobe.probes.classify.metrics import CONTROL, LOGISTIC, NET, PAIR, REVERSED
from hyperprobe.probes.classify.net import Examples, train
from hyperprobe.probes.classify.representations import Representation

FULL, PARTIAL, LAYER = "full", "partial", "layer "
CONTROL_TASK, CODE_LENGTH = "control-task", "code-length"


def answer(
    representation: Representation,
    folds: pd.DataFrame,
    view: str,
    seeds: Sequence[int],
) -> pd.DataFrame:
    """The answers in all folds of a frame of one setting, seen in one way.

    `view` is `full` or `partial` input, `layer N`, `control-task` or `code-length`;
    the last gives `n_labels` and `bits` for each seed instead of predictions.
    """
    layer = view.removeprefix(LAYER) if view.startswith(LAYER) else ""
    vectors = representation.vectors[representation.layers.index(layer)]
    parts = []
    for fold, index in folds.groupby("fold").indices.items():
        rows = folds.iloc[index].reset_index(drop=True)
        examples = Examples(
            representation.first[index],
            representation.second[index],
            rows["label"].to_numpy(np.int64),
        )
        work = {CONTROL_TASK: _control, CODE_LENGTH: _code}.get(view, _test)
        part = work(vectors, rows, examples, seeds, view)
        parts.append(part.assign(fold=fold))
    frame = pd.concat(parts, ignore_index=True)
    if view != CODE_LENGTH:
        pair = frame[["hyponym", "hypernym"]]
        frame["known"] = ~pair.isin(set(representation.unknown)).any(axis=1)
    return frame.assign(
        setting=folds["setting"].iloc[0],
        model=representation.name,
        input=PARTIAL if view == PARTIAL else FULL,
        layer=layer,
    )


def predict_majority(folds: pd.DataFrame) -> pd.DataFrame:
    """The baseline that always gives the more frequent label of the test rows (else 1)."""
    test = folds[folds["partition"] == "test"]
    share = test.groupby(["setting", "fold"])["label"].transform("mean")
    frame = test[["setting", "fold", "hyponym", "hypernym", "label"]].assign(
        model=MAJORITY, input=FULL, classifier=NET, layer="", seed=0, question=PAIR, known=True
    )
    return frame.assign(log_odds=np.where(share >= 0.5, 1.0, -1.0))


def _test(
    vectors: torch.Tensor,
    rows: pd.DataFrame,
    examples: Examples,
    seeds: Sequence[int],
    view: str,
) -> pd.DataFrame:
    """The test pairs, and of a full input the positive ones reversed and a logistic regression."""
    training, dev = (_distinct(examples, rows, name) for name in ("train", "dev"))
    in_test = np.flatnonzero(rows["partition"] == "test")
    test = examples.take(in_test)
    positive = test.take(np.flatnonzero(test.label == 1))
    if view == PARTIAL:
        positive = positive.take(np.array([], dtype=np.int64))
    asked = Examples(
        np.concatenate([test.first, positive.second]),
        np.concatenate([test.second, positive.first]),
        np.concatenate([test.label, np.zeros_like(positive.label)]),
    )
    trained = train(vectors, training, dev, asked, seeds, view == PARTIAL)
    about = rows.iloc[in_test][["hyponym", "hypernym", "label"]].assign(question=PAIR)
    backwards = about[about["label"] == 1].assign(label=0, question=REVERSED)
    if view == PARTIAL:
        backwards = backwards.iloc[:0]
    about = pd.concat([about, backwards], ignore_index=True)
    parts = [_rows(about, trained.log_odds, seeds)]
    if view == FULL:
        check_cancelled()
        log_odds = logistic_log_odds(vectors, training, asked)
        parts.append(_rows(about, log_odds[None], seeds[:1]).assign(classifier=LOGISTIC))
    return pd.concat(parts, ignore_index=True)


def _control(
    vectors: torch.Tensor,
    rows: pd.DataFrame,
    examples: Examples,
    seeds: Sequence[int],
    view: str,
) -> pd.DataFrame:
    """The control task on the training pairs."""
    training = rows["partition"] == "train"
    pair, names = pd.factorize(rows["hyponym"][training] + "\t" + rows["hypernym"][training])
    labelled = examples.take(np.flatnonzero(training))
    parts = []
    for seed in seeds:  # each has other labels, so each is a separate problem
        task = control_task(labelled, pair, seed)
        trained = train(vectors, task.examples, task.dev, task.asked, [seed])
        about = pd.DataFrame([name.split("\t") for name in names], columns=["hyponym", "hypernym"])
        about = about.assign(label=task.asked.label, question=CONTROL)
        parts.append(_rows(about, trained.log_odds, [seed]))
    return pd.concat(parts, ignore_index=True)


def _code(
    vectors: torch.Tensor,
    rows: pd.DataFrame,
    examples: Examples,
    seeds: Sequence[int],
    view: str,
) -> pd.DataFrame:
    """The length of the online code of the training labels."""
    training = _distinct_rows(examples, rows, "train")
    hyponym, _ = pd.factorize(rows["hyponym"].iloc[training])
    dev = _distinct(examples, rows, "dev")
    code = online_code(vectors, examples.take(training), hyponym, dev, seeds)
    return pd.DataFrame({"seed": list(seeds), "n_labels": code.n_labels, "bits": code.bits})


def _rows(about: pd.DataFrame, log_odds: NDArray[np.float64], seeds: Sequence[int]) -> pd.DataFrame:
    """`about` once for each seed, with its row of `log_odds` [n_seeds, n_rows]."""
    return pd.concat(
        [
            about.assign(classifier=NET, seed=seed, log_odds=of_seed)
            for seed, of_seed in zip(seeds, log_odds, strict=True)
        ],
        ignore_index=True,
    )


def _distinct(examples: Examples, rows: pd.DataFrame, partition: str) -> Examples:
    return examples.take(_distinct_rows(examples, rows, partition))


def _distinct_rows(examples: Examples, rows: pd.DataFrame, partition: str) -> NDArray[np.int64]:
    """Where the partition's examples are, those with the same vectors once.

    The contexts of a pair all give the same static vector: eight times the same
    example would only be eight times the work.
    """
    frame = pd.DataFrame(examples._asdict())[(rows["partition"] == partition).to_numpy()]
    index: Any = frame.drop_duplicates().index
    return np.asarray(index, dtype=np.int64)
