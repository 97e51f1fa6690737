"""The page for addresses that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

from kbsite.pages.page import Page, Site, templated
from kbsite.pages.social import base_url

STYLE = (
    "body{background:#0a0d0a;color:#4ade80;font:1rem/1.6 monospace;margin:10vh auto;"
    "max-width:40rem;padding:0 1rem}a{color:#86efac}h1{color:#fbbf24;font-size:1.2rem}"
    "@media(prefers-color-scheme:light){body{background:#f7faf6;color:#14532d}"
    "a{color:#0b3b1e}h1{color:#8a4b08}}"
)
"""Both themes' own colours, as static/kbsite.css has them."""


def pages(site: Site) -> Iterator[Page]:
    """The 404 page. A server shows it at any depth, so it needs no other file of the site."""
    yield templated("404.html", "pages/missing.html", partial(_values, site), tuple)


def _values(site: Site) -> dict[str, object]:
    home = urlsplit(base_url(site)).path or "/"
    return {"style": STYLE, "home": home}
