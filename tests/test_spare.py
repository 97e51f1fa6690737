"""Builds touch what changes of a site; whatever became of its spare, the site is whole."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench.sandbox.processes import family
from kbsite import beside
from kbsite.build import build, making
from kbsite.engines.copies import Copies
from kbsite.errors import InputError
from kbsite.record import Memory
from kbsite.store import spares, stirred
from kbsite.store.settings import Settings
from kbsite.store.spares import MARKER, spare_path
from kbsite.store.steady import moment, wait_past
from kbsite.store.writing import write_bytes
from tests.conftest import MakeRun, MakeSettings
from tests.test_incremental import from_nothing
from tests.trees import tree

ROW = b'{"type": "user", "message": {"content": "Begin."}}\n'


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    settings = make_settings(tmp_path)
    for model in ("a", "b", "c"):
        make_run(settings.runs / "demo", model=model, transcript={"stdout.jsonl": ROW})
    return settings


@pytest.fixture(autouse=True, params=[0, 10_000], ids=["done beside", "done here"])
def _files_for_work_beside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spares, "SMALL", request.param)
    monkeypatch.setattr(spares, "MANY", request.param)


def note(settings: Settings, text: str) -> None:
    audit = next(settings.runs.glob("demo/*_a_*")) / "audit.yaml"
    audit.write_text(f"verdict: clean\nsummary: {text}\nauditor: A. Reader\n")


def test_the_spare_has_the_files_of_the_site_and_no_others(settings: Settings) -> None:
    site = build(settings).out
    note(settings, "Read.")
    (settings.runs / "demo" / "floors.json").unlink(missing_ok=True)
    for round_ in range(3):
        spare = spare_path(site)
        assert tree(spare) == tree(site)
        assert all((site / path).samefile(spare / path) for path in tree(site))
        note(settings, f"Read again, {round_}.")
        build(settings)


def test_the_list_of_the_spare_is_written_only_where_it_changes(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(settings, "Begun.")
    build(settings)
    written: list[Path] = []

    def counted(path: Path, data: bytes) -> None:
        written.append(path)
        write_bytes(path, data)

    monkeypatch.setattr(spares, "write_bytes", counted)
    for text in ("Read.", "Read again."):
        note(settings, text)
        assert build(settings).work.kept
    assert not written
    make_run(settings.runs / "demo", model="d", transcript={"stdout.jsonl": ROW})
    site = build(settings).out
    assert len(written) == 1
    assert tree(spare_path(site)) == tree(site)
    note(settings, "Read once more.")
    assert tree(build(settings).out) == from_nothing(settings)


def test_a_small_change_links_no_more_than_it_writes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    linked: list[str] = []
    made: list[str] = []
    link, mkdir = os.link, os.mkdir

    def counted_link(source: Any, target: Any) -> None:
        linked.append(str(target))
        link(source, target)

    def counted_mkdir(path: Any, mode: int = 0o777) -> None:
        mkdir(path, mode)  # fails where there is one
        made.append(str(path))

    monkeypatch.setattr(os, "link", counted_link)
    monkeypatch.setattr(os, "mkdir", counted_mkdir)
    note(settings, "Read.")
    built = build(settings)

    assert built.work.kept > built.work.written
    # audit.yaml is new among the raw files of its run; the marker is written by every build.
    assert len(linked) == built.work.written + 1
    assert not made


def _gone(spare: Path) -> None:
    shutil.rmtree(spare)


def _a_file_less(spare: Path) -> None:
    next(spare.glob("runs/*_b_*/index.html")).unlink()


def _another_marker(spare: Path) -> None:
    (spare / MARKER).unlink()
    (spare / MARKER).write_text("stale\n")


def _no_list(spare: Path) -> None:
    next(spare.parent.glob(".*.spare.list")).unlink()


def _a_folder_for_a_file(spare: Path) -> None:
    file = next(spare.glob("runs/*_b_*/raw/run.json"))
    file.unlink()
    file.mkdir()


def _a_link_for_a_folder(spare: Path) -> None:
    folder = next(spare.glob("runs/*_b_*/raw"))
    folder.rename(spare.with_name("elsewhere"))
    folder.symlink_to(spare.with_name("elsewhere"))


def _a_file_for_a_folder(spare: Path) -> None:
    folder = next(spare.glob("runs/*_b_*/raw"))
    shutil.rmtree(folder)
    folder.write_text("Not ours.")


def _under_way(spare: Path) -> None:
    """A build was killed while it worked on it."""
    spare.rename(spare.with_name("site.partial"))
    (spare.with_name("site.partial") / "index.html").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        _gone, _a_file_less, _another_marker, _no_list, _under_way,
        _a_folder_for_a_file, _a_link_for_a_folder, _a_file_for_a_folder,
    ],
    ids=lambda damage: damage.__name__.strip("_"),
)  # fmt: skip
def test_whatever_became_of_the_spare_the_next_site_is_whole(
    settings: Settings, damage: Callable[[Path], None]
) -> None:
    site = build(settings).out
    damage(spare_path(site))
    note(settings, "Read.")

    assert tree(build(settings).out) == from_nothing(settings)
    assert tree(spare_path(site)) == tree(site)


def test_what_somebody_took_from_the_site_or_put_in_its_place_is_made_again(
    settings: Settings,
) -> None:
    site = build(settings).out
    (site / "index.html").unlink()
    other = next(site.glob("runs/*_b_*/index.html"))
    other.unlink()
    other.write_text("Not ours.")
    gone = next(site.glob("runs/*_c_*/raw/run.json"))
    gone.unlink()
    gone.mkdir()
    for round_ in range(3):
        note(settings, f"Read, {round_}.")
        assert tree(build(settings).out) == from_nothing(settings)


@pytest.mark.parametrize("changes", [False, True])
def test_what_somebody_did_after_the_clock_was_set_back_is_mended(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, *, changes: bool
) -> None:
    now, left, ahead = time.time_ns, spares.left, 3600 * 10**9
    monkeypatch.setattr(spares, "SMALL", 500)
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: now() + ahead)
        patched.setattr(spares, "left", lambda out: left(out) + ahead)
        build(settings)
        note(settings, "Read.")
        site = build(settings).out
    next(site.glob("runs/*_b_*/index.html")).unlink()
    (site / "runs" / "strange.html").write_text("Not ours.")
    for round_ in range(3):
        if changes:
            note(settings, f"Read, {round_}.")
        with monkeypatch.context() as patched:
            # What the last build wrote bears the time of then until this one writes it.
            if not round_:
                patched.setattr(spares, "left", lambda out: left(out) + ahead)
            build(settings)
        assert tree(site) == from_nothing(settings)


def test_what_somebody_did_to_the_site_costs_it_no_spare(settings: Settings) -> None:
    """Without one, nobody could tell later that two of its files have changed places."""
    site = build(settings).out
    shutil.rmtree(site / "static")
    (site / "static").write_text("Not ours.")
    shutil.rmtree(next(site.glob("runs/*_b_*/raw")))
    note(settings, "Read.")
    assert tree(build(settings).out) == from_nothing(settings)
    assert tree(spare_path(site)) == tree(site)

    one, other = site / "static" / "kbsite.css", site / "static" / "board.css"
    one.rename(site / "static" / "aside")
    other.rename(one)
    (site / "static" / "aside").rename(other)
    note(settings, "Read again.")
    assert tree(build(settings).out) == from_nothing(settings)


def test_what_somebody_put_into_the_site_goes_with_the_next_build_and_stays_away(
    settings: Settings,
) -> None:
    """It stood in the spare then, and so in the site again after one build more."""
    site = build(settings).out
    deep = next(site.glob("runs/*_b_*/raw"))
    for path in (site / "_headers", site / "private" / "keys.txt", deep / "notes.txt"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("Not ours.")
    (deep / "empty").mkdir()
    for round_ in range(3):
        note(settings, f"Read, {round_}.")
        assert tree(build(settings).out) == from_nothing(settings)
        assert not (deep / "empty").exists()
        assert tree(spare_path(site)) == tree(site)


def test_what_somebody_put_into_the_spare_is_not_published(settings: Settings) -> None:
    site = build(settings).out
    deep = next(spare_path(site).glob("runs/*_b_*/raw"))
    for path in (spare_path(site) / ".DS_Store", deep / "inside" / "notes.txt"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("Not ours.")
    for round_ in range(3):
        note(settings, f"Read, {round_}.")
        assert tree(build(settings).out) == from_nothing(settings)


def test_a_file_that_only_the_spare_lacks_is_missed_whatever_other_names_it_has(
    settings: Settings,
) -> None:
    """Copies of a site by links, as rsync makes them, give each file a name more."""
    site = build(settings).out
    shutil.copytree(site, site.with_name("kept"), copy_function=os.link)
    next(spare_path(site).glob("runs/*_b_*/index.html")).unlink()
    for round_ in range(3):
        note(settings, f"Read, {round_}.")
        assert tree(build(settings).out) == from_nothing(settings)


def test_a_folder_that_is_a_link_by_now_is_made_again_and_what_it_leads_to_is_let_alone(
    settings: Settings, tmp_path: Path
) -> None:
    site = build(settings).out
    elsewhere = tmp_path / "elsewhere"
    (site / "runs").rename(elsewhere)
    (elsewhere / "mine.txt").write_text("Not of the site.")
    (site / "runs").symlink_to(elsewhere)
    before = tree(elsewhere)
    for round_ in range(3):
        note(settings, f"Read, {round_}.")
        assert tree(build(settings).out) == from_nothing(settings)
        assert not (site / "runs").is_symlink()
    assert tree(elsewhere) == before


def test_folders_in_one_that_was_put_in_the_place_of_another_are_looked_at(
    settings: Settings,
) -> None:
    """They are as old as the site, and only the one that holds them was touched."""
    site = build(settings).out
    other = site.with_name("other")
    shutil.copytree(site / "runs", other, copy_function=os.link)
    next(other.glob("*_b_*/raw/run.json")).unlink()
    (next(other.glob("*_c_*/raw")) / "notes.txt").write_text("Not ours.")
    time.sleep(0.05)
    (site / MARKER).unlink()
    (site / MARKER).touch()
    os.link(site / MARKER, site.with_name("marker"))
    shutil.rmtree(site / "runs")
    other.rename(site / "runs")
    note(settings, "Read.")

    assert tree(build(settings).out) == from_nothing(settings)


def test_folders_that_nobody_touched_are_not_read(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = build(settings).out
    since = moment()
    wait_past(since)
    read: list[str] = []
    entries = stirred.Look.entries

    def told(look: stirred.Look, folder: str) -> Any:
        read.append(folder)
        return entries(look, folder)

    monkeypatch.setattr(stirred.Look, "entries", told)
    raw = next(site.glob("runs/*_b_*/raw"))
    (raw / "run.json").unlink()

    found = spares.amiss(site, since)
    assert found
    assert list(found.gone) == [(raw / "run.json").relative_to(site).as_posix()]
    at = raw.relative_to(site).as_posix()
    # What lies below one that was touched may have been brought with it.
    assert set(read) == {"", at, f"{at}/transcript"}


def test_where_a_file_system_tells_whole_seconds_a_change_within_one_may_be_later() -> None:
    begun, second = 1_700_000_000_500_000_000, 1_000_000_000
    assert stirred.is_since(begun - begun % second, begun)
    assert stirred.is_since(begun, begun)
    assert not stirred.is_since(begun - 1, begun)
    assert not stirred.is_since(begun - begun % second - second, begun)


def test_what_keeps_the_versions_of_a_site_stays_with_it(settings: Settings) -> None:
    site = build(settings).out
    (site / ".git").mkdir()
    (site / ".git" / "HEAD").write_text("ref: refs/heads/pages")
    for round_ in range(3):
        note(settings, f"Read, {round_}.")
        build(settings, fresh=round_ == 1)
        assert (site / ".git" / "HEAD").read_text() == "ref: refs/heads/pages"
    # Somebody was killed before that, once the site stood.
    site.with_name("site.partial").mkdir()
    (site / ".git").rename(site.with_name("site.partial") / ".git")
    note(settings, "Read once more.")
    build(settings)

    assert (site / ".git" / "HEAD").exists()
    assert not (spare_path(site) / ".git").exists()


def test_a_build_that_fails_leaves_nobody_behind(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(*_: object) -> None:
        raise InputError("torn", path="runs")

    build(settings)
    note(settings, "Read.")
    monkeypatch.setattr(making, "read_noticing", torn)
    before = set(family(os.getpid()))
    with pytest.raises(InputError):
        build(settings)

    assert set(family(os.getpid())) <= before


def test_a_site_that_somebody_put_back_is_no_longer_that_of_the_spare(settings: Settings) -> None:
    site = build(settings).out
    shutil.copytree(site, site.with_name("kept"))
    note(settings, "Read.")
    build(settings)
    shutil.rmtree(site)
    site.with_name("kept").rename(site)

    assert tree(build(settings).out) == from_nothing(settings)


def test_where_there_are_no_links_there_is_no_spare_and_the_site_is_the_same(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(source: Any, target: Any) -> None:  # noqa: ARG001
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    site = build(settings).out
    note(settings, "Read.")
    again = build(settings)

    assert again.work.kept > again.work.written
    assert not spare_path(site).exists()
    assert tree(site) == from_nothing(settings)


def test_a_file_can_become_a_folder_and_a_folder_a_file(settings: Settings) -> None:
    run = next(settings.runs.glob("demo/*_b_*"))
    (run / "files" / "folder.py").mkdir(parents=True)
    (run / "files" / "folder.py" / "deep.py").write_text("deep = 1\n")
    (run / "files" / "file.py").write_text("file = 1\n")
    build(settings)
    shutil.rmtree(run / "files" / "folder.py")
    (run / "files" / "folder.py").write_text("now = 'a file'\n")
    (run / "files" / "file.py").unlink()
    (run / "files" / "file.py").mkdir()
    (run / "files" / "file.py" / "deep.py").write_text("now = 'a folder'\n")

    assert tree(build(settings).out) == from_nothing(settings)
    assert tree(spare_path(settings.out)) == tree(settings.out)


def test_folders_that_hold_nothing_any_more_are_gone(tmp_path: Path) -> None:
    for name in ("a/b/one", "a/b/c/two", "d/three"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    spares.drop(tmp_path, ["a/b/c/two", "d/three", "not/there"])

    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "a", "a/b", "a/b/one",
    ]  # fmt: skip


@pytest.mark.parametrize("named", [0, 1])
def test_a_copy_that_ends_while_it_names_files_costs_no_file(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, named: int
) -> None:
    here, name_all = os.getpid(), spares._name_all

    def ends(out: Path, folder: Path, paths: Sequence[str], there: spares.Files) -> None:
        name_all(out, folder, paths if os.getpid() == here else paths[:named], there)
        if os.getpid() != here:
            os._exit(9)

    monkeypatch.setattr(beside, "cores", lambda: 2)
    monkeypatch.setattr(spares, "_name_all", ends)
    site = build(settings, engine=Copies(2)).out
    assert spare_path(site).is_dir() == (named == 0 or spares.MANY > 0)
    monkeypatch.undo()
    note(settings, "Read.")

    assert tree(build(settings).out) == from_nothing(settings)
    assert tree(spare_path(site)) == tree(site)


def test_no_copy_goes_on_in_a_folder_that_was_taken_away(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, name_all = os.getpid(), spares._name_all

    def fails(out: Path, folder: Path, paths: Sequence[str], there: spares.Files) -> None:
        if os.getpid() == here:
            raise OSError(errno.EMLINK, "too many links")
        time.sleep(0.3)
        name_all(out, folder, paths, there)

    monkeypatch.setattr(beside, "cores", lambda: 2)
    monkeypatch.setattr(spares, "_name_all", fails)
    before = set(family(os.getpid()))
    site = build(settings, engine=Copies(2)).out
    end = time.monotonic() + 60
    while set(family(os.getpid())) - before and time.monotonic() < end:
        time.sleep(0.01)

    assert [one for one in (spare_path(site), spares.partial_path(site)) if one.exists()] == []


@pytest.mark.parametrize(("late", "files"), [(0, {"known"}), (1, {MARKER, "listed"})])
def test_a_list_is_read_but_by_who_has_written_it(
    tmp_path: Path, late: int, files: set[str]
) -> None:
    out, folder = tmp_path / "site", tmp_path / "site.partial"
    for path in (out / MARKER, out / "listed"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    laid = spares.lay_aside(out, folder, None, {MARKER, "listed"}, set())

    assert laid == spares.Listed((out / MARKER).stat().st_mtime_ns, {MARKER, "listed"})
    assert spares.taken_up(out, folder, spares.Listed(laid.at + late, {"known"})) == files


# A process that stays.


@pytest.mark.parametrize("heard", [False, True])
def test_who_remembers_makes_the_same_as_who_reads_anew(
    settings: Settings, make_run: MakeRun, heard: bool
) -> None:
    memory = Memory()
    build(settings, memory=memory)
    for change, changed in (
        (_verdict, "demo/*_a_*/audit.yaml"), (_denied, ""),
        (_grown, "demo/*_b_*/transcript/stdout.jsonl"),
    ):  # fmt: skip
        settings = change(settings)
        memory.hear([*map(str, settings.runs.glob(changed))] if heard and changed else None)
        built = build(settings, memory=memory)
        assert memory.named == (heard and bool(changed))
        assert built.work.parsed <= 1, change.__name__
        assert tree(built.out) == from_nothing(settings), change.__name__
    new = make_run(settings.runs / "demo", model="new", transcript={"stdout.jsonl": ROW})
    old = next(settings.runs.glob("demo/*_b_*"))
    shutil.rmtree(old)
    memory.hear([str(new), str(old)] if heard else None)

    assert tree(build(settings, memory=memory).out) == from_nothing(settings)


def test_who_hears_what_changed_looks_at_nothing_else_until_it_looks_at_everything(
    settings: Settings,
) -> None:
    memory = Memory()
    build(settings, memory=memory)
    gone = next(settings.out.glob("runs/*_b_*/raw/run.json"))
    gone.unlink()
    _verdict(settings)
    next(settings.runs.glob("demo/*_b_*/transcript/stdout.jsonl")).write_bytes(ROW * 3)
    memory.hear([str(next(settings.runs.glob("demo/*_a_*/audit.yaml")))])

    assert build(settings, memory=memory).work.parsed == 1
    assert build(settings, memory=memory).work.parsed == 1
    assert gone.exists()
    assert tree(settings.out) == from_nothing(settings)
    gone.unlink()
    memory.hear([])
    build(settings, memory=memory)
    assert not gone.exists()
    memory.hear(None)
    build(settings, memory=memory)
    assert tree(settings.out) == from_nothing(settings)


def _verdict(settings: Settings) -> Settings:
    note(settings, "Read by Ms Chronophage.")
    return settings


def _denied(settings: Settings) -> Settings:
    """A value is to be hidden that was shown until now."""
    (settings.path.parent / "deny.txt").write_text("Chronophage\n")
    redact = replace(settings.config.redact, deny_files=("deny.txt",))
    return replace(settings, config=replace(settings.config, redact=redact))


def _grown(settings: Settings) -> Settings:
    assert b"Chronophage" not in b"".join(
        path.read_bytes() for path in settings.out.rglob("*") if path.is_file()
    )
    with next(settings.runs.glob("demo/*_b_*/transcript/stdout.jsonl")).open("ab") as stream:
        stream.write(ROW)
    return settings


def test_a_memory_gives_way_to_what_another_process_built(settings: Settings) -> None:
    memory = Memory()
    build(settings, memory=memory)
    note(settings, "Read.")
    build(settings)
    note(settings, "Read again.")
    built = build(settings, memory=memory)

    assert built.work.parsed == 1
    assert tree(built.out) == from_nothing(settings)


@pytest.mark.parametrize("watched", [False, True], ids=["once", "again and again"])
def test_what_a_killed_build_left_goes_with_a_build_that_has_nothing_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, *, watched: bool
) -> None:
    memory = Memory() if watched else None
    site = build(settings, memory=memory).out
    half = spare_path(site).rename(site.with_name("site.partial"))
    (half / "index.html").write_bytes(b"half of it")
    site.with_name("site.old.partial").mkdir()
    walked: list[Path] = []
    monkeypatch.setattr(spares, "files_below", lambda *told: walked.append(told[0]))
    built = build(settings, memory=memory)

    assert (built.work.written, built.work.kept, walked) == (0, 0, [])
    assert sorted(path.name for path in site.parent.glob("site*")) == ["site"]
    monkeypatch.undo()
    note(settings, "Read.")
    assert tree(build(settings, memory=memory).out) == from_nothing(settings)


def test_what_keeps_versions_is_brought_along_from_a_build_that_was_killed_at_its_end(
    settings: Settings,
) -> None:
    site = build(settings).out
    (site.with_name("site.partial") / ".git").mkdir(parents=True)
    build(settings)

    assert (site / ".git").is_dir()
    assert not site.with_name("site.partial").exists()
