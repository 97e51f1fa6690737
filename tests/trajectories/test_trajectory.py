from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.harnesses.claude import vocabulary as claude_vocabulary
from kbsite.harnesses.kimi import vocabulary as kimi_vocabulary
from kbsite.model.event import Edit, Role, Source, ToolKind, Topic, Trace
from kbsite.model.status import Status
from kbsite.model.trajectory import PointKind, Trajectory
from kbsite.store.run_folders import SOLUTION
from kbsite.store.runs import read_run
from kbsite.trajectories import trajectory
from kbsite.transcripts import transcript
from tests.fold.making import START
from tests.trajectories.sessions import Work, graded, moment, run_record, session

DEMO = Path(__file__).parents[2] / "runs" / "demo"


def told(found: Trajectory) -> list[tuple[str, bool | None, float | None, int | None]]:
    return [(p.kind.value, p.passed, p.score, p.state) for p in found.points]


def test_a_session_is_told_point_by_point() -> None:
    found = session().trajectory(graded(0.35))
    assert told(found) == [
        ("edit", None, None, 0),
        ("check", False, None, 0),
        ("edit", None, None, 1),
        ("check", True, None, 1),
        ("benchmark", None, 0.3842, 1),
        ("edit", None, None, 2),
        ("benchmark", None, 0.3511, 2),
        ("submit", True, 0.35, 2),
    ]
    assert [p.elapsed for p in found.points] == [10, 20, 30, 55, 55, 70, 70, 81]
    assert [p.anchor for p in found.points][:2] == ["L5", "L8"]
    assert [s.content for s in found.states] == ["a = 1\nb = 2\n", "a = 3\nb = 2\n", "a = 4\n"]


def test_what_a_command_in_the_background_printed_counts_where_it_is_read() -> None:
    file = "/tmp/w/tasks/b1.output"
    began = f"Command running in background with ID: b1. Output is being written to: {file}. Wait."
    work = Work().run("python check.py", began).call(ToolKind.READ, {"file_path": "/w/log"}, "PASS")
    work.call(ToolKind.READ, {"file_path": file}, "     1\tPASS\n     2\u2192peak_fraction: 0.3")
    found = work.trajectory()

    assert told(found)[:-1] == [("check", True, None, None), ("benchmark", None, 0.3, None)]
    assert {point.anchor for point in found.points[:-1]} == {"L6"}


def test_tokens_so_far_are_those_sent_and_got() -> None:
    found = session().trajectory()
    counts = [3150, 6250, 10350, 15450, 15450, 17010, 17010, 18630]
    assert [p.tokens for p in found.points] == counts
    assert [p.tokens for p in Work().run("check", "PASS").trajectory().points] == [None, None]


def test_tokens_so_far_are_told_by_kind_too() -> None:
    found = session().trajectory()
    summed = [(p.used.sent or 0) + (p.used.output or 0) for p in found.points]

    assert summed == [p.tokens for p in found.points]
    assert not Work().run("check", "PASS").trajectory().points[0].used.known


def test_the_best_score_is_the_first_of_the_highest() -> None:
    best = session().trajectory(graded(0.9)).best
    assert best is not None
    assert best.score == 0.3842
    output = "peak_fraction: 0.5\npeak_fraction: 0.5\n"
    work = Work().run("a", output).run("b", output)
    assert (best := work.trajectory().best) is not None
    assert best.anchor == "L2"
    assert Work().trajectory().best is None


def test_what_is_timed_after_a_check_that_failed_is_no_best_score() -> None:
    work = Work().edit(Edit("solution.py", None, "a = 1\n")).run("a", "peak_fraction: 0.2")
    found = work.run("b", "FAIL: off by one").run("c", "peak_fraction: 0.9").trajectory()
    assert [p.rejected for p in found.points] == [False, False, False, True, False]
    assert found.best is not None
    assert found.best.score == 0.2

    work.edit(Edit("solution.py", None, "a = 2\n")).run("d", "peak_fraction: 0.4")
    changed = work.trajectory()
    assert changed.best is not None
    assert changed.best.score == 0.4, "nobody checked what it is now"

    passed = work.run("e", "FAIL: flaky\nPASS\npeak_fraction: 0.6").trajectory()
    assert passed.best is not None
    assert passed.best.score == 0.6


