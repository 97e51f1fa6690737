"""An argument is left to the diff only where the diff shows every line of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kbsite.fold.edits import Files
from kbsite.model.event import Edit, Source, ToolCall, ToolKind, ToolResult
from kbsite.model.transcript import DiffLine, FileDiff, Step
from kbsite.pages import in_diff
from kbsite.pages.in_diff import is_in_diffs
from kbsite.pages.steps import long_command, more_recorded, other_arguments

LONG = "".join(f"line {number}\n" for number in range(20))
PATCH = """\
*** Begin Patch
*** Update File: a.py
@@ def f():
 kept

-old
+new
*** Add File: b.py
+first
*** End Patch"""


def diffs(*edits: Edit, before: str = "") -> list[FileDiff]:
    files = Files()
    if before:
        files.apply(Edit("a.py", None, before))
    return files.applied(edits)


def step(
    kind: ToolKind, arguments: dict[str, object], *, summary: str = "", **more: object
) -> Step:
    call = ToolCall(
        source=Source("f", 1), call_id="c", tool="t", tool_kind=kind, arguments=arguments,
        summary=summary,
    )  # fmt: skip
    output, recorded = str(more.get("output", "")), more.get("recorded", "")
    result = ToolResult(
        source=Source("f", 2), call_id="c", output=output,
        recorded=recorded if isinstance(recorded, dict) else "",
    )  # fmt: skip
    shown = more.get("diffs", ())
    return Step(
        event=call,
        anchor="L1",
        result=result,
        diffs=tuple(shown) if isinstance(shown, list) else (),
    )


def test_a_patch_that_puts_lines_back_is_shown_as_it_was_written_too() -> None:
    patch = "@@\n-same\n-old\n+same\n+new"
    whole = f"*** Begin Patch\n*** Update File: a.py\n{patch}\n*** End Patch"
    shown = diffs(Edit("a.py", None, "", patch=patch))
    assert shown[0].added == 1, "its diff has the line once, as context"
    assert not is_in_diffs(whole, shown)


@pytest.mark.parametrize("text", ["old\ntext", "new\ntext\n", "", "a.py", "ld\nte"])
def test_a_text_that_stands_in_a_diff_is_shown(text: str) -> None:
    assert is_in_diffs(text, diffs(Edit("a.py", "old\ntext", "new\ntext\n")))


@pytest.mark.parametrize("text", ["older", "old\n\ntext", "text\nold", "other", "old\ntext\nnew"])
def test_a_text_that_a_diff_shows_in_part_is_not_shown(text: str) -> None:
    assert not is_in_diffs(text, diffs(Edit("a.py", "old\ntext", "new\ntext")))


def test_what_a_diff_leaves_out_between_its_hunks_is_not_shown() -> None:
    found = diffs(Edit("a.py", "line 1", "first", every=True), before=LONG)
    assert [line.sign for line in found[0].lines].count("@") == 2

    assert not is_in_diffs(LONG, found)
    assert not is_in_diffs({"edits": [{"old_string": LONG}]}, found)
    assert is_in_diffs({"edits": [{"old_string": "line 1\n", "every": True}]}, found)


def test_a_patch_is_shown_where_all_of_its_lines_are() -> None:
    update = Edit("a.py", None, "", patch="@@ def f():\n kept\n\n-old\n+new")
    found = diffs(update, Edit("b.py", None, "first\n", action="add"))

    assert is_in_diffs(PATCH, found)
    assert not is_in_diffs(PATCH.replace("+first", "+first\n+second"), found)
    assert not is_in_diffs(PATCH.replace("File: b.py", "File: c.py"), found)
    assert not is_in_diffs(PATCH.replace("*** End Patch", "a remark\n*** End Patch"), found)


def test_an_edit_keeps_the_arguments_that_its_diff_does_not_show() -> None:
    found = diffs(Edit("a.py", "line 1", "first", every=True), before=LONG)
    held: dict[str, object] = {"file_path": "a.py", "old_string": LONG, "new_string": "first"}

    assert other_arguments(step(ToolKind.EDIT, held, summary="a.py", diffs=found)) == {
        "old_string": LONG
    }


def test_an_edit_leaves_all_that_it_replaces_to_its_diff() -> None:
    found = diffs(Edit("a.py", LONG, LONG + "more\n"), before=LONG)
    held: dict[str, object] = {"old_string": LONG, "new_string": LONG + "more\n"}

    assert other_arguments(step(ToolKind.EDIT, held, summary="a.py", diffs=found)) == {}


@pytest.mark.parametrize("command", ["ls \n", " ls", "ls\npwd"])
def test_a_command_that_its_head_does_not_show_whole_is_shown_below(command: str) -> None:
    held = step(ToolKind.RUN, {"command": command}, summary=command.strip()[:2])

    assert long_command(held) == command
    assert other_arguments(held) == {}


def test_of_two_commands_none_is_left_out() -> None:
    held = step(ToolKind.RUN, {"command": "a\nb", "cmd": "c\nd"}, summary="a")

    assert long_command(held) == "a\nb"
    assert other_arguments(held) == {"cmd": "c\nd"}


def test_a_record_is_shown_whole_unless_stdout_is_all_that_it_adds() -> None:
    alone = {"stdout": "all of it", "stderr": "", "interrupted": False}
    both = {"stdout": "all of it", "stderr": "a warning"}

    assert more_recorded(step(ToolKind.RUN, {}, output="all", recorded=alone)) == "all of it"
    assert more_recorded(step(ToolKind.RUN, {}, output="all", recorded=both)) == both


def test_a_call_of_very_many_edits_is_held_against_each_of_its_diffs_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edits = [Edit("a.py", f"line {number}\n", f"row {number}\n") for number in range(3000)]
    found = diffs(*edits, before="".join(edit.old or "" for edit in edits))
    asked: list[Sequence[DiffLine]] = []
    told = in_diff._sides

    def counted(lines: Sequence[DiffLine]) -> Iterator[str]:
        asked.append(lines)
        return told(lines)

    monkeypatch.setattr(in_diff, "_sides", counted)
    value = [{"old_string": edit.old, "new_string": edit.new} for edit in edits]

    assert is_in_diffs({"file_path": "a.py", "edits": value}, found)
    assert len(asked) == len(found)
    assert not is_in_diffs([*value, "elsewhere"], found)
