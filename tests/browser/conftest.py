"""Sites to look at, a server under a sub-path, and the system's Chromium."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from kbsite.build import build, override
from kbsite.store.settings import CONFIG, read_settings
from tests.browser.full_site import full_site
from tests.browser.long_session import HIDDEN, QUOTED, SOLUTION, child, line_of, session
from tests.browser.once import once
from tests.browser.server import serving
from tests.browser.witness import Opened, Witness
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings

Open = Callable[..., Page]
"""Opens the page of a run, with what follows its address and the options of a context."""

VEILED_FIRST = """
  new MutationObserver(() => {
    if (!document.querySelector("html.veiled")) return;
    window.veiledFirst ??= !document.getElementById("main");
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ["class"] });
"""
"""A script for a new page: whether nothing of it could be drawn when it was veiled."""

LIKE_SAFARI = """
  const supports = CSS.supports.bind(CSS);
  CSS.supports = (name, ...rest) => name !== "overflow-anchor" && supports(name, ...rest);
  document.addEventListener("DOMContentLoaded", () => {
    document.documentElement.style.overflowAnchor = "none";
  });
  delete window.onscrollend;
  window.addEventListener("scrollend", (event) => event.stopImmediatePropagation(), true);
  const seen = new WeakSet();
  document.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
    if (skipped) seen.delete(target);
    else seen.add(target);
  }, true);
  const isLaidOut = ({ startContainer: node }) => {
    const piece = (node instanceof Element ? node : node.parentElement).closest("pre > span");
    return !piece || seen.has(piece) || getComputedStyle(piece).contentVisibility !== "auto";
  };
  for (const [name, none] of [
    ["getClientRects", () => []], ["getBoundingClientRect", () => new DOMRect()],
  ]) {
    const own = Range.prototype[name];
    Range.prototype[name] = function told() { return isLaidOut(this) ? own.call(this) : none(); };
  }
"""
"""A script for a new page: nobody stays with what he sees, or is told that a glide has ended, or
where text is that is not laid out."""

PATIENT = """
  const after = setTimeout;
  window.setTimeout = (act, late, ...given) => after(
    late === 3000 ? () => window.impatient && act() : act, late, ...given);
"""
"""A script for a new page: it waits for run.js however long that takes, until it is `impatient`.

A page lets go of it 3 s after an act (LONG in templates/parts/boot.html), which a machine at work
may need to bring it.
"""

LATEST = 60_000
"""Milliseconds until what is waited for is taken not to come: nothing here is about time."""

BEFORE = Path(__file__).with_name("before.html")
"""What is opened from disk before a page is, whose stores are there then when it is loaded anew."""

CHILD = "home/.claude/projects/-w/s/subagents/agent-a1.jsonl"

ROOT = Path(__file__).parents[2]
# The window of a page brings a field to search with, and that a process of its own: half of what
# a new page costs. The last list counts, so that it names again what Playwright turns off, too.
# With RenderDocument a page from disk that is loaded anew on a busy machine asks for its stores
# before it may have them, and meets empty ones: 33 of 1,200 with eight browsers at work, none
# without it where another file was opened before.
UNUSED = ["HttpsUpgrades", "LensOverlay", "MediaRouter", "OptimizationHints", "PaintHolding",
          "RenderDocument", "SpareRendererForSitePerProcess", "ThirdPartyStoragePartitioning",
          "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxPopup"]  # fmt: skip
# Chromium without its window, where there is one: opening a page costs six tenths of it then.
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
# Playwright has Chromium keep each picture in a file of /tmp: many containers have 64 MB of shared
# memory. Where there is room, in bytes, it lies in memory: opening a page costs a twelfth less.
MEMORY = Path("/dev/shm")
ROOM = 1_000_000_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
         "--in-process-gpu", f"--disable-features={','.join(UNUSED)}"]  # fmt: skip


@pytest.fixture(scope="session", name="home")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all that is made once for all processes of these tests."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path) -> Path:
    """The repository's own site, in a folder whose name is a sub-path of a server."""
    out = home / "served" / "sub path" / "kbsite"
    out.parent.mkdir(parents=True)
    built = build(override(read_settings(ROOT / CONFIG), None, None, out))

    assert built.findings == ()
    return out


@pytest.fixture(scope="session", name="full")
@once
def _full(
    home: Path, make_run: MakeRun, make_settings: MakeSettings, make_problem: MakeProblem,
    make_floors: MakeFloors,
) -> Path:  # fmt: skip
    """A site that shows every sign there is."""
    return full_site(home, make_run, make_settings, make_problem, make_floors)


@pytest.fixture(scope="session", name="served")
def _served(site: Path) -> Iterator[str]:
    """The address of the repository's site behind a web server, below a sub-path."""
    with serving(site.parents[1]) as start:
        yield f"{start}sub%20path/kbsite/"


