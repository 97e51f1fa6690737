"""Anchors: what this very machine reaches, measured with plain library calls.

Bandwidth as STREAM counts it (McCalpin): each array that an operation reads or writes once, and
no cache line that hardware fetches only to overwrite it. Products multiply random numbers, never
zeros: hardware at its power limit multiplies zeros faster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from bench.devices.cpu import last_level_cache
from bench.records import plain, read_json

if TYPE_CHECKING:
    import torch

SECONDS = 8.0
"""How long calls are repeated, all measurements together; to make their operands comes on top."""

LEAST_CALLS = 3

ENOUGH_SECONDS = {"cpu": 0.02, "cuda": 0.001}
"""A product that takes this long is large enough to be measured."""

LARGEST = {"cpu": 4096, "cuda": 8192}
"""Rows, columns and depth of the largest product."""

SMALLEST = 256

CACHES = 4
"""How many times the largest cache an array is."""

MOST_ARRAY_BYTES = 1 << 30

FORMATS = {
    "cpu": ("fp64", "fp32", "bf16", "fp16", "int8"),
    "cuda": ("fp32", "tf32", "bf16", "fp16", "fp8", "int8"),
}
"""Formats whose products are measured, by kind of device."""


_DTYPES = {
    "fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16",
}  # fmt: skip


class Calibrated(Protocol):
    """What has to be known of a device; every one of bench.devices says it."""

    @property
    def name(self) -> str:
        """Such as "cpu" or "cuda"."""
        ...

    def told(self) -> Mapping[str, Any]:
        """What a worker has to know; its `threads` are those that are measured."""
        ...

    def facts(self) -> Mapping[str, str]:
        """What it is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """Rates that this machine was measured at."""

    host: Mapping[str, str]
    """Facts of the machine; "lacks FORMAT" says why a format could not be measured."""
    made: datetime
    gb_per_second: Mapping[str, float]
    """copy, triad (a = b + s * c) and read, 10**9 bytes a second."""
    tflops: Mapping[str, float]
    """Products by format, 10**12 operations a second."""

    @property
    def bandwidth(self) -> float | None:
        """The highest of the measured bandwidths, GB/s; None if none was."""
        return max(self.gb_per_second.values(), default=None)


def silent(what: str, done: int, of: int) -> None:
    """Nobody is told how far the measuring is."""


def calibrate(
    device: Calibrated,
    told: Callable[[str, int, int], None] = silent,
    seconds: float = SECONDS,
    array_bytes: int | None = None,
) -> Anchors:
    """The rates of a device: the best of as many calls as `seconds` allow.

    `told` hears what is measured next, how many measurements are done, and how many there are.
    A format that torch cannot multiply here is left out, and `host` says why.
    """
    import torch

    steps = 3 + len(FORMATS[device.name])
    bench = _Bench(device.name, seconds / steps)
    host = {"torch": torch.__version__, **device.facts()}
    bandwidths: dict[str, float] = {}
    rates: dict[str, float] = {}
    with bench.prepared(device.told().get("threads")):
        size = array_bytes or _array_bytes(device.name)
        for what, moved, call in _streams(device.name, size):
            told(what, len(bandwidths), steps)
            bandwidths[what] = moved / bench.best(call) / 1e9
        for done, number in enumerate(FORMATS[device.name], len(bandwidths)):
            told(number, done, steps)
            try:
                rates[number] = bench.product(number)
            except (RuntimeError, NotImplementedError) as error:
                host[f"lacks {number}"] = str(error).strip().partition("\n")[0][:200]
    return Anchors(
        host=host,
        made=datetime.now(UTC).replace(microsecond=0),
        gb_per_second=bandwidths,
        tflops=rates,
    )


def read_anchors(path: Path) -> Anchors:
    """The anchors in a JSON file; InputError names the file and the key that is wrong."""
    return read_json(path, Anchors)


