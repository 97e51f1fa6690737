"""Paths that only certain values or sizes take, and constants that only fit certain inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.keeping import Calls, followed
from kbsite.alarms.python.kernels import parameters
from kbsite.alarms.python.precision import casts
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.alarms.python.scopes import Function, Parameter, Part
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_MEMORY_ERRORS: Final = ("torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError",
                         "torch.cuda.CudaError", "torch.AcceleratorError")  # fmt: skip
_SIZES: Final = ("shape", "size", "numel", "stride")


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of branches on values and sizes, and of constants for one distribution."""
    for calls in followed(reading):
        yield from _magnitudes(calls)
    yield from _sizes(reading)
    yield from _lowered(reading)
    yield from _feigned(reading)
    yield from _cuts(reading)
    yield from _skipped(reading)
    yield from _unread(reading)


def _magnitudes(calls: Calls) -> Iterator[Alarm]:
    """Branches on how large the values of an input are."""
    for test, labels in calls.first.tests:
        if "op mag" in labels and any(label.startswith("in:") for label in labels):
            written = shown(calls.reading.module.written(test))
            says = f"What is done depends on how large the values are (`{written}`)."
            level = NOTE if _only_refuses(calls.reading, test) else WARNING
            yield calls.reading.raised("magnitude-branch", level, says, test)
    for node, labels in calls.first.chosen:
        if "op mag" in labels and "host" in labels and any(x[:3] == "in:" for x in labels):
            says = "How large the values are decides what a kernel is told to do."
            yield calls.reading.raised("magnitude-branch", WARNING, says, node)


def _only_refuses(reading: Reading, test: ast.AST) -> bool:
    """Whether all that a test decides is that no answer is given."""
    around: ast.AST | None = test
    while isinstance(around, ast.expr):
        around = reading.module.parents.get(around)
    if isinstance(around, ast.If) and not around.orelse:
        return all(isinstance(step, ast.Raise) for step in around.body)
    return isinstance(around, ast.Assert)


def _sizes(reading: Reading) -> Iterator[Alarm]:
    """A kernel that is launched for listed sizes only, and nothing for others."""
    for branch in reading.module.all(ast.If):
        if not reading.is_hot(branch) or reading.on_device(branch) or branch.orelse:
            continue
        if not _lists_sizes(reading, branch.test) or not _launches(reading, branch.body):
            continue
        around = reading.module.parents.get(branch)
        body = getattr(around, "body", [])
        inside = [part for part in body if part is not branch]
        if isinstance(around, ast.FunctionDef) and not _launches(reading, inside):
            written = shown(reading.module.written(branch.test))
            says = f"The kernel only runs where `{written}`; for other sizes nothing is worked out."
            yield reading.raised("shape-branch", WARNING, says, branch)


def _lists_sizes(reading: Reading, test: ast.expr) -> bool:
    """Whether a test compares sizes with listed ones: 0, 1 and bounds do not count."""
    for part in ast.walk(test):
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq | ast.In):
            listed = isinstance(part.ops[0], ast.In) or _is_listed(reading, part.comparators[0])
            if listed and _is_of_sizes(reading, part.left):
                return True
    return False


def _is_listed(reading: Reading, node: ast.expr) -> bool:
    """Whether something is written out: a number above 1, or several, or what they come to."""
    value = reading.names.value(node)
    if value is not None:
        return value not in (0, 1)
    return not any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(node))


def _is_of_sizes(reading: Reading, node: ast.expr) -> bool:
    """Whether sizes stand in an expression, or in what its names stand for."""
    parts: list[ast.AST] = list(ast.walk(node))
    for name in [part for part in parts if isinstance(part, ast.Name)]:
        for bound in reading.names.bindings(name.id, reading.module.scope(name))[:4]:
            whole = bound.whole if isinstance(bound, Part) else bound
            parts += ast.walk(whole) if isinstance(whole, ast.expr) else ()
    return any(isinstance(part, ast.Attribute) and part.attr in _SIZES for part in parts)


