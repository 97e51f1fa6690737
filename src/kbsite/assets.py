"""Where templates and static files lie: in the package of a wheel, beside src/ in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parents[1]
INCLUDED = ("templates", "static")
"""Folders of what templates are made of: the style stands in pages that are to need no file."""


def folder(name: str) -> Path:
    """The asset folder `name`: the package's own, else the checkout's; FileNotFoundError if none.

    The package goes first: in an installed wheel `CHECKOUT` is somebody else's folder.
    """
    places = [PACKAGE / name, CHECKOUT / name]
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(f"no {name}/ in any of: {', '.join(map(str, places))}")