def test_the_first_check_that_passed_is_found() -> None:
    correct = session().trajectory().signs.correct
    assert correct is not None
    assert correct.elapsed == 55
    assert Work().run("check", "FAIL: no").trajectory().signs.correct is None


@pytest.mark.parametrize("kind", [k for k in ToolKind if k is not ToolKind.RUN])
def test_only_commands_are_checks(kind: ToolKind) -> None:
    work = Work().call(kind, {}, "PASS\npeak_fraction: 0.9\n")
    assert [p.kind for p in work.trajectory().points] == [PointKind.SUBMIT]


def test_a_check_that_a_sub_agent_ran_counts_and_stands_at_its_time() -> None:
    work = Work().run("a", "FAIL: x", at=(1, 2)).run("b", "PASS", at=(5, 6), agent="kid")
    found = work.run("c", "FAIL: y", at=(7, 8)).trajectory()
    assert [p.passed for p in found.points] == [False, True, False, None]


@pytest.mark.parametrize(
    ("status", "passed", "score"),
    [(Status.PASSED, True, 0.5), (Status.WRONG, False, None), (Status.TAMPERED, False, None),
     (Status.INFRA, None, None), (Status.UNGRADED, None, None)],
)  # fmt: skip
def test_the_grade_stands_at_the_end(
    status: Status, passed: bool | None, score: float | None
) -> None:
    end = session().trajectory(graded(0.5, status)).points[-1]
    assert (end.kind, end.passed, end.score) == (PointKind.SUBMIT, passed, score)


def test_the_end_is_the_last_step_where_the_cli_wrote_none() -> None:
    end = Work().say(at=1).run("sleep 99", None, at=(3, None)).trajectory().points[-1]
    assert (end.anchor, end.elapsed, end.state) == ("L3", 3, None)


def ended_after(work: Work, seconds: float) -> Trajectory:
    """What is told of a session whose runner saw it end so long after it began."""
    ended = replace(run_record(), started=START, ended=moment(seconds))
    return trajectory(work.transcript, ended)


def test_a_session_that_was_cut_ended_when_its_runner_says_so() -> None:
    cut = ended_after(Work().say(at=1).run("sleep 99", None, at=(3, None)), 60)
    assert (cut.points[-1].elapsed, cut.signs.silent) == (60, 57)

    soon = ended_after(Work().say(at=1), 4)
    assert (soon.points[-1].elapsed, soon.signs.silent) == (4, None)

    whole = ended_after(Work().say(at=1).finish(at=3), 60)
    assert (whole.points[-1].elapsed, whole.signs.silent) == (3, None)


def test_a_note_that_is_read_last_and_is_older_is_not_the_end() -> None:
    end = Work().say(at=1).say(at=9).notice(Topic.NOTE, at=2).trajectory().points[-1]
    assert (end.anchor, end.elapsed) == ("L3", 9)


def test_the_end_of_a_turn_that_was_gone_on_after_is_not_the_end() -> None:
    turn = Work().run("a", "FAIL: x", at=(1, 2)).finish(at=3)
    assert turn.trajectory().points[-1].elapsed == 3

    turn.say(at=50).run("b", "PASS", at=(60, 61))
    points = turn.trajectory().points
    assert [(p.kind.value, p.elapsed) for p in points] == [
        ("check", 2), ("check", 61), ("submit", 61),
    ]  # fmt: skip

    turn.finish(at=70).notice(Topic.NOTE, at=80)
    assert turn.trajectory().points[-1].elapsed == 70


