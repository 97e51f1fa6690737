"""One server for all tests of a process; each session takes a run of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from bench.scripted import Server, load_scripts, serve


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serve(load_scripts()) as running:
        yield running


_RUNS = count()


@pytest.fixture
def run() -> str:
    """A name that no other session has."""
    return f"run-{next(_RUNS)}"
