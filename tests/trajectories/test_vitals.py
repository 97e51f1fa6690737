from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kbsite.model.event import Edit, Role, ToolKind, Topic
from kbsite.model.trajectory import VitalSigns
from kbsite.trajectories.vitals import SLOWEST
from tests.trajectories.sessions import CWD, Work


def signs(work: Work) -> VitalSigns:
    return work.trajectory().signs


def test_time_is_the_models_until_it_speaks_and_the_tools_until_they_answer() -> None:
    work = Work().say("do", at=0, role=Role.USER).say(at=4).run("ls", at=(6, 16)).say(at=19)
    found = signs(work)
    assert (found.model, found.idle, dict(found.tools)) == (9, 0, {ToolKind.RUN: 10})
    assert found.span == 19


def test_waiting_for_a_retry_or_a_person_is_idle() -> None:
    work = (
        Work().say(at=1).notice(Topic.RETRY, at=31).say(at=33).say("go on", at=93, role=Role.USER)
    )
    found = signs(work.say(at=95))
    assert (found.model, found.idle) == (2 + 2, 30 + 60)


def test_waiting_for_the_answer_to_a_question_is_idle() -> None:
    asked: dict[str, object] = {"questions": [{"question": "Which one?", "options": []}]}
    work = Work().say("do", at=0, role=Role.USER)
    found = signs(work.call(ToolKind.OTHER, asked, "That one.", at=(10, 3610)).say(at=3615))
    assert (found.model, found.idle, dict(found.tools)) == (10 + 5, 3600, {})
    assert dict(found.calls) == {ToolKind.OTHER: 1}


@pytest.mark.parametrize("tool", ["ExitPlanMode", "exit_plan_mode", "plan_exit"])
def test_waiting_for_somebody_who_agrees_to_a_plan_is_idle(tool: str) -> None:
    work = Work().say("do", at=0, role=Role.USER)
    work.call(ToolKind.PLAN, {"plan": "1. Read."}, "Go on.", at=(10, 3610), tool=tool)
    found = signs(work.say(at=3615))
    assert (found.model, found.idle, dict(found.tools)) == (10 + 5, 3600, {})
    assert dict(found.calls) == {ToolKind.PLAN: 1}

    work.call(ToolKind.PLAN, {"todos": []}, "", at=(3620, 3621), tool="TodoWrite")
    assert dict(signs(work).tools) == {ToolKind.PLAN: 1}


@pytest.mark.parametrize("questions", [None, [], "Which?", ["Which?"], [{"header": "x"}]])
def test_other_calls_wait_for_nobody(questions: object) -> None:
    work = Work().say("do", at=0, role=Role.USER)
    work.call(ToolKind.OTHER, {"questions": questions}, "", at=(10, 13))
    assert signs(work.say(at=15)).idle == 0


def test_a_wait_that_the_cli_tells_of_is_idle_and_then_the_model_is_asked_again() -> None:
    work = Work().say("do", at=0, role=Role.USER).notice(Topic.RETRY, at=1, wait=0.5)
    work.notice(Topic.RETRY, at=3, wait=40)
    found = signs(work.say(at=50))
    assert (found.model, found.idle) == (7, 1 + 2 + 40)


@pytest.mark.parametrize("wait", [-1.0, 9.0, float("inf"), float("nan")])
def test_a_wait_that_was_none_or_was_broken_off_ends_with_what_follows(wait: float) -> None:
    work = Work().say("do", at=0, role=Role.USER).notice(Topic.RETRY, at=1, wait=wait)
    found = signs(work.notice(Topic.ERROR, at=2))
    assert (found.model, found.idle, found.span) == (0, 2, 2)


def test_until_a_model_hands_over_to_another_or_wrote_a_summary_it_was_at_work() -> None:
    work = Work().say("do", at=0, role=Role.USER).notice(Topic.NOTE, at=5, of_model=True)
    work.say(at=7).run("ls", at=(8, 9)).notice(Topic.COMPACTION, at=90)
    found = signs(work.say(at=95))
    assert (found.model, found.idle, dict(found.tools)) == (8 + 81 + 5, 0, {ToolKind.RUN: 1})


def test_what_was_compacted_long_after_a_model_had_its_say_waited_for_a_person() -> None:
    work = Work().say("do", at=0, role=Role.USER).say("Done.", at=10)
    found = signs(work.notice(Topic.COMPACTION, at=90).say(at=95))
    assert (found.model, found.idle) == (10 + 5, 80)


