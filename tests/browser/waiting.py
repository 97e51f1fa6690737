"""Waiting for what a test itself is told of, as requests that it holds up."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Let the page go on until something holds; it fails where it does not within ten seconds."""
    for _ in range(200):
        if holds():
            return
        page.wait_for_timeout(50)
    assert holds()
