"""Files that are read through another, which is what is open."""

from __future__ import annotations

import io
from typing import IO


class Through(io.RawIOBase):
    """A file whose places are those of another; how it is read, and closed, is said by its kinds.

    Archives are read from their end, so that the other one has to be one that can be sought in.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place, as files do."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """The place that is read next."""
        return self._stream.tell()
