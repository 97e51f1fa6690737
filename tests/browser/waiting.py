"""Waiting for what a test itself is told of, as requests that it holds up."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page


def reached(page: Page, holds: Callable[[], bool], seconds: float = 2) -> bool:
    """Let the page go on until something holds; whether it did within so many seconds."""
    for _ in range(int(seconds / 0.05)):
        if holds():
            return True
        page.wait_for_timeout(50)
    return holds()


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Let the page go on until something holds; it fails where it does not within ten seconds."""
    assert reached(page, holds, seconds=10)
