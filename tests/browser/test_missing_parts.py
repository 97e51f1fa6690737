"""Parts of a transcript that cannot be had for a while: what is told, and what comes by itself."""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import Open
from tests.browser.finding import find
from tests.browser.long_session import FAILED, LONG_ROUND, line_of
from tests.browser.waiting import ANSWERED, address_holds, at_rest

pytestmark = pytest.mark.browser

PARTS = "**/steps-*.html"
LATER = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture(name="cut_off")
def _cut_off(run_address: str, context_of: functools.partial[BrowserContext]) -> Page:
    """The run's page, whose first steps one stands in, when no other page can be had any more."""
    page = context_of().new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route(PARTS, lambda route: route.abort())
    page.goto(run_address)
    page.keyboard.press("j")
    expect(page.locator(".steps > li.here")).to_have_count(1)
    page.errors = errors  # type: ignore[attr-defined]
    return page


@pytest.mark.parametrize("way", ["hash", "key", "find"])
def test_what_cannot_be_gone_to_is_told_and_is_gone_to_once_it_can(cut_off: Page, way: str) -> None:
    page, said = cut_off, cut_off.locator("#said")
    anchor = f"L{line_of(FAILED[0]) + 1}"

    def go() -> None:
        if way == "hash":
            page.evaluate("location.hash = ''")
            page.evaluate(f"location.hash = '{anchor}'")
        elif way == "key":
            page.locator("#keys").evaluate("field => field.blur()")
            page.keyboard.press("e")
        else:
            find(page, f"--round {FAILED[0]}")
            page.keyboard.press("Enter")

    if way == "find":
        find(page, "secret thought 30")
        told = page.locator("#found")
        expect(told).to_have_text(re.compile("parts could not be read"))
    else:
        go()
        expect(said).to_have_text(re.compile("could not be loaded$"))
    page.unroute(PARTS)
    go()

    expect(page.locator(".steps > li.here")).to_have_id(anchor)
    assert page.errors == []  # type: ignore[attr-defined]


def test_who_follows_a_link_to_a_step_comes_to_it_though_an_answer_was_lost(
    run_address: str, context_of: functools.partial[BrowserContext]
) -> None:
    page, anchor = context_of().new_page(), f"L{line_of(FAILED[0]) + 1}"
    page.route(PARTS, lambda route: route.fulfill(status=503), times=1)
    page.goto(f"{run_address}#{anchor}")

    expect(page.locator(f"#{anchor}")).to_be_in_viewport()


def test_steps_that_could_not_be_had_come_by_themselves_once_they_can(cut_off: Page) -> None:
    page = cut_off
    page.locator("section.part").nth(2).scroll_into_view_if_needed()
    links = page.locator("section.part > a")
    expect(page.locator("#said")).to_have_text("some steps could not be loaded")
    before = links.count()
    page.unroute(PARTS)

    page.wait_for_function(
        "(n) => document.querySelectorAll('section.part > a').length < n", arg=before
    )
    expect(page.locator("#said")).to_have_text("")
    assert page.errors == []  # type: ignore[attr-defined]


def test_the_network_that_is_back_is_asked_at_once(cut_off: Page) -> None:
    page = cut_off
    # No timer of the page ends: nothing is asked because its time has come.
    page.clock.install()
    page.reload()
    page.clock.pause_at(LATER)
    asked: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.locator("section.part").nth(2).scroll_into_view_if_needed()
    expect(page.locator("#said")).to_have_text("some steps could not be loaded")
    before = -1
    while before < len(asked) or len(failed) < len(asked):
        before = len(asked)
        page.wait_for_timeout(500)
    page.unroute(PARTS)
    with page.expect_request(PARTS):
        page.evaluate("window.dispatchEvent(new Event('online'))")


def test_a_hit_in_a_text_that_cannot_be_had_leaves_the_reader_where_he_is(
    run_address: str, context_of: functools.partial[BrowserContext], run_folder: Path
) -> None:
    assert (run_folder / f"text-L{line_of(LONG_ROUND) + 1}-1.html").exists()
    page = context_of().new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/text-*.html", lambda route: route.abort())
    page.goto(f"{run_address}#L{line_of(LONG_ROUND) + 1}:3000")
    expect(page.locator(".steps > li.here")).to_have_id(f"L{line_of(LONG_ROUND) + 1}")
    expect(page.locator("#said")).to_have_text("the whole text could not be loaded")

    assert errors == []


def test_a_list_of_runs_that_cannot_be_had_says_so_and_is_asked_for_again(
    served: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/data/runs.js", lambda route: route.abort())
    page.goto(f"{served}runs/index.html")
    every = page.locator("#runs tbody tr:not(.board)").count()
    page.locator("#query").fill("gemini")
    told = page.locator("#told")
    expect(told).to_have_text(re.compile("could not be loaded"))
    expect(page.locator("#runs tbody tr:not(.board)")).to_have_count(every)
    page.unroute("**/data/runs.js")
    page.locator("#query").fill("codex")

    expect(told).to_have_text(re.compile(rf"^\d of {every} runs$"))
    assert errors == []


@pytest.mark.parametrize("open_run", ["http"], indirect=True)
def test_the_first_error_is_gone_to_though_the_part_of_a_later_one_comes_first(
    open_run: Open,
) -> None:
    """A server, as a disk, answers in whatever order."""
    page = open_run()
    first, second = (page.locator(f"#L{line_of(n) + 1}") for n in FAILED)
    asked: list[Route] = []

    def wait(route: Route) -> None:
        asked.append(route)

    page.route("**/steps-0003.html", wait)
    page.locator('.chip[data-mark="is-error"]').click()
    expect(second).to_be_visible()
    expect(first).to_have_count(0)
    page.keyboard.press("e")
    at_rest(page, ANSWERED)
    expect(page.locator(".steps > li.here")).to_have_count(0)
    for route in asked:
        route.continue_()

    expect(first).to_be_focused()
    address_holds(page, f"#{first.get_attribute('id')}")
