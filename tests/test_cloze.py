import pytest

from hyperprobe.cloze import CandidateSet, Cloze, Template, parse_cloze
from hyperprobe.errors import UserError


def test_a_cloze_is_text_around_a_slot():
    cloze = parse_cloze("A robin is a [MASK].", "robin", "robin")
    assert cloze == Cloze("robin", "A robin is a ", ".", "robin")
    assert cloze.text == "A robin is a [MASK]."
    assert cloze.fill("bird") == "A robin is a bird."
    assert cloze.subject_span == (2, 7)


def test_the_subject_is_found_in_any_case_and_may_be_absent():
    assert parse_cloze("Robins are [MASK].", "x", "robins").subject_span == (0, 6)
    assert parse_cloze("A [MASK] sings.", "x", "robin").subject_span is None
    assert parse_cloze("A [MASK] sings.", "x").subject_span is None


def test_a_text_may_be_two_sentences():
    after = Cloze("x", "It sings. A robin is a ", ".", second=10)
    assert after.sentences("bird") == ("It sings.", "A robin is a bird.")
    before = Cloze("x", "A robin is a ", ". It sings.", second=len("A robin is a [MASK]. "))
    for word in ("bird", "very small bird"):
        assert before.sentences(word) == (f"A robin is a {word}.", "It sings.")
    at_slot = Cloze("x", "It sings. ", " is here.", second=10)
    assert at_slot.sentences("It") == ("It sings.", "It is here.")
    assert Cloze("x", "It sings. A ", ".").sentences("bird") == ("It sings. A bird.",)


def test_two_sentences_joined_by_another_mark():
    after = Cloze("x", "It sings. A robin is a ", ".", second=10).joined(" <eos> ")
    assert (after.text, after.second) == ("It sings. <eos> A robin is a [MASK].", None)
    behind = Cloze("x", "A ", " flies. It sings.", second=len("A [MASK] flies. "))
    assert behind.joined(" </s> ").text == "A [MASK] flies. </s> It sings."
    touching = Cloze("x", "A ", " It sings.", second=len("A [MASK] "))
    assert touching.joined("|").text == "A [MASK]|It sings."
    assert Cloze("x", "A. ", " sings.", second=3).joined("|").text == "A.|[MASK] sings."
    assert Cloze("x", "A ", ".").joined("|") == Cloze("x", "A ", ".")


def test_a_shortened_text_is_two_sentences_as_long_as_it_has_a_part_of_both():
    after = Cloze("x", "It sings. A robin is a ", ".", second=10)
    assert after.shortened("sings. A robin is a ", ".").sentences("b") == (
        "sings.",
        "A robin is a b.",
    )
    assert after.shortened("A robin is a ", ".").sentences("b") == ("A robin is a b.",)
    before = Cloze("x", "A ", " flies. It sings.", second=len("A [MASK] flies. "))
    assert before.shortened("A ", " flies. It").sentences("b") == ("A b flies.", "It")
    assert before.shortened("A ", " flies.").sentences("b") == ("A b flies.",)


@pytest.mark.parametrize(("text", "n"), [("A robin.", 0), ("[MASK] is a [MASK].", 2)])
def test_a_text_must_have_one_slot(text: str, n: int):
    with pytest.raises(UserError, match=f"has {n} slots"):
        parse_cloze(text, "x")


def test_a_template_fills_its_subject_even_when_the_slot_comes_first():
    assert (
        Template("[X] was born in [Y] .").cloze("d", "Dante").text == "Dante was born in [MASK] ."
    )
    assert Template("[Y] is home to [X].").cloze("d", "Dante").text == "[MASK] is home to Dante."
    # A subject that looks like a mark is only text.
    assert Template("[X] is [Y].").cloze("d", "[Y]").text == "[Y] is [MASK]."


@pytest.mark.parametrize("pattern", ["[X] is.", "is [Y].", "[X] [Y] [Y]"])
def test_a_template_needs_both_marks_once(pattern: str):
    with pytest.raises(UserError, match="exactly once"):
        Template(pattern)


def test_candidates_keep_their_order_and_are_distinct():
    assert CandidateSet.of(["b", "a", "b"]).words == ("b", "a")
    assert CandidateSet(("b", "a")).index == {"b": 0, "a": 1}
    with pytest.raises(UserError, match="'a' is listed more than once"):
        CandidateSet(("a", "a"))
    with pytest.raises(UserError, match="at least one word"):
        CandidateSet(())
    with pytest.raises(UserError, match="no empty ones"):
        CandidateSet(("a", " "))
