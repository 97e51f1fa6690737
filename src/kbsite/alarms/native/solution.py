"""All native code of a run together, with the problem that it is for."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from msgspec import Struct

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.native.sources import native_sources
from kbsite.alarms.native.task import Task, task
from kbsite.alarms.native.tokens import Kind
from kbsite.alarms.native.unit import Function, Unit, unit
from kbsite.alarms.python.ops import FAMILY
from kbsite.alarms.python.reading import readings

_INDEX: Final = frozenset(
    ("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "hipThreadIdx_x", "hipBlockIdx_x",
     "hipBlockDim_x", "hipGridDim_x")
)  # fmt: skip
_TYPE_WORDS: Final = """void int long short char float double half bool unsigned signed size_t auto
    int64_t int32_t uint32_t uint64_t const constexpr static static_cast reinterpret_cast const_cast
    __half __nv_bfloat16 __ldg __ldcs __stcs scalar_t T float4 float2 int4 uint4 if for while return
    else __restrict__ register volatile do"""
_TYPES: Final = frozenset(_TYPE_WORDS.split())
_RECKONS: Final = frozenset("+-*/%&|^?")
_NOTHING: Final = re.compile(r"[01](?:\.0*)?[fFuUlLhH]*$")


class Solution(Struct, frozen=True, dict=True):
    """What the rules judge a source by."""

    evidence: Evidence

    @cached_property
    def task(self) -> Task:
        """Its problem."""
        return task(self.evidence)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Its sources, read."""
        return tuple(unit(source) for source in native_sources(self.evidence))

    @cached_property
    def kernels(self) -> tuple[tuple[Unit, Function], ...]:
        """The kernels of all sources."""
        return tuple((one, kernel) for one in self.units for kernel in one.kernels)

    @cached_property
    def has_python_kernel(self) -> bool:
        """Whether the Python sources define kernels of their own, in Triton or the like."""
        return any(reading.has_kernel for reading in readings(self.evidence)) and any(
            reading.kernels for reading in readings(self.evidence)
        )

    @cached_property
    def has_real_kernel(self) -> bool:
        """Whether any kernel does more than copy, or add nothing."""
        real = any(not is_trivial(one, kernel) for one, kernel in self.kernels)
        assembly = any(one.source.ptx for one in self.units)
        return real or assembly or self.has_python_kernel

    @cached_property
    def python_ops(self) -> tuple[str, ...]:
        """Heavy operations of the framework that the Python sources call when they run."""
        found = []
        for reading in readings(self.evidence):
            for _, origin in reading.hot_calls:
                name = origin.rpartition(".")[2]
                if origin.startswith("torch.") and FAMILY.get(name):
                    found.append(origin)
        return tuple(dict.fromkeys(found))


def is_trivial(held: Unit, kernel: Function) -> bool:
    """Whether a kernel does nothing, or only copies, adds nothing or multiplies by one."""
    begin, end = kernel.body
    statement: list[int] = []
    skipped = -1
    for at in range(begin + 1, end):
        text = held.tokens[at][1]
        if at <= skipped:
            continue
        if text in ("if", "for", "while") and held.after(at) == "(":
            skipped = held.partner.get(at + 1, at)
            continue
        if text == "[":
            skipped = held.partner.get(at, at)
            continue
        if text in (";", "{", "}"):
            if not _does_nothing(held, statement):
                return False
            statement = []
        else:
            statement.append(at)
    return _does_nothing(held, statement)


def _does_nothing(held: Unit, statement: list[int]) -> bool:
    words = [held.tokens[at][1] for at in statement]
    sign = next((at for at, word in enumerate(words) if word.endswith("=")), None)
    if sign is None or not _INDEX.isdisjoint(words):
        return not any(word.startswith(("asm", "atomic", "__sync")) for word in words)
    by_kind: dict[int, list[str]] = {kind: [] for kind in Kind}
    for at in statement[sign + 1 :]:
        by_kind[held.tokens[at][0]].append(held.tokens[at][1])
    plain = all(map(_NOTHING.match, by_kind[Kind.NUMBER])) and not by_kind[Kind.STRING]
    names = list(filter(_is_data, by_kind[Kind.NAME]))
    return plain and _is_copy(words[sign], names, by_kind[Kind.SIGN])


def _is_data(word: str) -> bool:
    return word not in _TYPES


def _is_copy(sign: str, names: list[str], signs: list[str]) -> bool:
    """Whether an assignment of these names and signs, beside ones and zeros, changes nothing."""
    if sign in ("+=", "-=", "*="):
        return not names
    reckons = sum(one in _RECKONS for one in signs)
    if sign != "=" or len(set(names)) > 1 or reckons > 2:
        return False
    return len(names) < 2 or not reckons  # x * x is work
