"""What `gemini --output-format stream-json` prints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kbsite.harnesses.gemini import stream
from kbsite.model.event import (
    Finish,
    Malformed,
    Message,
    Notice,
    Role,
    Session,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from kbsite.store.files import contents
from kbsite.transcripts import transcript
from tests.harnesses.gemini_rows import (
    AT,
    BESIDE_CAPTURES,
    CAPTURES,
    STREAM,
    ended,
    init,
    piece,
    printed,
)
from tests.harnesses.reading import CORPUS, beside, ledger, of, one, read, read_rows

LATER = "2026-11-21T15:00:00.000Z"

PRINTED = sorted(CAPTURES.rglob("stdout.jsonl"))
LONG = sorted((CORPUS / "gemini-stream").rglob("*.jsonl")) + sorted(
    BESIDE_CAPTURES.rglob("stdout.jsonl")
)


def check_lines(data: bytes) -> None:
    events = read(STREAM, data, "stdout.jsonl")
    filled = {number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {event.source.line for event in events} == filled
    assert len({event.source for event in events}) == len(events)
    assert [e.source for e in events] == sorted((e.source for e in events), key=place)
    assert not of(Unknown, events)


def place(source: Any) -> tuple[int, int]:
    return source.line, source.part


@pytest.mark.parametrize("path", PRINTED, ids=lambda path: path.parent.name)
def test_every_captured_line_has_an_event_in_its_order(path: Any) -> None:
    check_lines(path.read_bytes())


@beside
@pytest.mark.parametrize("path", LONG, ids=lambda path: path.parent.name)
def test_every_line_beside_the_checkout_has_an_event_in_its_order(path: Any) -> None:
    check_lines(path.read_bytes())


def test_pieces_are_one_message_where_the_first_one_stands() -> None:
    events = printed(init(), piece("Hel"), piece("lo"), piece("."), ended())
    message = one(Message, events)

    assert (message.text, message.source.line, message.role) == ("Hello.", 2, Role.ASSISTANT)
    assert [trace.source.line for trace in of(Trace, events)] == [3, 4]


def test_a_call_between_pieces_ends_the_message() -> None:
    call = {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "c",
            "parameters": {"command": "ls"}}  # fmt: skip
    events = printed(piece("a"), call, piece("b"))

    assert [message.text for message in of(Message, events)] == ["a", "b"]
    assert one(ToolCall, events).tool_kind is ToolKind.RUN
    assert one(ToolCall, events).summary == "ls"


def test_a_message_that_was_cut_by_a_kill_is_told() -> None:
    assert one(Message, printed(init(), piece("Hel"))).text == "Hel"


def test_text_between_pieces_spares_both() -> None:
    rows = [json.dumps(piece("a")), "Killed", json.dumps(piece("b"))]
    events = read(STREAM, "\n".join(rows))

    assert [message.text for message in of(Message, events)] == ["a", "b"]
    assert one(Malformed, events).source.line == 2


def test_pieces_without_end_are_not_held_back_without_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(stream, "_PIECES", 10)
    events = printed(*(piece("x") for _ in range(25)))

    assert [len(message.text) for message in of(Message, events)] == [10, 10, 5]


def test_what_a_person_said_is_a_message_of_its_own() -> None:
    events = printed({"type": "message", "role": "user", "content": "do it"}, piece("ok"))

    assert [message.role for message in of(Message, events)] == [Role.USER, Role.ASSISTANT]


def test_the_session_names_the_model() -> None:
    session = one(Session, printed(init()))

    assert (session.session_id, session.model) == ("s-1", "m-1")
    assert session.at is not None


def test_an_error_of_a_call_is_told_once() -> None:
    row = {"type": "tool_result", "timestamp": AT, "tool_id": "c", "status": "error",
           "output": "no such file", "error": {"type": "x", "message": "no such file"}}  # fmt: skip
    result = one(ToolResult, printed(row))

    assert (result.output, result.is_error) == ("no such file", True)


def test_an_error_of_a_call_without_output_is_its_output() -> None:
    row = {"type": "tool_result", "tool_id": "c", "status": "error", "error": {"message": "gone"}}

    assert one(ToolResult, printed(row)).output == "gone"


@pytest.mark.parametrize(("severity", "topic"), [("error", Topic.ERROR), ("warning", Topic.NOTE)])
def test_errors_and_warnings_are_notices(severity: str, topic: Topic) -> None:
    notice = one(Notice, printed({"type": "error", "severity": severity, "message": "Hm."}))

    assert (notice.topic, notice.text) == (topic, "Hm.")


def test_the_result_is_the_end_and_the_total() -> None:
    events = printed(init(), ended())
    finish, total = one(Finish, events), ledger(events).total

    assert (finish.ok, finish.reason, finish.seconds) == (True, "success", 1.5)
    assert (total.input, total.cache_read, total.output, total.reasoning) == (1000, 500, 58, 8)


def test_a_failed_end_tells_why() -> None:
    finish = one(Finish, printed(init(), ended("error", error={"type": "x", "message": "400"})))

    assert (finish.ok, finish.reason, finish.text) == (False, "error", "400")


def test_an_answer_that_an_error_broke_off_is_not_in_the_total() -> None:
    error = ended("error", error={"type": "unknown", "message": "[API Error: terminated]"})
    asked = {"type": "tool_use", "tool_name": "ls", "tool_id": "c1", "parameters": {}}

    assert ledger(printed(init(), piece("cut in the mid"), error)).lower_bound
    assert not ledger(printed(init(), piece("I look."), asked, error)).lower_bound
    assert not ledger(printed(init(), piece("Done."), ended())).lower_bound


@pytest.mark.parametrize(
    ("message", "less"), [("", False), ("[API Error: terminated]", True), ("cancelled", True)]
)
def test_a_log_counts_all_where_its_last_request_was_refused(
    tmp_path: Path, message: str, less: bool
) -> None:
    """The log alone has the prompt and nothing behind it, refused or broken off."""
    folder = tmp_path / "transcript"
    shutil.copytree(Path(__file__).parent / "captures/gemini/e401", folder)
    printed = folder / "stdout.jsonl"
    *rows, last = map(json.loads, printed.read_text().splitlines())
    last["error"]["message"] = message or last["error"]["message"]
    printed.write_text("".join(json.dumps(row) + "\n" for row in (*rows, last)))
    shown = transcript("gemini", contents(folder)[0])

    assert shown is not None
    assert shown.format == "gemini-chat"
    assert (shown.lower_bound, shown.usage.known) == (less, not less)


def test_the_totals_of_two_sessions_in_a_file_are_added_up() -> None:
    events = printed(init("a"), ended(), init("b"), ended())

    assert ledger(events).total.sent == 3000


def test_a_session_that_was_taken_up_again_counts_from_there() -> None:
    stats = {"input_tokens": 10, "cached": 4, "output_tokens": 2, "total_tokens": 12}
    row = ended(stats=stats)
    held = ledger(printed(init(), row, row, init(), row))

    assert (held.total.input, held.total.cache_read, held.total.output) == (12, 8, 4)


def test_a_session_that_was_taken_up_again_in_another_file_counts_from_there() -> None:
    row = ended(stats={"input_tokens": 10, "cached": 4, "output_tokens": 2, "total_tokens": 12})
    files = {
        name: read_rows(STREAM, {**init(), "timestamp": at}, row, name=name)
        for name, at in (("stream/b", AT), ("stream/a", LATER), ("stream/copy of a", LATER))
    }
    told = ledger([event for events in files.values() for event in events]).total

    assert (told.input, told.cache_read, told.output) == (12, 8, 4)


@pytest.mark.parametrize("stats", [None, 3, {}, {"input_tokens": -1, "cached": "x"}, []])
def test_a_total_that_is_none_is_not_0(stats: Any) -> None:
    events = printed(init(), ended(stats=stats))

    assert not of(TokenUse, events)
    assert not ledger(events).total.known


def test_a_row_of_another_type_is_unknown() -> None:
    assert one(Unknown, printed({"type": "new", "x": 1})).raw == '{"type": "new", "x": 1}'
