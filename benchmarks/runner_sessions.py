"""The same session of a CLI twice: by itself, and by way of `python -m bench.running`.

By itself means: command line, variables, configuration and standard input of its adapter, a HOME
and a workspace that are fresh and temporary, no sandbox, and the provider asked directly.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harnesses import ADAPTERS
from bench.harnesses.form import HOME, WORKSPACE, Asked, Program, by_id
from bench.records import plain
from bench.running.form import BUDGET_SECONDS, Order
from bench.running.given import Workspace, workspace
from bench.scripted import SHIPPED, Request, Server, load_scripts, scripted_provider, serve
from kbsite.store.problems import read_problem
from kbsite.store.run_folders import SOLUTION

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "scripts"
PROBLEM = "add"
_MODEL = "scripted-1"
_TMP = "/tmp"  # noqa: S108 - where boxes have it


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a session took, in seconds."""

    wall: float
    before: float
    """From its start to the first request that the provider saw."""
    after: float
    """From the end of the last answer to the end of all."""
    processor: float
    """Of all its processes together."""

    @property
    def between(self) -> float:
        """From the first request to the end of the last answer."""
        return self.wall - self.before - self.after


@contextmanager
def scripted() -> Iterator[Server]:
    """A scripted server with the scripts that are shipped, and those of the benchmarks."""
    with TemporaryDirectory() as name:
        for path in (*SHIPPED.glob("*.yaml"), *SCRIPTS.glob("*.yaml")):
            shutil.copy(path, name)
        scripts = load_scripts(Path(name))
    with serve(scripts) as server:
        yield server


@dataclass(frozen=True, kw_only=True)
class Case:
    """A session that is measured."""

    program: Program
    script: str
    clis: Path
    """Where its program is installed."""

    @property
    def name(self) -> str:
        """What a table calls it."""
        return f"{self.program.harness}, {self.script}"


def bare(case: Case, server: Server) -> Took:
    """What a session takes by itself; RuntimeError where it came to nothing."""
    with TemporaryDirectory(prefix="kbsite-bare-") as name:
        home = Path(name)
        run = f"bare-{uuid.uuid4().hex}"
        given = workspace(read_problem(ROOT / "problems" / PROBLEM), BUDGET_SECONDS, gpu=False)
        command, environment, stdin = _laid_out(case, f"{server.url}/r/{run}", given, home)
        took = _timed(
            lambda: _done(command, environment, stdin, _real(home, str(WORKSPACE))), server, run
        )
        if not (_real(home, str(WORKSPACE)) / SOLUTION).is_file():
            raise RuntimeError(f"{case.name}: by itself it left no {SOLUTION}")
    return took


def through(case: Case, server: Server, watched: Callable[[int], None] = lambda _: None) -> Took:
    """What a session takes by way of the runner; `watched` is told its process.

    RuntimeError where it came to nothing.
    """
    with TemporaryDirectory(prefix="kbsite-run-") as name:
        run = f"run-{uuid.uuid4().hex}"
        order = order_file(case, server.url, run, Path(name))

        def whole() -> None:
            command = [sys.executable, "-m", "bench.running", str(order)]
            with subprocess.Popen(  # noqa: S603 - our own program
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            ) as process:
                watched(process.pid)
                told = json.loads(process.communicate()[0] or b"{}")
            if told.get("reason") != "finished" or not (Path(told["folder"]) / SOLUTION).is_file():
                said = told or f"exit code {process.returncode}"
                raise RuntimeError(f"{case.name}: the run came to nothing: {said}")

        return _timed(whole, server, run)


def order_file(case: Case, url: str, run: str, folder: Path) -> Path:
    """An order for the runner, whose run goes to a folder."""
    bases = scripted_provider(url, run, case.script).bases
    providers = {"scripted": {"bases": {one.value: base for one, base in bases.items()}}}
    known = folder / "providers.yaml"
    known.write_text(json.dumps({"providers": providers}))
    order = Order(
        board="bench", problem=PROBLEM, harness=case.program.harness, model=_MODEL,
        provider="scripted",
    )  # fmt: skip
    told = {
        "order": plain(order), "runs": str(folder / "runs"), "problems": str(ROOT / "problems"),
        "clis": str(case.clis), "providers": str(known), "limits": {}, "sandbox": None,
    }  # fmt: skip
    path = folder / "order.json"
    path.write_text(json.dumps(told))
    return path