def test_an_empty_transcript_has_no_points() -> None:
    found = Work(cwd=None).trajectory(graded(0.5), budget=60)
    assert (found.points, found.states, found.end, found.budget) == ((), (), None, 60)


@pytest.mark.parametrize(
    ("seconds", "end"), [(50.0, 50), (-1.0, 81), (1e300, 81), (float("inf"), 81), (None, 81)]
)
def test_the_length_of_the_session_is_the_recorded_one_where_it_can_be(
    seconds: float | None, end: float
) -> None:
    run = replace(run_record(), seconds=seconds)
    assert trajectory(session().transcript, run).end == end


def test_without_times_points_stand_in_the_order_of_the_rows() -> None:
    work = Work().run("a", "FAIL: x").run("b", "PASS").run("c", "peak_fraction: 0.2")
    found = work.trajectory()
    assert [p.kind.value for p in found.points] == ["check", "check", "benchmark", "submit"]
    assert [p.elapsed for p in found.points][:3] == [None, None, None]


@pytest.mark.parametrize("folder", sorted(DEMO.iterdir()), ids=lambda path: path.name)
def test_our_own_runs_have_a_trajectory(folder: Path) -> None:
    stored = read_run(folder)
    read = transcript(stored.run.harness, stored.transcripts)
    assert read is not None
    found = trajectory(read, stored.run, stored.metrics)
    anchors = {step.anchor for log in read.agents for step in log.every_step}
    assert {p.anchor for p in found.points} <= anchors
    assert {c.anchor for c in found.signs.slowest} <= anchors
    assert found.signs.span is not None
    assert sum(size.sent for size in found.signs.context) == read.main.usage.sent
    held = stored.file(SOLUTION)
    if held is None:
        assert found.states == ()
    elif found.states[-1].content is not None:
        assert found.states[-1].content.encode() == held.path.read_bytes()
    else:
        # This CLI's edit was a script of its own.
        assert stored.run.harness == "codex"


WORDS = st.sampled_from(
    ["PASS\n", "FAIL: x\n", "peak_fraction: 0.5\n", "peak_fraction: 999999999\n", "\x1b[0m", "\r",
     "RESULT: LOW\n", "shape=0 solution_peak_fraction=0.1\n", "\ud800", "\0"]
)  # fmt: skip
OUTPUTS = st.none() | st.lists(WORDS | st.text(max_size=5), max_size=10).map("".join)


@settings(deadline=None)
@given(st.lists(st.tuples(OUTPUTS, st.none() | st.floats(0, 1e6)), max_size=8), st.booleans())
def test_no_output_is_refused(outputs: list[tuple[str | None, float | None]], kid: bool) -> None:
    work = Work()
    for output, at in outputs:
        work.run("python check.py", output, at=(at, at), agent="kid" if kid else "")
    found = work.trajectory(graded(0.5))
    assert found.points[-1].kind is PointKind.SUBMIT
    assert all(p.text for p in found.points)


@pytest.mark.parametrize("kinds", [claude_vocabulary.KINDS, kimi_vocabulary.KINDS])
def test_what_a_task_in_the_background_printed_is_a_command_s(kinds: dict[str, ToolKind]) -> None:
    output = "<status>completed</status>\n<output>\nPASS\n</output>"
    found = Work().call(kinds["TaskOutput"], {"task_id": "b1"}, output).trajectory()

    assert told(found)[:-1] == [("check", True, None, None)]


def test_without_a_word_of_its_end_a_session_ends_with_its_last_row_and_not_its_last_file() -> None:
    """As of Qwen Code, whose notes on sub-agents lie in files that are called after the log."""
    work = Work().say("do", at=0, role=Role.USER).say("Done.", at=90)
    note = Trace(source=Source("note.meta.json", 1), at=moment(40), type="note", raw="{}")
    work.events.append(note)
    end = work.trajectory().points[-1]
    assert (end.kind, end.anchor, end.elapsed) == (PointKind.SUBMIT, "L3", 90)
