from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.edits import Files
from kbsite.fold.patches import moved_to, patched
from kbsite.model.event import Edit
from kbsite.model.transcript import DiffLine, FileDiff

HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def known(text: str, path: str = "f") -> Files:
    """Files of which one is known."""
    files = Files()
    files.apply(Edit(path, None, text))
    return files


def content(files: Files, path: str = "f") -> str | None:
    """What a file holds, told by the diff of deleting it; None if that is not known."""
    if files.diff(Edit(path, None, "x")).action == "write":
        return None
    deleted = files.diff(Edit(path, None, "", action="delete"))
    return "".join(line.text + "\n" for line in deleted.lines if line.sign == "-")


def split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def hunks(diff: FileDiff) -> list[tuple[str, list[DiffLine]]]:
    found: list[tuple[str, list[DiffLine]]] = []
    for line in diff.lines:
        if line.sign == "@":
            found.append((line.text, []))
        else:
            found[-1][1].append(line)
    return found


def applied(before: list[str], diff: FileDiff) -> list[str]:
    """`before` with a diff applied, exactly where its headers say."""
    after: list[str] = []
    done = 0
    for header, lines in hunks(diff):
        match = HEADER.fullmatch(header)
        assert match is not None, header
        old = [line.text for line in lines if line.sign in " -"]
        new = [line.text for line in lines if line.sign in " +"]
        assert len(old) == int(match[2] or 1)
        assert len(new) == int(match[4] or 1)
        first = int(match[1]) - (1 if old else 0)
        assert before[first : first + len(old)] == old
        after += before[done:first]
        assert len(after) == int(match[3]) - (1 if new else 0)
        after += new
        done = first + len(old)
    return after + before[done:]


texts = st.lists(
    st.sampled_from(["", "a", "b", "  c", "}", "x\fy", "z\r", "\u2028"]), max_size=40
).map(lambda lines: "".join(line + "\n" for line in lines))


@settings(max_examples=300)
@given(texts, texts, texts, texts)
def test_a_diff_makes_one_text_of_the_other(head: str, old: str, new: str, tail: str) -> None:
    before, after = head + old + tail, head + new + tail
    diff = known(before).diff(Edit("f", None, after))
    assert applied(split(before), diff) == split(after)
    assert diff.added - diff.removed == len(split(after)) - len(split(before))


@settings(max_examples=300)
@given(texts, st.data())
def test_an_edit_is_shown_where_it_is(before: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(before)))
    old = before[start : data.draw(st.integers(start, len(before)))]
    new, every = data.draw(texts), data.draw(st.booleans())
    files = known(before)
    edit = Edit("f", old, new, every)
    diff = files.diff(edit)
    files.apply(edit)
    if old:
        after = before.replace(old, new) if every else before.replace(old, new, 1)
        assert applied(split(before), diff) == split(after)
        assert content(files) == "".join(line + "\n" for line in split(after))
    else:
        assert content(files) == (None if before else new)


def test_the_numbers_are_those_of_the_whole_file() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 101))
    diff = known(before).diff(Edit("f", "line 50\n", "line 50\nmore\n"))
    assert [f"{line.sign}{line.text}" for line in diff.lines] == [
        "@@@ -48,6 +48,7 @@",
        " line 48", " line 49", " line 50", "+more", " line 51", " line 52", " line 53",
    ]  # fmt: skip
    assert (diff.added, diff.removed) == (1, 0)


def test_a_change_in_two_places_is_two_hunks() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 101)).replace("line 90\n", "line 10\n")
    edit = Edit("f", "line 10\n", "", every=True)
    headers = [header for header, _ in hunks(known(before).diff(edit))]
    assert headers == ["@@ -7,7 +7,6 @@", "@@ -87,7 +86,6 @@"]


def test_a_diff_of_a_whole_file_holds_all_of_it() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 101))
    after = before.replace("line 10\n", "").replace("line 90\n", "other\n")
    ((header, _),) = hunks(known(before).diff(Edit("f", None, after)))
    assert header == "@@ -1,100 +1,99 @@"


@pytest.mark.parametrize(
    ("old", "header"),
    [
        ("line 20\nline 21\n", "@@ -19,6 +19,7 @@"),  # the change, and the lines around it
        ("".join(f"line {n}\n" for n in range(10, 31)), "@@ -10,21 +10,22 @@"),
        ("20\nline 21\nline 22\nline 23\nline 24\nlin", "@@ -19,7 +19,8 @@"),  # parts of lines
    ],
)
def test_a_diff_holds_all_that_its_edit_replaces(old: str, header: str) -> None:
    before = "".join(f"line {n}\n" for n in range(1, 101))
    new = old.replace("line 21\n", "line 21\nmore\n")
    diff = known(before).diff(Edit("f", old, new))
    assert [text for text, _ in hunks(diff)] == [header]
    for text, without in ((old, "+"), (new, "-")):
        side = "\n".join(line.text for line in diff.lines if line.sign not in (without, "@"))
        assert text.strip("\n") in side


