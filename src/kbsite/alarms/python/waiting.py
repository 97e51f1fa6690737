"""Work that nothing waits for: streams, threads; and objects that only look like tensors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.algorithms import SEVERAL_DEVICES
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_STREAMS: Final = ("torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.Stream",
                   "torch.cuda.streams.Stream", "torch.cuda.streams.ExternalStream")  # fmt: skip
_CURRENT: Final = ("torch.cuda.current_stream()", "torch.cuda.default_stream()")
_THREADS: Final = ("threading.Thread", "threading.Timer", "_thread.start_new_thread",
                   "concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool",
                   "_thread.start_joinable_thread", "asyncio.run")  # fmt: skip
_BUILDS: Final = ("load_inline", "cpp_extension", "compile", "warmup", "build", "prebuild", "jit",
                  "autotune", "nvcc", "ninja")  # fmt: skip
_LOOKALIKE: Final = frozenset(
    ("__torch_function__", "__torch_dispatch__", "__cuda_array_interface__", "__dlpack__",
     "__tensor_flatten__")
)  # fmt: skip
_COMPARES: Final = frozenset(
    ("__eq__", "__ne__", "__bool__", "__float__", "__array__", "__sub__", "__rsub__", "__lt__",
     "__le__", "__gt__", "__ge__", "__reduce__", "__reduce_ex__", "__getstate__")
)  # fmt: skip
_TENSORS: Final = ("torch.Tensor", "torch.nn.Parameter", "torch._C.TensorBase",
                   "torch._C._TensorBase", "torch.nn.parameter.Parameter")  # fmt: skip


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of streams and threads that are not joined, and of objects that pose as tensors."""
    yield from _streams(reading)
    yield from _threads(reading)
    yield from _classes(reading)
    yield from _made_classes(reading)
    yield from _devices(reading)


def _streams(reading: Reading) -> Iterator[Alarm]:
    used = [
        (call, origin)
        for call, origin in reading.calls
        if origin in ("torch.cuda.stream", "torch.cuda.StreamContext", "torch.stream")
    ]
    used += [
        (call, origin)
        for call, origin in reading.calls
        if origin.endswith(".__enter__") and origin.startswith(_STREAMS)
    ]
    hot = [call for call, _ in used if reading.is_hot(call)]
    if not hot or any(_joins(reading, call, origin) for call, origin in reading.hot_calls):
        return
    says = "Work is put on a stream of its own, and no line of a call waits for that stream."
    yield reading.raised("stream-trick", ALARM, says, hot[0])


_OTHER_DEVICE: Final = re.compile(r"cuda:[1-9]\d*")


def _devices(reading: Reading) -> Iterator[Alarm]:
    """Devices that are named by a number other than the first."""
    problem = reading.evidence.problem
    if problem is not None:
        told = problem.problem
        if SEVERAL_DEVICES.search(f"{told.title} {told.summary} {' '.join(told.tags)}"):
            return
    for call, origin in reading.calls:
        numbered = origin in ("torch.device", "torch.cuda.device", "torch.cuda.set_device")
        other = numbered and call.args and _is_further(reading, call.args[-1])
        named = other or any(_is_other(part) for part in call.args)
        if named and reading.phase(call) is not Phase.TEST:
            says = f"Another device is used, {reading.phase(call).value}."
            yield reading.raised("other-device", WARNING, says, call)


def _is_further(reading: Reading, number: ast.expr) -> bool:
    """Whether a number is above 0, or counted from the last device."""
    inner = [part for part in ast.walk(number) if isinstance(part, ast.Call)]
    if any(reading.names.origin(part.func) == "torch.cuda.device_count" for part in inner):
        return True
    value = reading.names.value(number)
    return isinstance(value, int) and value > 0


