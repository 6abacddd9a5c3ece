"""Which models are compared."""

from itertools import combinations

from hyperprobe.statistics.pairs import MOST_PAIRED, pairs_compared


def names(n: int) -> list[str]:
    models = [f"m{i}" for i in range(n)]
    return ["majority", "glove", *(f"control:{name}" for name in models), *models]


def test_any_two_of_few_models():
    few = names(MOST_PAIRED)
    assert list(pairs_compared(few, len)) == list(combinations(few, 2))


def test_pairs_of_many_models_grow_as_they_do():
    asked = [list(pairs_compared(names(n), lambda name: name == "m3")) for n in (20, 40)]
    assert [len(pairs) for pairs in asked] == [4 * 20 - 1, 4 * 40 - 1]
    of_one = [pair for pair in asked[0] if "m5" in pair]
    expected = ["majority", "glove", "control:m5", "m3"]
    assert sorted(next(n for n in pair if n != "m5") for pair in of_one) == sorted(expected)
