"""While one core looks a long run over, another one reads its transcript, once and for all."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbsite import ahead, alarms, build, lookout, transcripts
from kbsite.alarms.evidence import Evidence
from kbsite.engines import Here, copies
from kbsite.engines.copies import Copies
from kbsite.fold.aside import Place
from kbsite.lookout import Lookout
from kbsite.model.alarm import Alarm, Level
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.settings import Settings, override
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
    monkeypatch.setattr(copies, "LEAST", 1000)
    return settings


def runs_of(settings: Settings) -> list[Evidence]:
    return [Evidence(read_run(settings.runs / "demo" / name), None, None) for name in "ba"]


def test_the_longest_run_is_taken_up_by_a_core_that_has_none_to_look_over(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "DETECTORS", (Watcher(),))
    taken: list[str | None] = []
    told: list[tuple[str, int, int]] = []

    def meanwhile(stored: StoredRun | None) -> None:
        taken.append(stored.run.id if stored else None)

    seen = Lookout(engine=Copies(3), meanwhile=meanwhile).look(
        runs_of(settings), lambda name, done, whole: told.append((name, done, whole))
    )
    saw = {run: found[0].saw.split(" in ") for run, found in seen.alarms.items()}

    assert taken == ["a"]
    assert {name for name, _, _ in told} == {"a", "b"}
    assert [(done, whole) for _, done, whole in told] == [(1, 2), (2, 2)]
    assert {run: name for run, (name, _) in saw.items()} == {"a": "a", "b": "b"}
    assert str(os.getpid()) not in {process for _, process in saw.values()}


@pytest.mark.parametrize(("long", "jobs"), [(10_000_000, 3), (1000, 2)])
def test_a_short_run_and_one_of_many_are_looked_over_before_anything_else(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, long: int, jobs: int
) -> None:
    monkeypatch.setattr(lookout, "LONG", long)

    taken: list[StoredRun | None] = []
    seen = Lookout(engine=Copies(jobs), meanwhile=taken.append).look(runs_of(settings))

    assert set(seen.noticed) == {"a", "b"}
    assert taken == [None]


def test_the_site_is_the_same_and_the_transcript_read_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = override(settings, None, None, settings.out.with_name("ahead"))
    before = build.build(chosen, engine=Copies(3))
    # What one process has read to look runs over, it need not read for their pages.
    monkeypatch.setattr(transcripts, "events", lambda *_: pytest.fail("read again"))
    after = build.build(settings, engine=Here())

    assert tree(before.out) == tree(after.out)
    assert (before.work, before.findings) == (after.work, after.findings)
    assert before.work.parsed == 2


def test_a_transcript_that_cannot_be_read_is_told_on_its_page_and_stops_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def failing(harness: str, *_: object) -> None:
        read.append(harness)
        raise ValueError("cannot be read")

    monkeypatch.setattr(ahead, "transcript", failing)
    made = build.build(settings, engine=Copies(3))
    told = [finding for finding in made.findings if "cannot be read" in finding.message]

    assert [finding.path for finding in told] == ["runs/a/index.html", "runs/b/index.html"]
    # That of the long one was read ahead, here; the other one where its page is made.
    assert len(read) == 1
    assert (made.out / "runs" / "b" / "index.html").is_file()


def test_what_copies_hand_on_is_not_held_in_memory_until_pages_are_made(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1000)
    text = "All of it is said again. " * 20_000
    row = f'{{"type": "user", "message": {{"content": "{text}"}}}}\n'.encode()
    most: list[int] = []
    packed: list[int] = []
    keeps = ahead.Ahead.add

    def add(self: ahead.Ahead, run_id: str, place: Place | None) -> None:
        packed.append(place[1] if place else 0)
        keeps(self, run_id, place)

    monkeypatch.setattr(ahead.Ahead, "add", add)
    for count in (2, 2, 10):
        settings = make_settings(tmp_path / f"{len(most)}", problems=[])
        for number in range(count):
            make_run(settings.runs / "demo", run_id=f"r{number}", transcript={LOG: row})
        held: list[int] = []
        tracemalloc.start()
        try:
            build.build(
                settings,
                lambda *_, held=held: held.append(tracemalloc.get_traced_memory()[0]),
                engine=Copies(2),
            )
        finally:
            tracemalloc.stop()
        most.append(max(held))

    # The first loads what is needed, too. It was all of a transcript, 500 kB each.
    assert min(packed) > len(text)
    _, few, many = most
    assert many - few < len(text), most
