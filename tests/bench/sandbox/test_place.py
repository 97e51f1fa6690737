"""Folders that somebody hostile writes to: nobody who looks is led on, kept waiting or flooded."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from bench.sandbox.place import Found, Place

HERE = PurePosixPath


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "folder"
    found.mkdir()
    return found


@pytest.fixture
def place(folder: Path) -> Iterator[Place]:
    found = Place(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    yield found
    found.close()


def names(place: Place, most: int = 10_000) -> set[str]:
    return {str(one.path) for one in place.walk(most)}


def test_files_are_found_with_size_and_time(place: Place, folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").write_bytes(b"12345")
    (folder / "top").touch()
    before = (folder / "top").stat().st_ctime_ns
    os.utime(folder / "top", (0, 0))
    found = {str(one.path): one for one in place.walk()}
    assert set(found) == {"top", "a/b/c"}
    assert found["a/b/c"].bytes == 5
    assert found["top"].changed_ns >= before, "a time that was set back is not believed"
    (below,) = place.walk(below=HERE("a/b"))
    assert isinstance(below, Found)
    assert below.path == HERE("a/b/c")


def test_links_are_never_followed(place: Place, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (folder / "file").symlink_to(outside / "secret")
    (folder / "up").symlink_to("..")
    (folder / "away").symlink_to(outside)
    (folder / "self").symlink_to("self")
    (folder / "proc").symlink_to("/proc/self/root")
    assert names(place) == set()
    assert sorted(place.odd()) == [
        f"'{name}': a link" for name in ("away", "file", "proc", "self", "up")
    ]
    for path in ("file", "away/secret", "up/outside/secret", "self", "proc/etc/passwd"):
        assert place.read(HERE(path), 100) is None
        assert place.copy(HERE(path), tmp_path / "copy", 100) == 0
        assert not place.write_new(HERE(path), b"written")
    assert not place.write_new(HERE("away/new"), b"written")
    assert list(place.walk(below=HERE("away"))) == []
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    "path",
    ["../outside", "a/../../outside", "/etc/passwd", ".", "", "..", "nul\0", "x" * 300, "d/" * 60],
)
def test_paths_that_lead_out_or_nowhere_are_nothing(
    place: Place, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside").write_text("outside")
    assert place.read(HERE(path), 100) is None
    assert not place.write_new(HERE(path), b"")
    assert place.copy(HERE(path), tmp_path / "copy", 100) == 0


def test_pipes_sockets_and_devices_are_not_opened(
    place: Place, folder: Path, tmp_path: Path
) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket"))
    expected = {"'pipe': a pipe", "'socket': a socket"}
    if os.getuid() == 0:
        os.mknod(folder / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        expected |= {"'device': a device"}
    opened = threading.Event()

    def write() -> None:
        with (folder / "pipe").open("wb"):
            opened.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    for name in ("pipe", "socket", "device"):
        assert place.read(HERE(name), 100) is None
        assert place.copy(HERE(name), tmp_path / "copy", 100) == 0
        assert place.read(HERE(name) / "below", 100) is None
    assert set(place.odd()) == expected
    assert names(place) == set()
    assert not opened.wait(0.2), "who waits in a pipe for a reader waits on"
    with (folder / "pipe").open("rb"):
        writer.join(30)


def test_odd_names_are_told_and_left_out(place: Place, folder: Path) -> None:
    for name in (b"line\nbreak", b"\xff\xfe", b"\x1b[31mred", b"tab\t", b"\xe2\x80\xaetxt"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"x")
    (folder / "plain é.txt").write_text("x")
    (folder / "a space").write_text("x")
    assert names(place) == {"plain é.txt", "a space"}
    odd = place.odd()
    assert len(odd) == 5
    assert all(one.endswith(": an odd name") and one.isascii() for one in odd)
    assert all(one.isprintable() for one in odd)


def test_deep_trees_and_long_paths_end(place: Place, folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY)
    for depth in range(100):
        os.mkdir("d", dir_fd=at)
        deeper = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(os.open(f"f{depth}", os.O_CREAT, dir_fd=at))
        os.close(at)
        at = deeper
    os.close(at)
    assert len(names(place)) == 41
    (odd,) = place.odd()
    assert odd.endswith(": too deep")
    at = os.open(folder, os.O_RDONLY)
    for _ in range(8):
        os.mkdir("n" * 250, dir_fd=at)
        deeper = os.open("n" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = deeper
    os.close(at)
    assert len(names(place)) == 41
    assert {one.rpartition(": ")[2] for one in place.odd()} == {"too deep", "an odd name"}
    assert max(map(len, place.odd())) < 1100
    subprocess.run(["/bin/rm", "-rf", str(folder)], check=True)


def test_a_look_at_many_files_is_bounded(place: Place, folder: Path) -> None:
    for number in range(300):
        (folder / f"f{number}").touch()
        (folder / f"l{number}").symlink_to("x")
    (folder / "logs").mkdir()
    (folder / "logs" / "log").touch()
    assert len(names(place)) == 301
    assert 0 < len(names(place, 100)) <= 100
    assert len(place.odd()) == 100
    assert len(place.odd(50)) <= 50
    assert [str(one.path) for one in place.walk(10, HERE("logs"))] == ["logs/log"]
    assert list(place.walk(0)) == []


def test_what_is_read_is_bounded_whatever_the_file_says(
    place: Place, folder: Path, tmp_path: Path
) -> None:
    with (folder / "sparse").open("wb") as stream:
        stream.truncate(1 << 40)
    assert place.read(HERE("sparse"), 1000) == bytes(1000)
    assert place.copy(HERE("sparse"), tmp_path / "copy", 3_000_000) == 3_000_000
    assert (tmp_path / "copy").stat().st_size == 3_000_000
    (folder / "file").write_bytes(b"0123456789")
    assert place.read(HERE("file"), 4) == b"0123"
    assert place.read(HERE("file"), 100) == b"0123456789"
    assert place.read(HERE("file"), 0) == b""
    assert place.read(HERE("missing"), 10) is None
    assert place.read(HERE("file/below"), 10) is None


def test_a_file_that_grows_is_copied_on(place: Place, folder: Path, tmp_path: Path) -> None:
    log, copy = folder / "log", tmp_path / "copy"
    log.write_bytes(b"one ")
    at = place.copy(HERE("log"), copy, 1000)
    with log.open("ab") as stream:
        stream.write(b"two three")
    at += place.copy(HERE("log"), copy, 4, start=at)
    assert copy.read_bytes() == b"one two "
    at += place.copy(HERE("log"), copy, 1000, start=at)
    assert copy.read_bytes() == b"one two three"
    assert place.copy(HERE("log"), copy, 1000, start=at) == 0
    assert copy.read_bytes() == b"one two three"
    log.write_bytes(b"new")
    assert place.copy(HERE("log"), copy, 1000, start=at) == 0, "it is shorter now"
    assert place.copy(HERE("log"), copy, 1000) == 3
    assert copy.read_bytes() == b"new"


def test_a_target_that_is_a_link_is_not_written(place: Place, folder: Path, tmp_path: Path) -> None:
    (folder / "file").write_bytes(b"new")
    (tmp_path / "kept").write_bytes(b"old")
    (tmp_path / "copy").symlink_to(tmp_path / "kept")
    with pytest.raises(OSError, match="symbolic links"):
        place.copy(HERE("file"), tmp_path / "copy", 100)
    assert (tmp_path / "kept").read_bytes() == b"old"


def test_notes_are_written_only_where_nothing_is(place: Place, folder: Path) -> None:
    assert place.write_new(HERE("note"), b"time is short")
    assert (folder / "note").read_bytes() == b"time is short"
    assert not place.write_new(HERE("note"), b"again")
    (folder / "dangling").symlink_to("elsewhere")
    os.mkfifo(folder / "pipe")
    assert not place.write_new(HERE("dangling"), b"x")
    assert not place.write_new(HERE("pipe"), b"x")
    assert not place.write_new(HERE("no/such/folder"), b"x")
    assert not (folder / "elsewhere").exists()
    assert (folder / "note").read_bytes() == b"time is short"


LEASE = """
import fcntl, os, signal, sys, time
number = os.open(sys.argv[1], os.O_RDWR)
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(number, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
time.sleep(100)
"""


def test_a_lease_on_a_file_keeps_nobody_waiting(place: Place, folder: Path, tmp_path: Path) -> None:
    (folder / "file").write_bytes(b"content")
    with subprocess.Popen(
        [sys.executable, "-c", LEASE, str(folder / "file")], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        # Whoever opens it otherwise waits for /proc/sys/fs/lease-break-time, 45 s.
        assert place.read(HERE("file"), 100) is None
        assert place.copy(HERE("file"), tmp_path / "copy", 100) == 0
        assert names(place) == {"file"}
        holder.kill()
    assert place.read(HERE("file"), 100) == b"content"


def test_a_lock_on_a_file_keeps_nobody_waiting(place: Place, folder: Path) -> None:
    (folder / "file").write_bytes(b"content")
    with (folder / "file").open("r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert place.read(HERE("file"), 100) == b"content"


def test_a_folder_that_becomes_a_link_leads_nowhere(
    place: Place, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    (folder / "real").mkdir()
    (folder / "real" / "file").write_text("own")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (folder / "real").rename(folder / "kept")
            (folder / "real").symlink_to(outside)
            (folder / "real").unlink()
            (folder / "kept").rename(folder / "real")

    swapper = threading.Thread(target=swap, daemon=True)
    swapper.start()
    seen = set()
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until or (b"own" not in seen and time.monotonic() < until + 60):
            seen.add(place.read(HERE("real/file"), 100))
            seen |= {place.read(one.path, 100) for one in place.walk()}
    finally:
        stop.set()
        swapper.join(30)
    assert seen <= {b"own", None}
    assert b"own" in seen


def test_what_goes_while_it_is_looked_at_is_not_there(
    place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").touch()
    (folder / "below").mkdir()
    scandir = os.scandir

    def late(number: int) -> object:
        entries = scandir(number)
        for path in (folder / "file", folder / "below"):
            if path.exists():
                path.unlink() if path.is_file() else path.rmdir()
        return entries

    monkeypatch.setattr("bench.sandbox.place.os.scandir", late)
    assert list(place.walk()) == []
    assert place.odd() == ()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who is kept out")
def test_what_is_closed_to_us_is_told_of(folder: Path) -> None:
    (folder / "closed").mkdir()
    (folder / "closed" / "file").touch()
    (folder / "file").write_text("x")
    (folder / "closed").chmod(0)
    (folder / "file").chmod(0)
    folder.chmod(0o755)
    place = Place(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(12345, 12345, 12345)
            told = [str(sorted(names(place))), str(place.odd()), str(place.read(HERE("file"), 9))]
            os.write(writing, "\n".join(told).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read().split("\n")
    os.waitpid(child, 0)
    place.close()
    assert said == ["['file']", "(\"'closed': cannot be opened\",)", "None"]


def test_a_place_that_was_closed_cannot_be_asked(folder: Path) -> None:
    place = Place(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    place.close()
    place.close()
    for ask in (lambda: place.read(HERE("x"), 1), lambda: list(place.walk()), place.odd):
        with pytest.raises(OSError, match="Bad file descriptor"):
            ask()


def test_looking_leaves_no_file_open(place: Place, folder: Path, tmp_path: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c").write_bytes(b"x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("a/b/c", "a/b/missing", "a/c/d", "a"):
        place.read(HERE(path), 10)
        place.copy(HERE(path), tmp_path / "copy", 10)
        place.write_new(HERE(path), b"")
    next(place.walk())
    assert len(list(Path("/proc/self/fd").iterdir())) == before
