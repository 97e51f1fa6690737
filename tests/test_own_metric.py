"""A board whose scores are a figure of its own: no ceiling is held against them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.check import check
from kbsite.dataset.card import card
from kbsite.pages.listing import listed
from kbsite.reading import read
from kbsite.store.settings import Settings
from kbsite.verifying import verify
from kbsite.verifying.places import FolderPlace
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

FASTER: dict[str, object] = {"peak_fraction": 5.25, "interval": None, "ms": None, "shapes": []}

Make = Callable[..., Settings]


@pytest.fixture(name="make")
def _make(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Make:
    """A board of one run that is 5.25 times as fast as something."""

    def make(**board: object) -> Settings:
        return make_settings(tmp_path, problems=[], **board)  # type: ignore[arg-type]

    make_run(tmp_path / "runs" / "demo", metrics=FASTER)
    return make


def _page(settings: Settings, *path: str) -> str:
    return settings.out.joinpath(*path, "index.html").read_text("utf-8")


def test_its_pages_tell_of_no_ceiling(make: Make) -> None:
    settings = make(metric="speedup", audit_threshold=4)
    build(settings)
    (run,) = read(settings).runs

    board, own = _page(settings, "demo"), _page(settings, "runs", run.run.id)
    told = re.sub(r'id="ceilings"|no ceiling is known', "", board)
    assert "ceiling" not in told
    assert "Scores by problem" in board
    assert "0 of 1 from 4 up" in board
    assert "5.250" in own
    assert "hardware can do" not in own
    assert "Share of the ceiling" not in own
    told = card(read(settings), tuple(listed(read(settings)))).text
    assert "another figure: speedup" in told


def test_a_score_above_1_is_no_finding_there(make: Make) -> None:
    settings = make(metric="speedup", audit_threshold=4)
    told = [str(one) for one in check([settings.path], settings)]

    assert not [line for line in told if "ceiling" in line or "audit_threshold:" in line]


def test_elsewhere_it_is(make: Make) -> None:
    settings = make()
    build(settings)
    (run,) = read(settings).runs

    assert "above the ceiling" in "".join(str(one) for one in check([settings.path], settings))
    assert "hardware can do" in _page(settings, "runs", run.run.id)
    assert "1, the ceiling" in _page(settings, "demo")


def test_what_was_published_in_it_is_verified(make: Make) -> None:
    settings = make(metric="speedup", audit_threshold=4)

    assert [one.key for one in verify(FolderPlace(build(settings).out))] == ["problem"]


def test_a_board_that_names_it_later_is_as_one_that_did_at_once(make: Make) -> None:
    build(make())
    settings = make(metric="speedup", audit_threshold=4)
    fresh = replace(settings, out=settings.out.with_name("fresh"))

    assert tree(build(settings).out) == tree(build(fresh).out)


def test_a_board_of_other_folders_names_it_for_these(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_run(tmp_path / "runs" / "night" / "one", metrics=FASTER)
    settings = make_settings(tmp_path, metric="speedup", runs=["night/one"])

    assert settings.config.own_metrics == {"one"}
    (run,) = read(settings).runs
    build(settings)
    assert "hardware can do" not in _page(settings, "runs", run.run.id)
    assert not [one for one in check([settings.path], settings) if "ceiling" in str(one)]


def test_one_that_is_nearly_the_usual_one_is_asked_about(make: Make) -> None:
    """It would take the ceiling away from a board that has one."""
    settings = make(metric="peak fraction")
    told = [str(one) for one in check([settings.path], settings)]

    assert any("did you mean peak_fraction?" in line for line in told)
