"""No page breaks a rule of WCAG 2.2 A or AA that axe can find: both themes, desk and phone."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.axe import EVERY, OF_COLOURS, bring, broken, open_all, violations
from tests.browser.long_session import LONG_ROUND, line_of

pytestmark = pytest.mark.browser

STATIC = Path(__file__).parents[2] / "static"

PAGES = [
    "index.html", "demo/index.html", "runs/index.html", "explore/index.html", "404.html",
    "audits/index.html", "methodology/index.html", "methodology/alarms/index.html",
    "methodology/exploits/index.html", "data/index.html",
    "problems/softmax/index.html", "hardware/index.html", "hardware/gpu-a/index.html",
    "runs/kinds/index.html", "runs/again/index.html", "runs/long/index.html",
    "runs/floor/index.html", "problems/problem_passed/index.html",
    "compare/index.html", "models/opus-x/index.html", "harnesses/claude/index.html",
    "runs/long/steps-0002.html", f"runs/long/text-L{line_of(LONG_ROUND) + 1}-1.html",
]  # fmt: skip
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
WIDTHS = (1400, 390)
# Both themes and both widths: every kind of page is looked at in all four pairs, each use in two.
CORNERS = [
    pytest.param({"color_scheme": scheme, "viewport": {"width": width, "height": 900}},
                 id=f"{scheme}-{width}")
    for scheme, width in zip(SCHEMES, WIDTHS, strict=True)
]  # fmt: skip
WHITE = "rgb(255, 255, 255)"
# Text of a closed details element that paper would leave out; what a reader can ask is no text.
UNSEEN = """() => [
        ...document.querySelectorAll("main details:not([open], .filters) > :not(summary)"),
    ].filter((held) => !held.checkVisibility({ contentVisibilityAuto: true }))
    .map((held) => held.outerHTML.slice(0, 99))"""
# What scrolls and fades at its edge into another ground than the one that it stands on.
FADES_WRONG = """() => [...document.querySelectorAll(".chart-frame, .md table, .steps table")]
    .filter((held) => {
      const probe = document.createElement("i");
      probe.style.background = "var(--under, var(--ground))";
      held.append(probe);
      const ground = (at) => getComputedStyle(at).backgroundColor;
      const own = ground(probe);
      probe.remove();
      let at = held.parentElement;
      while (ground(at) === "rgba(0, 0, 0, 0)") at = at.parentElement;
      return own !== ground(at);
    }).map((held) => held.closest("[id]").id)"""
FOCUSED = """() => {
    const held = document.activeElement;
    const style = getComputedStyle(held);
    return [held.tagName, `${style.outlineStyle} ${style.outlineWidth}`];
}"""


def looks(page: Path) -> set[tuple[str, str]]:
    """Every pair of a tag and its classes that stands in a page."""
    return set(re.findall(r'<(\w+)(?:[^>]*? class=("[^"]*"|[\w-]+))?', page.read_text("utf-8")))


def kind(path: Path, site: Path) -> tuple[str, int]:
    """What tells pages of different kinds apart: the folder that they lie in, and how deep."""
    parts = path.relative_to(site).parts
    return parts[0], len(parts)


def test_what_scrolls_fades_into_the_ground_that_it_stands_on(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    wrong = {}
    for name in ("demo/index.html", "runs/kinds/index.html"):
        page.goto((full / name).as_uri())
        assert page.locator(".md table, .chart-frame").count() > 0
        wrong[name] = page.evaluate(FADES_WRONG)

    assert not any(wrong.values()), wrong


def test_phones_have_no_reason_to_zoom_into_a_field(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True
    ).new_page()
    sizes = {}
    for name in ("demo", "runs", "audits", "compare", "explore", "runs/kinds"):
        page.goto((full / name / "index.html").as_uri())
        sizes[name] = page.locator("input, select").evaluate_all(
            "(all) => all.map((held) => parseFloat(getComputedStyle(held).fontSize))"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    assert min(map(len, sizes.values())) > 0
    assert min(map(min, sizes.values())) >= 16, sizes


@pytest.mark.parametrize("screen", CORNERS)
def test_no_page_of_the_own_site_breaks_a_rule(
    screen: dict[str, Any], site: Path, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    bring(page)
    wrong = []
    # The longest pages of all are the same in any site, and the other site's are looked at below.
    same = [path.relative_to(site) for path in sorted(site.glob("methodology/**/*.html"))]
    runs = {path.parent.name.split("_")[2]: path for path in site.glob("runs/*_*/index.html")}
    apart = {*site.glob("runs/*_*/*"), *(site / path for path in same)}
    others = [path for path in sorted(site.rglob("*.html")) if path not in apart]
    kinds: dict[tuple[str, int], list[Path]] = {}
    for path in others:
        kinds.setdefault(kind(path, site), []).append(path)
    # Of problems, or hardware, two will do: what their templates can show is looked at below.
    chosen = [path for alike in kinds.values() for path in alike[:2]]
    for path in [*chosen, *runs.values()]:
        page.goto(path.as_uri())
        open_all(page)
        wrong += broken(page)

    assert all(looks(site / path) <= looks(full / path) for path in same)
    assert len(same) >= 3
    assert len(runs) >= 4
    assert len(kinds) >= 8
    assert wrong == []


def test_a_theme_is_of_colours_alone() -> None:
    texts = {path.name: path.read_text("utf-8") for path in STATIC.glob("*.css")}
    theme = texts["kbsite.css"].partition("(prefers-color-scheme: light) {")[2].partition("\n}")[0]
    declared = [one.strip() for one in re.findall(r"[^{};]+(?=;)", theme)]

    assert sum(text.count("prefers-color-scheme") for text in texts.values()) == 1
    assert theme.count("{") == 1
    assert len(declared) > 20
    assert all(re.fullmatch(r"--[a-z]+: (#[0-9a-f]{6}|transparent)", one) for one in declared)


def test_a_fault_would_be_found(full: Path, context_of: functools.partial[BrowserContext]) -> None:
    page = context_of(bypass_csp=True, color_scheme="dark").new_page()
    page.goto((full / "index.html").as_uri())
    page.add_style_tag(content="main p { color: #030 }")

    assert any("color-contrast" in fault for fault in broken(page))


@pytest.mark.parametrize("fault", ["td { color: #777 }", "tr:nth-child(5) td { color: #888 }"])
def test_no_fault_is_lost_where_what_looks_alike_is_asked_about_once(
    fault: str, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, color_scheme="light").new_page()
    page.goto((full / "audits" / "index.html").as_uri())
    page.add_style_tag(content=fault)
    some, every = (
        [
            node["any"][0]["data"]
            for rule in violations(page, OF_COLOURS, everywhere=everywhere)
            for node in rule["nodes"]
        ]
        for everywhere in (False, True)
    )

    assert {json.dumps(one) for one in some} == {json.dumps(one) for one in every}
    assert 0 < len(some) < len(every)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_with_every_sign_breaks_a_rule(
    width: int, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, viewport={"width": width, "height": 900}).new_page()
    bring(page)
    wrong = []
    for name in PAGES:
        page.goto((full / name).as_uri())
        open_all(page)
        # A theme is of colours alone: the page stays, and the other rules find what they found.
        for scheme, asked in zip(SCHEMES, (EVERY, OF_COLOURS), strict=True):
            page.emulate_media(color_scheme=scheme)
            wrong += [f"{scheme}: {fault}" for fault in broken(page, asked)]

    assert wrong == []


@pytest.mark.parametrize("screen", CORNERS)
def test_a_long_run_in_use_breaks_no_rule(
    screen: dict[str, Any], full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    page.goto(f"{(full / 'runs' / 'long' / 'index.html').as_uri()}#L{line_of(LONG_ROUND) + 1}")
    page.locator("#help-button").click()
    page.fill("#query", "Round 7 begins")
    expect(page.locator("#found")).to_have_text("1 of 1")
    open_all(page)
    wrong = broken(page)
    page.locator('.chip[data-mark="is-error"]').click()
    page.keyboard.press("e")
    expect(page.locator(".steps > li.here.is-error")).to_be_visible()

    assert wrong + broken(page) == []


@pytest.mark.parametrize("screen", CORNERS)
def test_runs_side_by_side_break_no_rule(
    screen: dict[str, Any], full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    page.goto(f"{(full / 'compare' / 'index.html').as_uri()}?runs=long,kinds,again")
    expect(page.locator("#steps")).to_be_visible()
    open_all(page)

    assert broken(page) == []


def test_runs_side_by_side_are_printed_whole(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 720, "height": 1000}).new_page()
    page.goto(f"{(full / 'compare' / 'index.html').as_uri()}?runs=long,kinds")
    expect(page.locator("#steps")).to_be_visible()
    page.emulate_media(media="print", color_scheme="light")
    ends = "(held) => getComputedStyle(held).breakAfter"

    # No sheet ends between what a chart is called and the chart.
    assert page.locator(".curves figcaption").first.evaluate(ends) == "avoid-page"
    assert page.evaluate(CUT) == []
    assert page.evaluate(UNSEEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 720


# What stands out of its own box sideways where the box does not let it be seen.
CUT = """() => [...document.querySelectorAll("main, main *")].filter((held) =>
    held.scrollWidth > held.clientWidth + 1 && held.clientWidth > 1
    && getComputedStyle(held).overflowX !== "visible").map((held) => held.outerHTML.slice(0, 99))"""
# Grounds darker than mid-grey, save those of terminal output, whose letters are light.
DARK = """() => [...document.querySelectorAll("body, body *")].filter((held) => {
    const [r, g, b, a = 1] = getComputedStyle(held).backgroundColor.match(/[0-9.]+/g).map(Number);
    const dark = a > 0 && r + g + b < 384;
    return dark && !held.matches("pre i[class]") && held.checkVisibility();
}).map((held) => held.outerHTML.slice(0, 99))"""


def test_print_has_no_dark_ground_and_cuts_nothing(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 720, "height": 1000}).new_page()
    page.emulate_media(media="print")
    for name in [name for name in PAGES if name != "404.html"]:
        page.goto((full / name).as_uri())
        # A theme is of colours alone: the page stays, and only grounds are looked at again.
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

            assert ground == WHITE, (name, scheme)
            assert page.evaluate(DARK) == [], (name, scheme)
        assert page.evaluate(CUT) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 720, name
        assert page.evaluate(UNSEEN) == [], name


# Words that stand on more than one line.
BROKEN = """(selector) => [...document.querySelectorAll(selector)].flatMap((held) => {
    const walker = document.createTreeWalker(held, NodeFilter.SHOW_TEXT);
    const broken = [];
    while (walker.nextNode()) for (const match of walker.currentNode.data.matchAll(/[\\w:.]+/g)) {
        const range = new Range();
        range.setStart(walker.currentNode, match.index);
        range.setEnd(walker.currentNode, match.index + match[0].length);
        const tops = new Set([...range.getClientRects()].map(({ top }) => top));
        if (tops.size > 1) broken.push(match[0]);
    }
    return broken;
})"""
HEADS = (
    ":is(.list, .bc-standings, .bc-figure table:not(:has(th:nth-child(9))), .chart-table) thead th,"
    " main .facts th:not(.named), .list :is(.status, .verdict), .grid thead th,"
    " .grid td:last-child, .grid .status, :is(.score, .interval)"
)
"""Where words of ours stand, and no run's."""
SHORT = f"{HEADS}, .verdicts td:nth-child(7), .page-explore td + td, .runs td:nth-child(2)"
"""Where there are names, too, of a length that is to be had."""


