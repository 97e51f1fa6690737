"""A verdict is read on the board and followed to its evidence: by keyboard, script or none."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build
from kbsite.model.config import Leak
from kbsite.store.settings import Settings
from tests.browser.axe import broken, open_all
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.browser.test_accessibility import CORNERS
from tests.browser.waiting import address_holds
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

SOURCE = "import torch\n\n\ndef solve(x):\n    return cached[id(x)]\n" + "# kept\n" * 200
WIDTHS = [1400, 390]
READS = [
    pytest.param({"viewport": {"width": width, "height": 900}, "java_script_enabled": script},
                 id=f"{width}-{'js' if script else 'nojs'}")
    for width in WIDTHS
    for script in (True, False)
]  # fmt: skip
QUOTE = {"file": "solution.py", "lines": [4, 5], "label": "the cache",
         "text": "def solve(x):\n    return cached[id(x)]"}  # fmt: skip
WRONG = {"file": "solution.py", "lines": [1, 1], "label": "the import", "text": "import numpy"}
LEAK = Leak(
    id="clamp", title="Clamped inputs", problem="softmax", meant="To **sum**.", happened="Nothing."
)
FOCUSED = "document.activeElement.textContent.trim()"


def settings_of(home: Path, make_settings: MakeSettings) -> Settings:
    leak = {"id": LEAK.id, "title": LEAK.title, "meant": LEAK.meant, "happened": LEAK.happened}
    return make_settings(home, problems=[], site={"leaks": [leak]})


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = settings_of(home, make_settings)
    board = home / "runs" / "demo"
    leaks = {"verdict": "rubric_leak", "implication": "Forbid it.", "leak": "clamp",
             "summary": "It clamps first.", "quotes": [QUOTE]}  # fmt: skip
    hack = {"verdict": "reward_hack", "implication": "No number.", "summary": "It keeps all.",
            "quotes": [QUOTE, WRONG]}  # fmt: skip
    files = {"solution.py": SOURCE.encode()}
    make_run(board, model="leaky", audit=leaks, files=files)
    make_run(board, model="hacking", audit=hack, files=files, metrics={"peak_fraction": 0.9})
    make_run(board, model="waiting", metrics={"peak_fraction": 0.3})
    make_run(board, model="waiting", problem="gemm", metrics={"status": "wrong"})
    return build(settings).out


@pytest.fixture(name="open_board")
def _open_board(open_site: Open) -> Open:
    return lambda rest="", **options: open_site(f"demo/index.html{rest}", **options)


def tab_to(page: Page, text: str, within: str) -> None:
    """Press Tab until what has the focus says `text` and stands in `within`."""
    held = page.locator(within)
    for _ in range(150):
        page.keyboard.press("Tab")
        inside = held.evaluate("held => held.contains(document.activeElement)")
        if inside and text in str(page.evaluate(FOCUSED)):
            return
    pytest.fail(f"the keyboard never comes to {text!r} in {within}")


@pytest.mark.parametrize("how", READS)
def test_a_verdict_is_read_at_once_and_its_quote_followed_to_its_lines_by_keyboard(
    open_board: Open, how: dict[str, Any]
) -> None:
    page = open_board(**how)
    row = page.locator("tr.audits", has_text="It keeps all.")
    expect(row.get_by_text("It keeps all.")).to_be_visible()
    expect(row.get_by_text("does not count")).to_be_visible()
    quote = row.locator("figure.quote").first
    expect(quote).to_be_hidden()

    tab_to(page, "2 quotes ✗ 1 unproven, implication", "tr.audits li:has-text('It keeps all.')")
    page.keyboard.press("Enter")
    expect(quote).to_be_visible()
    expect(row).to_contain_text("No number.")
    page.keyboard.press("Tab")
    assert "solution.py lines 4 to 5" in str(page.evaluate(FOCUSED))
    page.keyboard.press("Enter")

    line = page.locator("#solution-L5")
    expect(line).to_be_in_viewport()
    expect(line).to_contain_text("return cached[id(x)]")
    marked = line.evaluate("held => getComputedStyle(held).backgroundColor")
    other = page.locator("#solution-L7").evaluate("held => getComputedStyle(held).backgroundColor")
    assert marked != other
    address_holds(page, "#solution-L4")


@pytest.mark.parametrize("how", [READS[0], READS[-1]])
def test_from_a_verdict_on_to_its_run_by_keyboard(open_board: Open, how: dict[str, Any]) -> None:
    page = open_board(**how)
    row = page.locator("tr.audits", has_text="It clamps first.")
    expect(row.get_by_text("It clamps first.")).to_be_visible()
    tab_to(page, "softmax", "tr.audits li:has-text('It clamps first.')")
    page.keyboard.press("Enter")

    expect(page.locator("#verdict")).to_contain_text("rubric_leak")


@pytest.mark.parametrize("how", [READS[0], READS[-1]])
def test_from_the_line_of_figures_to_a_leak_and_its_runs_by_keyboard(
    open_board: Open, how: dict[str, Any]
) -> None:
    page = open_board(**how)
    tab_to(page, "1 leak", "main > p:has-text('leak')")
    page.keyboard.press("Enter")
    card = page.locator("#leak-clamp")
    expect(page.locator("#leaks")).to_be_in_viewport()
    expect(card).to_contain_text("what was meant")
    expect(card).to_contain_text("Forbid it.")
    tab_to(page, "leaky", "#leak-clamp")
    page.keyboard.press("Enter")

    expect(page.locator("#verdict")).to_contain_text("rubric_leak")


def test_an_unproven_quote_is_marked_and_leads_nowhere(open_board: Open) -> None:
    page = open_board()
    open_all(page)
    doubtful = page.locator("figure.quote", has_text="import numpy")

    expect(doubtful).to_contain_text("✗ unproven")
    expect(doubtful.locator("a")).to_have_count(0)


def test_a_struck_score_is_struck_and_the_verdicts_can_be_put_away(open_board: Open) -> None:
    page = open_board()
    struck = page.locator("td.struck s")
    style = struck.evaluate("held => getComputedStyle(held).textDecorationLine")
    page.get_by_label("verdicts below each row").uncheck()

    assert "line-through" in style
    expect(struck).to_contain_text(".900")
    expect(page.locator("tr.audits").first).to_be_hidden()


def test_notes_below_a_row_are_read_without_scrolling_where_the_grid_is_wider_than_the_window(
    open_board: Open,
) -> None:
    page = open_board(viewport={"width": 710, "height": 900})
    page.locator(".grid thead th").last.evaluate("held => { held.style.minWidth = '90rem'; }")
    grid = page.get_by_role("region", name="the board")
    for left in (0, 300):
        grid.evaluate("(held, left) => { held.scrollLeft = left; }", left)
        for note in page.locator("tr.audits li").all():
            sides = note.evaluate("(held) => [...(({ left, right }) => [left, right])"
                                  "(held.getBoundingClientRect())]")  # fmt: skip

            assert sides[0] >= 0
            assert sides[1] <= 710


@pytest.mark.parametrize("screen", CORNERS)
def test_a_board_with_all_of_it_breaks_no_rule_and_is_no_wider_than_the_window(
    site: Path, context_of: functools.partial[BrowserContext], screen: dict[str, Any]
) -> None:
    page = context_of(**screen, bypass_csp=True).new_page()
    page.goto((site / "demo/index.html").as_uri())
    open_all(page)

    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert broken(page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_in_a_note_keeps_its_heads_and_its_lists_their_shape(
    full: Path, width: int, context_of: functools.partial[BrowserContext]
) -> None:
    """What an auditor wrote stands within the grid: on phones heads of the grid are left out."""
    page = context_of(viewport={"width": width, "height": 900}).new_page()
    page.goto((full / "demo" / "index.html").as_uri())
    open_all(page)
    head = page.locator(".grid .audits table th").first

    expect(head).to_be_visible()
    look = "(held, name) => getComputedStyle(held)[name]"
    assert head.evaluate(look, "position") == "static"
    assert page.locator(".grid .audits table td").first.evaluate(look, "display") == "table-cell"
    assert page.locator(".grid .audits td > ul ul").first.evaluate(look, "position") == "static"
    page.emulate_media(media="print")
    assert head.evaluate(look, "writingMode") == "horizontal-tb"
