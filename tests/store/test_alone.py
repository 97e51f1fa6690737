"""One build of a site at a time, also where somebody deletes its lock."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from msgspec.structs import replace

from kbsite.build import build, making
from kbsite.errors import MachineError
from kbsite.output import Output
from kbsite.pages.page import File
from kbsite.store.alone import alone, claim, is_taken, still_alone, still_claimed
from kbsite.store.settings import Settings
from kbsite.store.spares import partial_path
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

LOCK = ".site.build.lock"


@pytest.fixture(name="out")
def _out(tmp_path: Path) -> Path:
    return tmp_path / "site"


@contextmanager
def other(out: Path) -> Iterator[Event]:
    """Somebody else who wants to be alone; whether he is."""
    entered, done = Event(), Event()

    def come() -> None:
        with alone(out):
            entered.set()
            done.wait()

    thread = Thread(target=come)
    thread.start()
    try:
        yield entered
    finally:
        done.set()
        thread.join()


def holding(out: Path, folder: Path) -> subprocess.Popen[str]:
    """A process that is alone, has claimed a folder, and stays so until its stdin is closed."""
    code = (
        "import sys; from pathlib import Path; from kbsite.store.alone import alone, claim\n"
        "with alone(Path(sys.argv[1])):\n"
        "    claim(Path(sys.argv[1]), Path(sys.argv[2])); print('in', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(out), str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "in\n"
    return process


@pytest.mark.parametrize("built", [False, True], ids=["at work", "the site stands already"])
def test_who_comes_after_the_lock_was_deleted_waits_for_who_works_in_the_folders(
    out: Path, built: bool
) -> None:
    folder = out if built else partial_path(out)
    folder.mkdir()
    process = holding(out, folder)
    out.with_name(LOCK).unlink()
    try:
        assert is_taken(out)
        with other(out) as entered:
            assert not entered.wait(0.3)
            process.communicate("")
            assert entered.wait(20)
    finally:
        process.kill()
        process.wait()


def test_who_waits_for_a_lock_that_is_deleted_waits_for_the_one_that_stands_there_then(
    out: Path,
) -> None:
    with ExitStack() as waiting:
        with alone(out):
            first = waiting.enter_context(other(out))
            time.sleep(0.1)
            out.with_name(LOCK).unlink()
            second = waiting.enter_context(other(out))
            assert second.wait(20)
        # The lock that is gone is free; whoever waited for it is not alone by that.
        assert not first.wait(0.3)


def test_who_lost_its_lock_before_it_began_to_write_writes_nothing(out: Path) -> None:
    with alone(out):
        still_alone(out)
        out.with_name(LOCK).unlink()
        with pytest.raises(MachineError, match=r"build\.lock: was deleted .* build again"):
            still_alone(out)


def test_a_folder_that_somebody_took_away_is_no_more_the_one_that_was_claimed(out: Path) -> None:
    folder = partial_path(out)
    still_claimed(out, folder)
    with alone(out):
        folder.mkdir()
        claim(out, folder)
        still_claimed(out, folder)
        shutil.rmtree(folder)
        folder.mkdir()
        with pytest.raises(MachineError, match=r"site\.partial: was deleted"):
            still_claimed(out, folder)


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", transcript={"stdout.jsonl": b"{}\n"})
    return settings


def another(settings: Settings) -> subprocess.Popen[bytes]:
    """The same build by another process."""
    command = [sys.executable, "-m", "kbsite", "build"]
    return subprocess.Popen(command, cwd=settings.out.parent, stderr=subprocess.DEVNULL)


def by_itself(settings: Settings) -> dict[str, str]:
    """The site as it is made from nothing."""
    return tree(build(replace(settings, out=settings.out.with_name("by-itself"))).out)


def test_who_lost_its_lock_to_a_whole_build_leaves_what_that_made(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    make_run(settings.runs / "demo", model="another")
    own = making.__dict__["read_noticing"]

    def late(*args: Any) -> Any:
        settings.out.with_name(LOCK).unlink()
        assert another(settings).wait() == 0
        return own(*args)

    monkeypatch.setattr(making, "read_noticing", late)
    with pytest.raises(MachineError, match="was deleted while this build held it"):
        build(settings)
    monkeypatch.undo()
    whole = by_itself(settings)
    assert tree(settings.out) == whole
    assert tree(build(settings).out) == whole


def test_who_finds_no_lock_while_a_site_is_written_waits_until_it_stands(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    make_run(settings.runs / "demo", model="another")
    own, begun = Output.drop, []

    def late(self: Output, **how: bool) -> None:
        settings.out.with_name(LOCK).unlink()
        begun.append(another(settings))
        with pytest.raises(subprocess.TimeoutExpired):
            begun[0].wait(2)
        own(self, **how)

    monkeypatch.setattr(Output, "drop", late)
    build(settings)
    monkeypatch.undo()
    assert begun[0].wait() == 0
    whole = by_itself(settings)
    assert tree(settings.out) == whole
    assert tree(build(settings).out) == whole


def test_a_site_whose_folder_is_taken_away_while_it_is_made_does_not_take_its_place(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tree(build(settings).out)
    make_run(settings.runs / "demo", model="another")
    own = Output.write

    def late(self: Output, file: File) -> None:
        if file.path == "index.html":
            shutil.rmtree(self.folder)
        own(self, file)

    monkeypatch.setattr(Output, "write", late)
    with pytest.raises(MachineError, match=r"site\.partial: was deleted .* build again"):
        build(settings)
    assert tree(settings.out) == whole
    monkeypatch.undo()
    assert tree(build(settings).out) == by_itself(settings)
