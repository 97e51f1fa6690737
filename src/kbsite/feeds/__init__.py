"""What other programs read of a site: tables, feeds and cards, made of records; pure."""

from __future__ import annotations

from typing import NamedTuple

from kbsite.feeds import cards, parquet


class Extras(NamedTuple):
    """Which of the extras a site is made with that its files hang on."""

    parquet: bool
    cards: bool


def installed() -> Extras:
    """Those that are here: a build is another with them."""
    return Extras(parquet.available(), cards.available())
