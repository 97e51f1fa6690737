"""What only the tests of the store start from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def deep_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder deeper than Python calls functions; taken away again, for pytest cannot do that."""
    made = []
    deep = tmp_path
    while len(deep.parts) < sys.getrecursionlimit() + 200:
        deep /= "d"
        deep.mkdir()
        made.append(deep)
    yield deep
    for folder in reversed(made):
        for file in list(folder.iterdir()):
            file.unlink()
        folder.rmdir()
