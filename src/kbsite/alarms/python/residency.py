"""Data that a solution holds in the cache: hints of loads, windows and limits of the runtime."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.kernels import starts
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.alarms.python.scopes import Function
from kbsite.model.alarm import Alarm, Level
from kbsite.model.problem import Regime

NOTE, WARNING = Level.NOTE, Level.WARNING

_WINDOWS: Final = frozenset(
    ("cudaStreamSetAttribute", "cuStreamSetAttribute", "cudaGraphKernelNodeSetAttribute",
     "cuGraphKernelNodeSetAttribute", "cuFuncSetAttributeAccessPolicyWindow")
)  # fmt: skip
_LIMITS: Final = frozenset(("cudaDeviceSetLimit", "cuCtxSetLimit"))
_PERSISTING: Final = 6
"""The number of the limit for data that persists in L2."""


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of data that is held in the cache from call to call."""
    for call, origin in reading.calls:
        name = origin.rpartition(".")[2]
        limit = name in _LIMITS and call.args and reading.names.value(call.args[0]) == _PERSISTING
        if (name in _WINDOWS or limit) and reading.phase(call) is not Phase.TEST:
            says = f"`{shown(name)}` has data held in the cache, {reading.phase(call).value}."
            yield reading.raised("cache-policy", WARNING, says, call)
    for kernel in reading.kernels.values():
        yield from _hints(reading, kernel)


def _hints(reading: Reading, kernel: Function) -> Iterator[Alarm]:
    """Loads that ask to stay, of what the same kernel does not read again."""
    calls = reading.module.scopes[kernel].all(ast.Call)
    loads = [c for c in calls if reading.names.origin(c.func) == "triton.language.load" and c.args]
    roots = [starts(reading, kernel, call.args[0]) for call in loads]
    problem = reading.evidence.problem
    bound = problem is not None and problem.problem.regime is Regime.MEMORY
    for call, root in zip(loads, roots, strict=True):
        if not _stays(reading, call):
            continue
        once = bound and roots.count(root) == 1
        says = f"A load asks for its data to stay in the cache{', and reads it once' * once}."
        yield reading.raised("cache-policy", WARNING if once else NOTE, says, call)


def _stays(reading: Reading, call: ast.Call) -> bool:
    policy = [k.value for k in call.keywords if k.arg == "eviction_policy"]
    return bool(policy) and reading.names.text(policy[0]) == "evict_last"
