"""A bucket for each test, in one service for all of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from moto.s3.models import s3_backends

from kbsite.object_storage import Bucket, open_bucket
from kbsite.object_storage.s3 import S3
from kbsite.store.locations import Location
from kbsite.user_cache import CACHE
from tests.object_storage.service import Service

SECRET = "s3cr3t-of-the-test-AKIA"
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Storage:
    """A fresh bucket, and the service that it is in."""

    service: Service
    name: str
    files: Any
    """The file system of s3fs with which a test puts things there."""

    def url(self, prefix: str) -> str:
        return f"s3://{self.name}/{prefix}"

    def at(self, prefix: str) -> Bucket:
        return Bucket(Location("s3", self.name, prefix), S3(), self.files)

    def put(self, key: str, data: bytes = b"x") -> None:
        self.files.call_s3("put_object", Bucket=self.name, Key=key, Body=data)

    def put_folder(self, folder: Path, prefix: str) -> None:
        """Let the bucket hold all files of a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def drop(self, key: str) -> None:
        self.files.call_s3("delete_object", Bucket=self.name, Key=key)

    def head(self, key: str) -> dict[str, Any]:
        held: dict[str, Any] = self.files.call_s3("head_object", Bucket=self.name, Key=key)
        return held

    def held(self, prefix: str) -> dict[str, bytes]:
        """What all objects below a prefix hold."""
        start = f"{prefix}/"
        place = self.at(prefix)
        return {
            entry.key: self.files.cat_file(f"{self.name}/{start}{entry.key}")
            for entry in place.entries()
        }

    def look(self, prefix: str) -> dict[str, bytes]:
        """What all objects below a prefix hold, without asking the service for each."""
        (account,) = s3_backends
        keys = s3_backends[account]["aws"].buckets[self.name].keys
        start = f"{prefix}/"
        return {k.removeprefix(start): keys[k].value for k in list(keys) if k.startswith(start)}


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    started = Service()
    started.start()
    yield started
    started.stop()


def _environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    known = {
        "AWS_ACCESS_KEY_ID": "name-of-the-test", "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_ENDPOINT_URL": service.address, "AWS_MAX_ATTEMPTS": "1",
    }  # fmt: skip
    for name, value in known.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def files(service: Service) -> Iterator[Any]:
    """One file system of s3fs for all: making one takes longer than most tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _environment(service, monkeypatch)
        made = open_bucket(Location("s3", "bucket", "")).filesystem
        made.call_s3("create_bucket", Bucket="bucket")
        yield made


@pytest.fixture
def storage(
    service: Service, files: Any, monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Storage]:  # fmt: skip
    _environment(service, monkeypatch)
    monkeypatch.setenv(CACHE, str(tmp_path_factory.mktemp("cache")))
    bucket = f"bucket-{next(_NUMBERS)}"
    files.call_s3("create_bucket", Bucket=bucket)
    service.forget()
    yield Storage(service, bucket, files)
    service.forget()
