"""The grade of a run's page: shapes, floors, raw samples, and what cannot be read of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.check import check
from kbsite.pages.grade import ROWS
from kbsite.store.problems import read_problem
from tests.conftest import MakeFloors, MakeRun, MakeSettings

HOSTILE = "<script>alert(1)</script>"

SVG = "{http://www.w3.org/2000/svg}svg"


def lines(*rows: object) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def row(shape: str, number: int, *ms: float) -> dict[str, object]:
    return {"round": number, "shape": shape, "ms": list(ms)}


@pytest.fixture(name="section")
def _section(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, make_floors: MakeFloors
) -> Any:
    """Builds a site with one run and gives the section of its grade."""

    def make(samples: bytes | None = None, **metrics: Any) -> Any:
        settings = make_settings(tmp_path)
        board = tmp_path / "runs" / "demo"
        made = read_problem(tmp_path / "problems" / "softmax")
        make_floors(board, {"kind": "library", "problem": "softmax", "peak_fraction": 0.7,
                            "problem_hash": made.hash, "hardware": "gpu-a", "source": "a paper"},
                    {"kind": "eager", "problem": "else", "peak_fraction": 0.9})  # fmt: skip
        make_run(board, run_id="r", problem_hash=made.hash, metrics=metrics,
                 files={"samples.jsonl": samples} if samples is not None else None)  # fmt: skip
        built = build(settings)
        assert [finding for finding in built.findings if "runs/" in finding.path] == []
        page = (built.out / "runs/r/index.html").read_text("utf-8")
        tree = html5lib.parse(page, namespaceHTMLElements=False)
        return next(e for e in tree.iter("section") if e.get("class") == "grade")

    return make


def text_of(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def test_the_floors_of_the_problem_stand_beside_its_shapes(section: Any) -> None:
    held = section()

    assert "library floor 0.7" in text_of(held)
    assert "library floor .700 (a paper)" in text_of(held)
    assert "eager" not in text_of(held)
    assert [text_of(e) for e in held.iter("td")] == ["n=1024", "1.000", "0.4200", ".420"]


def test_raw_samples_lead_to_the_file_and_what_is_wrong_is_told(section: Any) -> None:
    wrong = {"round": 2, "shape": HOSTILE}
    held = section(lines(row("n=1024", 1, 1.0, 1.1, 0.9), row(HOSTILE, 1, 2.0), wrong))

    assert "raw samples: 4 times in 1 round of 2 shapes" in text_of(held)
    assert "samples.jsonl line 3: ms: missing; expected a list" in text_of(held)
    assert HOSTILE in text_of(held)
    assert not list(held.iter("script"))
    links = [e.get("href") for e in held.iter("a")]
    assert links == ["../../runs/r/raw/samples.jsonl"]


def test_a_run_without_samples_says_nothing_of_them(section: Any) -> None:
    assert "raw samples" not in text_of(section())


def test_a_run_that_failed_has_no_plot(section: Any) -> None:
    assert not list(section(status="wrong").iter(SVG))


def test_a_run_that_passed_has_one(section: Any) -> None:
    assert list(section(lines(row("n=1024", 1, 1.0, 1.1, 0.9))).iter(SVG))


def test_of_very_many_shapes_the_first_are_shown_and_the_rest_is_counted(section: Any) -> None:
    shapes = [{"shape": f"n={n}", "ms": 1.0, "peak_fraction": 0.42} for n in range(ROWS + 7)]
    held = section(shapes=shapes)

    assert len(list(held.iter("tr"))) == ROWS + 1
    assert "7 more shapes stand in metrics.json" in text_of(held)


def test_what_a_grader_says_alike_of_several_shapes_stands_there_once(section: Any) -> None:
    held = section(alarms=["a: 1.5 of it.", f"{HOSTILE}: 2.5 of it.", "Look."])
    notes = [text_of(e) for e in held.iter("p") if "tone-warn" in e.get("class", "")]

    assert notes == [f"! a and {HOSTILE}: 1.5 and 2.5 of it.", "! Look."]


def test_check_names_lines_that_cannot_be_read_and_grades_that_do_not_follow(
    tmp_path: Path, make_run: MakeRun
) -> None:
    good = lines(row("n=1024", 1, 1.0), row("n=1024", 2, 1.01), row("n=1024", 3, 0.99))
    fine = make_run(tmp_path / "demo", run_id="fine", files={"samples.jsonl": good})
    bad = lines(row("n=1024", 1, 1.2), {"round": 1})
    wrong = make_run(tmp_path / "demo", run_id="wrong", files={"samples.jsonl": bad})

    assert not [f for f in check([fine]) if "samples" in f.path or "samples" in f.message]
    found = [(Path(f.path).name, f.line, f.key) for f in check([wrong])]
    assert ("samples.jsonl", 2, "shape") in found
    assert any(name == "metrics.json" and key == "shapes[0].ms" for name, _, key in found)
