"""What a CLI recorded of a file as it was before a call tells what the call changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kbsite.fold.work import LARGEST
from kbsite.model.event import Edit
from kbsite.model.transcript import FileDiff
from tests.fold.making import Log, folded

HELD = "".join(f"line {number}\n" for number in range(1, 40))


def changed(*edits: Edit, key: str = "originalFile", held: object = HELD) -> tuple[FileDiff, ...]:
    log = Log()
    call = log.call("a", edits=edits)
    result = replace(log.result("a"), recorded={key: held})
    return tuple(folded(call, result).main.steps[0].diffs)


@pytest.mark.parametrize("key", ["originalFile", "originalContent"])
def test_a_file_that_is_written_anew_is_held_against_what_it_was(key: str) -> None:
    (diff,) = changed(Edit("f.py", None, HELD.replace("line 20\n", "other\n")), key=key)

    assert (diff.action, diff.added, diff.removed) == ("update", 1, 1)


def test_an_edit_has_the_numbers_of_the_whole_file() -> None:
    (diff,) = changed(Edit("f.py", "line 20\n", "other\n"))

    assert diff.lines[0].text.startswith("@@ -17,7 +17,7 @@")


def test_edits_of_one_file_follow_each_other_from_there() -> None:
    one, two = changed(Edit("f.py", "line 20\n", "a\n"), Edit("f.py", "a\n", "b\n"))

    assert [line.text for line in one.lines if line.sign == "+"] == ["a"]
    assert [line.text for line in two.lines if line.sign != " "][1:] == ["a", "b"]


@pytest.mark.parametrize("held", [None, 7, ["x"], "x" * (LARGEST + 1)])
def test_what_is_no_such_text_tells_nothing(held: object) -> None:
    (diff,) = changed(Edit("f.py", None, "one\n"), held=held)

    assert (diff.action, diff.added, diff.removed) == ("write", 1, 0)


def test_what_was_before_is_that_of_one_file_only() -> None:
    one, two = changed(Edit("f.py", None, "one\n"), Edit("g.py", None, "two\n"))

    assert {one.action, two.action} == {"write"}
