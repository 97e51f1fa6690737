"""Codex's rollout files: every layout and version, rows that repeat or complete others."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.steps import Fold
from kbsite.fold.tokens import Ledger
from kbsite.harnesses import codex
from kbsite.harnesses.codex.happenings import _HANDLERS, _NOTICES, _TRACES
from kbsite.harnesses.codex.records import _EVENTS, _ITEMS
from kbsite.harnesses.codex.responses import KNOWN
from kbsite.harnesses.codex.window import ROWS
from kbsite.harnesses.lines import Line, lines
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from kbsite.model.transcript import Step
from kbsite.model.usage import Usage

ROLLOUT, PRINTED = codex.FORMATS
AT = "2026-01-02T03:04:05.000Z"


def parsed(data: bytes) -> list[Event]:
    return list(ROLLOUT.parse(lines(io.BytesIO(data)), "rollout/a.jsonl"))


def events(*rows: Any) -> list[Event]:
    return parsed(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def row(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def item(kind: str, /, **payload: Any) -> dict[str, Any]:
    return row("response_item", type=kind, **payload)


def event(kind: str, /, **payload: Any) -> dict[str, Any]:
    return row("event_msg", type=kind, **payload)


def done(kind: str, /, **payload: Any) -> dict[str, Any]:
    return event("item_completed", item={"type": kind, **payload})


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def meta(**payload: Any) -> dict[str, Any]:
    return row("session_meta", id="t1", cwd="/w", cli_version="0.100.0", source="exec", **payload)


def called(call_id: str = "c1", name: str = "exec_command", **given: Any) -> dict[str, Any]:
    return item("function_call", name=name, call_id=call_id, arguments=json.dumps(given))


def answered(output: Any, call_id: str = "c1") -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=output)


def tokens(sent: int, cached: int, output: int, reasoning: int) -> dict[str, Any]:
    return {
        "input_tokens": sent,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": sent + output,
    }


def only(kind: type[Any], found: list[Event]) -> Any:
    (one,) = [event for event in found if isinstance(event, kind)]
    return one


# Sessions and agents


def test_what_the_model_was_told_of_an_apps_tools_is_told() -> None:
    tools = [{"name": "remind", "description": "Reminds.", "inputSchema": {}}]
    session = only(Session, events(meta(dynamic_tools=tools)))

    assert session.tools == ("remind",)
    assert session.definitions.startswith("# remind\n\nReminds.\n\n{")


def test_session_row_names_the_thread_the_folder_and_the_version() -> None:
    session = only(Session, events(meta()))
    assert (session.session_id, session.cwd, session.harness_version) == ("t1", "/w", "0.100.0")
    assert session.at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_model_and_effort_come_from_the_turn_and_may_change() -> None:
    found = events(
        meta(),
        row("turn_context", model="m1", effort="high", cwd="/w"),
        row("turn_context", model="m2", cwd="/w"),
    )
    sessions = [event for event in found if isinstance(event, Session)]
    assert [(one.model, one.effort) for one in sessions] == [("", ""), ("m1", "high"), ("m2", "")]
    assert {one.session_id for one in sessions} == {"t1"}


def test_effort_is_found_in_the_collaboration_settings_too() -> None:
    mode = {"settings": {"reasoning_effort": "xhigh"}}
    turn = only(Session, events(row("turn_context", model="m", collaboration_mode=mode)))
    assert turn.effort == "xhigh"


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("base_instructions", {"text": "Be brief."}),
        ("base_instructions", "Be brief."),
        ("instructions", "Be brief."),
    ],
)
def test_instructions_are_an_injected_system_message(key: str, told: Any) -> None:
    message = only(Message, events(meta(**{key: told})))
    assert (message.role, message.text, message.injected) == (Role.SYSTEM, "Be brief.", True)


def test_main_thread_has_no_agent_id() -> None:
    assert {event.agent for event in events(meta(), said("user", "hi"))} == {""}


@pytest.mark.parametrize(
    "origin",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "t0", "depth": 1}}}},
        {"parent_thread_id": "t0", "source": {"subagent": "review"}},
        {"parent_thread_id": "t0", "thread_source": "subagent"},
    ],
)
def test_child_thread_is_an_agent_with_a_parent(origin: dict[str, Any]) -> None:
    first = row("session_meta", id="t1", **origin)
    found = events(first, said("assistant", "hello"), "not an object")
    assert {event.agent for event in found} == {"t1"}
    assert only(Session, found).parent_session == "t0"


def test_copied_session_row_of_the_parent_does_not_rename_a_child() -> None:
    child = row("session_meta", id="t1", source={"subagent": {"thread_spawn": {}}})
    found = events(child, meta(), said("assistant", "hello"))
    assert {event.agent for event in found} == {"t1"}


CHILD, PARENT = "01a21d3c-fa2a-7822-9e26-c9074aed55e5", "01a21d3c-f3ac-7cc1-919b-2e3f6adcd19a"
OLD_TURN, NEW_TURN = "01a21d3c-f3d7-7a81-bd93-83936d427427", "01a21d3c-facf-7f13-8eb5-b9ce89d23786"


def forked(*rows: dict[str, Any]) -> list[Event]:
    """A sub-agent's file that starts with a copy of its parent's, then says "mine"."""
    return events(
        row("session_meta", id=CHILD, parent_thread_id=PARENT, forked_from_id=PARENT),
        row("session_meta", id=PARENT, source="exec"),
        event("task_started", turn_id=OLD_TURN),
        row("turn_context", turn_id=OLD_TURN, model="m"),
        *rows,
        event("turn_aborted", turn_id=OLD_TURN, reason="interrupted"),
        said("developer", "You are new."),
        event("task_started", turn_id=NEW_TURN),
        said("assistant", "mine"),
    )


def test_what_a_sub_agent_was_given_of_its_parents_session_is_not_told_twice() -> None:
    copied = {"metadata": {"inherited_user_message": True}}
    found = forked(
        said("user", "of the parent") | copied, called(name="spawn_agent", message="x") | copied
    )
    traces = {event.type for event in found if isinstance(event, Trace)}

    assert [m.text for m in found if isinstance(m, Message)] == ["You are new.", "mine"]
    assert only(Notice, found).text.startswith("It starts with a copy")
    assert not any(isinstance(event, ToolCall | ToolResult | Finish) for event in found)
    assert only(Session, found).session_id == CHILD
    assert traces > {"inherited/message", "inherited/function_call", "inherited/turn_context"}


def test_copies_that_nothing_marks_end_with_the_first_turn_of_its_own() -> None:
    found = forked(said("user", "of the parent"))

    assert [m.text for m in found if isinstance(m, Message)] == ["mine"]


def test_a_session_that_a_person_forked_is_told_whole() -> None:
    copied = {"metadata": {"inherited_user_message": True}}
    found = events(meta(forked_from_id="t0"), meta(), said("user", "before") | copied)

    assert [m.text for m in found if isinstance(m, Message)] == ["before"]


def test_a_session_that_a_person_forked_goes_on_with_the_count_of_the_other() -> None:
    count = event("token_count", info={"total_token_usage": tokens(1000, 600, 80, 30)})
    own = only(TokenUse, events(meta(forked_from_id="t0"), meta(), count))
    assert (own.message_id, own.continues) == ("t1", "t0")
    child = row("session_meta", id=CHILD, parent_thread_id=PARENT, forked_from_id=PARENT)
    theirs = only(TokenUse, events(child, count))
    assert (theirs.agent, theirs.continues) == (CHILD, "")


def test_agent_start_is_told_by_the_output_of_spawn_agent() -> None:
    found = events(
        called(name="spawn_agent", message="look"),
        answered(json.dumps({"agent_id": "t2", "nickname": "Noether"})),
    )
    start = only(AgentStart, found)
    assert (start.child, start.call_id, start.title, start.agent) == ("t2", "c1", "Noether", "")


def test_agent_start_is_told_once_where_two_rows_tell_it() -> None:
    found = events(
        called(name="spawn_agent", message="look"),
        done(
            "CollabAgentToolCall",
            id="c1",
            tool="spawn_agent",
            receiver_thread_ids=["t2"],
            receiver_agents=[{"thread_id": "t2", "agent_nickname": "Noether"}],
        ),
        answered(json.dumps({"agent_id": "t2"})),
    )
    assert only(AgentStart, found).title == "Noether"


@pytest.mark.parametrize("tool", ["spawnAgent", "spawn_agent"])
def test_agent_started_by_a_script_is_tied_to_the_nested_call(tool: str) -> None:
    found = events(
        done(
            "CollabAgentToolCall",
            id="exec-1",
            tool=tool,
            receiver_thread_ids=["t2"],
            prompt="Go\non",
        )
    )
    start, call = only(AgentStart, found), only(ToolCall, found)
    assert start.call_id == call.call_id == "exec-1"
    assert start.title == "Go"
    assert call.tool_kind is ToolKind.AGENT


def test_agent_start_event_of_older_versions() -> None:
    found = events(
        called(name="spawn_agent", message="look"),
        event("collab_agent_spawn_end", call_id="c1", new_thread_id="t2", prompt="look"),
    )
    assert only(AgentStart, found).child == "t2"


def test_agent_activity_row_tells_of_the_start_only() -> None:
    found = events(
        done(
            "SubAgentActivity", id="c1", kind="started", agent_thread_id="t2", agent_path="/root/a"
        ),
        done("SubAgentActivity", id="c2", kind="interacted", agent_thread_id="t3"),
    )
    assert only(AgentStart, found).child == "t2"


# Messages


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/w</cwd>",
        "# AGENTS.md instructions for /w\n",
        "<user_instructions>\nx",
        "<turn_aborted>\nx",
        "<subagent_notification>\n{}",
    ],
)
def test_notes_of_the_cli_under_the_users_role_are_injected(text: str) -> None:
    message = only(Message, events(said("user", text)))
    assert (message.role, message.injected) == (Role.USER, True)


def test_prompt_is_not_injected() -> None:
    assert not only(Message, events(said("user", "<b>Write</b> a kernel"))).injected


def test_provenance_outweighs_the_looks_of_a_text() -> None:
    told = {"content_item_metadata": [{"provenance": {"type": "user"}}]}
    found = events(
        item(
            "message",
            role="user",
            content=[{"type": "input_text", "text": "<skill> is what I typed"}],
            internal_chat_message_metadata_passthrough=told,
        )
    )
    assert not only(Message, found).injected


def test_message_of_both_sources_is_split() -> None:
    blocks = [
        {"type": "input_text", "text": "<environment_context>"},
        {"type": "input_text", "text": "Do it."},
    ]
    found = events(item("message", role="user", content=blocks))
    assert [(m.text, m.injected) for m in found if isinstance(m, Message)] == [
        ("<environment_context>", True),
        ("Do it.", False),
    ]
    assert [m.source.part for m in found] == [0, 1]


def test_developer_messages_are_injected_system_messages() -> None:
    message = only(Message, events(said("developer", "Sandboxed.")))
    assert (message.role, message.injected) == (Role.SYSTEM, True)


def test_picture_of_a_prompt_is_kept() -> None:
    blocks = [{"type": "input_image", "image_url": "data:image/png;base64,QUJD"}]
    (image,) = only(Message, events(item("message", role="user", content=blocks))).images
    assert (image.media_type, image.data, image.url) == ("image/png", "QUJD", "")


def test_picture_by_address_keeps_the_address() -> None:
    blocks = [{"type": "input_image", "image_url": "https://example.org/a.png"}]
    (image,) = only(Message, events(item("message", role="user", content=blocks))).images
    assert (image.data, image.url) == ("", "https://example.org/a.png")


def test_unknown_block_is_unknown_and_the_rest_is_shown() -> None:
    blocks = [{"type": "hologram", "x": 1}, {"type": "output_text", "text": "hi"}]
    found = events(item("message", role="assistant", content=blocks))
    assert only(Message, found).text == "hi"
    assert only(Unknown, found).type == "response_item/message/hologram"


def test_reasoning_summaries_are_thoughts() -> None:
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    thought = only(Thought, events(item("reasoning", summary=summary, encrypted_content="x")))
    assert (thought.text, thought.encrypted) == ("One.\n\nTwo.", False)


def test_reasoning_of_local_models_is_in_its_content() -> None:
    content = [{"type": "reasoning_text", "text": "Hm."}]
    assert only(Thought, events(item("reasoning", summary=[], content=content))).text == "Hm."


def test_encrypted_reasoning_is_an_empty_thought() -> None:
    thought = only(Thought, events(item("reasoning", summary=[], encrypted_content="x")))
    assert (thought.text, thought.encrypted) == ("", True)


def test_encrypted_message_of_another_agent_is_noted() -> None:
    content = [{"type": "encrypted_content", "encrypted_content": "x"}]
    notice = only(Notice, events(item("agent_message", author="/root", content=content)))
    assert "/root" in notice.text


# Rows that repeat others


def test_agent_message_before_its_response_item_is_shown_once() -> None:
    found = events(event("agent_message", message="Done."), said("assistant", "Done."))
    assert only(Message, found).source.line == 2
    assert only(Trace, found).type == "event_msg/agent_message"


def test_user_message_after_its_response_item_is_shown_once() -> None:
    found = events(said("user", "Go."), event("user_message", message="Go.\n"))
    assert only(Message, found).source.line == 1


@pytest.mark.parametrize("kind", ["agent_message", "user_message"])
def test_copy_without_an_original_is_shown(kind: str) -> None:
    assert only(Message, events(event(kind, message="Only here."))).text == "Only here."


def test_copy_of_another_speaker_is_no_copy() -> None:
    found = events(said("user", "ok"), event("agent_message", message="ok"))
    assert [m.role for m in found if isinstance(m, Message)] == [Role.USER, Role.ASSISTANT]


def test_each_original_accounts_for_one_copy() -> None:
    found = events(
        event("agent_message", message="ok"),
        said("assistant", "ok"),
        event("agent_message", message="ok"),
    )
    assert [m.source.line for m in found if isinstance(m, Message)] == [2, 3]


def test_copy_in_both_families_is_shown_once() -> None:
    copies = [
        event("agent_message", message="ok"),
        done("AgentMessage", id="m", content=[{"type": "Text", "text": "ok"}]),
    ]
    assert only(Message, events(*copies, said("assistant", "ok"))).source.line == 3


def test_reasoning_parts_are_each_repeated() -> None:
    summary = [{"type": "summary_text", "text": text} for text in ("One.", "Two.")]
    found = events(
        event("agent_reasoning", text="One."),
        event("agent_reasoning", text="Two."),
        event("token_count", info=None),
        item("reasoning", summary=summary),
    )
    assert only(Thought, found).source.line == 4


def test_reasoning_item_repeats_the_whole() -> None:
    summary = [{"type": "summary_text", "text": text} for text in ("One.", "Two.")]
    found = events(
        done("Reasoning", id="r", summary_text=["One.", "Two."], raw_content=[]),
        item("reasoning", summary=summary),
    )
    assert only(Thought, found).source.line == 2


def test_reasoning_event_without_an_original_is_shown() -> None:
    assert only(Thought, events(event("agent_reasoning", text="Hm."))).text == "Hm."


def test_original_that_comes_too_late_leaves_the_copy_shown() -> None:
    between = [event("task_started") for _ in range(ROWS + 1)]
    found = events(event("agent_message", message="ok"), *between, said("assistant", "ok"))
    assert len([m for m in found if isinstance(m, Message)]) == 2


def test_plan_item_repeats_what_stands_between_plan_tags() -> None:
    text = "Here:\n<proposed_plan>\n# Plan\n</proposed_plan>"
    found = events(done("Plan", id="p", text="# Plan"), said("assistant", text))
    assert only(Message, found).text == text


def test_pictures_of_a_user_message_without_an_original_are_kept() -> None:
    found = events(
        event(
            "user_message", message="see", images=["data:image/png;base64,QQ"], local_images=["/a"]
        )
    )
    assert [image.url for image in only(Message, found).images] == ["", "/a"]


def test_hook_prompt_is_injected() -> None:
    found = events(done("HookPrompt", id="h", fragments=[{"text": "a"}, {"text": "b"}]))
    assert (only(Message, found).text, only(Message, found).injected) == ("a\nb", True)


# Tool calls


def test_call_and_output_are_tied_by_the_call_id() -> None:
    found = events(
        called(cmd="ls"),
        answered("Wall time: 1.5 seconds\nProcess exited with code 3\nOutput:\nno"),
    )
    call, result = only(ToolCall, found), only(ToolResult, found)
    assert call.call_id == result.call_id == "c1"
    assert (call.tool_kind, call.summary, call.arguments) == (ToolKind.RUN, "ls", {"cmd": "ls"})
    assert (result.exit_code, result.seconds, result.is_error) == (3, 1.5, True)


def test_full_output_that_codex_recorded_joins_the_result() -> None:
    found = events(
        called(cmd="seq"),
        event(
            "exec_command_end",
            call_id="c1",
            aggregated_output="1\n2\n3\n",
            exit_code=0,
            duration={"secs": 1, "nanos": 500_000_000},
        ),
        answered("Exit code: 0\nWall time: 1 seconds\nOutput:\n1\n...\n3\n"),
    )
    result = only(ToolResult, found)
    assert result.recorded == {"aggregated_output": "1\n2\n3\n"}
    assert (result.exit_code, result.seconds) == (0, 1.5)
    assert only(Trace, found).type == "event_msg/exec_command_end"


@pytest.mark.parametrize(("late", "seconds"), [(0.16, 2.16), (-0.1, 2.0), (7.0, 2.0), (None, 2.0)])
def test_a_command_is_timed_from_its_call_though_codex_begins_late(
    late: float | None, seconds: float
) -> None:
    ended = done("CommandExecution", id="c1", exit_code=0, duration={"secs": 2, "nanos": 0})
    if late is not None:
        began = datetime.fromisoformat(AT.replace("Z", "+00:00")).timestamp() + late
        ended["payload"]["started_at_ms"] = round(began * 1000)
    found = events(called(cmd="sleep 2"), ended, answered("Wall time: 2.0000 seconds\nOutput:\n"))
    assert only(ToolResult, found).seconds == pytest.approx(seconds)


def test_record_that_says_no_more_than_the_output_is_left_out() -> None:
    found = events(
        called(cmd="ls"),
        done("CommandExecution", id="c1", aggregated_output="a\n", exit_code=0),
        answered("Exit code: 0\nWall time: 0 seconds\nOutput:\na\n"),
    )
    assert only(ToolResult, found).recorded == ""


def test_diff_of_a_patch_is_recorded() -> None:
    changes = {"/w/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n"}}
    found = events(
        item("custom_tool_call", name="apply_patch", call_id="c1", input="*** Begin Patch"),
        event("patch_apply_end", call_id="c1", success=True, changes=changes, stdout="Done."),
        item("custom_tool_call_output", call_id="c1", output="Done."),
    )
    result = only(ToolResult, found)
    assert result.recorded == {"changes": changes}
    assert result.is_error is False


def test_failed_patch_is_an_error() -> None:
    found = events(
        item("custom_tool_call", name="apply_patch", call_id="c1", input=""),
        event("patch_apply_end", call_id="c1", success=False, changes={}),
        item("custom_tool_call_output", call_id="c1", output="no"),
    )
    assert only(ToolResult, found).is_error is True


@pytest.mark.parametrize(
    ("result", "output", "is_error"),
    [
        ({"Ok": {"content": [{"type": "text", "text": "yes"}], "isError": False}}, "yes", False),
        ({"Err": "timed out"}, "timed out", True),
    ],
)
def test_outcome_of_an_mcp_call(result: Any, output: str, is_error: bool) -> None:
    asked = {"server": "s", "tool": "t", "arguments": {"a": 1}}
    found = events(event("mcp_tool_call_end", call_id="x", invocation=asked, result=result))
    assert only(ToolCall, found).tool == "s.t"
    assert (only(ToolResult, found).output, only(ToolResult, found).is_error) == (output, is_error)


def test_record_soon_after_the_output_still_joins_it() -> None:
    found = events(
        called(cmd="sleep"),
        answered("aborted by user after 0.5s"),
        event("turn_aborted", reason="interrupted"),
        done("CommandExecution", id="c1", aggregated_output="partly", exit_code=-1),
    )
    result = only(ToolResult, found)
    assert (result.exit_code, result.recorded) == (-1, {"aggregated_output": "partly"})
    assert (result.is_error, result.source.line) == (True, 2)


def folded(found: list[Event]) -> list[Step]:
    fold = Fold()
    for each in found:
        fold.add(each)
    return [*fold.transcript("", "", ()).main.steps]


def test_record_long_after_the_output_joins_its_call() -> None:
    between = [event("task_started") for _ in range(ROWS + 1)]
    found = events(
        called(cmd="serve"),
        answered("Process running with session ID 7\nOutput:\n"),
        *between,
        done("CommandExecution", id="c1", aggregated_output="all", exit_code=0),
    )
    steps = folded(found)

    assert [type(step.event) for step in steps] == [ToolCall, *[Trace] * (ROWS + 2)]
    assert steps[0].result is not None
    assert (steps[0].result.exit_code, steps[0].result.is_error) == (0, False)
    assert steps[0].result.output.startswith("Process running")
    assert steps[0].result.recorded == {"aggregated_output": "all"}
    assert (steps[0].result_anchor, steps[-1].anchor) == ("L2", f"L{ROWS + 4}")


RUNNING = "Chunk ID: a\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n"


def polled(call_id: str, output: str, session: int = 7, chars: str = "") -> list[dict[str, Any]]:
    asked = called(call_id, "write_stdin", session_id=session, chars=chars)
    return [asked, answered(output, call_id)]


def test_how_a_command_ended_that_outlived_its_call_is_told_at_its_call() -> None:
    steps = folded(events(
        called(cmd="npm test"), answered(RUNNING), *polled("c2", RUNNING),
        *polled("c3", "Chunk ID: b\nProcess exited with code 3\nOutput:\n1 failed\n"),
        *polled("c4", "Chunk ID: b\nProcess exited with code 0\nOutput:\n", session=8),
    ))  # fmt: skip
    first, *others = [step.result for step in steps]

    assert all(isinstance(step.event, ToolCall) for step in steps)
    assert first is not None
    assert (first.exit_code, first.is_error, first.output) == (3, True, RUNNING)
    assert [one and one.exit_code for one in others] == [None, 3, 0]
    assert [one and one.end_of for one in others] == ["", first.call_id, ""]


def test_how_a_script_failed_that_outlived_its_call_is_told_at_its_call() -> None:
    running = "Script running with cell ID 1\nWall time 10.0 seconds\nOutput:\n"
    script = 'const r = await tools.exec_command({"cmd": "npm test"}); text(r.output)'
    asked = item("custom_tool_call", call_id="c1", name="exec", input=script)
    outputs = [running, "Script failed\nOutput:\nno\n", "Script failed\nOutput:\n"]
    waited = [
        row
        for number, output in enumerate(outputs, start=2)
        for row in (called(f"c{number}", "wait", cell_id="1"), answered(output, f"c{number}"))
    ]
    first, *others = folded(events(asked, answered(running), *waited))

    assert first.result is not None
    assert (first.result.is_error, first.result.exit_code) == (True, None)
    assert first.result.output == running
    assert [s.event.summary for s in others if isinstance(s.event, ToolCall)] == [
        "cell 1 (npm test)", "cell 1 (npm test)", "cell 1",
    ]  # fmt: skip


def test_what_is_written_to_a_command_names_it() -> None:
    steps = folded(events(
        called(cmd="python3"), answered(RUNNING), *polled("c2", "x", chars="1+1\n"),
        *polled("c3", "x", session=9),
    ))  # fmt: skip
    told = [step.event.summary for step in steps if isinstance(step.event, ToolCall)]

    assert told == ["python3", "session 7 (python3): '1+1\\n'", "session 9: ''"]


def test_record_of_a_killed_run_stands_for_the_output() -> None:
    found = events(
        called(cmd="ls"), done("CommandExecution", id="c1", aggregated_output="a", exit_code=0)
    )
    result = only(ToolResult, found)
    assert (result.output, result.exit_code, result.source.line) == ("a", 0, 2)
    assert len({(e.source.line, e.source.part) for e in found}) == len(found)


def test_call_of_a_killed_run_has_no_result() -> None:
    found = events(called(cmd="ls"))
    assert [type(event) for event in found] == [ToolCall]


def calls(found: list[Event]) -> list[ToolCall]:
    return [event for event in found if isinstance(event, ToolCall)]


def test_what_a_script_ran_is_a_call_of_its_own() -> None:
    found = events(
        item("custom_tool_call", name="exec", call_id="c1", input="for (;;) run();"),
        done(
            "CommandExecution",
            id="exec-1",
            command=["/bin/bash", "-lc", "ls"],
            aggregated_output="a\n",
            exit_code=1,
        ),
        item("custom_tool_call_output", call_id="c1", output="Script completed\nOutput:\n"),
    )
    nested = [e for e in found if isinstance(e, ToolCall | ToolResult) and e.call_id == "exec-1"]
    call, result = nested
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.summary, result.output, result.exit_code) == ("ls", "a\n", 1)


def test_change_that_a_script_names_is_not_told_twice() -> None:
    script = 'await tools.apply_patch("*** Begin Patch\\n*** Add File: a.py\\n+x\\n*** End Patch")'
    changes = {"/w/a.py": {"type": "add", "content": "x\n"}}
    found = events(
        item("custom_tool_call", name="exec", call_id="c1", input=script),
        event("patch_apply_end", call_id="exec-1", success=True, changes=changes),
    )
    outer, inner = [event for event in found if isinstance(event, ToolCall)]
    assert [(edit.path, edit.new) for edit in outer.edits] == [("a.py", "x\n")]
    assert (inner.tool_kind, inner.summary, inner.edits) == (ToolKind.OTHER, "/w/a.py", ())


def test_change_that_a_script_computes_is_told_though_an_earlier_one_named_the_same_file() -> None:
    script = 'await tools.apply_patch("*** Begin Patch\\n*** Add File: a.py\\n+x\\n*** End Patch")'
    added = {"/w/a.py": {"type": "add", "content": "x\n"}}
    changed = {"/w/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n"}}
    found = events(
        item("custom_tool_call", name="exec", call_id="c1", input=script),
        event("patch_apply_end", call_id="exec-1", success=True, changes=added),
        item("custom_tool_call_output", call_id="c1", output="Script completed\nOutput:\n"),
        item("custom_tool_call", name="exec", call_id="c2", input="tools.apply_patch(make())"),
        event("patch_apply_end", call_id="exec-2", success=True, changes=changed),
        item("custom_tool_call_output", call_id="c2", output="Script completed\nOutput:\n"),
    )
    edited = [(call.call_id, call.tool_kind) for call in calls(found) if call.edits]
    assert edited == [("c1", ToolKind.EDIT), ("exec-2", ToolKind.EDIT)]


def test_what_a_script_that_goes_on_named_is_not_told_twice_and_a_failed_one_told_nothing() -> None:
    patch = "*** Begin Patch\\n*** Add File: a.py\\n+x\\n*** End Patch"
    script = f'await tools.apply_patch("{patch}")'
    changes = {"/w/a.py": {"type": "add", "content": "x\n"}}
    record = event("patch_apply_end", call_id="exec-1", success=True, changes=changes)
    for said, kept in (("Script running with cell ID 1\n", 0), ("Script failed\nOutput:\n", 1)):
        found = events(
            item("custom_tool_call", name="exec", call_id="c1", input=script),
            item("custom_tool_call_output", call_id="c1", output=said),
            record,
        )
        assert len(calls(found)[1].edits) == kept


SEARCH = 'await tools.web__run({"search_query": [{"q": "tl.dot fp8"}, {"q": "sm_90"}]})'


@pytest.mark.parametrize(
    ("script", "action", "more", "kinds"),
    [
        (SEARCH, {"type": "search", "queries": ["tl.dot fp8", "sm_90"]}, {}, ["web"]),
        (SEARCH, {"type": "search", "query": "tl.dot fp8"}, {}, ["web"]),
        (SEARCH, {"type": "search", "queries": ["tl.dot fp8", "else"]}, {}, ["web", "web"]),
        (SEARCH, {"type": "other"}, {}, ["web", "web"]),
        (SEARCH, {"type": "search", "queries": 7}, {}, ["web", "web"]),
        (SEARCH, {"type": "search", "query": "sm_90"}, {"results": ["found"]}, ["web", "web"]),
        ("await tools.web__run(ask())", {"type": "search", "query": "sm_90"}, {}, ["web", "web"]),
        ("run(1)", {"type": "search", "query": "run(1)"}, {}, ["run", "web"]),
    ],
)
def test_search_that_a_script_names_is_not_told_twice(
    script: str, action: dict[str, object], more: dict[str, object], kinds: list[str]
) -> None:
    query = "tl.dot fp8 ..." if "queries" in action else action.get("query", "")
    found = events(
        item("custom_tool_call", name="exec", call_id="c1", input=script),
        event("web_search_end", call_id="exec-1", query=query, action=action, **more),
        item("custom_tool_call_output", call_id="c1", output="Script completed\nOutput:\nfound"),
        event("web_search_end", call_id="exec-2", query=query, action=action),
    )
    assert [call.tool_kind.value for call in calls(found)] == [*kinds, "web"]
    assert [one.output for one in found if isinstance(one, ToolResult) if one.call_id == "c1"] == [
        "Script completed\nOutput:\nfound"
    ]


def test_change_that_a_script_computes_is_told_by_the_record() -> None:
    changes = {
        "/w/a": {"type": "add", "content": "x\n"},
        "/w/b": {"type": "update", "unified_diff": "@@", "move_path": "/w/c"},
        "/w/d": {"type": "delete", "content": "y"},
    }
    found = events(
        item("custom_tool_call", name="exec", call_id="c1", input="tools.apply_patch(make())"),
        event("patch_apply_end", call_id="exec-1", success=True, changes=changes),
    )
    _, inner = [event for event in found if isinstance(event, ToolCall)]
    assert [(e.path, e.action) for e in inner.edits] == [
        ("/w/a", "add"),
        ("/w/b", "move"),
        ("/w/d", "delete"),
    ]


@pytest.mark.parametrize("swapped", [False, True])
def test_web_search_is_told_once(swapped: bool) -> None:
    action = {"type": "search", "query": "q"}
    rows = [
        event("web_search_end", call_id="ws_1", query="q", action=action),
        item("web_search_call", status="completed", action=action),
    ]
    found = events(*reversed(rows) if swapped else rows)
    calls = [event for event in found if isinstance(event, ToolCall)]
    assert [call.tool_kind for call in calls] == [ToolKind.WEB]


def test_web_search_without_an_event_is_told() -> None:
    call = only(ToolCall, events(item("web_search_call", action={"type": "search", "query": "q"})))
    assert call.tool == "web_search"


def test_local_shell_call_is_a_command() -> None:
    action = {"type": "exec", "command": ["bash", "-lc", "ls -a"]}
    found = events(item("local_shell_call", call_id="c1", action=action), answered("a"))
    assert only(ToolCall, found).summary == "ls -a"
    assert only(ToolCall, found).tool_kind is ToolKind.RUN


def test_tool_of_a_server_is_named_with_it() -> None:
    call = only(
        ToolCall,
        events(item("function_call", namespace="mcp__gh", name="_pr", call_id="c", arguments="{}")),
    )
    assert call.tool == "mcp__gh._pr"


def test_generated_picture_is_a_result() -> None:
    found = events(item("image_generation_call", id="ig_1", status="completed", result="QUJD"))
    assert only(ToolResult, found).images[0].data == "QUJD"


def test_tools_that_a_search_found_are_its_output() -> None:
    found = events(
        item("tool_search_call", call_id="c1", arguments={"query": "pr"}),
        item("tool_search_output", call_id="c1", tools=[{"name": "_fetch_pr"}]),
    )
    assert only(ToolCall, found).summary == "pr"
    assert "_fetch_pr" in only(ToolResult, found).output


def test_arguments_that_are_no_json_stay_text() -> None:
    call = only(ToolCall, events(item("function_call", name="shell", call_id="c", arguments="{oh")))
    assert call.arguments == "{oh"


# Tokens


def test_cumulative_count_is_converted_to_kinds_that_do_not_overlap() -> None:
    info = {"total_token_usage": tokens(1000, 600, 80, 30)}
    use = only(TokenUse, events(meta(), event("token_count", info=info)))
    assert use.usage == Usage(input=400, cache_read=600, output=80, reasoning=30)
    assert (use.scope, use.message_id) == (Scope.AGENT, "t1")


def test_last_cumulative_count_holds() -> None:
    ledger = Ledger()
    counts = [tokens(1000, 600, 80, 30), tokens(1000, 600, 80, 30), tokens(3000, 2000, 100, 40)]
    for one in events(*(event("token_count", info={"total_token_usage": c}) for c in counts)):
        assert isinstance(one, TokenUse)
        ledger.add(one)
    assert ledger.total == Usage(input=1000, cache_read=2000, output=100, reasoning=40)


def test_count_without_figures_is_a_trace() -> None:
    assert only(Trace, events(event("token_count", info=None, rate_limits={})))


def test_usage_is_also_counted_once_per_response() -> None:
    record = row(
        "token_usage_record",
        response_id="r1",
        usage=tokens(100, 0, 5, 0),
        thread_token_usage=tokens(300, 100, 15, 2),
    )
    own, whole = events(meta(), record)[1:]
    assert isinstance(own, TokenUse)
    assert isinstance(whole, TokenUse)
    assert (own.scope, own.message_id, own.usage.input) == (Scope.MESSAGE, "r1", 100)
    assert (whole.scope, whole.usage.input, whole.usage.output) == (Scope.AGENT, 200, 15)


def sent_by(scope: Scope, found: list[Event]) -> list[int | None]:
    return [e.usage.sent for e in found if isinstance(e, TokenUse) and e.scope is scope]


def test_each_response_is_counted_once_where_codex_only_repeats_its_counts() -> None:
    first = {"total_token_usage": tokens(100, 0, 5, 0), "last_token_usage": tokens(100, 0, 5, 0)}
    then = {"total_token_usage": tokens(300, 90, 9, 0), "last_token_usage": tokens(200, 90, 4, 0)}
    found = events(meta(), *(event("token_count", info=info) for info in (first, first, then)))

    assert sent_by(Scope.MESSAGE, found) == [100, 200]
    assert sent_by(Scope.AGENT, found) == [100, 100, 300]
    assert len({event.source for event in found}) == len(found)


def test_a_response_with_a_row_of_its_own_is_not_counted_by_the_row_behind_it_too() -> None:
    counts = tokens(100, 0, 5, 0)
    info = {"total_token_usage": counts, "last_token_usage": counts}
    record = row("token_usage_record", response_id="r", usage=counts, thread_token_usage=counts)

    assert sent_by(Scope.MESSAGE, events(meta(), record, event("token_count", info=info))) == [100]


def test_tokens_written_to_the_cache_are_no_plain_input() -> None:
    count = {**tokens(1000, 600, 80, 30), "cache_write_input_tokens": 100}
    use = only(TokenUse, events(event("token_count", info={"total_token_usage": count})))
    assert (use.usage.input, use.usage.cache_write, use.usage.sent) == (300, 100, 1000)


def test_token_use_names_the_model_of_the_turn() -> None:
    info = {"total_token_usage": tokens(1, 0, 1, 0)}
    found = events(row("turn_context", model="m1"), event("token_count", info=info))
    assert only(TokenUse, found).model == "m1"


# Ends, errors, compactions


def test_completed_turn_is_a_good_finish() -> None:
    finish = only(
        Finish, events(event("task_complete", last_agent_message="Done.", duration_ms=1500))
    )
    assert (finish.ok, finish.reason, finish.text) == (True, "task_complete", "Done.")
    assert finish.seconds == 1.5


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ("usage_limit_exceeded", "usage_limit_exceeded"),
        ({"http_connection_failed": {"http_status_code": 401}}, "http_connection_failed"),
        (None, "error"),
    ],
)
def test_completed_turn_with_an_error_is_a_bad_finish(info: Any, reason: str) -> None:
    error = {"message": "401", "codex_error_info": info}
    finish = only(Finish, events(event("task_complete", last_agent_message=None, error=error)))
    assert (finish.ok, finish.reason, finish.text) == (False, reason, "401")


LIMIT = event("error", message="No more today.", codex_error_info="usage_limit_exceeded")


def test_a_turn_that_an_error_ended_is_none_that_went_well() -> None:
    """Codex 0.119 writes the error in a row of its own, and that the turn is complete."""
    finish = only(Finish, events(LIMIT, event("task_complete", last_agent_message=None)))
    assert (finish.ok, finish.reason) == (False, "usage_limit_exceeded")
    assert finish.text == "No more today."


def test_an_error_that_a_turn_went_on_after_is_not_its_end() -> None:
    finish = only(Finish, events(LIMIT, event("task_complete", last_agent_message="Done.")))
    assert (finish.ok, finish.text) == (True, "Done.")


@pytest.mark.parametrize("between", ["task_started", "task_complete"])
def test_an_error_is_that_of_its_own_turn(between: str) -> None:
    found = events(LIMIT, event(between), event("task_complete", last_agent_message=None))
    assert [e.ok for e in found if isinstance(e, Finish)][-1] is True


def test_aborted_turn_is_a_bad_finish() -> None:
    finish = only(Finish, events(event("turn_aborted", reason="interrupted")))
    assert (finish.ok, finish.reason) == (False, "interrupted")


def test_file_without_an_end_has_no_finish() -> None:
    assert not [e for e in events(meta(), said("assistant", "hm")) if isinstance(e, Finish)]


@pytest.mark.parametrize(
    ("kind", "topic"),
    [("error", Topic.ERROR), ("stream_error", Topic.RETRY), ("warning", Topic.NOTE)],
)
def test_what_codex_reports_is_a_notice(kind: str, topic: Topic) -> None:
    notice = only(Notice, events(event(kind, message="Oh.")))
    assert (notice.topic, notice.text) == (topic, "Oh.")


def test_compaction_is_told_once() -> None:
    found = events(row("compacted", message="Summary."), event("context_compacted"))
    notice = only(Notice, found)
    assert (notice.topic, notice.text) == (Topic.COMPACTION, "Summary.")
    assert only(Trace, found).type == "event_msg/context_compacted"


def test_a_summary_that_the_model_wrote_as_a_message_stands_there_once() -> None:
    summary = said("assistant", "Did it.\n")
    compacted = row("compacted", message="It made a summary:\nDid it.", replacement_history=[])
    notice = only(Notice, events(summary, compacted))
    assert notice.topic is Topic.COMPACTION
    assert notice.text == (
        "The context was compacted: the model goes on with what it said last, after these words:"
        "\n\nIt made a summary:"
    )
    # Without words around it, and where it is another summary.
    bare = only(Notice, events(summary, row("compacted", message="Did it.")))
    assert bare.text == "The context was compacted: the model goes on with what it said last."
    other = only(Notice, events(summary, row("compacted", message="Another summary.")))
    assert other.text == "Another summary."


def test_compaction_that_only_an_event_tells_is_a_notice() -> None:
    assert only(Notice, events(event("context_compacted"))).topic is Topic.COMPACTION


def test_history_of_a_compaction_stays_in_the_raw_row() -> None:
    history = [{"type": "message", "role": "user", "content": []}]
    notice = only(Notice, events(row("compacted", message="", replacement_history=history)))
    assert "replacement_history" in notice.raw


# The layout without envelopes


LEGACY = [
    {"id": "t1", "timestamp": AT, "instructions": "Be brief.", "git": None},
    {"record_type": "state"},
    {"type": "message", "id": None, "role": "user",
     "content": [{"type": "input_text", "text": "x"}]},
    {"type": "reasoning", "id": "r", "summary": [],
     "content": [{"type": "reasoning_text", "text": "h"}]},
    {"type": "function_call", "name": "shell", "call_id": "c1",
     "arguments": '{"command": ["bash", "-lc", "ls"]}'},
    {"type": "function_call_output", "call_id": "c1",
     "output": '{"output": "a\\n", "metadata": {"exit_code": 2, "duration_seconds": 0.5}}'},
]  # fmt: skip


def test_legacy_rows_are_read() -> None:
    kinds = [event.kind for event in events(*LEGACY)]
    assert kinds == ["session", "message", "trace", "message", "thought", "call", "result"]


def test_legacy_header_names_the_thread() -> None:
    assert only(Session, events(*LEGACY)).session_id == "t1"


def test_legacy_output_is_taken_out_of_its_json() -> None:
    result = only(ToolResult, events(*LEGACY))
    assert (result.output, result.exit_code, result.seconds) == ("a\n", 2, 0.5)
    assert result.is_error is True


def test_legacy_rows_have_no_time() -> None:
    assert only(ToolCall, events(*LEGACY)).at is None


# Recognition


@pytest.mark.parametrize("row", [meta(), said("user", "x"), LEGACY[0], LEGACY[1]])
def test_rollout_is_recognised_and_is_not_taken_for_printed_rows(row: dict[str, Any]) -> None:
    assert ROLLOUT.recognises([row])
    assert not PRINTED.recognises([row])


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"type": "user", "message": {}},
        {"type": "session_meta"},
        {"type": "session_meta", "payload": {}},
        {"type": ["session_meta"], "payload": {}, "timestamp": AT},
        {"timestamp": 1, "message": {"type": "x", "payload": {}}},
        {"type": "message", "id": "x", "timestamp": AT},
        {"id": "x", "timestamp": AT, "instructions": "", "type": "other"},
    ],
)
def test_other_rows_are_not_recognised(row: dict[str, Any]) -> None:
    assert not ROLLOUT.recognises([row])
    assert not PRINTED.recognises([row])


# Files in any state


def test_several_events_of_a_line_are_numbered() -> None:
    found = events(meta(base_instructions={"text": "x"}))
    assert [event.source.part for event in found] == [0, 1]
    assert {event.source.file for event in found} == {"rollout/a.jsonl"}


def test_events_come_in_the_order_of_the_file() -> None:
    found = events(meta(), *(said("user", str(n)) for n in range(3 * ROWS)))
    assert [event.source.line for event in found] == list(range(1, 3 * ROWS + 2))


def test_only_a_few_rows_are_held_back_however_long_the_file_is() -> None:
    taken = 0

    def endless() -> Iterator[Line]:
        nonlocal taken
        while True:
            taken += 1
            yield Line(taken, json.dumps(event("agent_message", message=str(taken))))

    parser = ROLLOUT.parse(endless(), "f")
    for shown in range(1, 500):
        assert next(parser).source.line == shown
        assert taken <= shown + ROWS


def test_glued_objects_are_two_rows_with_distinct_places() -> None:
    glued = json.dumps(meta(instructions="x")) + json.dumps(said("user", "hi"))
    found = parsed(glued.encode())
    assert [event.kind for event in found] == ["session", "message", "message"]
    assert len({(event.source.line, event.source.part) for event in found}) == 3


def test_cut_last_line_is_malformed() -> None:
    data = json.dumps(meta()).encode() + b"\n" + json.dumps(said("user", "hello")).encode()[:40]
    assert "ends in the middle" in only(Malformed, parsed(data)).reason


def test_line_of_text_between_rows_is_malformed_and_the_rest_is_read() -> None:
    data = json.dumps(meta()).encode() + b"\noops\n\n" + json.dumps(said("user", "x")).encode()
    found = parsed(data)
    assert [event.source.line for event in found] == [1, 2, 4]
    assert only(Malformed, found).text == "oops"


def test_empty_file_has_no_events() -> None:
    assert parsed(b"") == []


def test_file_that_is_no_transcript_is_all_malformed() -> None:
    assert {type(event) for event in parsed(b"#!/bin/sh\necho hi\n[1]\n")} == {Malformed}


def test_bad_utf8_and_nul_survive() -> None:
    data = json.dumps(said("assistant", "a\0b~")).encode().replace(b"~", b"\xff\xfe")
    assert only(Message, parsed(data)).text == "a\0b\udcff\udcfe"


def test_byte_order_mark_and_crlf_are_taken_off() -> None:
    data = b"\xef\xbb\xbf" + json.dumps(meta()).encode() + b"\r\n"
    assert [event.kind for event in parsed(data)] == ["session"]


@pytest.mark.parametrize(
    "row",
    [
        row("from_the_future", x=1),
        event("from_the_future"),
        item("from_the_future"),
        done("FromTheFuture"),
        item("message", role="oracle", content=[]),
        {"type": "from_the_future"},
        {"x": 1},
        {"type": "response_item", "payload": [1]},
    ],
)
def test_row_of_an_unknown_type_is_unknown(row: dict[str, Any]) -> None:
    (found,) = events(row)
    assert isinstance(found, Unknown)
    assert found.raw == json.dumps(row)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = sorted(
    {f"response_item {kind}" for kind in KNOWN}
    | {f"event_msg {kind}" for kind in {*_HANDLERS, *_NOTICES, *_TRACES, *_EVENTS}}
)
FIELDS = [
    "role", "content", "summary", "call_id", "id", "name", "arguments", "input", "output", "action",
    "info", "item", "message", "text", "error", "changes", "duration", "exit_code", "result",
    "invocation", "tools", "namespace", "source", "base_instructions", "model", "usage", "images",
    "receiver_thread_ids", "receiver_agents", "agents_states", "content_items", "duration_ms",
    "thread_token_usage", "collaboration_mode", "fragments", "reason", "plan", "stdout",
]  # fmt: skip
PAYLOADS = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KINDS), PAYLOADS), max_size=6))
def test_wrong_types_in_known_rows_never_raise(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    rows = [
        {"timestamp": AT, "type": kind.split()[0], "payload": {"type": kind.split()[1], **payload}}
        for kind, payload in drawn
    ]
    assert {event.source.line for event in events(*rows)} == set(range(1, len(rows) + 1))


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([*sorted(_ITEMS), "Reasoning", "Plan", "UserMessage", "HookPrompt"]), PAYLOADS
)
def test_wrong_types_in_items_never_raise(kind: str, payload: dict[str, Any]) -> None:
    assert events(done(kind, **{"id": "c1", **payload}), called(), answered("x"))


@settings(max_examples=100, deadline=None)
@given(st.lists(JSON, max_size=4))
def test_arbitrary_json_never_raises(rows: list[Any]) -> None:
    assert len(events(*rows)) >= len(rows)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["session_meta", "turn_context", "token_usage_record", "compacted"]), PAYLOADS
)
def test_wrong_types_in_envelopes_never_raise(kind: str, payload: dict[str, Any]) -> None:
    assert events(row(kind, **payload))


# What 0.171 tells in other ways


def test_a_tool_of_an_extension_is_told_by_its_call() -> None:
    slept = done("Extension", kind="clock.sleep", id="c1", durationMs=1500)
    found = events(called(name="sleep", duration_ms=1500), slept, answered("Sleep completed."))

    assert only(ToolResult, found).recorded == ""
    assert not any(isinstance(one, Unknown) for one in found)


def test_a_tool_of_an_extension_that_a_script_called_is_a_call_of_its_own() -> None:
    found = events(done("Extension", kind="lamp.turn_on", id="x1", colour="red"))

    assert (only(ToolCall, found).tool, only(ToolCall, found).arguments) == (
        "turn_on", {"colour": "red"},
    )  # fmt: skip
    assert only(ToolResult, found).recorded == {"colour": "red"}


def test_a_result_that_nobody_asked_for_is_what_codex_tells_the_model() -> None:
    told = item("function_call_output", name="goal_objective", namespace="agent", output="Do it")
    message = only(Message, events(told))

    assert (message.text, message.role, message.injected) == ("Do it", Role.SYSTEM, True)
