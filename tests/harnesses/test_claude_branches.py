"""Claude Code's session log as a tree: where its conversation goes back, or begins anew."""

from __future__ import annotations

import json
from typing import Any

from kbsite.harnesses.claude import branches
from kbsite.harnesses.claude.forks import together
from kbsite.model.event import Message, Notice, Topic, Trace, Unknown
from tests.harnesses.claude_rows import assistant, call, held, of, only, read, result, user


def prompt(uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return user(f"prompt {uuid}", uuid=uuid, parentUuid=parent, **more)


def said(uuid: str, parent: str, *blocks: object, message: str = "") -> dict[str, Any]:
    held = blocks or ({"type": "text", "text": f"said {uuid}"},)
    return assistant(*held, uuid=uuid, parentUuid=parent, message={"id": message or f"m-{uuid}"})


def answered(uuid: str, parent: str, call_id: str) -> dict[str, Any]:
    return user([result(call_id, "ok")], uuid=uuid, parentUuid=parent)


def backs(*rows: object) -> list[str]:
    return [n.text for n in of(Notice, read(*rows)) if n.topic is Topic.INTERRUPTION]


def test_a_prompt_that_was_taken_back_is_told_with_what_the_model_sees_no_more() -> None:
    rows = [
        prompt("p1", None), said("a1", "p1"), prompt("p2", "a1"), said("a2", "p2"),
        prompt("p3", "a1"), said("a3", "p3"),
    ]  # fmt: skip
    events = read(*rows)
    notice = only(Notice, events)
    assert notice.text == (
        "The conversation goes back to line 2, and on from there: "
        "the model sees nothing of lines 3 to 4 any more."
    )
    after = events[events.index(notice) + 1]
    assert isinstance(after, Message)
    assert (notice.source.line, after.text) == (5, "prompt p3")


def test_of_a_log_of_very_many_rows_no_more_is_kept_in_mind(monkeypatch: Any) -> None:
    rows = [prompt("p1", None), said("a1", "p1"), prompt("p2", "a1"), prompt("p3", "a1")]
    assert len(backs(*rows)) == 1
    monkeypatch.setattr(branches, "_MOST_ROWS", 3)
    assert backs(*rows) == []
    assert backs(*rows, *(prompt(f"q{n}", "a1") for n in range(9))) == []


def test_a_session_that_is_resumed_within_a_turn_goes_back_too() -> None:
    rows = [
        prompt("p1", None), said("a1", "p1"), said("a2", "a1", call("c", "Bash")),
        answered("r2", "a2", "c"), said("a3", "r2"), prompt("p2", "a1"),
    ]  # fmt: skip
    assert backs(*rows) == [
        "The conversation goes back to line 2, and on from there: "
        "the model sees nothing of lines 3 to 5 any more."
    ]


def test_where_copies_of_files_are_kept_they_may_have_been_put_back() -> None:
    def kept(**files: object) -> dict[str, Any]:
        return {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": files}}

    rows = [prompt("p1", None), said("a1", "p1"), prompt("p2", "a1"), prompt("p3", "a1")]
    for first, restores in ((kept(), False), (kept(x={}), True)):
        notice = only(Notice, read(first, *rows))
        assert notice.restores == restores
        assert notice.text.endswith(" Files may have been put back.") == restores


def test_a_prompt_that_nothing_answered_and_another_one_replaced_is_told() -> None:
    stopped = user("[Request interrupted by user]", uuid="i", parentUuid="p2")
    rows = [prompt("p1", None), said("a1", "p1"), prompt("p2", "a1"), stopped, prompt("p3", "a1")]
    assert backs(*rows)[-1].endswith("sees nothing of lines 3 to 4 any more.")


def test_a_conversation_without_a_row_before_it_begins_anew() -> None:
    hook = {
        "type": "progress", "uuid": "h", "parentUuid": None, "sessionId": "s",
        "data": {"type": "hook_progress"},
    }  # fmt: skip
    rows = [prompt("p1", None), said("a1", "p1"), hook, prompt("p2", "h")]
    assert backs(*rows) == [
        "The conversation begins anew: the model sees nothing of lines 1 to 2 any more."
    ]


def test_calls_at_once_whose_results_hang_beside_each_other_are_no_branches() -> None:
    for last in ("r1", "r2"):
        rows = [
            prompt("p1", None),
            said("a1", "p1", call("c1", "Read"), message="m"),
            answered("r1", "a1", "c1"),
            said("a2", "a1", call("c2", "Read"), message="m"),
            answered("r2", "a2", "c2"),
            prompt("p2", last),
        ]
        assert backs(*rows) == []


def test_a_compaction_is_no_way_back_and_a_prompt_goes_back_beyond_it() -> None:
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None,
        "logicalParentUuid": "a1", "sessionId": "s", "content": "Conversation compacted",
    }  # fmt: skip
    summary = user("summed up", uuid="s1", parentUuid="b", isCompactSummary=True)
    rows = [prompt("p1", None), said("a1", "p1"), boundary, summary, prompt("p2", "s1")]
    assert backs(*rows) == []
    assert backs(*rows, said("a2", "p2"), prompt("p3", "a1")) == [
        "The conversation goes back to line 2, and on from there: "
        "the model sees nothing of lines 3 to 6 any more."
    ]
    # Old versions tell of a compaction by the summary alone.
    old = user("summed up", uuid="s1", parentUuid=None, isCompactSummary=True)
    assert backs(prompt("p1", None), said("a1", "p1"), old, prompt("p2", "s1")) == []


def test_rows_beside_the_conversation_are_no_part_of_it() -> None:
    note = {"type": "attachment", "uuid": "n", "parentUuid": "a1", "sessionId": "s",
            "attachment": {"type": "date", "date": "2026-01-01"}}  # fmt: skip
    aside = prompt("x", None, isSidechain=True)
    rows = [prompt("p1", None), said("a1", "p1"), note, aside, prompt("p2", "a1"),
            prompt("p3", "elsewhere")]  # fmt: skip
    assert backs(*rows) == []


def test_a_fork_goes_on_from_what_it_copied() -> None:
    rows = [prompt("p1", None), said("a1", "p1"), prompt("p2", "a1"), said("a2", "p2")]
    copies = [{**row, "sessionId": "t"} for row in rows[:2]]
    fork = [*copies, prompt("p3", "a1", sessionId="t", timestamp="2026-11-21T06:00:00.000Z")]
    files = [held("session/s.jsonl", rows), held("session/t.jsonl", fork)]
    told = [n.text for n in of(Notice, list(together(files)))]
    assert told == ["Copied from session s, where these rows are shown and counted."]


def test_a_log_of_many_ways_back_takes_no_longer_than_it_may() -> None:
    limit = 4000
    rows = [prompt("p0", None)]
    rows += [said(f"a{n}", "p0" if n == 0 else f"a{n - 1}") for n in range(limit)]
    rows += [prompt(f"q{n}", "p0" if n % 2 else f"a{limit - 1}") for n in range(limit)]
    assert 300 < len(backs(*rows)) < limit / 2


# What waits in the queue


def queued(operation: str, **more: str) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "sessionId": "s", **more}


