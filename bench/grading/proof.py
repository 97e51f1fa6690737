"""Proofs of work: which operations a call dispatches, seen in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from bench.devices import Arena
from bench.forbidden import forbidden_operations
from bench.grading.failures import Failure
from bench.grading.on_shape import OnShape
from bench.grading.rounds import Rounds
from kbsite.model.grade import Outcome, Proof

OPERATIONS = "dispatched operations"
_LINE = "kbtrace "
_SHOWN = 8


def prove(rounds: Rounds, arena: Arena, log: Path) -> tuple[Proof, ...]:
    """What can be proven on this device; Failure if it shows what the problem forbids."""
    with rounds.process(arena, log) as process:
        process.load(rounds.solution.files, rounds.subject.setting.patience.build)
        OnShape(rounds.subject, process, arena, None, rounds.shapes[0], (0, 1)).trace()
    seen = _rows(log)
    if seen is None:
        return (Proof(name=OPERATIONS, available=False, detail="the profiler said nothing"),)
    names = [name for name in seen if name.startswith("aten::")]
    banned = rounds.subject.problem.problem.forbidden
    for name, family in forbidden_operations(names, banned):
        raise Failure(Outcome.FORBIDDEN_OP, f"{name} was called, which {family} stands for")
    shown = ", ".join(sorted(names)[:_SHOWN]) or "none"
    return (Proof(name=OPERATIONS, available=True, passed=True, detail=f"seen: {shown}"),)


def _rows(log: Path) -> list[str] | None:
    """The names that the profiler listed; None if there is no such list."""
    said = log.read_text("utf-8", errors="replace").splitlines()
    lines = [line.removeprefix(_LINE) for line in said if line.startswith(_LINE)]
    try:
        rows = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        # Whatever runs in that process may print such a line.
        rows = None
    if not isinstance(rows, list):
        return None
    return [str(row[0]) for row in rows if isinstance(row, list) and row]
