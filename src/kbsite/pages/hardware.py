"""What hardware can do: a page of all of it, and one a product, with where each figure is from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isfinite
from statistics import median

from msgspec import Struct

from kbsite.model.accounting import BANDWIDTH, PRODUCTS
from kbsite.model.board import Board
from kbsite.model.hardware import FIGURES, Figure, Format, Hardware, Peak, rate
from kbsite.model.run import Run
from kbsite.pages.page import INDEX, Page, Site, hardware_path, templated

PATH = f"hardware/{INDEX}"
"""Where the page of all hardware stands."""

SHOWN_RUNS = 100
"""Runs that a page names; the rest is counted."""

MOST_RATES = 40
"""Rates that a page tells what was measured of: what grades tell was written by anybody."""

_LABELS = {
    "units": "units", "boost_mhz": "rated clock", "maximum_mhz": "highest clock",
    "l2_mb": "L2 cache", "last_cache_mb": "cache behind it", "dram_gb": "DRAM",
    "dram_gb_per_second": "DRAM bandwidth",
    "maximum_dram_gb_per_second": "DRAM bandwidth at its highest clock",
    "power_watts": "power limit",
}  # fmt: skip
_MEASURES = {
    "boost_mhz": "MHz", "maximum_mhz": "MHz", "l2_mb": "MB", "last_cache_mb": "MB",
    "dram_gb": "GB", "dram_gb_per_second": "GB/s", "maximum_dram_gb_per_second": "GB/s",
    "power_watts": "W",
}  # fmt: skip


class Fact(Struct, frozen=True):
    """A figure as a page shows it."""

    label: str
    text: str
    figure: Figure | None


class Rate(Struct, frozen=True):
    """A peak as a page shows it."""

    peak: Peak
    at_most: float | None
    """TFLOP/s at the highest clock; None where that cannot be told."""
    balance: float | None
    """Operations a byte from which on the units, and not the DRAM, take longer."""


class Measured(Struct, frozen=True):
    """What machines with some hardware were measured at, just before they graded."""

    name: str
    """As grades call it, such as "bf16 TFLOP/s"."""
    grades: int
    middle: float
    """The median over the grades."""
    lowest: float
    highest: float
    most: str
    """The run whose grade has the highest."""
    stated: float | None
    """What the datasheet says, in the same measure; None where it does not."""


class Use(Struct, frozen=True):
    """A board that was made on some hardware, with its runs; None for runs of no board."""

    board: Board | None
    runs: list[Run]


def pages(site: Site) -> Iterator[Page]:
    """One page for each product, and one of all; none where nothing is known of any."""
    if site.hardware:
        held = partial(sorted, site.hardware.items())
        yield templated(PATH, "pages/hardware_index.html", partial(_index, site), held)
    for name in sorted(site.hardware):
        values = partial(_values, site, name)
        depends = partial(_depends, site, name)
        yield templated(hardware_path(name), "pages/hardware.html", values, depends)


def _depends(site: Site, name: str) -> object:
    used = [
        (use.board.config.id if use.board else None, len(use.runs), _named(use))
        for use in _uses(site, name)
    ]
    return site.hardware[name], used, _measured(site, name)


def _named(use: Use) -> list[str]:
    return [run.id for run in use.runs[:SHOWN_RUNS]]


def _index(site: Site) -> dict[str, object]:
    held = sorted(site.hardware.items())
    return {
        "title": "hardware",
        "formats": list(Format),
        "rows": [(name, one, [one.peak(number) for number in Format]) for name, one in held],
    }


def _values(site: Site, name: str) -> dict[str, object]:
    hardware = site.hardware[name]
    return {
        "title": hardware.name,
        "id": name,
        "hardware": hardware,
        "facts": [_fact(hardware, key) for key in FIGURES],
        "rates": [_rate(hardware, peak) for peak in hardware.peaks],
        "measured": _measured(site, name),
        "uses": _uses(site, name),
        "shown_runs": SHOWN_RUNS,
    }


def _fact(hardware: Hardware, key: str) -> Fact:
    figure: Figure | None = getattr(hardware, key)
    measure = _MEASURES.get(key, f"{hardware.unit.value}s")
    text = f"{figure.value:g} {measure}" if figure else ""
    return Fact(_LABELS[key], text, figure)


def _rate(hardware: Hardware, peak: Peak) -> Rate:
    most, units, clock = peak.most_per_clock, hardware.units, hardware.maximum_mhz
    at_most = rate(units.value, clock.value, most) if most and units and clock else None
    bandwidth = hardware.dram_gb_per_second
    # TFLOP/s are 1000 GFLOP/s, and those by GB/s are operations by bytes.
    balance = peak.tflops * 1e3 / bandwidth.value if peak.tflops and bandwidth else None
    return Rate(peak, at_most, balance)


def _measured(site: Site, name: str) -> list[Measured]:
    """What is told by all grades on some hardware, those of floors included, as these order it."""
    held: dict[str, list[tuple[float, str]]] = {}
    for stored in site.by_graded_hardware.get(name, ()):
        for key, told in stored.metrics.anchors.items():
            if key.endswith((BANDWIDTH, PRODUCTS)) and isfinite(told) and told > 0:
                held.setdefault(key, []).append((told, stored.run.id))
    hardware = site.hardware[name]
    return [_rates(key, told, _stated(hardware, key)) for key, told in [*held.items()][:MOST_RATES]]


def _rates(name: str, told: list[tuple[float, str]], stated: float | None) -> Measured:
    rates = sorted(rate for rate, _ in told)
    most = min(run for rate, run in told if rate == rates[-1])
    return Measured(name, len(rates), median(rates), rates[0], rates[-1], most, stated)


def _stated(hardware: Hardware, name: str) -> float | None:
    """What the datasheet says of a rate that grades call so."""
    if name.endswith(BANDWIDTH):
        bandwidth = hardware.dram_gb_per_second
        return bandwidth.value if bandwidth else None
    called = name.removesuffix(PRODUCTS)
    peak = hardware.peak(Format(called)) if called in [number.value for number in Format] else None
    return peak.tflops if peak else None


def _uses(site: Site, name: str) -> list[Use]:
    """The boards made on some hardware, in their order, then its runs that are on none."""
    runs = [stored.run for stored in site.runs if stored.run.hardware == name]
    on: dict[str, list[Run]] = {}
    for run in runs:
        board = site.board_of.get(run.id)
        on.setdefault(board.config.id if board else "", []).append(run)
    uses = [
        Use(board, on.get(board.config.id, []))
        for board in site.boards
        if board.hardware == name or board.config.id in on
    ]
    return [*uses, *([Use(None, on[""])] if "" in on else [])]
