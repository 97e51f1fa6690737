"""While one core looks a long run over, the other one reads its transcript, once and for all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbsite import alarms, build, lookout, making
from kbsite.alarms.evidence import Evidence
from kbsite.build import override
from kbsite.lookout import Lookout
from kbsite.model.alarm import Alarm, Level
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.settings import Settings
from tests.browser.long_session import session
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

LOG = "home/.claude/projects/-w/s.jsonl"


class Watcher:
    """Notices every run, and says in which process."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        saw = f"{evidence.stored.run.id} in {os.getpid()}"
        yield Alarm(kind="fallback", level=Level.NOTE, saw=saw, look="Look.")


@pytest.fixture(name="settings")
def _settings(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    settings = make_settings(tmp_path, problems=[])
    make_run(settings.runs / "demo", run_id="a", transcript={LOG: session()})
    make_run(settings.runs / "demo", run_id="b")
    monkeypatch.setattr(lookout, "LONG", 1000)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return settings


def runs_of(settings: Settings) -> list[Evidence]:
    return [Evidence(read_run(settings.runs / "demo" / name), None, None) for name in "ab"]


def test_the_first_of_a_few_runs_is_taken_up_while_another_process_looks_at_all(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "DETECTORS", (Watcher(),))
    taken: list[str] = []
    told: list[tuple[str, int, int]] = []

    def meanwhile(stored: StoredRun) -> None:
        taken.append(stored.run.id)

    seen = Lookout(meanwhile=meanwhile).look(
        runs_of(settings), lambda name, done, whole: told.append((name, done, whole))
    )
    saw = {run: found[0].saw.split(" in ") for run, found in seen.alarms.items()}

    assert taken == ["a"]
    assert told == [("a", 1, 2), ("b", 2, 2)]
    assert {run: name for run, (name, _) in saw.items()} == {"a": "a", "b": "b"}
    assert str(os.getpid()) not in {process for _, process in saw.values()}


@pytest.mark.parametrize(("long", "few"), [(10_000_000, lookout.FEW), (1000, 1)])
def test_short_runs_and_many_are_looked_over_before_anything_else(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, long: int, few: int
) -> None:
    monkeypatch.setattr(lookout, "LONG", long)
    monkeypatch.setattr(lookout, "FEW", few)

    def meanwhile(stored: StoredRun) -> None:
        raise AssertionError(stored.run.id)

    seen = Lookout(meanwhile=meanwhile).look(runs_of(settings))

    assert set(seen.noticed) == {"a", "b"}


def test_the_site_is_the_same_and_the_transcript_read_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = build.build(override(settings, None, None, settings.out.with_name("ahead")))
    monkeypatch.setattr(lookout, "LONG", 10_000_000)
    after = build.build(settings)

    assert tree(ahead.out) == tree(after.out)
    assert (ahead.work, ahead.findings) == (after.work, after.findings)
    assert ahead.work.parsed == 2


def test_a_transcript_that_cannot_be_read_is_told_on_its_page_and_stops_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def failing(harness: str, _: object) -> None:
        read.append(harness)
        raise ValueError("cannot be read")

    monkeypatch.setattr(making, "transcript", failing)
    made = build.build(settings)
    told = [finding for finding in made.findings if "cannot be read" in finding.message]

    assert [finding.path for finding in told] == ["runs/a/index.html", "runs/b/index.html"]
    assert len(read) == 2
    assert (made.out / "runs" / "b" / "index.html").is_file()
