"""A problem's page says all of what its problem.yaml lays down."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest

from kbsite.build import build
from kbsite.model.problem import Bound
from kbsite.pages.problem import bound_text
from tests.conftest import MakeProblem, MakeSettings
from tests.pages.test_board_figures import said

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
