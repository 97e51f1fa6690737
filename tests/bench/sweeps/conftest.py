from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.sweeps.tries import LOCK, clear


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path) -> Iterator[None]:
    """Temporary files of tries that a test ended before a driver could."""
    yield
    for lock in tmp_path.rglob(LOCK):
        clear(lock.parent)
