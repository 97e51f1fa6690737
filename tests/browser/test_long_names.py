"""Names longer than a phone is wide, of problems, models and the site, on screen and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from kbsite.build import build
from kbsite.store.problems import read_problem
from tests.browser.axe import open_all
from tests.browser.conftest import Open
from tests.browser.long_session import session
from tests.browser.once import once
from tests.browser.test_accessibility import BROKEN
from tests.browser.waiting import at_rest
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

LOG = "home/.claude/projects/-w/s.jsonl"
LONG = ("fp8_gemm_with_block_scaled_epilogue_and_fused_bias_gelu_and_residual", "x" * 60)
BOARD = "A board of a long name that goes on and on"
PROBLEMS = [*LONG, *(f"problem_{number}" for number in range(7))]


@pytest.fixture(scope="session", name="site")
@once
def _site(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(
        home, problems=PROBLEMS, site={"title": "A site of a long name " * 4}, title=BOARD
    )
    for problem in PROBLEMS:
        make_run(
            home / "runs" / "demo", problem=problem, model="model-of-a-long-name" * 5,
            problem_hash=read_problem(home / "problems" / problem).hash,
            audit={"summary": "y" * 200}, transcript={LOG: session()},
        )  # fmt: skip
    make_run(
        home / "runs" / "demo", problem=PROBLEMS[-1],
        problem_hash=read_problem(home / "problems" / PROBLEMS[-1]).hash,
    )  # fmt: skip
    return build(settings).out


@pytest.mark.parametrize("name", ["demo", "runs", "audits", f"problems/{LONG[0]}"])
def test_no_name_makes_a_page_wider_than_its_window(open_site: Open, name: str) -> None:
    page = open_site(f"{name}/index.html", viewport={"width": 320, "height": 640})
    open_all(page)
    for width in (320, 390, 760, 1400):
        page.set_viewport_size({"width": width, "height": 640})

        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_name_of_a_board_is_whole_above_its_runs(open_site: Open) -> None:
    page = open_site("runs/index.html", viewport={"width": 320, "height": 640})
    name = page.locator(".runs .board th")
    box = name.locator("a").bounding_box()

    expect(name).to_have_text(BOARD)
    assert box is not None
    assert box["x"] + box["width"] <= 320


def test_a_long_name_leaves_room_for_what_stands_beside_it(open_site: Open) -> None:
    page = open_site("demo/index.html", viewport={"width": 390, "height": 640})
    widths = "(held) => [...held.cells].map((cell) => cell.getBoundingClientRect().width)"
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        named, told = page.locator("tr:has(> .named)").first.evaluate(widths)

        assert named > 100
        assert told > 100


def test_figures_and_heads_of_nine_problems_are_whole_on_paper(open_site: Open) -> None:
    page = open_site("demo/index.html", viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    heads = ".grid thead th:not(:has([title*='x' i]))"

    assert page.evaluate(BROKEN, f"{heads}, .grid :is(.score, .interval), .grid .totals td") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.locator(".grid thead").evaluate("(held) => held.offsetHeight") < 250


# Whether what sticks below the links of the site starts where these end.
BELOW = """(place) => {
    const { top } = document.querySelector(place).getBoundingClientRect();
    return Math.abs(top - document.querySelector("header.top").getBoundingClientRect().bottom) <= 3;
}"""


@pytest.mark.parametrize("width", [800, 1400])
def test_what_sticks_below_the_links_of_the_site_is_not_covered_by_them(
    open_site: Open, site: Path, width: int
) -> None:
    size = {"width": width, "height": 700}
    run = next(site.glob("runs/*_problem_0")).name
    past = "(held) => scrollBy(0, held.getBoundingClientRect().top + 60)"
    for name, place in (("demo", ".grid thead th"), (f"runs/{run}", "#tools")):
        page = open_site(f"{name}/index.html", viewport=size)
        page.mouse.move(300, 300)
        page.mouse.wheel(0, 10)
        page.wait_for_function("scrollY > 0")  # the wheel turns it smoothly
        at_rest(page)
        page.locator(place).first.evaluate(past)
        page.wait_for_function(BELOW, arg=place)


def test_what_has_the_focus_is_not_covered_by_the_head_of_a_board(open_site: Open) -> None:
    page = open_site("demo/index.html", viewport={"width": 1280, "height": 700})
    page.keyboard.press("End")
    links = page.locator(".grid .contenders td a")
    head = page.locator(".grid thead")
    # From below, as Shift and Tab lead.
    for number in reversed(range(links.count())):
        links.nth(number).evaluate("(held) => held.focus()")
        top = links.nth(number).evaluate("(held) => held.getBoundingClientRect().top")

        assert top >= head.evaluate("(held) => held.getBoundingClientRect().bottom") - 1
