"""What the site's scripts are made of, as the browser tells that compiles them."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Error, Page, expect

from kbsite import assets
from tests.browser import pointer
from tests.browser.conftest import Open
from tests.browser.witness import Witness

pytestmark = pytest.mark.browser

MOST_LINES = 60
"""Of a function, as of those in Python; comments in joined scripts are not counted."""

PAGES = ["index.html", "demo/index.html", "runs/index.html", "compare/index.html"]
"""Pages whose scripts call what they are made of there only."""


class Function(NamedTuple):
    """A function of a script, by where it stands there."""

    script: str
    start: int
    end: int

    def is_within(self, other: Function) -> bool:
        same = self.script == other.script and self != other
        return same and other.start <= self.start and self.end <= other.end

    @property
    def lines(self) -> int:
        held = assets.static(self.script).decode("utf-8")[self.start : self.end]
        return held.count("\n") + 1


def acted(page: Page) -> None:
    """What a page waits for until there is somebody."""
    pointer.move(page, 200, 200)
    page.wait_for_load_state("networkidle")


def calls(session: CDPSession) -> Counter[Function]:
    """How often functions of the site's own scripts were called since this was asked before."""
    told = session.send("Profiler.takePreciseCoverage")["result"]
    found: Counter[Function] = Counter()
    for script in told:
        name = script["url"].partition("/static/")[2]
        if not name or name.startswith("vendor/"):
            continue
        for function in script["functions"]:
            whole = function["ranges"][0]
            found[Function(name, whole["startOffset"], whole["endOffset"])] += whole["count"]
    return found


@pytest.fixture(scope="module", name="called")
def _called(site: Path, served: str, chromium: Browser) -> Counter[Function]:
    """How often functions of all scripts were called, on pages of theirs or just loaded."""
    page = chromium.new_page()
    session = page.context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": False})
    run = min(site.glob("runs/*claude*/index.html")).relative_to(site).as_posix()
    found: Counter[Function] = Counter()
    for path in [*PAGES, run]:
        page.goto(f"{served}{path}")
        acted(page)
        found.update(calls(session))
    names = {name for name, _ in assets.static_files() if name.endswith(".js") and "/" not in name}
    for name in sorted(names - {function.script for function in found}):
        with contextlib.suppress(Error):
            page.add_script_tag(url=f"{served}static/{name}")
        found.update(calls(session))
    page.evaluate("kbsiteByWord({ firsts: '', names: '' })")  # words.js waits for a large site
    found.update(calls(session))
    page.close()

    assert {function.script for function in found} == names
    return found


def test_no_function_is_longer_than_one_can_overlook(called: Counter[Function]) -> None:
    """The outermost functions of a file are what it is: the bound is that of those within them.

    The browser tells a function once that around it was compiled, whether it was called or not:
    untold are those alone that are within one that was not called, and no longer than that.
    """
    around = {one: sum(map(one.is_within, called)) for one in called}
    outermost = {function for function in called if around[function] == 1}

    assert {one for one in called if around[one] > 1 and one.lines > MOST_LINES} == set()
    assert {one for one in outermost if not called[one] and one.lines > MOST_LINES} == set()


def test_files_of_a_script_give_each_other_what_stands_in_kbsite_alone(open_run: Open) -> None:
    page = open_run()
    own = "() => Object.getOwnPropertyNames(window)"
    session = page.context.new_cdp_session(page)
    before = set(page.evaluate(own))
    acted(page)
    page.wait_for_function("() => window.kbsite?.find")

    assert set(page.evaluate(own)) - before == {"kbsite"}
    session.send("Runtime.enable")
    assert session.send("Runtime.globalLexicalScopeNames") == {"names": []}


LOST = {
    "compare/index.html?runs=a,b": ("diff.js", "compare_draw.js", "compare.js"),
    "explore/index.html": ("explore/data.js", "plotly-basic.min.js", "explore.js"),
    "runs/index.html?q=claude": ("runs.js",),
    "audits/index.html": ("runs.js",),
    "snapshots.html": ("diff.js", "snapshots.js"),
}


@pytest.mark.parametrize("path", LOST)
def test_a_reader_is_told_where_scripts_are_lost_and_only_then(
    site: Path, context_of: functools.partial[BrowserContext], path: str
) -> None:
    page, witness = context_of().new_page(), Witness()
    page.on("pageerror", lambda error: witness.errors.append(str(error)))
    if path == "snapshots.html":
        # One of a single state has nothing to put side by side.
        several = (page for page in sorted(site.rglob(path)) if "unscripted" in page.read_text())
        path = next(several).relative_to(site).as_posix()
    told = page.locator("#unscripted")
    page.goto(f"{site.as_uri()}/{path}")
    expect(told).to_have_count(0)
    for script in LOST[path if path in LOST else "snapshots.html"]:
        page.route(f"**/{script}", lambda route: route.abort())
        page.reload()
        assert told.evaluate("(held) => held.offsetHeight") == 0, script
        page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        expect(told).to_contain_text("which is not here, or not yet")
        assert witness.errors == []
        page.unroute(f"**/{script}")
