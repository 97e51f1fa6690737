"""What a page costs the browser that opens it, and what it lets others do there."""

from __future__ import annotations

import gzip
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    TimeoutError,  # noqa: A004 - Playwright's, which is none of Python's
    sync_playwright,
)

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SLOW = 4
"""How many times slower the processor of a phone is taken to be."""
REST = 1_500
"""Milliseconds for which a new window is left alone before a page is opened in it.

Chromium loads what its own frame shows meanwhile, hundreds of files on the same processors: whoever
follows a link has waited for that long before.
"""
MINUTES = 120_000
"""Milliseconds that a page may take: some take half a minute."""

MOST_ELEMENTS = 100_000
"""Elements of the largest page that is held to the rules: that takes a minute already."""

WATCH = """() => {
  window.blocked = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.blocked += Math.max(0, task.duration - 50);
  }).observe({ type: "longtask", buffered: true });
}"""
"""Adds up for how long tasks kept the reader waiting: total blocking time."""

TIMES = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  return { load: page.loadEventEnd, text: paint ? paint.startTime : page.loadEventEnd,
           elements: document.querySelectorAll("*").length, blocked: window.blocked,
           probes: (window.probes ?? []).length };
}"""


@dataclass(frozen=True, slots=True)
class Opening:
    """What opening a page costs and shows."""

    elements: int
    requests: int
    weight: int
    """Bytes of everything that is loaded, compressed."""
    text: float
    """Milliseconds until text is on the screen, of the fastest opening; likewise below."""
    load: float
    """Milliseconds until everything is loaded."""
    blocked: float
    """Milliseconds of total blocking time."""
    slow: float
    """Milliseconds until everything is loaded where the processor is SLOW times slower; infinite
    where that takes longer than MINUTES."""
    heap: float
    """MB of JavaScript's memory."""
    probes: int
    """Scripts out of the transcript that were executed."""
    foreign: int
    """Requests to other hosts."""
    violations: int | None
    """Rules of WCAG 2.1 AA that the page breaks; None where it is too large to be held to them."""


def openings(pages: Mapping[str, Path], times: int) -> dict[str, Opening]:
    """What each page costs, by its name, from a server on this machine; nothing without a browser.

    They are opened in turns, so many rounds of them: a browser opens a page sooner that it has just
    had, and the first one later. A page is served with all that lies in the folder two above a
    run's page, or in its own.
    """
    with browser() as driven, ExitStack() as servers:
        if driven is None:
            return {}
        places = {name: _place(page, servers) for name, page in pages.items()}
        told: dict[str, list[Mapping[str, float]]] = {name: [] for name in pages}
        for _ in range(times):
            for name, (url, _) in places.items():
                told[name].append(_timed(driven, url, 1))
        return {
            name: _opening(driven, url, root, times, told[name])
            for name, (url, root) in places.items()
        }


def _place(page: Path, servers: ExitStack) -> tuple[str, Path]:
    """The address at which a page is served until the servers end, and the folder of all of it."""
    root = page.parents[2] if page.parent.parent.name == "runs" else page.parent
    start = servers.enter_context(serving(root))
    return f"{start}{page.relative_to(root).as_posix()}", root


@contextmanager
def browser() -> Iterator[Browser | None]:
    """The system's Chromium; None where there is none."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        yield None
        return
    with sync_playwright() as driver:
        driven = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield driven
        driven.close()


def window(context: BrowserContext) -> Page:
    """A new window whose browser is at rest: what is timed in it is the page."""
    page = context.new_page()
    page.goto("about:blank")
    page.wait_for_timeout(REST)
    return page


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: the tables do."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address at which a folder is served until the end of the block."""

    def handler(*args: object) -> _Quiet:
        return _Quiet(*args, directory=str(folder))  # type: ignore[arg-type]

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def _opening(
    driven: Browser, url: str, root: Path, times: int, told: Sequence[Mapping[str, float]]
) -> Opening:
    slow = _slow(driven, url, times)
    context = driven.new_context()
    page = context.new_page()
    asked: list[Request] = []
    # A function of its own: the driver cannot hang its mark on one of a list.
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108
    page.goto(url, wait_until="load", timeout=MINUTES)
    page.wait_for_timeout(500)
    heap = _heap(page)
    loaded = [request for request in asked if not request.url.startswith(("data:", "blob:"))]
    own = [request for request in loaded if urlsplit(request.url).hostname == "127.0.0.1"]
    # From disk: a browser does not keep the whole of a page of 16 MB for others to read.
    files = [root / unquote(urlsplit(request.url).path).lstrip("/") for request in own]
    held = [file.read_bytes() for file in files if file.is_file()]
    weight = sum(len(gzip.compress(data, 6, mtime=0)) for data in held)
    violations = None
    if told[-1]["elements"] <= MOST_ELEMENTS:
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
        violations = Axe().run(page, options=rules).violations_count
    context.close()
    return Opening(
        elements=int(told[-1]["elements"]),
        requests=len(own),
        weight=weight,
        text=min(one["text"] for one in told),
        load=min(one["load"] for one in told),
        blocked=min(one["blocked"] for one in told),
        slow=slow,
        heap=heap,
        probes=int(max(one["probes"] for one in told)),
        foreign=len([request for request in loaded if request not in own]),
        violations=violations,
    )


def _slow(driven: Browser, url: str, times: int) -> float:
    try:
        return min(_timed(driven, url, SLOW)["load"] for _ in range(times))
    except TimeoutError:
        # Nobody waits as long, and what else is measured is not to be lost for it.
        return math.inf


def _timed(driven: Browser, url: str, slower: int) -> Mapping[str, float]:
    with closing(driven.new_context()) as context:
        page = window(context)
        session = context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        page.add_init_script(f"({WATCH})()")
        page.goto(url, wait_until="load", timeout=MINUTES)
        page.wait_for_timeout(300)
        told: Mapping[str, float] = page.evaluate(TIMES)
        return told


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize")) / 1e6
