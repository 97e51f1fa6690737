"""A page that is open while what it shows changes: it follows, at the place where its reader is."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.serving.builder import Source
from kbsite.store.settings import Settings
from kbsite.store.writing import write_text
from tests.browser.finding import find
from tests.browser.long_session import ROUNDS, session
from tests.browser.waiting import ANSWERED, at_rest, wait_until
from tests.browser.witness import Witness
from tests.conftest import MakeRun, MakeSettings
from tests.serving.running import Running, running, until

LOG = "home/.claude/projects/-w/s.jsonl"


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", model="other", audit={})
    make_run(settings.runs / "demo", model="read", audit={}, transcript={LOG: session()})
    return settings


def run_of(settings: Settings, model: str) -> Path:
    return next((settings.runs / "demo").glob(f"*_{model}_*"))


@pytest.fixture(name="server")
def _server(settings: Settings) -> Iterator[Running]:
    with running(settings.out, Source(settings.path)) as server:
        assert server.built().errors == ()
        yield server


@pytest.fixture(name="page")
def _page(
    settings: Settings, server: Running, context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Page:  # fmt: skip
    page = context_of().new_page()
    witness.watch(page)
    page.goto(f"{server.url}runs/{run_of(settings, 'read').name}/")
    # Gone after a reload, which a click of a person would be as well.
    page.evaluate("window.first = true")
    return page


def amend(run: Path, old: str, new: str) -> None:
    audit = run / "audit.yaml"
    write_text(audit, audit.read_text().replace(old, new))


def test_an_open_page_follows_an_audit_and_shows_what_is_wrong_with_it(
    settings: Settings, server: Running, page: Page, witness: Witness
) -> None:
    run = run_of(settings, "read")
    told = page.locator("#kbsite-live")
    expect(told).to_be_hidden()

    amend(run, "It computes", "It now computes")
    expect(page.locator("main")).to_contain_text("It now computes")
    assert page.evaluate("window.first") is None

    amend(run, "verdict: clean", "verdict: <b>nonsense</b>")
    expect(told).to_contain_text("audit.yaml")
    expect(told).to_contain_text("<b>nonsense</b>")

    amend(run, "verdict: <b>nonsense</b>", "verdict: clean")
    expect(told).to_be_hidden()
    expect(page.locator("main")).to_contain_text("It now computes")
    assert witness.errors == []
    assert witness.foreign(server.url) == set()


def test_a_reader_stays_where_he_was(settings: Settings, page: Page) -> None:
    run = run_of(settings, "read")
    expect(page.locator("#kbsite-live")).to_be_hidden()
    page.wait_for_function("scrollTo(0, 1500), scrollY > 1000")
    page.wait_for_function(
        "() => { const last = window.last; window.last = scrollY; return last === scrollY }",
        polling=200,
    )
    before = page.evaluate("scrollY")
    amend(run, "It computes", "It now computes")
    expect(page.locator("main")).to_contain_text("It now computes")

    until(lambda: abs(page.evaluate("scrollY") - before) < 100)


def test_who_types_goes_on_typing_where_he_was(settings: Settings, page: Page) -> None:
    """The letters after a reload would be keys that lead elsewhere."""
    run = run_of(settings, "read")
    expect(page.locator("#kbsite-live")).to_be_hidden()
    find(page, "secret thought")
    expect(page.locator("#found")).to_have_text(f"1 of {ROUNDS}")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text(f"2 of {ROUNDS}")
    amend(run, "It computes", "It now computes")
    expect(page.locator("main")).to_contain_text("It now computes")
    expect(page.locator("#found")).to_have_text(f"2 of {ROUNDS}")
    expect(page.locator(".steps > li.here")).to_contain_text("secret thought 1")
    page.keyboard.type(" 14")

    expect(page.locator("#query")).to_have_value("secret thought 14")
    expect(page.locator("#found")).to_have_text("1 of 11")


def test_a_page_that_did_not_change_is_left_alone(
    settings: Settings, server: Running, page: Page
) -> None:
    """The page of another run: nothing on it is new, and what is typed there stays."""
    expect(page.locator("#kbsite-live")).to_be_hidden()
    asked: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    page.on("response", lambda response: told.append(response.request.method))
    amend(run_of(settings, "other"), "It computes", "It now computes")
    assert server.built().written
    wait_until(page, lambda: told.count("HEAD") == asked.count("HEAD") > 0)
    at_rest(page, ANSWERED)

    assert page.evaluate("window.first") is True
