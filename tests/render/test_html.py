"""Words of a page stay with what they belong to."""

from hyperprobe.render.html import _words


def test_numbers_stay_with_their_signs():
    shown = _words("right on 7.5 % [0.3, 7.1], p < 0.0001, p = 0.5, a map < b, [MASK], x")
    assert shown == (
        "right on 7.5&nbsp;% [0.3,&nbsp;7.1], p&nbsp;&lt;&nbsp;0.0001, p&nbsp;=&nbsp;0.5, "
        "a map &lt; b, [MASK], x"
    )
