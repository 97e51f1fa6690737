"""How long a reader waits for a place in a transcript: found, found next, linked to.

By the browser's own clock, as it times paints: from the key, or from the beginning of the
navigation, until the frame is drawn that shows the place. What it takes to drive the browser, or to
open its window, is not in it.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.opening import MINUTES, browser, serving, window

WORD = "epilogue"
"""A word that stands all over the session that benchmarks make."""
LINKS = 8


@dataclass(frozen=True, slots=True)
class Moving:
    """What it takes to get to a place on a run's page of kbsite."""

    opened: str
    """How the page was opened: from a server or from disk."""
    found: float
    """Milliseconds from the last key of a word until its first hit is seen, and counted."""
    hits: int
    following: float
    """Milliseconds from a key until the next hit is on the screen, median."""
    linked: float
    """Milliseconds from opening the address of a step until it is on the screen, median."""
    off: float
    """Pixels that the step lies away from where it should at most."""


def movings(page: Path, links: int = LINKS, word: str = WORD) -> list[Moving]:
    """What moving takes on a run's page, from a server and from disk; nothing without a browser.

    As many `links` to steps are opened each way; `word` has to stand in the transcript.
    """
    anchors = _anchors(page, links)
    with browser() as driven:
        if driven is None:
            return []
        root = page.parents[2]
        with serving(root) as start:
            served = f"{start}{page.relative_to(root).as_posix()}"
            return [
                _moving(driven, "server", served, word, anchors),
                _moving(driven, "disk", page.as_uri(), word, anchors),
            ]


def _anchors(page: Path, links: int) -> list[str]:
    """Steps from all over the transcript, the same each time."""
    parts = sorted(page.parent.glob("steps-*.html"))
    chance = random.Random(7)  # noqa: S311 - it has to be the same each time
    chosen = chance.sample(parts, min(links, len(parts)))
    return [re.findall(r'^<li class=(?:"[^"]*"|\w+) id=(L\d+)', p.read_text(), re.M)[-1]
            for p in chosen]  # fmt: skip


def common_word(page: Path) -> str:
    """The commonest word of six letters and more: it stands all over the transcript."""
    told: Counter[str] = Counter()
    for part in page.parent.glob("steps-*.html"):
        told.update(re.findall(r"\b[a-z]{6,}\b", re.sub(r"<[^>]*>", " ", part.read_text("utf-8"))))
    return told.most_common(1)[0][0]


def _moving(driven: Browser, opened: str, url: str, word: str, anchors: Sequence[str]) -> Moving:
    context = driven.new_context(viewport={"width": 1400, "height": 900})
    page = window(context)
    page.add_init_script(WATCH)
    page.goto(url, wait_until="load", timeout=MINUTES)
    page.wait_for_timeout(1000)
    page.keyboard.press("/")
    page.evaluate(FOUND)
    page.locator("#query").fill(word)
    found = _taken(page)
    page.wait_for_function(COUNTED, timeout=MINUTES)
    hits = int(re.sub(r"\D", "", page.locator("#found").inner_text().split("of")[-1]))
    following = median(_next(page) for _ in range(10))
    context.close()
    links = [_linked(driven, f"{url}#{anchor}", anchor) for anchor in anchors]
    return Moving(
        opened, found, hits, following,
        median(took for took, _ in links), max(off for _, off in links),
    )  # fmt: skip


WATCH = """
  // How long it took until a frame was drawn in which something is seen.
  const whenDrawn = (seen, since) => new Promise((tell) => {
    const look = () => {
      if (!seen()) return requestAnimationFrame(look);
      const drawn = new MessageChannel();
      drawn.port1.onmessage = () => tell(performance.now() - since());
      // It is there when a frame begins: what is posted now comes after that frame.
      return drawn.port2.postMessage(null);
    };
    requestAnimationFrame(look);
  });
  let key = 0;
  for (const kind of ["keydown", "input"]) {
    addEventListener(kind, (event) => { key = event.timeStamp; }, { capture: true });
  }
  const inView = ({ top, height }) => height > 0 && top >= 0 && top < innerHeight;
  const hit = () => [...(CSS.highlights.get("found") ?? [])][0];
  window.waitForHit = () => {
    const count = document.getElementById("found");
    const before = { hit: hit(), count: count.textContent };
    window.taken = whenDrawn(
      () => hit() && hit() !== before.hit && inView(hit().getBoundingClientRect())
        && count.textContent !== before.count && /\\d of \\d/.test(count.textContent),
      () => key,
    );
  };
  window.waitForStep = (anchor) => {
    window.taken = whenDrawn(() => {
      const step = document.getElementById(anchor);
      return step?.checkVisibility({ visibilityProperty: true, opacityProperty: true })
        && inView(step.getBoundingClientRect());
    }, () => 0);
  };
"""
FOUND = "() => waitForHit()"
COUNTED = "() => /^\\d+ of \\d+$/.test(document.getElementById('found').textContent)"


def _taken(page: Page) -> float:
    """Milliseconds until what is waited for was drawn."""
    return float(page.evaluate("() => taken"))


def _next(page: Page) -> float:
    page.evaluate(FOUND)
    page.locator("#query").press("Enter")
    return _taken(page)


OFF = """(anchor) => Math.abs(document.getElementById(anchor).getBoundingClientRect().top
  - document.getElementById("tools").getBoundingClientRect().bottom - 8)"""


def _linked(driven: Browser, url: str, anchor: str) -> tuple[float, float]:
    context = driven.new_context(viewport={"width": 1400, "height": 900})
    page = window(context)
    page.add_init_script(f"{WATCH}\nif (location.hash) waitForStep({json.dumps(anchor)});")
    page.goto(url, wait_until="commit", timeout=MINUTES)
    took = _taken(page)
    page.wait_for_timeout(1000)
    off = float(page.evaluate(OFF, anchor))
    context.close()
    return took, off
