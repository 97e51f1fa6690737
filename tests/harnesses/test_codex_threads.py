"""Codex's threads that were taken back, forked, reviewed, or given a goal."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import pytest

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.codex.rollout import together
from kbsite.harnesses.form import Held
from kbsite.harnesses.lines import lines
from kbsite.model.event import (
    AgentStart,
    Event,
    Message,
    Notice,
    TokenUse,
    ToolCall,
    Topic,
    Trace,
)
from tests.harnesses.test_codex import event, events, only, row, said

MAIN = "01a22c13-6eec-71c2-ac45-bd512b8ffce8"
PART = "01a22c13-7095-7641-8081-79a4e6db59c3"
REVIEW = "01a22c13-71ae-78e3-ab2b-8136243c16d1"


def of(kind: type[Any], found: list[Event]) -> list[Any]:
    return [one for one in found if isinstance(one, kind)]


def file(name: str, *rows: dict[str, Any]) -> Held:
    data = "".join(json.dumps(one) + "\n" for one in rows).encode()
    name = f"rollout/rollout-2026-11-30T10-50-00-{name}.jsonl"
    return Held(name, lambda: lines(io.BytesIO(data)))


def begun(thread: str, **payload: Any) -> dict[str, Any]:
    return row("session_meta", **{"id": thread, "cwd": "/w", "source": "exec", **payload})


def used(number: int, sent: int, whole: int) -> dict[str, Any]:
    """A response, and what the thread had used with it."""
    own, all_of_it = ({"input_tokens": n, "output_tokens": 10} for n in (sent, whole))
    return row(
        "token_usage_record", response_id=f"r{number}", usage=own, thread_token_usage=all_of_it
    )


def total(files: list[Held]) -> tuple[int | None, bool]:
    ledger = Ledger()
    for use in of(TokenUse, list(together(files))):
        ledger.add(use)
    return ledger.total.sent, ledger.lower_bound


def item(kind: str, thread: str, **held: Any) -> dict[str, Any]:
    return event("item_completed", thread_id=thread, turn_id="t", item={"type": kind, **held})


FIRST = file(MAIN, begun(MAIN), used(1, 100, 100), said("user", "undone"), used(2, 70, 170))
BASE = {"thread_id": MAIN, "end_ordinal_exclusive": 2, "end_byte_offset": 99}


def test_a_thread_that_was_taken_back_says_so_and_counts_what_was_undone() -> None:
    second = file(
        f"{MAIN}_{PART}",
        begun(MAIN, timestamp="2026-11-30T10:50:01.237Z", history_base=BASE),
        event("token_count", info={"total_token_usage": {"input_tokens": 100}}),
        said("user", "anew"),
        used(3, 40, 140),
        used(4, 5, 145),
    )
    notice = only(Notice, list(together([FIRST, second])))
    assert notice.topic is Topic.INTERRUPTION
    assert "was taken back to before its row of ordinal 2, and goes on from there" in notice.text
    # 100 and 70 in the first file, and 45 in the second one, whose count goes on from 100.
    assert total([FIRST, second]) == (215, False)


def test_a_fork_that_copies_no_rows_counts_its_own_responses_alone() -> None:
    fork = file(
        PART, begun(PART, forked_from_id=MAIN, history_base=BASE), used(3, 40, 210),
    )  # fmt: skip
    notice = only(Notice, list(together([FIRST, fork])))
    assert (notice.topic, notice.text) == (
        Topic.NOTE, f"It goes on from session {MAIN}, as that was before its row of ordinal 2.",
    )  # fmt: skip
    assert total([FIRST, fork]) == (210, False)


def reviewed() -> list[dict[str, Any]]:
    return [
        begun(MAIN),
        item("EnteredReviewMode", MAIN, target={"type": "custom", "instructions": "look at it"}),
        item("UserMessage", REVIEW, content=[{"type": "text", "text": "look at it"}]),
        item("CommandExecution", REVIEW, id="c", command=["ls"], exit_code=0, source="agent"),
        item("ExitedReviewMode", MAIN, review_output={
            "findings": [{"title": "Wrong sign", "body": "It subtracts.", "code_location": {
                "absolute_file_path": "/w/a.py", "line_range": {"start": 3, "end": 4}}}],
            "overall_correctness": "patch is incorrect", "overall_confidence_score": 0.9,
            "overall_explanation": "See below."}),
        item("CommandExecution", MAIN, id="d", command=["pwd"], exit_code=0, source="agent"),
    ]  # fmt: skip


def test_what_a_review_did_is_its_own_and_told_once() -> None:
    main = file(MAIN, *reviewed())
    own = file(
        REVIEW, begun(REVIEW, source={"subagent": "review"}, parent_thread_id=MAIN),
        said("user", "look at it"),
    )  # fmt: skip
    found = list(together([main, own]))
    assert [(c.call_id, c.agent) for c in of(ToolCall, found)] == [("d", "")]
    assert [(m.text, m.agent) for m in of(Message, found)] == [("look at it", REVIEW)]
    alone = list(together([main]))
    assert [(c.call_id, c.agent) for c in of(ToolCall, alone)] == [("c", REVIEW), ("d", "")]
    assert [(m.text, m.agent) for m in of(Message, alone)] == [("look at it", REVIEW)]
    start = only(AgentStart, alone)
    assert (start.child, start.title) == (REVIEW, "review")
    # What it used, nobody tells.
    assert total([main]) == (None, True)


def test_a_review_tells_what_it_is_of_and_what_came_of_it() -> None:
    begun, ended = of(Notice, events(*reviewed()))
    assert begun.text == "A review begins: look at it"
    assert ended.text == (
        "The review ended.\n\npatch is incorrect (confidence 0.9)\n\nSee below.\n\n"
        "Wrong sign (/w/a.py:3-4)\nIt subtracts."
    )


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({"target": {"type": "baseBranch", "branch": "main"}}, "A review begins: main"),
        ({"target": {"type": "uncommittedChanges"}, "user_facing_hint": "current changes"},
         "A review begins: current changes"),
        ({}, "A review begins."),
    ],
)  # fmt: skip
def test_events_of_older_versions_tell_of_reviews_too(held: dict[str, Any], told: str) -> None:
    begun, ended = of(Notice, events(
        event("entered_review_mode", **held), event("exited_review_mode", review_output=None),
    ))  # fmt: skip
    assert (begun.text, ended.text) == (told, "The review ended without a result.")


@pytest.mark.parametrize(
    ("turns", "what"), [(1, "the last turn"), (3, "the last 3 turns"), (None, "turns")]
)
def test_turns_that_were_rolled_back_are_told_with_their_number(
    turns: int | None, what: str
) -> None:
    notice = only(Notice, events(event("thread_rolled_back", num_turns=turns)))
    assert notice.text.startswith(f"The session was taken back by {what}: ")
    assert (notice.topic, notice.restores) == (Topic.INTERRUPTION, False)


def test_an_undo_puts_files_back() -> None:
    undo = partial(event, "undo_completed", message="Undo restored snapshot 0a1b2c3.")
    assert only(Notice, events(undo(success=True))).restores
    assert not only(Notice, events(undo(success=False))).restores


def test_a_goal_is_told_when_it_is_set_or_becomes_another_one() -> None:
    def goal(aim: str, spent: int) -> dict[str, Any]:
        return event("thread_goal_updated", goal={"objective": aim, "tokensUsed": spent})

    found = events(goal("Make it fast", 0), goal("Make it fast", 9), goal("Make it faster", 9))
    assert [n.text for n in of(Notice, found)] == ["Goal: Make it fast", "Goal: Make it faster"]
    assert len(of(Trace, found)) == 1


def test_a_command_that_a_person_ran_is_no_tool_of_the_models() -> None:
    (call,) = of(ToolCall, events(
        item("CommandExecution", "", id="c", command=["ls"], exit_code=3, source="user_shell")
    ))  # fmt: skip
    assert (call.tool, call.tool_kind.value) == ("user_shell", "run")


def test_what_codex_says_of_a_review_is_no_persons_word() -> None:
    found = events(said("user", "<user_action>\n  <action>review</action>\n</user_action>"))
    assert only(Message, found).injected
