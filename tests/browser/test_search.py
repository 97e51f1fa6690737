"""Runs are found by what they are and by what was said in them, with the keyboard alone too."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from kbsite import search
from kbsite.build import build
from kbsite.pages.runs import ROWS
from kbsite.search import blocks
from tests.browser.axe import bring, broken
from tests.browser.long_session import LONG_ROUND, line_of, session
from tests.browser.once import once
from tests.browser.server import serving
from tests.browser.test_accessibility import CORNERS
from tests.browser.test_hostile import ATTACK, stream
from tests.browser.waiting import ANSWERED, address_ends, address_holds, at_rest
from tests.browser.witness import Opened, Witness
from tests.conftest import MakeRun, MakeSettings
from tests.serving.running import running

pytestmark = pytest.mark.browser

LOG = "home/.claude/projects/-w/s.jsonl"
MODELS = ("opus-x", "k2")
PLAIN = 2 * ROWS + 20
"""Runs that differ in their model, their score and their number only."""
LATE = 77
"""A round of the long session that stands on none of its first pages."""
FIRST_LINKS = "(all) => all.slice(0, 20).map((a) => a.href)"


@pytest.fixture(scope="session", name="searched")
@once
def _searched(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    """A site of several pages of runs, with an index of its texts, below a folder to be served."""
    settings = make_settings(home, site={"search": True, "out": "served/sub path/site"})
    board = home / "runs" / "demo"
    for number in range(PLAIN):
        metrics = {"peak_fraction": number / 1000, "interval": None}
        make_run(board, run_id=f"r{number:03}", model=MODELS[number % 2], metrics=metrics)
    other = home / "runs" / "other"
    make_run(other, run_id="long", transcript={LOG: session()}, audit={"verdict": "bug"})
    make_run(other, run_id="again", transcript={LOG: session()}, metrics={"status": "wrong"})
    make_run(other, run_id="hostile", model=ATTACK, transcript={"stdout.jsonl": stream(ATTACK)})
    settings.out.parent.mkdir(parents=True)
    return build(settings).out


@pytest.fixture(name="found_at")
def _found_at(searched: Path) -> Iterator[str]:
    """The address of the site behind a web server, below a sub-path."""
    with serving(searched.parents[1]) as start:
        yield f"{start}sub%20path/site/"


@pytest.fixture(name="page")
def _page(context_of: functools.partial[BrowserContext], witness: Witness) -> Page:
    page = context_of().new_page()
    witness.watch(page)
    return page


@pytest.fixture(name="index", params=["file", "http"])
def _index(request: pytest.FixtureRequest, searched: Path, found_at: str, page: Page) -> Opened:
    start = f"{searched.as_uri()}/" if request.param == "file" else found_at
    page.goto(f"{start}runs/index.html")
    return Opened(page, start)


def names(page: Page) -> list[str]:
    return page.locator("#runs tbody tr:not(.board) td:first-child a").all_inner_texts()


def first(page: Page) -> Locator:
    """The first run of the list."""
    return page.locator("#runs tbody tr:not(.board) td:first-child a").first


def choose(page: Page, name: str, value: str) -> None:
    page.locator(f"select[name={name}]").select_option(value)


@pytest.mark.parametrize("way", ["file", "http"])
def test_without_a_script_every_run_is_listed_on_pages_with_links(
    way: str, searched: Path, found_at: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(java_script_enabled=False).new_page()
    start = f"{searched.as_uri()}/" if way == "file" else found_at
    page.goto(f"{start}runs/index.html")
    expect(page.locator("#asking")).to_be_hidden()
    seen = names(page)
    for number in (2, 3):
        page.get_by_role("navigation", name="pages").get_by_role("link", name=str(number)).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"page {number} of 3")
        seen += names(page)

    assert seen == [*(f"r{number:03}" for number in range(PLAIN)), "again", "hostile", "long"]
    assert page.locator("#runs tr.board").all_inner_texts() == ["Demo", "other"]
    page.get_by_role("link", name="long", exact=True).click()
    expect(page.locator("#transcript")).to_contain_text("Round 0 begins")


def test_filters_narrow_the_list_and_stand_in_the_address(index: Opened, witness: Witness) -> None:
    page = index.page
    choose(page, "model", "k2")
    expect(page.locator("#told")).to_have_text(f"{PLAIN // 2} of {PLAIN + 3} runs")
    choose(page, "board", "other")
    expect(page.locator("#told")).to_have_text(f"0 of {PLAIN + 3} runs")
    expect(page.locator("select[name=model] option[value=opus-x]")).to_have_text("opus-x (2)")
    choose(page, "model", "opus-x")
    expect(page.locator("#told")).to_have_text(f"2 of {PLAIN + 3} runs")

    assert names(page) == ["again", "long"]
    address_ends(page, "?board=other&model=opus-x")
    page.reload()
    expect(page.locator("#told")).to_have_text(f"2 of {PLAIN + 3} runs")
    assert names(page) == ["again", "long"]
    page.get_by_role("button", name="clear").click()
    expect(page.locator("#told")).to_be_empty()
    expect(page.locator("#pages")).to_be_visible()
    expect(page.locator("#query")).to_be_focused()
    assert len(names(page)) == ROWS
    assert "?" not in page.url
    assert witness.errors == []
    assert witness.foreign(index.start) == set()


def test_a_row_reads_the_same_with_and_without_a_script(index: Opened) -> None:
    page = index.page
    rows = page.locator("#runs tbody tr:not(.board)")
    written = [re.sub(r"\s+", " ", row).strip() for row in rows.all_text_contents()[:20]]
    links = page.locator("#runs tbody a").evaluate_all(
        "(all) => all.slice(0, 20).map((a) => a.href)"
    )
    choose(page, "board", "demo")
    expect(page.locator("#told")).to_have_text(f"{PLAIN} of {PLAIN + 3} runs")
    made = page.locator("#runs tbody tr:not(.board) td").all_inner_texts()

    assert page.locator("#runs tbody a").evaluate_all(FIRST_LINKS) == links
    assert [" ".join(" ".join(made[at : at + 7]).split()) for at in range(0, 140, 7)] == written


def test_headings_sort_one_way_and_the_other(index: Opened) -> None:
    page = index.page
    page.get_by_role("button", name="result").focus()
    page.keyboard.press("Enter")
    heading = page.get_by_role("columnheader", name="result")
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(first(page)).to_have_text("hostile")  # rows come once the list of all runs is there
    assert names(page)[:2] == ["hostile", "long"]
    assert names(page)[2] == f"r{PLAIN - 1:03}"
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(first(page)).to_have_text("again")
    assert names(page)[:2] == ["again", "r000"]
    address_ends(page, "?sort=-result")
    page.keyboard.press("Enter")
    expect(heading).not_to_have_attribute("aria-sort", re.compile(".*"))
    expect(first(page)).to_have_text("r000")


def test_more_rows_come_when_asked_for_and_take_the_focus(index: Opened) -> None:
    page = index.page
    choose(page, "board", "demo")
    expect(page.locator("#more")).to_have_text(f"{ROWS} more of {PLAIN - ROWS}")
    page.locator("#more").press("Enter")
    expect(page.get_by_role("link", name=f"r{ROWS:03}")).to_be_focused()
    assert len(names(page)) == 2 * ROWS
    page.locator("#more").press("Enter")
    expect(page.locator("#more")).to_be_hidden()
    assert len(names(page)) == PLAIN


def test_words_narrow_the_list_to_runs_whose_names_hold_them_all(index: Opened) -> None:
    page = index.page
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("R00 Claude k2")
    expect(page.locator("#told")).to_have_text(f"5 of {PLAIN + 3} runs")

    assert names(page) == ["r001", "r003", "r005", "r007", "r009"]
    address_ends(page, "?q=R00+Claude+k2")


def test_from_disk_the_page_says_why_texts_are_not_searched(searched: Path, page: Page) -> None:
    page.goto(f"{searched.as_uri()}/runs/index.html?q=long")

    expect(page.locator("#texts-told")).to_contain_text("From disk the texts cannot be searched")
    expect(page.locator("#told")).to_have_text(f"1 of {PLAIN + 3} runs")
    assert names(page) == ["long"]


ODD = {
    "cp.async.wait_all": "",
    "wait_al": "",
    "ASYNC": "",
    "foo_bar::baz": "",
    "cp.wait_all": "nothing",
    "baz": "",
    "straße": "",
    "cafe\u0301 CAFÉ": "",
    "ας": "",
    "乘法": "",
    "阵矩": "nothing",
    f"round begins {LATE}": "nothing",
    "<b> &amp;": "",
}
"""What is asked of an index of words, and how what is told of it begins if not with 1 run."""
TOLD = (
    "cp.async.wait_all foo_bar::baz Stra\u00dfe \u0391\u03a3 caf\u00e9 \u77e9\u9635\u4e58\u6cd5"
    " <b> &amp; bold"
)


def test_a_large_site_has_its_texts_searched_from_disk_too(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, page: Page, witness: Witness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(search, "MOST_BYTES", -1)
    monkeypatch.setattr(blocks, "_BYTES", 2000)
    settings = make_settings(tmp_path, site={"search": True})
    make_run(tmp_path / "runs/demo", run_id="plain", metrics={"status": "wrong"})
    make_run(tmp_path / "runs/demo", run_id="odd", transcript={"stdout.jsonl": stream(TOLD)})
    start = build(settings).out.as_uri()
    page.goto(f"{start}/runs/index.html?q=softmax&status=wrong")
    hits = page.locator("#texts-found > li")
    expect(page.locator("#texts-told")).to_have_text(re.compile("^1 run or page holds"))
    expect(hits).to_contain_text("claude · opus-x")
    expect(hits.locator("mark")).to_have_text("softmax")
    choose(page, "status", "")
    expect(hits).to_have_count(4)  # the board and the problem, too
    for asked, told in ODD.items():
        page.fill("#query", "")
        page.fill("#query", asked)
        expect(page.locator("#texts-told")).to_have_text(re.compile(f"^{told or '1 run'}"))
    page.fill("#query", "wait_a bold")
    expect(hits.locator("mark")).to_have_text(["wait_all", "bold"])
    hits.get_by_role("link", name="find them").click()
    expect(page.locator("#found")).to_contain_text("1 of ")

    assert page.url.startswith(f"{start}/runs/odd/index.html?q=wait_a%7Cbold")
    assert witness.errors == []


def test_a_word_that_no_text_holds_is_not_told_as_found(found_at: str, page: Page) -> None:
    page.goto(f"{found_at}runs/index.html")
    told = page.locator("#texts-told")
    for asked, start in {
        "roundquux": "no text holds this word; ",
        "begins": r"\d+ pages? of transcripts",
        "begin": r"\d+ pages? of transcripts",
        '"roundquux"': "nothing found",
    }.items():
        page.fill("#query", "")
        page.fill("#query", asked)
        expect(told).to_have_text(re.compile(f"^{start}"))


def test_a_hit_opens_the_run_at_its_step(found_at: str, page: Page, witness: Witness) -> None:
    page.goto(f"{found_at}runs/index.html")
    page.keyboard.press("/")
    page.keyboard.type(f'"Round {LATE} begins"')
    group = page.locator("#texts-found > li", has_text="· passed · bug")
    hit = group.get_by_role("link", name=f"line {line_of(LATE)}")
    expect(hit).to_be_visible()
    expect(page.locator("#texts-told")).to_contain_text("2 pages")
    expect(group.locator("mark").first).to_have_text("Round")
    hit.focus()
    page.keyboard.press("Enter")
    step = page.locator(f'[id$="L{line_of(LATE)}"]')
    expect(step).to_contain_text(f"Round {LATE} begins")
    expect(step).to_be_in_viewport()

    address_holds(page, "/runs/long/index.html?q=")
    expect(page.locator("#query")).to_have_value(f"Round {LATE} begins")
    assert witness.errors == []
    assert witness.foreign(found_at) == set()


def test_texts_are_searched_under_kbsite_serve_too(searched: Path, page: Page) -> None:
    """Its answers carry policies, and that of the page stops the worker that searches."""
    with running(searched) as server:
        page.goto(f"{server.url}runs/index.html?q=%22Round+{LATE}+begins%22")
        hits = page.locator("#texts-found").get_by_role("link", name=f"line {line_of(LATE)}")
        expect(hits).to_have_count(2)
        expect(page.locator("#texts-told")).to_contain_text("2 pages")


@pytest.mark.parametrize("lost", ["**/index.js", "**/pagefind.js", "**/wasm.*"])
def test_an_index_that_could_not_be_had_is_asked_for_again(
    found_at: str, page: Page, lost: str
) -> None:
    asked: list[str] = []

    def lose(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route(lost, lose)
    page.goto(f"{found_at}runs/index.html?q=thoughts")
    told = page.locator("#texts-told")
    expect(told).to_contain_text("cannot be searched here")
    assert asked
    page.unroute(lost)
    page.fill("#query", f'"Round {LATE} begins"')

    expect(told).to_contain_text("2 pages")


def test_filters_narrow_what_is_found_in_texts_too(found_at: str, page: Page) -> None:
    page.goto(f"{found_at}runs/index.html?q=secret+thought+{LATE}")
    expect(page.locator("#texts-found > li").first).to_be_visible()
    choose(page, "status", "wrong")
    expect(page.locator("#texts-found > li").first).to_contain_text("again")
    expect(page.locator("#texts-found > li", has_not_text="again")).to_have_count(0)
    places = page.locator("#texts-found > li > a").evaluate_all("(all) => all.map((a) => a.href)")

    assert {place.split("/")[-2] for place in places} == {"again"}
    choose(page, "verdict", "bug")
    expect(page.locator("#texts-told")).to_have_text("nothing found in the texts")
    assert page.locator("#texts-found > li").count() == 0


def test_what_was_found_stays_until_what_is_asked_next_is_found(found_at: str, page: Page) -> None:
    page.goto(f"{found_at}runs/index.html?q=secret+thought+{LATE}")
    expect(page.locator("#texts-found > li").first).to_be_visible()
    page.evaluate(
        "() => { const list = document.getElementById('texts-found'); window.fewest = 99;"
        " new MutationObserver(() => { fewest = Math.min(fewest, list.children.length); })"
        ".observe(list, { childList: true }); }"
    )
    choose(page, "status", "wrong")
    expect(page.locator("#texts-found > li", has_not_text="again")).to_have_count(0)

    page.wait_for_function("() => fewest < 99")
    assert page.evaluate("fewest") > 0


def test_a_hit_in_a_long_text_leads_to_its_step_and_to_the_text(found_at: str, page: Page) -> None:
    page.goto(f"{found_at}runs/index.html?q=needle-02345&status=passed")
    links = page.locator("#texts-found .hits li a")
    expect(links).to_have_count(2)
    place = str(links.first.get_attribute("href"))
    links.last.click()

    expect(page.locator("pre.text")).to_contain_text("needle-02345 of the long output")
    assert place.endswith(f"L{line_of(LONG_ROUND) + 1}")


@pytest.mark.parametrize("asked", ["x.softmax(-1)", "softmax", "return x.softmax"])
def test_words_of_code_are_found_and_shown_as_they_stand(
    asked: str, found_at: str, page: Page
) -> None:
    page.goto(f"{found_at}runs/index.html")
    page.fill("#query", asked)
    hits = page.locator("#texts-found .hits li", has_text="return x.softmax(-1)")

    expect(hits.first).to_be_visible()


def test_hits_on_boards_and_problems_are_called_by_where_they_stand(
    found_at: str, page: Page
) -> None:
    """A board's figures were "clear", and a problem's results the last line of another file."""
    page.goto(f"{found_at}runs/index.html")
    page.fill("#query", "attempted")
    board = page.locator('#texts-found > [data-at="demo/index.html"]')
    problem = page.locator('#texts-found > [data-at="problems/softmax/index.html"]')
    expect(board.locator(".hits a")).to_have_text(["the page", "grid", "legend"])
    expect(problem.locator(".hits a")).to_have_text(["results-demo"])
    page.fill("#query", "return x.softmax(-1)")
    problem.get_by_role("link", name="reference.py, line 2").click()

    address_ends(page, "/problems/softmax/index.html#reference-L2")


def test_more_pages_of_hits_come_when_asked_for(found_at: str, page: Page) -> None:
    page.goto(f"{found_at}runs/index.html?q=softmax&board=demo")
    expect(page.locator("#texts-found > li")).to_have_count(10)
    page.locator("#texts-more").press("Enter")

    expect(page.locator("#texts-found > li")).to_have_count(20)
    expect(page.locator("#texts-found > li").nth(10).locator("a").first).to_be_focused()


def test_nothing_that_is_found_is_executed(found_at: str, page: Page, witness: Witness) -> None:
    page.goto(f"{found_at}runs/index.html")
    choose(page, "model", ATTACK)
    expect(page.locator("#told")).to_have_text(f"1 of {PLAIN + 3} runs")
    page.fill("#query", "alert")
    expect(page.locator("#texts-found > li").first).to_contain_text("<script>alert(1)</script>")
    page.locator("#texts-found .hits a").first.click()
    expect(page.locator("#transcript")).to_be_attached()
    at_rest(page, ANSWERED)

    assert witness.dialogs == []
    assert witness.errors == []
    assert witness.foreign(found_at) == set()


def test_what_is_asked_is_never_taken_for_markup(
    found_at: str, page: Page, witness: Witness
) -> None:
    page.goto(f"{found_at}runs/index.html")
    page.fill("#query", '<img src=x onerror=alert(1)> "')
    expect(page.locator("#texts-told")).to_have_text(re.compile(r"page|nothing"))
    page.reload()
    expect(page.locator("#query")).to_have_value('<img src=x onerror=alert(1)> "')
    expect(page.locator("#texts-told")).to_have_text(re.compile(r"page|nothing"))

    assert page.locator("main img").count() == 0
    assert witness.dialogs == []


def test_where_its_script_is_lost_it_is_told_that_texts_are_not_searched(
    found_at: str, page: Page
) -> None:
    page.route("**/search.js", lambda route: route.abort())
    page.goto(f"{found_at}runs/index.html?q=long")

    expect(page.locator("#told")).to_contain_text(f"1 of {PLAIN + 3} runs; texts are not searched")


@pytest.mark.parametrize("missing", ["pagefind.js", "wasm.en.pagefind", "pagefind-entry.json"])
def test_where_the_index_cannot_be_read_the_list_is_still_narrowed(
    missing: str, found_at: str, page: Page
) -> None:
    page.route(f"**/{missing}*", lambda route: route.abort())
    page.goto(f"{found_at}runs/index.html?q=long")

    expect(page.locator("#texts-told")).to_contain_text("The texts cannot be searched here")
    expect(page.locator("#told")).to_have_text(f"1 of {PLAIN + 3} runs")
    assert names(page) == ["long"]


def test_searching_needs_no_weaker_policy(searched: Path) -> None:
    found = [
        re.findall(r'Content-Security-Policy" content="([^"]*)"', (searched / name).read_text())
        for name in ("index.html", "runs/index.html")
    ]

    assert found[0] == found[1]
    assert "unsafe" not in found[0][0]


@pytest.mark.parametrize("screen", CORNERS)
def test_lists_and_hits_break_no_rule_of_accessibility_and_fit(
    screen: dict[str, Any], found_at: str, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    bring(page)
    page.goto(f"{found_at}runs/index.html")
    wrong = broken(page)
    page.goto(f"{found_at}runs/index/2.html")
    wrong += broken(page)
    for asked in ("q=alert", f"q=Round+{LATE}", "sort=result&model=k2"):
        page.goto(f"{found_at}runs/index.html?{asked}")
        expect(page.locator("#told")).to_contain_text(" runs")
        if asked.startswith("q"):
            expect(page.locator("#texts-found mark").first).to_be_visible()
        wrong += broken(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= screen["viewport"]["width"]

    assert wrong == []