def test_waiting_for_what_the_cli_tells_a_model_that_had_its_say_is_idle() -> None:
    """Such as that a task in the background has ended, minutes later."""
    work = Work().say("do", at=0, role=Role.USER).say("I wait.", at=10)
    work.say("it has ended", at=100, role=Role.USER, injected=True)
    work.say("a reminder", at=101, role=Role.USER, injected=True)
    found = signs(work.say(at=110))
    assert (found.model, found.idle) == (10 + 10, 90)


def test_what_the_cli_adds_to_a_result_is_no_end_of_the_models_time() -> None:
    work = Work().say("do", at=0, role=Role.USER).say("I look.", at=1).run("ls", at=(2, 3))
    work.say("a reminder", at=4, role=Role.USER, injected=True)
    found = signs(work.say(at=9))
    assert (found.model, found.idle, dict(found.tools)) == (2 + 6, 0, {ToolKind.RUN: 1})


def test_calls_at_the_same_time_are_counted_once_for_the_first() -> None:
    work = Work().say(at=0).run("a", at=(1, 10)).call(ToolKind.READ, {}, at=(2, 13))
    found = signs(work.call(ToolKind.WEB, {}, at=(3, 5)).say(at=14))
    assert dict(found.tools) == {ToolKind.RUN: 9, ToolKind.READ: 3}
    assert found.model == 2
    assert dict(found.calls) == {ToolKind.RUN: 1, ToolKind.READ: 1, ToolKind.WEB: 1}


def test_a_call_without_the_time_of_its_result_lasts_as_long_as_the_cli_says() -> None:
    work = Work().call(ToolKind.RUN, {}, at=(1, None), seconds=4).say(at=6)
    found = signs(work)
    assert (dict(found.tools), found.model) == ({ToolKind.RUN: 4}, 1)


def test_a_call_that_is_written_down_with_its_result_began_as_long_before_as_the_cli_says() -> None:
    """As Codex 0.63 does, and what the model said before the call along with it."""
    work = Work().say("do", at=0, role=Role.USER).say("I look.", at=14)
    work.call(ToolKind.RUN, {}, at=(14, 14.01), seconds=10).say(at=16)
    found = signs(work)
    assert dict(found.tools) == {ToolKind.RUN: pytest.approx(10)}
    assert found.model == pytest.approx(4 + 2)
    assert found.idle == 0


@pytest.mark.parametrize(
    ("arguments", "output", "seconds"),
    [
        ({}, "", None),
        ({"run_in_background": True}, "", 9),
        ({}, "Process running with session ID 7\n", 9),
    ],
)
def test_how_long_work_took_that_its_call_did_not_wait_for_is_none_of_the_calls_time(
    arguments: dict[str, object],
    output: str,
    seconds: float | None,
) -> None:
    work = Work().say("do", at=0, role=Role.USER)
    work.call(ToolKind.RUN, arguments, output, at=(14, 14), seconds=seconds)
    assert signs(work.say(at=16)).model == 16


def test_a_call_began_after_what_was_there_before_it() -> None:
    work = Work().say("do", at=0, role=Role.USER).say("Wait.", at=12)
    found = signs(work.call(ToolKind.RUN, {}, at=(14, 14), seconds=10).say(at=16))
    assert (dict(found.tools), found.model) == ({ToolKind.RUN: 2}, 12 + 2)


def test_without_times_only_what_the_cli_tells_is_known() -> None:
    work = Work(cwd=None).say().call(ToolKind.RUN, {}, seconds=4).call(ToolKind.RUN, {}, seconds=2)
    found = signs(work.run("x"))
    assert (found.span, found.model, found.idle) == (None, None, None)
    assert dict(found.tools) == {ToolKind.RUN: 6}


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan"), 1e300])
def test_a_duration_that_cannot_be_one_is_ignored(seconds: float) -> None:
    found = signs(Work().call(ToolKind.RUN, {}, at=(1, None), seconds=seconds).say(at=2))
    assert found.slowest == ()
    assert found.span == 1


def test_clocks_that_run_backwards_give_no_negative_time() -> None:
    found = signs(Work().say(at=50).run("x", at=(40, 10)).say(at=20))
    assert all(seconds >= 0 for seconds in found.tools.values())
    assert [call.seconds for call in found.slowest] == [0]


def test_calls_that_failed_and_requests_made_again_are_counted() -> None:
    work = Work().run("ls", at=(1, 2)).run("false", at=(3, 4), exit_code=1)
    work.call(ToolKind.READ, {}, at=(5, 6), failed=True, agent="a1")
    work.call(ToolKind.READ, {}, None, at=(7, None)).notice(Topic.RETRY).notice(Topic.ERROR)
    found = signs(work)
    assert (sum(found.calls.values()), found.failed, found.retries) == (4, 2, 1)
    assert (found.edits, found.added, found.removed) == (0, 0, 0)


