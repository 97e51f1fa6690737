"""What a CLI recorded of an edit counts where it did something else than its call asked for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from kbsite.model.event import UNTOLD, Edit
from kbsite.model.transcript import FileDiff
from tests.fold.making import Log, folded

ASKED = Edit("f.py", "    if a and b:\n        run()", "    if a:\n        run()")
SAME = "Index: f.py\n===\n--- f.py\n+++ f.py\n@@ -3,2 +3,2 @@\n-if a and b:\n+if a:\n     run()\n"
"""The same change, told without what all of its lines are set in by."""
OTHER = SAME.replace("     run()\n", "-    # With care.\n-    check()\n     run()\n")


def changed(edit: Edit, recorded: Mapping[str, object]) -> FileDiff:
    log = Log()
    call = log.call("a", edits=[edit])
    result = replace(log.result("a"), recorded=recorded)
    (diff,) = folded(call, result).main.steps[0].diffs
    return diff


@pytest.mark.parametrize("key", ["diff", "fileDiff", "diffString"])
def test_an_edit_that_met_another_text_is_shown_as_its_cli_tells_it(key: str) -> None:
    diff = changed(ASKED, {key: OTHER})

    assert (diff.added, diff.removed) == (1, 3)
    assert diff.lines[0].text == "@@ -3,2 +3,2 @@"
    assert diff.told == "update, other than the call asked for: as the CLI tells it"


def test_hunks_of_claude_code_are_read_too() -> None:
    hunk = {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-x", "+z"]}
    diff = changed(Edit("f.py", "x", "y"), {"structuredPatch": [hunk]})

    assert [line.sign + line.text for line in diff.lines] == ["@@@ -3,1 +3,1 @@", "-x", "+z"]
    assert diff.otherwise


@pytest.mark.parametrize(
    "recorded",
    [
        {"diff": SAME},
        {"diff": SAME.replace("+if a:\n     run()", "-    run()\n+if a:\n+    run()")},
        {"diff": SAME + "\\ No newline at end of file\n"},
        {"diff": "changed 3 lines"},
        {"diff": ""},
        {"diff": 7},
        {"structuredPatch": []},
        {"structuredPatch": [{"lines": 7}, 3]},
        {},
    ],
)  # fmt: skip
def test_the_same_change_and_what_tells_of_none_stay_as_asked_for(
    recorded: Mapping[str, object],
) -> None:
    assert changed(ASKED, recorded) == changed(ASKED, {})


@pytest.mark.parametrize("blanks", ["    ", "\t", ""])
def test_a_diff_that_is_told_without_its_indentation_has_it_again(blanks: str) -> None:
    new = f"{blanks}if a:\n\n{blanks}    run()"
    diff = changed(Edit("f.py", f"{blanks}if a and b:\n{blanks}    run()", new), {"diff": OTHER})

    assert diff.otherwise
    assert [line.sign + line.text for line in diff.lines[1:]] == [
        f"-{blanks}if a and b:", f"+{blanks}if a:", f"-{blanks}    # With care.",
        f"-{blanks}    check()", f" {blanks}    run()",
    ]  # fmt: skip


def test_a_file_is_known_after_an_edit_whose_diff_is_told_without_its_indentation() -> None:
    log = Log()
    before = "def f():\n    if a and b:\n        # With care.\n        check()\n        run()\n"
    made = log.call("a", edits=[Edit("f.py", None, before)])
    edit = log.call("b", edits=[replace(ASKED, old="if a and b:\n    run()")])
    told = OTHER.replace("-3,2 +3,2", "-2,4 +2,2")
    after = "def f():\n    if a:\n        run()\n"
    again = log.call("c", edits=[Edit("f.py", None, after)])
    events = [made, log.result("a"), edit, replace(log.result("b"), recorded={"diff": told})]
    steps = folded(*events, again, log.result("c")).main.steps

    assert steps[1].diffs[0].otherwise
    assert steps[2].diffs[0].lines == ()


def test_where_nothing_tells_the_indentation_of_a_diff_it_stays_as_it_is() -> None:
    told = "@@ -1,2 +1,2 @@\n-a\n-b\n+x\n c\n"
    for new in ("  x\n    x", "y", "x\n  x", ""):
        diff = changed(Edit("f.py", "  a", new), {"diff": told})
        assert [line.text for line in diff.lines[1:]] == ["a", "b", "x", "c"]


def test_in_how_many_places_a_text_was_replaced_is_told() -> None:
    each = Edit("f.py", "a\n", "b\n", every=True)
    assert changed(each, {}).everywhere

    told = "@@ -1,4 +1,4 @@\n-a\n+b\n c\n d\n-a\n+b\n"
    diff = changed(each, {"diff": told})

    assert (diff.added, diff.removed, diff.everywhere, diff.otherwise) == (2, 2, False, False)


def test_what_was_made_of_a_file_that_is_known_is_what_the_cli_tells() -> None:
    log = Log()
    before = "def f():\n    # With care.\n    run()\n"
    made = log.call("a", edits=[Edit("f.py", None, before)])
    edit = log.call("b", edits=[Edit("f.py", "def f():\n    run()", "def g():\n    run()")])
    told = "@@ -1,3 +1,2 @@\n-def f():\n-    # With care.\n+def g():\n     run()\n"
    again = log.call("c", edits=[Edit("f.py", None, "def g():\n    run()\n")])
    events = [made, log.result("a"), edit, replace(log.result("b"), recorded={"diff": told})]

    steps = folded(*events, again, log.result("c")).main.steps

    assert steps[1].diffs[0].otherwise
    assert steps[2].diffs[0].lines == ()


def test_an_edit_that_failed_is_what_was_asked_for() -> None:
    log = Log()
    call = log.call("a", edits=[ASKED])
    result = replace(log.result("a", failed=True), recorded={"diff": OTHER})
    (diff,) = folded(call, result).main.steps[0].diffs

    assert diff.told == "update, which failed"


@pytest.mark.parametrize(
    "told", [" 1|...\n 374|\n-375|a|b\n+375|c", "    ...\n 374 \n-375 a|b\n+375 c"]
)
def test_an_edit_that_its_call_tells_in_marks_of_its_own_is_told_by_what_its_cli_recorded(
    told: str,
) -> None:
    """As pi does, whose diffs have the number of each line."""
    asked = Edit("f.py", None, "", patch=UNTOLD)
    diff = changed(asked, {"diff": told})

    assert [line.sign + line.text for line in diff.lines] == ["@@@", " ", "-a|b", "+c"]
    assert (diff.told, diff.otherwise) == ("update", False)
    assert all(changed(asked, held).untold for held in ({}, {"diff": "3 lines"}, {"diff": " 1|a"}))


def test_a_file_that_was_changed_in_marks_of_a_clis_own_is_not_known_any_more() -> None:
    log = Log()
    made = log.call("a", edits=[Edit("f.py", None, "a\n")])
    edit = log.call("b", edits=[Edit("f.py", None, "", patch=UNTOLD)])
    again = log.call("c", edits=[Edit("f.py", "a", "b")])
    steps = folded(made, log.result("a"), edit, log.result("b"), again, log.result("c")).main.steps

    assert steps[2].diffs[0].lines[0].text == "@@"
