"""Claude Code's forks (`--resume X --fork-session`): sessions that begin with copies of another's.

The rows are those that version 2.1.332 writes: a copy has the uuid, the time and the message of its
row, and the id of its own session.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.harnesses.claude.forks import together
from kbsite.model.event import Message, Notice, Role, ToolCall, Trace
from kbsite.model.transcript import Transcript
from tests.harnesses.claude_rows import assistant, call, cost_state, held, result, used, user

FOLDER = "home/.claude/projects/-w/"
Rows = list[dict[str, Any]]


def told(**sessions: Rows) -> Transcript:
    """What the files of sessions say together, in the order of their names."""
    fold = Fold()
    for event in together([held(f"{FOLDER}{name}.jsonl", rows) for name, rows in sessions.items()]):
        fold.add(event)
    return fold.transcript("", "", ())


def at(minute: int, uuid: str) -> dict[str, str]:
    return {"timestamp": f"2026-11-21T05:{minute:02}:00.000Z", "uuid": uuid}


def parent() -> Rows:
    message = {"id": "m1", "usage": used(40), "stop_reason": "tool_use"}
    return [
        {"type": "queue-operation", "timestamp": at(1, "")["timestamp"], "sessionId": "s"},
        user("go", **at(2, "u1")),
        assistant(call("c1", "Bash", command="ls"), message=message, **at(3, "a1")),
        user([result("c1", "a.txt")], **at(4, "u2")),
        cost_state({"m": {"inputTokens": 10, "outputTokens": 40}}, totalCostUSD=2.5),
    ]  # fmt: skip


def copies(rows: Rows, session: str) -> Rows:
    return [row | {"sessionId": session} for row in rows if "uuid" in row]


def fork(session: str, base: Rows, name: str, minute: int = 10, output: int = 47) -> Rows:
    """A session that begins with copies, and what it did itself."""
    message = {"id": f"m-{name}", "usage": used(7), "stop_reason": "end_turn"}
    own = {"sessionId": session}
    return [
        {"type": "queue-operation", "timestamp": at(minute, "")["timestamp"], **own},
        *copies(base, session), user(f"more {name}", **at(minute, f"u-{name}"), **own),
        assistant({"type": "text", "text": "done"}, message=message, **at(minute + 1, f"a-{name}"),
                  **own),
        cost_state({"m": {"inputTokens": 20, "outputTokens": output}}, totalCostUSD=3.0, **own),
    ]  # fmt: skip


def prompts(shown: Transcript) -> list[str]:
    events = (step.event for step in shown.main.steps)
    return [e.text for e in events if isinstance(e, Message) and e.role is Role.USER]


def test_rows_that_a_fork_copied_are_shown_and_counted_once() -> None:
    shown = told(s=parent(), t=fork("t", parent(), "one"))
    notes = [s.event for s in shown.main.steps if isinstance(s.event, Notice)]

    assert prompts(shown) == ["go", "more one"]
    assert sum(isinstance(step.event, ToolCall) for step in shown.main.steps) == 1
    assert [note.text for note in notes] == [
        "Copied from session s, where these rows are shown and counted."
    ]
    assert (shown.main.usage.output, shown.usage.output) == (47, 47)


def test_copies_are_kept_as_traces() -> None:
    shown = told(s=parent(), t=fork("t", parent(), "one"))
    traces = [s.event for s in shown.main.steps if isinstance(s.event, Trace)]

    assert [t.type for t in traces if t.source.file.endswith("t.jsonl")][1:4] == [
        "copied/user", "copied/assistant", "copied/user",
    ]  # fmt: skip
    assert '"more' not in "".join(t.raw for t in traces)


def test_a_fork_whose_name_comes_first_is_the_fork_still() -> None:
    shown = told(a=fork("a", parent(), "one"), s=parent())

    assert prompts(shown) == ["go", "more one"]
    assert shown.main.steps[0].event.source.file == f"{FOLDER}s.jsonl"
    assert shown.main.steps[0].anchor == "L1"


def test_what_a_fork_says_that_it_cost_includes_its_parent() -> None:
    # Claude Code goes on counting where the parent was: each fork of one tells it again.
    shown = told(
        s=parent(), t=fork("t", parent(), "one"), u=fork("u", parent(), "two", 20, output=60)
    )

    assert (shown.usage.output, shown.usage.input) == (40 + 7 + 20, 10 + 10 + 10)
    assert shown.cost_usd == pytest.approx(2.5 + 0.5 + 0.5)


def test_a_fork_of_a_fork_is_counted_on_top_of_that_one() -> None:
    first = fork("t", parent(), "one")
    second = fork("u", first, "two", 20, output=60)
    second[-1] |= {"totalCostUSD": 4.0}
    shown = told(s=parent(), t=first, u=second)

    assert prompts(shown) == ["go", "more one", "more two"]
    assert (shown.usage.output, shown.cost_usd) == (60, 4.0)


def test_a_fork_that_counts_anew_is_counted_whole() -> None:
    shown = told(s=parent(), t=fork("t", parent(), "one", output=7))

    assert shown.usage.output == 47


def test_rows_of_one_id_that_say_something_else_are_no_copies() -> None:
    other = copies(parent(), "t")
    other[0] = user("go elsewhere", **at(2, "u1")) | {"sessionId": "t"}

    assert prompts(told(s=parent(), t=other)) == ["go", "go elsewhere"]


def test_a_row_that_stands_twice_in_one_file_is_shown_twice() -> None:
    rows = [user("go", **at(2, "u1"))] * 2

    assert prompts(told(s=rows, t=[])) == ["go", "go"]


def test_files_of_sub_agents_are_read_as_ever() -> None:
    child = user("look", agentId="a1", isSidechain=True, **at(5, "x"))
    files = [
        held(f"{FOLDER}s/subagents/agent-a1.jsonl", [child]),
        held(f"{FOLDER}s.jsonl", parent()), held(f"{FOLDER}t.jsonl", fork("t", parent(), "one")),
    ]  # fmt: skip
    fold = Fold()
    for event in together(files):
        fold.add(event)

    assert [log.id for log in fold.transcript("", "", ()).unlinked] == ["a1"]


def test_the_format_reads_its_files_so(tmp_path: Any) -> None:
    from kbsite.store.files import Stored
    from kbsite.transcripts import transcript

    files = []
    for name, rows in (("s", parent()), ("t", fork("t", parent(), "one"))):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(map("{}\n".format, map(partial(json.dumps), rows))))
        files.append(Stored(f"{FOLDER}{name}.jsonl", str(path), path.stat().st_size))
    shown = transcript("claude", files)

    assert shown is not None
    assert prompts(shown) == ["go", "more one"]