WHOLE = """() => [...document.querySelectorAll(".chart-frame, .pair")].filter((held) => {
  const { overflowX, display } = getComputedStyle(held);
  return overflowX !== "visible" || display === "grid";
}).map((held) => held.className)"""
"""What would stand on one sheet as a whole, in browsers that break less than Chromium."""


# What Chromium puts onto one sheet as a whole, however much of the one before is left empty.
LUMPS = """() => [...document.querySelectorAll("main pre")].filter((held) => {
  return getComputedStyle(held).display.startsWith("inline");
}).map((held) => held.outerHTML.slice(0, 99))"""


@pytest.mark.parametrize(
    ("width", "words"),
    [(320, ".filters label, #asking label, .grid :is(.score, .interval), .facts .named"),
     (768, ".runs td:nth-child(2)")],
)  # fmt: skip
def test_words_of_ours_and_figures_are_whole_on_narrow_screens(
    width: int, words: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": width, "height": 800}).new_page()
    for name in ("kernels", "audits", "runs", "explore"):
        page.goto((site / name / "index.html").as_uri())
        expect(page.locator("#asking")).to_be_visible()
        open_all(page)
        assert page.evaluate(BROKEN, words) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") == width, name


def test_what_signs_mean_stands_in_lines_as_long_as_others_on_a_phone(
    site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 320, "height": 800}).new_page()
    page.goto((site / "kernels/index.html").as_uri())
    begins = page.locator(".legend li:has(s)").evaluate(
        "(held) => { const range = new Range(); range.selectNodeContents(held.lastChild);"
        " return range.getBoundingClientRect().left - held.getBoundingClientRect().left; }"
    )

    assert begins < 32


