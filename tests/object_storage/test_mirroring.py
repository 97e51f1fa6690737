"""The copy of a bucket's runs: what is fetched, refused and kept."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import time
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kbsite.errors import InputError, MachineError
from kbsite.model.config import Storage as Limits
from kbsite.object_storage import mirror, open_bucket
from kbsite.object_storage.failures import StorageError, UnreachableError
from kbsite.object_storage.mirroring import Mirrored
from kbsite.store.locations import Location
from tests.object_storage.conftest import SECRET, Storage
from tests.object_storage.service import Request

FORK = multiprocessing.get_context("fork")
# What is forked here does nothing with the threads of the service.
pytestmark = pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
RUN = {"run.json": b"{}", "transcript/stdout.jsonl": b"one", "manifest.json": b"{}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "runs"


def put_run(storage: Storage, run: str, **changed: bytes) -> None:
    for name, data in {**RUN, **changed}.items():
        storage.put(f"runs/{run}/{name}", data)


def copied(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def whole(*runs: str) -> dict[str, bytes]:
    return {f"{run}/{name}": data for run in runs for name, data in RUN.items()}


def bring(storage: Storage, folder: Path, limits: Limits | None = None) -> Mirrored:
    storage.service.requests.clear()
    return mirror(storage.at("runs"), folder, limits)


def test_only_what_changed_is_fetched_and_what_vanished_vanishes(
    storage: Storage, folder: Path
) -> None:
    put_run(storage, "demo/one")
    put_run(storage, "demo/two")
    storage.put("runs/demo/floors.json", b"[]")
    first = bring(storage, folder)
    assert (first.fetched, first.kept, first.removed) == (7, 0, 0)
    assert copied(folder) == {**whole("demo/one", "demo/two"), "demo/floors.json": b"[]"}

    storage.put("runs/demo/two/audit.yaml", b"verdict: clean")
    storage.put("runs/demo/two/run.json", b"[]")  # as long as it was
    storage.drop("runs/demo/two/transcript/stdout.jsonl")
    storage.drop("runs/demo/floors.json")
    for name in RUN:
        storage.drop(f"runs/demo/one/{name}")
    second = bring(storage, folder)
    assert (second.fetched, second.kept, second.removed) == (2, 1, 5)
    assert sorted(storage.service.asked("GET")) == [
        "runs/demo/two/audit.yaml", "runs/demo/two/run.json"
    ]  # fmt: skip
    assert copied(folder) == {
        "demo/two/run.json": b"[]", "demo/two/audit.yaml": b"verdict: clean",
        "demo/two/manifest.json": b"{}",
    }  # fmt: skip
    assert sorted(path.name for path in (folder / "demo").iterdir()) == ["two"]

    third = bring(storage, folder)
    assert (third.fetched, third.kept, third.findings) == (0, 3, [])
    assert len(storage.service.requests) == 1  # the listing


def test_hostile_keys_are_refused_and_told_and_the_rest_is_taken(
    storage: Storage, folder: Path
) -> None:
    put_run(storage, "demo/one")
    long = "n" * 300
    hostile = [
        "../outside", "demo/../../outside", "demo/one/./x", "demo//x", "/etc/passwd",
        "demo/one/run.json?versionId=abc", f"demo/{long}", "demo/one/run.json/below",
        "demo/one/folder/",
    ]  # fmt: skip
    for key in hostile:
        storage.put(f"runs/{key}", b"hostile")
    storage.put("runs/demo/", b"")  # a tool's marker of a folder, which is none of them
    storage.put("runs/demo/one/link", b"/etc/passwd")
    odd = "runs/demo/one/\N{SNOWMAN} $(x) \\ \x1b[31m"
    storage.put(odd, b"odd")
    done = bring(storage, folder)
    held = copied(folder)

    assert len(done.findings) == len(hostile)
    assert {finding.severity.value for finding in done.findings} == {"error"}
    assert not any("\x1b" in finding.text for finding in done.findings)
    told = sorted(finding.path.removeprefix(storage.url("runs/")) for finding in done.findings)
    assert told == sorted(hostile)
    odd_name = odd.removeprefix("runs/")
    assert held == {**whole("demo/one"), "demo/one/link": b"/etc/passwd", odd_name: b"odd"}
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    outside = list(folder.parent.parent.rglob("outside*"))
    assert outside == []


def test_runs_that_are_still_written_are_left_alone(storage: Storage, folder: Path) -> None:
    put_run(storage, "demo/one")
    put_run(storage, "demo/two.partial")
    put_run(storage, ".trash/old")
    put_run(storage, "demo/.trash/old")
    storage.put("runs/demo/four.partial/transcript/stdout.jsonl", b"half")
    storage.put("runs/demo/one/.cache/kept.partial/file", b"within a run")
    bring(storage, folder)
    storage.put("runs/demo/three/run.json", b"{}")
    storage.drop("runs/demo/one/manifest.json")
    storage.put("runs/demo/one/run.json", b"half")
    (one, three) = bring(storage, folder).findings

    within = {"demo/one/.cache/kept.partial/file": b"within a run"}
    assert copied(folder) == {**whole("demo/one"), **within}
    assert one.path == storage.url("runs/demo/one")
    assert three.path == storage.url("runs/demo/three")
    assert "no manifest.json, which is written last" in three.message


def test_one_broken_object_leaves_its_run_as_it_was_and_no_other(
    storage: Storage, folder: Path
) -> None:
    for run in ("demo/one", "demo/two"):
        put_run(storage, run)
    bring(storage, folder)
    for run in ("demo/one", "demo/two", "demo/three"):
        put_run(storage, run, **{"run.json": b"[1]", "solution.py": b"x"})

    def before(request: Request) -> int | None:
        broken = ("one/solution.py", "three/solution.py")
        return 403 if request.method == "GET" and request.path.endswith(broken) else None

    storage.service.before = before
    findings = bring(storage, folder).findings
    new = {"demo/two/run.json": b"[1]", "demo/two/solution.py": b"x"}
    assert copied(folder) == {**whole("demo/one", "demo/two"), **new}
    texts = sorted(finding.text for finding in findings)
    assert len(texts) == 2
    assert texts[0].startswith(storage.url("runs/demo/one/solution.py: error: "))
    assert texts[0].endswith("of demo/one: it stays as it was the last time")
    assert texts[1].endswith("of demo/three: it is left out")

    storage.service.before = None
    mended = bring(storage, folder)
    assert sorted(storage.service.asked("GET")) == [
        "runs/demo/one/solution.py", "runs/demo/three/solution.py",
        "runs/demo/three/transcript/stdout.jsonl",
    ]  # fmt: skip
    assert mended.findings == []
    assert len(copied(folder)) == 12


def test_what_is_too_large_is_left_out_or_refused(storage: Storage, folder: Path) -> None:
    put_run(storage, "demo/one")
    put_run(storage, "demo/two", **{"solution.py": b"x" * 101})
    (finding,) = bring(storage, folder, Limits(most_file_bytes=100)).findings
    assert copied(folder) == whole("demo/one")
    assert "101 bytes; storage.most_file_bytes of kbsite.yaml allows 100" in finding.text
    with pytest.raises(InputError, match=r"115 bytes; storage\.most_bytes of kbsite\.yaml allows"):
        bring(storage, folder, Limits(most_bytes=114))


def test_a_disk_without_room_is_told_with_what_is_left_free_on_it(
    storage: Storage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_run(storage, "demo/one")
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100_000_005))
    told = r"\d+ bytes to fetch, 100000005 are free, of which 100000000 stay so; set storage.cache"
    with pytest.raises(MachineError, match=told):
        bring(storage, folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(200_000_000))
    bring(storage, folder)
    assert copied(folder) == whole("demo/one")


def test_what_grows_while_it_is_fetched_is_not_taken(storage: Storage, folder: Path) -> None:
    put_run(storage, "demo/one")
    entry = next(one for one in storage.at("runs").entries() if one.key.endswith("stdout.jsonl"))
    storage.put("runs/demo/one/transcript/stdout.jsonl", b"x" * 1000)
    target = folder.parent / "target"
    folder.parent.mkdir()
    with pytest.raises(StorageError, match="changed while it was fetched"):
        storage.at("runs").fetch(entry, target)
    assert not target.exists() or target.stat().st_size == 0


@pytest.mark.parametrize("md5", [None, ""])
def test_what_is_replaced_by_as_much_while_it_is_fetched_is_not_taken(
    storage: Storage, folder: Path, md5: str | None
) -> None:
    put_run(storage, "demo/one")
    entry = next(one for one in storage.at("runs").entries() if one.key.endswith("run.json"))
    entry = replace(entry, md5=entry.md5 if md5 is None else md5)
    storage.put("runs/demo/one/run.json", b"x" * entry.size)
    folder.parent.mkdir()
    with pytest.raises(StorageError, match="changed while it was fetched"):
        storage.at("runs").fetch(entry, folder.parent / "target")


@pytest.mark.parametrize("md5", ["", "0" * 32])
def test_what_a_service_tells_no_md5_of_is_taken_if_it_is_still_there(
    storage: Storage, folder: Path, md5: str
) -> None:
    put_run(storage, "demo/one")
    entry = next(one for one in storage.at("runs").entries() if one.key.endswith("run.json"))
    folder.parent.mkdir()
    storage.at("runs").fetch(replace(entry, md5=md5), folder.parent / "target")

    assert (folder.parent / "target").stat().st_size == entry.size


def test_a_service_that_tells_no_etags_is_read_by_the_times_of_its_objects(
    storage: Storage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = storage.files.call_s3

    def without(method: str, **asked: object) -> dict[str, Any]:
        told: dict[str, Any] = call(method, **asked)
        for one in (told, *told.get("Contents", ())):
            one.pop("ETag", None)
        return told

    monkeypatch.setattr(storage.files, "call_s3", without)
    put_run(storage, "demo/one")
    assert bring(storage, folder).findings == []
    assert bring(storage, folder).kept == 3
    time.sleep(1.1)  # times of objects are told in whole seconds
    storage.put("runs/demo/one/transcript/stdout.jsonl", b"two")
    assert bring(storage, folder).fetched == 1
    assert copied(folder)["demo/one/transcript/stdout.jsonl"] == b"two"


def test_what_somebody_wrote_into_the_copy_is_not_lost(storage: Storage, folder: Path) -> None:
    put_run(storage, "demo/one")
    bring(storage, folder)
    (folder / "demo/one/audit.yaml").write_text("mine")
    (folder / "demo/one/run.json").write_text("mine, too")
    (folder / "demo/mine").mkdir()
    (folder / "demo/mine/run.json").write_text("{}")
    findings = bring(storage, folder).findings
    aside = sorted(path.read_text() for path in folder.parent.rglob("*.aside/**/*.json.*"))

    assert aside == ["mine, too"]
    assert "is here alone" in findings[-1].text
    assert copied(folder)["demo/one/run.json"] == b"{}"
    assert copied(folder)["demo/mine/run.json"] == b"{}"
    assert [path.read_text() for path in folder.parent.rglob("audit.yaml*")] == ["mine"]


def test_a_copy_of_which_nothing_is_known_any_more_is_fetched_anew_and_not_put_aside(
    storage: Storage, folder: Path
) -> None:
    put_run(storage, "demo/one")
    storage.put("runs/demo/floors.json", b"[]")
    bring(storage, folder)
    (database,) = folder.parent.glob(".*.sqlite")
    for spoilt in (b"", b"no database" * 100):
        database.write_bytes(spoilt)
        done = bring(storage, folder)
        assert (done.fetched, done.findings) == (4, [])
        assert copied(folder) == {**whole("demo/one"), "demo/floors.json": b"[]"}
    assert not list(folder.parent.glob("*.aside"))


def test_what_is_in_the_way_here_is_told_and_stops_no_other(storage: Storage, folder: Path) -> None:
    put_run(storage, "demo/one")
    put_run(storage, "other/two")
    folder.mkdir(parents=True)
    (folder / "demo").write_text("a file of mine")
    (finding,) = bring(storage, folder).findings

    assert "cannot be put into" in finding.message
    assert copied(folder) == {**whole("other/two"), "demo": b"a file of mine"}


def test_a_copy_that_was_deleted_or_changed_by_hand_keeps_nothing_from_vanishing(
    storage: Storage, folder: Path, tmp_path: Path
) -> None:
    for run in ("demo/one", "file/one", "inner/one", "link/one", "other/two"):
        put_run(storage, run)
    bring(storage, folder)
    shutil.rmtree(folder / "demo")
    shutil.rmtree(folder / "file")
    (folder / "file").write_text("mine")
    (folder / "inner/one/run.json").unlink()
    (folder / "inner/one/run.json").mkdir()
    (folder / "link").rename(tmp_path / "moved")
    (folder / "link").symlink_to(tmp_path / "moved")
    for board in ("demo", "file", "inner", "link"):
        for name in RUN:
            storage.drop(f"runs/{board}/one/{name}")
    done = bring(storage, folder)

    assert (done.removed, done.kept) == (12, 3)
    assert copied(folder) == {**whole("other/two"), "file": b"mine"}
    assert (folder / "inner/one/run.json").is_dir()
    assert not list((tmp_path / "moved").iterdir())
    shutil.rmtree(folder)
    assert bring(storage, folder).fetched == 3
    assert copied(folder) == whole("other/two")


def test_what_is_known_of_the_copy_and_can_neither_be_read_nor_written_is_told(
    storage: Storage, folder: Path
) -> None:
    put_run(storage, "demo/one")
    bring(storage, folder)
    (database,) = folder.parent.glob(".*.sqlite")
    database.unlink()
    database.mkdir()
    with pytest.raises(MachineError, match=r"copied\.sqlite: cannot be written"):
        bring(storage, folder)
    database.rmdir()
    process = FORK.Process(target=_mirror_in_little_room, args=(storage.name, folder))
    process.start()
    process.join()
    assert process.exitcode == MachineError.exit_code
    bring(storage, folder)
    assert copied(folder) == whole("demo/one")


def _mirror_in_little_room(bucket: str, folder: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
    try:
        _mirror(bucket, folder)
    except MachineError as error:
        os._exit(error.exit_code)


def test_a_killed_fetch_goes_on_and_fetches_nothing_twice(storage: Storage, folder: Path) -> None:
    for number in range(4):
        put_run(storage, f"demo/{number}")
    got: list[str] = []
    process = FORK.Process(target=_mirror, args=(storage.name, folder))

    def before(request: Request) -> int | None:
        got.append(request.path)
        if len(got) == 8 and process.pid:
            os.kill(process.pid, signal.SIGKILL)
        return None

    storage.service.before = before
    process.start()
    process.join()
    storage.service.before = None
    assert process.exitcode == -signal.SIGKILL
    left = copied(folder)
    runs = {name.split("/")[1] for name in left}
    assert all(left.items() >= whole(f"demo/{run}").items() for run in runs)

    bring(storage, folder)
    assert len(storage.service.asked("GET")) < 12
    assert copied(folder) == whole(*(f"demo/{number}" for number in range(4)))
    assert not list(folder.parent.glob("*.coming"))


def _mirror(bucket: str, folder: Path) -> None:
    mirror(open_bucket(Location("s3", bucket, "runs")), folder)


def test_a_service_that_goes_away_is_told_and_gone_on_with(
    storage: Storage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(storage.files), "retries", 1)
    for number in range(3):
        put_run(storage, f"demo/{number}")
    before = storage.at("runs").entries()
    port = int(storage.service.address.rpartition(":")[2])
    storage.service.stop()
    with pytest.raises(UnreachableError, match="it goes on where this one ended"):
        list(before)
    storage.service.start(port)
    seen: list[str] = []

    def after_five(request: Request) -> int | None:
        seen.append(request.path)
        return 503 if len(seen) > 5 else None

    storage.service.before = after_five
    with pytest.raises(UnreachableError):
        bring(storage, folder)
    storage.service.before = None
    bring(storage, folder)
    assert len(storage.service.asked("GET")) <= 5
    assert copied(folder) == whole("demo/0", "demo/1", "demo/2")


def test_a_listing_that_breaks_off_between_two_pages_has_nothing_vanish(
    storage: Storage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(storage.files), "retries", 1)
    for number in range(3):
        put_run(storage, f"demo/{number}")
    bring(storage, folder)
    call = storage.files.call_s3

    def in_small_pages(method: str, **asked: object) -> object:
        small = {"MaxKeys": 4} if method == "list_objects_v2" else {}
        return call(method, **small, **asked)

    # As some proxies do: with an answer that holds nothing.
    monkeypatch.setattr(storage.files, "call_s3", in_small_pages)
    storage.service.before = lambda asked: 200 if "continuation-token" in asked.query else None
    with pytest.raises(UnreachableError):
        bring(storage, folder)
    assert copied(folder) == whole("demo/0", "demo/1", "demo/2")
    storage.service.before = None
    assert bring(storage, folder).kept == 9


def test_what_is_not_there_is_told_and_the_copy_stays(storage: Storage, folder: Path) -> None:
    put_run(storage, "demo/one")
    bring(storage, folder)
    for name in RUN:
        storage.drop(f"runs/demo/one/{name}")
    with pytest.raises(InputError, match="no objects; expected runs below it"):
        bring(storage, folder)
    assert copied(folder) == whole("demo/one")
    missing = open_bucket(Location("s3", "no-such-bucket", "runs"))
    with pytest.raises(
        StorageError, match=r"s3://no-such-bucket/runs: no such bucket .*NoSuchBucket"
    ):
        mirror(missing, folder)


def test_no_copy_stands_of_a_bucket_that_nothing_came_of(storage: Storage, folder: Path) -> None:
    """An empty one was a folder without runs to `kbsite check`, and to what makes a dataset."""
    for place, error in (("no-such-bucket", StorageError), (storage.name, InputError)):
        with pytest.raises(error):
            mirror(open_bucket(Location("s3", place, "runs")), folder)
        assert not folder.exists()


def test_credentials_that_are_wrong_or_missing_are_told_and_not_shown(
    storage: Storage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.core import set_initial_no_auth_action_count

    put_run(storage, "demo/one")

    @set_initial_no_auth_action_count(0)
    def refused() -> str:
        with pytest.raises(StorageError) as raised:
            bring(storage, folder)
        return str(raised.value)

    text = refused()
    assert "the storage refuses these credentials (InvalidAccessKeyId)" in text
    assert SECRET not in text
    assert "name-of-the-test" not in text
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(MachineError, match="no credentials; set AWS_ACCESS_KEY_ID"):
        mirror(open_bucket(Location("s3", storage.name, "runs")), folder)
