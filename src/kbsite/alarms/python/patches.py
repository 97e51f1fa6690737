"""Things of others that a solution changes: modules, objects, flags, the environment."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.alarms.python.scopes import class_of
from kbsite.late import late
from kbsite.model.alarm import Alarm, Level
from kbsite.store.run_folders import SOLUTION

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_NUMERIC: Final = ("tf32", "reduced_precision", "precision", "default_dtype", "denormal")
_TUNING: Final = ("torch._inductor.config", "torch._dynamo.config", "triton.knobs", "torch.classes")
_TENSOR_METHODS: Final = frozenset(
    """contiguous clone cpu to float double half item tolist numpy allclose equal isclose sum
    detach view reshape __eq__ __bool__ __float__ __getitem__ data_ptr is_contiguous stride size
    shape dtype device untyped_storage __class__ abs isnan isfinite""".split()  # noqa: SIM905
)
_HARMLESS_ENV: Final = late(
    r"TORCH_(CUDA_ARCH_LIST|EXTENSIONS_DIR|LOGS|SHOW_CPP.*|COMPILE.*|NVCC.*)|MAX_JOBS|CUDA_HOME"
    r"|CUDA_PATH|TRITON_.*|PATH|LD_LIBRARY_PATH|CC|CXX|CUDAHOSTCXX|NVCC.*|CUTE_.*|CUTLASS_.*|TMPDIR"
    r"|XDG_.*|HOME|USER|TERM|OMP_.*|TILELANG.*|NCCL_.*|NVSHMEM_.*|(LOCAL_)?RANK|WORLD_SIZE"
    r"|MASTER_.*|COLUMNS|LANG|CCACHE.*|NINJA.*|PYTHONWARNINGS|TORCHINDUCTOR.*|CONDA.*|VIRTUAL_ENV"
)
_WEIGHTY_ENV: Final = late(
    r"NVIDIA_TF32_OVERRIDE|LD_PRELOAD|LD_AUDIT|PYTHON(PATH|STARTUP|HASHSEED|INSPECT)"
    r"|.*(TF32|SEED|BENCH|GRADE|CHECK|POPCORN|TIMING|EVENT).*|CUDA_INJECTION.*"
)
_HOLDERS: Final = frozenset(
    ("torch", "triton", "numpy", "reference", "check", "benchmark", "shapes", "problem")
)
"""Modules whose tables and lists say how a solution is judged; those of loggers do not."""
_SETTERS: Final = ("builtins.setattr", "builtins.delattr", "builtins.object.__setattr__",
                   "builtins.type.__setattr__")  # fmt: skip
_REGISTERS: Final = ("torch.library.Library", "torch.library.impl", "torch.library.register_kernel")
_WRITES: Final = ("os.environ.update", "os.environ.setdefault", "os.putenv", "os.environ.pop",
                  "os.unsetenv", "os.environ.clear", "os.environ.popitem",
                  "os.environ.__setitem__", "os.environ.__delitem__")  # fmt: skip


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of assignments to what belongs to others."""
    yield from _shadowing(reading)
    for target, value in _assigned(reading):
        yield from _changed(reading, target, value)
    for call, origin in reading.calls:
        yield from _by_call(reading, call, origin)
    for gone in reading.module.all(ast.Delete):
        for part in gone.targets:
            for target, value in _spread(part, None):
                yield from _changed(reading, target, value)


_MODULES: Final = sys.stdlib_module_names | {
    "torch", "triton", "numpy", "reference", "check", "benchmark", "conftest", "sitecustomize",
    "usercustomize", "sota", "shapes", "yaml", "pytest", "hypothesis",
}  # fmt: skip


def _shadowing(reading: Reading) -> Iterator[Alarm]:
    """A sidecar that is imported in the place of a module of others."""
    stem = reading.file.rpartition("/")[2].removesuffix(".py")
    if reading.file != SOLUTION and stem in _MODULES:
        says = f"The sidecar is found where others import `{shown(stem)}`."
        yield reading.raised("tampering", ALARM, says)


def _assigned(reading: Reading) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    module = reading.module
    for plain in module.all(ast.Assign):
        for target in plain.targets:
            yield from _spread(target, plain.value)
    for more in module.all(ast.AugAssign):
        yield more.target, more.value
    for typed in module.all(ast.AnnAssign):
        if typed.value is not None:
            yield typed.target, typed.value
    for loop in module.all(ast.For):
        yield from _spread(loop.target, None)
    for item in module.all(ast.withitem):
        if item.optional_vars is not None:
            yield from _spread(item.optional_vars, None)


