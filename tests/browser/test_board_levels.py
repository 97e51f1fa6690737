"""A board of many problems in levels: sorted by what was passed, narrowed, read on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from kbsite.build import build
from tests.browser.conftest import Open
from tests.browser.once import once
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

LEVELS = [
    {"title": f"Level {level}", "problems": [f"{level}_{name}" for name in ("a", "b", "c", "d")]}
    for level in (1, 2, 3)
]
MODELS = "tbody.contenders:visible th .model"


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    """Two contenders with times: one passes the first level, the other two problems of the rest."""
    settings = make_settings(home, problems=(), groups=LEVELS)
    board = home / "runs" / "demo"

    def make(model: str, problem: str, ms: float | None) -> None:
        none: Any = {"peak_fraction": None, "interval": None, "shapes": [], "ms": ms}
        held = none if ms else {"status": "build_failed"}
        make_run(board, model=model, problem=problem, metrics=held)

    for name, ms in (("a", 4.0), ("b", 3.0), ("c", 2.0)):
        make("wide", f"1_{name}", ms)
        make("deep", f"1_{name}", None)
    make("deep", "2_a", 1.0)
    make("deep", "3_a", 1.0)
    make("wide", "2_a", 5.0)
    return build(settings).out


def test_what_was_passed_of_a_level_sorts_and_filters_hide_no_counts(open_site: Open) -> None:
    page = open_site("demo/index.html")
    models = page.locator(MODELS)
    assert models.all_text_contents() == ["wide", "deep"]

    page.get_by_role("button", name="sort by Level 3 passed").click()
    assert models.all_text_contents() == ["deep", "wide"]
    page.get_by_role("button", name="sort by all passed").click()
    assert models.all_text_contents() == ["wide", "deep"]
    page.get_by_role("button", name="sort by 2 a").click()
    assert models.all_text_contents() == ["deep", "wide"]  # the shorter time is the better one

    if not page.locator("select[name=status]").is_visible():
        page.locator("#filters summary").click()
    page.locator("select[name=status]").select_option("build_failed")
    assert models.all_text_contents() == ["deep"]
    row = page.locator("tbody.contenders:visible tr").first
    expect(row.get_by_text("1.00 ms").first).to_be_hidden()
    assert row.locator(".aside").count() > 0
    assert row.locator(".aside[data-problem$=' passed']").count() == 0


def test_names_of_contenders_stay_while_a_wide_board_passes(open_site: Open) -> None:
    page = open_site("demo/index.html", viewport={"width": 900, "height": 460})
    page.evaluate("""() => {
      document.getElementById("grid").scrollLeft = 400;
      const { top } = document.querySelector("tbody.contenders").getBoundingClientRect();
      scrollTo({ top: scrollY + top, behavior: "instant" });
    }""")
    name = page.locator("tbody.contenders th").first.bounding_box()
    level = page.locator("tr.groups th span").nth(1).bounding_box()

    assert name is not None
    assert level is not None
    assert 0 <= name["x"] < 40
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heads = page.locator(".grid thead tr").last.locator("th").first.bounding_box()
    assert heads is not None
    assert heads["y"] < 60  # the names of columns stick
    assert level["y"] + level["height"] <= heads["y"] + 1


def test_on_a_phone_each_level_begins_a_line_and_says_its_name(open_site: Open) -> None:
    page = open_site("demo/index.html", viewport={"width": 390, "height": 800})
    card = page.locator("tbody.contenders").first
    whole = card.bounding_box()
    begins = card.locator("[data-group]")

    assert whole is not None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert begins.count() == len(LEVELS)
    for cell in begins.all():
        box = cell.bounding_box()
        assert box is not None
        assert box["width"] > whole["width"] * 0.9
    told = begins.nth(1).evaluate("cell => getComputedStyle(cell, '::before').content")
    assert "Level 2" in told
    assert "2 a" in told
