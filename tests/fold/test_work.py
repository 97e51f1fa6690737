"""What calls of some bytes make of files: told while that is cheap, and no further."""

from __future__ import annotations

import pytest

from kbsite.fold import work
from kbsite.fold.edits import Files
from kbsite.fold.replay import outcome
from kbsite.fold.sed import edited
from kbsite.fold.work import LARGEST, Work
from kbsite.model.event import Edit
from kbsite.model.transcript import FileDiff

DOUBLE = Edit("f", "a", "aa", every=True)


def length(diff: FileDiff) -> int:
    return sum(len(line.text) for line in diff.lines)


def left(script: str, known: dict[str, str], work: Work | None = None) -> dict[str, str | None]:
    return dict(outcome(script, "/w", known, ran=True, succeeded=True, work=work).contents)


def test_a_file_that_doubles_with_each_edit_is_known_no_more_once_it_is_large() -> None:
    files = Files()
    files.apply(Edit("f", None, "a\n"))
    shown = [length(files.applied((DOUBLE,))[0]) for _ in range(60)]

    assert shown[4] > shown[3] > 8
    assert files.content("f") is None
    assert sum(shown) < 5 * LARGEST


def test_a_large_file_that_a_call_holds_is_known() -> None:
    files = Files()
    files.apply(Edit("f", None, "a" * (LARGEST + 1)))

    assert len(files.content("f") or "") == LARGEST + 1


def test_edits_of_all_of_a_large_file_are_shown_by_what_they_say_once_there_were_many() -> None:
    files = Files()
    files.apply(Edit("f", None, "a" * 1_000_000))
    shown = []
    for number in range(200):
        old, new = ("a", "b") if number % 2 == 0 else ("b", "a")
        shown.append(length(files.applied((Edit("f", old, new, every=True),))[0]))

    assert shown[0] > 2_000_000
    assert shown[-1] < 20
    assert sum(shown) < 2 * work.MOST / work.SHOWN


def test_ordinary_edits_of_a_long_session_stay_known() -> None:
    lines = [f"line {number}\n" for number in range(3000)]
    files = Files()
    files.apply(Edit("f", None, "".join(lines)))
    for line in lines:
        files.applied((Edit("f", line, f"# {line}"),))

    assert files.content("f") == "".join(f"# {line}" for line in lines)


@pytest.mark.parametrize(
    "again",
    [
        "cat a.py >> b.py && cat b.py >> a.py\n",
        "cat a.py a.py > b.py && cat b.py b.py > a.py\n",
        "cat a.py | tee -a b.py; cat b.py | tee -a a.py\n",
    ],
)
def test_files_that_double_with_each_command_are_known_no_more_once_they_are_large(
    again: str,
) -> None:
    few, many = (
        left(again * 3, {"/w/a.py": "a", "/w/b.py": "b"}),
        left(again * 500, {"/w/a.py": "a", "/w/b.py": "b"}),
    )

    assert len(few["/w/a.py"] or "") > 10
    assert max(len(text or "") for text in many.values()) <= LARGEST


def test_what_cat_prints_of_very_many_files_is_not_told() -> None:
    assert left("cat" + " a.py" * 50_000 + " > b.py", {"/w/a.py": "a" * 1000}) == {}


def test_what_sed_puts_in_has_its_bounds() -> None:
    assert edited("a" * 1000 + "\n", ["s/aa*/&&/"]) == "a" * 2000 + "\n"
    assert edited("a" * 1000 + "\n", ["s/aa*/" + "&" * 10_000 + "/"]) is None
    assert edited(("a" * 100 + "\n") * 1000, ["s/a/" + "x" * 10_000 + "/g"]) is None


def test_scripts_that_go_through_all_files_for_each_command_come_to_an_end() -> None:
    known = {f"/w/f{number}.py": "x\n" for number in range(500)}
    spent = Work(1_000_000)

    assert left("rm x.py\n" * 1000, known, spent) == {}
    assert spent.spent
    assert -1_000_000 < spent.left < 0


def test_once_the_work_is_spent_no_file_is_known() -> None:
    files = Files("/w", Work(5000))
    files.apply(Edit("f", None, "a" * 1000))
    for _ in range(20):
        files.apply(Edit("f", "a", "b"))
    shown = files.diff(Edit("f", "b", "c"))

    assert (files.content("f"), files.known) == (None, {})
    assert [line.text for line in shown.lines[1:]] == ["b", "c"]


def test_a_patch_of_lines_that_are_alike_finds_its_place_in_proportion_to_them() -> None:
    alike = 200_000
    files = Files()
    files.apply(Edit("f", None, "a\n" * alike))
    patch = "@@\n" + " a\n" * (alike // 2) + "-b\n+c"
    files.apply(Edit("f", None, "", patch=patch))

    assert files.content("f") is None


@pytest.mark.parametrize(
    "unit", ["git ", "ruff ", "sed a ", "tee ", "gawk ", "glob ", ">", "find "]
)
def test_what_words_of_a_command_may_change_is_told_in_proportion_to_them(unit: str) -> None:
    # Looking from each word to the end of the line takes an hour here.
    script = f"if true; then\n{unit * (1_000_000 // len(unit))}; fi"

    assert left(script, {"/w/a.py": "x"}) in ({}, {"/w/a.py": None})


def test_a_short_line_of_a_long_script_changes_what_it_names() -> None:
    script = "if true; then\n" + "echo x\n" * 1000 + "git log\nsed -i s/x/y/ a.py; fi"

    assert left(script, {"/w/a.py": "x", "/w/b.py": "x"}) == {"/w/a.py": None}
