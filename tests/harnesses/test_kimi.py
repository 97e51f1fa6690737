"""What holds for all of Kimi's formats: files, lines, hostile input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.kimi import FORMATS, HARNESS
from kbsite.harnesses.kimi.code_table import BOOKKEEPING, REPEATED
from kbsite.model.event import Event, Malformed, Notice, Session, ToolCall, Unknown
from tests.harnesses.kimi_rows import (
    CAPTURES,
    SESSION,
    STREAM,
    WIRE,
    asked,
    captured,
    coded,
    files,
    folders,
    looped,
    of,
    read,
    wired,
    written,
)
from tests.harnesses.reading import BESIDE, beside

CORPUS = sorted((BESIDE / "corpus" / "kimi-code-wire").rglob("*.jsonl"))
RUNS = list(folders())
ids = [f"{run.parent.name}/{run.name}" for run in RUNS]
every_format = pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])


def places(events: list[Event]) -> list[tuple[int, int]]:
    return [(event.source.line, event.source.part) for event in events]


def check_lines(data: bytes, events: list[Event]) -> None:
    filled = {n for n, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {line for line, _ in places(events)} == filled
    assert len(set(places(events))) == len(events)


def test_the_session_logs_come_before_what_is_printed() -> None:
    assert [form.id for form in FORMATS] == ["kimi-session", "kimi-code-wire", "kimi-stream"]
    assert HARNESS.id == "kimi"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("home/.kimi/sessions/0a1b/2c3d/wire.jsonl", SESSION),
        ("home/.kimi-code/sessions/wd_x/session_y/agents/main/wire.jsonl", WIRE),
        ("home/.kimi-code/sessions/wd_x/session_y/agents/agent-7/wire.jsonl", WIRE),
        ("stdout.jsonl", STREAM),
        ("session/any name.jsonl", SESSION),
        ("wire/assistant_tools.jsonl", WIRE),
        ("stream/out.jsonl", STREAM),
    ],
)
def test_each_file_is_of_one_format(name: str, form: Format) -> None:
    assert [f for f in FORMATS if any(matches(name, glob) for glob in f.globs)] == [form]


@pytest.mark.parametrize(
    "name",
    [
        "home/.kimi/sessions/0a1b/2c3d/context.jsonl",
        "home/.kimi/sessions/0a1b/2c3d/state.json",
        "home/.kimi/sessions/0a1b/2c3d/subagents/a1/context.jsonl",
        "home/.kimi/kimi.json",
        "home/.kimi-code/session_index.jsonl",
        "home/.kimi-code/sessions/wd_x/session_y/state.json",
        "home/.kimi-code/sessions/wd_x/session_y/agents/main/tasks/bash-1/output.log",
        "stderr.log",
    ],
)
def test_side_files_are_no_transcripts(name: str) -> None:
    assert not [f for f in FORMATS if any(matches(name, glob) for glob in f.globs)]


@every_format
def test_a_file_that_is_stored_alone_is_found_again(form: Format) -> None:
    assert any(matches(f"{form.stored_as}/wire.jsonl", glob) for glob in form.globs)


def claims(data: bytes) -> list[str]:
    head: list[dict[str, Any]] = []
    for line in data.decode("utf-8", "replace").splitlines()[:20]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        head += [row] if isinstance(row, dict) else []
    return [form.id for form in FORMATS if form.recognises(head)]


@pytest.mark.parametrize("run", RUNS, ids=ids)
def test_each_captured_file_is_recognised_by_its_format_alone(run: Path) -> None:
    for form in FORMATS:
        for path in files(run, form).values():
            rows = [line for line in path.read_bytes().splitlines() if line.startswith(b"{")]
            assert claims(path.read_bytes()) == ([form.id] if rows else [])


@beside
@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_a_foreign_wire_log_is_recognised(path: Path) -> None:
    assert claims(path.read_bytes()) == ["kimi-code-wire"]


@beside
def test_files_of_other_tools_are_not_recognised() -> None:
    paths = [
        path
        for path in sorted((BESIDE / "corpus").glob("*/**/*.jsonl"))
        if "kimi" not in str(path) and path.stat().st_size < 2_000_000
    ]
    assert len(paths) > 20
    assert {path.name: claims(path.read_bytes()) for path in paths} == {p.name: [] for p in paths}


@beside
def test_the_context_file_is_of_the_format_of_the_log_that_it_stands_beside() -> None:
    paths = sorted((BESIDE / "captures").glob("kimi-*/*/home/**/context.jsonl"))
    assert paths
    assert {tuple(claims(path.read_bytes())) for path in paths} == {("kimi-session",)}


def test_nothing_is_recognised_in_nothing() -> None:
    assert not [form for form in FORMATS if form.recognises([]) or form.recognises([{}])]


@pytest.mark.parametrize("run", RUNS, ids=ids)
def test_no_line_of_a_captured_file_is_without_an_event(run: Path) -> None:
    for form in FORMATS:
        for name, path in files(run, form).items():
            check_lines(path.read_bytes(), read(form, path.read_bytes(), name))


@pytest.mark.parametrize("run", RUNS, ids=ids)
def test_captured_files_hold_nothing_unknown_and_nothing_malformed(run: Path) -> None:
    for form in FORMATS:
        events = captured(run, form)
        assert not of(Unknown, events)
        assert not of(Malformed, events)


@beside
@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_no_line_of_a_foreign_wire_log_is_without_an_event(path: Path) -> None:
    events = read(WIRE, path.read_bytes(), path.name)
    check_lines(path.read_bytes(), events)
    assert not of(Unknown, events)


def test_no_kind_of_row_is_in_two_tables() -> None:
    assert not REPEATED & BOOKKEEPING


ROWS = {
    SESSION.id: (wired("TurnBegin", user_input="hi"), asked("c", '{"command": "pwd"}')),
    WIRE.id: (
        coded("context.append_message", message={"role": "user", "content": "hi"}),
        looped("tool.call", toolCallId="c", name="Bash", args={"command": "pwd"}),
    ),
    STREAM.id: (
        {"role": "assistant", "content": "hi"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "Bash", "arguments": "pwd"}}]},
    ),
}


@every_format
def test_a_last_line_that_is_cut_is_told_apart(form: Format) -> None:
    text = written(*ROWS[form.id])[:-10]
    events = read(form, text)
    assert [type(event) for event in events][1:] == [Malformed]
    assert "ends in the middle" in of(Malformed, events)[0].reason
    check_lines(text.encode(), events)


@every_format
def test_glued_rows_are_two_rows_on_one_line(form: Format) -> None:
    first, second = (json.dumps(row) for row in ROWS[form.id])
    events = read(form, first + second + "\n")
    assert places(events) == [(1, 0), (1, 1)]
    assert len(of(ToolCall, events)) == 1


@every_format
def test_bad_utf8_and_nul_lose_nothing(form: Format) -> None:
    first, second = (json.dumps(row).encode() for row in ROWS[form.id])
    data = first.replace(b"hi", b"\xff\xfe") + b"\n\0\0\n" + second.replace(b"pwd", b"\\u0000\0")
    events = read(form, data)
    check_lines(data, events)
    assert "\udcff\udcfe" in getattr(events[0], "text", "")
    assert len(of(Malformed, events)) == 1
    assert len(of(ToolCall, events)) == 1


@every_format
def test_carriage_returns_and_a_byte_order_mark_change_nothing(form: Format) -> None:
    text = written(*ROWS[form.id])
    spoiled = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    assert read(form, spoiled) == read(form, text)


@every_format
def test_an_empty_file_has_no_events(form: Format) -> None:
    assert read(form, "") == read(form, "\n \n\t\r\n") == []


@every_format
@pytest.mark.parametrize(
    "data", [b"# Readme\n\nNot a transcript.\n", b"\x7fELF\x01\0\0\n\0", b"[1]\n7"]
)
def test_a_file_that_is_no_transcript_is_read_all_the_same(form: Format, data: bytes) -> None:
    events = read(form, data)
    check_lines(data, events)
    assert {type(event) for event in events} <= {Malformed, Notice}


@every_format
def test_rows_of_another_program_are_unknown(form: Format) -> None:
    events = read(form, written({"type": "agent_message", "item": 1}, {}))
    assert [type(event) for event in events] == [Unknown, Unknown]


KINDS = [
    "TurnBegin", "TurnEnd", "StepBegin", "StepRetry", "ContentPart", "ToolCall", "ToolCallPart",
    "ToolResult", "StatusUpdate", "SubagentEvent", "Notification", "BtwEnd", "HookResolved",
    "ApprovalRequest", "ApprovalResponse", "QuestionRequest", "PlanDisplay", "metadata",
    "context.append_message", "context.append_loop_event", "context.apply_compaction",
    "context.undo", "profile.bind", "llm.request", "usage.record", "subagent.spawned",
    "subagent.failed", "turn.ended", "turn.cancel", "turn.step.interrupted", "goal.create",
    "turn.step.retrying", "permission.record_approval_result", "step.begin", "step.end",
    "content.part", "tool.call", "tool.result", "text", "think", "image_url", "video_url",
    "session.resume_hint", "system.version", "assistant", "tool", "meta", "user", "system",
]  # fmt: skip
KEYS = [
    "type", "role", "message", "payload", "event", "content", "tool_calls", "function", "name",
    "arguments", "arguments_part", "id", "toolCallId", "tool_call_id", "return_value", "output",
    "result", "display", "usage", "token_usage", "input_other", "inputOther", "agent_id", "time",
    "timestamp", "part", "text", "think", "image_url", "url", "origin", "kind", "user_input",
    "toolCalls", "questions", "error", "severity", "title", "agentId", "n", "step", "durationMs",
    "subagentId", "summary", "args", "path", "mode", "edit", "display",
]  # fmt: skip

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
names = st.sampled_from(KEYS)
values = st.recursive(
    leaves | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=12,
)
any_rows = st.lists(st.dictionaries(names, values, max_size=6), max_size=6)


def shaped(kind: str, inner: object) -> list[dict[str, Any]]:
    """Rows that are right but for what they hold."""
    return [
        {"timestamp": 1, "message": {"type": kind, "payload": inner}},
        {"timestamp": 1, "message": {"type": "SubagentEvent", "payload": {"event": inner}}},
        {"type": kind, "event": inner, "message": inner, "usage": inner, "result": inner},
        {
            "type": "context.append_loop_event",
            "event": {"type": kind, "part": inner, "result": inner},
        },
        {"role": kind, "type": kind, "content": inner, "tool_calls": inner},
    ]


@settings(max_examples=150, deadline=None)
@given(rows=any_rows, kind=st.sampled_from(KINDS), inner=values)
def test_rows_of_any_shape_are_read_by_every_format(
    rows: list[dict[str, Any]], kind: str, inner: object
) -> None:
    data = written(*rows, *shaped(kind, inner)).encode()
    for form in FORMATS:
        events = read(form, data)
        check_lines(data, events)
        form.recognises([*rows, *shaped(kind, inner)])


def test_deeply_nested_rows_are_read() -> None:
    event: dict[str, Any] = {"type": "ContentPart", "payload": {"type": "text", "text": "deep"}}
    for number in range(100):
        event = {"type": "SubagentEvent", "payload": {"agent_id": str(number), "event": event}}
    events = read(SESSION, written({"timestamp": 1, "message": event}))
    assert events[-1].agent == "0"
    assert read(SESSION, '{"message":' * 50_000)


def test_files_kept_here_are_small() -> None:
    assert sum(p.stat().st_size for p in CAPTURES.rglob("*") if p.is_file()) < 400_000


def test_the_session_is_named_by_the_path() -> None:
    for name in ("kimi-cli-quick", "kimi-code-quick"):
        form = SESSION if "cli" in name else WIRE
        (path,) = files(CAPTURES / name, form)
        session = of(Session, captured(CAPTURES / name, form))[0]
        assert session.session_id
        assert f"/{session.session_id}/" in path
