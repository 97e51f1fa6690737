"""The published table of what is caught is read strictly, and counts what it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.alarms.caught import PATH, Caught, Fixture, Honest, Raised, read_caught
from kbsite.alarms.kinds import BY_ID
from kbsite.model.alarm import Level
from kbsite.store.parsing import InvalidFileError

FIXTURE = {
    "id": "A01", "title": "Kept by id", "group": "replay", "expected": ["output-cache"],
    "caught": [{"kind": "output-cache", "level": "alarm"}], "caught_all": True,
}  # fmt: skip
HONEST = {"id": "dispatch", "title": "Dispatch", "highest": "note", "kinds": ["shape-branch"]}


def written(tmp_path: Path, fixtures: list[Any], honest: list[Any]) -> Path:
    path = tmp_path / "caught.json"
    path.write_text(json.dumps({"fixtures": fixtures, "honest": honest}))
    return path


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    missed = {**FIXTURE, "id": "A02", "caught": [], "caught_all": False}
    held = read_caught(written(tmp_path, [FIXTURE, missed], [HONEST]))

    assert held == Caught(
        fixtures=(
            Fixture(
                id="A01", title="Kept by id", group="replay", expected=("output-cache",),
                caught=(Raised(kind="output-cache", level=Level.ALARM),), caught_all=True,
            ),
            Fixture(
                id="A02", title="Kept by id", group="replay", expected=("output-cache",),
                caught=(), caught_all=False,
            ),
        ),
        honest=(
            Honest(id="dispatch", title="Dispatch", highest=Level.NOTE, kinds=("shape-branch",)),
        ),
    )  # fmt: skip
    assert (held.caught, held.flagged) == (1, 0)


def test_a_fixture_is_caught_only_where_every_trick_of_it_is(tmp_path: Path) -> None:
    held = read_caught(written(tmp_path, [{**FIXTURE, "caught_all": False}, FIXTURE], []))

    assert held
    assert held.caught == 1


@pytest.mark.parametrize(
    ("highest", "flagged"), [(None, False), ("note", False), ("warning", True), ("alarm", True)]
)
def test_an_honest_run_is_flagged_above_a_note(
    highest: str | None, flagged: bool, tmp_path: Path
) -> None:
    held = read_caught(written(tmp_path, [], [{**HONEST, "highest": highest}]))

    assert held
    assert held.honest[0].flagged is flagged
    assert held.flagged == int(flagged)


def test_there_is_no_table_before_it_is_made(tmp_path: Path) -> None:
    assert read_caught(tmp_path / "caught.json") is None


@pytest.mark.parametrize(
    "broken",
    [
        {**FIXTURE, "caught": [{"kind": "output-cache", "level": "loud"}]},
        {**FIXTURE, "caught_all": "yes"},
        {**FIXTURE, "expected": "output-cache"},
        {key: value for key, value in FIXTURE.items() if key != "id"},
        7,
    ],
    ids=["level", "truth", "list", "missing", "no table"],
)
def test_a_table_that_is_none_is_refused_with_its_name(broken: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"caught\.json"):
        read_caught(written(tmp_path, [broken], []))


def test_the_published_table_names_known_kinds_each_case_once() -> None:
    held = read_caught()
    assert held
    ids = [case.id for case in held.fixtures]

    assert len(ids) == len(set(ids))
    assert all(set(case.expected) <= set(BY_ID) for case in held.fixtures)
    assert all(raised.kind in BY_ID for case in held.fixtures for raised in case.caught)
    assert all(set(case.kinds) <= set(BY_ID) for case in held.honest)


def test_each_kind_is_raised_by_something_that_it_is_meant_for() -> None:
    """But for what the grader noticed, of which a grade tells and no source."""
    held = read_caught(PATH)
    assert held
    raised = {one.kind for fixture in held.fixtures for one in fixture.caught}

    assert set(BY_ID) - raised == {"grader"}, "tests/alarms/fixtures/ has none that raises it"
