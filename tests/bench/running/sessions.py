"""Sessions for tests: a small program in a CLI's place, a scripted server, and what is left."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.harnesses.form import Adapter, Asked, Completion, Extract, Kept, Launch, Program, Said
from bench.installing import default_prefix, programs
from bench.providers import Dialect, Provider
from bench.running.form import Ended, Order, Places, SessionLimits
from bench.running.run import Job, run
from bench.running.session import Progress
from bench.sandbox import best
from bench.sandbox.box import Sandbox
from bench.sandbox.users import processes_of
from bench.scripted import Server, scripted_provider
from kbsite.check import check

ROOT = Path(__file__).parents[3]
PROBLEMS = ROOT / "problems"
CLIS = default_prefix(ROOT)
HARNESSES = ("claude", "codex", "kimi-cli", "kimi-code", "opencode", "gemini", "qwen")
LONG_S = 120.0
"""Longer than anything here takes on a slow machine; nothing waits for it to pass."""

SMALL = SessionLimits(
    memory_bytes=1 << 30, processes=64, workspace_bytes=64 << 20, home_bytes=64 << 20,
    scratch_bytes=64 << 20, grace_seconds=1.0, look_seconds=0.2, copy_seconds=0.2,
)  # fmt: skip

_PROGRAM = """
import json, os, signal, subprocess, sys, time, urllib.error, urllib.request

BASE = os.environ["BASE_URL"]

def ask(path="/v1/messages"):
    body = {"model": os.environ["MODEL"], "max_tokens": 99, "stream": False,
            "tools": [{"name": "Bash", "input_schema": {"properties": {"command": {}}}}],
            "messages": [{"role": "user", "content": sys.stdin.read() or "again"}]}
    asked = urllib.request.Request(BASE + path, json.dumps(body).encode(),
                                   {"content-type": "application/json"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError, ValueError) as error:
        return {"error": str(error)}

def write(text, path="solution.py"):
    with open(path, "w") as stream:
        stream.write(text)

def done():
    print(json.dumps({"type": "result", "is_error": False}), flush=True)

"""


@dataclass(frozen=True)
class FakeAdapter:
    """A program of a test in the place of a CLI; it says that it is done by a line on stdout."""

    program: str
    extract: Extract | None = None
    id: str = "claude"
    dialects: tuple[Dialect, ...] = (Dialect.ANTHROPIC,)
    provider: str | None = "anthropic"
    efforts: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = (Kept(glob="logs/**/*.jsonl", to="home", below="logs/"),)
    unfair: tuple[str, ...] = ()

    def recognises(self, printed: str) -> str | None:
        return printed

    def launch(self, asked: Asked) -> Launch:
        from pathlib import PurePosixPath

        return Launch(
            command=("-c", _PROGRAM + self.program),
            environment={"BASE_URL": asked.base_url, "MODEL": asked.model},
            files={PurePosixPath("logs/seed.jsonl"): b'{"seeded": true}\n'},
            stdin=asked.prompt.encode(),
        )

    def completion(self, transcript: Path) -> Completion:
        ended = '"type": "result"' in (transcript / "stdout.jsonl").read_text(errors="replace")
        said = Said.COMPLETED if ended else Said.NOTHING
        return Completion(said=said, detail=f"stdout says {said.value}")


FAKE = Program(
    harness="claude",
    version="0.0.1",
    command=(os.path.realpath(sys.executable), "-I", "-S", "-u"),
    facts={"made": "for a test"},
)


@dataclass
class Trial:
    """Runs sessions into a folder, all against one scripted server."""

    server: Server
    runs: Path
    sandbox: Sandbox = field(default_factory=best)
    stop: threading.Event = field(default_factory=threading.Event)
    seen: list[Progress] = field(default_factory=list)

    def job(
        self,
        adapter: Adapter,
        program: Program,
        script: str,
        *,
        budget: float = LONG_S,
        limits: SessionLimits = SMALL,
        provider: Provider | None = None,
        key: str | None = None,
        order: Mapping[str, str] | None = None,
    ) -> Job:
        told = {"board": "demo", "problem": "add", "model": "scripted-1", **(order or {})}
        return Job(
            order=Order(
                harness=adapter.id, provider="scripted", budget_seconds=budget,
                cell="cell-1", **told,
            ),
            program=program,
            adapter=adapter,
            provider=provider or scripted_provider(self.server.url, self.runs.name, script),
            key=key,
            places=Places(runs=self.runs, problems=PROBLEMS, clis=CLIS),
            limits=limits,
            sandbox=self.sandbox,
        )  # fmt: skip

    def fake(
        self,
        program: str,
        script: str = "hi",
        *,
        budget: float = LONG_S,
        limits: SessionLimits = SMALL,
        extract: Extract | None = None,
    ) -> Ended:
        """What became of a session of a test's own program."""
        adapter = FakeAdapter(program, extract)
        return run(
            self.job(adapter, FAKE, script, budget=budget, limits=limits), self.seen.append,
            self.stop,
        )  # fmt: skip


def program_of(harness: str) -> Program:
    """The real CLI, as `make` installs it; kimi-cli only where there is a Python for it."""
    found = programs(CLIS)
    if harness == "kimi-cli" and harness not in found:
        pytest.skip("kimi-cli is not installed: it needs a newer Python than is on this machine")
    return found[harness]


def wrong_with(folder: Path) -> list[str]:
    """What `kbsite check` finds wrong with a run."""
    return [str(finding) for finding in check([folder])]


def texts(folder: Path) -> str:
    """All that a run holds, in one text."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def left_of(supervisor: int) -> list[str]:
    """Processes of the boxes of a process, by the users that only they have."""
    return [f"process {pid}" for pid in processes_of(supervisor)]