@pytest.mark.parametrize(
    ("edit", "action", "signs"),
    [
        (Edit("new", None, "a\nb\n"), "write", "@++"),
        (Edit("new", None, "a\nb\n", action="add"), "add", "@++"),
        (Edit("new", "a", "b"), "update", "@-+"),
        (Edit("new", "", "b"), "update", "@+"),
        (Edit("new", None, "", action="delete"), "delete", ""),
        (Edit("f", None, "", action="delete"), "delete", "@--"),
        (Edit("f", None, "one\ntwo\n"), "update", ""),
        (Edit("f", None, "one\n2\n", action="add"), "add", "@ -+"),
        (Edit("f", "lost", "b"), "update", "@-+"),
    ],
)
def test_what_is_shown_of_an_edit(edit: Edit, action: str, signs: str) -> None:
    diff = known("one\ntwo\n").diff(edit)
    assert (diff.path, diff.action) == (edit.path, action)
    assert "".join(line.sign for line in diff.lines) == signs


def test_edits_of_a_file_that_is_not_known_leave_it_unknown() -> None:
    files = Files()
    files.apply(Edit("f", "a", "b"))
    files.apply(Edit("g", None, "", patch="@@\n-a\n+b"))
    assert (content(files), content(files, "g")) == (None, None)


def test_an_edit_that_does_not_fit_makes_the_file_unknown() -> None:
    files = known("one\n")
    files.apply(Edit("f", "two", "three"))
    assert content(files) is None


def test_a_deleted_file_may_be_made_anew() -> None:
    files = known("one\n")
    files.apply(Edit("f", None, "", action="delete"))
    assert content(files) is None
    files.apply(Edit("f", "", "two\n"))
    assert content(files) == "two\n"


def test_how_often_every_occurrence_is_there_is_told_where_the_file_is_known() -> None:
    files, edit = Files(), Edit("f", "a\n", "", every=True)
    assert files.diff(edit).everywhere
    assert not files.diff(Edit("f", "a\n", "")).everywhere

    files.apply(Edit("f", None, "a\nb\na\n"))
    assert (files.diff(edit).everywhere, files.diff(edit).removed) == (False, 2)


def test_where_an_edit_of_a_file_stands_that_is_not_known_is_not_told() -> None:
    edit = Edit("f", "a\nb\n", "a\nc\n")
    assert [line.text for line in Files().diff(edit).lines] == ["@@", "a", "b", "c"]
    assert known("x\na\nb\n").diff(edit).lines[0].text == "@@ -1,3 +1,3 @@"


def test_every_occurrence_or_the_first() -> None:
    files = known("a\nb\na\n")
    assert files.diff(Edit("f", "a", "c", every=True)).added == 2
    assert files.diff(Edit("f", "a", "c")).added == 1
    files.apply(Edit("f", "a", "c", every=True))
    assert content(files) == "c\nb\nc\n"


def test_edits_of_one_call_follow_each_other() -> None:
    files = known("a\n")
    edits = (Edit("f", "a", "b"), Edit("f", "b", "c"))
    tried = files.diffs(edits)
    assert content(files) == "a\n"
    assert files.applied(edits) == tried
    assert content(files) == "c\n"
    assert [[line.text for line in diff.lines[1:]] for diff in tried] == [["a", "b"], ["b", "c"]]


FILE = "import x\n\ndef f():\n    return 1\n\ndef g():\n    return 1\n"


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ("@@\n-import x\n+import y", FILE.replace("x", "y")),
        ("-import x\n+import y\n", FILE.replace("x", "y")),
        ("@@ def g():\n-    return 1\n+    return 2", FILE[:-2] + "2\n"),
        ("@@ def g():\n def g():\n-    return 1\n+    return 2", FILE[:-2] + "2\n"),
        (
            "@@\n import x\n\n-def f():\n+def h():\n@@\n def g():\n+    y = 2\n     return 1",
            "import x\n\ndef h():\n    return 1\n\ndef g():\n    y = 2\n    return 1\n",
        ),
        ("@@\n-    return 1\n+    return 3\n@@\n-    return 1\n+    return 4\n*** End of File",
         FILE.replace("return 1", "return 3", 1).replace("return 1", "return 4")),
        ("--- a/f\n+++ b/f\n@@ -6,2 +6,3 @@ def g():\n def g():\n+    y = 2\n     return 1\n"
         "\\ No newline at end of file", FILE.replace("g():\n", "g():\n    y = 2\n")),
        ("@@ -0,0 +1 @@\n+# new\n@@ -7 +8 @@\n-    return 1\n+    return 2",
         "# new\n" + FILE[:-2] + "2\n"),
        ("@@\n mport x\n+import y", None),
        ("@@ -3 +3 @@\n-import x\n+import y", None),
        (f"@@ -{'9' * 5000} +1 @@\n-import x\n+import y", None),
        ("@@ class Lost:\n-    return 1\n+    return 2", None),
        ("@@\n+added somewhere", None),
        ("@@\n-def g():\n+def k():\n@@\n-def f():\n+def h():", None),
    ],
)  # fmt: skip
def test_a_patch_is_applied_where_it_says(patch: str, after: str | None) -> None:
    assert patched(FILE, patch) == after
    files = known(FILE)
    edit = Edit("f", None, "", patch=patch)
    shown = files.diff(edit)
    files.apply(edit)
    assert content(files) == after
    assert [line.sign for line in shown.lines].count("+") == shown.added > 0
    assert "".join(line.text for line in shown.lines).count("--- a/f") <= 1


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("a\nb", "@@\n a\n-b\n+c", "a\nc\n"),
        ("a\nb", "@@\n-a\n+c", "c\nb\n"),
        ("a\nb\n", "@@\n a\n-b\n-\n+c\n+", "a\nc\n"),
        ("x\n\nx\n\n", "@@\n-x\n \n*** End of File", "x\n\n"),
        ("a\nb\na\n", "@@\n-a\n+c\n*** End of File", "a\nb\nc\n"),
        ("a\nb\n", "@@\n-a\n+c\n*** End of File", None),
        ("  f:\n  x\nf:\n  x\n", "@@ f:\n-  x\n+  y", "  f:\n  x\nf:\n  y\n"),
        ("  f:\n  x \n", "@@ f:\n-x\n+  y", "  f:\n  y\n"),
        ("a\nb\na\n", "@@\n-b\n+c\n@@\n-a\n+d", "a\nc\nd\n"),
        ("", "@@\n-a\n+b", None),
    ],
)
def test_a_patch_of_apply_patch_is_applied_as_that_does(
    before: str, patch: str, after: str | None
) -> None:
    assert patched(before, patch) == after


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c", "a\nc\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file", "b"),
        ("a", "@@ -1 +1,2 @@\n+b\n a\n\\ No newline at end of file", "b\na"),
        ("a\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file", "c\nb"),
        (
            "a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
            "\\ No newline at end of file", "b",
        ),
    ],
)  # fmt: skip
def test_a_unified_diff_says_whether_a_line_end_closes_the_file(
    before: str, patch: str, after: str
) -> None:
    assert patched(before, patch) == after


