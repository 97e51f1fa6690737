"""Lines that two texts have in common: difflib's answer where it is cheap, a good one elsewhere."""

from __future__ import annotations

import random
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite import line_matching
from kbsite.line_matching import EACH, LEAST, LineMatcher

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=40)


def applied(old: Sequence[str], new: Sequence[str], matcher: LineMatcher) -> list[str]:
    """The old lines after what the matcher says became of them; what it calls equal is equal."""
    made: list[str] = []
    for tag, start, end, first, last in matcher.get_opcodes():
        assert tag != "equal" or old[start:end] == new[first:last]
        made += old[start:end] if tag == "equal" else new[first:last]
    return made


@given(old=LINES, new=LINES)
def test_texts_that_are_soon_matched_are_matched_as_difflib_does(
    old: list[str], new: list[str]
) -> None:
    assert LineMatcher(old, new).get_opcodes() == SequenceMatcher(None, old, new).get_opcodes()


@given(old=LINES, new=LINES)
def test_what_is_matched_otherwise_makes_one_text_of_the_other_too(
    old: list[str], new: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_matching, "LEAST", 0)
        patch.setattr(line_matching, "EACH", 0)
        matcher = LineMatcher(old, new)
        assert applied(old, new, matcher) == new
    blocks = matcher.get_matching_blocks()
    assert blocks[-1] == (len(old), len(new), 0)
    for one, other in pairwise(blocks):
        assert one.a + one.size <= other.a
        assert one.b + one.size <= other.b


@pytest.mark.parametrize("lines", [20_000, 40_000])
def test_every_second_line_changed_is_matched_in_proportion_to_the_lines(lines: int) -> None:
    old = [f"line {number}" for number in range(lines)]
    new = [line + "x" * (number % 2) for number, line in enumerate(old)]
    matcher = LineMatcher(old, new)

    assert applied(old, new, matcher) == new
    assert sum(block.size for block in matcher.get_matching_blocks()) == lines // 2
    assert matcher.steps < LEAST + EACH * 2 * lines + 3 * lines


def test_lines_in_another_order_keep_the_most_that_are_in_one() -> None:
    old = [f"line {number}" for number in range(3000)]
    new = [*old[1500:], *old[:1000], *(f"{line}x" for line in old[1000:1500])]
    random.Random(3).shuffle(old[1000:1500])
    found = line_matching._anchored(old, new)

    assert [(block.a, block.b, block.size) for block in found] == [(1500, 0, 1500), (3000, 3000, 0)]
