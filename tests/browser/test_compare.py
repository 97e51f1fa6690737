"""Runs side by side: from disk and a server, by keyboard, on a phone, and with hostile runs."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kbsite.build import build, override
from kbsite.pages import compare
from kbsite.pages.page import run_key
from kbsite.store.settings import CONFIG, read_settings
from tests.browser.conftest import Open, opening
from tests.browser.once import once
from tests.browser.test_hostile import ATTACK, ATTACKS, stream
from tests.browser.waiting import address_ends
from tests.browser.witness import Witness
from tests.conftest import MakeRun, MakeSettings
from tests.contest_runs import HASTY, LOG, LOST, READ, STEADY, Call, line_of, session

pytestmark = pytest.mark.browser

OLD = "import torch\n\ndef solve(x):\n    return x.softmax(-1)\n" + "# kept\n" * 20
NEW = (
    "import torch\n\ndef solve(x):\n    return x.softmax(dim=-1)\n" + "# kept\n" * 20 + "DONE = 1\n"
)
HOSTILE_ID = "20260102_030405_claude_x'><script>alert(13)<,_softmax"


@pytest.fixture(scope="session", name="contest")
@once
def _contest(home: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    """A site with the runs steady, hasty, lost, hostile and bare of one problem, two of another."""
    home /= "sub path"
    settings = make_settings(home, problems=[])
    board = home / "runs" / "demo"
    make_run(board, run_id="steady", transcript={LOG: session(STEADY)}, audit={},
             files={"solution.py": OLD.encode()})  # fmt: skip
    make_run(board, run_id="hasty", model="hasty", transcript={LOG: session(HASTY, pause=25)},
             metrics={"peak_fraction": 0.5}, files={"solution.py": NEW.encode()})  # fmt: skip
    make_run(board, run_id="lost", model="lost", transcript={LOG: session(LOST)},
             metrics={"status": "wrong"}, files={"solution.py": OLD.encode()})  # fmt: skip
    make_run(board, run_id=HOSTILE_ID, model=ATTACK, effort=ATTACK, metrics={"peak_fraction": 0.1},
             transcript={"stdout.jsonl": stream(ATTACK)},
             files={"solution.py": f"# {ATTACK}\n".encode()})  # fmt: skip
    make_run(board, run_id="bare(1)!", model="bare", metrics=None, transcript=None)
    calls: list[Call] = [READ, *(("run", f"python work.py {n}", "o" * 4000) for n in range(300))]
    for name in ("far", "away"):
        log = {LOG: session(calls, pause=1)}
        make_run(board, run_id=name, model=name, problem="other", transcript=log)
    same: list[Call] = [("run", f"make {name}", "ok") for name in ("one", "two", "three")]
    for name, calls in (("direct", same), ("looking", [("run", "cat notes.md", "x"), *same])):
        make_run(board, run_id=name, model=name, problem="third", transcript={LOG: session(calls)})
    return build(settings).out


@pytest.fixture(name="open_page", params=["file", "http"])
def _open_page(
    request: pytest.FixtureRequest,
    contest: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> Iterator[Open]:
    """Opens a page of the site, from disk or below a sub-path."""
    below = "sub%20path/site/"
    with opening(request.param, contest.parents[1], context_of, witness) as opened:
        page = "compare/index.html"
        yield lambda rest=page, **options: opened(f"{below}{rest}", **options)


def side_by_side(*runs: str) -> str:
    return "compare/index.html?runs=" + ",".join(map(run_key, runs))


def cells(page: Page, row: str) -> list[str]:
    """What the facts say of each run under a name."""
    line = page.locator("section", has=page.locator("#facts")).locator("tr", has_text=row).first
    return line.locator("td").all_inner_texts()


def test_a_run_leads_to_itself_beside_the_best_other_one(open_page: Open) -> None:
    page = open_page("runs/steady/index.html")
    page.get_by_role("link", name="compare", exact=True).last.click()

    expect(page.locator("#facts")).to_be_visible()
    address_ends(page, "compare/index.html?runs=steady,hasty")
    assert cells(page, "score") == [".420", ".500"]
    assert cells(page, "verdict") == ["★ clean", "not audited"]
    assert cells(page, "first correct") == ["00:41", "00:26"]


def test_facts_that_differ_are_marked_by_more_than_their_colour(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty"))
    facts = page.locator("section", has=page.locator("#facts"))
    expect(facts).to_be_visible()

    assert "≠\ndiffers:" in facts.locator("tr", has_text="model").inner_text().replace(
        "≠differs", "≠\ndiffers"
    )
    assert "=" in facts.locator("tr", has_text="harness").inner_text()
    assert facts.locator("tr.differs th", has_text="score").count() >= 1
    assert facts.locator("tr.same th", has_text="hardware").count() == 1


def test_solutions_are_compared_line_by_line_with_the_words_that_changed(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty"))
    figure = page.locator("figure.diff")

    expect(figure.locator("figcaption")).to_have_text("from A to B: 2 lines added, 1 removed")
    assert figure.locator("del").all_inner_texts() == [" 4    -     return x.softmax(-1)\n"]
    assert [line.strip() for line in figure.locator("ins").all_inner_texts()] == [
        "4 +     return x.softmax(dim=-1)",
        "25 + DONE = 1",
    ]
    assert figure.locator("ins b").all_inner_texts() == ["dim="]

    page.locator("#from").select_option("1")
    page.locator("#to").select_option("0")
    expect(figure.locator("figcaption")).to_have_text("from B to A: 1 line added, 2 removed")


def test_any_two_solutions_can_be_compared_by_keyboard(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty", "lost"))
    chosen = page.get_by_label("to", exact=True)
    chosen.focus()
    page.keyboard.press("ArrowDown")

    expect(page.locator("figure.diff figcaption")).to_have_text(
        "the solutions of A and C are the same, line by line"
    )


def test_steps_stand_in_phases_and_lead_to_their_place_in_the_run(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty"))
    phases = page.locator("details.phase")
    expect(phases).to_have_count(7)
    edit = phases.filter(has_text="first edit of solution.py").first
    first_row = edit.locator("tbody tr").first

    assert first_row.locator("th").inner_text().endswith("all")
    assert first_row.locator("td").nth(0).inner_text().startswith("00:10 edits solution.py")
    assert first_row.locator("td").nth(1).inner_text().startswith("00:00 edits solution.py")
    correct = phases.filter(has_text="first correct").first
    only = correct.locator("tbody tr.differs", has_text="read")
    assert only.locator("th").inner_text().endswith("B only")
    first_row.locator("td a").first.click()
    expect(page.locator(f"#L{line_of(1)}")).to_be_in_viewport()
    address_ends(page, f"runs/steady/index.html#L{line_of(1)}")


def test_what_a_run_never_came_to_is_said(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "lost"))
    check = page.locator("details.phase").filter(has_text="first correct").first

    expect(check.locator("summary .reached").nth(1)).to_have_text("Bnot seen")
    expect(check.locator("thead th").nth(1)).to_contain_text("no first correct")


def test_curves_have_one_axis_a_description_and_a_table(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty"))
    figures = page.locator(".curves figure")
    expect(figures).to_have_count(4)
    score = figures.first

    assert score.locator("svg").get_attribute("role") == "img"
    # What the agent saw is told apart from its grade, as the facts do.
    told = "A: .400 (graded .420), B: .500 (graded .500)"
    assert cells(page, "best score that the agent saw") == [".400", ".500"]
    assert told in (score.locator("svg desc").text_content() or "")
    assert told in (score.locator("figcaption").text_content() or "")
    assert score.locator("svg path.mark").count() == 5
    assert (
        score.locator("svg path.curve-b:not(.mark)").evaluate(
            "(path) => getComputedStyle(path).strokeDasharray"
        )
        != "none"
    )
    score.locator("summary").click()
    rows = score.locator("tbody tr").all_inner_texts()
    assert [re.split(r"\s+", row)[:3] for row in rows[:2]] == [
        ["A", "00:51", ".300"], ["A", "01:01", ".400"],
    ]  # fmt: skip


def test_runs_are_chosen_by_keyboard_and_stand_in_the_address(open_page: Open) -> None:
    page = open_page()
    page.select_option("#problem", "softmax")
    expect(page.locator("details.contest:visible")).to_have_count(1)
    page.locator("details.contest:visible > summary").focus()
    page.keyboard.press("Enter")
    for name in ("hasty", "steady"):
        page.get_by_role(
            "checkbox", name=f"choose claude · {'opus-x' if name == 'steady' else name}"
        ).focus()
        page.keyboard.press("Space")
    page.locator("#show").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#facts")).to_be_focused()
    address_ends(page, "?runs=hasty,steady&problem=softmax")
    page.go_back()
    expect(page.locator("#facts")).to_have_count(0)
    page.go_forward()
    expect(page.locator("#facts")).to_have_count(1)
    assert cells(page, "score") == [".500", ".420"]


def test_what_is_chosen_stands_in_the_address_and_outlives_a_reload(open_page: Open) -> None:
    page = open_page()
    page.select_option("#problem", "softmax")
    address_ends(page, "compare/index.html?problem=softmax")
    page.locator("details.contest:visible > summary").click()
    box = functools.partial(page.get_by_role, "checkbox")
    box(name="choose claude · hasty").check()
    box(name="choose claude · opus-x").check()
    address_ends(page, "?choose=hasty,steady&problem=softmax")
    page.reload()

    expect(page.locator("#show")).to_have_text("compare 2 of at most 4")
    expect(page.locator("#problem")).to_have_value("softmax")
    expect(page.locator("details.contest:visible")).to_have_count(1)
    expect(box(name="choose claude · hasty")).to_be_checked()
    page.locator("#show").click()
    address_ends(page, "?runs=hasty,steady&problem=softmax")
    expect(page.locator("#facts")).to_be_visible()
    box(name="choose claude · lost").check()
    # What stands beside each other stays until somebody asks for another comparison.
    address_ends(page, "?runs=hasty,steady&choose=hasty,steady,lost&problem=softmax")
    page.reload()
    expect(page.locator("#show")).to_have_text("compare 3 of at most 4")
    assert cells(page, "score") == [".500", ".420"]
    box(name="choose claude · lost").uncheck()
    address_ends(page, "?runs=hasty,steady&problem=softmax")
    page.locator("#clear").click()
    address_ends(page, "?runs=hasty,steady&choose=&problem=softmax")
    page.go_back()
    address_ends(page, "?choose=hasty,steady&problem=softmax")
    expect(page.locator("#facts")).to_have_count(0)
    expect(box(name="choose claude · hasty")).to_be_checked()


def test_a_choice_of_nobody_and_of_no_board_breaks_nothing(open_page: Open) -> None:
    page = open_page(
        f"compare/index.html?choose=nobody,steady,__proto__&board={ATTACK}&problem=%E0"
    )

    expect(page.locator("#show")).to_have_text("compare 1 of at most 4")
    expect(page.locator("#board")).to_have_value("")
    expect(page.locator("details.contest:visible")).to_have_count(3)


def test_four_runs_are_the_most(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty", "lost", HOSTILE_ID))
    expect(page.locator("#facts")).to_be_visible()
    page.locator("details.contest", has_text="softmax").locator("summary").click()
    free = page.get_by_role("checkbox", name="choose claude · bare")

    assert len(cells(page, "score")) == 4
    expect(free).to_be_disabled()
    page.get_by_role("checkbox", name="choose claude · lost").uncheck()
    expect(free).to_be_enabled()

    page = open_page(side_by_side("steady", "hasty", "lost", "nobody", HOSTILE_ID, "bare(1)!"))
    told = page.locator("#told")
    expect(told).to_contain_text("1 of the runs asked for cannot be compared here")
    expect(told).to_contain_text("4 runs are the most: 1 of those asked for is left out.")
    assert len(cells(page, "score")) == 4


def test_a_place_in_the_page_keeps_the_comparison_as_it_is(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty"))
    page.get_by_label("to", exact=True).select_option("0")
    page.get_by_role("link", name="step by step").click()

    expect(page.locator("#steps")).to_be_in_viewport()
    expect(page.locator("figure.diff figcaption")).to_contain_text("A and A are the same")


def test_one_run_or_unknown_ones_are_told_and_nothing_else_is_loaded(
    open_page: Open, witness: Witness
) -> None:
    page = open_page("compare/index.html?runs=steady,..%2F..%2Fsteady,nobody,__proto__")

    expect(page.locator("#told")).to_contain_text("3 of the runs asked for cannot be compared here")
    expect(page.locator("#told")).to_contain_text("Choose one more run")
    expect(page.get_by_role("checkbox", name="choose claude · opus-x")).to_be_checked()
    asked = [address for address in witness.addresses if address.endswith("/compare.js")]
    assert [address.split("/")[-2] for address in asked if "/runs/" in address] == ["steady"]


def test_runs_of_different_problems_are_told_not_to_compare(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "far"))

    expect(page.locator("#told")).to_contain_text("of different problems")


def test_a_link_whose_comma_was_written_as_a_number_leads_to_the_same_runs(open_page: Open) -> None:
    page = open_page("compare/index.html?runs=steady%2Chasty")

    expect(page.locator("#facts")).to_be_visible()
    expect(page.get_by_text("cannot be compared here")).to_have_count(0)


def test_a_phase_with_many_calls_opens_when_it_is_asked_for(open_page: Open) -> None:
    page = open_page(side_by_side("far", "away"))
    long = page.locator("details.phase").filter(has_text="301 calls")

    expect(long.locator("summary")).to_be_visible()
    assert long.locator("tr").count() == 0
    long.locator("summary").click()
    expect(long.locator("tbody tr")).to_have_count(301)
    expect(long.locator("tbody tr").last).to_contain_text("python work.py 299")


def test_a_phase_of_thousands_of_calls_shows_its_first_rows_before_the_others_are_made(
    contest: Path, tmp_path: Path, context_of: functools.partial[BrowserContext]
) -> None:
    contest = shutil.copytree(contest, tmp_path / "contest")
    for name in ("far", "away"):
        calls = [[0, "run", f"L{2 * n + 1}", n, f"{name} {n}", 0] for n in range(3000)]
        calls[5] = [0, "more", "", None, "7" if name == "far" else "8", 0]
        told = json.dumps({"id": name, "label": name, "calls": calls})
        (contest / "runs" / name / "compare.js").write_text(f"kbsiteRun({told});")
    page = context_of().new_page()
    page.goto(f"{contest.as_uri()}/{side_by_side('far', 'away')}")
    phase = page.locator("details.phase").filter(has_text="3,006 calls")
    expect(phase).to_have_count(1)
    # To lay thousands out took seconds, in which nothing else could be done.
    first = phase.evaluate(
        """async (phase) => {
          const opened = new Promise((told) => phase.addEventListener("toggle", told));
          phase.open = true;
          await opened;
          return [phase.querySelectorAll("tbody tr").length, phase.querySelector("table").ariaBusy];
        }"""
    )

    assert first == [200, "true"]
    expect(phase.locator("tbody tr")).to_have_count(3000)
    expect(phase.locator("tbody tr").last).to_contain_text("far 2999")
    # Nothing tells whether those that are left out did the same.
    expect(phase.locator("tbody tr").nth(5)).to_have_text("left out… 7 more calls… 8 more calls")
    assert phase.locator("table").get_attribute("aria-busy") is None


def test_a_run_without_a_transcript_is_compared_by_what_there_is(open_page: Open) -> None:
    page = open_page("compare/index.html?runs=hasty,bare(1)!")  # as a browser writes it

    expect(page.locator("#facts")).to_be_visible()
    assert cells(page, "calls") == ["4", "unknown"]
    expect(page.locator("figure.diff figcaption")).to_contain_text(": 1 line added, 24 removed")


def test_hostile_runs_are_shown_as_text(
    contest: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of(bypass_csp=True).new_page()  # text has to hold without the policy
    witness.watch(page)
    page.goto(f"{contest.as_uri()}/{side_by_side('hasty', HOSTILE_ID)}")
    expect(page.locator("#facts")).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((held) => { held.open = true })")
    shown = page.locator("#comparison").evaluate("(held) => held.textContent")

    assert all(attack in shown for attack in ATTACKS)
    assert page.locator("#comparison img, #comparison iframe, #comparison script").count() == 0
    assert witness.dialogs == []
    assert witness.errors == []
    assert witness.foreign(f"{contest.as_uri()}/") == set()


def test_runs_that_the_page_does_not_list_are_found_where_they_are_asked_for(
    contest: Path,
    tmp_path: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compare, "LISTED", 2)
    settings = override(read_settings(contest.parent / CONFIG), None, None, tmp_path / "site")
    site = build(settings).out
    start = f"{site.as_uri()}/"
    page = context_of(bypass_csp=True).new_page()  # text has to hold without the policy
    witness.watch(page)
    page.goto(f"{start}compare/index.html")
    softmax = page.locator("details.contest", has_text="softmax")
    softmax.locator("summary").click()
    expect(softmax.get_by_role("checkbox")).to_have_count(2)
    button = softmax.get_by_role("button", name="list all of them here")
    assert button.evaluate("(held) => held.offsetHeight") >= 24
    held = (site / "data" / "runs.js").rename(site / "away.js")
    button.click()
    expect(page.locator("#told")).to_have_text("The list of all runs could not be loaded.")
    held.rename(site / "data" / "runs.js")
    witness.errors.clear()
    button.click()
    expect(softmax.get_by_role("checkbox")).to_have_count(5)
    expect(softmax.get_by_role("checkbox").nth(2)).to_be_focused()
    assert all(attack in softmax.inner_text() for attack in ATTACKS)

    page.goto(f"{start}{side_by_side('hasty', 'lost')}")
    expect(page.locator("#facts")).to_be_visible()
    assert cells(page, "score") == [".500", "none"]
    page.goto(f"{start}{side_by_side('lost')}")
    expect(page.get_by_role("checkbox", name="choose claude · lost")).to_be_checked()
    assert (witness.errors, witness.dialogs, witness.foreign(start)) == ([], [], set())


def test_data_that_are_not_what_they_should_be_break_nothing(
    contest: Path,
    tmp_path: Path,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> None:
    contest = shutil.copytree(contest, tmp_path / "contest")
    (contest / "runs" / "lost" / "compare.js").unlink()
    spoilt = """{"id": "steady", "label": 7, "facts": [3, ["a"], null], "calls": [[2, {}, null]],
                 "phases": {}, "curves": []}"""
    (contest / "runs" / "steady" / "compare.js").write_text(
        f"kbsiteRun({spoilt});\nkbsiteRun(null);\nkbsiteRun({{id: 'hasty', label: 'not asked'}});"
    )
    page = context_of().new_page()
    witness.watch(page)
    page.goto(f"{contest.as_uri()}/{side_by_side('hasty', 'steady', 'lost')}")

    expect(page.locator("#told")).to_contain_text("1 of the runs asked for cannot be compared here")
    expect(page.locator("#facts")).to_be_visible()
    expect(page.locator("figure.diff figcaption")).to_contain_text("B left no solution.py")
    assert [error for error in witness.errors if "ERR_FILE_NOT_FOUND" not in error] == []


@pytest.mark.parametrize("width", [390, 320])
def test_the_page_fits_a_phone(open_page: Open, width: int) -> None:
    page = open_page(
        side_by_side("steady", "hasty", "lost", HOSTILE_ID),
        viewport={"width": width, "height": 800},
    )
    expect(page.locator("#facts")).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((held) => { held.open = true })")

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_a_long_name_stands_beside_its_box(open_page: Open) -> None:
    page = open_page(viewport={"width": 390, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((held) => { held.open = true })")
    expect(page.locator(".contest input")).to_have_count(9)
    apart = page.locator(".contest li").evaluate_all(
        """(held) => held.filter((one) => {
          const [box, name] = [...one.children].map((child) => child.getBoundingClientRect());
          return box.right > name.left || box.bottom <= name.top;
        }).map((one) => one.innerText)"""
    )

    assert apart == []


def test_on_a_phone_what_a_row_is_of_stays_while_one_goes_from_run_to_run(open_page: Open) -> None:
    page = open_page(
        side_by_side("steady", "hasty", "lost", HOSTILE_ID), viewport={"width": 390, "height": 800}
    )
    frame = page.locator("section:has(#facts) .scroll")
    expect(frame).to_be_visible()
    caption = frame.locator("caption").evaluate(
        "(held) => { const all = document.createRange(); all.selectNodeContents(held);"
        " return all.getBoundingClientRect().right; }"
    )
    left, name, run = frame.evaluate(
        "(held) => { held.scrollLeft = 300; const left = (place) =>"
        " held.querySelector(place).getBoundingClientRect().left;"
        " return [held.getBoundingClientRect().left, left('tbody th'), left('tbody td')]; }"
    )

    assert caption <= 390
    assert name == left
    assert run < left


def test_without_javascript_the_runs_are_listed_and_lead_to_their_pages(open_page: Open) -> None:
    page = open_page(side_by_side("steady", "hasty"), java_script_enabled=False)

    expect(page.locator("#unscripted")).to_contain_text("needs JavaScript")
    expect(page.locator("#choice")).to_be_hidden()
    page.locator("details.contest > summary", has_text="softmax").click()
    expect(page.get_by_text("compare the ")).to_have_count(3)
    expect(page.get_by_text("compare the ").filter(visible=True)).to_have_count(0)
    page.get_by_role("link", name="claude · hasty [max]").click()
    address_ends(page, "runs/hasty/index.html")


@pytest.mark.parametrize("runs", ["direct,looking", "looking,direct"])
def test_calls_that_say_the_same_stand_in_one_row_though_one_run_has_more_of_their_kind(
    open_page: Open, runs: str
) -> None:
    page = open_page(f"compare/index.html?runs={runs}")
    rows = page.locator("#comparison tr:has(> td code)")
    said = [rows.nth(at).locator("code").all_text_contents() for at in range(rows.count())]

    assert said == [["cat notes.md"], *([f"make {name}"] * 2 for name in ("one", "two", "three"))]


def test_on_paper_what_a_curve_shows_is_told_on_the_sheet_that_it_is_drawn_on(
    open_page: Open,
) -> None:
    page = open_page(side_by_side("steady", "hasty"))
    expect(page.locator("#facts")).to_be_visible()
    page.emulate_media(media="print")
    look = "(held, name) => getComputedStyle(held)[name]"
    caption = page.locator(".curves figcaption").first

    # A grid is parted as it comes: what is said of a part counts outside of one alone.
    assert page.locator(".curves").evaluate(look, "display") == "block"
    assert caption.evaluate(look, "breakInside") == "avoid"
    assert caption.evaluate(look, "breakAfter") in ("avoid", "avoid-page")
