"""Codex's tool calls and outputs: scripts of code mode, patches, exit codes of every version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.harnesses.codex import calls, javascript
from kbsite.harnesses.codex.outputs import output
from kbsite.harnesses.codex.records import duration
from kbsite.model.event import Source, ToolCall, ToolKind

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"


def call(tool: str, given: Any) -> ToolCall:
    return calls.call(tool, given, call_id="c", source=Source("f", 1))


@pytest.mark.parametrize(
    ("text", "exit_code", "seconds"),
    [
        ('{"output":"a","metadata":{"exit_code":1,"duration_seconds":0.2}}', 1, 0.2),
        ("Exit code: 0\nWall time: 0.4 seconds\nOutput:\na", 0, 0.4),
        ("Exit code: 0\nWall time: 2 seconds\nTotal output lines: 900\nOutput:\na", 0, 2.0),
        (
            "Chunk ID: 1a\nWall time: 1.25 seconds\nProcess exited with code 137\n"
            "Original token count: 1\nOutput:\na",
            137,
            1.25,
        ),
        (
            "Chunk ID: 1a\nWall time: 5 seconds\nProcess running with session ID 7\nOutput:\n",
            None,
            5.0,
        ),
        ("Script completed\nWall time 0.1 seconds\nOutput:\n", None, 0.1),
        ("aborted by user after 29.7s", None, 29.7),
        ("Wall time: 0.5 seconds\naborted by user", None, 0.5),
        ("Plan updated", None, None),
    ],
)
def test_exit_code_and_time_of_every_version(
    text: str, exit_code: int | None, seconds: float | None
) -> None:
    told = output(text)
    assert (told.exit_code, told.seconds) == (exit_code, seconds)


def test_figures_within_the_output_itself_are_not_taken() -> None:
    told = output("a log\nExit code: 1\nWall time: 3 seconds\n")
    assert (told.exit_code, told.seconds, told.is_error) == (None, None, None)


def test_figures_after_the_head_are_not_taken() -> None:
    told = output("Wall time: 1 seconds\nOutput:\nProcess exited with code 9\n")
    assert (told.exit_code, told.seconds) == (None, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "unsupported call: NoSuchTool",
        "apply_patch verification failed: no such file",
        "aborted by user after 3s",
        "Script failed\nWall time 0.1 seconds\nOutput:\n",
        "Exit code: 1\nWall time: 0 seconds\nOutput:\n",
    ],
)
def test_failure_is_an_error(text: str) -> None:
    assert output(text).is_error is True


@pytest.mark.parametrize(
    "text", ["Plan updated", "", "Process running with session ID 1\nOutput:\n"]
)
def test_outcome_that_is_not_told_stays_unknown(text: str) -> None:
    assert output(text).is_error is None


def test_output_is_kept_whole() -> None:
    text = "Chunk ID: 1a\nWall time: 1 seconds\nOutput:\n" + "x" * 100_000
    assert output(text).text == text


def test_json_that_a_command_printed_stays_as_it_is() -> None:
    text = '{"output": "a", "metadata": {}, "more": 1}'
    assert output(text).text == text


def test_blocks_are_joined_on_lines_of_their_own() -> None:
    told = output([
        {"type": "input_text", "text": "Script completed\nWall time 0.2 seconds\nOutput:\n"},
        {"type": "input_text", "text": "a"},
        {"type": "input_text", "text": "b"},
    ])  # fmt: skip
    assert told.text == "Script completed\nWall time 0.2 seconds\nOutput:\na\nb"
    assert told.seconds == 0.2


def test_pictures_of_an_output_are_kept() -> None:
    told = output([{"type": "input_image", "image_url": "data:image/webp;base64,QQ=="}])
    assert [(image.media_type, image.data) for image in told.images] == [("image/webp", "QQ==")]


@pytest.mark.parametrize(("success", "is_error"), [(True, False), (False, True), (None, None)])
def test_payload_object_tells_of_success(success: bool | None, is_error: bool | None) -> None:
    told = output({"content": "text", "success": success})
    assert (told.text, told.is_error) == ("text", is_error)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ({"secs": 2, "nanos": 5e8}, 2.5),
        (1.5, 1.5),
        ({"secs": "x"}, None),
        (10**400, None),
        (-1, None),
    ],
)
def test_duration_of_a_record(value: Any, seconds: float | None) -> None:
    assert duration(value) == seconds


# Calls


@pytest.mark.parametrize(
    ("tool", "given", "kind", "summary"),
    [
        ("shell", {"command": ["bash", "-lc", "ls"]}, ToolKind.RUN, "ls"),
        ("shell", {"command": ["git", "status"]}, ToolKind.RUN, "git status"),
        ("shell_command", {"command": "ls\npwd"}, ToolKind.RUN, "ls"),
        ("exec_command", {"cmd": "ls", "justification": "why"}, ToolKind.RUN, "ls"),
        ("write_stdin", {"session_id": 7, "chars": "y\n"}, ToolKind.RUN, r"session 7: 'y\n'"),
        ("wait", {"cell_id": "3"}, ToolKind.RUN, "cell 3"),
        ("view_image", {"path": "/a.png"}, ToolKind.READ, "/a.png"),
        ("spawn_agent", {"message": "Look.\nThen"}, ToolKind.AGENT, "Look."),
        ("apply_patch", PATCH, ToolKind.EDIT, "a.py"),
        ("apply_patch", {"input": PATCH}, ToolKind.EDIT, ""),
        ("shell<|channel|>", {"x": 1}, ToolKind.OTHER, ""),
    ],
)
def test_kind_and_summary(tool: str, given: Any, kind: ToolKind, summary: str) -> None:
    found = call(tool, json.dumps(given) if isinstance(given, dict) else given)
    assert (found.tool, found.tool_kind, found.summary) == (tool, kind, summary)


def test_plan_is_summed_up_by_the_step_under_way() -> None:
    plan = [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]
    assert call("update_plan", {"plan": plan}).summary == "b"


@pytest.mark.parametrize("given", [PATCH, {"input": PATCH}])
def test_patch_is_an_edit_of_its_file(given: Any) -> None:
    (edit,) = call("apply_patch", given).edits
    assert (edit.path, edit.action, edit.patch) == ("a.py", "update", "@@\n-x\n+y")


@pytest.mark.parametrize(
    "given",
    [
        {"command": ["apply_patch", PATCH]},
        {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]},
        {"cmd": f"cd /w && apply_patch <<'EOF'\n{PATCH}\nEOF"},
    ],
)
def test_patch_given_to_a_shell_is_an_edit(given: Any) -> None:
    found = call("shell", given)
    assert found.tool_kind is ToolKind.EDIT
    assert [edit.path for edit in found.edits] == ["a.py"]


def test_file_that_shows_a_patch_is_no_edit() -> None:
    assert call("shell", {"command": f"cat <<'EOF'\n{PATCH}\nEOF"}).edits == ()


# Scripts of code mode


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('tools.exec_command({"cmd": "ls"})', {"cmd": "ls"}),
        ("await tools.exec_command({cmd: 'it\\'s', tty: true,})", {"cmd": "it's", "tty": True}),
        ("tools.exec_command({cmd: `a\n${b}`})", {"cmd": "a\n${b}"}),
        ("tools.exec_command({cmd: String.raw`a\\n`})", {"cmd": "a\\n"}),
        ('const cmd = "ls"; tools.exec_command({cmd})', {"cmd": "ls"}),
        ('const c={tty:true}; tools.exec_command({...c,cmd:"ls"})', {"tty": True, "cmd": "ls"}),
        ('tools.exec_command({cmd: "a" + " " + "b"})', {"cmd": "a b"}),
        ('tools.exec_command({cmd: ["a", "b"].join("\\n")})', {"cmd": "a\nb"}),
        ("tools.exec_command({ /* run */ cmd: 'ls' // it\n})", {"cmd": "ls"}),
        ("tools.exec_command({a: -1.5, b: 7, c: null, d: [1, 'x']})",
         {"a": -1.5, "b": 7, "c": None, "d": [1, "x"]}),
        (r'tools.exec_command({cmd: "\ud83d\ude80\x41\u{1F600}\0"})', {"cmd": "🚀A😀\0"}),
        ("tools.exec_command(make())", ""),
        ("tools.exec_command({cmd: make()})", ""),
        ("tools.exec_command({cmd: 'never ends", ""),
        ("tools.exec_command(", ""),
    ],
)  # fmt: skip
def test_argument_of_a_nested_call(script: str, expected: Any) -> None:
    assert javascript.calls(script) == [("exec_command", expected)]


def test_nested_calls_are_found_in_order() -> None:
    script = 'const a = await tools.exec_command({cmd: "x"});\ntext(await tools.update_plan({}))'
    assert [name for name, _ in javascript.calls(script)] == ["exec_command", "update_plan"]


def test_script_is_summed_up_by_its_first_command() -> None:
    found = call("exec", 'tools.exec_command({cmd: "ls"}); tools.exec_command({cmd: "pwd"})')
    assert (found.tool_kind, found.summary) == (ToolKind.RUN, "ls (+1 more)")
    assert isinstance(found.arguments, str)


def test_script_with_a_patch_is_an_edit() -> None:
    script = f"const patch = {json.dumps(PATCH)};\ntext(await tools.apply_patch(patch));"
    found = call("exec", script)
    assert (found.tool_kind, found.summary) == (ToolKind.EDIT, "a.py")
    assert [edit.patch for edit in found.edits] == ["@@\n-x\n+y"]


def test_script_that_computes_its_patch_is_a_run() -> None:
    found = call("exec", "await tools.apply_patch(make())")
    assert (found.tool_kind, found.edits) == (ToolKind.RUN, ())


def test_script_of_one_kind_has_that_kind() -> None:
    assert call("exec", "tools.web__run({search_query: [{q: 'x'}]})").tool_kind is ToolKind.WEB


def test_script_that_calls_nothing_is_shown_by_its_first_line() -> None:
    found = call("exec", "const x = 1;\ntext(x)")
    assert (found.summary, found.edits) == ("const x = 1;", ())


@pytest.mark.parametrize(
    "script",
    [
        "tools.a(" + "[" * 5000,
        "tools.a({" + '"a":{' * 5000,
        "tools.a('" * 3000,
        "const a = `" * 3000,
        "tools.a({...tools})",
        r'tools.a("\u{FFFFFF}\ud800")',
    ],
)
def test_hostile_scripts_are_survived(script: str) -> None:
    assert call("exec", script).tool == "exec"


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="tols.ac(){}[]:,+`'\"\\u0n ${}=const\n", max_size=60))
def test_arbitrary_scripts_never_raise(script: str) -> None:
    javascript.calls("tools.a(" + script)


@settings(max_examples=80, deadline=None)
@given(st.recursive(st.text(max_size=6) | st.booleans() | st.none(),
                    lambda inner: st.dictionaries(st.text(max_size=4), inner, max_size=3),
                    max_leaves=6))  # fmt: skip
def test_json_is_read_as_javascript(value: Any) -> None:
    (found,) = javascript.calls(f"tools.a({json.dumps({'v': value})})")
    assert found == ("a", {"v": value})
