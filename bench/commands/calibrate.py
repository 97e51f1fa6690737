"""`bench calibrate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench.commands.choices import DEVICE
from bench.commands.command import Command, Front, Given, Option, require
from kbsite.errors import UsageError
from kbsite.regular import is_place

if TYPE_CHECKING:
    from bench.anchors import Anchors


def run(given: Given, front: Front) -> int:
    """Measure what this machine reaches, write it down and tell it; the exit code."""
    require()
    from bench.calibration import kept_place, measure
    from bench.jobs import device_named
    from bench.records import plain

    device = device_named(given.get("device") or "")
    place: Path = given.get("out") or kept_place(device.name)
    if not is_place(place):  # told before a minute of measuring, not after it
        raise UsageError(f"{place}: no place for a file; name one, as anchors.json")
    with front.progress(f"measuring {device.name}") as told:
        anchors = measure(device, place, lambda what, done, of: told(what, done / of))
    if given.get("json"):
        front.give(json.dumps(plain(anchors)))
    else:
        front.give("\n".join(lines(anchors)))
    front.say(f"written into {place}", "good")
    return 0


def lines(anchors: Anchors) -> list[str]:
    """What was measured, a line for each rate, and of what machine."""
    told = [f"{name:24} {rate:12.4g} GB/s" for name, rate in anchors.gb_per_second.items()]
    told += [f"{name:24} {rate:12.4g} TFLOP/s" for name, rate in anchors.tflops.items()]
    return [*told, *(f"{name}: {value}" for name, value in anchors.host.items())]


CALIBRATE = Command(
    name="calibrate",
    summary="Measure what this machine reaches: copies, triad, products by format.",
    about=(
        "A CPU is held to these rates; on a GPU they make achievable_fraction, beside the "
        "datasheet's peak_fraction. They are kept for 30 days with the facts of the machine, and "
        "`bench grade` measures them itself where there are none.\n\n"
        "Exit codes: 0 measured, 2 wrong use, 3 the machine cannot."
    ),
    examples=("calibrate", "calibrate --device cpu --out anchors.json"),
    options=(
        DEVICE,
        Option(name="out", kind=Path, help="File to write; else one among the user's caches."),
        Option(name="json", kind=bool, help="Print the rates as JSON."),
    ),
    run=run,
)