def test_paper_has_nothing_to_press_and_no_sheet_for_one_more_line(
    site: Path, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 720, "height": 1000}).new_page()
    page.emulate_media(media="print")
    run = next(site.glob("runs/*_claude_scripted_kahan_softmax"))
    for path in (run, full / "runs/kinds", site / "problems/mrope", full / "audits"):
        page.goto((path / "index.html").as_uri())
        pressed = "main :is(.step-link, .lines-told, input, .tools, select)"
        assert page.locator(pressed).filter(visible=True).count() == 0, path
        assert page.evaluate(LUMPS) == [], path
    # Chromium leaves a button out where it draws the head of a table again.
    assert page.locator(".sort").count() > 3
    shown = "all => [...new Set(all.map(one => getComputedStyle(one).display))]"
    assert page.locator(".sort").evaluate_all(shown) == ["contents"]


ALONE = """(selector) => [...document.querySelectorAll(selector)].map((held) => {
  const { display, breakAfter } = getComputedStyle(held);
  return `${display} ${breakAfter}`;
})"""


@pytest.mark.parametrize(
    ("path", "heads"),
    [("runs/kinds/index.html", ".steps > .message > b"),
     ("runs/kinds/snapshots.html", ".state-facts")],
)  # fmt: skip
def test_no_sheet_ends_with_who_says_what_stands_on_the_next(
    path: str, heads: str, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 720, "height": 1000}).new_page()
    page.emulate_media(media="print")
    page.goto((full / path).as_uri())

    assert set(page.evaluate(ALONE, heads)) == {"block avoid-page"}


