"""A reader's pointer."""

from __future__ import annotations

from playwright.sync_api import Page


def move(page: Page, x: float, y: float) -> None:
    """Move the pointer to a place of the window.

    The first place that Chromium hears of it is none that it moved to: it tells the page so.
    """
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)