def _spread(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Each single target, with its own value where that is written out."""
    match target:
        case ast.Starred():
            yield from _spread(target.value, None)
        case ast.Tuple() | ast.List():
            given: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(given):
                given = [*value.elts]
            for part, one in zip(target.elts, given, strict=True):
                yield from _spread(part, one)
        case _:
            yield target, value


def _changed(reading: Reading, target: ast.expr, value: ast.expr | None) -> Iterator[Alarm]:
    match target:
        case ast.Subscript():
            yield from _entry(reading, target, target.value, target.slice)
        case _ if isinstance(value, ast.Dict) and _is_environment(reading.names.origin(target)):
            yield from _of_keys(reading, target, value)
        case ast.Attribute():
            yield from _attribute(reading, target, reading.names.origin(target.value), value)
        case _:
            return


def _entry(
    reading: Reading, node: ast.expr, held: ast.expr, key: ast.expr | None
) -> Iterator[Alarm]:
    """An entry of a dictionary is set or taken out; `key` is None where it is not told which."""
    where = reading.names.origin(held)
    if _is_environment(where):
        yield _environment(reading, node, reading.names.text(key) if key is not None else None)
    elif where == "sys.modules":
        yield _patched(reading, node, "an entry of `sys.modules`", ALARM)
    elif _is_foreign(reading, space := _space(reading, held)):
        yield _patched(reading, node, f"a name in `{shown(space)}`", ALARM)
    elif _is_table(reading, where):
        yield _patched(reading, node, f"what `{shown(where)}` holds", ALARM)


def _is_table(reading: Reading, where: str) -> bool:
    """Whether something is a table or a list of those who judge, or of what they judge with."""
    told = where.partition(".")[0] in _HOLDERS and _is_foreign(reading, where)
    return told and not where.startswith((*_TUNING, "torch.backends."))


def _is_environment(where: str) -> bool:
    return where in ("os.environ", "os.environb") or where.endswith("os.environ.data")


def _space(reading: Reading, held: ast.expr) -> str:
    """Whose names a dictionary holds, as `vars(torch)` and `torch.__dict__` do; else empty."""
    if isinstance(held, ast.Name):
        bound = reading.names.bindings(held.id, reading.module.scope(held))
        held = bound[0] if len(bound) == 1 and isinstance(bound[0], ast.Call) else held
    if isinstance(held, ast.Call):
        whole = reading.names.origin(held.func) == "builtins.vars" and held.args
        return reading.names.origin(held.args[0]) if whole else ""
    where = reading.names.origin(held)
    if where == "builtins.__builtins__":
        return "builtins"
    owner, _, last = where.rpartition(".")
    return owner if last in ("__dict__", "__globals__") else ""


def _attribute(
    reading: Reading, target: ast.Attribute, base: str, value: ast.expr | None
) -> Iterator[Alarm]:
    yield from _set(reading, target, base, target.attr, value)
    if target.attr == "__code__":
        yield _patched(reading, target, "the code of a function", ALARM)
    elif target.attr == "__class__":
        yield _patched(reading, target, "the class of an object", ALARM)
    elif target.attr in _TENSOR_METHODS and _is_code(reading, value) and not _own(reading, target):
        says = f"The method `{target.attr}` of one object is replaced, {_when(reading, target)}."
        yield reading.raised("tensor-subclass", ALARM, says, target)


def _set(
    reading: Reading, node: ast.expr, base: str, name: str, value: ast.expr | None
) -> Iterator[Alarm]:
    """An attribute of something of others is set."""
    whole = f"{base}.{name}"
    if whole.startswith("torch.backends.") or base == "torch.backends":
        yield _flag(reading, node, whole, value)
    elif whole in ("sys.stdout", "sys.stderr", "sys.excepthook", "sys.argv", "sys.exit"):
        yield _patched(reading, node, f"`{whole}`", ALARM)
    elif _is_foreign(reading, base) and not whole.startswith(_TUNING):
        data = _is_plain(value) and not name.startswith("__")
        level = WARNING if data else ALARM
        yield _patched(reading, node, f"`{shown(whole)}`", level)


def _flag(reading: Reading, node: ast.expr, whole: str, value: ast.expr | None) -> Alarm:
    numeric = any(word in whole for word in _NUMERIC) or whole.endswith("?")
    exact = isinstance(value, ast.Constant) and value.value in (False, "ieee", "highest")
    level = NOTE if not numeric else WARNING if exact else ALARM
    if reading.phase(node) is Phase.TEST:
        level = NOTE
    says = f"`{shown(whole)}` is set for the whole process, {_when(reading, node)}."
    return reading.raised("backend-flags", level, says, node)


def _patched(reading: Reading, node: ast.expr, what: str, level: Level) -> Alarm:
    if reading.phase(node) is Phase.TEST:
        level = NOTE
    says = f"{what[0].upper()}{what[1:]} is replaced, {_when(reading, node)}."
    return reading.raised("monkey-patch", level, says, node)


def _when(reading: Reading, node: ast.AST) -> str:
    return reading.phase(node).value


def _is_foreign(reading: Reading, base: str) -> bool:
    """Whether something is of a module of others: no object that was made, nothing of its own."""
    root = base.partition(".")[0]
    if root in ("builtins", "os", "sys") and "." not in base:
        return root == "builtins" or base == "os"
    unknown = not root or root[0] in "?" or root.startswith("local:")
    if unknown or "()" in base or "[]" in base or root in ("builtins", "os", "sys"):
        return False
    return root.lstrip(".") not in reading.siblings and not reading.is_native(base)


def _is_plain(value: ast.expr | None) -> bool:
    """Whether something is data: a number, a text, a list of them."""
    return isinstance(value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.BinOp | ast.Set)


def _is_code(reading: Reading, value: ast.expr | None) -> bool:
    if value is None or isinstance(value, ast.Lambda):
        return value is not None
    if isinstance(value, ast.Call):
        return reading.names.origin(value.func) in ("types.MethodType", "functools.partial")
    return reading.names.definition(reading.names.origin(value)) is not None


def _own(reading: Reading, target: ast.Attribute) -> bool:
    """Whether it is an attribute of the object whose method does it."""
    if not isinstance(target.value, ast.Name):
        return False
    return class_of(target.value.id, reading.module.scope(target)) is not None


_REPLACES: Final = {
    "sys.modules.update": "an entry of `sys.modules`",
    "sys.modules.pop": "an entry of `sys.modules`",
    "sys.modules.setdefault": "an entry of `sys.modules`",
    "sys.meta_path.insert": "how modules are imported",
    "sys.meta_path.append": "how modules are imported",
    "sys.path_hooks.append": "how modules are imported",
}


def _by_call(reading: Reading, call: ast.Call, origin: str) -> Iterator[Alarm]:
    if origin in _SETTERS and len(call.args) >= 2:
        yield from _set_by_name(reading, call, call.args[0], call.args[1:])
    elif origin.endswith(".__setattr__") and call.args and isinstance(call.func, ast.Attribute):
        yield from _set_by_name(reading, call, call.func.value, call.args)
    elif origin in _WRITES:
        yield from _written(reading, call)
    elif origin in _REPLACES:
        yield _patched(reading, call, _REPLACES[origin], ALARM)
    elif origin in _REGISTERS and _names_framework(reading, call):
        yield _patched(reading, call, "an operation of the framework", ALARM)
    else:
        yield from _filled(reading, call, origin)


_FILLS: Final = frozenset(
    ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__", "__ior__")
)
_FILLED_BY: Final = ("operator.setitem", "operator.delitem", "operator.ior", "builtins.dict.")


def _filled(reading: Reading, call: ast.Call, origin: str) -> Iterator[Alarm]:
    """A dictionary is changed by a call."""
    match call:
        case ast.Call(args=[held, *rest]) if origin.startswith(_FILLED_BY):
            yield from _entry(reading, call, held, rest[0] if len(rest) == 2 else None)
        case ast.Call(func=ast.Attribute(value=held, attr=name)) if name in _FILLS:
            yield from _entry(reading, call, held, None)
        case _:
            return


def _set_by_name(
    reading: Reading, call: ast.Call, owner: ast.expr, given: list[ast.expr]
) -> Iterator[Alarm]:
    name = reading.names.text(given[0]) or "?"
    value = given[1] if len(given) > 1 else None
    base = reading.names.origin(owner)
    yield from _set(reading, call, base, name, value)
    own = isinstance(owner, ast.Name) and class_of(owner.id, reading.module.scope(call))
    known = base.startswith("torch.") and "()" not in base
    if not own and not known and _is_code(reading, value):
        says = f"A method of one object is replaced, {_when(reading, call)}."
        yield reading.raised("tensor-subclass", ALARM, says, call)


def _names_framework(reading: Reading, call: ast.Call) -> bool:
    name = reading.names.text(call.args[0]) if call.args else None
    return name is not None and name.startswith(("aten", "prims"))


def _written(reading: Reading, call: ast.Call) -> Iterator[Alarm]:
    for keyword in call.keywords:
        if keyword.arg:
            yield _environment(reading, call, keyword.arg)
    for given in call.args[:1]:
        if isinstance(given, ast.Dict):
            yield from _of_keys(reading, call, given)
        else:
            yield _environment(reading, call, reading.names.text(given))
    if not call.args and not call.keywords:
        yield _environment(reading, call, None)


def _of_keys(reading: Reading, node: ast.expr, given: ast.Dict) -> Iterator[Alarm]:
    for key in given.keys:
        yield _environment(reading, node, reading.names.text(key) if key is not None else None)


def _environment(reading: Reading, node: ast.expr, name: str | None) -> Alarm:
    what = f"`{shown(name)}`" if name else "A variable"
    level = WARNING
    if (name and _HARMLESS_ENV.fullmatch(name)) or reading.phase(node) is Phase.TEST:
        level = NOTE
    elif name and _WEIGHTY_ENV.fullmatch(name):
        level = ALARM
    says = f"{what} is set in the process's environment, {_when(reading, node)}."
    return reading.raised("environment-change", level, says, node)
