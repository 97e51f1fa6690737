"""A run as one file does all that its pages on the site do, and asks for nothing."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.single_file import write
from kbsite.store.settings import CONFIG, read_settings
from tests.browser import test_finding, test_getting_around, test_transcript
from tests.browser.axe import broken, open_all
from tests.browser.conftest import Open
from tests.browser.long_session import LONG, LONG_ROUND, QUOTED, ROUNDS, line_of
from tests.browser.once import once
from tests.browser.server import serving
from tests.browser.test_accessibility import CORNERS
from tests.browser.test_hostile import ATTACKS, _hostile
from tests.browser.waiting import address_ends, wait_until
from tests.browser.witness import Witness
from tests.unpacking import carried

pytestmark = pytest.mark.browser

__all__ = ["_hostile"]

WITH_PAGES = {
    "test_without_a_script_the_parts_are_pages_that_lead_on",
    "test_a_quote_of_the_audit_leads_to_its_lines_and_back_to_the_map",
    "test_a_quote_leads_to_its_words_in_what_is_folded_and_they_lead_back",
    "test_a_long_output_can_be_opened_in_full",
    "test_without_a_script_marks_are_links_and_what_is_folded_away_is_there",
    "test_a_permalink_asks_for_its_part_before_the_page_is_read",
    "test_a_page_whose_part_does_not_come_shows_what_it_has",
    "test_what_was_done_before_what_finds_was_there_is_seen_by_it_and_kept",
    "test_how_to_find_is_kept_though_it_was_chosen_before_what_finds_was_there",
    "test_without_what_finds_a_link_to_lines_leads_to_their_step",
    "test_a_part_that_cannot_be_read_is_told_and_asked_for_again",
    "test_finding_is_loaded_for_a_pointer_that_moves_and_not_for_one_at_rest",
}
"""What holds for a site only, where parts and long texts are pages to go to, and find.js is asked
for."""

# The same tests as on the site: here `open_run` opens the file.
globals().update({
    name: held for module in (test_transcript, test_getting_around, test_finding)
    for name, held in vars(module).items() if name.startswith("test_") and name not in WITH_PAGES
})  # fmt: skip


def single(site: Path, run_id: str, folder: Path) -> Path:
    """The file of a run of a built site, written into a folder outside of the site."""
    return write(read_settings(site.parent / CONFIG), run_id, folder / "run.html").path


@pytest.fixture(scope="session", name="file")
@once
def _file(home: Path, run_folder: Path) -> Path:
    return single(run_folder.parents[1], run_folder.name, home)


@pytest.fixture(name="run_address", params=["file"])
def _run_address(file: Path) -> str:
    return file.as_uri()


# It holds all that it shows, so that few of the tests ask for it from a server as well.
@pytest.fixture(name="open_run", params=["file"])
def _open_run(
    request: pytest.FixtureRequest,
    file: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Iterator[Open]:
    """Opens the file, from disk or from a server: no error to the end, no request but for it."""
    with serving(file.parent) as served:
        start = file.as_uri() if request.param == "file" else f"{served}{file.name}"

        def opened(rest: str = "", **options: object) -> Page:
            page = context_of(**options).new_page()
            witness.watch(page)
            page.goto(f"{start}{rest}")
            return page

        yield opened

    assert witness.errors == []
    assert {re.split("[?#]", address)[0] for address in witness.addresses} == {start}


BOTH = pytest.mark.parametrize("open_run", ["file", "http"], indirect=True)


def long_step(page: Page) -> str:
    """Opens the link to the text that has a page of its own; the anchor of its step."""
    anchor = f"L{line_of(LONG_ROUND) + 1}"
    page.goto(f"{page.url.partition('#')[0]}#{anchor}")
    step = page.locator(f"#{anchor}")
    step.evaluate("(step) => step.querySelectorAll('details').forEach((d) => { d.open = true; })")
    step.locator(".left-out a").click()
    return anchor


def test_lines_on_another_page_are_shown_over_this_one_and_no_step_is_looked_for(
    open_run: Open,
) -> None:
    page = open_run()
    page.keyboard.press("Shift")  # whoever is there follows links by the script
    page.locator("#solution tr.gap a").first.click()

    expect(page.locator("dialog #solution-L46")).to_be_in_viewport()
    expect(page.locator("#said")).to_have_text("")


def test_lines_left_out_are_shown_over_the_page_to_whoever_follows_a_link_to_them(
    open_run: Open,
) -> None:
    page = open_run("#solution-L60-62")
    expect(page.locator("dialog #solution-L60")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()


@BOTH
def test_what_the_script_unpacks_is_what_was_packed(open_run: Open, file: Path) -> None:
    page = open_run()
    packed = carried(file.read_text("utf-8"))
    told = page.evaluate(
        "async (names) => Object.fromEntries(await Promise.all("
        "names.map(async (name) => [name, await kbsiteCarried(name)])))",
        list(packed),
    )

    assert len(packed) > 4
    assert told == packed
    assert page.evaluate("kbsiteCarried('steps-9999.html')") is None


def test_a_long_text_lies_over_the_page_whole_and_escape_leads_to_its_step(open_run: Open) -> None:
    page = open_run()
    anchor = long_step(page)
    over = page.locator("dialog.over")
    expect(over).to_be_visible()

    assert over.locator("pre.text").text_content() == LONG
    here = page.locator(".steps > li.here").get_attribute("id")
    page.keyboard.press("j")
    assert page.locator(".steps > li.here").get_attribute("id") == here
    page.keyboard.press("Escape")
    expect(over).not_to_be_visible()
    address_ends(page, f"#{anchor}")
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()


@BOTH
def test_a_long_text_has_an_address_and_the_way_back_closes_it(open_run: Open) -> None:
    name = f"text-L{line_of(LONG_ROUND) + 1}-1.html"
    page = open_run(f"#{name}")
    over = page.locator("dialog.over")
    expect(over).to_be_visible()
    expect(over).to_have_attribute("aria-label", re.compile("characters, whole"))
    over.get_by_role("button", name="close").click()
    expect(over).not_to_be_visible()
    long_step(page)
    expect(over).to_be_visible()
    page.go_back()
    expect(over).not_to_be_visible()


def test_a_quote_of_the_audit_leads_to_its_lines_in_the_file(open_run: Open) -> None:
    page = open_run()
    page.locator(".quote .place a").nth(0).click()
    step = page.locator(".steps > li.here")
    expect(step).to_have_id(f"L{line_of(QUOTED)}")
    expect(step).to_have_class(re.compile(r"\bquoted\b"))
    expect(step).to_be_in_viewport()


def test_without_a_script_the_first_steps_can_be_read_and_what_is_missing_is_told(
    open_run: Open,
) -> None:
    page = open_run(java_script_enabled=False)

    expect(page.get_by_text("Round 0 begins.")).to_be_visible()
    expect(page.locator("#unscripted")).to_contain_text("Without its scripts")
    expect(page.locator("#unscripted")).to_be_visible()
    expect(page.locator("#tools")).to_be_hidden()


def test_a_server_that_forbids_scripts_leaves_what_is_missing_told(
    file: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    strict = {"Content-Security-Policy": "default-src 'self'", "Content-Type": "text/html"}
    page.route("**/*", lambda route: route.fulfill(body=file.read_bytes(), headers=strict))
    page.goto("http://host.example/run.html")

    expect(page.get_by_text("Round 0 begins.")).to_be_visible()
    expect(page.locator("#unscripted")).to_be_visible()


def test_who_has_scripts_is_not_told_of_what_lacks_without_them(open_run: Open) -> None:
    expect(open_run().locator("#unscripted")).to_be_hidden()


def test_no_link_leads_out_of_the_file(open_run: Open) -> None:
    page = open_run(f"#L{line_of(ROUNDS - 1)}")
    expect(page.get_by_text(f"Round {ROUNDS - 1} begins.")).to_be_visible()
    hrefs = page.eval_on_selector_all("[href]", "(all) => all.map((a) => a.getAttribute('href'))")

    assert len(hrefs) > 100
    assert {href[:1] for href in hrefs if not href.startswith("data:image/svg+xml;")} == {"#"}


def test_nothing_but_its_own_scripts_and_styles_is_taken(open_run: Open, witness: Witness) -> None:
    page = open_run()
    page.evaluate(
        """() => {
        const make = (tag, held) => document.body.append(
            Object.assign(document.createElement(tag), held));
        make("script", { textContent: "window.ran = true" });
        make("style", { textContent: "body { color: rgb(1, 2, 3) }" });
    }"""
    )
    wait_until(page, lambda: len(witness.errors) == 2)

    assert page.evaluate("window.ran") is None
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
    witness.errors.clear()


@pytest.mark.parametrize("screen", CORNERS)
def test_the_file_breaks_no_rule_of_accessibility(
    screen: dict[str, Any], file: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    page.goto(f"{file.as_uri()}#L{line_of(LONG_ROUND) + 1}")
    expect(page.locator(f"#L{line_of(LONG_ROUND) + 1}")).to_be_visible()
    open_all(page)
    wrong = broken(page)
    long_step(page)
    expect(page.locator("dialog.over")).to_be_visible()

    assert wrong + broken(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= screen["viewport"]["width"]


def test_nothing_hostile_is_executed_or_fetched_from_the_file(
    hostile: Path, tmp_path: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    run = next(path for path in hostile.glob("runs/*/index.html") if "script" in str(path))
    file = single(hostile, run.parent.name, tmp_path)
    page = context_of(bypass_csp=True).new_page()  # escaping alone has to hold, without the policy
    witness.watch(page)
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    shown = page.evaluate("document.body.textContent")
    for name in carried(file.read_text("utf-8")):
        page.goto(f"{file.as_uri()}#{name}")
        shown += page.evaluate("(name) => kbsiteCarried(name)", name)
        page.evaluate("() => new Promise(requestAnimationFrame)")

    for attack in ATTACKS:
        assert shown.count(attack) >= 10, attack
    assert witness.dialogs == []
    assert witness.errors == []
    assert {address.partition("#")[0] for address in witness.addresses} == {file.as_uri()}


def test_long_hostile_texts_are_carried_as_text(
    tmp_path: Path, make_run: Any, make_settings: Any, witness: Witness,
    context_of: functools.partial[BrowserContext],
) -> None:  # fmt: skip
    attack = "".join(f"{number} {''.join(ATTACKS)}\x01!\x08\x1f~\n" for number in range(300))
    rows = [{"type": "assistant", "message": {"id": f"m{n}", "model": "x", "content": [
        {"type": "text", "text": attack if n == 60 else f"{n} {ATTACKS[n % len(ATTACKS)]}"}]}}
        for n in range(90)]  # fmt: skip
    settings = make_settings(tmp_path, problems=[])
    log = "\n".join(map(json.dumps, rows)).encode()
    make_run(tmp_path / "runs" / "demo", run_id="long", transcript={"stdout.jsonl": log})
    file = write(settings, "long", tmp_path / "long.html").path
    page = context_of(bypass_csp=True).new_page()
    witness.watch(page)
    page.goto(f"{file.as_uri()}#text-L61-1.html")
    whole = page.locator("dialog.over pre.text")
    expect(whole).to_contain_text("299 <script>")
    page.goto(f"{file.as_uri()}#L90")
    expect(page.locator("#L90")).to_be_in_viewport()

    assert witness.dialogs == []
    assert witness.errors == []
    assert {address.partition("#")[0] for address in witness.addresses} == {file.as_uri()}
