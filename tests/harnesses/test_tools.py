"""Tool calls of every CLI, brought to one shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.edits import Files
from kbsite.harnesses import tools
from kbsite.model.event import Edit, Source, ToolCall, ToolKind

KINDS = {"Write": ToolKind.WRITE, "Edit": ToolKind.EDIT, "Bash": ToolKind.RUN}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = [
    "file_path", "filePath", "path", "content", "file_text", "old_string", "oldString", "new",
    "new_str", "edits", "edit", "patch", "patchText", "input", "command", "replace_all",
]  # fmt: skip


def called(tool: str, given_arguments: object) -> ToolCall:
    return tools.call(KINDS, tool, given_arguments, source=Source("f", 1), call_id="c1", agent="a1")


def edited(**given_arguments: Any) -> tuple[Edit, ...]:
    return tools.edits(ToolKind.EDIT, given_arguments)


def test_a_call_gets_the_kind_that_its_cli_lists() -> None:
    assert called("Bash", {"command": "ls"}).tool_kind is ToolKind.RUN


def test_a_tool_that_the_cli_does_not_list_is_of_another_kind() -> None:
    assert called("mcp__x", {}).tool_kind is ToolKind.OTHER


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("https://example.org/a", ToolKind.WEB), ("HTTP://example.org", ToolKind.WEB),
        ("a.py", ToolKind.READ), ("notes/https://x", ToolKind.READ), ("https:", ToolKind.READ),
    ],
)  # fmt: skip
def test_what_reads_files_and_is_given_a_page_of_the_web_is_a_web_tool(
    path: str, kind: ToolKind
) -> None:
    assert tools.call({"read": ToolKind.READ}, "read", {"path": path}, source=Source("f", 1),
                      call_id="c").tool_kind is kind  # fmt: skip
    assert called("Write", {"path": path, "content": "x"}).tool_kind is ToolKind.WRITE


def test_the_rest_of_the_event_is_passed_on() -> None:
    call = called("Bash", {"command": "ls"})

    assert (call.source, call.call_id, call.agent) == (Source("f", 1), "c1", "a1")


def test_arguments_that_are_json_text_are_read() -> None:
    assert tools.arguments('{"command": "ls"}') == {"command": "ls"}


@pytest.mark.parametrize("broken", ['{"command": "ls', "ls -la", "[1, 2]", "", "1" * 5000])
def test_arguments_that_are_no_json_object_stay_text(broken: str) -> None:
    assert tools.arguments(broken) == broken


def test_arguments_nested_without_end_stay_text() -> None:
    deep = '{"a":' * 100_000

    assert tools.arguments(deep) == deep


def test_arguments_of_another_type_become_text() -> None:
    assert tools.arguments(["ls", "-la"]) == '["ls", "-la"]'


def test_missing_arguments_are_empty_text() -> None:
    assert tools.arguments(None) == ""


@pytest.mark.parametrize(
    ("given_arguments", "line"),
    [
        ({"command": "make test\nmake lint"}, "make test"),
        ({"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ({"command": [1, {"a": 2}]}, "1 {'a': 2}"),
        ({"filePath": "/w/a.py", "content": "x"}, "/w/a.py"),
        ({"pattern": "*.py", "path": "src"}, "src"),
        ({"description": "look around", "prompt": "long"}, "look around"),
        ({"subject": "Do it", "description": "all of it"}, "Do it"),
        ({"objective": "win"}, "win"),
        ({"command": "   ", "query": "cats"}, "cats"),
        ({"command": 3, "url": None}, ""),
        ({}, ""),
        ("*** Begin Patch\n*** End Patch", "*** Begin Patch"),
    ],
)
def test_the_summary_is_the_first_line_of_what_the_call_is_about(
    given_arguments: Any, line: str
) -> None:
    assert tools.summary(given_arguments) == line


@pytest.mark.parametrize("key", ["content", "file_text"])
def test_writing_a_file_is_an_edit_without_an_old_text(key: str) -> None:
    written = tools.edits(ToolKind.WRITE, {"file_path": "a.py", key: "x = 1\n"})

    assert written == (Edit("a.py", None, "x = 1\n"),)


def test_writing_an_empty_file_is_an_edit() -> None:
    assert tools.edits(ToolKind.WRITE, {"path": "a", "content": ""}) == (Edit("a", None, ""),)


@pytest.mark.parametrize(
    "keys",
    [
        ("file_path", "old_string", "new_string", "replace_all"),
        ("filePath", "oldString", "newString", "replaceAll"),
        ("path", "old_str", "new_str", "replace_all"),
        ("path", "old", "new", "replace_all"),
    ],
)
def test_replacing_text_is_an_edit_in_every_spelling(keys: tuple[str, ...]) -> None:
    path, old, new, every = keys

    assert edited(**{path: "a.py", old: "x", new: "y", every: True}) == (
        Edit("a.py", "x", "y", every=True),
    )


@pytest.mark.parametrize("said", ["false", 1, None, [True]])
def test_only_true_replaces_every_occurrence(said: object) -> None:
    assert not edited(path="a", old="x", new="y", replace_all=said)[0].every


@pytest.mark.parametrize(
    ("said", "every"),
    [({"expected_replacements": 3}, True), ({"expected_replacements": 1}, False),
     ({"allow_multiple": True}, True), ({"allow_multiple": False}, False),
     ({"change_all": True}, True)],
)  # fmt: skip
def test_replacing_every_occurrence_has_other_names_too(
    said: dict[str, object],
    every: bool,
) -> None:
    assert edited(path="a", old="x", new="y", **said)[0].every is every


def test_several_replacements_of_one_file_are_an_edit_each() -> None:
    several = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]

    assert edited(file_path="f", edits=several) == (Edit("f", "a", "b"), Edit("f", "c", "d"))


def test_a_replacement_with_a_path_of_its_own_keeps_it() -> None:
    several = [{"filePath": "g", "oldString": "a", "newString": "b"}]

    assert edited(filePath="f", edits=several) == (Edit("g", "a", "b"),)


@pytest.mark.parametrize("one", [{"old": "a", "new": "b"}, [{"old": "a", "new": "b"}]])
def test_kimis_edit_may_be_an_object_or_a_list(one: object) -> None:
    assert edited(path="f", edit=one) == (Edit("f", "a", "b"),)


def test_deleting_text_is_an_edit_with_nothing_new() -> None:
    assert edited(path="f", old_str="gone") == (Edit("f", "gone", ""),)


def test_inserting_text_leaves_a_file_that_nobody_knows() -> None:
    (inserted,) = edited(command="insert", path="f", insert_line=3, insert_text="new\nline\n")
    files = Files()

    assert inserted == Edit("f", None, "", patch="+new\n+line")
    assert files.applied((inserted,))[0].added == 2
    assert files.content("f") is None


def test_viewing_a_file_with_the_editing_tool_is_no_edit() -> None:
    assert edited(command="view", path="f", view_range=[1, 9]) == ()


def test_a_notebook_cell_is_an_edit() -> None:
    assert edited(notebook_path="n.ipynb", new_source="x")[0].path == "n.ipynb"


@pytest.mark.parametrize("kind", [ToolKind.RUN, ToolKind.READ, ToolKind.OTHER])
def test_a_tool_that_does_not_write_has_no_edits(kind: ToolKind) -> None:
    assert tools.edits(kind, {"path": "f", "content": "x"}) == ()


@pytest.mark.parametrize(
    "given_arguments",
    [
        {"path": 5, "old_str": "x"},
        {"path": "f", "old_str": 1, "new_str": ["x"]},
        {"path": "f", "edits": "text"},
        {"path": "f", "edits": [1, None, "x", []]},
        {"path": "f", "content": {"a": 1}},
        {"patch": 7},
        {"old_str": "x", "new_str": "y"},
        {},
    ],
)
def test_arguments_of_the_wrong_types_ask_for_no_edit(given_arguments: dict[str, Any]) -> None:
    assert edited(**given_arguments) == ()


PATCH = """*** Begin Patch
*** Add File: new file.py
+one
+
+two
*** Update File: old.py
@@ def f():
-    return 1
+    return 2
*** Update File: from.py
*** Move to: to.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch
"""


def test_a_patch_is_an_edit_for_each_file() -> None:
    assert [(edit.path, edit.action) for edit in tools.patch_edits(PATCH)] == [
        ("new file.py", "add"),
        ("old.py", "update"),
        ("from.py", "move"),
        ("gone.py", "delete"),
    ]


def test_a_patch_without_changes_leaves_its_file_as_it_is() -> None:
    (edit,) = tools.patch_edits("*** Begin Patch\n*** Update File: f\n*** End Patch\n")
    assert (edit.new, edit.patch) == ("", "@@")


def test_a_file_that_a_patch_adds_has_its_whole_text() -> None:
    added = tools.patch_edits(PATCH)[0]

    assert (added.old, added.new, added.patch) == (None, "one\n\ntwo\n", "")


def test_a_file_that_a_patch_changes_has_its_hunks() -> None:
    assert tools.patch_edits(PATCH)[1].patch == "@@ def f():\n-    return 1\n+    return 2"


def test_a_move_says_where_to() -> None:
    assert tools.patch_edits(PATCH)[2].patch.startswith("*** Move to: to.py\n@@")


@pytest.mark.parametrize("key", ["patch", "patchText", "input"])
def test_a_patch_is_found_under_the_name_that_each_cli_gives_it(key: str) -> None:
    assert len(edited(**{key: PATCH})) == 4


def test_a_patch_may_be_the_whole_of_the_arguments() -> None:
    assert len(tools.edits(ToolKind.EDIT, PATCH)) == 4


def test_a_patch_that_was_cut_still_shows_what_is_there() -> None:
    cut = PATCH[: PATCH.index("    return 2")]

    assert [edit.path for edit in tools.patch_edits(cut)] == ["new file.py", "old.py"]


def test_what_stands_after_a_patch_is_no_part_of_it() -> None:
    assert tools.patch_edits(PATCH + "EOF\n")[-1].patch == ""


def test_a_form_feed_does_not_end_a_line_of_a_patch() -> None:
    patch = "*** Begin Patch\n*** Add File: f\n+a\x0cb\u2028c\n*** End Patch"

    assert tools.patch_edits(patch)[0].new == "a\x0cb\u2028c\n"


def test_carriage_returns_of_a_patch_stay_with_its_text_only() -> None:
    patch = PATCH.replace("\n", "\r\n")

    assert tools.patch_edits(patch)[0].path == "new file.py"
    assert tools.patch_edits(patch)[0].new == "one\r\n\r\ntwo\r\n"


def test_text_that_is_no_patch_has_no_edits() -> None:
    assert tools.patch_edits("please change the file\n+x") == ()


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON)
def test_no_arguments_whatever_raise(given_arguments: object) -> None:
    for tool in KINDS:
        assert isinstance(called(tool, given_arguments), ToolCall)
