"""Where templates and static files lie: in the package of a wheel, beside src/ in a checkout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parents[1]
INCLUDED = ("templates", "static")
"""Folders of what templates are made of: the style stands in pages that are to need no file."""

_EVERYWHERE = ("bars", "unfolded", "ends", "stays")

JOINED = {
    "kbsite.js": (*_EVERYWHERE, "anchored", "copying", "permalinks"),
    "run.js": (
        *_EVERYWHERE, "pages", "anchored", "copying", "kept", "address", "lists", "parts", "places",
        "returning", "filters", "choices", "hands", "run",
    ),
    "find.js": (
        "matching", "highlighting", "texts", "map", "finding", "tables", "bar", "lines", "find",
    ),
    "lines.js": (
        *_EVERYWHERE, "anchored", "copying", "permalinks", "tables", "highlighting", "bar", "page",
    ),
    "board.js": ("asking", "board"),
    "runs.js": ("asking", "runs"),
    "compare.js": ("address", "figures", "compare"),
    "explore.js": ("figures", "explore"),
}  # fmt: skip
"""Scripts that a site has as one file each, and the files that they are made of, in their order.

These stand in a folder of the script's name, each with a subject of its own, or in that of what is
in more than one script. Whoever asks for one needs them all: so they come by one request, and weigh
nearly a fifth less than one by one.
"""

EACH = "each"
"""The folder of what is in more than one script."""

_COMMENT = re.compile(rb"^ *//.*\n", re.MULTILINE)
"""A line of these scripts that is for whoever reads their source: no text in them has two lines."""

_REMARK = re.compile(rb"/\*.*?\*/\s*", re.DOTALL)
"""What is in style sheets for whoever reads their source: a sixth of their weight."""


def folder(name: str) -> Path:
    """The asset folder `name`: the package's own, else the checkout's; FileNotFoundError if none.

    The package goes first: in an installed wheel `CHECKOUT` is somebody else's folder.
    """
    places = [PACKAGE / name, CHECKOUT / name]
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(f"no {name}/ in any of: {', '.join(map(str, places))}")


def static_files() -> Iterator[tuple[str, tuple[Path, ...]]]:
    """The files of a site's static/, by their names there, with those that each is made of."""
    home = folder("static")
    apart = {home / EACH, *(home / name.removesuffix(".js") for name in JOINED)}
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.parent not in apart:
            yield path.relative_to(home).as_posix(), (path,)
    for name in JOINED:
        yield name, _made_of(name)


def static(name: str) -> bytes:
    """What a site has as a file of its static/."""
    held = b"".join(path.read_bytes() for path in _made_of(name))
    if name.endswith(".css"):
        return _REMARK.sub(b"", held)
    return _COMMENT.sub(b"", held) if name in JOINED else held


def _made_of(name: str) -> tuple[Path, ...]:
    home = folder("static")
    if name not in JOINED:
        return (home / name,)
    own = home / name.removesuffix(".js")
    paths = [(own / f"{part}.js", home / EACH / f"{part}.js") for part in JOINED[name]]
    return tuple(mine if mine.is_file() else shared for mine, shared in paths)
