"""Whole sweeps by processes of their own, and what is left of them after kills."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench.anchors import write_anchors
from bench.sweeps.conduct import drive, opened
from bench.sweeps.ledger import Ledger
from bench.sweeps.states import Kind, Outcome, State
from bench.sweeps.works import Tools, Work
from kbsite.check import check
from tests.bench.commands.shells import ANCHORS
from tests.bench.sweeps.drive import TOOLS
from tests.bench.sweeps.stand_in import JOURNAL
from tests.bench.sweeps.sweeps import contender, works

ROOT = Path(__file__).parents[3]
CHAOS = ROOT / "scripts" / "sweep_chaos.py"
DRIVE = Path(__file__).with_name("drive.py")
SLURM = {"kind": "slurm", "cluster": "local", "options": {"timeout_min": 5}}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.sweeps.driver.LOOK_SECONDS", 0.05)


def run(work: Work) -> dict[State, int]:
    return dict(drive(work, lambda *_: None, lambda _: None))


def tried(work: Work) -> Counter[tuple[Kind, Outcome | None]]:
    with opened(work) as ledger:
        return Counter((one.kind, one.outcome) for one in ledger.tries())


def test_a_sweep_of_several_contenders_ends_with_all_that_can_be_done(tmp_path: Path) -> None:
    models = [contender(model="works"), contender(model="spoilt-once", provider="there"),
              contender(model="spoilt"), contender(model="crashes")]  # fmt: skip
    retries = {"most": 1, "lost": 1, "backoff_seconds": 0.05}
    work = works(tmp_path, contenders=models, retries=retries)
    counts = run(work)

    assert (counts[State.DONE], counts[State.FAILED]) == (2, 2)
    assert tried(work) == {
        (Kind.AGENT, Outcome.RAN): 2, (Kind.AGENT, Outcome.SPOILT): 3,
        (Kind.AGENT, Outcome.LOST): 2, (Kind.GRADE, Outcome.GRADED): 2,
    }  # fmt: skip
    assert [one for one in check([work.places.runs]) if one.severity.value == "error"] == []


def test_a_grade_that_hangs_is_ended_and_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("SILENT_SECONDS", 1.0), ("PATIENCE_SECONDS", 0.2)):
        monkeypatch.setattr(f"bench.sweeps.ending.{name}", seconds)
    models = [contender(model="works", variant="hangs"), contender(model="works")]
    retries = {"lost": 1, "backoff_seconds": 0.05}
    work = works(tmp_path, contenders=models, retries=retries)
    told: list[str] = []
    counts = dict(drive(work, lambda *_: None, told.append))

    assert (counts[State.DONE], counts[State.FAILED]) == (1, 1)
    assert tried(work)[Kind.GRADE, Outcome.LOST] == 2
    with opened(work) as ledger:
        (failed,) = [one for one in ledger.cells() if one.state is State.FAILED]
    assert "gave no sign of life, and was ended; round 1 of 5: calling, square" in (
        failed.detail or ""
    )
    assert [one for one in told if "its grade has told nothing for" in one] == told


def test_grades_come_one_by_one_where_there_is_no_gpu(tmp_path: Path) -> None:
    work = works(tmp_path, contenders=[contender(model="works")], attempts=3)
    run(work)
    with opened(work) as ledger:
        grades = [one for one in ledger.tries() if one.kind is Kind.GRADE]

    assert len(grades) == 3
    for before, after in pairwise(grades):
        assert before.ended is not None
        assert before.ended <= after.begun


def test_the_same_sweep_runs_as_jobs_of_slurm(tmp_path: Path) -> None:
    """Submitit's own local engine stands for Slurm, which is not here."""
    models = [contender(model="works"), contender(model="refused")]
    work = works(tmp_path, contenders=models, executor=SLURM, grade=False)
    counts = run(work)

    assert (counts[State.DONE], counts[State.FAILED]) == (1, 1)
    assert (tmp_path / JOURNAL).read_text().count("\n") == 2


def chaos(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(CHAOS), "--driver", str(DRIVE), "--pause", "0.8", *words,
         "--problem", str(ROOT / "tests/bench/toy"), "--models", "works:1.2", "works:0.8"],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["wrong"] == [], done.stderr
    assert done.returncode == 0
    return report


def test_kills_lose_nothing_and_double_nothing_on_this_host() -> None:
    report = chaos("--runs", "12", "--kills", "6", "--seed", "4")

    assert report["killed"] == {"driver": 2, "supervisor": 2, "worker": 2}
    assert report["tries"] == 12 + report["lost"]


def test_kills_lose_nothing_and_double_nothing_on_two_nodes_of_ray() -> None:
    report = chaos("--executor", "ray", "--node", "--runs", "8", "--kills", "4", "--seed", "1")

    assert report["killed"] == {"driver": 1, "supervisor": 1, "worker": 1, "node": 1}
    assert report["lost"] >= 1


def test_a_run_is_graded_by_the_real_grader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the toy problem, with a solution that does nothing."""
    # A driver that looks often takes as long on a busy machine as what it waits for.
    monkeypatch.setattr("bench.sweeps.driver.LOOK_SECONDS", 0.5)
    anchors = tmp_path / "anchors.json"
    write_anchors(anchors, ANCHORS)
    tools = Tools(
        supervisor=TOOLS.supervisor,
        grader=(*Tools().grader, "--rounds", "1", "--calls", "5", "--sandbox", "none",
                "--anchors", str(anchors)),
    )  # fmt: skip
    work = works(tmp_path)
    work = Work(**{**vars(work), "tools": tools})
    counts = run(work)
    (folder,) = work.board.glob("2*")
    metrics = json.loads((folder / "metrics.json").read_text())

    assert counts[State.DONE] == 1
    assert metrics["status"] == "wrong"
    with Ledger(work.ledger, lambda: 0.0) as ledger:
        assert [one.kind for one in ledger.tries()] == [Kind.AGENT, Kind.GRADE]
