"""How a grade was made stands on its run's page: clocks, errors, proofs, earlier grades."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import html5lib
import pytest

from bench.records import plain
from kbsite.build import build
from kbsite.check import check
from kbsite.model.grade import Clocks, Outcome
from kbsite.pages.grade import CLOCKS, MOST
from kbsite.store.problems import read_problem
from tests.bench.grades import failed, grade
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings

HOSTILE = "<script>alert(1)</script>\u202e"
Sections = Callable[..., tuple[Any, Any]]


def text_of(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def rows_of(section: Any, head: str) -> list[list[str]]:
    """The cells of the table below a heading, row by row."""
    seen = False
    for element in section.iter():
        seen = seen or (element.tag in ("h2", "h3") and text_of(element) == head)
        if seen and element.tag == "table":
            rows = [row for row in element.iter("tr") if list(row.iter("td"))]
            return [[text_of(cell) for cell in row.iter("td")] for row in rows]
    return []


@pytest.fixture(name="sections")
def _sections(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Sections:
    """Builds a site with one run and gives the sections of its grade, the second may be None."""

    def make(metrics: dict[str, Any], files: dict[str, bytes] | None = None) -> tuple[Any, Any]:
        settings = make_settings(tmp_path)
        run = make_run(settings.runs / "demo", metrics=metrics, files=files)
        page = (build(settings).out / "runs" / run.name / "index.html").read_text("utf-8")
        tree = html5lib.parse(page, namespaceHTMLElements=False)
        assert not [e for e in tree.iter("script") if not e.get("src")]
        found = {e.get("class"): e for e in tree.iter("section")}
        return found["grade"], found.get("grading")

    return make


def passed(**changed: Any) -> dict[str, Any]:
    return {**plain(grade().metrics), **changed}


def test_a_grade_says_what_was_found_and_what_it_is_held_against(sections: Sections) -> None:
    section, _ = sections(passed(alarms=["Look at what it computes."]))
    text = text_of(section)

    assert "Every call was right, and all clocks agree. 80 calls in 2 fresh processes" in text
    assert "2.000 ms, geometric mean over the shapes · achievable_fraction .600" in text
    assert "! Look at what it computes." in text
    cells = [[text_of(cell) for cell in row.iter("td")] for row in section.iter("tr")]
    assert ["square", "2.000 1.980 to 2.020", "1.000", "bf16", ".500"] in cells
    assert "PASS" not in text


def test_clocks_stand_beside_each_other(sections: Sections) -> None:
    _, section = sections(passed())

    assert rows_of(section, "clocks")[0] == [
        "square", "2.000", "1.900", "2.000", "1.940", "1.960", "5.0 %", "0.20 %", "0.1000", "40",
        "0.8000",
    ]  # fmt: skip
    assert rows_of(section, "errors")[1] == [
        "tall", "y", "31 %", "5.0 %", "20 %", "25 %", "0.0020",
    ]  # fmt: skip
    titles = [e.get("title") for e in section.iter("th")]
    assert {clock.sentence for clock in CLOCKS} <= set(titles)


def test_every_clock_of_the_record_is_in_the_table() -> None:
    fields = {name for name in Clocks.__slots__ if name not in ("overhead_ms", "host_ms")}
    assert {clock.key for clock in CLOCKS} == fields


def test_proofs_isolation_and_what_the_figure_rests_on(sections: Sections) -> None:
    made = grade().metrics
    _, section = sections(passed())
    text = text_of(section)

    assert "passed dispatched operations: seen: mm" in text
    assert "not available DRAM bytes: a CPU does not count them" in text
    assert "namespaces, level L2: 1 claim proven on the machine just before, 1 not held" in text
    assert "not held: limit of memory: the kernel keeps no account here" in text
    assert made.commitment
    for figure in (made.commitment.sha256, made.commitment.seed, made.solution_hash, "A fast one"):
        assert str(figure) in text
    assert "rounds: 12.25 s" in text
    assert "2 fresh processes, 20 calls of each on a shape" in text


def test_a_grade_that_failed_says_why(sections: Sections) -> None:
    said = plain(failed(Outcome.LATE_WRITE, "y changed 3 ms after the mark").metrics)
    section, grading = sections(said)

    assert "LATE_WRITE" in text_of(section)
    assert "after the call had been reported done. y changed 3 ms" in text_of(section)
    assert rows_of(grading, "clocks") == []
    assert "namespaces, level L2" in text_of(grading)


def test_grades_of_others_have_no_such_section(sections: Sections) -> None:
    section, grading = sections({"grader": "grader 1"})

    assert grading is None
    assert "how it was graded" not in text_of(section)


def test_earlier_grades_stand_below_the_last_one(sections: Sections, tmp_path: Path) -> None:
    earlier = {**plain(failed(Outcome.INCORRECT).metrics), "graded": "2026-11-20T10:00:00+00:00"}
    old = {**plain(grade(4.0).metrics), "graded": None}
    files = {
        "grades/20261120T100000Z/metrics.json": json.dumps(earlier).encode(),
        "grades/20261120T100000Z/check.log": b"no\n",
        "grades/undated/metrics.json": json.dumps(old).encode(),
        "grades/20261119T100000Z/metrics.json": b'{"format": 1, "status": "splendid"}',
        "grades/20261118T100000Z/samples.jsonl": b"",
    }
    _, section = sections(passed(), files)
    rows = rows_of(section, "earlier grades")

    assert [row[0] for row in rows] == [
        "2026-11-20 10:00:00 UTC", "20261119T100000Z", "20261118T100000Z", "undated",
    ]  # fmt: skip
    assert [row[1] for row in rows] == ["INCORRECT", "cannot be read", "cannot be read", "PASS"]
    assert rows[-1][2:4] == [".250 .248 to .252", "4.000"]
    links = [str(e.get("href")) for e in section.iter("a")]
    assert any(link.endswith("/raw/grades/20261120T100000Z/check.log") for link in links)
    assert "20261119T100000Z: status: " in text_of(section)
    wrong = [f for f in check([tmp_path / "runs" / "demo"]) if "20261119" in f.path]
    assert {f.severity.value for f in wrong} >= {"error"}


def test_hostile_and_endless_texts_are_text_and_bounded(sections: Sections) -> None:
    many = {f"{HOSTILE}{number}": HOSTILE for number in range(5 * MOST)}
    numbers = dict.fromkeys(many, 1.0)
    shape = {**plain(grade().metrics)["shapes"][0], "shape": HOSTILE, "bound_by": HOSTILE,
             "errors": [{"output": HOSTILE, "largest": 1e300, "quantiles": {HOSTILE: 1}}],
             }  # fmt: skip
    zero = {"event_ms": 0, "wall_ms": 0, "slope_ms": -1, "event_slope_ms": 0, "overhead_ms": 0}
    proof = {"name": HOSTILE, "available": True, "passed": False, "detail": HOSTILE}
    section, grading = sections(passed(
        detail=HOSTILE, alarms=[HOSTILE] * 5 * MOST, host=many, anchors=numbers, stages=numbers,
        proofs=[proof] * 5 * MOST, device=HOSTILE, hardware=HOSTILE, grader=HOSTILE,
        shapes=[shape, {**shape, "shape": "zero", "clocks": zero}],
        isolation={"sandbox": HOSTILE, "level": HOSTILE, "proven": many, "missing": many},
        commitment={"sha256": HOSTILE, "seed": HOSTILE},
    ))  # fmt: skip

    assert "alert(1)" in text_of(section)
    assert "alert(1)" in text_of(grading)
    assert len(list(grading.iter("li"))) == 5 * MOST
    assert len([e for e in section.iter("p") if text_of(e).startswith("!")]) == MOST


def test_a_problem_of_latency_tells_the_time_against_the_library_floor(
    tmp_path: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    make_problem: MakeProblem,
    make_floors: MakeFloors,
) -> None:
    settings = make_settings(tmp_path)
    made = read_problem(make_problem(settings.problems, "softmax", regime="latency"))
    floor = {"kind": "library", "problem": "softmax", "ms": 4.0, "peak_fraction": 0.01}
    make_floors(settings.runs / "demo", floor)
    metrics = passed() | {"problem_hash": made.hash}
    run = make_run(settings.runs / "demo", metrics=metrics, problem_hash=made.hash)
    out = build(settings).out
    text = text_of(html5lib.parse(
        (out / "runs" / run.name / "index.html").read_text("utf-8"), namespaceHTMLElements=False
    ))  # fmt: skip
    assert "what counts is the time, against the library floor of 4.000 ms: 2.00 × as fast" in text


def test_a_board_shows_times_where_a_problem_is_one_of_latency(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, make_problem: MakeProblem
) -> None:
    settings = make_settings(tmp_path, problems=("softmax", "wide"))
    hashes = {
        name: read_problem(make_problem(settings.problems, name, regime=regime)).hash
        for name, regime in (("softmax", "latency"), ("wide", "memory"))
    }
    for name, hashed in hashes.items():
        for board, who, ms in (("demo", "claude", 2.0), ("floors", "floor", 5.0)):
            make_run(
                settings.runs / board, harness=who, model="library", problem=name,
                problem_hash=hashed,
                metrics=plain(grade(ms).metrics) | {"problem_hash": hashed},
            )  # fmt: skip
    grid = html5lib.parse(
        (build(settings).out / "demo/index.html").read_text("utf-8"), namespaceHTMLElements=False
    )
    (table,) = (e for e in grid.iter("table") if e.get("class") == "grid")
    cells = {
        (row[0], number): text
        for element in table.iter("tr")
        if len(row := [text_of(cell) for cell in element]) > 2
        for number, text in enumerate(row[1:3])
    }

    assert cells["library floor", 0] == "5.00 ms"
    assert cells["library floor", 1] == ".200"
    assert cells["claude · library [max]", 0].startswith("2.00 ms×2.50")
    assert cells["claude · library [max]", 1].startswith(".500±.004")
    assert cells["best", 0] == "2.00 ms×2.50"
    assert "A problem of latency: softmax." in text_of(grid)
