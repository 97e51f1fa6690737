"""Publishing to a bucket: what is sent, in which order, and what a kill leaves of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kbsite.errors import MachineError, UsageError
from kbsite.model.finding import Severity
from kbsite.object_storage import Bucket, publish, publishing
from kbsite.object_storage.failures import StorageError, UnreachableError
from kbsite.object_storage.headers import cache_control, content_type
from kbsite.object_storage.manifest import INTENT, MANIFEST
from kbsite.object_storage.order import dropping, sending
from kbsite.object_storage.provider import Entry
from kbsite.reading import MARKER
from tests.object_storage.conftest import SECRET, Storage
from tests.object_storage.service import Request
from tests.object_storage.sites import of_one, reached, site_of, write_site
from tests.shut import shut

KILLS = int(os.environ.get("KILLS", "3"))
FORK = multiprocessing.get_context("fork")


# What is forked here does nothing with the threads of the service.
pytestmark = pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")


def files_of(storage: Storage) -> dict[str, bytes]:
    held = storage.look("site")
    return {name: data for name, data in held.items() if name not in (MANIFEST, INTENT)}


def whole(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in {**files, MARKER: "1\n"}.items()}


def test_the_second_time_sends_what_changed_and_deletes_what_is_gone(
    tmp_path: Path, storage: Storage
) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(4)))
    first = publish(storage.at("site"), site)
    later = site_of(1, range(1, 5))
    write_site(site, later)
    storage.service.forget()
    second = publish(storage.at("site"), site)
    sent = [key.removeprefix("site/") for key in storage.service.asked("PUT")]
    gone = [key.removeprefix("site/") for key in storage.service.asked("DELETE")]

    assert (first.sent, first.kept, first.dropped) == (17, 0, 0)
    assert (second.sent, second.kept, second.dropped) == (5, 12, 3)
    assert sent[0] == INTENT
    assert sent[1] == "runs/4/part.js"
    assert set(sent[2:4]) == {"runs/4/index.html", "runs/4/part.html"}
    assert sent[4:] == ["runs/index.html", "index.html", MANIFEST]
    assert set(gone[:2]) == {"runs/0/index.html", "runs/0/part.html"}
    assert gone[2:] == ["runs/0/part.js", INTENT]
    assert files_of(storage) == whole(later)

    storage.service.forget()
    assert publish(storage.at("site"), site).kept == 17
    methods = [request.method for request in storage.service.requests]
    assert methods == ["GET", "GET"]  # the listing and the manifest


def test_what_somebody_changed_in_the_bucket_is_mended(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(2)))
    publish(storage.at("site"), site)
    storage.put("site/runs/1/part.js", b"// 1 9")  # as long as it was
    storage.drop("site/static/style.css")
    again = publish(storage.at("site"), site)

    assert again.sent == 2
    assert files_of(storage) == whole(site_of(1, range(2)))


LISTING = "(listing)"


@dataclass(frozen=True, slots=True)
class Disturbed(Bucket):
    """A bucket to which somebody else publishes when a certain object is about to be sent.

    Or, where the key is LISTING, whenever it is about to be listed.
    """

    key: str = ""
    other: Callable[[], object] = print
    times: int = 1

    def send(self, source: Path, key: str, content_type: str, cache_control: str) -> None:
        if key == self.key and self.times > 0:
            object.__setattr__(self, "times", self.times - 1)
            self.other()
        Bucket.send(self, source, key, content_type, cache_control)

    def entries(self) -> Iterator[Entry]:
        if self.key == LISTING:
            self.other()
        return Bucket.entries(self)


def disturbed(storage: Storage, key: str, other: Path) -> Disturbed:
    """The place of a site, to which another one is published meanwhile."""
    at = storage.at("site")
    publish_other = partial(publish, at, other)
    return Disturbed(at.location, at.provider, at.filesystem, key, publish_other)


@pytest.mark.parametrize("key", ["index.html", "runs/0/part.js", "data/runs.json", INTENT])
def test_whoever_of_two_ends_last_leaves_a_whole_site(
    tmp_path: Path, storage: Storage, key: str
) -> None:
    old, mine, others = (
        site_of(number, runs, style)
        for number, runs, style in (
            (1, range(1, 2), "a"),
            (2, range(2), "b"),
            (3, range(1, 4), "c"),
        )
    )
    publish(storage.at("site"), write_site(tmp_path / "old", old))
    site, other = write_site(tmp_path / "site", mine), write_site(tmp_path / "other", others)
    done = publish(disturbed(storage, key, other), site)
    held = files_of(storage)

    assert done.findings == [] or done.findings[0].severity is Severity.WARNING
    assert {name: held[name] for name in mine} == {name: mine[name].encode() for name in mine}
    assert of_one(held, [mine])
    assert INTENT not in storage.look("site")
    assert publish(storage.at("site"), site).sent == 0


def test_somebody_who_publishes_all_the_time_is_told_of(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "PAUSE", 0)
    site = write_site(tmp_path / "site", site_of(2, range(2)))
    other = write_site(tmp_path / "other", site_of(33, range(1, 3)))
    done = publish(disturbed(storage, LISTING, other), site)

    assert "somebody else publishes here" in done.findings[-1].message
    assert publish(storage.at("site"), site).sent > 0
    assert of_one(files_of(storage), [site_of(2, range(2))])


def test_a_kill_leaves_each_page_old_or_new_and_the_next_time_mends_it(
    tmp_path: Path, storage: Storage
) -> None:
    versions = [site_of(1, range(2), "one"), site_of(2, range(1, 3), "two")]
    site = write_site(tmp_path / "site", versions[0])
    publish(storage.at("site"), site)
    storage.service.forget()
    write_site(site, versions[1])
    publish(storage.at("site"), site)
    requests = len(storage.service.requests)
    left = set()
    for number in range(KILLS):
        target = versions[number % 2]
        write_site(site, target)
        at = 3 + number * (requests - 3) // KILLS
        _publish_and_kill(storage, site, at)
        held = files_of(storage)
        left.add(held == whole(target))

        assert of_one(held, versions), (number, at)
        assert len(reached(held)) >= 10
        publish(storage.at("site"), site)
        assert files_of(storage) == whole(target)
        assert INTENT not in storage.look("site")
    assert requests >= 20
    assert False in left


def _publish_and_kill(storage: Storage, site: Path, at: int) -> None:
    """Publish in another process, which is killed when it asks for the `at`-th time."""
    count = 0
    process = FORK.Process(target=_publish, args=(storage.name, site))

    def before(_: Request) -> int | None:
        nonlocal count
        count += 1
        if count == at and process.pid:
            os.kill(process.pid, signal.SIGKILL)
        return None

    storage.service.before = before
    process.start()
    process.join()
    storage.service.before = None


def _publish(bucket: str, site: Path) -> None:
    from kbsite.object_storage import open_bucket
    from kbsite.store.locations import Location

    publish(open_bucket(Location("s3", bucket, "site")), site)


def test_the_first_time_goes_on_where_a_kill_ended_it(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(6)))
    _publish_and_kill(storage, site, 15)

    assert reached(files_of(storage)) == set()
    there = len(files_of(storage))
    assert there > 5
    assert publish(storage.at("site"), site).sent <= 23 - there
    assert files_of(storage) == whole(site_of(1, range(6)))


def test_a_service_that_goes_away_is_told_and_gone_on_with(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(storage.files), "retries", 1)
    site = write_site(tmp_path / "site", site_of(1, range(3)))
    publish(storage.at("site"), site)
    write_site(site, site_of(2, range(3)))
    seen: list[str] = []

    def before(request: Request) -> int | None:
        seen.append(request.path)
        return 503 if len(seen) > 6 else None

    storage.service.before = before
    with pytest.raises(UnreachableError) as raised:
        publish(storage.at("site"), site)
    storage.service.before = None

    assert str(raised.value).startswith(storage.url("site/"))
    assert str(raised.value).endswith("the same command again: it goes on where this one ended")
    assert of_one(files_of(storage), [site_of(1, range(3)), site_of(2, range(3))])
    assert publish(storage.at("site"), site).sent < 13
    assert files_of(storage) == whole(site_of(2, range(3)))


def test_what_stands_for_a_folder_keeps_nobody_from_publishing_there(
    tmp_path: Path, storage: Storage
) -> None:
    for key in ("site/", "site/runs/"):
        storage.put(key, b"")
    done = publish(storage.at("site"), write_site(tmp_path / "site", site_of(1, range(1))))

    assert (done.findings, done.dropped) == ([], 0)
    assert {"", "runs/", "index.html"} <= {entry.key for entry in storage.at("site").entries()}


def test_objects_of_others_are_left_alone(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)))
    storage.put("other/theirs.txt")
    with pytest.raises(UsageError, match="not published by kbsite, so not used"):
        publish(storage.at("other"), site)
    publish(storage.at("site"), site)
    storage.put("site/theirs.txt")
    (finding,) = publish(storage.at("site"), site).findings

    assert list(storage.look("other")) == ["theirs.txt"]
    assert "theirs.txt" in files_of(storage)
    assert finding.severity is Severity.WARNING
    assert "left alone" in finding.text


def test_an_object_of_others_in_the_place_of_a_new_file_stays_and_is_told(
    tmp_path: Path, storage: Storage
) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)))
    publish(storage.at("site"), site)
    storage.put("site/theirs.html", b"theirs")
    storage.put("site/same.html", b"same")
    more = {"theirs.html": "ours", "same.html": "same", "new.html": "new"}
    for _ in range(2):
        done = publish(storage.at("site"), write_site(site, site_of(2, range(1)) | more))
        (finding,) = done.findings
        assert finding.severity is Severity.ERROR
        assert finding.text.endswith(
            "site/theirs.html: error: not published: kbsite did not publish what stands there;"
            " delete it, or take it elsewhere, and publish again"
        )
        assert storage.look("site")["theirs.html"] == b"theirs"
        assert storage.look("site")["new.html"] == b"new"
    assert done.sent == 0
    storage.drop("site/theirs.html")
    assert publish(storage.at("site"), site).findings == []
    assert storage.look("site")["theirs.html"] == b"ours"


def test_a_manifest_that_cannot_be_read_costs_sending_all_again(
    tmp_path: Path, storage: Storage
) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)))
    publish(storage.at("site"), site)
    storage.put(f"site/{MANIFEST}", b"[" * 100_000)

    assert publish(storage.at("site"), site).sent == 8
    assert publish(storage.at("site"), site).sent == 0


def test_a_bucket_that_refuses_is_told(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)))
    storage.service.before = lambda request: 403 if request.method == "PUT" else None
    with pytest.raises(StorageError, match="refuses these credentials") as raised:
        publish(storage.at("site"), site)

    assert SECRET not in repr(raised.value.__context__)
    assert "AWS_ACCESS_KEY_ID" in str(raised.value)


def test_a_service_that_fails_is_told_with_what_to_do(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)))
    storage.service.before = lambda request: 500 if request.method == "PUT" else None
    with pytest.raises(StorageError, match=r"the storage failed: .*\(500\); run the same command"):
        publish(storage.at("site"), site)


def test_files_are_served_as_what_they_are(tmp_path: Path, storage: Storage) -> None:
    files = {
        "index.html": "page", "static/a.css": "", "runs/1/raw/stdout.jsonl": "{}",
        "runs/1/raw/stdout.jsonl.gz": "packed", "runs/1/raw/é #?x.txt": "odd",
    }  # fmt: skip
    publish(storage.at("site"), write_site(tmp_path / "site", files))
    heads = {name: storage.head(f"site/{name}") for name in files}
    told = {name: (head["ContentType"], head["CacheControl"]) for name, head in heads.items()}

    assert told["index.html"] == ("text/html; charset=utf-8", "no-cache")
    assert told["static/a.css"] == ("text/css; charset=utf-8", "no-cache")
    raw = "public, max-age=300"
    assert told["runs/1/raw/stdout.jsonl"] == ("text/plain; charset=utf-8", raw)
    assert told["runs/1/raw/stdout.jsonl.gz"] == ("application/gzip", raw)
    assert not any("ContentEncoding" in head for head in heads.values())


def test_a_compressed_file_is_a_download_of_its_own_and_lists_are_asked_for_anew() -> None:
    assert content_type("runs/1/index.html") == "text/html; charset=utf-8"
    assert content_type("runs/1/index.html.gz") == "application/gzip"
    assert content_type("runs/1/raw/a.exe") == "application/octet-stream"
    assert cache_control("runs/index.html") == "no-cache"


def test_a_name_that_no_key_can_have_is_told_and_left_out(tmp_path: Path, storage: Storage) -> None:
    odd = {"a?versionId=1.txt": "odd", "runs/r/raw/two\nlines.py": "odd"}
    site = write_site(tmp_path / "site", {"index.html": "page", **odd})
    (site / os.fsdecode(b"\xff.txt")).write_text("no UTF-8")
    done = publish(storage.at("site"), site)

    assert sorted(finding.message for finding in done.findings) == [
        "not published: it could mean another object",
        "not published: it is no UTF-8",
        "not published: its name holds a control character, which not every service takes",
    ]
    assert set(files_of(storage)) == {"index.html", MARKER}


def test_a_site_that_somebody_emptied_has_nothing_deleted(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(2)))
    publish(storage.at("site"), site)
    write_site(site, {})  # as `rm -r site/*` leaves it: the marker begins with a dot
    with pytest.raises(UsageError, match="no site; make it with `kbsite build`"):
        publish(storage.at("site"), site)

    assert files_of(storage) == whole(site_of(1, range(2)))


def test_a_folder_that_cannot_be_listed_has_nothing_deleted(
    tmp_path: Path, storage: Storage
) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(2)))
    publish(storage.at("site"), site)
    before = files_of(storage)
    with shut(site / "runs"), pytest.raises(MachineError, match="cannot be listed: Permission"):
        publish(storage.at("site"), site)

    assert files_of(storage) == before


def test_a_file_of_a_site_that_goes_before_it_is_read_is_named_and_nothing_is_sent(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(2)))
    own = publishing.__dict__["digests"]

    def late(*args: Any) -> Any:
        (site / "index.html").unlink()
        return own(*args)

    monkeypatch.setattr(publishing, "digests", late)
    with pytest.raises(MachineError, match=r"index\.html: cannot be read any more: No such file"):
        publish(storage.at("site"), site)
    assert files_of(storage) == {}


@pytest.mark.parametrize("name", [".git/config", ".git", ".hg/store/data/a.i", ".svn/wc.db"])
def test_versions_of_a_site_are_nobodys_to_read(
    tmp_path: Path, storage: Storage, name: str
) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)) | {name: "https://me:s3cret@host"})
    done = publish(storage.at("site"), site)

    assert done.findings == []
    assert files_of(storage) == whole(site_of(1, range(1)))


def test_what_is_no_file_is_told_and_left_out(tmp_path: Path, storage: Storage) -> None:
    site = write_site(tmp_path / "site", site_of(1, range(1)))
    (site / "link.html").symlink_to("index.html")
    os.mkfifo(site / "pipe")
    done = publish(storage.at("site"), site)

    assert [finding.text.removeprefix(f"{site}/") for finding in done.findings] == [
        "link.html: error: not published: a symbolic link (to index.html)",
        "pipe: error: not published: a pipe, a socket or a device",
    ]
    assert files_of(storage) == whole(site_of(1, range(1)))


def test_a_page_comes_after_what_it_leads_to_and_goes_before() -> None:
    steps = list(sending(["index.html", "a/b.html", "a/b.js"], ["c.css", "c/d.html", "404.html"]))

    assert steps == [
        ["a/b.js"], ["a/b.html"], ["c.css"], ["c/d.html"], ["index.html", "404.html"]
    ]  # fmt: skip
    assert list(dropping(["a/b.html", "a/b.js", "x.html"])) == [
        ["x.html"],
        ["a/b.html"],
        ["a/b.js"],
    ]
    assert list(dropping([])) == list(sending([], [])) == []
