"""opencode's tool calls, sub-agents, tokens and money."""

from __future__ import annotations

import pytest

from kbsite.model.event import (
    AgentStart,
    Edit,
    Notice,
    Scope,
    Session,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Unknown,
)
from kbsite.model.usage import Usage
from tests.harnesses.opencode_rows import (
    assistant,
    captured,
    exported,
    finished,
    ledger,
    main_exports,
    of,
    one,
    printed,
    row,
    said,
    started,
    tokens,
    tool,
    user,
)

# Tools


def test_one_row_of_stdout_is_a_call_and_its_result() -> None:
    events = printed(row("step_start", started()), row("tool_use", tool()))
    call, result = one(ToolCall, events), one(ToolResult, events)

    assert (call.source.line, call.source.part) == (2, 0)
    assert (result.source.line, result.source.part) == (2, 1)
    assert call.call_id == result.call_id == "c1"


def test_a_call_is_dated_at_its_start_and_a_result_at_its_end() -> None:
    events = printed(row("tool_use", tool()))
    call, result = one(ToolCall, events), one(ToolResult, events)

    assert call.at is not None
    assert result.at is not None
    assert (call.at.timestamp(), result.at.timestamp()) == (1_795_000_000, 1_795_000_001.5)
    assert result.seconds == 1.5


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bash", "run"), ("task", "agent"), ("todowrite", "plan"), ("glob", "search"), ("x", "other")],
)
def test_a_tool_has_its_kind(name: str, kind: str) -> None:
    call = one(ToolCall, exported(assistant(tool() | {"tool": name})))

    assert call.tool_kind is ToolKind(kind)


@pytest.mark.parametrize("key", ["exit", "exitCode"])
def test_a_command_that_fails_is_no_error_but_has_its_exit_code(key: str) -> None:
    result = one(ToolResult, exported(assistant(tool(metadata={key: 3}))))

    assert (result.exit_code, result.is_error) == (3, False)


def test_a_command_that_was_killed_has_no_exit_code() -> None:
    assert one(ToolResult, exported(assistant(tool(metadata={"exit": None})))).exit_code is None


def test_a_tool_that_fails_shows_its_error() -> None:
    result = one(ToolResult, exported(assistant(tool("error", error="not found", output=None))))

    assert (result.output, result.is_error) == ("not found", True)


def test_what_a_failed_tool_printed_is_kept() -> None:
    result = one(ToolResult, exported(assistant(tool("error", error="aborted", output="half"))))

    assert isinstance(result.recorded, dict)
    assert result.recorded["output"] == "half"


def test_a_tool_that_does_not_exist_is_an_error_although_opencode_completes_it() -> None:
    assert one(ToolResult, exported(assistant(tool() | {"tool": "invalid"}))).is_error


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_call_without_an_end_has_no_result(status: str) -> None:
    events = exported(assistant(tool(status, output=None, metadata={})))

    assert of(ToolCall, events)
    assert not of(ToolResult, events)


def test_what_a_running_call_has_printed_is_told() -> None:
    notice = one(Notice, exported(assistant(tool("running", metadata={"output": "half"}))))

    assert (notice.topic, notice.text.endswith("half")) == (Topic.INTERRUPTION, True)


def test_arguments_that_were_cut_are_shown_as_they_are() -> None:
    call = one(ToolCall, exported(assistant(tool("pending", input={}, raw='{"comm'))))

    assert call.arguments == '{"comm'


def test_a_state_that_nobody_knows_is_unknown_beside_its_call() -> None:
    events = exported(assistant(tool("dreaming")))

    assert of(ToolCall, events)
    assert one(Unknown, events).type == "tool:dreaming"


def test_an_edit_is_read_from_the_arguments_and_its_diff_recorded() -> None:
    given_input = {"filePath": "a.py", "oldString": "x", "newString": "y", "replaceAll": True}
    part = tool(input=given_input, metadata={"diff": "@@\n-x\n+y", "diagnostics": {}})
    events = exported(assistant(part | {"tool": "edit"}))

    assert one(ToolCall, events).edits == (Edit("a.py", "x", "y", every=True),)
    assert one(ToolResult, events).recorded == {"diff": "@@\n-x\n+y"}


def test_metadata_that_says_no_more_than_the_output_is_not_recorded() -> None:
    assert one(ToolResult, exported(assistant(tool()))).recorded == ""


def test_a_longer_copy_of_the_output_is_recorded() -> None:
    part = tool(output="tail", metadata={"output": "head and tail", "truncated": True})

    assert one(ToolResult, exported(assistant(part))).recorded == {"output": "head and tail"}


def test_a_cut_output_names_the_file_that_holds_all_of_it() -> None:
    told = tool(metadata={"truncated": True, "outputPath": "/h/tool-output/tool_1"})
    said_so = tool(
        output="...output truncated...\n\nFull output saved to: /h/tool-output/tool_2\n\n9",
        metadata={"truncated": True},
    )
    events = exported(assistant(told, said_so))

    assert [result.side_files for result in of(ToolResult, events)] == [
        ("/h/tool-output/tool_1",),
        ("/h/tool-output/tool_2",),
    ]


def test_an_output_that_only_talks_of_a_saved_file_names_none() -> None:
    part = tool(output="Full output saved to: /etc/passwd", metadata={"truncated": False})

    assert one(ToolResult, exported(assistant(part))).side_files == ()


