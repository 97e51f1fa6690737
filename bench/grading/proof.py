"""Proofs of work: what a call dispatches and what the hardware counts, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.devices import Arena
from bench.forbidden import dispatched, forbidden_kernels, forbidden_operations
from bench.grading.failures import Failure, printable
from bench.grading.on_shape import OnShape
from bench.grading.rounds import Rounds
from bench.grading.work import DRAM_BYTES, TENSOR_PIPE, dram_proof, tensor_proof
from bench.problems import Shape
from kbsite.model.grade import Outcome, Proof

OPERATIONS = "dispatched operations"
KERNELS = "kernel names"
_LINE = "kbtrace "
_SHOWN = 8
_NAME_LENGTH = 100


def prove(rounds: Rounds, arena: Arena, log: Path) -> tuple[Proof, ...]:
    """What can be proven on this device, on the shape that takes longest.

    Failure if it shows what the problem forbids, or that work is missing.
    """
    subject = rounds.subject
    shape = max(rounds.shapes, key=lambda one: subject.ceiling(one).ceiling_ms)
    with rounds.process(arena, log) as process:
        process.load(rounds.solution.files, subject.setting.patience.build)
        on = OnShape(subject, process, arena, None, shape, (0, 1))
        on.trace()
        # Counted while the process is there.
        counted = tuple(_counted(rounds, on, shape))
    proofs = (_names(rounds, _rows(log)), *counted)
    for proof in proofs:
        if proof.passed is False:
            said = f"{proof.name}: {proof.detail} (shape {shape.id})"
            raise Failure(Outcome.WORK_MISSING, said)
    return proofs


def _names(rounds: Rounds, seen: Sequence[str] | None) -> Proof:
    """The operations that a call dispatched; on a GPU the kernels that it launched."""
    on_cpu = rounds.subject.setting.device.name == "cpu"
    name = OPERATIONS if on_cpu else KERNELS
    if seen is None:
        return Proof(name=name, available=False, detail="the profiler said nothing")
    banned = rounds.subject.problem.problem.forbidden
    names = [one for one in seen if one.startswith("aten::")] if on_cpu else list(seen)
    found = (
        forbidden_operations(names, dispatched(banned))
        if on_cpu
        else forbidden_kernels(names, banned)
    )
    for one, family in found:
        raise Failure(Outcome.FORBIDDEN_OP, f"{one} was called, which {family} stands for")
    shown = ", ".join(one[:_NAME_LENGTH] for one in sorted(names)[:_SHOWN]) or "none"
    return Proof(name=name, available=True, passed=bool(names) or on_cpu, detail=f"seen: {shown}")


def _counted(rounds: Rounds, on: OnShape, shape: Shape) -> Iterator[Proof]:
    """What the device's counters show while the worker makes call after call."""
    subject = rounds.subject
    device, hardware = subject.setting.device, subject.setting.hardware
    batch, calls = on.load()
    counted = device.count(batch, calls)
    if counted is None:
        for name in (DRAM_BYTES, TENSOR_PIPE):
            yield Proof(name=name, available=False, detail="there are no counters to read here")
        return
    work = subject.problem.work(shape)
    yield dram_proof(work, counted, device.cache_bytes / calls)
    tensor = tensor_proof(work, counted, hardware) if hardware else None
    if tensor is not None:
        yield tensor


def _rows(log: Path) -> list[str] | None:
    """The names of what took time, as the profiler listed it; None if there is no such list.

    Calls of CUDA's own interface are listed beside kernels, and take no time of the device.
    """
    said = log.read_text("utf-8", errors="replace").splitlines()
    lines = [line.removeprefix(_LINE) for line in said if line.startswith(_LINE)]
    try:
        rows = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        # Whatever runs in that process may print such a line.
        rows = None
    if not isinstance(rows, list):
        return None
    return [printable(str(row[0])) for row in rows if _took_time(row)]


def _took_time(row: object) -> bool:
    """Whether a row is one of a name, a count and a time that is more than nothing."""
    return isinstance(row, list) and len(row) == 3 and isinstance(row[2], float) and row[2] > 0