def waited(*rows: object) -> list[str]:
    begin = "It waited in the queue, and the model was never told:\n"
    told = [n.text for n in of(Notice, read(*rows))]
    return [text.removeprefix(begin) for text in told if text.startswith(begin)]


def test_what_still_waits_when_the_log_ends_is_told() -> None:
    ended = (
        "<task-notification>\n<tool-use-id>c</tool-use-id>\n<status>killed</status>\n"
        '<summary>Background command "long" was stopped</summary>\n</task-notification>'
    )
    rows = [
        queued("enqueue", content="go"), queued("dequeue"), user("go"), said("a1", "u"),
        queued("enqueue", content=ended),
    ]  # fmt: skip
    assert waited(*rows) == [ended]
    assert of(Notice, read(*rows))[-1].source.line == len(rows)


def test_what_was_taken_out_of_the_queue_is_not() -> None:
    sent = [queued("enqueue", content="one"), queued("enqueue", content="two")]
    by_a_turn = [*sent, queued("dequeue"), user("one"), queued("dequeue"), user("two")]
    within = [*sent, queued("remove", content="one"), queued("remove", content="two")]
    back = [*sent, queued("popAll", content="one\ntwo")]
    for rows in (by_a_turn, within, back):
        assert waited(*rows) == []
    # A command is sent in other words than it was typed in.
    command = [queued("enqueue", content="/context"), queued("dequeue"), user("<command-name>")]
    assert waited(*command, *sent[:1]) == ["one"]
    assert waited(*sent, queued("dequeue"), user("one")) == ["two"]


# Rows of versions since 2.1.33x


def test_rows_of_newer_versions_are_no_unknown_ones() -> None:
    kinds = (
        "file-history-delta", "data-flow-records", "derived-from", "resume-head-vouch",
        "session-owner", "isolation-latch", "relocated", "repl-mode", "memory-mode",
    )  # fmt: skip
    events = read(*({"type": kind, "sessionId": "s"} for kind in kinds))
    assert [event.type for event in of(Trace, events)] == list(kinds)
    told = read(
        {"type": "continued-in", "sessionId": "s", "continuedInSessionId": "t"},
        {"type": "ended-by-model", "sessionId": "s"},
        {"type": "system", "subtype": "model_fallback", "content": "now another", "sessionId": "s"},
    )
    assert [notice.text for notice in of(Notice, told)] == [
        "The session goes on in session t.", "The model ended the conversation.", "now another",
    ]  # fmt: skip
    assert of(Unknown, [*events, *told]) == []
    assert of(Notice, told)[2].of_model


def test_a_sub_agent_that_began_with_what_another_had_seen_says_so() -> None:
    row = {"type": "fork-context-ref", "agentId": "b", "parentSessionId": "s",
           "parentLastUuid": "a1", "contextLength": 3}  # fmt: skip
    notice = only(Notice, read(row, file="s/subagents/agent-b.jsonl"))
    assert (notice.agent, notice.text) == (
        "b", "It starts with what the agent that started it had seen.",
    )  # fmt: skip
    assert json.dumps(row) == notice.raw
