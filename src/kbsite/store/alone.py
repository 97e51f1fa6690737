"""One build of a site at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keeps other builds of the same site waiting.

    Copies of a process that work for it hold on to this until they are gone, even after it was
    killed: what they still write is not taken for the next build's.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(out.with_name(f".{out.name}.build.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
