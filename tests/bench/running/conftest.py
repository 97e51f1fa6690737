from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.scripted import Server, load_scripts, serve
from tests.bench.running.sessions import Trial


@pytest.fixture(name="server", scope="session")
def _server() -> Iterator[Server]:
    """A scripted server for all tests of a process."""
    with serve(load_scripts()) as server:
        yield server


@pytest.fixture(name="trial")
def _trial(server: Server, tmp_path: Path) -> Trial:
    """Runs sessions into a folder of this test alone, whose name tells them apart."""
    runs = tmp_path / tmp_path.name
    runs.mkdir()
    return Trial(server, runs)
