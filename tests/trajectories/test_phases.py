"""The phases of a session: where each starts, and which calls it holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kbsite.model.run import Run
from kbsite.model.transcript import Transcript
from kbsite.store.runs import read_run
from kbsite.trajectories import trajectory
from kbsite.trajectories.phases import Milestone, Phase, milestones, phased_calls
from kbsite.transcripts import transcript
from tests.conftest import MakeRun
from tests.contest_runs import FAIL, HASTY, LOG, LOST, PASS, READ, STEADY, Call, line_of, session

LS: Call = ("run", "ls", "x")
Tell = Callable[[list[Call]], tuple[dict[Phase, Milestone], list[Phase]]]


@pytest.fixture(name="told")
def _told(tmp_path: Path, make_run: MakeRun) -> Tell:
    """Reads a session of some calls: its milestones, and the phase of each call."""

    def told(calls: list[Call]) -> tuple[dict[Phase, Milestone], list[Phase]]:
        folder = make_run(tmp_path / "demo", transcript={LOG: session(calls)})
        shown, run = _read(folder)
        found = milestones(shown, trajectory(shown, run))
        return found, [phase for phase, _ in phased_calls(shown, found)]

    return told


def _read(folder: Path) -> tuple[Transcript, Run]:
    stored = read_run(folder)
    shown = transcript("claude", stored.transcripts)
    assert shown is not None
    return shown, stored.run


def test_each_milestone_is_the_first_of_its_kind(told: Tell) -> None:
    found, _ = told(list(STEADY))

    assert {phase: milestone.anchor for phase, milestone in found.items()} == {
        Phase.START: "L1",
        Phase.READ: "L1-1",  # behind what the CLI said of the session
        Phase.EDIT: f"L{line_of(1)}",
        Phase.CHECK: f"L{line_of(2)}",
        Phase.CORRECT: f"L{line_of(4)}",
        Phase.BEST: f"L{line_of(6)}",
        Phase.END: f"L{line_of(6)}",
    }
    assert found[Phase.CORRECT].elapsed == 41


def test_a_session_starts_with_the_first_row_that_has_a_time(
    tmp_path: Path, make_run: MakeRun
) -> None:
    log = b'{"type":"summary","summary":"what was before"}\n' + session([LS])
    shown, run = _read(make_run(tmp_path / "demo", transcript={LOG: log}))
    start = milestones(shown, trajectory(shown, run))[Phase.START]

    assert (start.anchor, start.elapsed) == ("L2", 0)


def test_calls_stand_in_the_phase_that_began_last(told: Tell) -> None:
    _, phases = told(list(STEADY))

    assert phases == [
        Phase.READ, Phase.EDIT, Phase.CHECK, Phase.CHECK, Phase.CORRECT, Phase.CORRECT, Phase.BEST,
    ]  # fmt: skip


def test_phases_never_go_back_and_milestones_tell_when_it_really_was(told: Tell) -> None:
    found, phases = told(list(HASTY))
    order = list(Phase)

    assert [order.index(phase) for phase in phases] == sorted(map(order.index, phases))
    assert found[Phase.CORRECT].anchor == f"L{line_of(1)}"
    assert found[Phase.READ].anchor == f"L{line_of(2)}"
    assert phases == [Phase.EDIT, Phase.CORRECT, Phase.CORRECT, Phase.BEST]


def test_runs_that_edit_alike_stand_side_by_side_though_only_one_reads_with_a_tool(
    told: Tell,
) -> None:
    edit, look = STEADY[1], ("run", "cat solution.py", "import torch")
    with_tool = told([LS, edit, READ, LS])[1]

    assert with_tool == told([LS, edit, look, LS])[1]
    assert with_tool == [Phase.START, Phase.EDIT, Phase.EDIT, Phase.EDIT]


def test_what_never_happened_is_no_milestone_and_its_phase_is_empty(told: Tell) -> None:
    found, phases = told(list(LOST))

    assert list(found) == [Phase.START, Phase.READ, Phase.END]
    assert set(phases) == {Phase.READ}


def test_a_failed_check_is_a_check_and_nothing_is_correct(told: Tell) -> None:
    found, _ = told([READ, FAIL, FAIL])

    assert found[Phase.CHECK].anchor == f"L{line_of(1)}"
    assert Phase.CORRECT not in found
    assert Phase.BEST not in found


def test_two_phases_that_start_with_one_call_leave_the_first_empty(told: Tell) -> None:
    found, phases = told([PASS, READ])

    assert found[Phase.CHECK] == found[Phase.CORRECT]
    assert Phase.CHECK not in phases


def test_a_session_without_calls_has_no_phased_calls(told: Tell) -> None:
    found, phases = told([])

    assert phases == []
    assert set(found) <= {Phase.START, Phase.END}
