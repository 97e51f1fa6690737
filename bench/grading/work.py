"""Whether the hardware's counters show the work that a problem takes.

The counters are those of the whole device, read by the grader while a solution's process makes
call after call; what else it does meanwhile can only add to them.
"""

from __future__ import annotations

from bench.devices.device import Counted
from kbsite.model.grade import Proof
from kbsite.model.hardware import Accumulate, Format, Hardware, Work, rate

DRAM_BYTES = "DRAM bytes"
TENSOR_PIPE = "tensor pipe activity"

READ_AT_LEAST = 0.9
"""Share of the compulsory traffic that has to be seen."""

HIT_AT_MOST = 0.5
"""Share of it that caches may have kept; with more, nothing can be told."""

ACTIVE_AT_LEAST = 0.5
"""Share of the activity that the fastest way to do the operations would show. A factor of two is
left to kernels that need fewer of them, such as fast algorithms for products."""

ON_TENSOR_CORES = frozenset(
    {Format.TF32, Format.FP16, Format.BF16, Format.FP8, Format.FP4, Format.INT8}
)


def dram_proof(work: Work, counted: Counted, kept_bytes: float) -> Proof:
    """Whether each call moved what it has to, less what caches may have kept from call to call."""
    least = READ_AT_LEAST * work.bytes - kept_bytes
    if least < HIT_AT_MOST * work.bytes:
        return Proof(
            name=DRAM_BYTES, available=False,
            detail="the inputs of all calls together are too small: caches may keep them",
        )  # fmt: skip
    return Proof(
        name=DRAM_BYTES,
        available=True,
        passed=counted.dram_bytes >= least,
        detail=f"{_mb(counted.dram_bytes)} moved in a call; it takes {_mb(work.bytes)}, and at "
        f"least {_mb(least)} cannot come from a cache",
    )


def tensor_proof(work: Work, counted: Counted, hardware: Hardware) -> Proof | None:
    """Whether tensor cores were active for as long as the operations take; None without any.

    What is slow enough to be done elsewhere proves nothing either way, and passes.
    """
    needed = _needed(work, counted.seconds, hardware)
    if needed is None:
        return None
    least = ACTIVE_AT_LEAST * needed
    elsewhere = _elsewhere(work, counted.seconds, hardware)
    seen = f"active in {counted.tensor:.1%} of the cycles"
    said = "slow enough for other units" if elsewhere else f"it takes {least:.1%} at least"
    return Proof(
        name=TENSOR_PIPE, available=True, passed=elsewhere or counted.tensor >= least,
        detail=f"{seen}; {said}",
    )  # fmt: skip


def _needed(work: Work, seconds: float, hardware: Hardware) -> float | None:
    """Share of the time that tensor cores take at their fastest; None where they have no work."""
    shares = [
        flops / (seconds * most * 1e12)
        for key, flops in work.flops.items()
        if key[0] in ON_TENSOR_CORES and flops and (most := _fastest(key, hardware))
    ]
    return sum(shares) if shares else None


def _elsewhere(work: Work, seconds: float, hardware: Hardware) -> bool:
    most = _fastest((Format.FP32, None), hardware)
    flops = sum(flops for key, flops in work.flops.items() if key[0] in ON_TENSOR_CORES)
    return bool(most) and flops / seconds <= most * 1e12


def _fastest(key: tuple[Format, Accumulate | None], hardware: Hardware) -> float:
    """TFLOP/s at the highest clock; 0 where nobody knows."""
    peak = hardware.peak(*key)
    most = peak.most_per_clock if peak else None
    if not most or not hardware.units or not hardware.maximum_mhz:
        return 0.0
    return rate(hardware.units.value, hardware.maximum_mhz.value, most)


def _mb(size: float) -> str:
    return f"{size / 1e6:.1f} MB"