@pytest.fixture(scope="session", name="playwright")
def _playwright() -> Iterator[Playwright]:
    # What comes late on a busy machine comes nevertheless.
    expect.set_options(timeout=LATEST)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session", name="chromium")
def _chromium(playwright: Playwright) -> Iterator[Browser]:
    names = (*SHELLS, "chromium", "chromium-browser", "google-chrome")
    found = [path for name in names if (path := shutil.which(name))]
    assert found, "no Chromium on this machine: install the package chromium (`make browser`)"
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    browser = playwright.chromium.launch(
        executable_path=found[0], args=FLAGS,
        ignore_default_args=["--disable-dev-shm-usage"] if roomy else None,
    )  # fmt: skip
    yield browser
    browser.close()


@pytest.fixture(name="witness")
def _witness() -> Witness:
    return Witness()


@pytest.fixture(name="context_of")
def _context_of(chromium: Browser) -> Iterator[functools.partial[BrowserContext]]:
    """Makes a context of the browser; all are closed after the test."""
    contexts: list[BrowserContext] = []

    def make(**options: object) -> BrowserContext:
        contexts.append(chromium.new_context(**options))  # type: ignore[arg-type]
        contexts[-1].set_default_timeout(LATEST)
        contexts[-1].add_init_script(PATIENT)
        return contexts[-1]

    yield functools.partial(make)
    for context in contexts:
        context.close()


WAYS = [
    pytest.param((way, script), id=f"{way}-{'js' if script else 'nojs'}")
    for way in ("file", "http")
    for script in (True, False)
]


@pytest.fixture(name="opened", params=WAYS)
def _opened(
    request: pytest.FixtureRequest,
    site: Path,
    served: str,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Opened:
    """The site from file:// and served under a sub-path, with JavaScript on and off."""
    way, script = request.param
    page = context_of(java_script_enabled=script).new_page()
    witness.watch(page)
    return Opened(page, f"{site.as_uri()}/" if way == "file" else served)


@pytest.fixture(scope="session", name="run_folder")
@once
def _run_folder(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(home, problems=[])
    log = "home/.claude/projects/-w/s.jsonl"
    board = home / "runs" / "demo"
    make_run(board, model="a-left", metrics={"peak_fraction": 0.9})
    at = line_of(QUOTED)
    quotes = [
        {"file": f"transcript/{log}", "lines": [at], "label": "the round", "text": "Round"},
        {"file": "solution.py", "lines": [1, 1], "label": "the line", "text": "def solve(x):"},
        {
            "file": f"transcript/{log}",
            "lines": [line_of(HIDDEN) - 1],
            "label": "the thought",
            "text": f"thought {HIDDEN}",
        },
    ]
    run = make_run(
        board, transcript={log: session(), CHILD: child()}, audit={"quotes": quotes},
        files={"solution.py": SOLUTION.encode()},
    )  # fmt: skip
    return build(settings).out / "runs" / run.name


@contextmanager
def opening(
    way: str, site: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> Iterator[Open]:
    """Opens pages of a site from disk or behind a server, given what follows the site's address.

    When the block ends, no page may have met an error, opened a dialog or asked another host.
    """
    with serving(site) as served:
        start = f"{site.as_uri()}/" if way == "file" else served

        def opened(rest: str, **options: object) -> Page:
            page = context_of(**options).new_page()
            if way == "file":
                page.goto(BEFORE.as_uri())
            witness.watch(page)
            page.goto(f"{start}{rest}")
            return page

        yield opened

    assert witness.errors == []
    assert witness.dialogs == []
    assert witness.foreign(start) == set()


@pytest.fixture(name="open_site", params=["file", "http"])
def _open_site(
    request: pytest.FixtureRequest,
    site: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Iterator[Open]:
    """Opens pages of the site of a module's tests, given what follows its address."""
    with opening(request.param, site, context_of, witness) as opened:
        yield opened


@pytest.fixture(name="open_run", params=["file", "http"])
def _open_run(
    request: pytest.FixtureRequest,
    run_folder: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Iterator[Open]:
    """Opens the run's page, given what follows its address."""
    with opening(request.param, run_folder.parents[1], context_of, witness) as opened:
        page = f"runs/{run_folder.name}/index.html"
        yield lambda rest="", **options: opened(f"{page}{rest}", **options)


@pytest.fixture(name="run_address", params=["file", "http"])
def _run_address(request: pytest.FixtureRequest, run_folder: Path) -> Iterator[str]:
    """The address of the run's page, for who opens it in a way of his own."""
    site = run_folder.parents[1]
    with serving(site) as served:
        start = f"{site.as_uri()}/" if request.param == "file" else served
        yield f"{start}runs/{run_folder.name}/index.html"
