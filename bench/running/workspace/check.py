"""Compare solution.py with reference.py: python3 check.py [SHAPE ...].

For each shape of problem.json it tells whether the result is within the bounds, roughly how far off
it is, and roughly how long a call takes. The inputs are drawn anew for each kind of input that
reference.py knows, always with the same seeds. The exit code is 0 if all shapes are right, and
where all were compared the last line is PASS, or FAIL: and how many are wrong.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
COUNT = ".checks"
"""Gets a line each time."""
SEED = 5
LONG_S = 1.0
MOST_CALLS = 20

Function = Callable[..., Any]
Plain = Mapping[str, Any]


def main(wanted: Sequence[str]) -> int:
    """Check all shapes, or those that are named; the exit code."""
    _count()
    problem = json.loads((HERE / "problem.json").read_text("utf-8"))
    shapes = [one for one in problem["shapes"] if not wanted or one["id"] in wanted]
    if not shapes:
        known = ", ".join(one["id"] for one in problem["shapes"])
        _say(f"no such shape; there are: {known}")
        return 2
    right = _checked(problem, shapes)
    if right and not wanted:
        _say("PASS" if all(right) else f"FAIL: {right.count(False)} of {len(right)} shapes")
    return 0 if right and all(right) else 1


def _checked(problem: Plain, shapes: Sequence[Plain]) -> list[bool]:
    """Which shapes are right; nothing where solution.py cannot be used."""
    try:
        solution, reference = _load("solution.py"), _load("reference.py")
    except Exception:  # noqa: BLE001 - whatever it is, who wrote it wants to read it
        _say(traceback.format_exc())
        return []
    if not callable(solution.get("solve")):
        _say("solution.py has no function solve")
        return []
    check = _on_tensors if problem["tensors"] else _on_values
    return [_told(check, problem, one, solution, reference) for one in shapes]


def _count() -> None:
    try:
        with (HERE / COUNT).open("a", encoding="ascii") as stream:
            stream.write(f"{time.time():.3f}\n")
    except OSError as error:
        _say(f"not counted: {error.strerror}")


def _load(name: str) -> dict[str, Any]:
    path = HERE / name
    code = compile(path.read_bytes(), str(path), "exec")
    held: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(code, held)  # noqa: S102 - this is what it is for
    return held


def _told(
    check: Function, problem: Plain, shape: Plain, solution: dict[str, Any], reference: Plain
) -> bool:
    sizes = ", ".join(f"{name}={size}" for name, size in shape["sizes"].items())
    try:
        wrong, said = check(problem, shape, solution, reference)
    except Exception:  # noqa: BLE001 - one shape that fails does not hide the others
        wrong, said = True, traceback.format_exc().rstrip()
    _say(f"{shape['id']} ({sizes}): {'FAIL' if wrong else 'pass'}, {said}")
    return not wrong


def _on_values(
    _problem: Plain, shape: Plain, solution: Plain, reference: Plain
) -> tuple[bool, str]:
    """Whether plain values come out wrong, and what is told of them."""
    got = solution["solve"](**shape["sizes"])
    wanted = reference["solve"](**shape["sizes"])
    start = time.perf_counter()
    solution["solve"](**shape["sizes"])
    took = time.perf_counter() - start
    return bool(got != wanted), f"about {took * 1000:.2g} ms a call"


def _on_tensors(
    problem: Plain, shape: Plain, solution: Plain, reference: Plain
) -> tuple[bool, str]:
    """Whether outputs are out of their bounds for any kind of input, and what is told of them."""
    device, worst, place = _device(), 0.0, ""
    setup = solution.get("setup")
    if setup is not None:
        setup(*_drawn(problem, shape, reference, problem["cases"][0], SEED, device).values())
    for number, case in enumerate(problem["cases"]):
        held = _drawn(problem, shape, reference, case, SEED + 1 + number, device)
        given = {name: one.clone() for name, one in held.items() if not _is_out(problem, name)}
        solution["solve"](*held.values())
        right = reference["reference"](**given, **shape["sizes"])
        for name, one in problem["tensors"].items():
            if one["role"] == "in":
                continue
            points = given.get((one["bound"] or {}).get("indices_into") or "")
            share = _share(held[name], right[name], one["bound"] or {}, points)
            if share > worst or not place:
                worst, place = max(share, worst), f"{name}, {case} inputs"
    took = _seconds(lambda: solution["solve"](*held.values()), device)
    said = f"at most about {_coarse(worst)} of the bound ({place})"
    return worst > 1, f"{said}, about {took * 1000:.2g} ms a call"


def _is_out(problem: Plain, name: str) -> bool:
    return bool(problem["tensors"][name]["role"] == "out")


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _drawn(
    problem: Plain, shape: Plain, reference: Plain, case: str, seed: int, device: str
) -> dict[str, Any]:
    """The arguments of solve(), in order; what it has to write holds something else before."""
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    inputs = reference["inputs"](case, generator, **shape["sizes"])
    held = {}
    for name, one in problem["tensors"].items():
        if one["role"] != "out":
            held[name] = inputs[name].contiguous()
            continue
        dtype = getattr(torch, one["dtype"])
        empty = torch.empty(shape["tensors"][name], dtype=dtype, device=device)
        held[name] = empty.fill_(math.nan if dtype.is_floating_point else 1)
    return held


def _share(got: Any, wanted: Any, bound: Plain, points: Any) -> float:
    """The largest share of its bound that an output uses up; infinity where none can hold."""
    import torch

    if points is not None:
        repeated = got.sort(-1).values.diff(dim=-1).eq(0).any()
        if repeated or got.min() < 0 or got.max() >= points.shape[-1]:
            return math.inf
        got, wanted = points.gather(-1, got.long()), points.gather(-1, wanted.long())
    loose = any(bound.get(key) for key in ("rms", "relative", "typical"))
    if not (got.is_floating_point() and loose):
        same = torch.equal(torch.nan_to_num(got), torch.nan_to_num(wanted.to(got.dtype)))
        return 0.0 if same else math.inf
    return _far(got.double(), wanted.double(), bound)


def _far(got: Any, wanted: Any, bound: Plain) -> float:
    """The same of numbers that may differ; what is not finite may not."""
    import torch

    finite = wanted.isfinite()
    if not torch.equal(got[~finite].nan_to_num(), wanted[~finite].nan_to_num()):
        return math.inf
    got, wanted = got[finite], wanted[finite]
    if not got.isfinite().all():
        return math.inf
    off, rms = (got - wanted).abs(), wanted.square().mean().sqrt()
    room = bound["rms"] * rms + bound["relative"] * wanted.abs()
    shares = torch.where(off > 0, off / room, 0.0)
    largest = float(shares.max()) if shares.numel() else 0.0
    if bound.get("typical"):
        whole = off.square().mean().sqrt() / (bound["typical"] * rms)
        largest = max(largest, float(whole.nan_to_num()))
    return largest


def _coarse(share: float) -> str:
    """A share to one digit: enough to see which way to go."""
    return "many times" if math.isinf(share) else f"{share:.1g}"


def _seconds(call: Callable[[], Any], device: str) -> float:
    """About how long a call takes: the median of a few, the first one left out."""
    import torch

    def once() -> float:
        start = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    once()
    times = [once()]
    while sum(times) < LONG_S and len(times) < MOST_CALLS:
        times.append(once())
    return median(times)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.chdir(HERE)
    sys.path.insert(0, str(HERE))
    sys.exit(main(sys.argv[1:]))
