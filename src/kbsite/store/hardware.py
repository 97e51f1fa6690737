"""bench/hardware: a file a product, read strictly: a slip here is a wrong score of every run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args, get_origin
from urllib.parse import urlsplit

from kbsite.errors import InputError
from kbsite.model.hardware import TOLERANCE, Format, Hardware, Peak, implied_mhz
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.store.parsing import (
    LIMIT_YAML_BYTES,
    InvalidFileError,
    invalid,
    read_text,
    yaml_data,
)
from kbsite.store.records import hints_of, lines_of, record, wrong_keys

LIMIT_MHZ = 3500
"""No GPU clocks higher: a rate that would need more counts operations that are not done."""

LIMIT_FILES = 1000

_SPARSE = "expected dense rates only: halve what a datasheet states with sparsity, and say so"

Wrong = Iterator[tuple[str, str]]


def read_all_hardware(folder: Path) -> dict[str, Hardware]:
    """All hardware of a folder, by id; InvalidFileError names everything that is wrong with it."""
    if not folder.is_dir():
        raise invalid("no such folder of hardware", folder)
    paths = sorted(folder.glob("*.yaml"))
    if len(paths) > LIMIT_FILES:
        raise invalid(f"expected at most {LIMIT_FILES} files, got {len(paths)}", folder)
    found: dict[str, Hardware] = {}
    errors: list[InputError] = []
    for path in paths:
        try:
            found[path.stem] = read_hardware(path)
        except InvalidFileError as error:
            errors += error.errors
    errors += _said_twice(folder, found)
    if errors:
        raise InvalidFileError(errors)
    return found


def read_hardware(path: Path) -> Hardware:
    """The hardware in a file, whose name is its id; InvalidFileError names all that is wrong."""
    if not is_slug(path.stem):
        raise invalid(f"its name is an id: {SLUG_RULE}", path)
    text = read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff")
    data = yaml_data(path, text)
    hardware = record(data, Hardware, path, text)
    wrong = [*_misspelt(data, Hardware), *_impossible(hardware), *_unsourced(hardware)]
    if not wrong:
        wrong = [*_of_formats(hardware), *_of_clocks(hardware)]
    if wrong:
        raise wrong_keys(wrong, path, text)
    return hardware


def _misspelt(data: object, hint: Any, key: str = "") -> Wrong:
    """Keys, however deep, that no record has: a figure under one of them would be lost."""
    hint = next((part for part in get_args(hint) if _optional(hint, part)), hint)
    if is_dataclass(hint) and isinstance(data, dict):
        names = sorted(field.name for field in fields(hint))
        for name in map(str, data):
            if name not in names:
                unknown = f"is not a key here; expected one of {', '.join(names)}"
                what = _SPARSE if "spars" in name.lower() else unknown
                yield f"{key}.{name}".removeprefix("."), what
    for part, value, inner in _parts(data, hint):
        yield from _misspelt(value, inner, f"{key}{part}".removeprefix("."))


def _parts(data: object, hint: Any) -> Iterator[tuple[str, object, Any]]:
    """What a value holds, with where in it that stands, and as what it is read."""
    if isinstance(data, list) and get_args(hint):
        for number, item in enumerate(data):
            yield f"[{number}]", item, get_args(hint)[0]
    elif isinstance(data, dict) and get_origin(hint) is Mapping:
        for name, value in data.items():
            yield f".{name}", value, get_args(hint)[-1]
    elif isinstance(data, dict) and is_dataclass(hint):
        hints = hints_of(cast("Hashable", hint))
        for name in (name for name in hints if name in data):
            yield f".{name}", data[name], hints[name]


def _optional(hint: Any, part: Any) -> bool:
    return NoneType in get_args(hint) and part is not NoneType


def _impossible(hardware: Hardware) -> Wrong:
    for key in ("name", "vendor", "architecture"):
        if not getattr(hardware, key).strip():
            yield key, "empty; expected a name"
    for number, alias in enumerate(hardware.aliases):
        if not alias.strip():
            yield f"aliases[{number}]", "empty; expected a name that a driver uses"
    for key, value in _numbers(hardware):
        if value is not None and not _sound(value):
            yield key, f"expected a number above 0, got {value}"
    for number, peak in enumerate(hardware.peaks):
        if None in (peak.tflops, peak.per_clock) and not peak.note.strip():
            yield f"peaks[{number}].note", "missing; expected why a figure is null"


def _sound(value: float) -> bool:
    return isfinite(value) and value > 0


def _numbers(hardware: Hardware) -> Iterator[tuple[str, float | None]]:
    """All numbers of a file, by key."""
    for key, figure in hardware.figures:
        yield f"{key}.value", figure.value if figure else None
    for number, peak in enumerate(hardware.peaks):
        of_peak = f"peaks[{number}]"
        yield f"{of_peak}.tflops", peak.tflops
        yield f"{of_peak}.per_clock", peak.per_clock
        for name, figure in (("observed_per_clock", peak.observed_per_clock), ("mhz", peak.mhz)):
            yield f"{of_peak}.{name}.value", figure.value if figure else None


def _unsourced(hardware: Hardware) -> Wrong:
    cited = dict(_cited(hardware))
    for key, source in cited.items():
        if source not in hardware.sources:
            yield key, f"expected a key of sources, got {source!r}"
    for name, held in hardware.sources.items():
        if held.url is None and not held.note.strip():
            yield f"sources.{name}.note", "missing; expected how it was read, as there is no page"
        if held.url is not None and not _public(held.url):
            yield f"sources.{name}.url", "expected the https:// address of a public page"
        if not held.title.strip():
            yield f"sources.{name}.title", "empty; expected the title of the page"
        if name not in cited.values():
            yield f"sources.{name}", "no figure names it; expected sources of figures only"


def _public(url: str) -> bool:
    try:
        address = urlsplit(url)
    except ValueError:
        # A host in brackets that is no address.
        return False
    return address.scheme == "https" and bool(address.hostname) and address.path not in ("", "/")


def _cited(hardware: Hardware) -> Iterator[tuple[str, str]]:
    """The sources that figures name, by the key that names them."""
    for key, figure in hardware.figures:
        if figure:
            yield f"{key}.source", figure.source
    for number, peak in enumerate(hardware.peaks):
        yield f"peaks[{number}].source", peak.source
        for name in ("observed_per_clock", "mhz"):
            figure = getattr(peak, name)
            if figure:
                yield f"peaks[{number}].{name}.source", figure.source


def _of_formats(hardware: Hardware) -> Wrong:
    """Each format is stated or lacking, and once: one that is forgotten looks like one lacking."""
    stated = [(peak.format, peak.accumulate) for peak in hardware.peaks]
    for number, (name, accumulate) in enumerate(stated):
        earlier = stated[:number]
        alone = (name, None) in earlier or (accumulate is None and name in dict(earlier))
        if (name, accumulate) in earlier or alone:
            yield f"peaks[{number}].format", f"{name.value} has such a peak already; keep one"
        if name in hardware.lacks:
            yield f"peaks[{number}].format", f"{name.value} is among `lacks`; keep one of them"
    named = {name for name, _ in stated} | set(hardware.lacks)
    missing = [name.value for name in Format if name not in named]
    if missing:
        yield "peaks", f"says nothing of {', '.join(missing)}; expected a peak, or it in `lacks`"


def _of_clocks(hardware: Hardware) -> Wrong:
    """A rate is units * clock * operations in a clock: twice that is one with sparsity."""
    boost, maximum = hardware.boost_mhz, hardware.maximum_mhz
    if boost and maximum and maximum.value < boost.value:
        yield "maximum_mhz.value", f"expected at least boost_mhz, {boost.value:g}"
    if hardware.units is None:
        return
    for number, peak in enumerate(hardware.peaks):
        if peak.tflops is not None and peak.per_clock is not None:
            clock = implied_mhz(peak.tflops, hardware.units.value, peak.per_clock)
            expected = _refused_clock(hardware, peak, clock)
            if expected:
                message = f"stands for a clock of {clock:.0f} MHz, expected {expected}; {_SPARSE}"
                yield f"peaks[{number}].tflops", message


def _refused_clock(hardware: Hardware, peak: Peak, clock: float) -> str:
    """What the clock of a rate has to be, in words; empty where it is that."""
    stated = peak.mhz or hardware.boost_mhz
    if stated:
        fits = abs(clock - stated.value) <= TOLERANCE * stated.value
        return "" if fits else f"{stated.value:g} MHz"
    highest = hardware.maximum_mhz.value if hardware.maximum_mhz else LIMIT_MHZ
    return "" if clock <= highest * (1 + TOLERANCE) else f"at most {highest:g} MHz"


def _said_twice(folder: Path, found: Mapping[str, Hardware]) -> Iterator[InputError]:
    """Names that two files have: which of them a run was made on could not be told."""
    seen: dict[str, str] = {}
    for name, hardware in found.items():
        for number, alias in enumerate(hardware.aliases):
            first = seen.setdefault(alias.casefold(), name)
            if first != name or alias in hardware.aliases[:number]:
                path, key = folder / f"{name}.yaml", f"aliases[{number}]"
                message = f"{alias!r} is a name of {first} already; keep one of them"
                [line] = lines_of(read_text(path), [f".{key}"])
                yield InputError(message, path=path, line=line, key=key)
