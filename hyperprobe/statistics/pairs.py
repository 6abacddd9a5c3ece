"""Which of many models are tested against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from hyperprobe.names import CONTROL_PREFIXES, EMBEDDED_VECTORS, RANDOM, is_baseline, is_subject

MOST_PAIRED = 10  # models of which any two are compared


def pairs_compared(
    names: Sequence[str], score: Callable[[str], float]
) -> Iterator[tuple[str, str]]:
    """Any two of `names`, models with baselines and controls, in their order.

    Of more than `MOST_PAIRED` models each is paired with the baselines, with its own controls, and
    with the one that has the highest `score`, so that pairs grow as models do.
    """
    models = {name for name in names if is_subject(name)}
    best = max(sorted(models), key=score) if len(models) > MOST_PAIRED else None
    for first, second in combinations(names, 2):
        both_ways = (first, second), (second, first)
        if best is None or any(
            model in models and (other == best or _belongs(other, model))
            for model, other in both_ways
        ):
            yield first, second


def _belongs(name: str, model: str) -> bool:
    """Whether it is a baseline of all models, or a control of this one."""
    for prefix in (*CONTROL_PREFIXES, RANDOM):
        if name.startswith(prefix):
            return name == f"{prefix}{model}"
    return is_baseline(name) or name in EMBEDDED_VECTORS
