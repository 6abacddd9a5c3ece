"""A table in as many letters as there are: which cells break, and that no letter is lost."""

import pytest

from hyperprobe.render.layout import fits, fitted, in_parts

HEADERS = ("model", "raw / calibrated", "adds", "tests")
ROWS = [
    ("embedded", "80.0 / 79.7", "-0.2 [-2.8, 2.2]", "31:197*"),
    ("control-bare:embedded", "– ", "said [MASK]", "–"),
]


def letters(width: int) -> tuple[list[list[str]], int]:
    """The cells, and the letters of a whole line of the table."""
    rows, widths, gap = fitted(HEADERS, ROWS, width)
    longest = [
        max(len(line) for row in rows for line in row[i].split("\n")) for i in range(len(HEADERS))
    ]
    if not widths:
        widths = [max(pair) for pair in zip(longest, map(len, HEADERS), strict=True)]
    assert all(a <= b for a, b in zip(longest, widths, strict=True))
    assert [[c.replace("\n", " ").split() for c in row] for row in rows] == [
        [c.replace(":", ": ").split() if "\n" in r[i] and ":" in c else c.split()
         for i, c in enumerate(row)]
        for row, r in zip(ROWS, rows, strict=True)
    ]  # fmt: skip
    return rows, 1 + sum(widths) + gap * len(widths)


@pytest.mark.parametrize(
    ("width", "first", "second"),
    [
        (69, ROWS[0], ROWS[1]),
        (66, ROWS[0], ROWS[1]),  # headers break before cells
        (62, ROWS[0], ROWS[1]),  # and columns go closer together
        (59, ("embedded", "80.0 / 79.7", "-0.2\n[-2.8, 2.2]", "31:197*"), ROWS[1]),
        (53, ("embedded", "80.0 / 79.7", "-0.2\n[-2.8, 2.2]", "31:197*"),
         ("control-bare:\nembedded", *ROWS[1][1:])),
        (48, ("embedded", "80.0 / 79.7", "-0.2\n[-2.8, 2.2]", "31:197*"),
         ("control-bare:\nembedded", *ROWS[1][1:])),
        (45, ("embedded", "80.0 /\n79.7", "-0.2\n[-2.8, 2.2]", "31:\n197*"),
         ("control-bare:\nembedded", *ROWS[1][1:])),
    ],
)  # fmt: skip
def test_cells_break_one_kind_after_the_other(
    width: int, first: tuple[str, ...], second: tuple[str, ...]
):
    rows, line = letters(width)
    assert rows == [list(first), list(second)] and line <= width


def test_columns_that_do_not_fit_go_below():
    parts = in_parts(HEADERS, ROWS, 40)
    assert [tuple(heads) for heads, _ in parts] == [HEADERS[:3], ("model", "tests")]
    for heads, layout in parts:
        assert fits(layout, 40) and all(len(row) == len(heads) for row in layout.rows)
    assert [row[-1] for row in parts[1][1].rows] == ["31:197*", "–"]
    assert len(in_parts(HEADERS, ROWS, 200)) == 1
    narrow = in_parts(HEADERS, ROWS, 5)  # too few letters for any two: they are folded
    assert [heads[-1] for heads, _ in narrow] == list(HEADERS[1:])
    assert all(layout.widths == [] for _, layout in narrow)
