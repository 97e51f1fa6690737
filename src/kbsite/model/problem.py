"""A problem: what the agent is asked to write a kernel for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Regime(Enum):
    """What bounds a problem, and so what its score is held against."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LATENCY = "latency"
    """Its ceiling time is too short to be read: scored in milliseconds against a frozen floor."""


class Role(Enum):
    """What a solution does with a tensor."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    """State: it is read, and it is checked as an output."""


class Dtype(Enum):
    """Formats of the elements of a tensor."""

    FP64 = "fp64"
    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8_E4M3 = "fp8_e4m3"
    FP8_E5M2 = "fp8_e5m2"
    INT64 = "int64"
    INT32 = "int32"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def bytes(self) -> int:
        """Size of an element."""
        return _BYTES[self]


_BYTES = {
    Dtype.FP64: 8, Dtype.FP32: 4, Dtype.FP16: 2, Dtype.BF16: 2, Dtype.FP8_E4M3: 1,
    Dtype.FP8_E5M2: 1, Dtype.INT64: 8, Dtype.INT32: 4, Dtype.INT8: 1, Dtype.UINT8: 1,
    Dtype.BOOL: 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A named size that shapes are made of. A solution has to be right in its whole range."""

    means: str
    least: int
    most: int
    step: int = 1
    """Sizes are `least`, `least + step` and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How far an output y may be from the reference r.

    Every element has to hold |y - r| <= rms * RMS(r) + relative * |r|, and the output as a whole
    RMS(y - r) <= typical * RMS(r); where the reference is not finite, y has to be the same. With
    all three at 0 it has to be equal bit by bit.
    """

    rms: float = 0.0
    relative: float = 0.0
    typical: float | None = None
    """Null where no bound on the whole is set."""
    indices_into: str | None = None
    """The input along whose last dimension these are indices: ties may be broken either way, so
    what they point at is compared instead, and no index may come twice in a row."""
    honest: float | None = None
    """Calibration: the largest share of the bound that honest kernels used up."""
    cheapest: float | None = None
    """Calibration: how many bounds the cheapest shortcut is off."""
    cheat: str = ""
    """Which shortcut that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An argument of solve()."""

    role: Role
    dtype: Dtype
    shape: tuple[str | int, ...]
    """Expressions over the dimensions."""
    means: str = ""
    bound: Bound | None = None
    """Of what is checked; null for an input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where something about the problem can be read up."""

    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """problem.yaml: everything about a problem that is not code or prose."""

    title: str
    summary: str = ""
    """One sentence for a reader of the board."""
    level: str = ""
    tags: tuple[str, ...] = ()
    regime: Regime | None = None
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    shapes: tuple[Mapping[str, int | float | str | bool], ...] = ()
    """What it is graded on: `id`, and a size for each dimension."""
    cpu_shapes: tuple[Mapping[str, int | float | str | bool], ...] = ()
    """The same for a CPU."""
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    """The arguments of solve(), in order."""
    cases: tuple[str, ...] = ()
    """Distributions of the inputs, the ordinary one first; reference.py knows what they mean."""
    forbidden: tuple[str, ...] = ()
    """Operations that a solution must not use."""
    flops: Mapping[str, str] = field(default_factory=dict)
    """Work, by the format of hardware.Format whose peak it is held against: formulas over the
    dimensions. "fp16/fp16" names the format of the sums as well."""
    bytes: str | None = None
    """Compulsory traffic to and from DRAM with cold caches: a formula over the dimensions."""
    accounting: str = ""
    """What the two formulas count and what they leave out, for a reader."""
    sources: tuple[Reading, ...] = ()

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The tensors that a solution writes, in order: what is checked."""
        return {name: one for name, one in self.tensors.items() if one.role is not Role.IN}
