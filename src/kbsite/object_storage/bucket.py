"""A place within a bucket, and what can be done there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kbsite.errors import MachineError, UsageError
from kbsite.object_storage.failures import StorageError, explained
from kbsite.object_storage.provider import Entry, Provider
from kbsite.object_storage.providers import PROVIDERS
from kbsite.store.locations import Location

_PART = 5 << 20
"""Bytes of a file that are held in memory while it is sent: the least that S3 takes as a part."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A place within a bucket; several threads may use it at once.

    Whatever goes wrong is raised as a KbsiteError: UnreachableError where the service is gone,
    StorageError where it does not give or take this object.
    """

    location: Location
    provider: Provider
    filesystem: Any

    def entries(self) -> Iterator[Entry]:
        """All objects of the place, by their keys within it."""
        start = f"{self.location.prefix}/" if self.location.prefix else ""
        with self._telling(""):
            for entry in self.provider.entries(self.filesystem, self.location.bucket, start):
                yield replace(entry, key=entry.key[len(start) :])

    def fetch(self, entry: Entry, target: Path) -> None:
        """Write what an object holds into a file, in little memory.

        StorageError where it is not what was listed; never more than that is taken.
        """
        with self._telling(entry.key):
            bound = _Bound(entry, self.url(entry.key))
            self.filesystem.get_file(self._path(entry.key), str(target.absolute()), callback=bound)
            if target.stat().st_size != entry.size or not self._is_listed(entry, target):
                raise _changed(self.url(entry.key))

    def _is_listed(self, entry: Entry, target: Path) -> bool:
        """Whether a file is what was listed of an object, and not what replaced that meanwhile.

        By its MD5; where what the service tells is none, by whether the object still is that one.
        """
        with target.open("rb") as stream:
            held = hashlib.file_digest(stream, partial(hashlib.md5, usedforsecurity=False))
        if held.hexdigest() == entry.md5:
            return True
        return self.provider.version(self.filesystem, self._path(entry.key)) == entry.version

    def read(self, entry: Entry) -> bytes:
        """What a small object holds."""
        with self._telling(entry.key):
            data: bytes = self.filesystem.cat_file(self._path(entry.key))
            return data

    def send(self, source: Path, key: str, content_type: str, cache_control: str) -> None:
        """Let an object hold what a file holds: at once, so that nobody sees half of it."""
        headers = self.provider.sent_as(content_type, cache_control)
        with self._telling(key):
            file = str(source.absolute())
            self.filesystem.put_file(file, self._path(key), chunksize=_PART, **headers)

    def drop(self, key: str) -> None:
        """Delete an object."""
        with self._telling(key):
            self.filesystem.rm_file(self._path(key))

    def url(self, key: str) -> str:
        """The URL of an object; of the place itself for an empty key."""
        return f"{self.location.url}/{key}" if key else self.location.url

    def _path(self, key: str) -> str:
        return f"{self.location.path}/{key}"

    @contextmanager
    def _telling(self, key: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise explained(error, self.url(key), self.provider.credentials) from error


class _Bound:
    """What fsspec tells of a transfer: ends one that is longer than its object was listed."""

    def __init__(self, entry: Entry, url: str) -> None:
        self._most = entry.size
        self._seen = 0
        self._url = url

    def set_size(self, size: int | None) -> None:
        """How long the service says that it is."""
        self.absolute_update(size or 0)

    def relative_update(self, inc: int = 1) -> None:
        """Some bytes came."""
        self._seen += inc
        self.absolute_update(self._seen)

    def absolute_update(self, value: int) -> None:
        """So many bytes have come, all together."""
        if value > self._most:
            raise _changed(self._url)


def _changed(url: str) -> StorageError:
    return StorageError("changed while it was fetched; the next build takes it", path=url)


def open_bucket(location: Location, endpoint: str = "") -> Bucket:
    """The place that a URL names; nothing is asked of the service yet.

    MachineError where its library is not installed, UsageError where `endpoint` holds credentials.
    """
    if "@" in urlsplit(endpoint).netloc:
        message = "the address of the storage holds credentials: they belong into the environment"
        raise UsageError(f"kbsite.yaml: storage.endpoint: {message}")
    provider = next(one for one in PROVIDERS if one.scheme == location.scheme)
    try:
        filesystem = provider.filesystem(endpoint)
    except ImportError as error:
        cure = f"pip install 'kbsite[{provider.extra}]'"
        raise MachineError(
            f"{location.url} cannot be used here; install it with: {cure}"
        ) from error
    return Bucket(location, provider, filesystem)
