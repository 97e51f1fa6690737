"""The grade, its raw samples and the solution's files, as a reader meets them."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from kbsite.build import build
from tests.browser.axe import bring, broken, open_all
from tests.browser.once import once
from tests.browser.test_accessibility import CORNERS, CUT
from tests.browser.waiting import address_ends
from tests.browser.witness import Witness
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.pages.changing import LOG, changing, version

pytestmark = pytest.mark.browser

COPY = "snapshots/20260102T040405Z.py"
HOSTILE = "<img src=x onerror=alert(1)>\u202e\0"
KERNEL = f"#include <cuda.h>\n// {HOSTILE}\n__global__ void k(float *x) {{ x[0] = 1.0f; }}\n"
LINES = 600


def samples() -> bytes:
    rows = [
        {"round": number, "shape": shape, "ms": [1.0 + 0.01 * n * number for n in range(100)]}
        for shape in ("n=1024", HOSTILE)
        for number in range(1, 6)
    ]
    return "\n".join([*map(json.dumps, rows), HOSTILE]).encode()


@pytest.fixture(scope="session", name="run")
@once
def _run(
    home: Path, make_run: MakeRun, make_settings: MakeSettings,
    make_floors: MakeFloors,
) -> Path:  # fmt: skip
    """The folder of the pages of a run with all there is to show."""
    settings = make_settings(home)
    board = home / "runs" / "demo"
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.2})
    shapes = [{"shape": name, "ms": 1.0, "ceiling_ms": 0.42, "peak_fraction": 0.42}
              for name in ("n=1024", HOSTILE)]  # fmt: skip
    solution = "".join(f"x{number} = {number}  # {HOSTILE}\n" for number in range(LINES))
    quotes = [{"file": "solution.py", "lines": [300], "label": "it", "text": "x299 = 299"},
              {"file": "check.log", "lines": [3, 4], "label": "it", "text": "row 3 - - -\nrow 4"},
              {"file": f"{COPY}.diff", "lines": [5], "label": "it", "text": "+x = 2"},
              {"file": "solution.py", "lines": [7], "label": "it", "text": "<b>lost</b>"},
              {"file": f"transcript/{LOG}", "event": "L3", "label": "it", "text": "check.py"},
              {"file": "files/k.cu", "lines": [3], "label": "it", "text": "float *x"}]  # fmt: skip
    make_run(
        board, run_id="r", metrics={"shapes": shapes}, audit={"quotes": quotes}, cost_usd=1.25,
        transcript={LOG: changing([version(1), version(2)], (1, 2))},
        files={"samples.jsonl": samples(), "files/k.cu": KERNEL.encode("utf-8"),
               "solution.py": solution.encode("utf-8"),
               "snapshots/20260102T030405Z.py": b"x = 1\n", COPY: b"x = 2\n",
               "check.log": "".join(f"row {n} {'- ' * n}\n" for n in range(1, 99)).encode()},
    )  # fmt: skip
    return build(settings).out / "runs" / "r"


@pytest.mark.parametrize("script", [True, False])
def test_a_quote_leads_to_its_lines_and_a_gap_to_what_it_leaves_out(
    script: bool, run: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of(java_script_enabled=script).new_page()
    witness.watch(page)
    page.goto((run / "index.html").as_uri())
    page.locator(".quote .place a").first.click()
    expect(page.locator("#solution-L300")).to_be_in_viewport()
    expect(page.locator("#solution-L300")).to_have_class("quoted")
    heights = [page.locator(f"#solution-L{at}").bounding_box() for at in (1, 298)]
    assert len({held["height"] for held in heights if held}) == 1
    page.locator(".quote .place a").last.click()
    expect(page.locator("#file-1-L3")).to_be_in_viewport()

    page.locator("#solution tr.gap a").first.click()
    expect(page).to_have_url(f"{(run / 'solution.html').as_uri()}#solution-L46")
    expect(page.locator("#solution-L46")).to_be_in_viewport()
    expect(page.locator(f"#solution-L{LINES}")).to_be_attached()
    assert witness.errors == []
    assert witness.dialogs == []
    assert page.locator("main img").count() == 0


FOCUSED = "document.activeElement.innerText"

CITED = [
    ("solution.py line 300", "solution-L300"),
    ("check.log lines 3 to 4", "log-1-L3"),
    (".py.diff line 5", "copy-1-L5"),
    ("event L3", "L3.q5"),
    ("k.cu line 3", "file-1-L3"),
]


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(("told", "place"), CITED)
def test_a_quote_is_followed_to_its_highlighted_lines_by_keyboard_alone(
    script: bool, told: str, place: str, run: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(java_script_enabled=script).new_page()
    page.goto((run / "index.html").as_uri())
    for _ in range(80):
        page.keyboard.press("Tab")
        if told in str(page.evaluate(FOCUSED)):
            break
    else:
        pytest.fail(f"the keyboard never comes to {told!r}")
    page.keyboard.press("Enter")

    line = page.locator(f"[id='{place}']")
    expect(line).to_be_in_viewport()
    expect(line).to_have_class(re.compile(r"\bquoted\b"))
    plain = page.locator("tr:not(.quoted), details pre, .steps > li:not(.quoted)").first
    shades = [one.evaluate("held => getComputedStyle(held).backgroundColor")
              for one in (line, plain)]  # fmt: skip
    assert shades[0] != shades[1]
    address_ends(page, f"#{place}")


def test_an_unproven_quote_is_seen_to_be_one(
    run: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(java_script_enabled=False).new_page()
    page.goto((run / "index.html").as_uri())
    figure = page.locator("figure.unproven")
    expect(figure).to_have_count(1)
    expect(figure).to_contain_text("<b>lost</b>")
    expect(figure.get_by_text("unproven: The passage does not stand in the file.")).to_be_visible()
    expect(figure).to_contain_text("x6 = 6")
    expect(figure.locator("a")).to_have_count(0)


def test_the_raw_samples_open_to_strips_and_a_table_without_javascript(
    run: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(java_script_enabled=False).new_page()
    page.goto((run / "index.html").as_uri())
    grade = page.locator("section.grade")
    expect(grade.locator(".chart-sample").first).to_be_hidden()
    grade.locator("summary", has_text="raw samples: 1,000 times in 5 rounds of 2 shapes").click()

    expect(grade.locator(".chart-sample")).to_have_count(10)
    grade.locator("summary", has_text="as a table").click()
    expect(grade.locator(".chart-table tbody tr")).to_have_count(10)
    expect(grade.locator(".tone-warn", has_text="samples.jsonl line 11")).to_be_visible()
    expect(grade.locator(".chart-bar")).to_have_count(2)


@pytest.mark.parametrize("screen", CORNERS)
def test_no_page_of_evidence_breaks_a_rule(
    screen: dict[str, Any], run: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(bypass_csp=True, **screen).new_page()
    bring(page)
    wrong = []
    for name in ("index.html", "solution.html", "snapshots.html"):
        page.goto((run / name).as_uri())
        open_all(page)
        wrong += broken(page)
        width = screen["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name

    assert wrong == []


def test_evidence_is_whole_on_paper(
    run: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of(viewport={"width": 720, "height": 1000}).new_page()
    page.emulate_media(media="print")
    for name in ("solution.html", "snapshots.html"):
        page.goto((run / name).as_uri())

        assert page.evaluate(CUT) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 720, name


def test_what_short_words_hit_by_chance_in_a_picture_is_not_found(
    tmp_path: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    context_of: functools.partial[BrowserContext],
) -> None:
    packed = f"{'Qz7' * 200}needle{'Qz7' * 200}"
    said = {"type": "text", "text": "A plot: Qz7 stands here once."}
    rows = [
        {"type": "user", "message": {"role": "user", "content": [said]}},
        {"type": "user", "toolUseResult": {"type": "image", "file": {"base64": packed}},
         "message": {"role": "user", "content": [
             {"type": "tool_result", "tool_use_id": "c", "content": "Qz7 and a plot"}]}},
    ]  # fmt: skip
    common = {"sessionId": "s", "timestamp": "2026-01-02T03:04:05Z", "parentUuid": None}
    log = "".join(
        json.dumps({"uuid": f"u{n}", **common, **row}) + "\n" for n, row in enumerate(rows)
    )
    settings = make_settings(tmp_path, problems=[])
    run = make_run(tmp_path / "runs" / "demo", transcript={LOG: log.encode()})
    page = context_of().new_page()
    page.goto((build(settings).out / "runs" / run.name / "index.html").as_uri())
    assert packed in (page.locator("ol.steps").text_content() or "")
    found = page.locator("#found")
    for query, told in [("qz7", "1 of 2"), ("needle", "1 of 1"), ("Qz7Qz7Qz7need", "1 of 1")]:
        page.locator("#query").fill(query)
        expect(found).to_have_text(told)
    page.locator("#query").fill("qz7")
    expect(found).to_have_text("1 of 2")
    page.locator("#next").click()

    expect(found).to_have_text("2 of 2")
    expect(page.locator("ol.steps > li.here")).to_contain_text("Qz7 and a plot")
    page.wait_for_function("() => String([...CSS.highlights.get('found')][0]) === 'Qz7'")
