"""Where an address that stands on a page leads, as a browser takes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from kbsite.pages.page import INDEX

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_STRIPPED = "".join(map(chr, range(0x21)))
"""Controls and space: a browser takes them away from both ends of an address."""
_DROPPED = str.maketrans("", "", "\t\n\r")
"""What it takes away wherever it stands."""


@dataclass(frozen=True, slots=True)
class Inside:
    """A file of the site."""

    path: str
    """Within the site; bytes that are no UTF-8 as surrogates."""
    fragment: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class Outside:
    """An address that has a scheme or a host of its own."""

    scheme: str
    """In lower case; empty where only a host is named."""


@dataclass(frozen=True, slots=True)
class Above:
    """An address that starts with a slash, or climbs out of the site: it is right in one place."""


Address = Inside | Outside | Above


def resolved(raw: str, page: str) -> Address:
    """Where `raw` leads from a page of the site.

    Backslashes are slashes, as browsers have it; a folder is its index page.
    """
    text = raw.strip(_STRIPPED).translate(_DROPPED)
    scheme = _SCHEME.match(text)
    if scheme:
        return Outside(scheme[0][:-1].lower())
    before, _, fragment = text.partition("#")
    place, _, query = before.partition("?")
    place = place.replace("\\", "/")
    if place.startswith("//"):
        return Outside("")
    if place.startswith("/"):
        return Above()
    path = _joined(page.rpartition("/")[0], place) if place else page
    return Above() if path is None else Inside(path, _plain(fragment), query)


@lru_cache(maxsize=65_536)
def _joined(folder: str, place: str) -> str | None:
    """A path within the site; None for one that leads out of it."""
    parts = folder.split("/") if folder else []
    steps = place.split("/")
    for step in steps[:-1]:
        name = _plain(step)
        if name == "..":
            if not parts:
                return None
            parts.pop()
        elif name not in ("", "."):
            parts.append(name)
    last = _plain(steps[-1])
    if last == "..":
        return _joined(folder, f"{place}/")
    return "/".join([*parts, INDEX if last in ("", ".") else last])


def _plain(quoted: str) -> str:
    data = unquote_to_bytes(quoted.encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "surrogateescape")
