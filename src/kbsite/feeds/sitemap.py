"""sitemap.xml and robots.txt, of a site that says where it will be published."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import urlsplit

MOST = 50_000
"""Addresses in a file, by the protocol of sitemaps."""


def sitemaps(addresses: Sequence[str], base: str) -> dict[str, str]:
    """The files, by path within the site: sitemap.xml, and others where one cannot hold all.

    `base` is where the site is published, with a slash at its end.
    """
    cut = [addresses[at : at + MOST] for at in range(0, len(addresses), MOST)] or [[]]
    if len(cut) == 1:
        return {"sitemap.xml": _listed("urlset", "url", cut[0])}
    named = {f"data/sitemap-{number}.xml": held for number, held in enumerate(cut, start=1)}
    index = _listed("sitemapindex", "sitemap", [f"{base}{name}" for name in named])
    return {"sitemap.xml": index} | {n: _listed("urlset", "url", h) for n, h in named.items()}


def _listed(outer: str, inner: str, addresses: Sequence[str]) -> str:
    named = [escape(address, quote=False) for address in addresses]
    lines = [f"<{inner}><loc>{address}</loc></{inner}>" for address in named]
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<{outer} xmlns="{namespace}">\n'
    return head + "".join(f"{line}\n" for line in lines) + f"</{outer}>\n"


def robots(base: str) -> str:
    """robots.txt: pages may be read, the runs' raw files need not be.

    Its paths begin at the root of the host, wherever the site stands.
    """
    at = urlsplit(base).path
    return f"User-agent: *\nDisallow: {at}runs/*/raw/\n\nSitemap: {base}sitemap.xml\n"
