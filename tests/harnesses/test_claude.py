"""Claude Code's session log: what people, the model and the tools say."""

from __future__ import annotations

from typing import Any

import pytest

from kbsite.model.event import (
    Finish,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Unknown,
)
from tests.harnesses.claude_rows import (
    assistant,
    call,
    of,
    only,
    read,
    result,
    used,
    user,
)

# What people and the model say


def test_a_prompt_is_a_message_of_the_user() -> None:
    said = only(Message, read(user("Write solution.py")))

    assert (said.role, said.text, said.injected) == (Role.USER, "Write solution.py", False)


def test_every_block_of_a_message_is_an_event_of_its_own() -> None:
    events = read(
        assistant(
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "Look first."},
            call("c1", "Bash", command="ls -la"),
        )
    )

    assert [e.kind for e in events] == ["session", "thought", "message", "call"]
    assert [e.source.part for e in events] == [0, 1, 2, 3]


def test_a_message_carries_the_model_that_wrote_it() -> None:
    said = only(Message, read(assistant({"type": "text", "text": "Done."})))

    assert (said.role, said.model) == (Role.ASSISTANT, "scripted-1")


def test_a_row_has_its_time() -> None:
    at = only(Message, read(user("x"))).at

    assert at is not None
    assert at.isoformat() == "2026-11-21T05:14:04.862000+00:00"


@pytest.mark.parametrize(
    ("block", "text", "encrypted"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, "hm", False),
        ({"type": "thinking", "thinking": "", "signature": "c2ln"}, "", True),
        ({"type": "thinking", "thinking": ""}, "", False),
        ({"type": "redacted_thinking", "data": "b3BhcXVl"}, "", True),
    ],
)
def test_thinking_says_whether_it_is_sealed(
    block: dict[str, Any], text: str, encrypted: bool
) -> None:
    thought = only(Thought, read(assistant(block)))

    assert (thought.text, thought.encrypted) == (text, encrypted)


def test_pictures_of_a_prompt_are_kept() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    shown, said = of(Message, read(user([{"type": "image", "source": source}, "what is it?"])))

    assert [(p.media_type, p.data) for p in shown.images] == [("image/png", "iVBORw0KGgo=")]
    assert said.text == "what is it?"


@pytest.mark.parametrize("flag", ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"])
def test_what_the_cli_says_in_the_users_place_is_injected(flag: str) -> None:
    assert only(Message, read(user("The summary so far", **{flag: True}))).injected


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>\nBe brief.\n</system-reminder>",
        "<local-command-stdout>Goodbye!</local-command-stdout>",
        "<task-notification>\n<task-id>a1</task-id>",
    ],
)
def test_reminders_and_outputs_in_user_rows_are_injected(text: str) -> None:
    assert only(Message, read(user([{"type": "text", "text": text}]))).injected


def test_a_row_that_no_person_started_is_injected() -> None:
    assert only(Message, read(user("done", origin={"kind": "task-notification"}))).injected
    assert not only(Message, read(user("done", origin={"kind": "human"}))).injected


def test_an_interruption_is_a_notice() -> None:
    told = only(Notice, read(user([{"type": "text", "text": "[Request interrupted by user]"}])))

    assert told.topic is Topic.INTERRUPTION


def test_a_session_that_somebody_interrupted_ended_so_and_no_sub_agent_of_it() -> None:
    stopped = user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    end = only(Finish, read(stopped))

    assert (end.ok, end.reason, end.stopped) == (False, "interrupted", True)
    assert not of(Finish, read({**stopped, "isSidechain": True, "agentId": "a1"}))


def test_an_error_in_the_models_place_is_a_notice() -> None:
    row = assistant(
        {"type": "text", "text": "API Error: 401 no key"},
        message={"model": "<synthetic>", "usage": used(0)},
        isApiErrorMessage=True,
    )
    events = read(row)

    assert only(Notice, events).topic is Topic.ERROR
    assert not of(TokenUse, events)
    assert {s.model for s in of(Session, events)} <= {""}


def test_an_error_of_the_providers_ends_the_turn() -> None:
    row = assistant(
        {"type": "text", "text": "You've hit your limit"},
        message={"model": "<synthetic>", "usage": used(0)},
        isApiErrorMessage=True,
        error="rate_limit",
    )
    end = only(Finish, read(row))

    assert (end.ok, end.reason) == (False, "rate_limit")
    assert not of(Finish, read({**row, "isApiErrorMessage": False}))
    assert not of(Finish, read({**row, "isSidechain": True, "agentId": "a1"}))


