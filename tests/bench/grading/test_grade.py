"""Whole gradings of the toy problem, in a real sandbox, on this machine's processors."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.anchors import Anchors
from bench.devices import Arena
from bench.devices.cpu import Unwatched
from bench.grading import grade as grading
from bench.grading.schedule import Move, schedule
from bench.grading.setting import Grade, Patience, Setting, Solution, Step
from bench.sandbox import best
from bench.sandbox.box import Box, Limits, Proven, Sandbox
from kbsite.errors import MachineError
from kbsite.model.grade import Metrics, Outcome
from kbsite.model.status import Status
from tests.bench.grading.setups import Quick
from tests.bench.toys import sound

# Slow enough that no time on any machine is impossible.
ANCHORS = Anchors(
    host={},
    made=datetime(2026, 11, 21, tzinfo=UTC),
    gb_per_second={"copy": 1e3},
    tflops={"bf16": 1e2, "fp32": 1e2},
)
HONEST = """
import torch
def solve(x, w, b, y):
    rows = torch.zeros(y.shape)
    for k in range(x.shape[1]):
        rows.addcmul_(x[:, k:k + 1].float(), w[k:k + 1].float())
    y.copy_(rows + b)
"""


def setting(**changed: object) -> Setting:
    made = Setting(
        device=Quick(), sandbox=best(), anchors=ANCHORS, rounds=1, calls=8, stopped=2, trace=False,
        limits=Limits(memory_bytes=2 << 30), patience=Patience(build=60, setup=20, call=20),
    )  # fmt: skip
    return dataclasses.replace(made, **changed)  # type: ignore[arg-type]


def graded(source: str, told: list[Step] | None = None, **changed: object) -> Grade:
    steps: list[Step] = [] if told is None else told
    solution = Solution({"solution.py": source.encode()})
    return grading.grade(solution, sound(), setting(**changed), steps.append)


@lru_cache(maxsize=1)
def honest() -> tuple[Grade, tuple[Step, ...]]:
    told: list[Step] = []
    return graded(HONEST, told, rounds=2, trace=True), tuple(told)


def test_an_honest_solution_passes_and_its_grade_says_what_it_rests_on() -> None:
    found = honest()[0].metrics

    assert found.outcome is Outcome.PASS, found.detail
    assert found.status is Status.PASSED
    assert found.peak_fraction is not None
    assert found.interval is not None
    assert found.interval[0] <= found.peak_fraction <= found.interval[1]
    assert [shape.shape for shape in found.shapes] == ["square", "tall"]
    for shape in found.shapes:
        assert shape.clocks is not None
        assert shape.ms is not None
        assert shape.ms >= max(shape.clocks.event_ms, 0)
        assert shape.calls is not None
        assert shape.calls >= 16
        assert shape.errors[0].largest < 1
    assert found.isolation is not None
    assert found.isolation.level in ("L2", "L3")
    assert found.commitment is not None
    assert found.problem_hash == sound().hash
    assert set(found.stages) == {"isolation", "rounds", "build", "score", "proofs"}
    assert (found.rounds, found.calls_per_round, found.device) == (2, 8, "cpu")


class Nodes(Quick):
    """Processors that a worker is given nodes and folders for, as for a GPU."""

    def nodes(self) -> tuple[Path, ...]:
        return (Path("/dev/tty"),)

    def readable(self) -> tuple[Path, ...]:
        return (Path("/sys/module"),)


def test_the_box_that_is_proven_is_that_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    own = (Path("/usr/lib"),)
    monkeypatch.setattr("bench.grading.process.own_packages", lambda: own)
    tried: list[Box] = []

    def self_test(sandbox: Sandbox, *, like: Box) -> Proven:
        tried.append(like)
        return Proven(sandbox=sandbox.name, level="L2", claims=(), facts={})

    monkeypatch.setattr(grading, "self_test", self_test)
    grading._tried_out.cache_clear()
    for device in (Nodes(), Quick(), Nodes()):
        assert grading._proven(best(), device).level == "L2"
    grading._tried_out.cache_clear()
    assert [(one.devices, one.hidden) for one in tried] == [((Path("/dev/tty"),), own), ((), own)]
    assert Path("/sys/module") in tried[0].readable
    assert Path("/sys/module") not in tried[1].readable


def test_what_was_dispatched_is_shown_and_what_could_not_be_counted_is_said() -> None:
    seen, *counters = honest()[0].metrics.proofs

    assert seen.available
    assert seen.passed
    assert "aten::" in seen.detail
    assert counters
    assert not any(proof.available for proof in counters)
    assert all(proof.detail for proof in counters)


def test_samples_of_every_round_and_shape_are_kept() -> None:
    samples = honest()[0].samples

    # Where clocks disagreed on a busy machine, all is timed anew, in rounds of other numbers.
    rounds = {one.round for one in samples}
    assert len(rounds) == 2
    assert {(one.round, one.shape) for one in samples} == {
        (number, shape) for number in rounds for shape in ("square", "tall")
    }
    assert all(len(one.event_ms) == len(one.wall_ms) > 0 for one in samples)
    assert all(one.slope_ms and one.overhead_ms for one in samples)


def test_each_step_is_told() -> None:
    told = honest()[1]
    calls = [step for step in told if step.stage == "calling"]

    assert told[0].stage == "testing the sandbox"
    assert {step.round for step in calls} >= {1, 2}
    assert {step.shape for step in calls} == {"square", "tall", "held-out"}
    assert all(0 < step.done <= step.of for step in calls)


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("def solve(x, w, b, y): y.zero_()", Outcome.INCORRECT, "0 calls before were right"),
        ("def solve(x, w, b, y): y.copy_(x @ w + b)", Outcome.FORBIDDEN_OP, "aten::matmul"),
        ("def solve(x, w, b, y): y.fill_(float('nan'))", Outcome.NONFINITE, "call 1"),
        ("def solve(x, w): pass", Outcome.RUNTIME_ERROR, "positional argument"),
        ("answer = 42", Outcome.COMPILE_ERROR, "no function solve"),
        ("def solve(:", Outcome.COMPILE_ERROR, "SyntaxError"),
        ("import no_such_library", Outcome.COMPILE_ERROR, "no_such_library"),
        ("raise SystemExit(0)", Outcome.COMPILE_ERROR, "SystemExit"),
        ("import os; os._exit(0)", Outcome.PROTOCOL, "exited with code 0"),
        ("import ctypes; ctypes.string_at(0)", Outcome.RUNTIME_ERROR, "SIGSEGV"),
        ("  \n", Outcome.NO_SOLUTION, "nothing in it"),
    ],
)
def test_whatever_else_it_is_has_a_name_and_a_sentence(
    source: str, outcome: Outcome, words: str
) -> None:
    found = graded(source, held_out=False).metrics

    assert found.outcome is outcome, found.detail
    assert found.status is outcome.status
    assert words in (found.detail or "")
    assert found.peak_fraction is None
    assert found.shapes == ()


def test_what_is_right_now_and_then_is_not_deterministic() -> None:
    source = HONEST.replace(
        "    y.copy_(rows + b)",
        "    global called\n    called += 1\n    y.copy_(rows + b)\n"
        "    if called == 5: y.view(-1)[7] += 100",
    )
    found = graded("called = 0\n" + source, held_out=False, calls=24).metrics

    assert found.outcome in (Outcome.NONDETERMINISTIC, Outcome.INCORRECT), found.detail
    assert "calls before were right" in (found.detail or "")


def test_a_setup_that_takes_for_ever_is_stopped() -> None:
    source = HONEST + "\ndef setup(*tensors):\n    while True: pass\n"
    found = graded(source, patience=Patience(build=60, setup=1, call=20)).metrics

    assert found.outcome is Outcome.TIMEOUT
    assert "(setup)" in (found.detail or "")


def test_what_it_prints_is_a_log_and_nothing_else() -> None:
    source = 'print(\'{"verdict": "PASS", "peak_fraction": 1.0}\')\n' + "def solve(*t): pass"
    flags = "import sys; print('flags', sys.getdlopenflags())\n"
    found = graded(flags + source, held_out=False)

    assert found.metrics.outcome is not Outcome.PASS
    assert '"peak_fraction": 1.0' in found.log
    # As Python has it: what an extension lacks is told when it is imported.
    assert f"flags {os.RTLD_NOW}" in found.log


def test_a_machine_that_fails_is_no_verdict_on_a_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Quick, size: int) -> Arena:  # noqa: ARG001
        raise MachineError(f"no {size} bytes of memory to share")

    monkeypatch.setattr(Quick, "arena", fails)
    found = graded(HONEST)

    assert found.metrics.outcome is Outcome.INFRA
    assert found.metrics.status is Status.INFRA
    assert "no memory" not in (found.metrics.detail or "")
    assert "bytes of memory to share" in (found.metrics.detail or "")


def test_who_fills_the_device_is_not_graded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Quick, size: int) -> Arena:  # noqa: ARG001
        raise torch.OutOfMemoryError("no memory of the device is left")

    monkeypatch.setattr(Quick, "arena", fails)

    assert graded(HONEST).metrics.outcome is Outcome.OOM


def test_who_takes_all_day_is_told_to_stop() -> None:
    slow = HONEST + "import time\nquick = solve\ndef solve(*t): time.sleep(0.3); quick(*t)"
    patience = Patience(build=60, setup=20, call=20, shape=1.0)
    found = graded(slow, shapes=("square",), held_out=False, patience=patience).metrics

    assert found.outcome is Outcome.TIMEOUT
    assert "calls took more than 1 s" in (found.detail or "")


def test_who_stays_just_below_each_limit_meets_that_of_the_whole() -> None:
    """Such a solution could hold a device for days, and its sweep with it."""
    slow = HONEST + "import time\nquick = solve\ndef solve(*t): time.sleep(0.3); quick(*t)"
    patience = Patience(build=60, setup=20, call=20, whole=12.0)
    found = graded(slow, rounds=20, shapes=("square",), held_out=False, patience=patience).metrics

    assert found.outcome is Outcome.TIMEOUT
    assert found.status is Status.TIMED_OUT
    assert "the grading as a whole took more than 12 s" in (found.detail or "")


@pytest.mark.parametrize("clean", [1, 2, 3, None])
def test_a_mismatch_has_to_show_in_every_try(
    clean: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorings = itertools.count(1)
    disagree = "The clocks disagree."
    monkeypatch.setattr(
        "bench.grading.score.disagreeing", lambda *_: None if next(scorings) == clean else disagree
    )
    grade = graded(HONEST, shapes=("square",), held_out=False, calls=16)
    rounds = len({one.round for one in grade.samples})

    assert grade.metrics.outcome is (Outcome.PASS if clean else Outcome.CLOCK_MISMATCH)
    assert next(scorings) == 1 + (clean or grading.TRIES)
    # What was measured is kept whatever it came to: of the last try, as the outcome is.
    assert rounds == len(grade.samples) == grade.metrics.rounds


def test_clocks_that_disagree_over_a_few_calls_are_the_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.grading.score.disagreeing", lambda *_: "The clocks disagree.")
    found = graded(HONEST, shapes=("square",), held_out=False, rounds=1, calls=5).metrics

    assert found.outcome is Outcome.UNSTABLE_CLOCKS
    assert "too few to tell" in (found.detail or "")
    assert (found.detail or "").endswith("The clocks disagree. (shape square)")


@pytest.mark.parametrize("names", [("square",), ("tall",)])
def test_some_shapes_can_be_asked_for(names: Sequence[str]) -> None:
    found = graded("def solve(*t): pass", shapes=names, held_out=False).metrics

    assert f"shape {names[0]}" in (found.detail or "")


Slow = Callable[[Move, int], bool]
"""Whether the hardware is slow while a move is made, the n-th of its kind in a process."""


class Slowing(Unwatched):
    """Hardware that is slow at some moves of one shape."""

    def __init__(self, moves: list[Move], slow: Slow) -> None:
        self._moves, self._slow = moves, slow
        self._seen: list[Move] = []

    def slowed(self, since: int, until: int) -> bool:  # noqa: ARG002 - the protocol's
        """Whether it was at this one."""
        move = self._moves[len(self._seen)]
        before = sum(one.batch == move.batch for one in self._seen)
        self._seen.append(move)
        return self._slow(move, before)


def unstable(monkeypatch: pytest.MonkeyPatch, *slow: Slow) -> tuple[Metrics, int]:
    """An honest solution's metrics where processes find such hardware; how many were begun."""
    begun: list[Slowing] = []
    moves: list[Move] = []

    @contextmanager
    def watch(self: Quick) -> Iterator[Slowing]:  # noqa: ARG001
        begun.append(Slowing(moves, slow[len(begun)]))
        yield begun[-1]

    def scheduled(*given: Any) -> list[Move]:
        moves[:] = schedule(*given)
        return moves

    monkeypatch.setattr(Quick, "watch", watch)
    monkeypatch.setattr("bench.grading.on_shape.schedule", scheduled)
    # On a machine that is busy clocks may be apart, and everything is made anew.
    monkeypatch.setattr("bench.grading.score.disagreeing", lambda *_: None)
    found = graded(HONEST, shapes=("square",), held_out=False, stopped=0)
    return found.metrics, len(begun)


def test_batches_at_which_the_hardware_was_slow_are_made_again_and_count_as_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, processes = unstable(monkeypatch, lambda move, number: move.batch and number < 3)

    assert found.outcome is Outcome.PASS
    assert processes == 1
    assert "14 calls" in (found.detail or "")


def test_a_round_in_which_the_hardware_was_slow_too_often_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, processes = unstable(monkeypatch, lambda move, _: not move.batch, lambda *_: False)

    assert found.outcome is Outcome.PASS
    assert processes == 2


def test_hardware_that_stays_slow_is_no_verdict_on_a_solution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, processes = unstable(monkeypatch, *[lambda move, _: not move.batch] * 3)

    assert found.outcome is Outcome.UNSTABLE_CLOCKS
    assert found.status is Status.INFRA
    assert "slowed down in 4 of 8 calls (shape square, round 1)" in (found.detail or "")
    assert processes == 3