def test_a_text_that_is_deleted_may_take_the_end_of_its_line_along() -> None:
    files = known("a\nb\nc")
    files.apply(Edit("f", "b", "", closed=True))
    files.apply(Edit("f", "c", "d"))
    assert content(files) == "a\nd\n"


def test_the_names_above_a_patch_are_no_changes() -> None:
    diff = Files().diff(Edit("f", None, "", patch="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"))
    assert (diff.added, diff.removed) == (1, 1)
    removed = Files().diff(Edit("f", None, "", patch="@@\n--- a\n+++ b\n c"))
    assert (removed.added, removed.removed) == (1, 1)


def test_lines_that_a_patch_takes_out_and_puts_back_are_no_changes() -> None:
    patch = "@@ def g():\n-def g():\n-    return 1\n+def g():\n+    y = 2\n+    return 1\n"
    files = known(FILE)
    diff = files.diff(Edit("f", None, "", patch=patch))
    assert (diff.added, diff.removed) == (1, 0)
    assert "".join(line.sign for line in diff.lines) == "@ + "
    files.apply(Edit("f", None, "", patch=patch))
    assert content(files) == FILE.replace("g():\n", "g():\n    y = 2\n")


def test_what_a_patch_puts_back_in_another_order_or_elsewhere_is_a_change() -> None:
    moved = Files().diff(Edit("f", None, "", patch="@@\n-a\n-b\n+b\n+a"))
    assert (moved.added, moved.removed) == (1, 1)
    lower = Files().diff(Edit("f", None, "", patch="@@\n-a\n b\n+a"))
    assert (lower.added, lower.removed) == (1, 1)


def test_a_moved_file_is_known_by_its_new_name() -> None:
    files = known(FILE)
    patch = "*** Move to: g.py\n@@\n-import x\n+import y"
    assert moved_to(patch) == "g.py"
    files.apply(Edit("f", None, "", patch=patch, action="move"))
    assert content(files) is None
    assert content(files, "g.py") == FILE.replace("x", "y")
    files.apply(Edit("g.py", None, "", patch="*** Move to: h.py", action="move"))
    assert content(files, "h.py") == FILE.replace("x", "y")
    files.apply(Edit("h.py", None, "", action="move"))
    assert content(files, "h.py") is None


def test_the_lines_are_those_of_an_editor() -> None:
    before = "a\fb\n\u2028\nc\r\nd\n"
    diff = known(before).diff(Edit("f", "d", "e"))
    assert diff.lines[0].text == "@@ -1,4 +1,4 @@"


def numbered(numbers: range, modulus: int = 10**9) -> str:
    return "".join(f"{n % modulus}\n" for n in numbers)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (numbered(range(20_000), 97), numbered(range(20_000), 89)),
        ("x\n" * 50_000, "y\n" * 50_000),
        ("x\n" * 50_000, "x\ny\n" * 25_000),
        (numbered(range(30_000)), numbered(range(30_000, 0, -1))),
        ("a" * 3_000_000, "b" * 3_000_000),
    ],
)  # fmt: skip
def test_long_files_are_compared(before: str, after: str) -> None:
    diff = known(before).diff(Edit("f", None, after))
    assert applied(split(before), diff) == split(after)
