"""A reader moves through the states of solution.py and sees what differs between any two."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build
from tests.browser.axe import broken, open_all
from tests.browser.once import once
from tests.browser.server import serving
from tests.browser.test_accessibility import CORNERS
from tests.browser.waiting import ANSWERED, address_ends, at_rest
from tests.browser.witness import Witness
from tests.conftest import MakeRun, MakeSettings
from tests.pages.changing import LOG, changing, version

pytestmark = pytest.mark.browser

MANY = 230
"""States of the run "many": they stand on three pages."""
HOSTILE = '<img src=x onerror=alert(1)>\n"""</pre><script>alert(2)</script>\n\u202e\0\n'
WAYS = ["file", "http"]


@pytest.fixture(scope="session", name="folder")
@once
def _folder(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    """A site of a run with many states, one of few hostile ones, and its copies."""
    settings = make_settings(home)
    board = home / "runs" / "demo"
    many = [version(number) for number in range(1, MANY + 1)]
    make_run(board, run_id="many", transcript={LOG: changing(many, (50, 200))},
             files={"solution.py": many[-1].encode()})  # fmt: skip
    few = [version(1), HOSTILE, version(3), HOSTILE]
    make_run(board, run_id="few", transcript={LOG: changing(few, (2,))}, model=HOSTILE,
             files={"solution.py": b"by hand\n", "snapshots/20260102T030411Z.py": b"else\n",
                    f"snapshots/{'<b>' * 5}.py": b"and more\n"})  # fmt: skip
    return build(settings).out


@pytest.fixture(name="start", params=WAYS)
def _start(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    if request.param == "file":
        yield f"{folder.as_uri()}/"
        return
    with serving(folder.parent) as address:
        yield f"{address}{folder.name}/"


def text(page: Page) -> str:
    """The whole text that is shown, once it is."""
    page.locator("#as-text").click()
    expect(page.locator("#shown-told")).to_contain_text(re.compile("lines?$"))
    return str(page.locator("#shown").text_content())


def test_back_leads_to_the_state_that_was_gone_to_and_the_slider_goes_along_in_one_entry(
    start: str, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of().new_page()
    witness.watch(page)
    page.goto(f"{start}runs/many/snapshots.html")
    state, told = page.locator("#state"), page.locator("#shown-told")
    expect(told).to_contain_text(f"to state {MANY}")
    plain = page.evaluate("history.length")
    page.evaluate("location.hash = 'state-100'")
    expect(told).to_contain_text("from state 99 to state 100")
    for _ in range(3):
        state.press("ArrowRight")
    page.locator("#as-text").click()
    expect(told).to_contain_text("state 103, ")
    assert page.evaluate("history.length") == plain + 2
    page.go_back()
    expect(told).to_contain_text("from state 99 to state 100")
    expect(state).to_have_value("100")
    address_ends(page, "snapshots.html#state-100")
    page.go_forward()
    expect(told).to_contain_text("state 103, ")
    page.go_back()
    page.go_back()

    expect(state).to_have_value(str(MANY))
    assert witness.errors == []


def test_an_address_opens_its_state_wherever_it_stands(
    start: str, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of().new_page()
    witness.watch(page)
    for number in (1, 2, 120, MANY):
        page.goto("about:blank")
        page.goto(f"{start}runs/many/snapshots.html#state-{number}")
        expect(page.locator("#state")).to_have_value(str(number))
        expect(page.locator("#state")).to_be_in_viewport()

        assert text(page) == version(number)
    assert witness.errors == []
    assert witness.foreign(start) <= {"about:blank"}


def test_a_state_that_could_not_be_loaded_is_told_and_asked_for_again(
    folder: Path, context_of: functools.partial[BrowserContext]
) -> None:
    with serving(folder) as start:
        page = context_of().new_page()
        page.goto(f"{start}runs/many/snapshots.html")
        page.route("**/snapshots-*.html", lambda route: route.abort())
        page.locator("#state").fill("120")
        told = page.locator("#shown-told")
        expect(told).to_have_text("state 120: the page that holds its text could not be loaded")
        page.unroute("**/snapshots-*.html")

        assert text(page) == version(120)


def test_a_page_that_is_opened_at_no_state_starts_at_its_top(
    start: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto(f"{start}runs/few/snapshots.html")
    expect(page.locator("#shown-told")).to_contain_text("from state")
    at_rest(page, ANSWERED)

    address_ends(page, "snapshots.html")
    assert page.evaluate("scrollY") == 0


def test_any_two_states_can_be_compared_with_the_keyboard_alone(
    start: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto(f"{start}runs/many/snapshots.html")
    page.locator("#state").focus()
    page.keyboard.press("Home")
    expect(page.locator("#shown-told")).to_have_text(re.compile(r"^state 1, the first, \d+ lines$"))
    assert page.locator("#shown").text_content() == version(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#shown-told")).to_have_text("from state 1 to state 2: +2 −2")
    assert "2 of 230, 00:05, a guess" in str(page.locator("#state").get_attribute("aria-valuetext"))
    # Who hears the page is told where a slider is by the slider, and not once more beside it.
    for told in ("#state-told", "#since-told"):
        expect(page.locator(told)).to_have_attribute("aria-live", "off")

    page.keyboard.press("End")
    expect(page.locator("#shown-told")).to_have_text(
        f"from state {MANY - 1} to state {MANY}: +2 −2"
    )
    page.locator("#before").focus()
    page.keyboard.press("Space")
    page.locator("#since").focus()
    page.keyboard.press("Home")
    expect(page.locator("#shown-told")).to_contain_text(f"from state 1 to state {MANY}")
    address_ends(page, f"?since=1#state-{MANY}")
    shown = page.locator("#shown")
    expect(shown.locator("del")).to_contain_text("x = x + -1")

    page.reload()
    expect(page.locator("#shown-told")).to_contain_text(f"from state 1 to state {MANY}")
    expect(page.locator("#since")).to_have_value("1")


def test_hostile_texts_are_shown_and_do_nothing(
    start: str, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of().new_page()
    witness.watch(page)
    page.goto(f"{start}runs/few/snapshots.html#state-4")

    assert text(page) == HOSTILE.replace("\u202e", "\\u202e").replace("\0", "␀")
    expect(page.locator(".note.tone-warn", has_text="differ")).to_be_visible()
    for number in range(1, int(str(page.locator("#state").get_attribute("max"))) + 1):
        page.locator("#state").fill(str(number))
        expect(page.locator("#shown-told")).to_contain_text(f"state {number},")
    assert witness.dialogs == []
    assert witness.errors == []
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_without_javascript_each_change_can_be_read(
    width: int, start: str, context_of: functools.partial[BrowserContext]
) -> None:
    size: Any = {"width": width, "height": 800}
    page = context_of(java_script_enabled=False, viewport=size).new_page()
    page.goto(f"{start}runs/many/snapshots.html#state-2")

    expect(page.locator("#view")).to_be_hidden()
    expect(page.locator("#state-2")).to_be_in_viewport()
    expect(page.locator("#state-2 .diff ins")).to_contain_text("x = x + -2")
    page.locator("#state-150 a").click()
    expect(page.locator("#state-150 .diff ins").first).to_contain_text("x = x +")
    page.get_by_role("link", name="the run's page").click()
    expect(page.locator("#trajectory")).to_be_attached()


def test_the_chart_of_a_run_leads_to_the_solution_as_it_stood(
    start: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto(f"{start}runs/many/index.html")
    page.locator("#trajectory summary", has_text="as a table").first.click()
    page.locator("#trajectory").get_by_role("link", name="state 200").first.click()

    expect(page.locator("#state")).to_have_value("200")
    assert text(page) == version(200)


@pytest.mark.parametrize("screen", CORNERS)
def test_no_page_of_snapshots_breaks_a_rule(
    screen: dict[str, Any], folder: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    wrong = []
    for name in ("few/snapshots.html", "many/snapshots-2.html"):
        page.goto(f"{(folder / 'runs' / name).as_uri()}")
        assert page.locator("main pre[tabindex]:not([aria-labelledby])").count() == 0
        open_all(page)
        wrong += broken(page)
        width = screen["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    assert wrong == []


def test_the_browser_finds_the_shortest_difference(
    folder: Path, context_of: functools.partial[BrowserContext]
) -> None:
    random = Random(1)
    pairs = [
        [[random.choice("abcd") for _ in range(random.randrange(12))] for _ in range(2)]
        for _ in range(300)
    ]
    page = context_of(bypass_csp=True).new_page()
    page.goto(f"{(folder / 'runs/few/snapshots.html').as_uri()}")
    found = page.evaluate(
        f"{json.dumps(pairs)}.map(([before, after]) => lineDiff.changes(before, after))"
    )

    for (before, after), changes in zip(pairs, found, strict=True):
        assert [c["text"] for c in changes if c["sign"] != "+"] == before
        assert [c["text"] for c in changes if c["sign"] != "-"] == after
        assert sum(c["sign"] == " " for c in changes) == longest_common(before, after)


def test_what_follows_the_last_line_end_is_no_line(
    start: str, context_of: functools.partial[BrowserContext]
) -> None:
    """A text of n lines was told to have n + 1, and its difference ended with an empty one."""
    page = context_of(bypass_csp=True).new_page()
    page.goto(f"{start}runs/many/snapshots.html#state-{MANY}")
    count = len(text(page).splitlines())
    expect(page.locator("#shown-told")).to_have_text(f"state {MANY}, {count} lines")
    found = page.evaluate(
        """[["a\\nb\\n", "a\\nc\\n"], ["a\\n", "a"], ["", "a\\n"]].map(([one, other]) =>
          lineDiff.hunks(lineDiff.changes(one.split("\\n"), other.split("\\n"))).map(
            ({ sign, text }) => sign + text))"""
    )

    assert found == [
        ["@@@ -1,2 +1,2 @@", " a", "-b", "+c"], ["@@@ -1,2 +1 @@", " a", "-"],
        ["@@@ -0,0 +1 @@", "+a"],
    ]  # fmt: skip


def longest_common(one: list[str], other: list[str]) -> int:
    row = [0] * (len(other) + 1)
    for line in one:
        last = row
        row = [0]
        for at, there in enumerate(other):
            row.append(last[at] + 1 if line == there else max(row[-1], last[at + 1]))
    return row[-1]
