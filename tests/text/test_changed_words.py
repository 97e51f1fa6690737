from __future__ import annotations

import html
import random
import re

import pytest

from kbsite.fold.edits import Files
from kbsite.model.event import Edit
from kbsite.model.transcript import DiffLine
from kbsite.text import changed_words, diff
from kbsite.text.changed_words import AHEAD, ENDS, LONGEST, MOST, STARTS, changed, with_marks


def told(old: str, new: str) -> tuple[str, str]:
    """Lines of a diff with marks as brackets."""
    sides = with_marks(_signed("-", old), _signed("+", new))
    first, second = (side.replace(STARTS, "[").replace(ENDS, "]") for side in sides)
    return first, second


def _signed(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.split("\n"))


def lines(sign: str, *texts: str) -> list[DiffLine]:
    return [DiffLine(sign, text) for text in texts]


@pytest.mark.parametrize(
    ("old", "new", "marked_old", "marked_new"),
    [
        ("block = 64", "block = 128", "block = [64]", "block = [128]"),
        ("x = load(a, mask)", "x = load(a)", "x = load(a[, mask])", "x = load(a)"),
        ("return total", "return total / n", "return total", "return total[ / n]"),
        ("  return total", "      return total", "[  ]return total", "[      ]return total"),
        ("größe = alt(α)", "größe = neu(α)", "größe = [alt](α)", "größe = [neu](α)"),
        ("for i in rows: add(i)", "for j in rows: add(j)",
         "for [i] in rows: add([i])", "for [j] in rows: add([j])"),
    ],
)  # fmt: skip
def test_what_changed_in_a_line_is_marked_on_both_sides(
    old: str, new: str, marked_old: str, marked_new: str
) -> None:
    assert told(old, new) == (f"-{marked_old}\n", f"+{marked_new}\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch", "def kernel(x_ptr, y_ptr):"),
        ("", "x = 1"),
        ("   ", "x = 1"),
        ("a + b", "a + b"),
        ("same words here" + " " * LONGEST, "same words there" + " " * LONGEST),
    ],
)
def test_a_line_that_was_written_anew_or_is_very_long_has_no_mark(old: str, new: str) -> None:
    assert told(old, new) == (f"-{old}\n", f"+{new}\n")


def test_as_many_lines_are_compared_side_by_side() -> None:
    old = "first = one(1)\nsecond = two(2)"
    new = "first = one(7)\nsecond = two(8)"

    assert told(old, new) == (
        "-first = one([1])\n-second = two([2])\n",
        "+first = one([7])\n+second = two([8])\n",
    )


def test_a_line_finds_the_one_like_it_a_few_lines_below() -> None:
    new = "# why\n# it is so\nsecond = two(8)"

    assert told("second = two(2)", new) == (
        "-second = two([2])\n",
        "+# why\n+# it is so\n+second = two([8])\n",
    )


def test_a_line_is_not_looked_for_any_further() -> None:
    new = "# why\n" * AHEAD + "second = two(8)"

    assert ENDS not in with_marks(_signed("-", "second = two(2)"), _signed("+", new))[1]


def test_two_lines_never_share_the_line_in_their_place() -> None:
    old, new = told("call(a, b, 1)\ncall(a, b, 2)", "call(a, b, 3)\nx\ny")

    assert old == "-call(a, b, [1])\n-call(a, b, 2)\n"
    assert new == "+call(a, b, [3])\n+x\n+y\n"


def test_marks_are_few_in_a_line() -> None:
    old = " ".join(f"kept{number} a{number}" for number in range(10))
    new = " ".join(f"kept{number} b{number}" for number in range(10))

    spans, _ = changed(old, new)

    assert len(spans) == MOST
    assert spans[-1][1] == len(old)


def test_the_middle_of_lines_with_many_words_is_one_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = "head a kept b tail", "head c kept d tail"
    assert [old[low:high] for low, high in changed(old, new)[0]] == ["a", "b"]

    monkeypatch.setattr(changed_words, "PAIRS", 1)

    assert [old[low:high] for low, high in changed(old, new)[0]] == ["a kept b"]


def test_a_carriage_return_stays_with_its_line_end() -> None:
    assert told("block = 64\r", "block = 128\r") == ("-block = [64]\r\n", "+block = [128]\r\n")
    assert told("block = 64\r", "block = 64") == ("-block = 64\r\n", "+block = 64\n")


def test_marks_take_nothing_away_and_do_not_cross() -> None:
    chance = random.Random(7)
    words = ["a", "bc", "(", ")", " ", "  ", "<b>", "&", "é", "\t", "\x01", "0x1f", "_", "."]
    for _ in range(400):
        old, new = ("".join(chance.choices(words, k=chance.randrange(14))) for _ in range(2))
        marked = str(diff([DiffLine("-", old), DiffLine("+", new)]))
        plain = [str(diff([DiffLine(s, text)])) for s, text in (("-", old), ("+", new))]

        assert marked.replace("<b>", "").replace("</b>", "") == "".join(plain)
        assert re.fullmatch(r"(?:[^\0]*?<b>[^\0]+?</b>)*[^\0]*", marked)
        assert marked.count("<b>") == marked.count("</b>")


def test_what_is_marked_is_escaped_and_signs_of_a_run_mark_nothing() -> None:
    hostile = diff([*lines("-", "alert = <img src=x>"), *lines("+", "alert = <b onload=x>")])
    signs = diff([*lines("-", f"{STARTS}a{ENDS}"), *lines("+", "b")])

    assert "<img" not in hostile
    assert "<b onload" not in hostile
    assert html.unescape(re.sub("<[^>]*>", "", hostile)) == (
        "-alert = <img src=x>\n+alert = <b onload=x>\n"
    )
    assert "<b>" not in signs


def test_only_lines_that_took_the_place_of_others_are_compared() -> None:
    apart = [*lines("-", "x = f(1)"), *lines(" ", "y"), *lines("+", "x = f(2)")]
    added_first = [*lines("+", "x = f(2)"), *lines("-", "x = f(1)")]

    assert "<b>" not in diff(apart)
    assert "<b>" not in diff(added_first)
    assert diff([*lines("-", "x = f(1)"), *lines("+", "x = f(2)")]) == (
        "<del>-x = f(<b>1</b>)\n</del><ins>+x = f(<b>2</b>)\n</ins>"
    )


def test_an_edit_of_a_known_file_has_its_words_marked() -> None:
    files = Files()
    files.apply(Edit("k.py", None, "a = 1\nblock = 64\nb = 2\n"))
    change = files.diff(Edit("k.py", "64", "128"))

    assert "<del>-block = <b>64</b>\n</del>" in diff(change.lines)
