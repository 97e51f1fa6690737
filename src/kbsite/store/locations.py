"""Places that are named by a path or by the URL of a bucket."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from msgspec import Struct

from kbsite.errors import UsageError

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
"""What URLs of buckets begin with, and the usual spelling of it."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(?:::|://)")
_ODD = re.compile(r"[?#*\[\]\\\x00-\x1f]")
"""What libraries for buckets take for more than a letter of a name."""
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,221}")


class Location(Struct, frozen=True):
    """A place within a bucket."""

    scheme: str
    bucket: str
    prefix: str
    """What all of its keys begin with, without slashes at its ends; empty for the whole bucket."""

    @property
    def url(self) -> str:
        """Its URL, without a slash at its end."""
        return f"{self.scheme}://{self.path}"

    @property
    def path(self) -> str:
        """Bucket and prefix, as fsspec names them."""
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket

    def is_within(self, other: Location) -> bool:
        """Whether all that lies there lies in another place, too."""
        start = f"{other.prefix}/" if other.prefix else ""
        own = (self.scheme, self.bucket) == (other.scheme, other.bucket)
        return own and f"{self.prefix}/".startswith(start)

    def folder(self, cache: Path, endpoint: str, name: str) -> Path:
        """The folder of this machine that holds a copy of it; called `name` for a whole bucket.

        It bears the last part of the prefix as its name, as the folder that it is a copy of did.
        """
        short = hashlib.sha256(f"{endpoint}\0{self.url}".encode()).hexdigest()[:12]
        return cache / f"{self.bucket}-{short}" / (self.prefix.rpartition("/")[2] or name)


def place(text: str) -> Path | Location:
    """The place that a person names: a path, a file:// URL or the URL of a bucket.

    UsageError for any other URL; it does not repeat what may hold credentials.
    """
    match = _URL.match(text)
    if match is None:
        return Path(text)
    scheme = match[1].lower()
    if scheme == "file" and match[0].endswith("://"):
        return _local(text)
    if scheme not in SCHEMES or not match[0].endswith("://"):
        known = ", ".join(f"{name}://" for name in ("s3", "gs", "file"))
        raise UsageError(f"{match[0]}...: expected a path, or a URL with one of {known}")
    return _in_bucket(scheme, text[match.end() :])


def _in_bucket(scheme: str, rest: str) -> Location:
    """The place that the rest of a URL names."""
    bucket, _, prefix = rest.partition("/")
    if "@" in bucket or ":" in bucket:
        message = "a URL holds no credentials and no port: those come from the environment"
        raise UsageError(f"{scheme}://...: {message}, as docs/storage.md says")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{scheme}://{bucket}: expected the name of a bucket")
    prefix = prefix.strip("/")
    parts = prefix.split("/") if prefix else []
    if any(part in ("", ".", "..") for part in parts) or _ODD.search(prefix):
        raise UsageError(f"{scheme}://{bucket}/...: expected names between slashes after it")
    return Location(SCHEMES[scheme], bucket, prefix)


def _local(text: str) -> Path:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise UsageError("file://...: expected three slashes before the path, as in file:///data")
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if "\0" in path:
        raise UsageError("file://...: holds a NUL, which no path does")
    if parts.query or parts.fragment:
        raise UsageError("file://...: ends at a ? or #; expected %3F or %23, where a name has one")
    return Path(path)
