"""`bench floor`: floors become runs, once; the real grader needs nothing but torch and YAML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.grading.setting import Patience
from bench.problems import folder_hash
from kbsite.check import check
from kbsite.model.floor import FloorKind
from kbsite.model.grade import Outcome
from kbsite.store.runs import read_run
from tests.bench.commands.shells import Graded, Shell
from tests.bench.grades import failed

ROOT = Path(__file__).parents[3]


def test_floors_become_runs_and_are_not_graded_twice(shell: Shell, grader: Graded) -> None:
    code, out, err = shell("floor")
    runs = sorted(Path("runs/floors").iterdir())

    assert code == 0
    # Their names begin with the time: those of one second are in this order, others are not.
    assert {read_run(run).run.model for run in runs} == {"compiled", "eager", "library"}
    assert len(runs) == 3
    assert len(out.splitlines()) == 4
    assert err.count("Every call was right") == 3
    assert all(one.problem.forbidden == () for _, one, _ in grader.asked)
    again = shell("floor", "toy")
    assert again[0] == 0
    assert "graded before, as" in again[2]
    assert "0.5" in again[1]
    assert len(grader.asked) == 3
    assert sorted(Path("runs/floors").iterdir()) == runs


def test_a_floor_may_take_as_long_to_prepare_as_to_build(shell: Shell, grader: Graded) -> None:
    shell("floor", "toy", "--kind", "compiled")
    [(_, _, setting)] = grader.asked
    assert setting.patience.setup == setting.patience.build == Patience().build
    assert setting.patience.call == Patience().call


def test_a_floor_that_is_named_twice_is_graded_once(shell: Shell, grader: Graded) -> None:
    named = ["toy", "toy", "--kind", "eager", "--kind", "eager", "--again"]
    assert shell("floor", *named)[0] == 0
    assert len(grader.asked) == 1


def test_a_floors_run_says_where_it_comes_from(shell: Shell, grader: Graded) -> None:
    shell("floor", "toy", "--kind", "library", "--json")
    (run,) = Path("runs/floors").iterdir()
    read = read_run(run)

    assert (read.run.harness, read.run.floor) == ("floor", FloorKind.LIBRARY)
    assert read.run.problem_hash == folder_hash(Path("problems/toy"))
    assert (read.run.hardware, read.run.board) == ("cpu", "floors")
    assert b"def solve(x, w, b, y)" in (run / "solution.py").read_bytes()
    assert grader.asked[0][0].files["solution.py"] == (run / "solution.py").read_bytes()
    problems = [f for f in check([run]) if f.severity.value == "error"]
    assert problems == []


def test_a_changed_problem_or_more_calls_are_graded_anew(shell: Shell, grader: Graded) -> None:
    few = ("floor", "toy", "--kind", "eager", "--calls")
    shell(*few, "10")
    shell(*few, "5")
    assert len(grader.asked) == 1
    shell(*few, "20")
    assert len(grader.asked) == 2
    with Path("problems/toy/prompt.md").open("a") as stream:
        stream.write("One more thing.\n")
    shell(*few, "20")
    assert len(grader.asked) == 3


def test_a_floor_that_fails_is_kept_told_and_graded_again(shell: Shell, grader: Graded) -> None:
    grader.says = failed(Outcome.INCORRECT)
    code, out, err = shell("floor", "toy", "--kind", "eager")
    (run,) = Path("runs/floors").iterdir()

    assert code == 1
    assert "INCORRECT" in out
    assert "An output differs from the reference." in err
    assert read_run(run).metrics.outcome is Outcome.INCORRECT


def test_nothing_is_kept_of_a_floor_where_the_machine_failed(shell: Shell, grader: Graded) -> None:
    grader.says = failed(Outcome.INFRA)
    code, _, _ = shell("floor", "toy", "--kind", "eager")

    assert code == 3
    assert not Path("runs/floors").exists()


def test_the_library_floor_is_what_a_grade_is_compared_with(shell: Shell, grader: Graded) -> None:
    shell("floor", "toy", "--kind", "library")
    shell("grade", "mine.py", "--problem", "toy")

    assert [setting.library_fraction for _, _, setting in grader.asked] == [None, 0.5]


BARE = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from bench.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
BLOCKED = ("click", "rich", "msgspec", "jinja2", "pandas", "markdown_it", "pygments")


def test_a_floor_is_graded_with_nothing_but_torch_numpy_and_yaml(home: Path) -> None:
    """The real grader from a bare checkout, as on a GPU machine without network."""
    words = ["floor", "toy", "--kind", "eager", "--rounds", "1", "--calls", "8",
             "--sandbox", "none", "--device", "cpu", "--json"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", BARE.format(blocked=BLOCKED), *words],
        cwd=home, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.stdout, done.stderr
    (told,) = json.loads(done.stdout)
    # With so few calls the clocks of a busy machine may be apart: the verdict is not the point.
    ends = {"PASS": 0, "CLOCK_MISMATCH": 1, "IMPOSSIBLE_TIME": 1}
    assert done.returncode == ends.get(told["outcome"]), done.stderr
    assert [f.text for f in check([home / told["run"]]) if f.severity.value == "error"] == []
    metrics = read_run(home / told["run"]).metrics
    assert metrics.peak_fraction == told["peak_fraction"]
    assert metrics.isolation is not None
