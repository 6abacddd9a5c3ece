"""The first screen: at most six findings, of every part, and one picture; nothing is lost."""

from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.table import Table
from hyperprobe.reporting.selection import (
    findings_at_the_top,
    with_findings,
    without_first_picture,
)


def told(*leads: str, model: str = "", topic: str = "") -> tuple[Finding, ...]:
    return tuple(Finding(lead, f"{lead}{i}", "A", topic, model) for i, lead in enumerate(leads))


def texts(findings: tuple[Finding, ...]) -> list[str]:
    return [one.text for one in findings]


def test_every_part_has_its_say_before_any_has_a_second():
    parts = {
        "first": Part(findings=told("a", "b", "c", "d", "e", "f", "g", "h")),
        "second": Part(findings=told("x", "y")),
        "third": Part(findings=told("z")),
        "silent": Part(),
    }
    assert texts(findings_at_the_top(parts)) == ["a0", "b1", "c2", "x0", "y1", "z0"]
    assert texts(findings_at_the_top({"only": parts["first"]})) == [
        "a0",
        "b1",
        "c2",
        "d3",
        "e4",
        "f5",
    ]


def test_each_lead_comes_before_a_second_of_one():
    parts = {"p": Part(findings=told("adds", "adds", "adds", "systematic")),
             "q": Part(findings=told("k", "l", "m"))}  # fmt: skip
    # Three each: of p the first of both leads and one more, as p has them in order.
    assert texts(findings_at_the_top(parts)) == ["adds0", "adds1", "systematic3", "k0", "l1", "m2"]


def test_of_featured_parts_the_featured_models_alone():
    best, other, none = (told("a", "b", model=name) for name in ("best", "other", ""))
    part = Part(findings=(*other, *best, *none[:1]), featured=("best",))
    assert findings_at_the_top({"p": part}) == (*best, none[0])


def test_what_is_not_at_the_top_is_in_a_section():
    sections = (Section("one", "One"), Section("two", "Two"))
    of_one, of_two, free = told("a", "b", topic="one"), told("c", topic="two"), told("d", "e")
    findings = (*of_one, *of_two, *free)
    top = (of_one[0], of_two[0], free[0])
    one, two = with_findings(sections, findings, top)
    # All of a topic of which the top lacks some; nothing twice where it has all.
    assert one.findings == (*of_one, free[1]) and two.findings == ()


def test_the_first_picture_moves_to_the_top():
    table, first, second = Table("t", ("a",), ()), Picture("x", None, ""), Picture("y", None, "")
    sections = (
        Section("a", "A", blocks=(table,)),
        Section("b", "B", blocks=(table, first, second)),
    )
    picture, rest = without_first_picture(sections)
    assert picture is first and [s.blocks for s in rest] == [(table,), (table, second)]
    assert without_first_picture(sections[:1]) == (None, sections[:1])
