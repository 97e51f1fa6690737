"""Which runs stand on which board is told by the runs, however boards name their folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kbsite.build import build
from kbsite.store.settings import read_settings
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import copy_of, errors, in_json

HERE = "20260102_030405_claude_here_softmax"
SITE = "data/site.json"


@pytest.fixture(name="site", scope="module")
def _site(
    tmp_path_factory: pytest.TempPathFactory, make_settings: MakeSettings, make_run: MakeRun
) -> Path:
    """A site with two boards whose folders have the same name, and one that nobody declared."""
    settings = make_settings(tmp_path_factory.mktemp("home"), board="old", runs=["2025/demo"])
    held = yaml.safe_load(settings.path.read_text())
    held["boards"].append({"id": "new", "title": "New", "runs": ["2026/demo"]})
    settings.path.write_text(yaml.safe_dump(held))
    make_run(settings.runs / "2025" / "demo", model="there")
    make_run(settings.runs / "2026" / "demo", model="here")
    make_run(settings.runs / "other", model="apart")
    return build(read_settings(settings.path)).out


def test_boards_whose_folders_have_one_name_follow(site: Path) -> None:
    assert errors(site) == []


def _take_away(held: Any) -> None:
    held["boards"] = [one for one in held["boards"] if one["config"]["id"] != "other"]


def _hide(held: Any) -> None:
    for one in held["boards"]:
        one["runs"] = [run for run in one["runs"] if run != HERE]


def _put_elsewhere(held: Any) -> None:
    (other,) = (one for one in held["boards"] if one["config"]["id"] == "other")
    other["runs"].append(HERE)


@pytest.mark.parametrize(
    ("spoil", "path"),
    [
        (_take_away, "boards[other]"),
        (_hide, "boards[1].runs"),
        (_put_elsewhere, "boards[2].runs"),
    ],
)
def test_a_run_stands_on_the_boards_that_are_its_own(
    spoil: Callable[[Any], None], path: str, site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    in_json(spoilt, SITE, spoil)

    told = [one.key or one.message for one in errors(spoilt) if one.path == SITE]
    assert [one for one in told if one.startswith(path)], told
