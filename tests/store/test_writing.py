"""A file of a folder that nobody sees yet is written anew, never into what stands there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event

import pytest

from bench.sealed import write_whole
from kbsite.store.writing import make_folder, write_bytes, write_new, write_pieces
from tests.shut import shut

Write = Callable[[Path, bytes], object]


@pytest.mark.parametrize(
    "write",
    [
        lambda path, data: write_new(str(path), data),
        lambda path, data: write_pieces(str(path), [data.decode()]),
    ],
    ids=["whole", "in pieces"],
)
def test_a_name_is_taken_over_and_its_file_left_as_it_is(write: Write, tmp_path: Path) -> None:
    """The files of a spare are those of the site that stands, by other names."""
    site, spare = tmp_path / "site", tmp_path / "spare" / "deep" / "page"
    write(spare, b"old")
    site.hardlink_to(spare)

    write(spare, b"new")

    assert (site.read_bytes(), spare.read_bytes()) == (b"old", b"new")


def test_what_a_link_leads_to_is_left_as_it_is(tmp_path: Path) -> None:
    other, place = tmp_path / "other", tmp_path / "place"
    other.write_bytes(b"theirs")
    place.symlink_to(other)

    write_new(str(place), b"ours")

    assert (other.read_bytes(), place.read_bytes()) == (b"theirs", b"ours")
    assert not place.is_symlink()


def plant_link(place: Path, other: Path) -> None:
    place.symlink_to(other)


def plant_name(place: Path, other: Path) -> None:
    place.hardlink_to(other)


def plant_pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


def plant_folder(place: Path, _: Path) -> None:
    place.mkdir()


@pytest.mark.parametrize("plant", [plant_link, plant_name, plant_pipe, plant_folder])
def test_what_stands_where_a_file_is_written_first_is_left_as_it_is(
    tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    """Whoever made the folder knows that place, and may want another file to be written."""
    other, place = tmp_path / "other", tmp_path / "run" / "audit.yaml"
    other.write_bytes(b"theirs")
    place.parent.mkdir()
    plant(first_place(place), other)

    write_bytes(place, b"ours")

    assert (other.read_bytes(), place.read_bytes()) == (b"theirs", b"ours")
    assert not place.is_symlink()
    assert set(place.parent.iterdir()) == {place, first_place(place)}


def first_place(place: Path) -> Path:
    return place.with_name(f".{sha256(place.name.encode()).hexdigest()[:16]}.partial")


def test_what_a_killed_writer_left_is_gone_after_the_next(tmp_path: Path) -> None:
    first_place(tmp_path / "file").write_bytes(b"half of something longer")

    write_bytes(tmp_path / "file", b"whole")

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"whole"]


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
@pytest.mark.parametrize("left", [None, 0o600, 0o644])
def test_what_is_private_is_so_whatever_the_umask_is_and_others_left(
    tmp_path: Path, umask: int, left: int | None
) -> None:
    """Who opened what a dead writer left, for all to read, would see what is written into it."""
    place, beside = tmp_path / "kept", first_place(tmp_path / "kept")
    if left is not None:
        beside.write_bytes(b"half")
        beside.chmod(left)
    before = os.umask(umask)
    try:
        write_bytes(place, b"ours", private=True)
    finally:
        os.umask(before)

    assert (place.read_bytes(), stat.S_IMODE(place.stat().st_mode)) == (b"ours", 0o600)
    assert set(tmp_path.iterdir()) == ({place, beside} if left == 0o644 else {place})
    assert not beside.exists() or beside.read_bytes() == b"half"


def test_of_two_who_write_a_file_at_once_nobody_sees_half(tmp_path: Path) -> None:
    place, size = tmp_path / "file", 1_000_000
    ends = Event()
    write_bytes(place, b"a" * size)

    def write(letter: bytes) -> None:
        while not ends.is_set():
            write_bytes(place, letter * size)

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, letter) for letter in (b"a", b"b")]
        held = {place.read_bytes() for _ in range(500)}
        ends.set()
    for writer in writers:
        writer.result()

    assert held <= {b"a" * size, b"b" * size}
    assert list(tmp_path.iterdir()) == [place]


def test_nothing_is_left_of_a_file_that_does_not_become_whole(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "half a file, " * 100_000
        raise ValueError("no more")

    place = tmp_path / "page" / "run.md"
    write_new(str(place), b"an earlier one")
    with pytest.raises(ValueError, match="no more"):
        write_pieces(str(place), pieces())

    assert not list(place.parent.iterdir())


def test_nothing_is_left_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) <= 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data[:2])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="space"):
        write_new(str(tmp_path / "page"), b"half")

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lasting", [False, True])
def test_who_cannot_move_a_file_to_its_place_leaves_none_beside_it(
    lasting: bool, tmp_path: Path
) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(IsADirectoryError):
        write_bytes(tmp_path / "place", b"x", lasting=lasting)

    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_file_that_cannot_be_written_is_told_by_the_name_that_its_reader_knows(
    tmp_path: Path,
) -> None:
    with shut(tmp_path, mode=0o555), pytest.raises(PermissionError) as told:
        write_bytes(tmp_path / "page.html", b"x")
    assert told.value.filename == str(tmp_path / "page.html")

    (tmp_path / "page.html").mkdir()
    (tmp_path / "page.html" / "held").touch()
    with pytest.raises(IsADirectoryError) as other:
        write_bytes(tmp_path / "page.html", b"x")
    assert other.value.filename == str(tmp_path / "page.html")


def test_only_what_has_to_last_is_forced_onto_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[bool] = []

    def counted(_: int) -> None:
        forced.append((tmp_path / "place").exists())

    monkeypatch.setattr(os, "fsync", counted)
    write_bytes(tmp_path / "place", b"x")
    assert not forced
    write_bytes(tmp_path / "other" / ("n" * 255), b"x", lasting=True)
    (tmp_path / "place").unlink()
    write_whole(tmp_path / "place", b"run")

    # Before it is in its place.
    assert forced == [True, False]


@pytest.mark.parametrize("fleeting", [False, True])
def test_what_may_be_lost_takes_the_place_of_no_file(
    fleeting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stood, replace = list[bool](), Path.replace

    def watched(partial: Path, target: Path) -> Path:
        stood.append(target.exists())
        return replace(partial, target)

    monkeypatch.setattr(Path, "replace", watched)
    for data in (b"one", b"two"):
        write_bytes(tmp_path / "told", data, fleeting=fleeting)

    assert stood == [False, not fleeting]
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("told", b"two")]


def test_folders_are_made_as_far_as_they_are_missing(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    (tmp_path / "linked").symlink_to(tmp_path)

    for path in (deep, deep, tmp_path / "linked" / "a" / "d", tmp_path / "linked"):
        make_folder(str(path))

    assert deep.is_dir()
    assert (tmp_path / "a" / "d").is_dir()


@pytest.mark.parametrize(
    ("place", "error"), [("file", FileExistsError), ("file/below", NotADirectoryError)]
)
def test_a_file_where_a_folder_has_to_be_is_named(
    place: str, error: type[OSError], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"theirs")

    with pytest.raises(error, match="file"):
        make_folder(str(tmp_path / place))

    assert (tmp_path / "file").read_bytes() == b"theirs"
