"""A site made by two nodes of Ray that see no file of the build: from folders, and from buckets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Thread

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.engines import Here
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings
from tests.object_storage.conftest import Storage
from tests.ray_nodes import Nodes, two_nodes
from tests.test_incremental import row, session
from tests.trees import tree

KBSITE = "from kbsite.engines import on_ray; on_ray.LEAST = 1; from kbsite.cli import main; main()"
"""The command line, to which nothing is too little for a cluster."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A cluster that finds no file of any test."""
    with two_nodes(tmp_path_factory.getbasetemp()) as made:
        yield made


def built(nodes: Nodes, settings: Settings, *words: str) -> str:
    """Let the nodes build a site; what is told of it."""
    own = ["--engine", "ray", "--jobs", "4"]
    command = [sys.executable, "-c", KBSITE, "build", *own, *words]
    environment = {**os.environ, "RAY_ADDRESS": nodes.address}
    done = subprocess.run(
        command,
        cwd=settings.out.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def at_home(settings: Settings) -> dict[str, str]:
    """The site as this process makes it."""
    return tree(build(replace(settings, out=settings.out.with_name("other")), engine=Here()).out)


def killed_at_work(nodes: Nodes, folder: Path) -> Iterator[tuple[int, list[Path]]]:
    """Kill a process of each node while it does a task: the node, what it saw in a folder."""
    waiting, end = {0, 1}, time.monotonic() + 120
    while waiting and time.monotonic() < end:
        for number, pid in nodes.at_work():
            if number in waiting:
                seen = list(Path(f"/proc/{pid}/root{folder}").iterdir())
                os.kill(pid, signal.SIGKILL)
                waiting.remove(number)
                yield number, seen
        time.sleep(0.02)


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    settings = make_settings(tmp_path)
    for model, rounds in [("long", 2000), ("longer", 2500), ("short", 3), ("quick", 2)]:
        told = {"stdout.jsonl": session(rounds)}
        make_run(settings.runs / "demo", model=model, transcript=told, audit={})
    return settings


def test_two_nodes_that_see_no_run_make_the_same_site_though_processes_are_killed_at_work(
    nodes: Nodes, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    killed: list[tuple[int, list[Path]]] = []
    base = tmp_path_factory.getbasetemp()
    killer = Thread(target=lambda: killed.extend(killed_at_work(nodes, base)))
    killer.start()
    built(nodes, settings)
    killer.join()

    assert sorted(killed) == [(0, []), (1, [])]
    assert tree(settings.out) == at_home(settings)
    log = next(settings.runs.rglob("*_longer_*/transcript/stdout.jsonl"))
    log.write_bytes(log.read_bytes() + row(5000).encode())
    assert "1 transcript read" in built(nodes, settings)
    assert tree(settings.out) == at_home(settings)


def test_nodes_make_a_site_in_a_bucket_of_runs_in_a_bucket(
    nodes: Nodes, settings: Settings, storage: Storage
) -> None:
    storage.put_folder(settings.runs, "runs")
    told = built(nodes, settings, "--runs", storage.url("runs"), "--out", storage.url("site"))

    assert "4 transcripts read" in told
    site = {path: sha256(data).hexdigest() for path, data in storage.look("site").items()}
    del site[".kbsite-published.json"]
    assert site == at_home(settings)