def write_anchors(path: Path, anchors: Anchors) -> None:
    """Write anchors as JSON, whole or not at all."""
    # Graders that start together measure and write at once: each beside the place has its own name.
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(json.dumps(plain(anchors), indent=2) + "\n", "utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A stop watch of one kind of device, with so many seconds for each measurement."""

    kind: str
    seconds: float

    @contextmanager
    def prepared(self, threads: int | None) -> Iterator[None]:
        """While this lasts FP32 is not rounded to TF32, and so many threads compute."""
        import torch

        before, had = torch.get_float32_matmul_precision(), torch.get_num_threads()
        torch.set_float32_matmul_precision("highest")
        torch.set_num_threads(threads or had)
        try:
            with torch.no_grad():
                yield
        finally:
            torch.set_float32_matmul_precision(before)
            torch.set_num_threads(had)

    def best(self, call: Callable[[], object]) -> float:
        """Seconds of the quickest of its calls; the first one is not timed."""
        call()
        ends = monotonic() + self.seconds
        times = [self._timed(call) for _ in range(LEAST_CALLS)]
        while monotonic() < ends:
            times.append(self._timed(call))
        return min(times)

    def _timed(self, call: Callable[[], object]) -> float:
        if self.kind == "cpu":
            started = perf_counter()
            call()
            return perf_counter() - started
        import torch

        first, last = (
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(2)
        )
        first.record()
        call()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1e3

    def product(self, number: str) -> float:
        """TFLOP/s of square products of a format, as large as they are quick enough for."""
        size = SMALLEST
        while True:
            call = _product(self.kind, number, size)
            call()
            if size >= LARGEST[self.kind] or self._timed(call) >= ENOUGH_SECONDS[self.kind]:
                break
            size *= 2
        with _rounding(number):
            return 2 * size**3 / self.best(call) / 1e12


@contextmanager
def _rounding(number: str) -> Iterator[None]:
    """TF32 while products of it are measured."""
    import torch

    if number != "tf32":
        yield
        return
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


def _array_bytes(kind: str) -> int:
    """Size of an array that no cache holds."""
    import torch

    if kind == "cpu":
        return min(CACHES * last_level_cache(), MOST_ARRAY_BYTES)
    free, _ = torch.cuda.mem_get_info()
    return int(min(MOST_ARRAY_BYTES, free // CACHES))


def _streams(kind: str, size: int) -> Iterator[tuple[str, int, Callable[[], object]]]:
    """Operations on arrays of `size` bytes each: name, bytes that it moves, and a call of it."""
    import torch

    dtype = torch.float64 if kind == "cpu" else torch.float32
    count = size // dtype.itemsize
    b = torch.rand(count, dtype=dtype, device=kind)
    a, c = b + 1, b - 1
    moved = count * dtype.itemsize
    yield "copy", 2 * moved, lambda: a.copy_(b)
    yield "triad", 3 * moved, lambda: torch.add(b, c, alpha=3.0, out=a)
    yield "read", moved, lambda: torch.sum(b)


def _product(kind: str, number: str, size: int) -> Callable[[], object]:
    """A call of a square product of random numbers."""
    import torch

    if number == "int8":
        left, right = (
            torch.randint(-128, 128, (size, size), dtype=torch.int8, device=kind) for _ in range(2)
        )
        # Transposed, so that both operands run along the depth of the product in memory.
        return lambda: torch._int_mm(left, right.t())
    if number == "fp8":
        left, right = (
            torch.randn(size, size, device=kind).to(torch.float8_e4m3fn) for _ in range(2)
        )
        one = torch.ones((), device=kind)
        return lambda: torch._scaled_mm(
            left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )
    dtype: torch.dtype = getattr(torch, _DTYPES[number])
    left, right = (torch.randn(size, size, device=kind).to(dtype) for _ in range(2))
    out = torch.empty(size, size, dtype=dtype, device=kind)
    return lambda: torch.mm(left, right, out=out)
