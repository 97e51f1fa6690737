"""`bench install --check session`: each CLI that was installed plays a script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner, Result

from bench import installing
from bench import preflight as package
from bench.cli import bench
from bench.installing import Installed
from bench.preflight import Check, Row, State, Tools, Trial, Wanted
from tests.bench.preflight.standing_in import tools


@pytest.fixture(name="outcome")
def _outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Check]:
    """What the session of claude shows, to be set by a test; another CLI has no adapter."""
    shown = {"session": Check(name="session", state=State.FINE, seen="1.0 s, 3 requests")}

    def installed(name: str) -> Installed:
        return Installed(
            harness=name, version="1.0", package=name, bytes=9, seconds=1.0, command=(name,)
        )

    def tried(
        wanted: Sequence[Wanted], host: Tools, trial: Trial, told: object, stop: Event
    ) -> list[Row]:
        assert (trial.script, trial.live, stop.is_set()) == ("quick", False, False)
        assert host.adapters
        assert told
        return [Row(wanted=one, checks=tuple(shown.values())) for one in wanted]

    monkeypatch.setenv("KBSITE_CLIS", str(tmp_path))
    monkeypatch.setattr(installing, "install", lambda *_: [installed("other"), installed("claude")])
    monkeypatch.setattr("bench.installing.checks.wrong_version", lambda *_: "")
    monkeypatch.setattr(package, "tools_here", lambda _: tools())
    monkeypatch.setattr(package, "preflight", tried)
    return shown


def run(*words: str) -> Result:
    return CliRunner().invoke(bench, ["install", "--check", "session", *words])


@pytest.mark.usefixtures("outcome")
def test_the_table_tells_of_the_session() -> None:
    done = run()
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("session: 1.0 s, 3 requests")
    assert done.stdout.splitlines()[-2].endswith("--version"), "one without an adapter plays none"


def test_a_session_that_fails_is_told(outcome: dict[str, Check]) -> None:
    outcome["session"] = Check(
        name="session", state=State.WRONG, seen="it ended as stalled", cure="read its log"
    )
    done = run()
    assert done.exit_code == 1
    assert "claude: it ended as stalled; read its log" in done.stderr
    assert done.stdout.splitlines()[-1].split()[-1] == "failed"


def test_a_session_that_was_not_played_is_told(outcome: dict[str, Check]) -> None:
    outcome["session"] = Check(name="session", state=State.NOT_TRIED, seen="it was stopped before")
    rows = json.loads(run("--json").stdout)
    assert rows[1]["check"] == "no session"
    assert rows[1]["wrong"] == "no session was played: it was stopped before"
