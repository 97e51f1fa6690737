"""The real CLIs, as installed: each plays a whole session in the sandbox, and its run is complete.

What the model says is scripted; all else is as it will be: the CLI, the box, the proxy, the record.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from bench.proxy.form import Outcome
from bench.proxy.log import read_exchanges
from bench.running.form import SessionLimits
from bench.running.record import own_usage
from bench.running.run import run
from bench.running.supervising import adapter_of
from bench.scripted import expected_usage, scripted_provider
from kbsite.build import build
from kbsite.model.config import BoardConfig, Config
from kbsite.store.runs import read_run
from kbsite.store.settings import Settings
from tests.bench.planted import planted
from tests.bench.running.sessions import (
    HARNESSES,
    PROBLEMS,
    Trial,
    left_of,
    program_of,
    texts,
    wrong_with,
)

KEY = "sk-planted-of-the-operator-51c07d"
PRINTED = (
    r"solve\(2, 3\) = 5",
    # Of a long output one keeps the beginning, another the end.
    r"4320(\\+n|\n)4321|9997(\\+n|\n)9998|19997(\\+n|\n)19998",
    r"[^ ]to-stderr",
    r"/workspace(\\+n|\n|\\*\")",
)
LIMITS = SessionLimits(look_seconds=0.2, copy_seconds=1.0)


@pytest.fixture(autouse=True)
def _key_in_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of another provider in the environment of the supervisor."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def played(trial: Trial, harness: str, script: str) -> Path:
    """The run that a CLI made of a script."""
    provider = scripted_provider(trial.server.url, trial.runs.name, script)
    job = trial.job(
        adapter_of(harness), program_of(harness), script, limits=LIMITS, provider=provider,
        key=KEY, budget=600.0,
    )  # fmt: skip
    ended = run(job, trial.seen.append, trial.stop)
    said = (ended.folder / "transcript" / "stderr.log").read_text(errors="replace")
    assert ended.reason == "finished", f"{ended.detail}\n{said[-3000:]}"
    return ended.folder


def site_of(trial: Trial, out: Path) -> Path:
    board = BoardConfig(id="demo", title="Demo", hardware="cpu", deck=("add",))
    config = Config(title="Test", boards=(board,))
    built = build(Settings(config, runs=trial.runs, problems=PROBLEMS, out=out))
    assert built.findings == ()
    return built.out


BEGINS = {
    "claude": "what the model was told of its tools",
    "kimi-cli": "You are Kimi Code CLI",
}
"""What a page shows of the system prompt or the tools, where they stand beside what was said."""


@pytest.mark.parametrize("harness", HARNESSES)
def test_it_plays_a_whole_session_and_the_run_is_complete(
    trial: Trial, tmp_path: Path, harness: str
) -> None:
    folder = played(trial, harness, "main")
    assert wrong_with(folder) == []
    assert left_of(os.getpid()) == []
    _solution_was_written_and_edited(folder)
    _three_counts_agree(trial, folder, harness)
    _nothing_of_ours_was_seen(folder)
    pages = site_of(trial, tmp_path / "site") / "runs" / folder.name
    shown = "".join(path.read_text() for path in pages.rglob("*.html"))
    assert "A command that fails." in shown, "the page shows what the model said"
    assert "solve(2, 3) = 5" in shown, "and what its commands printed"
    assert BEGINS.get(harness, "") in shown, "and what the session began with"
    assert "<script>alert" not in shown
    told = read_run(folder).run
    assert told.harness_version == program_of(harness).version


def _solution_was_written_and_edited(folder: Path) -> None:
    assert "return a + b" in (folder / "solution.py").read_text()
    versions = [path.read_text() for path in sorted((folder / "snapshots").iterdir())]
    assert "return a + b" in versions[-1]
    # What stands in no command: only who ran it and kept what it printed can tell.
    transcript = texts(folder / "transcript")
    for pattern in PRINTED:
        assert re.search(pattern, transcript), f"{pattern} is nowhere in the transcript"


def _three_counts_agree(trial: Trial, folder: Path, harness: str) -> None:
    """What the formula says, what the proxy counted, and what the CLI's own log tells."""
    requests = trial.server.requests_of(trial.runs.name)
    assert {one.script for one in requests} >= {"main", "child"}, "a sub-agent asked, too"
    expected, told = expected_usage(requests), read_run(folder).run
    assert told.usage == expected
    assert told.usage_source is not None
    assert "the CLI's own log says the same" in told.usage_source
    own = own_usage(harness, folder)
    assert own is not None
    assert (own.input, own.cache_read, own.output) == (
        expected.input, expected.cache_read, expected.output,
    )  # fmt: skip
    exchanges = list(read_exchanges(folder / "proxy.jsonl"))
    assert len(exchanges) == len(requests)
    assert {one.outcome for one in exchanges} == {Outcome.COMPLETE}


def _nothing_of_ours_was_seen(folder: Path) -> None:
    assert planted(folder, KEY) == []
    environment = read_run(folder).run.environment or ()
    assert not {"USER", "LOGNAME", "SSH_AUTH_SOCK", "VIRTUAL_ENV"} & set(environment)
    claims = json.loads((folder / "sandbox.json").read_text())
    # Others than root share their user with the box, which is below L1.
    assert claims["level"] in ("L2", "L3") or os.getuid(), claims