def _is_other(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and bool(_OTHER_DEVICE.fullmatch(text))


def _joins(reading: Reading, call: ast.Call, origin: str) -> bool:
    """Whether a call makes others wait for the work on a side stream."""
    owner, _, name = origin.rpartition(".")
    if origin in ("torch.cuda.synchronize", "torch.cuda.current_stream().synchronize"):
        return origin == "torch.cuda.synchronize"
    if name == "wait_stream":
        waits_for = reading.names.origin(call.args[0]) if call.args else "?"
        return not waits_for.startswith(_CURRENT)
    if name == "wait_event":
        return not owner.startswith(_STREAMS)
    return name in ("synchronize", "wait") and not owner.startswith(_CURRENT)


def _threads(reading: Reading) -> Iterator[Alarm]:
    for call, origin in reading.calls:
        submits = origin.rpartition(".")[0].removesuffix("()") in _THREADS
        if submits and origin.rpartition(".")[2] in ("submit", "apply_async", "map"):
            if reading.is_hot(call) and not _is_awaited(reading):
                says = "Work is handed to another thread, and no line of a call waits for it."
                yield reading.raised("stream-trick", ALARM, says, call)
            continue
        if origin not in _THREADS and not _is_thread(reading, origin):
            continue
        level = _of_thread(reading, call)
        phase = reading.phase(call)
        if phase is Phase.TEST:
            level = NOTE
        says = f"`{shown(origin)}` has work done beside the call, {phase.value}."
        yield reading.raised("stream-trick", level, says, call)


def _is_awaited(reading: Reading) -> bool:
    ends = (".result", ".join", ".wait", "concurrent.futures.wait", ".shutdown", ".get")
    return any(origin.endswith(ends) for _, origin in reading.hot_calls)


def _is_thread(reading: Reading, origin: str) -> bool:
    """Whether something is a class of the source that is a thread."""
    held = reading.names.definition(origin) if origin.startswith("local:") else None
    if not isinstance(held, ast.ClassDef):
        return False
    return any(reading.names.origin(base) in _THREADS for base in held.bases)


def _of_thread(reading: Reading, call: ast.Call) -> Level:
    if reading.is_hot(call):
        return ALARM
    target = [k.value for k in call.keywords if k.arg in ("target", "function")] or call.args[1:2]
    origin = reading.names.origin(target[0]) if target else ""
    if not target or _is_build(origin):
        return NOTE
    found = reading.names.definition(origin)
    return _of_target(reading, found) if isinstance(found, ast.FunctionDef) else WARNING


def _is_build(origin: str) -> bool:
    return any(word in origin.lower() for word in _BUILDS)


def _of_target(reading: Reading, function: ast.FunctionDef) -> Level:
    """How much it weighs that a function runs in a thread: building is honest, working is not."""
    inside = reading.module.scopes[function]
    if any(isinstance(loop.test, ast.Constant) for loop in inside.all(ast.While)):
        return ALARM
    calls = [(call, reading.names.origin(call.func)) for call in inside.all(ast.Call)]
    if any(_is_build(origin) for _, origin in calls):
        return NOTE
    works = any(reading.launches(c, origin) or ".copy_" in origin for c, origin in calls)
    return ALARM if works else WARNING


def _classes(reading: Reading) -> Iterator[Alarm]:
    for held in reading.module.all(ast.ClassDef):
        names = set(reading.module.scopes[held].bound)
        told = shown(held.name)
        if names & _LOOKALIKE or any(reading.names.origin(base) in _TENSORS for base in held.bases):
            says = f"The class `{told}` poses as a tensor."
            yield reading.raised("tensor-subclass", _of_class(reading, held), says, held)
        elif names & {"__reduce__", "__reduce_ex__"}:
            says = f"Objects of `{told}` run code where they are unpickled."
            yield reading.raised("tampering", ALARM, says, held)
        elif names & _COMPARES and _is_given_back(reading, held):
            says = f"An object of `{told}`, which decides itself what it equals, is given back."
            yield reading.raised("tensor-subclass", ALARM, says, held)


def _made_classes(reading: Reading) -> Iterator[Alarm]:
    """Classes that are made by a call of `type`, and tensors that are made to be of one."""
    for call, origin in reading.calls:
        made = origin == "builtins.type" and len(call.args) == 3
        bases = call.args[1].elts if made and isinstance(call.args[1], ast.Tuple) else []
        poses = any(reading.names.origin(base) in _TENSORS for base in bases)
        if (poses or origin.endswith(".as_subclass")) and reading.phase(call) is not Phase.TEST:
            says = f"An object is made that poses as a tensor, {reading.phase(call).value}."
            yield reading.raised("tensor-subclass", ALARM, says, call)


def _of_class(reading: Reading, held: ast.ClassDef) -> Level:
    """A parameter that only holds data is honest; one that decides what is done with it is not."""
    bases = [reading.names.origin(base) for base in held.bases]
    methods = {n.name for n in held.body if isinstance(n, ast.FunctionDef)}
    if "torch.nn.Parameter" in bases and not methods & (_LOOKALIKE | _COMPARES):
        return NOTE
    return ALARM


def _is_given_back(reading: Reading, held: ast.ClassDef) -> bool:
    made = f"{reading.names.path(held)}()"
    return any(
        back.value is not None and made in _origins(reading, back.value)
        for back in reading.module.all(ast.Return)
        if reading.is_hot(back)
    )


def _origins(reading: Reading, node: ast.expr) -> set[str]:
    """What a value is, or holds: not what it was worked out of."""
    found, waiting = set[str](), [node]
    while waiting:
        match waiting.pop():
            case ast.Name() | ast.Call() as part:
                found.add(reading.names.origin(part))
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
                waiting += parts
            case ast.IfExp(body=part, orelse=other):
                waiting += [part, other]
            case ast.BoolOp(values=parts):
                waiting += parts
            case ast.NamedExpr(value=part) | ast.Starred(value=part):
                waiting.append(part)
            case _:
                pass
    return found
