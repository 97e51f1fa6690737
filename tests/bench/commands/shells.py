"""What tests of commands start from: a grader that only says what it is told, a shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner

from bench.__main__ import main
from bench.anchors import Anchors
from bench.cli import bench
from bench.devices.cpu import Cpu
from bench.grading.setting import Grade, Setting, Solution, Step
from bench.problems import GradedProblem
from tests.bench.grades import grade

Shell = Callable[..., tuple[int, str, str]]
"""Runs a command of bench: exit code, stdout, stderr."""

ANCHORS = Anchors(
    host={**Cpu().facts(), "torch": "2"}, made=datetime.now(UTC),
    gb_per_second={"copy": 10.0, "triad": 12.0, "read": 15.0},
    tflops={"fp32": 0.1, "bf16": 0.2, "fp64": 0.05},
)  # fmt: skip


@dataclass
class Graded:
    """A grader that was asked, in place of the real one: what it was given, what it says."""

    says: Grade | None = None
    """None for a grade with the rounds and calls that it was asked for."""
    asked: list[tuple[Solution, GradedProblem, Setting]] = field(default_factory=list)

    def __call__(
        self, solution: Solution, problem: GradedProblem, setting: Setting,
        told: Callable[[Step], None],
    ) -> Grade:  # fmt: skip
        self.asked.append((solution, problem, setting))
        for number in (1, 2):
            told(Step(stage="calling", round=number, rounds=2, shape="square", done=9, of=20))
        told_of: dict[str, Any] = {"solution_hash": solution.hash, "problem_hash": problem.hash,
                   "rounds": setting.rounds, "calls_per_round": setting.calls,
                   "host": dict(setting.device.facts())}  # fmt: skip
        says = self.says or grade(rounds=setting.rounds, calls=setting.calls)
        return replace(says, metrics=replace(says.metrics, **told_of))


def shell_of(kind: str, capsys: pytest.CaptureFixture[str]) -> Shell:
    """One of the two command lines: click's, or that of the standard library."""

    def with_click(*words: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(bench, words)
        error = done.exception
        if error is not None and not isinstance(error, SystemExit):
            return getattr(error, "exit_code", 99), done.stdout, f"{done.stderr}{error}"
        return done.exit_code, done.stdout, done.stderr

    def with_argparse(*words: str) -> tuple[int, str, str]:
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return with_click if kind == "click" else with_argparse
