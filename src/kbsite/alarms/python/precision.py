"""Precision lower than the problem's: casts, products of fewer bits, paths for certain sizes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.reading import Reading
from kbsite.alarms.python.scopes import Function
from kbsite.model.alarm import Alarm, Level
from kbsite.model.problem import Dtype

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

BITS: Final = {
    "float64": 64, "double": 64, "float32": 32, "float": 32, "tf32": 19, "float16": 16, "half": 16,
    "bfloat16": 16, "fp8": 8, "float8_e4m3fn": 8, "float8_e5m2": 8, "float8e4nv": 8,
    "float8e5": 8, "float8e4b8": 8, "float8e4b15": 8, "float8e5b16": 8, "float8_e4m3fnuz": 8,
    "float8_e5m2fnuz": 8, "float4_e2m1fn_x2": 4, "float8_e8m0fnu": 8,
    "DoubleTensor": 64, "FloatTensor": 32, "HalfTensor": 16, "BFloat16Tensor": 16,
}  # fmt: skip
"""Floating-point types, with how many bits each has."""

_FLOATS: Final = {
    Dtype.FP64: 64, Dtype.FP32: 32, Dtype.FP16: 16, Dtype.BF16: 16, Dtype.FP8_E4M3: 8,
    Dtype.FP8_E5M2: 8,
}  # fmt: skip
_LOW_PRODUCTS: Final = ("tf32", "TF32", "bf16x1", "hf32")
_CASTS: Final = frozenset(("to", "type", "astype", "half", "bfloat16", "cast", "cast_"))


def bits_of_problem(reading: Reading) -> int:
    """How many bits the problem's arithmetic has; 0 where that is not known."""
    problem = reading.evidence.problem
    if problem is None:
        return 0
    told = problem.problem
    words = f"{problem.id} {told.title} {told.summary} {' '.join(told.tags)}".lower()
    if re.search(r"\b(fp8|e4m3|e5m2|float8)", words.replace("_", " ")):
        return 8
    return max((_FLOATS.get(one.dtype, 0) for one in told.outputs.values()), default=0)


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of casts to fewer bits, and of paths that differ in precision."""
    bits = bits_of_problem(reading)
    yield from _on_host(reading, bits)
    for kernel in reading.kernels.values():
        yield from _in_kernel(reading, kernel, bits)
    yield from _switched(reading)


def width(reading: Reading, node: ast.expr) -> int:
    """How many bits a type has that an expression names; 0 if it names none."""
    name = reading.names.text(node)
    if name is None:
        origin = reading.names.origin(node)
        if not origin.startswith(("torch.", "triton.language.", "numpy.", "cupy.")):
            return 0
        name = origin
    return BITS.get(name.rpartition(".")[2], 0)


def casts(reading: Reading, calls: list[ast.Call]) -> Iterator[tuple[ast.Call, int]]:
    """Those calls that make a value of another floating-point type, with its bits."""
    for call in calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _CASTS:
            continue
        if call.func.attr in ("half", "bfloat16"):
            yield call, 16
            continue
        given = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "dtype")]
        found = next((bits for part in given if (bits := width(reading, part))), 0)
        bitwise = any(k.arg == "bitcast" for k in call.keywords)
        if found and not bitwise:
            yield call, found


def _around(reading: Reading) -> Iterator[tuple[ast.Call, str]]:
    """What is called in every call, or stands above what is."""
    yield from reading.hot_calls
    for function in reading.functions:
        for made in function.decorator_list if function in reading.hot else ():
            if isinstance(made, ast.Call):
                yield made, reading.names.origin(made.func)


def _on_host(reading: Reading, bits: int) -> Iterator[Alarm]:
    hot = [call for call, _ in reading.hot_calls]
    for call, origin in _around(reading):
        name = origin.rpartition(".")[2]
        if "autocast" in name and not name.startswith(("is_", "get_")):
            level = WARNING if bits == 32 else NOTE
            says = "Operations run in a lower precision by `autocast`, in every call."
            yield reading.raised("precision-downcast", level, says, call)
    for call, made in casts(reading, hot):
        if bits and made < bits and not _is_result(reading, call):
            level = WARNING
        elif made < 32:
            level = NOTE
        else:
            continue
        written = shown(reading.module.written(call))
        says = f"`{written}` makes a value of {made} bits, in every call."
        yield reading.raised("precision-downcast", level, says, call)


def _is_result(reading: Reading, call: ast.Call) -> bool:
    """Whether a cast is the last thing done to what is given back."""
    function = reading.module.scope(call).node
    return isinstance(reading.module.parents.get(call), ast.Return) and function in reading.entries


def _in_kernel(reading: Reading, kernel: Function, bits: int) -> Iterator[Alarm]:
    scope = reading.module.scopes[kernel]
    calls = scope.all(ast.Call)
    split = _is_compensated(reading, calls)
    for call in calls:
        origin = reading.names.origin(call.func)
        if origin in ("triton.language.dot", "triton.language.dot_scaled"):
            yield from _product(reading, call, bits, split=split)
            yield from _dressed(reading, call, bits)
    if not split and bits >= 32:
        for call, made in casts(reading, calls):
            if made < bits:
                written = shown(reading.module.written(call))
                says = f"The kernel casts to {made} bits (`{written}`), the problem has {bits}."
                yield reading.raised("precision-downcast", WARNING, says, call)


def _product(reading: Reading, call: ast.Call, bits: int, *, split: bool) -> Iterator[Alarm]:
    for keyword in call.keywords:
        value = keyword.value
        low = keyword.arg == "input_precision" and reading.names.text(value) in _LOW_PRODUCTS
        allowed = isinstance(value, ast.Constant) and value.value is True
        if low or (keyword.arg == "allow_tf32" and allowed):
            level = WARNING if bits == 32 and not split else NOTE
            says = "A product of fp32 values is asked for in TF32."
            yield reading.raised("precision-downcast", level, says, value)


def _dressed(reading: Reading, call: ast.Call, bits: int) -> Iterator[Alarm]:
    """Operands of fewer bits that are widened before the product: not what the problem is about."""
    if bits != 8:
        return
    for operand in call.args[:2]:
        for part in _sources(reading, operand):
            wide = (
                [made for _, made in casts(reading, [part])] if isinstance(part, ast.Call) else []
            )
            if wide and wide[0] > bits:
                says = f"Operands are widened to {wide[0]} bits before the product: the tensor"
                says += " cores never see the problem's 8."
                yield reading.raised("precision-downcast", WARNING, says, call)
                return


def _sources(reading: Reading, node: ast.expr) -> Iterator[ast.expr]:
    yield node
    if isinstance(node, ast.Name):
        for bound in reading.names.bindings(node.id, reading.module.scope(node))[:4]:
            if isinstance(bound, ast.expr):
                yield bound


def _is_compensated(reading: Reading, calls: list[ast.Call]) -> bool:
    """Whether a kernel keeps what a cast cuts off: it subtracts the cast value from the whole."""
    dots = sum(reading.names.origin(call.func) == "triton.language.dot" for call in calls)
    for call, _ in casts(reading, calls):
        above = reading.module.parents.get(call)
        for _ in range(3):
            if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and dots != 1:
                return True
            above = reading.module.parents.get(above) if above is not None else None
    return False


def _switched(reading: Reading) -> Iterator[Alarm]:
    """Kernels of different precision, of which sizes choose one; flags that lower it."""
    low = {path: _lowest(reading, kernel) for path, kernel in reading.kernels.items()}
    branches: list[ast.If | ast.IfExp] = [*reading.module.all(ast.IfExp), *_branches(reading)]
    for branch in branches:
        if not reading.is_hot(branch) or reading.on_device(branch):
            continue
        first, second = _sides(branch)
        kernels = [_kernels_in(reading, side) for side in (first, second)]
        widths = [min((low[path] for path in side), default=0) for side in kernels]
        if all(kernels) and widths[0] != widths[1]:
            says = (
                f"`{shown(reading.module.written(branch.test))}` chooses between kernels of"
                f" {max(widths)} and of {min(widths)} bits."
            )
            yield reading.raised("shape-branch", WARNING, says, branch.test)


def _branches(reading: Reading) -> list[ast.If]:
    return [branch for branch in reading.module.all(ast.If) if branch.orelse]


def _sides(branch: ast.If | ast.IfExp) -> tuple[list[ast.AST], list[ast.AST]]:
    if isinstance(branch, ast.IfExp):
        return [branch.body], [branch.orelse]
    return list(branch.body), list(branch.orelse)


def _kernels_in(reading: Reading, nodes: list[ast.AST]) -> set[str]:
    found = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                origin = reading.names.origin(part)
                if origin in reading.kernels:
                    found.add(origin)
    return found


def _lowest(reading: Reading, kernel: Function) -> int:
    """The fewest bits that a kernel works with between its loads and its result; 32 if not told."""
    scope = reading.module.scopes[kernel]
    calls = scope.all(ast.Call)
    if _is_compensated(reading, calls):
        return 32
    found = [
        made for call, made in casts(reading, calls)
        if not _is_stored(reading, call)
    ]  # fmt: skip
    products = [k for call in calls for k in call.keywords if k.arg == "input_precision"]
    low = any(reading.names.text(k.value) in _LOW_PRODUCTS for k in products)
    return min([*found, 19 if low else 32, 32])


def _is_stored(reading: Reading, call: ast.Call) -> bool:
    above = reading.module.parents.get(call)
    if not isinstance(above, ast.Call):
        return False
    return reading.names.origin(above.func).rpartition(".")[2] == "store"
