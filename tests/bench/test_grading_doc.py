"""docs/grading.md tells the figures that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import numerics
from bench.devices.cpu import Cpu
from bench.devices.cuda import Cuda
from bench.devices.gpu_watch import SLOW
from bench.grading import (
    checks,
    disclosure,
    grade,
    on_shape,
    schedule,
    secret,
    setting,
    stops,
    times,
)  # fmt: skip
from kbsite.model import accounting, grader_alarms, timing
from kbsite.model.grade import IMPOSSIBLE, Outcome

TEXT = (Path(__file__).parents[2] / "docs" / "grading.md").read_text("utf-8")
PLAIN = " ".join(TEXT.split())

GPU, CPU = Cuda.agreement, Cpu.agreement


@pytest.mark.parametrize(
    "said",
    [
        f"A secret of {secret.BYTES * 8} bits",
        f"There are {setting.ROUNDS} rounds, each a fresh process",
        f"begins with {setting.EMPTY_CALLS} empty calls",
        f"On a GPU {setting.HELD_CALLS} more keep it busy",
        f"{setting.STOPPED} more batches of the grading are not timed",
        f"up to {stops.AT_ONCE} times each",
        f"fewer than {stops.FEWEST} threads were met",
        f"at most {setting.Patience().setup:g} s",
        f"Then there are {setting.CALLS} calls",
        f"{setting.Patience().shape:g} s for all of them",
        f"may take {setting.Patience().whole:g} s, six builds of the longest that one may take, "
        f"{setting.Patience().build:g} s, and an hour besides",
        f"checked with {setting.HELD_OUT_CALLS} calls",
        f"{schedule.BATCHED:.0%} of the calls".replace("%", " %"),
        f"as long as {Cuda.batch_ms:g} ms by the ceiling on a GPU",
        f"with {Cuda.most_slots} calls at most",
        f"; {on_shape.BATCHES} of them on a CPU",
        f"up to {on_shape.AGAIN} batches are made again",
        f"single calls may be apart by {GPU.late_ms * 1e3:g} us",
        f"seen up to {GPU.late_ms * 1e3:g} us later for single calls",
        f"delay is {times.MOST_DELAY_MS * 1e3:g} us and drift",
        f"{times.MOST_DRIFT:.0%} at most".replace("%", " %"),
        {0.25: "A quarter of all calls"}.get(schedule.STRESS, "no such share"),
        f"{schedule.NEAR:.0%} of the single ones".replace("%", " %"),
        f"one cache line in {disclosure.CANARIES} wrong",
        f"{Cuda.probes} of a move on a GPU, {Cpu.probes} on a CPU",
        f"the outputs of the {checks.KEPT} calls before",
        f"outputs of {2 * numerics.SAMPLE} elements and more",
        f"apart by {GPU.relative:.0%} or {GPU.absolute_ms * 1e3:g} us on a GPU, by "
        f"{CPU.relative:.0%} or {CPU.absolute_ms:g} ms on a CPU".replace("%", " %"),
        f"may take {GPU.warmer:.0%} longer than a single one on a GPU".replace("%", " %"),
        {1.0: "and twice as long on a CPU"}.get(CPU.warmer, "no such share"),
        f"below {SLOW:.0%} of the round's usual clock".replace("%", " %"),
        f"If more than {on_shape.MOST_DROPPED:.0%} of a shape's calls".replace("%", " %"),
        f"if that happens {grade.TRIES} times, the outcome is",
        f"{timing.CONFIDENCE:.0%} ones by a hierarchical".replace("%", " %"),
        f"of {timing.DRAWS} draws",
        f"fewer than {setting.ROUNDS} rounds",
        f"Less than {IMPOSSIBLE:.0%} of that".replace("%", " %"),
        f"the floor is {accounting.CPU_MARGIN:g} times as fast",
        f"more than {grader_alarms.SUSPECT} over all shapes",
        f"within {grader_alarms.PARITY:.0%} of it".replace("%", " %"),
        f"more than {grader_alarms.DRIFT:.0%} faster than the anchors".replace("%", " %"),
    ],
)
def test_the_page_tells_what_the_code_does(said: str) -> None:
    assert said in PLAIN


def test_shares_of_elements_are_those_that_are_computed() -> None:
    shares = [f"{float(one) * 100:g}" for one in numerics.QUANTILES]

    assert f"{', '.join(shares[:-1])} and {shares[-1]} % of the elements" in PLAIN


def test_outcomes_that_are_named_exist() -> None:
    named = set(re.findall(r"`([A-Z_]{3,})`", TEXT))

    assert len(named) > 8
    assert named <= {one.value for one in Outcome}
