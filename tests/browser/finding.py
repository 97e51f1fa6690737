"""How a reader finds in a transcript: with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Page


def find(page: Page, text: str) -> None:
    """Type a text into the field that is found with, in place of what stands there."""
    page.keyboard.press("/")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
