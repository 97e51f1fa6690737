"""What hardware can do at most by its datasheet, and how long a piece of work takes it at least.

Rates are dense: operations that a sparse matrix saves are not counted. A multiply-add is two
operations. TFLOP/s are 10**12 operations a second (of INT8 too), GB/s 10**9 bytes a second; sizes
of memory and cache are written as vendors write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum

TOLERANCE = 0.01
"""By how much of itself a figure may miss what others make of it: datasheets round."""


class Format(Enum):
    """Formats of the numbers that are multiplied."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT8 = "int8"


class Accumulate(Enum):
    """Formats that products are summed up in."""

    FP16 = "fp16"
    FP32 = "fp32"
    INT32 = "int32"


class Unit(Enum):
    """What vendors call the part that a GPU has many of."""

    SM = "SM"
    CU = "CU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What states figures: a public page, or the hardware itself."""

    title: str
    url: str | None
    """Null where the hardware itself was asked; `note` says how."""
    looked_up: date
    note: str = ""
    """How its figures became those of the table, where they are not the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number that a source states."""

    value: float
    source: str
    """Key of the hardware's sources."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The highest rate of one format that the datasheet states."""

    format: Format
    accumulate: Accumulate | None = None
    """Null where the rate is the same whatever is summed up in."""
    tflops: float | None
    """Dense; null where nobody says."""
    per_clock: int | None
    """Operations of one unit in a clock that the rate stands for; null where nobody says."""
    observed_per_clock: Figure | None = None
    """Where measurements show more than that: what a unit then does in a clock, at the least."""
    mhz: Figure | None = None
    """The clock that the rate is stated at, where it is not `boost_mhz`."""
    source: str
    note: str = ""
    """What is odd about it: unsettled, or an exception to the ratios between formats."""

    @property
    def most_per_clock(self) -> float | None:
        """Operations of one unit in a clock at the very most; None where nobody says."""
        if self.observed_per_clock is None or self.per_clock is None:
            return self.observed_per_clock.value if self.observed_per_clock else self.per_clock
        return max(self.per_clock, self.observed_per_clock.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A file of bench/hardware: one product of one memory size and one power limit."""

    name: str
    vendor: str
    architecture: str
    aliases: tuple[str, ...]
    """Names that drivers call it by."""
    memory: str = ""
    """Kind of its DRAM, such as HBM3."""
    unit: Unit
    units: Figure | None
    boost_mhz: Figure | None
    """The clock that peaks are stated at, MHz."""
    maximum_mhz: Figure | None
    """The highest clock that it runs at without being overclocked, MHz."""
    l2_mb: Figure | None
    """Cache that all of a die share, MB."""
    last_cache_mb: Figure | None = None
    """Cache between that and the DRAM, MB."""
    dram_gb: Figure | None
    dram_gb_per_second: Figure | None
    maximum_dram_gb_per_second: Figure | None = None
    """What the DRAM does at its highest clock, GB/s, where that is not the datasheet's figure."""
    power_watts: Figure | None
    """The power limit that the figures are for, W."""
    peaks: tuple[Peak, ...]
    lacks: tuple[Format, ...] = ()
    """Formats that it has no units for."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def figures(self) -> Iterator[tuple[str, Figure | None]]:
        """Its figures but the peaks, by key."""
        for key in FIGURES:
            yield key, getattr(self, key)

    def peak(self, number: Format, accumulate: Accumulate | None = None) -> Peak | None:
        """The peak of a format; None if there is none.

        Without `accumulate` it is the one that sums up in 32 bits, which references are held to.
        """
        held = [peak for peak in self.peaks if peak.format is number]
        if accumulate is None:
            return next((peak for peak in held if peak.accumulate is not Accumulate.FP16), None)
        same = [peak for peak in held if peak.accumulate is accumulate]
        return next(iter([*same, *(peak for peak in held if peak.accumulate is None)]), None)


FIGURES = (
    "units", "boost_mhz", "maximum_mhz", "l2_mb", "last_cache_mb", "dram_gb",
    "dram_gb_per_second", "maximum_dram_gb_per_second", "power_watts",
)  # fmt: skip
"""Keys of Hardware that hold a figure."""


@dataclass(frozen=True, slots=True)
class Work:
    """What no implementation of a problem can do without."""

    flops: Mapping[tuple[Format, Accumulate | None], float]
    """Operations by format; those of different formats run beside each other."""
    bytes: float
    """Read from and written to DRAM, with cold caches."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How long work takes at least, milliseconds."""

    compute_ms: float
    """By the format that takes longest."""
    memory_ms: float
    bound_by: Format | None
    """The format that binds; None if the DRAM does."""

    @property
    def ms(self) -> float:
        """The longer of the two."""
        return max(self.compute_ms, self.memory_ms)


def per_clock(tflops: float, units: float, mhz: float) -> float:
    """Operations of a unit in a clock: TFLOP/s * 10**6 / (units * MHz)."""
    return tflops * 1e6 / (units * mhz)


def implied_mhz(tflops: float, units: float, operations: float) -> float:
    """The clock at which units do a rate, MHz: TFLOP/s * 10**6 / (units * operations a clock)."""
    return tflops * 1e6 / (units * operations)


def rate(units: float, mhz: float, operations: float) -> float:
    """TFLOP/s of units: units * MHz * operations of a unit in a clock / 10**6."""
    return units * mhz * operations / 1e6


def ceiling(hardware: Hardware, work: Work) -> Ceiling:
    """The time by the datasheet: max(max over formats F / P, Q / B), in milliseconds.

    F are operations and P TFLOP/s * 10**9 a millisecond; Q are bytes and B GB/s * 10**6 a
    millisecond. ValueError names a figure that is needed and not known.
    """
    rates = {key: _known(hardware, key) for key, flops in work.flops.items() if flops}
    bandwidth = hardware.dram_gb_per_second
    if work.bytes and bandwidth is None:
        raise ValueError(f"{hardware.name}: dram_gb_per_second is not known")
    return _ceiling(work, rates, bandwidth.value if bandwidth else None)


def physics_floor(hardware: Hardware, work: Work) -> Ceiling:
    """The time that no honest kernel beats, in milliseconds: as `ceiling`, at the highest clocks.

    P is units * maximum_mhz * most operations in a clock / 10**6. What is not known counts as no
    limit, so that nobody is called impossible for a gap in the table.
    """
    rates = {}
    for key, flops in work.flops.items():
        peak = hardware.peak(*key)
        most = peak.most_per_clock if peak else None
        if flops and most and hardware.units and hardware.maximum_mhz:
            rates[key] = rate(hardware.units.value, hardware.maximum_mhz.value, most)
    bandwidth = hardware.maximum_dram_gb_per_second or hardware.dram_gb_per_second
    return _ceiling(work, rates, bandwidth.value if bandwidth else None)


def _known(hardware: Hardware, key: tuple[Format, Accumulate | None]) -> float:
    peak = hardware.peak(*key)
    if peak is None or peak.tflops is None:
        number, accumulate = key
        mode = f" summed up in {accumulate.value}" if accumulate else ""
        raise ValueError(f"{hardware.name}: the peak of {number.value}{mode} is not known")
    return peak.tflops


def _ceiling(
    work: Work,
    rates: Mapping[tuple[Format, Accumulate | None], float],
    bandwidth: float | None,
) -> Ceiling:
    times = {key: work.flops[key] / (tflops * 1e9) for key, tflops in rates.items()}
    longest = max(times, key=lambda key: times[key], default=None)
    compute = times[longest] if longest else 0.0
    memory = work.bytes / (bandwidth * 1e6) if bandwidth else 0.0
    return Ceiling(compute, memory, longest[0] if longest and compute >= memory else None)
