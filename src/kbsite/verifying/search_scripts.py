"""The scripts of a search index, which pages run: Pagefind's own, and those that are data alone.

What an index holds follows from no raw data without making it anew, which is not done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kbsite.errors import MachineError
from kbsite.model.finding import Finding, Severity
from kbsite.search import PAGEFIND, pagefind
from kbsite.search.blocks import FOLDER, LIST, Listed, block_path, read_list
from kbsite.verifying.places import Place, below

_DATA = re.compile(rb"kbsiteWords\((.*)\);\n", re.DOTALL)
"""What is handed over to static/words.js."""

EXTRA = "kbsite[search]"


def search_scripts(place: Place, folder: Path) -> Iterator[Finding]:
    """Scripts of an index that could show something else; `folder` is a new one to work in."""
    programs = [f"{FOLDER}/{name}" for name in pagefind.SCRIPTS]
    for path in _data_scripts(place):
        data = place.read(path)
        if path not in programs and data is not None and not _holds(path, data):
            yield Finding(Severity.ERROR, path, "holds more than data of the search index")
    found = {path: data for path in programs if (data := place.read(path)) is not None}
    if found:
        yield from _programs(place, found, folder)


def _data_scripts(place: Place) -> Iterator[str]:
    """Where scripts of the index stand; where they cannot be listed, those that it names."""
    names = place.names()
    if names is not None:
        yield from (path for path in below(names, FOLDER) if path.endswith(".js"))
        return
    yield LIST
    listed = _listed(place.read(LIST) or b"")
    yield from map(block_path, listed.blocks if listed else ())


def _holds(path: str, script: bytes) -> bool:
    """Whether a script hands over data as an index does, and does nothing else."""
    if path == LIST:
        return script == PAGEFIND or _listed(script) is not None
    held = _DATA.fullmatch(script)
    try:
        json.loads(held[1] if held else b"")
    except (ValueError, RecursionError):
        return False
    return True


def _listed(script: bytes) -> Listed | None:
    """What an index of words says of itself; None where it is none."""
    try:
        listed = read_list(script)
        # What it names is loaded, wherever that stands.
        same = listed is not None and listed.data == script
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return listed if same else None


def _programs(place: Place, found: dict[str, bytes], folder: Path) -> Iterator[Finding]:
    """Those of Pagefind held against the Pagefind that is here."""
    first = next(iter(found))
    try:
        version, ours = pagefind.scripts(folder)
    except MachineError:
        message = f"not compared, like all of its kind: pip install '{EXTRA}' to compare them"
        yield Finding(Severity.WARNING, first, message)
        return
    made_by = _version(place)
    for path, data in found.items():
        if data == ours[path.removeprefix(f"{FOLDER}/")]:
            continue
        if made_by in (None, version):
            message = f"its bytes are not those that Pagefind {version} brings along"
            yield Finding(Severity.ERROR, path, message)
        else:
            message = f"not compared: it is said to be of Pagefind {made_by}, here is {version}"
            yield Finding(Severity.WARNING, path, message)


def _version(place: Place) -> str | None:
    """Which Pagefind an index says that it was made by; None where it says none."""
    try:
        held = json.loads(place.read(f"{FOLDER}/{pagefind.ENTRY}") or b"")
    except (ValueError, RecursionError):
        return None
    told = held.get("version") if isinstance(held, dict) else None
    return told if isinstance(told, str) else None