def test_other_text_in_the_models_place_is_the_clis_own() -> None:
    row = assistant(
        {"type": "text", "text": "No response requested."}, message={"model": "<synthetic>"}
    )
    said = only(Message, read(row))

    assert (said.role, said.injected) == (Role.SYSTEM, True)


def test_a_change_of_model_within_a_message_is_told() -> None:
    block = {"type": "fallback", "from": {"model": "big"}, "to": {"model": "small"}}

    told = only(Notice, read(assistant(block)))
    assert (told.text, told.of_model) == ("Model: big → small", True)


# Calls and results


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Bash", ToolKind.RUN), ("PowerShell", ToolKind.RUN), ("Read", ToolKind.READ),
        ("MultiEdit", ToolKind.EDIT), ("Grep", ToolKind.SEARCH), ("WebFetch", ToolKind.WEB),
        ("Task", ToolKind.AGENT), ("Agent", ToolKind.AGENT), ("TodoWrite", ToolKind.PLAN),
        ("TaskUpdate", ToolKind.PLAN), ("mcp__linear__get_issue", ToolKind.OTHER),
    ],
)  # fmt: skip
def test_tools_of_all_versions_have_a_kind(tool: str, kind: ToolKind) -> None:
    assert only(ToolCall, read(assistant(call("c", tool)))).tool_kind is kind


def test_a_call_keeps_its_arguments_whole() -> None:
    made = only(ToolCall, read(assistant(call("c1", "Bash", command="ls -la", timeout=5))))

    assert (made.call_id, made.summary) == ("c1", "ls -la")
    assert made.arguments == {"command": "ls -la", "timeout": 5}


def test_a_cell_of_a_notebook_is_an_edit() -> None:
    given = {"notebook_path": "/n.ipynb", "cell_id": "1", "new_source": "print(1)"}
    made = only(ToolCall, read(assistant(call("c", "NotebookEdit", **given))))

    assert [(e.path, e.patch) for e in made.edits] == [("/n.ipynb", "+print(1)")]


def test_a_call_that_the_model_garbled_is_kept_as_text() -> None:
    block = {"type": "tool_use", "id": "c", "name": "Bash", "input": '{"command": "ls'}

    assert only(ToolCall, read(assistant(block))).arguments == '{"command": "ls'


def test_calls_that_the_provider_runs_itself_have_results_too() -> None:
    events = read(
        assistant(
            {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "w", "content": [
                {"type": "web_search_result", "url": "https://example.org", "title": "T"}]},
        )
    )  # fmt: skip

    assert only(ToolCall, events).tool_kind is ToolKind.WEB
    assert "https://example.org" in only(ToolResult, events).output
    assert not of(Unknown, events)


def test_text_parts_of_a_result_are_joined() -> None:
    parts = [
        {"type": "text", "text": "one"},
        {"type": "tool_reference", "tool_name": "Edit"},
        "two",
    ]

    assert only(ToolResult, read(user([result("c", parts)]))).output == "one\nEdit\ntwo"


def test_a_picture_in_a_result_is_kept() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    got = only(ToolResult, read(user([result("c", [{"type": "image", "source": source}])])))

    assert [p.data for p in got.images] == ["iVBORw0KGgo="]


def test_a_part_of_unknown_type_is_shown_and_counted() -> None:
    events = read(user([result("c", [{"type": "hologram", "volume": "v"}])]))

    assert "hologram" in only(ToolResult, events).output
    assert only(Unknown, events).type == "tool_result/hologram"


@pytest.mark.parametrize(("told", "known"), [(True, True), (False, False), ("yes", None)])
def test_a_result_says_whether_it_is_an_error(told: object, known: bool | None) -> None:
    assert only(ToolResult, read(user([result("c", "x", is_error=told)]))).is_error is known


def test_a_result_without_the_flag_is_no_error() -> None:
    assert only(ToolResult, read(user([result("c", "x")]))).is_error is False


def test_the_exit_code_is_read_from_the_error() -> None:
    failed = user([result("c", "Exit code 3\nno such file", is_error=True)])
    quoted = user([result("c", "Exit code 3\nsays the manual")])

    assert only(ToolResult, read(failed)).exit_code == 3
    assert only(ToolResult, read(quoted)).exit_code is None


def test_the_exit_code_is_read_from_the_clis_copy() -> None:
    for rich in ({"exitCode": 143}, {"task": {"exitCode": 143}}, {"exit_code": 143}):
        got = only(ToolResult, read(user([result("c", "x")], toolUseResult=rich)))
        assert got.exit_code == 143


