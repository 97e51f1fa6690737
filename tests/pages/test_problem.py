"""A problem's page says all of what its problem.yaml lays down."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest

from kbsite.build import build
from kbsite.model.problem import Bound
from kbsite.model.status import Status
from kbsite.pages.problem import bound_text, calibration, rank
from kbsite.store.problems import read_problem
from kbsite.store.settings import read_settings
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings
from tests.pages.test_board_figures import said
from tests.store.cards import CARD
from tests.test_boards import attempt, in_time

BOUNDS = [
    (Bound(rms=0.02, relative=0.01), "|y − r| ≤ 0.02 RMS(r) + 0.01 |r|"),
    (Bound(relative=0.01), "|y − r| ≤ 0.01 |r|"),
    (Bound(), "equal, bit by bit"),
    (Bound(rms=0.5, typical=1e-3), "|y − r| ≤ 0.5 RMS(r); RMS(y − r) ≤ 0.001 RMS(r)"),
    (Bound(indices_into="x"), "equal, bit by bit; by what it points at in x"),
]


@pytest.mark.parametrize(("bound", "text"), BOUNDS)
def test_a_bound_is_said_in_one_line(bound: Bound, text: str) -> None:
    assert bound_text(bound) == text


def test_tensors_dimensions_work_and_sources_are_told(
    tmp_path: Path, make_settings: MakeSettings, make_problem: MakeProblem
) -> None:
    settings = make_settings(tmp_path)
    sources = [{"title": "A paper", "url": "https://a.example/paper"},
               {"title": "A file", "url": "file:///etc/passwd"}]  # fmt: skip
    make_problem(
        tmp_path / "problems", sources=sources, accounting="One pass over each row.",
        regime="latency",
    )  # fmt: skip
    text = (build(settings).out / "problems" / "softmax" / "index.html").read_text("utf-8")
    main = html5lib.parse(text, namespaceHTMLElements=False).find(".//main")
    words = said(main)

    for expected in ("bound bylatency", "work, fp325 * n", "One pass over each row.",
                     "ordinary, wide", "1 to 4096", "|y − r| ≤ 1e-05 RMS(r)",
                     "A file file:///etc/passwd"):  # fmt: skip
        assert expected in words
    assert [link.get("href") for link in main.iter("a") if said(link) == "A paper"] == [
        "https://a.example/paper"
    ]
    assert not [link for link in main.iter("a") if (link.get("href") or "").startswith("file:")]


def test_cells_stand_by_score_then_by_pass_and_time() -> None:
    held = [
        attempt("half", score=0.5), attempt("more", score=0.6), attempt("untimed"),
        attempt("wrong", status=Status.WRONG), in_time(attempt("slow"), 9.0),
        in_time(attempt("quick"), 2.0),
    ]  # fmt: skip
    ordered = [one.run.id for one in sorted(held, key=rank)]
    assert ordered == ["more", "half", "quick", "slow", "untimed", "wrong"]


def test_what_a_bound_lets_through_and_keeps_out_is_said() -> None:
    assert calibration(Bound(rms=0.1)) == ""
    assert calibration(Bound(rms=0.1, honest=0.24, cheapest=4.0, cheat="weights in fp4")) == (
        "honest kernels use up to 0.24 of it; weights in fp4 is 4 times too far off"
    )
    assert calibration(Bound(rms=0.1, honest=0.00002, cheapest=134.0, cheat="it")) == (
        "honest kernels use up to 0.00002 of it; it is 134 times too far off"
    )


def test_shapes_have_ceilings_on_the_hardware_of_boards_and_floors_stand_there(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_problem: MakeProblem,
    make_run: MakeRun,
    make_floors: MakeFloors,
) -> None:
    folder = tmp_path / "bench" / "hardware"
    folder.mkdir(parents=True)
    (folder / "gpu-a.yaml").write_text(CARD)
    make_settings(tmp_path, hardware="gpu-a")
    settings = read_settings(tmp_path / "kbsite.yaml")
    bound = {"rms": 0.1, "honest": 0.24, "cheapest": 4.0, "cheat": "half of it"}
    made = make_problem(
        settings.problems, forbidden=["softmax", "own_op"], dimensions={
            "n": {"means": "rows", "least": 1, "most": 10**9},
            "m": {"means": "columns", "least": 1, "most": 4096},
        },
        shapes=[{"id": "long", "n": 10**9, "m": 64}, {"id": "odd", "n": 3}],
        tensors={"y": {"role": "out", "dtype": "fp32", "shape": ["n"], "bound": bound}},
        bytes="8 * n * m / 64",
    )  # fmt: skip
    hashed = read_problem(made).hash
    make_run(settings.runs / "demo", problem_hash=hashed)
    floor = make_run(settings.runs / "floors", harness="floor", model="library",
                     problem_hash=hashed, budget_seconds=None,
                     metrics={"peak_fraction": 0.7, "interval": None, "ms": 11.4, "shapes": []},
                     )  # fmt: skip
    make_floors(settings.runs / "demo", {"kind": "eager", "problem": "softmax", "ms": 40.0})
    text = (build(settings).out / "problems" / "softmax" / "index.html").read_text("utf-8")
    main = html5lib.parse(text, namespaceHTMLElements=False).find(".//main")
    rows = [[said(cell) for cell in row.iter("td")] for row in main.iter("tr")]

    assert ["long", "1000000000", "64", "8.000 ms, dram"] in rows
    assert ["odd", "3", "–", "–"] in rows
    assert ["short", "64", "–"] in rows, "no ceiling of a card for what a CPU is graded on"
    words = said(main)
    assert "library softmax (torch.softmax, log_softmax, logsumexp) softmax" in words
    assert "own_op" in words
    assert "half of it is 4 times too far off" in words
    assert "library floor .700, 11.40 ms; eager floor 40.00 ms" in words
    assert f"../../runs/{floor.name}/index.html" in [link.get("href") for link in main.iter("a")]
