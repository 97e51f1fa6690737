"""What has to hold of a problem.yaml before anybody can be graded by it."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final

from kbsite.model.expressions import FUNCTIONS, FormulaError, Number, evaluate, names
from kbsite.model.forbidden import FAMILIES
from kbsite.model.hardware import Accumulate, Format
from kbsite.model.problem import Bound, Dtype, Problem, Regime, Role, Tensor

Wrong = Iterator[tuple[str, str]]
"""Keys, and what is wrong with what stands there."""

ShapeMap = Mapping[str, int | float | str | bool]

SHAPE_LISTS: Final = ("shapes", "cpu_shapes")

FORMATS: Final = ", ".join(one.value for one in Format)

_SHAPE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WHOLE = frozenset((Dtype.INT64, Dtype.INT32, Dtype.INT8, Dtype.UINT8, Dtype.BOOL))


def is_to_be_graded(problem: Problem) -> bool:
    """Whether a problem says anything of how it is graded; a demonstration does not."""
    return any(
        (problem.tensors, problem.flops, problem.bytes, problem.cases, problem.dimensions,
         problem.regime)
    )  # fmt: skip


def unsound(problem: Problem) -> Wrong:
    """All that keeps a problem from being graded by."""
    if problem.regime is None:
        yield "regime", f"missing; expected {' or '.join(one.value for one in Regime)}"
    yield from _of_names(problem)
    yield from _of_dimensions(problem)
    for key in SHAPE_LISTS:
        yield from _of_shapes(problem, key)
    for name, tensor in problem.tensors.items():
        yield from _of_tensor(problem, name, tensor)
    yield from _of_tensors(problem)
    yield from _of_lists(problem)
    yield from _of_accounting(problem)


def rate(key: str) -> tuple[Format, Accumulate | None]:
    """The format whose peak work is held against, and of its sums; ValueError for another key."""
    number, _, sums = key.partition("/")
    return Format(number), Accumulate(sums) if "/" in key else None


def is_whole(dtype: Dtype) -> bool:
    """Whether elements are whole numbers or truth values."""
    return dtype in _WHOLE


def _of_names(problem: Problem) -> Wrong:
    for group in ("dimensions", "tensors"):
        for name in getattr(problem, group):
            if not name.isidentifier() or keyword.iskeyword(name) or name in (*FUNCTIONS, "id"):
                yield f"{group}.{name}", "expected a name that Python takes for a parameter"
    for name in sorted({*problem.dimensions} & {*problem.tensors}):
        yield f"tensors.{name}", "a dimension has the same name"


def _of_dimensions(problem: Problem) -> Wrong:
    for name, one in problem.dimensions.items():
        if not 1 <= one.least <= one.most:
            got = f"got {one.least} to {one.most}"
            yield f"dimensions.{name}", f"expected 1 <= least <= most, {got}"
        if not any(
            name in _named(str(size))
            for tensor in problem.tensors.values()
            for size in tensor.shape
        ):
            yield f"dimensions.{name}", "no tensor's shape depends on it: a solution cannot know it"
        if one.step < 1:
            yield f"dimensions.{name}.step", f"expected 1 or more, got {one.step}"


def _of_shapes(problem: Problem, key: str) -> Wrong:
    shapes: tuple[ShapeMap, ...] = getattr(problem, key)
    if not shapes:
        where = "a CPU" if key == "cpu_shapes" else "a GPU"
        yield key, f"none; expected what a solution is graded on where it is {where}"
    seen: dict[object, int] = {}
    for number, shape in enumerate(shapes):
        yield from _of_shape(problem, f"{key}[{number}]", shape)
        for held in (shape.get("id"), frozenset((k, v) for k, v in shape.items() if k != "id")):
            if seen.setdefault(held, number) != number:
                what = "id" if held == shape.get("id") else "sizes"
                yield f"{key}[{number}]", f"the same {what} as {key}[{seen[held]}]"


def _of_shape(problem: Problem, key: str, shape: ShapeMap) -> Wrong:
    given = shape.get("id")
    if not isinstance(given, str) or not _SHAPE_ID.fullmatch(given):
        yield f"{key}.id", "expected a short name: letters, digits and . _ - only"
    for name in problem.dimensions:
        if name not in shape:
            yield f"{key}.{name}", "missing; expected a size of each dimension"
    for name, size in shape.items():
        if name != "id":
            yield from _of_size(problem, f"{key}.{name}", name, size)


def _of_size(problem: Problem, key: str, name: str, size: object) -> Wrong:
    one = problem.dimensions.get(name)
    if one is None:
        yield key, f"no such dimension; there are {', '.join(problem.dimensions) or 'none'}"
    elif isinstance(size, bool) or not isinstance(size, int):
        yield key, f"expected a whole number, got {size!r}"
    elif not one.least <= size <= one.most:
        yield key, f"expected {one.least} to {one.most} as the dimension says, got {size}"
    elif one.step > 1 and (size - one.least) % one.step:
        yield key, f"expected {one.least} plus a multiple of {one.step}, got {size}"


def _of_tensor(problem: Problem, name: str, tensor: Tensor) -> Wrong:
    for at, size in enumerate(tensor.shape):
        key = f"tensors.{name}.shape[{at}]"
        for said, value in _values(problem, str(size)):
            if value is None:
                yield key, said
            elif value != int(value) or value < 1:
                yield key, f"`{size}` is {value} for {said}; expected a whole number from 1 up"
    key = f"tensors.{name}.bound"
    if tensor.role is Role.IN and tensor.bound is not None:
        yield key, "an input is not checked; only outputs have a bound"
    elif tensor.role is not Role.IN and tensor.bound is None:
        yield key, "missing; expected how far the output may be from the reference"
    elif tensor.bound is not None:
        yield from _of_bound(problem, key, tensor, tensor.bound)


def _of_bound(problem: Problem, key: str, tensor: Tensor, bound: Bound) -> Wrong:
    for one in fields(bound):
        figure = getattr(bound, one.name)
        if isinstance(figure, int | float) and not 0 <= figure < math.inf:
            yield f"{key}.{one.name}", f"expected 0 or more, got {figure}"
    if bound.typical == 0:
        yield f"{key}.typical", "0 asks for bits; leave it out, and rms and relative at 0"
    if bound.indices_into is None:
        return
    source = problem.tensors.get(bound.indices_into)
    if source is None or source.role is Role.OUT:
        yield f"{key}.indices_into", f"{bound.indices_into!r} is no input of the problem"
    if not is_whole(tensor.dtype):
        yield f"{key}.indices_into", f"indices are whole numbers, not {tensor.dtype.value}"


def _of_tensors(problem: Problem) -> Wrong:
    if not problem.tensors:
        yield "tensors", "none; expected the arguments of solve(), in order"
    elif not problem.outputs:
        yield "tensors", "none has the role out or inout: there is nothing to check"
    elif all(one.role is Role.OUT for one in problem.tensors.values()):
        yield "tensors", "none has the role in or inout: there is nothing to compute from"


def _of_lists(problem: Problem) -> Wrong:
    if len(problem.cases) < 2:
        yield "cases", "expected the ordinary inputs and one or more other distributions of them"
    for key in ("cases", "forbidden"):
        held: tuple[str, ...] = getattr(problem, key)
        for number, name in enumerate(held):
            if name in held[:number]:
                yield f"{key}[{number}]", f"{name!r} stands there twice"
    for number, name in enumerate(problem.forbidden):
        if name not in FAMILIES:
            yield f"forbidden[{number}]", f"expected one of {', '.join(FAMILIES)}, got {name!r}"


def _of_accounting(problem: Problem) -> Wrong:
    if not problem.flops and problem.regime is Regime.COMPUTE:
        yield "flops", "missing; without it nobody knows what bounds a compute problem"
    if problem.bytes is None:
        yield "bytes", "missing; expected the traffic that no solution can do without"
    formulas = {f"flops.{key}": formula for key, formula in problem.flops.items()}
    for key in problem.flops:
        try:
            rate(key)
        except ValueError:
            yield f"flops.{key}", f"no format of a peak; expected one of {FORMATS}"
    for key, formula in (formulas | {"bytes": problem.bytes}).items():
        for said, value in _values(problem, formula) if formula is not None else ():
            if value is None:
                yield key, said
            elif value <= 0:
                yield key, f"is {value} for {said}; expected more than 0"


def _named(formula: str) -> frozenset[str]:
    try:
        return names(formula)
    except FormulaError:
        return frozenset()


def _values(problem: Problem, formula: str) -> Iterator[tuple[str, Number | None]]:
    """What a formula is for each shape, with the shape in words; None with what is wrong."""
    try:
        needed = names(formula)
    except FormulaError as error:
        yield str(error), None
        return
    missing = sorted(needed - {*problem.dimensions})
    if missing:
        known = ", ".join(problem.dimensions) or "none"
        yield f"`{missing[0]}` is no dimension; there are {known}", None
        return
    for shape in (*problem.shapes, *problem.cpu_shapes):
        sizes = {name: size for name, size in shape.items() if type(size) is int}
        if needed <= {*sizes}:
            try:
                value = evaluate(formula, sizes)
            except FormulaError as error:
                yield str(error), None
                return
            yield ", ".join(f"{name}={sizes[name]}" for name in sorted(needed)), value
