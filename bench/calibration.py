"""Which anchors hold for this machine: those that are named, those that were kept, or new ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.anchors import Anchors, calibrate, read_anchors, silent, write_anchors
from bench.devices import Device
from kbsite.errors import InputError, MachineError
from kbsite.store.folders import make_folder

KEPT = timedelta(days=30)
"""How long anchors are good for: drivers, cooling and neighbours change."""

Told = Callable[[str, int, int], None]


def kept_place(device: str) -> Path:
    """Where the anchors of a device are kept: among the user's caches."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        message = "this user has no home folder to keep anchors in; set HOME or XDG_CACHE_HOME"
        raise MachineError(message) from error
    return Path(home) / "kbsite" / f"anchors-{device}.json"


def anchors_here(device: Device, path: Path | None = None, told: Told = silent) -> Anchors:
    """The anchors in a file, which have to be of this machine; without one, those that are kept.

    Where none are kept, or they are of another machine or too old, it is measured now and kept.
    """
    if path is not None:
        if not path.exists():
            message = f"no such file; measure this machine with `bench calibrate --out {path}`"
            raise InputError(message, path=path)
        anchors = read_anchors(path)
        other = differing(anchors, device)
        if other:
            message = f"of another machine ({other}); measure this one with `bench calibrate`"
            raise InputError(message, path=path)
        return anchors
    place = kept_place(device.name)
    if place.is_file():
        anchors = read_anchors(place)
        if not differing(anchors, device) and datetime.now(UTC) - anchors.made < KEPT:
            return anchors
    return measure(device, place, told)


def measure(device: Device, place: Path, told: Told = silent) -> Anchors:
    """The anchors of a device, measured now and written into a file."""
    make_folder(place.parent)
    anchors = calibrate(device, told)
    write_anchors(place, anchors)
    return anchors


def differing(anchors: Anchors, device: Device) -> str:
    """The first fact in which a device differs from what anchors are of, in words; "" if none."""
    for name, value in device.facts().items():
        measured = anchors.host.get(name)
        if measured not in (None, value):
            return f"{name}: {measured}, here {value}"
    return ""
