"""What other programs read of a site: tables, feeds and cards, made of records; pure."""

from __future__ import annotations

from kbsite.feeds import bundles, cards, parquet


def installed() -> tuple[bool, ...]:
    """Which of the extras are there that files of a site hang on: a build is another with them."""
    return parquet.available(), cards.available(), bundles.available()