def test_pictures_that_a_tool_returns_are_images() -> None:
    files = [
        {"mime": "image/png", "url": "data:image/png;base64,AAAA"},
        {"mime": "application/pdf", "url": "data:application/pdf;base64,BBBB"},
    ]
    result = one(ToolResult, exported(assistant(tool(attachments=files))))

    assert [image.data for image in result.images] == ["AAAA"]
    assert result.recorded == {"attachments": files[1:]}


# Sub-agents


def test_a_task_names_the_session_that_it_started() -> None:
    part = tool(input={"description": "look", "prompt": "p"}, metadata={"sessionId": "ses_2"})
    start = one(AgentStart, exported(assistant(part | {"tool": "task"})))

    assert (start.child, start.call_id, start.title, start.agent) == ("ses_2", "c1", "look", "")


def test_all_of_a_childs_export_belongs_to_the_child() -> None:
    events = exported(user(said()), assistant(said(), finished()), parentID="ses_0")

    assert {event.agent for event in events} == {"ses_1"}
    assert of(Session, events)[0].parent_session == "ses_0"


def test_the_captured_child_is_the_one_that_the_parent_started() -> None:
    parent, child = main_exports()

    assert {event.agent for event in child} == {one(AgentStart, parent).child}
    assert {event.agent for event in parent} == {""}


# Tokens and money


def test_output_includes_reasoning_and_input_leaves_out_the_cache() -> None:
    use = one(TokenUse, exported(assistant(started(), finished())))

    assert use.usage == Usage(input=10, cache_read=7, cache_write=1, output=7, reasoning=2)


def test_a_message_is_counted_by_its_steps_only() -> None:
    events = exported(assistant(started(), finished(), tokens=tokens(), cost=0.5))

    assert ledger(events).total.input == 10
    assert ledger(events).cost_usd == 0.5


def test_a_message_of_two_steps_counts_both() -> None:
    events = exported(assistant(started(), finished("tool-calls"), finished(part_id="prt_g")))

    assert ledger(events).total.input == 20


def test_a_step_that_is_printed_twice_counts_once() -> None:
    events = printed(row("step_finish", finished()), row("step_finish", finished()))

    assert ledger(events).total.input == 10


def test_steps_whose_ids_were_masked_count_each() -> None:
    masked = [finished("tool-calls", part_id="REDACTED"), finished(part_id="REDACTED")]

    assert ledger(exported(assistant(*masked))).total.input == 20


def test_a_message_without_steps_is_counted_by_itself() -> None:
    events = exported(assistant(tokens=tokens(), cost=0.25))

    assert ledger(events).total.input == 10
    assert ledger(events).cost_usd == 0.25


def test_a_cost_of_nothing_is_no_price() -> None:
    assert one(TokenUse, exported(assistant(finished(cost=0)))).cost_usd is None


def test_a_step_that_never_finished_makes_the_total_a_lower_bound() -> None:
    in_export = ledger(exported(assistant(started(), said(), time={"created": 1})))
    on_stdout = ledger(printed(row("step_start", started()), row("text", said())))

    for held in (in_export, on_stdout):
        assert held.lower_bound
        assert not held.total.known


def test_a_step_of_no_tokens_is_an_unknown_count() -> None:
    nothing = tokens(0, 0, 0, 0) | {"cache": {"read": 0, "write": 0}}
    held = ledger(printed(row("step_finish", finished("other", tokens=nothing))))

    assert held.lower_bound
    assert not held.total.known


def test_finished_steps_are_no_lower_bound() -> None:
    held = ledger(printed(row("step_start", started()), row("step_finish", finished())))

    assert not held.lower_bound


def test_the_sessions_own_total_counts_that_session_only() -> None:
    use = of(TokenUse, exported(tokens=tokens(), cost=1.5))[0]

    assert (use.scope, use.message_id, use.cost_usd) == (Scope.AGENT, "ses_1", 1.5)


def test_a_session_total_of_nothing_is_not_told() -> None:
    assert of(TokenUse, exported(tokens=tokens(0, 0, 0, 0) | {"cache": {}})) == []


def test_the_captured_totals_follow_the_servers_formula() -> None:
    parent, child = main_exports()

    assert ledger(parent).total == Usage(
        input=13_000, cache_read=40_000, cache_write=0, output=1_320, reasoning=104
    )
    assert ledger(child).total == Usage(
        input=2_000, cache_read=500, cache_write=0, output=90, reasoning=16
    )
    assert ledger(parent + child).total == Usage(
        input=15_000, cache_read=40_500, cache_write=0, output=1_410, reasoning=120
    )
    assert ledger(parent + child).cost_usd == pytest.approx(0.01964 + 0.00223)


def test_messages_add_up_to_the_sessions_own_total() -> None:
    for events in main_exports():
        messages = [use for use in of(TokenUse, events) if use.scope is Scope.MESSAGE]
        assert ledger(list(messages)).total == ledger(events).total


@pytest.mark.parametrize("scenario", ["main", "quick"])
def test_stdout_counts_the_main_session_like_its_export(scenario: str) -> None:
    found = captured(scenario)
    printed_total = ledger(found.pop("stdout")).total

    assert printed_total in [ledger(events).total for events in found.values()]
