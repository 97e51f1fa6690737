"""What a session finds in its workspace, and what it is asked: made of a problem's folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from bench.expressions import whole
from bench.harnesses.form import WORKSPACE
from bench.problems import TORCH
from bench.proxy.form import PORT
from kbsite.errors import InputError
from kbsite.model.counts import number_of
from kbsite.model.problem import Bound, Problem
from kbsite.store.problems import PROBLEM, PROMPT, REFERENCE, StoredProblem

CHECK = "check.py"
CLOCK = "kb-time"
SHAPES = "problem.json"
CHECKS = ".checks"
"""Gets a line from each use of check.py."""

_NOTE = """

---

You work in {workspace}; your solution is {workspace}/solution.py, and what it needs lies beside \
it. Three files there help you and cannot be changed: reference.py, problem.json (shapes, formats \
and bounds) and check.py. `python3 check.py` compares your solution with the reference and tells \
roughly how long a call takes; `python3 check.py {shape}` does so for one shape. There is no \
network.

You have {minutes}. `./kb-time` tells how much of it is left. What solution.py holds when the time \
is up is what you hand in, so keep one there that works.
"""


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """What a session is given."""

    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """Read-only, by their names in the workspace."""
    prompt: str
    prompt_hash: str
    """SHA-256 of the prompt, in hexadecimal."""
    problem_hash: str


def workspace(
    stored: StoredProblem, budget_seconds: float, *, gpu: bool, port: int = PORT
) -> Workspace:
    """The workspace and the prompt of a problem; InputError where it has no statement.

    Without a GPU its smaller shapes are the ones to be checked, where it has such. The proxy that
    knows the time is at `port` of 127.0.0.1.
    """
    for name, text in ((PROMPT, stored.prompt), (REFERENCE, stored.reference)):
        if not text.strip():
            message = "missing or empty; write what the agent is to be given"
            raise InputError(message, path=f"problems/{stored.id}/{name}")
    told = _told(stored, gpu=gpu)
    prompt = stored.prompt.rstrip() + _NOTE.format(
        workspace=WORKSPACE, minutes=_words(budget_seconds), shape=_first(told)
    )
    return Workspace(
        files={
            REFERENCE: stored.reference.encode(),
            SHAPES: (json.dumps(told, indent=1) + "\n").encode(),
            CHECK: _shipped(CHECK),
            CLOCK: _shipped(CLOCK).replace(b":8000/", b":%d/" % port),
        },
        prompt=prompt,
        prompt_hash=hashlib.sha256(prompt.encode()).hexdigest(),
        problem_hash=stored.hash,
    )


def _shipped(name: str) -> bytes:
    return (files("bench.running") / "workspace" / name).read_bytes()


def _first(told: Mapping[str, Any]) -> str:
    return str(told["shapes"][0]["id"]) if told["shapes"] else "SHAPE"


def _words(seconds: float) -> str:
    if seconds % 60 == 0 and seconds >= 60:
        return number_of(int(seconds // 60), "minute")
    return f"{seconds:g} seconds"


def _told(stored: StoredProblem, *, gpu: bool) -> dict[str, Any]:
    """problem.json: what a solution has to be right on and how right; nothing of what is fast."""
    problem = stored.problem
    listed = problem.shapes if gpu or not problem.cpu_shapes else problem.cpu_shapes
    return {
        "title": problem.title,
        "dimensions": {
            name: {"means": one.means, "least": one.least, "most": one.most, "step": one.step}
            for name, one in problem.dimensions.items()
        },
        "shapes": [_shape(stored.id, problem, number, one) for number, one in enumerate(listed)],
        "tensors": {
            name: {
                "role": one.role.value, "dtype": TORCH[one.dtype], "shape": list(one.shape),
                "means": one.means, "bound": _bound(one.bound),
            }
            for name, one in problem.tensors.items()
        },
        "cases": list(problem.cases),
        "forbidden": list(problem.forbidden),
    }  # fmt: skip


def _bound(bound: Bound | None) -> dict[str, Any] | None:
    """How far off an output may be, without what calibrations of it found."""
    if bound is None:
        return None
    return {
        "rms": bound.rms, "relative": bound.relative, "typical": bound.typical,
        "indices_into": bound.indices_into,
    }  # fmt: skip


def _shape(
    problem_id: str, problem: Problem, number: int, one: Mapping[str, int | float | str | bool]
) -> dict[str, Any]:
    sizes = {name: size for name, size in one.items() if name != "id"}
    known = {name: int(sizes[name]) for name in problem.dimensions if name in sizes}
    return {
        "id": str(one.get("id", f"shape-{number + 1}")),
        "sizes": sizes,
        "tensors": {
            name: [
                whole(size, known, (f"problems/{problem_id}/{PROBLEM}", f"tensors.{name}.shape"))
                for size in tensor.shape
            ]
            for name, tensor in problem.tensors.items()
        },
    }
