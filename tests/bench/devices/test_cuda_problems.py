"""On a GPU each problem's solutions are graded: with what is forbidden, unlike floors."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.devices import DEVICES
from bench.grading import grade as grading
from bench.grading.setting import Setting, Solution
from bench.problems import read_problem
from bench.records import read_yaml
from bench.sandbox import best
from kbsite.model.grade import Outcome
from kbsite.model.hardware import Hardware
from tests.exploits.gradings import ANCHORS

HOME = Path(__file__).parents[3]
PROBLEMS = sorted(path.parent for path in (HOME / "problems").glob("*/baselines.py"))
IDLE = b"def solve(*tensors):\n    pass\n"


@pytest.mark.gpu
@pytest.mark.parametrize("folder", PROBLEMS, ids=lambda folder: folder.name)
def test_a_solution_that_does_nothing_is_wrong_and_no_failure_of_the_machine(folder: Path) -> None:
    setting = Setting(
        device=DEVICES["cuda"](), sandbox=best(), anchors=ANCHORS,
        hardware=read_yaml(HOME / "bench" / "hardware" / "h200-sxm.yaml", Hardware),
        rounds=1, calls=8,
    )  # fmt: skip
    found = grading.grade(Solution({"solution.py": IDLE}), read_problem(folder), setting).metrics

    assert found.outcome is Outcome.INCORRECT, found.detail
