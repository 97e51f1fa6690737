"""What is asked of a service that stores objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as its bucket lists it."""

    key: str
    """Its name, whole or within a place."""
    size: int
    version: str
    """Another one whenever the object was written anew: its ETag, or its generation."""
    written: float
    """When it was written, seconds since 1970 by the service's clock."""
    md5: str = ""
    """The MD5 of what it holds, in hexadecimal, where the service tells it."""


class Provider(Protocol):
    """A service; a module has one of its own, PROVIDERS lists them."""

    scheme: str
    """What its URLs begin with."""
    extra: str
    """The extra of kbsite that brings its library."""
    credentials: str
    """Where credentials are taken from, for whoever has given none."""

    def filesystem(self, endpoint: str) -> Any:
        """Its fsspec file system; `endpoint` is the address of an S3-compatible server, or empty.

        ImportError where its library is not installed.
        """
        ...

    def entries(self, filesystem: Any, bucket: str, prefix: str) -> Iterator[Entry]:
        """All objects whose keys begin with `prefix`, by their whole keys."""
        ...

    def version(self, filesystem: Any, path: str) -> str:
        """The version that an object has now, by the name of its bucket and its key."""
        ...

    def sent_as(self, content_type: str, cache_control: str) -> Mapping[str, Any]:
        """How fsspec's put_file is told under which headers an object is served."""
        ...

    def ambiguous(self, key: str) -> bool:
        """Whether its library would take a key for that of another object."""
        ...
