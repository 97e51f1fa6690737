"""Whoever kills a build, at any moment, finds the old site or the new one: never a mixed one.

KILLS=50 kills at so many moments; on CI a few have to do.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbsite.build import Built, build
from kbsite.model.work import Work
from kbsite.record import Memory
from kbsite.standing import Standing, read_standing, record_path
from tests.conftest import MakeRun, MakeSettings
from tests.serving.killed import Killed, during_a_build, during_publishing
from tests.trees import tree

KILLS = int(os.environ.get("KILLS", "6"))


@pytest.fixture(autouse=True)
def _processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBSITE_JOBS", "2")


def test_a_killed_build_leaves_the_old_site_or_the_new_one(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    rows = b'{"type": "user", "message": {"content": "%s"}}\n' % (b"begin " * 200)
    # Long enough for its parts to be made in another process.
    make_run(settings.runs / "demo", transcript={"stdout.jsonl": rows * 1_000})
    make_run(settings.runs / "demo", model="short", transcript={"stdout.jsonl": rows})
    left = during_a_build(tmp_path, KILLS)

    assert left.other == 0
    assert left.old + left.new == KILLS
    assert left.completed < KILLS
    assert left.old


def test_killed_publishing_leaves_the_old_site_or_the_new_one(tmp_path: Path) -> None:
    left = during_publishing(tmp_path, KILLS)

    assert left == Killed(left.old, KILLS - left.old, other=0, completed=0)


def test_a_kill_between_site_and_record_costs_a_build_from_nothing_and_no_more(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo")
    build(settings)
    record = record_path(settings.out)
    before = record.read_bytes()
    make_run(settings.runs / "demo", model="another")
    whole = tree(build(settings).out)
    record.write_bytes(before)
    again = build(settings)

    assert again.work.parsed == 2
    assert tree(again.out) == whole
    assert build(settings).work == Work()


def test_who_waits_for_a_change_is_told_of_it_before_anything_is_written_for_the_next_build(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo")
    memory = Memory()
    build(settings, memory=memory)
    memory.hear({str(make_run(settings.runs / "demo", model="another"))})
    stood: list[Standing] = []

    def interrupted(built: Built) -> None:
        stood.append(read_standing(built.out))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(settings, memory=memory, told=interrupted)
    left = tree(settings.out)
    again = build(settings)

    assert stood == [Standing()]
    assert again.work.parsed == 2
    assert tree(again.out) == left
    assert build(settings).work == Work()


@pytest.mark.parametrize("left", ["site.partial", "site.old.partial"])
def test_what_a_killed_build_left_is_gone_after_the_next(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, left: str
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo")
    (tmp_path / left / "below").mkdir(parents=True)
    (tmp_path / left / "below" / "stale.html").write_text("stale")
    if left == "site.old.partial":
        build(settings)
        make_run(settings.runs / "demo", model="another")
    built = build(settings)

    assert not list(built.out.rglob("stale.html"))
    assert not (tmp_path / left).exists()