def test_the_time_that_a_tool_took_is_in_seconds() -> None:
    for rich in ({"durationMs": 1500}, {"totalDurationMs": 1500}, {"durationSeconds": 1.5}):
        assert only(ToolResult, read(user([result("c", "x")], toolUseResult=rich))).seconds == 1.5


def test_a_cut_output_keeps_the_longer_copy_and_the_file() -> None:
    output = "<persisted-output>\nFull output saved to: /home/agent/r.txt\n\nPreview:\n1\n2"
    rich = {"stdout": "1\n2\n3\n4", "stderr": "", "persistedOutputPath": "/home/agent/r.txt"}
    got = only(ToolResult, read(user([result("c", output)], toolUseResult=rich)))

    assert got.recorded == rich
    assert got.side_files == ("/home/agent/r.txt",)


def test_a_sub_agents_cut_output_names_its_file_in_the_text() -> None:
    output = "<persisted-output>\nFull output saved to: /home/agent/r.txt\n\nPreview:\n1"

    assert only(ToolResult, read(user([result("c", output)]))).side_files == ("/home/agent/r.txt",)


@pytest.mark.parametrize(
    "rest", ["", ". You will be notified when it completes. To check, Read it."]
)
def test_a_command_in_the_background_names_its_file_and_no_sentence_after_it(rest: str) -> None:
    output = "Command running in background with ID: b1. Output is being written to: /t/b 1.output"
    got = only(ToolResult, read(user([result("c", output + rest)])))

    assert got.side_files == ("/t/b 1.output",)


def test_words_about_a_saved_output_are_no_side_file() -> None:
    got = only(ToolResult, read(user([result("c", "1→Full output saved to: nowhere")])))

    assert got.side_files == ()


@pytest.mark.parametrize(
    ("output", "rich"),
    [
        ("hello", {"stdout": "hello", "stderr": "", "interrupted": False, "isImage": False}),
        ("Exit code 1\nno", "Error: Exit code 1\nno"),
        ("     1→a\n     2→b", {"type": "text", "file": {"filePath": "/x", "content": "a\nb"}}),
        ("made", {"type": "create", "filePath": "/x", "content": "long", "structuredPatch": []}),
    ],
)
def test_a_copy_that_says_no_more_is_not_kept(output: str, rich: object) -> None:
    assert only(ToolResult, read(user([result("c", output)], toolUseResult=rich))).recorded == ""


@pytest.mark.parametrize(
    ("output", "told", "lines"),
    [
        ("1\ta = 1\n2\t", {}, 2),
        ("     1→a = 1\n     2→\n\n<system-reminder>\nx\n</system-reminder>\n", {}, 2),
        ("1\ta = 1\n2\t", {"totalLines": 3}, 0),
        ("2\ta = 1\n3\t", {"startLine": 2}, 0),
        ("1\ta = 1\n2\t", {"numLines": 3, "totalLines": 3}, 0),
        ("1\tanother\n2\t", {}, 0),
    ],
)
def test_what_is_all_of_a_file_is_told(output: str, told: dict[str, int], lines: int) -> None:
    """The separator is a tab since 2.1.119; what is read of a part of a file is not all of it."""
    file = {
        "filePath": "/w/f.py",
        "content": "a = 1\n",
        "numLines": 2,
        "startLine": 1,
        "totalLines": 2,
    }
    rich = {"type": "text", "file": {**file, **told}}
    got = only(ToolResult, read(user([result("c", output)], toolUseResult=rich)))
    assert got.whole_lines == lines


def test_the_clis_own_diff_is_kept() -> None:
    patch = [{"oldStart": 1, "newStart": 1, "lines": ["-a - b", "+a + b"]}]
    rich = {"filePath": "/x", "structuredPatch": patch}
    got = only(ToolResult, read(user([result("c", "updated")], toolUseResult=rich)))

    assert got.recorded == rich


@pytest.mark.parametrize("content", ["text", ["text"], [{"type": "odd"}], 17, None])
def test_the_copy_of_a_result_that_is_not_in_its_row_is_shown(content: object) -> None:
    row = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": content}}
    unknown = [
        e for e in read({**row, "toolUseResult": {"stdout": "4 passed"}}) if isinstance(e, Unknown)
    ]

    assert '"4 passed"' in unknown[-1].raw
    assert sum("4 passed" in e.raw for e in unknown) == 1
