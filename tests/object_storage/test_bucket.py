"""What is needed before a bucket can be asked at all."""

from __future__ import annotations

import errno
import math
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from s3fs import S3FileSystem

from kbsite.errors import MachineError, UsageError
from kbsite.object_storage import PROVIDERS, open_bucket
from kbsite.object_storage.failures import StorageError, UnreachableError, explained
from kbsite.object_storage.gcs import Gcs
from kbsite.store.locations import SCHEMES, Location
from tests.object_storage.conftest import Storage


def test_every_scheme_has_a_provider() -> None:
    assert sorted(provider.scheme for provider in PROVIDERS) == sorted(set(SCHEMES.values()))


@pytest.mark.parametrize(
    ("scheme", "library", "extra"), [("s3", "s3fs", "s3"), ("gs", "gcsfs", "gcs")]
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, scheme: str, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MachineError) as raised:
        open_bucket(Location(scheme, "bench", "runs"))
    assert f"pip install 'kbsite[{extra}]'" in str(raised.value)


def test_an_address_with_credentials_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match=r"storage\.endpoint") as raised:
        open_bucket(Location("s3", "bench", ""), "http://KEY:s3cret@host")
    assert "s3cret" not in str(raised.value)


def test_no_text_of_a_library_is_repeated() -> None:
    for error in (ValueError("s3cret"), OSError(5, "s3cret"), KeyError("s3cret")):
        told = explained(error, "s3://bench/x", "AWS_ACCESS_KEY_ID")
        assert isinstance(told, StorageError)
        assert "s3cret" not in str(told)
        assert type(error).__name__ in str(told)


@pytest.mark.parametrize(
    ("error", "said"),
    [(OSError(errno.ENOSPC, "x"), "s3://bench/x: cannot be kept on this machine: No space left"),
     (OSError(errno.EDQUOT, "x"), "s3://bench/x: cannot be kept on this machine: Disk quota"),
     (OSError(errno.EFBIG, "x"), "s3://bench/x: cannot be kept on this machine: File too large"),
     (PermissionError(errno.EACCES, "x", "/cache/x"), "/cache/x: Permission denied"),
     (FileNotFoundError(errno.ENOENT, "x", "/site/x"), "/site/x: No such file or directory")],
)  # fmt: skip
def test_what_this_machine_refuses_is_not_said_of_the_storage(error: OSError, said: str) -> None:
    told = explained(error, "s3://bench/x", "AWS_ACCESS_KEY_ID")

    assert isinstance(told, MachineError)
    assert str(told).startswith(said)


def test_a_file_that_is_gone_here_is_no_object_that_the_bucket_lacks(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MachineError, match="gone: No such file or directory"):
        storage.at("site").send(Path("gone"), "a", "text/plain", "no-cache")
    storage.put("site/a")
    (entry,) = storage.at("site").entries()
    with pytest.raises(MachineError, match="target: No such file or directory"):
        storage.at("site").fetch(entry, Path("nowhere") / "target")


def test_objects_of_google_are_listed_with_their_generation() -> None:
    class Files:
        """As gcsfs tells of objects: resources of Google's JSON API, names with the bucket."""

        def find(self, place: str, **_: object) -> dict[str, dict[str, object]]:
            assert place == "bench/runs"
            held = {
                "name": "bench/runs/a/run.json", "size": 2, "generation": "1712",
                "updated": "2026-01-02T03:04:05.678Z", "md5Hash": "mZFLkyvTelC5g8XnyQrpOw==",
            }  # fmt: skip
            return {"bench/runs/a/run.json": held, "bench/runs-of-others": {**held, "size": "3"}}

    (entry,) = Gcs().entries(Files(), "bench", "runs/")

    assert (entry.key, entry.size, entry.version) == ("runs/a/run.json", 2, "1712")
    assert entry.md5 == "99914b932bd37a50b983c5e7c90ae93b"
    assert entry.written == pytest.approx(1767323045.678)
    assert Gcs().ambiguous("a#1")
    assert not Gcs().ambiguous("a/1")


@pytest.fixture(name="silent")
def _silent(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    """A service that takes connections; botocore asks as often as it does by itself."""
    made = Silent(storage.name)
    serving = threading.Thread(target=made.serve, daemon=True)
    serving.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.address)
    monkeypatch.delenv("AWS_MAX_ATTEMPTS")
    monkeypatch.setattr(S3FileSystem, "read_timeout", 0.3)
    yield made
    with suppress(OSError):
        made.server.shutdown(socket.SHUT_RDWR)  # it wakes who waits for the next
    serving.join()
    made.server.close()


@dataclass
class Silent:
    """It says nothing to so many who ask, and to the others that there is nothing."""

    bucket: str
    silences: float = math.inf
    asked: int = 0
    server: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError), ExitStack() as held:
            while True:
                asking = held.enter_context(self.server.accept()[0])
                self.asked += 1
                if self.asked > self.silences:
                    asking.recv(10_000)
                    asking.sendall(_NOTHING)


_LISTED = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
_NOTHING = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_LISTED) + _LISTED


def test_a_service_that_never_answers_is_given_up_after_five_waits(silent: Silent) -> None:
    with pytest.raises(
        UnreachableError, match=r"s3://bucket-\d+/runs: .* does not answer; run the"
    ):
        list(open_bucket(Location("s3", silent.bucket, "runs")).entries())
    assert silent.asked == 5


def test_a_service_that_was_silent_for_a_while_is_waited_for(silent: Silent) -> None:
    silent.silences = 3
    assert not list(open_bucket(Location("s3", silent.bucket, "runs")).entries())
    assert silent.asked == 4