def test_a_command_that_outlived_its_call_failed_once() -> None:
    work = Work().run("make", at=(1, 2), exit_code=1).call(ToolKind.RUN, {}, at=(3, 4), exit_code=1)
    work.events[-1] = replace(work.events[-1], end_of="c0")
    found = signs(work)
    assert (sum(found.calls.values()), found.failed) == (2, 1)


def test_lines_of_the_solution_are_counted_as_its_changes_wrote_them() -> None:
    path = f"{CWD}/solution.py"
    work = Work().call(ToolKind.WRITE, {}, edits=[Edit(path, None, "a\nb\nc\n")])
    work.call(ToolKind.WRITE, {}, edits=[Edit(f"{CWD}/other.py", None, "x\ny\n")])
    work.call(ToolKind.EDIT, {}, edits=[Edit(path, "b", "B\nBB")])
    work.call(ToolKind.EDIT, {}, edits=[Edit(path, "c", "C")], failed=True)
    found = signs(work)
    assert (found.edits, found.added, found.removed) == (2, 3 + 2, 1)


def test_the_slowest_calls_come_first_and_of_equals_the_earlier() -> None:
    work = Work().run("a", at=(0, 3)).run("b", at=(4, 9)).run("c", at=(10, 13)).run("d", None)
    assert [(c.summary or c.anchor, c.seconds) for c in signs(work).slowest] == [
        ("L4", 5), ("L2", 3), ("L6", 3)
    ]  # fmt: skip
    for number in range(20):
        work.run("x", at=(20 + number, 20 + number + 1))
    assert len(signs(work).slowest) == SLOWEST


def test_sub_agents_calls_are_slow_too_but_their_time_is_not_the_main_agents() -> None:
    work = Work().say(at=0).run("x", at=(1, 99), agent="kid").say(at=2)
    found = signs(work)
    assert [call.seconds for call in found.slowest] == [98]
    assert dict(found.tools) == {}
    assert dict(found.calls) == {ToolKind.RUN: 1}


def test_context_sizes_and_compactions_stand_in_their_order() -> None:
    work = Work().say().use(10, 1, "a").say().use(20, 1, "b").notice(Topic.COMPACTION)
    found = signs(work.say().use(5, 1, "c").notice(Topic.COMPACTION).notice(Topic.RETRY))
    assert [(size.anchor, size.sent) for size in found.context] == [
        ("L2", 10), ("L4", 20), ("L7", 5)
    ]  # fmt: skip
    assert [(c.anchor, c.messages) for c in found.compactions] == [("L6", 2), ("L9", 3)]


def test_tokens_are_the_transcripts() -> None:
    work = Work().say().use(10, 1, "a").say().use(12, 2, "a").say().use(20, 3, "b")
    assert (signs(work).usage.input, signs(work).usage.output) == (32, 5)


TIMES = st.none() | st.floats(min_value=-1e6, max_value=1e6)
SECONDS = st.none() | st.floats()


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ToolKind), TIMES, TIMES, SECONDS), max_size=12))
def test_no_times_are_refused_and_none_is_counted_twice(
    calls: list[tuple[ToolKind, float | None, float | None, float | None]],
) -> None:
    work = Work(cwd=None).say(at=0)
    for kind, start, end, seconds in calls:
        work.call(kind, {}, at=(start, end), seconds=seconds)
    found = signs(work)
    if found.span is not None:
        parts = [*found.tools.values(), found.model or 0, found.idle or 0]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(found.span, abs=1e-4)


def test_a_compaction_that_came_to_nothing_is_none() -> None:
    work = Work().say(at=1).notice(Topic.COMPACTION, at=2, undone=True).say(at=3)
    assert signs(work).compactions == ()

    work.notice(Topic.COMPACTION, at=4)
    assert len(signs(work).compactions) == 1


def test_changes_whose_lines_are_not_all_known_are_counted() -> None:
    path = f"{CWD}/solution.py"
    work = Work().call(ToolKind.WRITE, {}, edits=[Edit(path, None, "a\nb\n")])
    assert signs(work).unclear == 0

    work.run("perl -pi -e s/a/b/ solution.py")
    assert signs(work).unclear == 1

    # What the file held is not known, nor how many lines of it went.
    work.call(ToolKind.WRITE, {}, edits=[Edit(path, None, "c\n")])
    found = signs(work.call(ToolKind.EDIT, {}, edits=[Edit(path, "c", "d")]))
    assert (found.edits, found.unclear) == (4, 2)
