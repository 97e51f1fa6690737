"""Sessions of kimi-cli that were forked, as by `/undo`: their logs begin with copies."""

from __future__ import annotations

import io
from typing import Any

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.form import Held
from kbsite.harnesses.kimi import code_wire, session
from kbsite.harnesses.lines import lines
from kbsite.model.event import Event, Message, Notice, TokenUse, ToolCall, Trace
from tests.harnesses.kimi_rows import asked, came, coded, looped, of, spent, wired, written

HEAD = {"type": "metadata", "protocol_version": "1.9"}


def timed(first: int, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**row, "timestamp": 1_795_000_000.5 + first + n} for n, row in enumerate(rows)]


def turn(first: int, said: str, call: str) -> list[dict[str, Any]]:
    rows = [wired("TurnBegin", user_input=said), asked(call, '{"command": "ls"}'), came(call, "x")]
    return timed(first, *rows, spent(10, 1), wired("TurnEnd"))


def log(name: str, *rows: dict[str, Any]) -> Held:
    data = written(HEAD, *rows).encode()
    place = f"home/.kimi/sessions/0a1b/{name}/wire.jsonl"
    return Held(place, lambda: lines(io.BytesIO(data)))


def told(*files: Held) -> list[Event]:
    return list(session.together(files))


def test_what_a_fork_copied_is_told_and_counted_once() -> None:
    kept, undone, anew = turn(0, "one", "c1"), turn(10, "two", "c2"), turn(20, "three", "c3")
    events = told(log("s1", *kept, *undone), log("s2", *kept, *anew))

    assert [m.text for m in of(Message, events)] == ["one", "two", "three"]
    assert [call.call_id for call in of(ToolCall, events)] == ["c1", "c2", "c3"]
    (notice,) = of(Notice, events)
    assert notice.text.startswith("Copied from another session, ")
    assert notice.text.endswith("what follows them there is no part of this one.")
    assert len([trace for trace in of(Trace, events) if trace.type == "copied"]) == len(kept)
    held = Ledger()
    for use in of(TokenUse, events):
        held.add(use)
    assert held.total.sent == 30


def test_sessions_that_copied_nothing_are_told_whole() -> None:
    one, other = turn(0, "one", "c1"), turn(5, "one", "c1")
    events = told(log("s1", *one), log("s2", *other))

    assert [m.text for m in of(Message, events)] == ["one", "one"]
    assert of(Notice, events) == []
    # A row that a session has twice is told twice.
    assert len(of(Message, told(log("s1", *one, *one)))) == 2


def code_log(name: str, agent: str, *rows: dict[str, Any]) -> Held:
    head = {"type": "metadata", "protocol_version": "1.5", "created_at": 1}
    data = written(head, *({**row, "time": 1_795_000_000_000 + n} for n, row in enumerate(rows)))
    place = f"home/.kimi-code/sessions/wd_w/{name}/agents/{agent}/wire.jsonl"
    return Held(place, lambda: lines(io.BytesIO(data.encode())))


def code_turn(said: str, call: str) -> list[dict[str, Any]]:
    counted = {"inputOther": 10, "output": 1}
    message = {"role": "user", "content": said, "origin": {"kind": "user"}}
    return [
        coded("context.append_message", message=message), looped("step.begin", step=1),
        looped("tool.call", toolCallId=call, name="Bash", args={"command": "ls"}),
        looped("tool.result", toolCallId=call, result={"output": "x"}),
        coded("usage.record", usage=counted, usageScope="turn"),
        looped("step.end", usage=counted),
    ]  # fmt: skip


def test_what_a_fork_of_kimi_code_copied_is_told_and_counted_once() -> None:
    kept, anew = code_turn("one", "c1"), code_turn("two", "c2")
    forked = coded("forked", agentId="main")
    parent, fork = code_log("s1", "main", *kept), code_log("s2", "main", *kept, forked, *anew)
    events = list(code_wire.together([parent, fork]))

    assert [m.text for m in of(Message, events)] == ["one", "two"]
    assert [call.call_id for call in of(ToolCall, events)] == ["c1", "c2"]
    (notice,) = of(Notice, events)
    assert notice.text.startswith("Copied from another session, ")
    held = Ledger()
    for use in of(TokenUse, events):
        held.add(use)
    assert held.total.sent == 20


def test_agents_of_one_session_of_kimi_code_copied_nothing_of_each_other() -> None:
    rows = code_turn("one", "c1")
    files = [code_log("s1", "main", *rows), code_log("s1", "agent-0", *rows)]
    other = code_log("s2", "agent-1", *rows)

    assert len(of(Message, list(code_wire.together(files)))) == 2
    assert len(of(Message, list(code_wire.together([*files, other])))) == 3