def test_a_fact_begins_beside_what_it_is_of_on_a_phone(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    page.goto((full / "models/opus-x/index.html").as_uri())
    tops = page.locator(".facts tr").evaluate_all("""all => {
      const range = new Range();
      const top = (cell) => (range.selectNodeContents(cell), range.getBoundingClientRect().top);
      return all.map((row) => [...row.cells].map(top));
    }""")

    assert len(tops) > 5
    assert all(abs(head - fact) <= 4 for head, fact in tops), tops


def test_words_of_ours_and_dates_are_whole_on_paper(
    site: Path, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 720, "height": 1000}).new_page()
    page.emulate_media(media="print")
    for path in [*(full / name for name in PAGES), site / "demo/index.html"]:
        page.goto(path.as_uri())
        assert page.evaluate(BROKEN, HEADS) == [], path
        # Firefox breaks no frame that scrolls and no grid: it cuts them, or lays text over them.
        assert page.evaluate(WHOLE) == [], path
    for name in ("runs", "explore", "kernels", "audits"):
        page.goto((site / name / "index.html").as_uri())
        open_all(page)
        assert page.evaluate(BROKEN, SHORT) == [], name
        assert page.locator(".grid .sort:visible").count() == 0
    dates = page.locator(".verdicts td:first-child")

    assert dates.count() > 0
    assert page.locator(".switch:visible, .axis label:visible").count() == 0
    text = dates.first.evaluate(
        "(held) => { const range = new Range(); range.selectNodeContents(held);"
        " return range.getClientRects().length; }"
    )
    assert text == 1


