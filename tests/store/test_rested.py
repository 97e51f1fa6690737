"""Folders that rested are not read again, and what is seen is what who reads them all sees."""

from __future__ import annotations

import importlib
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kbsite import beside
from kbsite import build as building
from kbsite.beside import one_core
from kbsite.build import build
from kbsite.store import rested, shared_look
from kbsite.store.inputs import Input, input_of, inputs
from kbsite.store.rested import Difference, Rested
from kbsite.store.shared_look import SharedLook
from kbsite.store.swapping import remove
from kbsite.store.writing import write_text
from tests.conftest import MakeRun, MakeSettings
from tests.shut import shut
from tests.store.test_inputs import change_something
from tests.test_incremental import from_nothing
from tests.trees import tree

TICK = 0.012
"""Seconds after which a change bears another time than one before it."""


class Looking:
    """Looks again and again, as one build after the other does."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.places = [home / "runs", home / "problems"]
        self.held: dict[str, Input] = inputs(self.places, {})
        self.marker = 1

    def look(self, *, fails: bool = False) -> dict[str, Input]:
        """What is seen now; a build that fails tells nothing of it."""
        folders = Rested(self.home / "site", self.marker)
        seen = folders.look(self.places, self.held)().applied(self.held)
        if not fails:
            self.held, self.marker = seen, self.marker + 1
            folders.keep(self.marker)
        return seen

    def hear(self, heard: set[str]) -> None:
        """Look where somebody said that something changed."""
        folders = Rested(self.home / "site", self.marker)
        self.held, self.marker = inputs(self.places, self.held, heard), self.marker + 1
        folders.keep(self.marker)


@pytest.fixture(name="looking")
def _looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looking:
    monkeypatch.setattr(rested, "_REST", int(TICK / 2 * 1e9))
    for name in ("runs/a/one", "runs/a/b/two", "runs/c/three", "problems/p/four"):
        write_text(tmp_path / name, name)
    time.sleep(TICK)
    return Looking(tmp_path)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders whose names are read from now on, in this process."""
    read: list[str] = []
    scandir = os.scandir

    def counted(path: str) -> object:
        read.append(str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    return read


@pytest.mark.parametrize("seed", range(12))
def test_who_reads_restless_folders_sees_what_who_reads_all_does(
    looking: Looking, seed: int
) -> None:
    chance = random.Random(seed)
    for step in range(16):
        heard = {
            str(change_something(looking.home, chance, f"{step}.{number}"))
            for number in range(chance.randrange(3))
        }
        if chance.random() < 0.5:
            time.sleep(TICK)
        if chance.random() < 0.3:
            looking.hear(heard)
        else:
            seen = looking.look(fails=chance.random() < 0.3)
            assert seen == inputs(looking.places, {})
    assert looking.look() == inputs(looking.places, {})


@pytest.mark.parametrize("seed", range(12))
def test_who_reads_restless_folders_sees_what_who_reads_all_does_where_some_are_shut(
    looking: Looking, seed: int
) -> None:
    chance = random.Random(seed)
    with shut():
        for step in range(24):
            every = sorted(path for path in _walked(looking.home) if not path.is_symlink())
            path = chance.choice(every)
            heard = {str(path)}
            if chance.random() < 0.6:
                path.chmod(chance.choice([0o000, 0o111, 0o444, 0o755, 0o755]))
            else:
                with suppress(OSError):
                    heard = {str(change_something(looking.home, chance, f"{step}"))}
            if chance.random() < 0.5:
                time.sleep(TICK)
            if chance.random() < 0.3:
                looking.hear(heard)
            else:
                # Of what was read before and can be read no more, it is known what it held.
                known = looking.held
                seen = looking.look(fails=chance.random() < 0.3)
                assert seen == inputs(looking.places, known)


def _walked(home: Path) -> Iterator[Path]:
    """All that can be seen below the places."""
    for folder, folders, files in os.walk(home):
        if os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
            yield from (Path(folder) / name for name in (*folders, *files) if folder != str(home))


def test_nothing_is_read_where_nothing_came_or_went(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = looking.look()
    read = reads(monkeypatch)
    with one_core():
        assert looking.look() == before
        assert read == []

        write_text(looking.home / "runs/a/b/two", "two that is longer")
        (looking.home / "runs/a/one").write_text("another")
        time.sleep(TICK)
        assert looking.look() == inputs(looking.places, before)
    # It was written beside, and took its place.
    assert read[:1] == [str(looking.home / "runs/a/b")]


def test_of_a_build_that_failed_and_of_another_site_nothing_is_believed(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking.look()
    with one_core():
        write_text(looking.home / "runs/c/new", "new")
        time.sleep(TICK)
        looking.look(fails=True)
        read = reads(monkeypatch)
        seen = looking.look()
        assert str(looking.home / "runs/c/new") in seen
        assert len(read) == 6
        looking.marker += 5
        looking.look()
        assert len(read) == 12


@pytest.mark.parametrize("copy", ["at once", "last", "killed"])
def test_two_who_share_a_look_see_what_one_sees(
    looking: Looking, monkeypatch: pytest.MonkeyPatch, copy: str
) -> None:
    work, here = SharedLook[Difference]._work, os.getpid()

    def working(self: SharedLook[Difference]) -> Difference:
        if os.getpid() != here and copy == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        while copy == "last" and not (looking.home / "go").exists():
            time.sleep(0.001)
        return work(self)

    monkeypatch.setattr(shared_look, "_PIECE", 1)
    monkeypatch.setattr(beside, "cores", lambda: 2)
    looking.look()
    monkeypatch.setattr(SharedLook, "_work", working)
    chance = random.Random(7)
    for step in range(10):
        remove(looking.home / "go")
        for number in range(step % 3):
            change_something(looking.home, chance, f"{step}.{number}")
        time.sleep(TICK)
        folders = Rested(looking.home / "site", looking.marker)
        look = folders.look(looking.places, looking.held)
        look.join()
        write_text(looking.home / "go", "")
        looking.held, looking.marker = look().applied(looking.held), looking.marker + 1
        folders.keep(looking.marker)
        assert looking.held == inputs(looking.places, {})


def asks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked when it was written from now on, in this process."""
    asked: list[str] = []
    ask = os.lstat

    def counted(path: str) -> os.stat_result:
        asked.append(path)
        return ask(path)

    monkeypatch.setattr(os, "lstat", counted)
    return asked


def test_who_helps_looks_at_all_that_nobody_looked_at_or_until_something_is_odd(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking.look()
    monkeypatch.setattr(shared_look, "_PIECE", 1)
    monkeypatch.setattr(SharedLook, "is_under_way", lambda _: True)
    with one_core(), monkeypatch.context() as patched:
        asked = asks(patched)
        look = Rested(looking.home / "site", looking.marker).look(looking.places, looking.held)
        look.join()
        helped = list(asked)
        look()
    assert set(looking.held) < set(helped)
    assert asked == helped

    for path in looking.held:
        Path(path).write_text("another")
    with one_core(), monkeypatch.context() as patched:
        asked = asks(patched)
        look = Rested(looking.home / "site", looking.marker).look(looking.places, looking.held)
        look.join()
        assert len(asked) == 1
    assert look().applied(looking.held) == inputs(looking.places, {})


def test_what_changed_with_the_last_build_is_looked_at_first(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    (looking.home / "runs/a/one").write_text("another")
    looking.look()
    asked = asks(monkeypatch)
    with one_core():
        Rested(looking.home / "site", looking.marker).look(looking.places, looking.held)()
    assert asked[0] == str(looking.home / "runs/a/one")


def test_a_folder_that_changed_just_now_is_read_again(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking.look()
    monkeypatch.setattr(rested, "_REST", 3_600_000_000_000)
    write_text(looking.home / "runs/c/new", "new")
    looking.look()
    read = reads(monkeypatch)
    with one_core():
        looking.look()
        looking.look()
    assert read == [str(looking.home / "runs/c")] * 2


def test_what_can_be_read_at_last_is_seen(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = inputs(looking.places, {})
    closed = str(looking.home / "runs/c/three")
    (looking.home / "runs/c/three").write_text("and longer")
    with one_core(), monkeypatch.context() as patched:
        patched.setattr(
            rested,
            "input_of",
            lambda path, *told: None if path == closed else input_of(path, *told),
        )
        assert closed not in looking.look()
        assert closed not in looking.look()
    assert held.keys() == looking.look().keys()


def test_a_folder_that_became_a_link_is_a_link(looking: Looking) -> None:
    looking.look()
    other = looking.home / "elsewhere"
    (looking.home / "runs/a").rename(other)
    (looking.home / "runs/a").symlink_to(other)
    seen = looking.look()

    assert seen == inputs(looking.places, {})
    assert [path for path in seen if "/a" in path] == [str(looking.home / "runs/a")]


def test_a_place_may_be_a_link_to_a_folder_and_may_be_gone(looking: Looking) -> None:
    looking.look()
    (looking.home / "runs").rename(looking.home / "moved")
    (looking.home / "runs").symlink_to(looking.home / "moved")
    assert looking.look() == inputs(looking.places, {}) != {}
    assert looking.look() == inputs(looking.places, {})
    remove(looking.home / "runs")
    assert looking.look() == inputs(looking.places, {})


def test_a_site_of_many_files_is_the_same_however_they_were_looked_at(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rested, "MANY", 0)
    monkeypatch.setattr(rested, "_REST", int(TICK / 2 * 1e9))
    settings = make_settings(tmp_path)
    for model in ("a", "b"):
        make_run(settings.runs / "demo", model=model)
    time.sleep(TICK)
    run = next(settings.runs.glob("demo/*_a_*"))
    build(settings)
    for change in (
        lambda: None,
        lambda: None,
        lambda: (run / "audit.yaml").write_text("verdict: clean\nsummary: Read.\nauditor: A\n"),
        (run / "files").mkdir,
        lambda: make_run(settings.runs / "demo", model="c"),
        lambda: remove(run),
    ):
        change()
        assert tree(build(settings).out) == from_nothing(settings)
        time.sleep(TICK)
    built = build(settings)

    assert built.work.written == built.work.rendered == built.work.parsed == 0


def test_what_is_needed_next_is_loaded_as_long_as_somebody_else_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(building, "import_module", loaded.append)
    answers = iter([True, True, False])
    building._load_while(lambda: next(answers))
    assert tuple(loaded) == building._NEXT[:2]

    building._load_while(lambda: True)
    assert tuple(loaded[2:]) == building._NEXT
    for name in building._NEXT:
        importlib.import_module(name)