def _lowered(reading: Reading) -> Iterator[Alarm]:
    """A kernel that is told by a size to work with fewer bits."""
    for call, origin in reading.hot_calls:
        kernel = reading.kernels.get(origin.removesuffix("[]"))
        if kernel is None:
            continue
        for name in _lowering(reading, kernel):
            value = _given(kernel, call).get(name)
            if value is not None and _is_of_sizes(reading, value):
                written = shown(reading.module.written(value))
                says = f"A size decides by `{written}` that the kernel works with fewer bits."
                yield reading.raised("shape-branch", WARNING, says, value)


def _lowering(reading: Reading, kernel: Function) -> Iterator[str]:
    """The parameters by which a kernel casts to fewer bits than it does without."""
    scope = reading.module.scopes[kernel]
    made = list(casts(reading, scope.all(ast.Call)))
    for branch in scope.all(ast.If):
        if isinstance(branch.test, ast.Name) and _is_given(reading, kernel, branch.test.id):
            inside = {part for statement in branch.body for part in ast.walk(statement)}
            rest = min([bits for call, bits in made if call not in inside], default=32)
            if any(bits < min(rest, 32) for call, bits in made if call in inside):
                yield branch.test.id


def _given(kernel: Function, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives a kernel, by parameter."""
    given = dict(zip(parameters(kernel), call.args, strict=False))
    return given | {k.arg: k.value for k in call.keywords if k.arg}


def _launches(reading: Reading, statements: Sequence[ast.AST]) -> bool:
    """Whether statements launch a kernel, or call what may, or work with the framework."""
    for statement in statements:
        for part in ast.walk(statement):
            if isinstance(part, ast.Call):
                origin = reading.names.origin(part.func)
                if reading.launches(part, origin):
                    return True
                if origin.startswith("local:"):
                    return True
    return False


def _feigned(reading: Reading) -> Iterator[Alarm]:
    for raised in reading.module.all(ast.Raise):
        made = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
        if made is not None and reading.names.origin(made) in _MEMORY_ERRORS:
            phase = reading.phase(raised)
            says = f"An error of the device is raised by hand, {phase.value}."
            level = NOTE if phase is Phase.TEST else ALARM
            yield reading.raised("early-exit", level, says, raised)


def _cuts(reading: Reading) -> Iterator[Alarm]:
    """Values above a constant that are kept, all others dropped."""
    cutting = {path: _cut_by(reading, kernel) for path, kernel in reading.kernels.items()}
    for path, names in cutting.items():
        if True in names.values():
            says = "The kernel keeps the values above a constant, and drops the others."
            kernel = reading.kernels[path]
            yield reading.raised("distribution-constant", WARNING, says, kernel)
    for call, origin in reading.hot_calls:
        names = cutting.get(origin.removesuffix("[]"), {})
        if names:
            yield from _cut_off(reading, call, reading.kernels[origin.removesuffix("[]")], names)


def _cut_off(
    reading: Reading, call: ast.Call, kernel: Function, names: dict[str, bool]
) -> Iterator[Alarm]:
    given = _given(kernel, call)
    fixed = [given[name] for name in names if name in given and _is_fixed(reading, given[name])]
    if fixed:
        says = f"Values above `{shown(reading.module.written(fixed[0]))}` are kept, and the others"
        says += " dropped: that number is no result of the input."
        yield reading.raised("distribution-constant", WARNING, says, call)


def _cut_by(reading: Reading, kernel: Function) -> dict[str, bool]:
    """The parameters that loaded values are compared with to keep some; `=` for a constant."""
    scope = reading.module.scopes[kernel]
    found: dict[str, bool] = {}
    for test in scope.all(ast.Compare):
        if not isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
            continue
        sides = [test.left, test.comparators[0]]
        for one, other in (sides, sides[::-1]):
            if _is_loaded(reading, kernel, one, 0) and _keeps(reading, kernel, test):
                match other:
                    case ast.Name(id=named) if _is_given(reading, kernel, named):
                        found[named] = False
                    case ast.Constant(value=float() as value) if value:
                        found["="] = True
                    case _:
                        continue
    return found


def _is_given(reading: Reading, kernel: Function, name: str) -> bool:
    bound = reading.module.scopes[kernel].bound.get(name, [])
    return len(bound) == 1 and isinstance(bound[0], Parameter)


def _is_loaded(reading: Reading, kernel: Function, node: ast.expr, depth: int) -> bool:
    """Whether something is a loaded value as it came."""
    match node:
        case ast.Call():
            name = reading.names.origin(node.func).rpartition(".")[2]
            if name in ("to", "abs") and isinstance(node.func, ast.Attribute):
                inner = node.args[0] if name == "abs" and node.args else node.func.value
                return _is_loaded(reading, kernel, inner, depth + 1)
            return name == "load"
        case ast.Name() if depth < 4:
            bound = reading.module.scopes[kernel].bound.get(node.id, [])
            values = [value for value in bound if isinstance(value, ast.expr)]
            return bool(values) and all(_is_loaded(reading, kernel, v, depth + 1) for v in values)
        case _:
            return False


def _keeps(reading: Reading, kernel: Function, test: ast.Compare) -> bool:
    """Whether what a test says is counted, or is the mask of a store."""
    above = reading.module.parents.get(test)
    named = {t.id for t in getattr(above, "targets", []) if isinstance(t, ast.Name)}
    for call in reading.module.scopes[kernel].all(ast.Call):
        for part in (part for value in _choosing(reading, call) for part in ast.walk(value)):
            if part is test or (isinstance(part, ast.Name) and part.id in named):
                return True
    return False


def _choosing(reading: Reading, call: ast.Call) -> list[ast.expr]:
    """What a call in a kernel counts, or stores by."""
    name = reading.names.origin(call.func).rpartition(".")[2]
    if name not in ("store", "atomic_add", "cumsum", "sum"):
        return []
    masks = [k.value for k in call.keywords if k.arg == "mask"]
    return masks if name == "store" else [*masks, *call.args]


def _is_fixed(reading: Reading, node: ast.expr) -> bool:
    """Whether a number is fixed before any input is seen, and is no whole one."""
    if isinstance(node, ast.UnaryOp):
        return _is_fixed(reading, node.operand)
    value = reading.names.value(node)
    if value is not None:
        return isinstance(value, float) and value not in (0.0, float("inf"), float("-inf"))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return _is_made_before(reading, node.attr)
    return False


def _is_made_before(reading: Reading, name: str) -> bool:
    """Whether an attribute is only ever worked out before a call."""
    held = [scope.attributes.get(name, ()) for scope in reading.module.scopes.values()]
    values = [value for group in held for value in group]
    return bool(values) and all(
        isinstance(value, ast.Call | ast.BinOp) and not reading.is_hot(value) for value in values
    )


def _skipped(reading: Reading) -> Iterator[Alarm]:
    """Inputs of which only every n-th element is read."""
    steps: dict[int, list[ast.Slice]] = {}
    for cut in reading.module.all(ast.Slice):
        step = reading.names.value(cut.step) if cut.step is not None else None
        if isinstance(step, int) and step > 1 and reading.is_hot(cut):
            steps.setdefault(step, []).append(cut)
    for step, cuts in steps.items():
        starts = {ast.dump(cut.lower) if cut.lower is not None else "" for cut in cuts}
        if len(starts) == 1 and not _is_target(reading, cuts[0]):
            says = f"Only every {step}th element is read, and no line reads the others."
            yield reading.raised("distribution-constant", WARNING, says, cuts[0])


def _is_target(reading: Reading, cut: ast.AST) -> bool:
    for above in reading.module.above(cut):
        if isinstance(above, ast.Subscript):
            return isinstance(above.ctx, ast.Store)
    return False


def _unread(reading: Reading) -> Iterator[Alarm]:
    """Weights that the solution declares and never reads."""
    attributes = reading.module.all(ast.Attribute)
    read: set[object] = {node.attr for node in attributes if isinstance(node.ctx, ast.Load)}
    if read & {"parameters", "named_parameters", "state_dict", "_parameters", "children"}:
        return
    read |= {constant.value for constant in reading.module.all(ast.Constant)}
    for held in reading.module.all(ast.ClassDef):
        scope = reading.module.scopes[held]
        weights = scope.attributes.items() if reading.names.method(scope, "forward") else ()
        for name, values in weights:
            if name not in read and any(_is_weight(reading, value) for value in values):
                says = f"The parameter `{shown(name)}` is declared, and no line reads it."
                yield reading.raised("distribution-constant", WARNING, says, values[0])


def _is_weight(reading: Reading, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and reading.names.origin(value.func) == "torch.nn.Parameter"
