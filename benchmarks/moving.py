"""How long a reader waits for a place in a transcript: found, found next, linked to."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.sync_api import Browser, Page

from benchmarks.opening import MINUTES, browser, serving

WORD = "epilogue"
"""A word that stands all over the session."""
LINKS = 8


@dataclass(frozen=True, slots=True)
class Moving:
    """What it takes to get to a place on a run's page of kbsite."""

    opened: str
    """How the page was opened: from a server or from disk."""
    found: float
    """Milliseconds from the last key of a word to the number of its hits."""
    hits: int
    following: float
    """Milliseconds to the next hit, median."""
    linked: float
    """Milliseconds from opening the address of a step to the step on the screen, median."""
    off: float
    """Pixels that the step lies away from where it should at most."""


def movings(page: Path, links: int = LINKS) -> list[Moving]:
    """What moving takes on a run's page, from a server and from disk; nothing without a browser.

    As many `links` to steps are opened each way.
    """
    anchors = _anchors(page, links)
    with browser() as driven:
        if driven is None:
            return []
        root = page.parents[2]
        with serving(root) as start:
            served = f"{start}{page.relative_to(root).as_posix()}"
            return [
                _moving(driven, "server", served, anchors),
                _moving(driven, "disk", page.as_uri(), anchors),
            ]


def _anchors(page: Path, links: int) -> list[str]:
    """Steps from all over the transcript, the same each time."""
    parts = sorted(page.parent.glob("steps-*.html"))
    chance = random.Random(7)  # noqa: S311 - it has to be the same each time
    chosen = chance.sample(parts, min(links, len(parts)))
    return [re.findall(r'^<li class=(?:"[^"]*"|\w+) id=(L\d+)', p.read_text(), re.M)[-1]
            for p in chosen]  # fmt: skip


def _moving(driven: Browser, opened: str, url: str, anchors: Sequence[str]) -> Moving:
    context = driven.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(url, wait_until="load", timeout=MINUTES)
    page.wait_for_timeout(1000)
    page.keyboard.press("/")
    field = page.locator("#query")
    start = perf_counter()
    field.fill(WORD)
    count = page.locator("#found")
    page.wait_for_function(COUNTED, timeout=MINUTES)
    found = (perf_counter() - start) * 1000
    hits = int(re.sub(r"\D", "", count.inner_text().split("of")[-1]) or 0)
    following = median(_next(page) for _ in range(10))
    context.close()
    links = [_linked(driven, f"{url}#{anchor}", anchor) for anchor in anchors]
    return Moving(
        opened, found, hits, following,
        median(took for took, _ in links), max(off for _, off in links),
    )  # fmt: skip


COUNTED = "() => /\\d+ of \\d/.test(document.getElementById('found').textContent)"


def _next(page: Page) -> float:
    before = page.locator("#found").inner_text()
    start = perf_counter()
    page.locator("#query").press("Enter")
    page.wait_for_function(
        "(before) => document.getElementById('found').textContent !== before", arg=before
    )
    return (perf_counter() - start) * 1000


SHOWN = """(anchor) => {
  const step = document.getElementById(anchor);
  if (!step) return null;
  const top = step.getBoundingClientRect().top;
  return top >= 0 && top < innerHeight ? top : null;
}"""
OFF = """(anchor) => Math.abs(document.getElementById(anchor).getBoundingClientRect().top
  - document.getElementById("tools").getBoundingClientRect().bottom - 8)"""


def _linked(driven: Browser, url: str, anchor: str) -> tuple[float, float]:
    context = driven.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    start = perf_counter()
    page.goto(url, wait_until="commit", timeout=MINUTES)
    page.wait_for_function(SHOWN, arg=anchor, timeout=MINUTES)
    took = (perf_counter() - start) * 1000
    page.wait_for_timeout(1000)
    off = float(page.evaluate(OFF, anchor))
    context.close()
    return took, off
