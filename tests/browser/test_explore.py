"""The page that draws all runs: from disk and from a server, within the site's own policy."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from kbsite.build import build
from kbsite.store.problems import read_problem
from tests.browser.axe import OF_COLOURS, broken, open_all
from tests.browser.conftest import Open, opening
from tests.browser.once import once
from tests.browser.waiting import ANSWERED, address_ends, at_rest, reached
from tests.browser.witness import Witness
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

HOSTILE = "<a href='javascript:alert(1)'>x</a><b onclick=alert(1)>&lt;i&gt;"
PROBLEMS = ("softmax", "add")
REFUSED = """document.addEventListener("securitypolicyviolation", (event) => {
    console.error("refused", event.violatedDirective, event.sourceFile, event.sample);
});"""
POINTS = "#chart .points path.point"


@pytest.fixture(scope="session", name="folder")
@once
def _folder(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    home /= "sub path"
    settings = make_settings(home, problems=PROBLEMS, title=f"Demo of {'very ' * 40}long names")
    board = settings.runs / "demo"
    for number in range(6):
        problem = PROBLEMS[number % 2]
        made = partial(
            make_run, problem=problem, problem_hash=read_problem(settings.problems / problem).hash
        )
        usage = {"input": 10 ** (number + 1), "output": 10**number}
        grade: dict[str, Any] = {"peak_fraction": 0.1 + number / 10}
        model = HOSTILE if number == 5 else f"m{number % 3}"
        made(board, run_id=f"r{number}", model=model, metrics=grade, usage=usage,
             harness=["claude", "codex"][number % 2], cost_usd=float(number))  # fmt: skip
    make_run(board, run_id="failed", metrics={"status": "wrong"}, usage={})
    return build(settings).out


@pytest.fixture(name="open_page", params=["file", "http"])
def _open_page(
    request: pytest.FixtureRequest,
    folder: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Iterator[Open]:
    """Opens the page, and tells of what its policy refused as of an error."""

    def telling(**options: object) -> BrowserContext:
        context = context_of(**options)
        context.add_init_script(REFUSED)
        return context

    with opening(request.param, folder.parents[1], functools.partial(telling), witness) as opened:
        page = "sub%20path/site/explore/index.html"
        yield lambda query="", **options: opened(f"{page}{query}", **options)


def rows(page: Page) -> list[list[str]]:
    """The table below the chart, cell by cell; it is made when it is opened."""
    page.locator("#drawn-data").evaluate("(held) => { held.open = true }")
    expect(page.locator("#drawn-table tbody tr").first).to_be_attached()
    texts = "(held) => held.map((row) => [...row.children].map((cell) => cell.textContent))"
    found: list[list[str]] = page.eval_on_selector_all("#drawn-table tbody tr", texts)
    return found


def test_every_run_with_both_figures_is_a_point_and_a_row(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(POINTS)).to_have_count(6)
    expect(page.locator("body > svg:not([aria-hidden])")).to_have_count(0)
    expect(page.locator("#told")).to_have_text(re.compile(r"^score against time: 6 runs; 1 has no"))
    open_all(page)

    assert [row[0] for row in rows(page)] == [f"r{number}" for number in range(6)]
    assert rows(page)[3][1:] == ["codex · m0 [max]", "add", "not audited", "30:00", ".400"]


def test_a_click_on_a_point_opens_its_run(open_page: Open) -> None:
    page = open_page("?x=cost&problem=softmax")
    expect(page.locator(POINTS)).to_have_count(3)
    assert [row[4] for row in rows(page)] == ["$0.00", "$2.00", "$4.00"]
    box = page.locator(POINTS).last.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#chart .hoverlayer")).to_contain_text("cost $4.00")
    for _ in range(5):
        # Where the drawing was made anew meanwhile, nobody is at a point until he moves again.
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        if reached(page, lambda: page.url.endswith("/runs/r4/index.html")):
            break
        page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] + box["height"] / 2)
    page.wait_for_url("**/runs/r4/index.html")


def middle_of(point: Locator) -> tuple[float, float]:
    """Where a point stands in the window, once it is seen there."""
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("late", [0, 1000])
def test_a_finger_is_told_of_a_point_first_and_opens_its_run_by_another_tap(
    open_page: Open, late: int
) -> None:
    page = open_page(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    # A page at work hears late that the tap was a click of a mouse, too.
    page.evaluate(
        """(late) => addEventListener("touchend", () => {
            const until = performance.now() + late;
            while (performance.now() < until);
        }, { once: true })""",
        late,
    )
    at = middle_of(page.locator(POINTS).first)
    page.touchscreen.tap(*at)
    told = page.locator(".hoverlayer text").first
    expect(told).to_contain_text("score .100")
    fonts = [one.evaluate("held => getComputedStyle(held).fontFamily")
             for one in (told, page.locator("#chart .xtick text").first)]  # fmt: skip
    assert fonts[0] == fonts[1]
    at_rest(page, ANSWERED)
    assert "explore/index.html" in page.url
    page.touchscreen.tap(*at)

    page.wait_for_url("**/runs/r0/index.html")


@pytest.mark.parametrize("finger", [True, False])
def test_of_points_that_lie_upon_each_other_all_are_listed_to_choose_from(
    open_page: Open, finger: bool
) -> None:
    page = open_page(
        "?chart=problem&y=time", viewport={"width": 390, "height": 800}, has_touch=finger
    )
    expect(page.locator("#upon")).to_be_hidden()
    at = middle_of(page.locator(POINTS).first)
    (page.touchscreen.tap if finger else page.mouse.click)(*at)
    expect(page.locator("#upon a")).to_have_text(["failed", "r0", "r2", "r4"])
    page.locator("#upon a", has_text="r2").click()

    page.wait_for_url("**/runs/r2/index.html")


def test_what_is_asked_stands_in_the_address_and_comes_back(open_page: Open) -> None:
    page = open_page()
    page.select_option("#ask-x", "tokens")
    page.select_option("#ask-by", "model")
    page.check("#ask-logx")
    asked = "?x=tokens&by=model&logx=1"
    expect(page).to_have_url(re.compile(re.escape(asked) + "$"))
    page.reload()
    expect(page.locator("#ask-x")).to_have_value("tokens")
    expect(page.locator("#ask-logx")).to_be_checked()
    expect(page.locator("#chart .legendtext")).to_have_count(4)
    expect(page.locator("#told")).to_contain_text("score against all tokens: 6 runs")


def test_nonsense_in_the_address_is_passed_over(open_page: Open) -> None:
    page = open_page("?chart=%3Cscript%3E&x=__proto__&by=constructor&board=gone&y=page")
    expect(page.locator(POINTS)).to_have_count(6)
    expect(page.locator("#ask-chart")).to_have_value("against")
    expect(page).to_have_url(re.compile(r"index\.html$"))


def test_no_place_is_found_for_nought_among_powers_of_ten(open_page: Open) -> None:
    page = open_page("?x=cost&logx=1")
    expect(page.locator(POINTS)).to_have_count(5)

    assert "r0" not in [row[0] for row in rows(page)]


def test_problems_stand_side_by_side(open_page: Open) -> None:
    page = open_page("?chart=problem&y=output&by=problem")
    expect(page.locator("#chart .xtick")).to_have_text(["add", "softmax"])
    expect(page.locator("#chart .legendtext")).to_have_text(["add", "softmax"])
    expect(page.locator("#ask-x")).to_be_disabled()

    assert [row[-1] for row in rows(page)][:3] == ["1", "10", "100"]


def test_a_spread_is_curves_and_quarters(open_page: Open) -> None:
    page = open_page("?chart=spread&y=cost&by=harness")
    expect(page.locator("#chart .scatterlayer .js-line")).to_have_count(2)

    assert rows(page) == [
        ["claude", "3", "$0.00", "$1.00", "$2.00", "$3.00", "$4.00"],
        ["codex", "3", "$1.00", "$2.00", "$3.00", "$4.00", "$5.00"],
    ]


def test_hostile_names_are_shown_as_they_are_and_link_nowhere(open_page: Open) -> None:
    page = open_page("?by=model")
    expect(page.locator("#chart .legendtext")).to_contain_text([HOSTILE, "m0", "m1", "m2"])

    assert page.locator("#chart a").count() == 0
    assert HOSTILE in rows(page)[5][1]


def test_without_a_script_the_tables_say_it(open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator("#drawn")).to_be_hidden()
    expect(page.locator("#unscripted")).to_contain_text("chart needs JavaScript")
    expect(page.locator("#drawn ~ details tbody tr")).to_have_count(7)
    page.get_by_role("link", name=".600").click()
    page.wait_for_url("**/runs/r5/index.html")


def test_colours_follow_the_theme(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    filled = "(path) => getComputedStyle(path).fill"
    before = page.locator(POINTS).first.evaluate(filled)
    page.emulate_media(color_scheme="light")

    assert before == "rgb(74, 222, 128)"
    expect(page.locator(POINTS).first).to_have_css("fill", "rgb(22, 101, 52)")


def test_everything_is_asked_and_opened_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    page.locator("#ask-chart").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#ask-chart")).to_have_value("problem")
    page.locator("#drawn-data summary").focus()
    page.keyboard.press("Enter")
    page.locator("#drawn-table a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/r0/index.html")


@pytest.mark.parametrize(
    ("width", "scheme", "other"), [(1400, "dark", "light"), (390, "light", "dark")]
)
@pytest.mark.parametrize("query", ["", "?chart=problem", "?chart=spread&by=model"])
def test_no_chart_breaks_a_rule_or_stands_out_of_the_window(
    width: int, scheme: str, other: Literal["dark", "light"], query: str, folder: Path,
    context_of: functools.partial[BrowserContext],
) -> None:  # fmt: skip
    screen = {"width": width, "height": 900}
    page = context_of(bypass_csp=True, color_scheme=scheme, viewport=screen).new_page()
    page.goto(f"{(folder / 'explore' / 'index.html').as_uri()}{query}")
    point = page.locator(POINTS).first
    expect(point).to_be_visible()
    open_all(page)
    wrong = broken(page)
    # A theme is of colours alone, and for another one the same chart is drawn in its colours.
    fill = point.evaluate("(path) => getComputedStyle(path).fill")
    page.emulate_media(color_scheme=other)
    expect(point).not_to_have_css("fill", fill)

    assert wrong + broken(page, OF_COLOURS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_other_page_loads_the_program_that_draws(
    folder: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of().new_page()
    witness.watch(page)
    for name in ("index.html", "demo/index.html", "runs/index.html", "runs/r0/index.html"):
        page.goto((folder / name).as_uri())

    assert not [address for address in witness.addresses if "vendor" in address]


def test_of_very_many_runs_those_of_a_board_are_drawn_until_a_reader_asks_for_all(
    folder: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    context = context_of()
    context.add_init_script("""let held; Object.defineProperty(window, "kbsiteExplored", {
        get: () => held, set: (runs) => { held = Array.from({ length: 2501 }, (_, at) =>
          ({ ...runs.at(-1), board: at % 500 ? "Z" : "A" })); } })""")
    page = context.new_page()
    witness.watch(page)
    page.goto(f"{folder.as_uri()}/explore/index.html")
    expect(page.locator("#told")).to_contain_text("6 runs; 2495 have no such figures")
    assert page.locator("#ask-board").input_value() == "A"
    page.select_option("#ask-board", "")
    expect(page.locator("#told")).to_contain_text("2501 runs")
    address_ends(page, "?board=")
    page.reload()
    expect(page.locator("#told")).to_contain_text("2501 runs")
    assert witness.errors == []


def test_on_paper_the_table_stands_for_the_chart(open_page: Open) -> None:
    page = open_page()
    assert page.locator("#drawn-table tr").count() == 0
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    expect(page.locator("#drawn-table tbody tr").first).to_be_visible()
    expect(page.locator("#chart")).to_be_hidden()


def test_letters_of_the_drawing_are_as_large_as_a_reader_has_set_them(
    site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True).new_page()
    page.add_init_script(
        "new MutationObserver(() => { document.documentElement.style.fontSize = '24px'; })"
        ".observe(document, { childList: true });"
    )
    page.goto((site / "explore/index.html").as_uri())
    letters = page.locator("#chart .xtick text").first
    expect(letters).to_be_visible()

    assert letters.evaluate("held => getComputedStyle(held).fontSize") == "19.5px"


def test_what_can_be_asked_stands_side_by_side_however_long_a_name_to_choose_is(
    open_page: Open,
) -> None:
    page = open_page()
    wasted = page.locator("#asking label:has(select)").evaluate_all("""all => all.map((held) =>
      held.getBoundingClientRect().right - held.lastElementChild.getBoundingClientRect().right)""")

    assert len(wasted) > 4
    assert max(wasted) < 2, wasted
