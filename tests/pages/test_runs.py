"""Every run is listed once: on pages that need no script, in data/runs.json, in data/runs.js."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import html5lib
import jsonschema
import msgspec
import pytest

from kbsite.alarms.kinds import alarm
from kbsite.build import build
from kbsite.model.alarm import Level
from kbsite.model.listing import Listing
from kbsite.pages import listing
from kbsite.pages.nearest import NEAR
from kbsite.pages.run import attempts_of, pages
from kbsite.pages.runs import COLUMNS, ROWS, page_path
from kbsite.reading import read
from kbsite.rendering import Templates, environment
from kbsite.store.problems import read_problem
from tests.conftest import MakeRun, MakeSettings

HOSTILE = "x'><script>alert(1)</script>&amp;\u2028"
SCRIPT = re.compile(r"kbsiteRuns\((.*)\);\n")


def handed_over(site: Path) -> dict[str, Any]:
    """What data/runs.js gives to a page."""
    found = SCRIPT.fullmatch((site / "data/runs.js").read_text("ascii"))
    assert found
    held: dict[str, Any] = json.loads(found[1])
    return held


def rows(path: Path) -> list[list[str]]:
    """The cells of each run on a page of the index, as text."""
    page = html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False)
    lines = page.findall(".//table[@id='runs']/tbody/tr")
    cells = [["".join(cell.itertext()).strip() for cell in line.findall("td")] for line in lines]
    return [line for line in cells if line]


def groups(path: Path) -> list[str]:
    page = html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False)
    return ["".join(head.itertext()) for head in page.findall(".//tr[@class='board']/th")]


@pytest.fixture(name="site")
def _site(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    """Runs on a declared board, on one that only runs name, and one that no board takes."""
    own: dict[str, Any]
    settings = make_settings(tmp_path, title="The demo")
    runs = tmp_path / "runs"
    own = {"model": "m", "problem_hash": read_problem(tmp_path / "problems/softmax").hash}
    make_run(runs / "other", **own, metrics={"status": "wrong"}, end_reason="budget")
    make_run(runs / "demo", **own, run_id="b", effort="max", audit={})
    make_run(runs / "demo", **own, run_id="a", effort="max", metrics=None)
    make_run(runs / "demo", **own, run_id="refused", hardware="another")
    return build(settings).out


def test_runs_stand_below_their_boards_in_the_order_of_the_site(site: Path) -> None:
    shown = [line[0] for line in rows(site / "runs/index.html")]

    assert groups(site / "runs/index.html") == ["The demo", "other"]
    assert shown[:3] == ["a", "b", "refused (on no board)"]
    assert len(shown) == 4


def test_a_row_says_what_became_of_a_run(site: Path) -> None:
    graded, other = rows(site / "runs/index.html")[1], rows(site / "runs/index.html")[3]

    assert graded[1:4] == ["softmax", "claude · m [max]", ".420±.020"]
    assert graded[4:] == ["★ clean", "30:00", "2 of 2"]
    assert [line.split() for line in other[3:6]] == [["✗", "wrong"], ["–"], ["30:00", "✂"]]


def test_every_filter_counts_the_runs_of_each_value(site: Path) -> None:
    page = html5lib.parse(
        (site / "runs/index.html").read_text("utf-8"), namespaceHTMLElements=False
    )
    told = {
        select.get("name"): [option.text for option in select.findall("option")][1:]
        for select in page.findall(".//select")
    }

    assert tuple(told) == (*listing.FILTERS, "sort")
    assert told["board"] == ["The demo (3)", "other (1)"]
    assert told["verdict"] == ["★ clean (1)", "not audited (3)"]
    assert told["status"] == ["✓ passed (2)", "✗ wrong (1)", "· ungraded (1)"]
    assert told["cut"] == ["cut by the budget (1)", "not cut (3)"]
    assert told["sort"] == list(COLUMNS)


def test_the_list_for_programs_fits_its_schema(site: Path) -> None:
    schema = json.loads((site / "data/schema/runs.schema.json").read_text("utf-8"))
    listed = json.loads((site / "data/runs.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(listed)
    runs = msgspec.convert(listed, Listing).runs

    assert [run.id for run in runs][:3] == ["a", "b", "refused"]
    assert all((site / run.page).is_file() for run in runs)
    assert (runs[1].peak_fraction, runs[1].interval, runs[1].attempt) == (0.42, (0.40, 0.44), 2)
    assert (runs[0].peak_fraction, runs[0].verdict, runs[0].attempts) == (None, None, 2)
    assert runs[3].peak_fraction is None
    assert runs[3].cut
    assert [run.on_board for run in runs] == [True, True, False, True]
    assert schema["$defs"]["ListedRun"]["properties"]["attempt"]["description"]


def test_the_script_hands_over_what_the_page_shows(site: Path) -> None:
    data = handed_over(site)
    runs = [dict(zip(data["fields"], row, strict=True)) for row in data["runs"]]

    assert [run["run"] for run in runs] == [
        line[0].split()[0] for line in rows(site / "runs/index.html")
    ]
    assert [run["shown"] for run in runs] == [1, 1, 0, 1]
    # What detectors make of such a run is told by their own tests.
    assert [runs[1][name] for name in listing.FILTERS if name != "alarm"] == [
        "demo", "m", "claude", "softmax", "clean", "passed", "no",
    ]  # fmt: skip
    assert [runs[1][name] for name in ("score", "told", "half", "time")] == [
        0.42, ".420", ".020", "30:00",
    ]  # fmt: skip
    assert [runs[0][name] for name in ("score", "told", "verdict")] == [None, "", "none"]
    assert data["boards"]["demo"] == "The demo"
    assert data["problems"]["softmax"] == "Softmax"


def test_the_script_writes_margins_as_the_page_does(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    board = tmp_path / "runs" / "demo"
    told = {0.5: "<.001", 1.2e-6: ".0000001", 0.9: ".100"}
    for number, (score, half) in enumerate(zip(told, (2e-4, 1e-7, 0.1), strict=True)):
        metrics = {"peak_fraction": score, "interval": [score - half, score + half]}
        make_run(board, run_id=f"r{number}", model=f"m{number}", metrics=metrics)
    site = build(make_settings(tmp_path)).out
    data = handed_over(site)
    halves = {row[data["fields"].index("half")] for row in data["runs"]}
    page = html.unescape((site / "runs" / "index.html").read_text("utf-8"))

    assert halves == set(told.values())
    assert {half for half in told.values() if f">±{half}<" in page} == halves


@pytest.mark.parametrize(("levels", "value"), [
    ([], "none"), (["note"], "note"), (["note", "alarm", "warning"], "alarm"),
])  # fmt: skip
def test_runs_are_filtered_by_their_heaviest_alarm(
    levels: list[str], value: str, tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs/demo")
    found = tuple(alarm("fallback", Level(level), "It falls back.") for level in levels)
    site = replace(read(settings), alarms={run.name: found} if found else {})
    (stored,) = site.runs

    assert listing.filtered_by(site, stored)["alarm"] == value
    assert [choice.label for choice in listing.choices(site)["alarm"]] == [value]


def test_what_a_run_is_called_can_end_neither_script_nor_page(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(
        tmp_path / "runs/demo",
        run_id=HOSTILE.replace("/", "-"),
        model=HOSTILE,
        effort=HOSTILE,
        variant=HOSTILE,
    )
    out = build(settings).out
    script = (out / "data/runs.js").read_text("ascii")
    page = (out / "runs/index.html").read_text("utf-8")

    assert not set("<>&") & set(script)
    assert "<script>alert" not in page
    (run,) = handed_over(out)["runs"]
    assert (out / "runs" / unquote(run[0]) / "index.html").is_file()


def test_a_name_that_is_no_text_is_listed_all_the_same(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs/demo", model="\u202ex\x00")
    found = listing.choices(read(settings))["model"]

    assert [choice.value for choice in found] == ["\\u202ex␀"]


def test_many_runs_stand_on_several_pages(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    names = [f"r{number:03}" for number in range(2 * ROWS + 1)]
    for name in names:
        make_run(tmp_path / "runs/demo", run_id=name)
    out = build(settings).out
    held = [rows(out / page_path(number)) for number in (1, 2, 3)]

    assert [len(page) for page in held] == [ROWS, ROWS, 1]
    assert [line[0].split()[0] for page in held for line in page] == names
    assert not (out / page_path(4)).exists()
    second = (out / page_path(2)).read_text("utf-8")
    assert f'href="../../{page_path(1)}"' in second
    assert f'href="../../{page_path(3)}"' in second
    assert f'href="../../runs/{names[ROWS]}/index.html"' in second
    assert "<select" not in second
    # About as much as an element has to weigh: a page opens at once whatever the number of runs.
    assert len((out / page_path(1)).read_bytes()) < 1200 * ROWS


def test_no_run_is_not_an_error(tmp_path: Path, make_settings: MakeSettings) -> None:
    out = build(make_settings(tmp_path)).out

    assert rows(out / "runs/index.html") == []
    assert json.loads((out / "data/runs.json").read_text("utf-8")) == {"format": 1, "runs": []}
    assert handed_over(out)["runs"] == []


def test_a_page_links_the_attempts_around_its_own_and_counts_the_others(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    """Pages of a cell of thousands are as long as those of a cell of ten."""
    settings = make_settings(tmp_path)
    for number in range(2 * NEAR + 3):
        make_run(tmp_path / "runs/demo", model="m & <m>", run_id=f"r{number:02}")
    site = read(settings)
    near = attempts_of(site, "r12")
    assert (near.number, near.count) == (13, 23)
    assert near.near == tuple(f"r{number:02}" for number in range(2, 23))
    assert len(attempts_of(site, "r00").near) == NEAR + 1

    renderer = Templates(environment(site))
    [page] = [made for made in pages(site) if made.path == "runs/r12/index.html"]
    [html] = [file.text for file in page.files(renderer) if file.path == page.path]
    document = html5lib.parse(html, namespaceHTMLElements=False)
    [told] = [p for p in document.iter("p") if (p.text or "").startswith("attempts: ")]
    *others, all_of_them = [str(link.get("href")) for link in told.iter("a")]
    assert others == [f"../../runs/r{n:02}/index.html" for n in range(2, 23) if n != 12]
    path, _, query = all_of_them.partition("?")
    assert path == "../../runs/index.html"
    asked = {"model": ["m & <m>"], "harness": ["claude"], "problem": ["softmax"]}
    assert parse_qs(query) == asked
    assert "2 more are in the list" in "".join(told.itertext())