def _laid_out(
    case: Case, url: str, given: Workspace, home: Path
) -> tuple[list[str], dict[str, str], bytes]:
    """Write what the CLI finds; its command line, its variables and its standard input."""
    adapter = by_id(ADAPTERS)[case.program.harness]
    launch = adapter.launch(
        Asked(
            model=_MODEL, effort=None, prompt=given.prompt, dialect=adapter.dialects[0],
            base_url=f"{url}/s/{case.script}", session_id=str(uuid.uuid4()),
            version=case.program.version,
        )
    )  # fmt: skip
    real = _replacing(case.program, home)
    for place in (HOME, WORKSPACE, _TMP):
        _real(home, str(place)).mkdir(parents=True)
    written = {_real(home, str(WORKSPACE)) / name: data for name, data in given.files.items()}
    written |= {_real(home, str(HOME / name)): data for name, data in launch.files.items()}
    for path, data in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    found = (*map(str, case.program.path), f"{sys.prefix}/bin", "/usr/local/bin", "/usr/bin")
    environment = {
        "HOME": str(HOME), "PATH": ":".join((*found, "/bin")), "TMPDIR": _TMP, "LANG": "C.UTF-8",
        "TERM": "dumb", "NO_COLOR": "1", "CI": "1", **launch.environment,
    }  # fmt: skip
    return (
        [real(word) for word in (*case.program.command, *launch.command)],
        {name: real(value) for name, value in environment.items()},
        real(launch.stdin.decode()).encode(),
    )


def _real(home: Path, inside: str) -> Path:
    """Where a path of a box lies, in a folder."""
    return home / inside.removeprefix("/")


def _replacing(program: Program, home: Path) -> Callable[[str], str]:
    """What replaces the paths of a box in a text by those that they have here."""
    own = {str(place): str(_real(home, str(place))) for place in (HOME, WORKSPACE, _TMP)}
    places = own | {str(inside): str(place) for inside, place in program.bound.items()}
    # Whole paths and their beginnings, not the ends of others.
    named = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, places))})(?![\w.-])")
    return lambda text: named.sub(lambda found: places[found.group()], text)


def _done(
    command: Sequence[str], environment: Mapping[str, str], stdin: bytes, folder: Path
) -> None:
    """Let a CLI work to its end, its output in files, as the runner has it."""
    with (folder.parent / "stdout").open("wb") as out, (folder.parent / "stderr").open("wb") as err:
        done = subprocess.run(  # noqa: S603 - an installed CLI, with a scripted model
            command, env=environment, input=stdin, cwd=folder, stdout=out, stderr=err, check=False
        )
    if done.returncode:
        said = (folder.parent / "stderr").read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {said}")


def _timed(whole: Callable[[], None], server: Server, run: str) -> Took:
    """What something took that asks a server; it must be all that this process waits for."""
    over = threading.Event()
    moments: list[float] = []
    seen: list[tuple[int, int]] = [(0, 0)]

    def noted(requests: Sequence[Request]) -> bool:
        asked = [one for one in requests if one.run == run and one.dialect]
        now = len(asked), sum(one.ended for one in asked)
        if now != seen[0]:
            seen[0] = now
            moments.append(time.perf_counter())
        return over.is_set()

    def note() -> None:
        while not over.is_set():
            server.wait_until(noted, 0.5)

    noting = threading.Thread(target=note, daemon=True)
    noting.start()
    used, began = _processor(), time.perf_counter()
    try:
        whole()
    finally:
        ended = time.perf_counter()
        over.set()
        noting.join()
    if not moments:
        raise RuntimeError("the provider was never asked")
    return Took(
        wall=ended - began, before=moments[0] - began, after=ended - moments[-1],
        processor=_processor() - used,
    )  # fmt: skip


def _processor() -> float:
    """Processor seconds of all children of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load() -> float:
    """How many processes wait for a processor, on the average of the last minute."""
    return os.getloadavg()[0]