@pytest.mark.parametrize(("width", "media"), [(720, "print"), (720, "screen"), (1280, "screen")])
def test_no_figure_of_a_table_stands_in_two_lines(
    width: int, media: str, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": width, "height": 1000}).new_page()
    page.emulate_media(media=media)  # type: ignore[arg-type]
    run = next(site.glob("runs/*_claude_*_kahan_softmax"))
    for path in ("hardware", "problems/kahan_softmax", "audits", f"runs/{run.name}"):
        page.goto((site / path / "index.html").as_uri())

        assert page.evaluate(BROKEN, ".list:not(.told) td, .score, .interval") == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [768, 1400])
@pytest.mark.parametrize(
    ("path", "column"), [("models/scripted", "time"), ("audits", "the rule")]
)  # fmt: skip
def test_a_figure_and_its_unit_stand_in_one_line(
    path: str, column: str, width: int, site: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": width, "height": 900}).new_page()
    page.goto((site / path / "index.html").as_uri())
    lines = page.locator(f'td[data-label="{column}"]').evaluate_all("""all => all.map((held) => {
      const range = new Range();
      range.selectNodeContents(held);
      const { height } = range.getBoundingClientRect();
      return height / parseFloat(getComputedStyle(held).lineHeight);
    })""")

    assert lines
    assert max(lines) < 1.5, lines
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_times_and_counts_in_tables_of_charts_are_whole_on_a_phone(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 390, "height": 800}).new_page()
    page.goto((full / "runs/long/index.html").as_uri())
    page.keyboard.press("Shift")
    expect(page.locator("details > noscript")).to_have_count(0)
    open_all(page)
    expect(page.locator(".chart-table").first).to_be_visible()

    assert page.evaluate(BROKEN, ".chart-table :is(thead th, td:first-child)") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_everything_that_takes_the_focus_shows_it(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    seen = set()
    for name in ("index.html", "demo/index.html", "runs/kinds/index.html", "explore/index.html"):
        page.goto((full / name).as_uri())
        for _ in range(120):
            page.keyboard.press("Tab")
            focused, outline = page.evaluate(FOCUSED)
            if focused == "BODY":
                break
            seen.add(focused)
            assert outline == "solid 2px", (name, focused)

    assert seen == {"A", "BUTTON", "DIV", "INPUT", "SELECT", "SUMMARY", "TABLE"}


def test_nothing_blinks_for_more_than_five_seconds_or_for_who_wants_less_motion(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    # By its style: an animation that has ended is on no list any more.
    lasts = """() => [...document.querySelectorAll("*")]
        .flatMap((held) => [null, "::before", "::after"].map((p) => getComputedStyle(held, p)))
        .filter((style) => style.animationName !== "none")
        .map((style) => parseFloat(style.animationDuration) * style.animationIterationCount)"""
    for motion, least in (("no-preference", 1), ("reduce", 0)):
        page = context_of(reduced_motion=motion).new_page()
        page.goto((full / "demo" / "index.html").as_uri())
        found = page.evaluate(lasts)

        assert len(found) == least
        assert all(0 < last < 5 for last in found)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_windows_of_every_width(
    name: str, full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 320, "height": 640}).new_page()
    page.goto((full / name).as_uri())
    open_all(page)
    for width in (320, 720, 1024):
        page.set_viewport_size({"width": width, "height": 640})

        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_a_notice_is_called_stands_apart_from_what_it_says(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto((full / "runs" / "kinds" / "index.html").as_uri())
    apart = """(name) => name.nextElementSibling.getBoundingClientRect().left
        - name.getBoundingClientRect().right"""

    name = page.locator(".steps > .notice > div > b", has_text="compaction")
    assert name.evaluate(apart) >= 4


def test_keys_of_one_letter_can_be_turned_off(
    full: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto((full / "runs" / "long" / "index.html").as_uri())
    page.keyboard.press("?")
    page.uncheck("#keys")
    page.locator("h1").click()
    page.keyboard.press("e")
    expect(page.locator(".steps > li.here")).to_have_count(0)
    page.check("#keys")
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(page.locator(".steps > li.here")).to_have_count(1)
