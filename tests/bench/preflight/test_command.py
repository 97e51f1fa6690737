"""`bench preflight`: contenders of a sweep or named harnesses, a table, JSON and an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench import preflight as package
from bench.cli import bench
from bench.preflight import CHECKS, Tools
from bench.providers import Dialect, Provider
from kbsite.errors import MachineError, UsageError
from tests.bench.preflight.standing_in import GOOD, tools
from tests.bench.running.sessions import CLIS

MINE = Provider(id="mine", bases={Dialect.ANTHROPIC: "http://127.0.0.1:1"}, key_variable="MY_KEY")
KEY = "sk-very-secret-0123456789"
SWEEP = """
board: demo
hardware: cpu
problems: [add]
contenders:
  - {harness: claude, model: opus-x, effort: max, provider: mine}
  - {harness: claude, model: opus-x, effort: most, provider: mine}
  - {harness: claude, model: opus-x, effort: max, provider: mine, variant: again}
providers: own.yaml
sandbox: namespaces
"""


class Host:
    """Gives the command its tools, and remembers what it was asked for."""

    def __init__(self, **given: Any) -> None:
        self.tools = tools(**{"providers": {"mine": MINE}, "environment": {"MY_KEY": KEY}, **given})
        self.asked: list[tuple[object, ...]] = []

    def __call__(self, *asked: object) -> Tools:
        self.asked.append(asked)
        return self.tools


@pytest.fixture(name="host")
def _host(monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host()
    monkeypatch.setattr(package, "tools_here", host)
    return host


@pytest.fixture(name="sweep")
def _sweep(tmp_path: Path) -> str:
    path = tmp_path / "night.yaml"
    path.write_text(SWEEP)
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(bench, ["preflight", *words])


def lines(done: Result) -> list[list[str]]:
    return [line.split() for line in done.stdout.splitlines()]


def test_each_contender_of_a_sweep_has_a_row(host: Host, sweep: str, tmp_path: Path) -> None:
    done = run(sweep, "--script", "none", "--clis", str(tmp_path / "clis"))
    assert done.exit_code == 1
    first, *rows = lines(done)
    assert first == ["contender", "provider", *CHECKS, "tried"]
    assert [row[:4] for row in rows] == [
        ["claude", "·", "opus-x", "[max]"], ["claude", "·", "opus-x", "[most]"],
    ]  # fmt: skip
    assert rows[0][4:] == ["mine", "yes", "yes", "yes", "yes", "yes", "–", "–"]
    assert rows[1][5:12] == ["yes", "yes", "yes", "no", "yes", "–", "–"]
    assert "claude · opus-x [most]: model: claude: effort 'most', expected one of" in done.stderr
    assert "1 of 2 contenders cannot start" in done.stderr
    assert host.asked == [(tmp_path / "clis", tmp_path / "own.yaml", "namespaces")]


def test_the_sandbox_of_a_sweep_can_be_another(host: Host, sweep: str) -> None:
    run(sweep, "--script", "none", "--sandbox", "bubblewrap")
    assert host.asked[0][-1] == "bubblewrap"


@pytest.mark.usefixtures("host")
def test_as_data(sweep: str) -> None:
    rows = json.loads(run(sweep, "--script", "none", "--json").stdout)
    assert [row["can_start"] for row in rows] == [True, False]
    assert list(rows[0]["checks"]) == list(CHECKS)
    assert rows[0]["checks"]["key"] == {"state": "fine", "seen": "MY_KEY is set", "cure": None}
    assert rows[1]["checks"]["model"]["state"] == "wrong"
    assert KEY not in json.dumps(rows)


def test_where_all_can_start_it_ends_with_0(host: Host) -> None:
    done = run("--harness", "claude", "--harness", "claude", "--script", "none")
    assert done.exit_code == 0
    assert len(lines(done)) == 2, "a harness that is named twice is one"
    assert "all contenders can start" in done.stderr
    assert host.asked[0][1:] == (None, None)


def test_without_anything_all_harnesses_are_looked_at(host: Host) -> None:
    rows = json.loads(run("--script", "none", "--json").stdout)
    assert [row["harness"] for row in rows] == list(host.tools.adapters)
    assert rows[0]["provider"] is None, "no key is asked for where no model was named"


@pytest.mark.usefixtures("host")
def test_a_model_is_served_by_its_cli_s_own_provider() -> None:
    (usual,) = json.loads(
        run("--harness", "claude", "--model", "m", "--script", "none", "--json").stdout
    )
    (named,) = json.loads(
        run("--harness", "claude", "--model", "m", "--provider", "mine", "--effort", "max",
            "--script", "none", "--json").stdout
    )  # fmt: skip
    assert (usual["provider"], usual["can_start"]) == ("anthropic", False)
    assert (named["provider"], named["effort"], named["can_start"]) == ("mine", "max", True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("SWEEP", "SWEEP"), "one SWEEP at a time"),
        (("SWEEP", "--model", "m"), "--model: SWEEP says that itself"),
        (("SWEEP", "--harness", "claude"), "--harness: SWEEP says that itself"),
        (("--live",), "say which one with --model"),
        (("--script", "nothing"), "'nothing' is no script"),
    ],
)
@pytest.mark.usefixtures("host")
def test_what_makes_no_sense_is_refused(sweep: str, words: tuple[str, ...], says: str) -> None:
    done = run(*(sweep if word == "SWEEP" else word for word in words))
    assert isinstance(done.exception, UsageError)
    assert says in str(done.exception)
    assert done.stdout == ""


def test_a_machine_that_holds_no_session_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> Tools:
        raise MachineError("no sandbox can be used here")

    monkeypatch.setattr(package, "tools_here", cannot)
    assert isinstance(run("--harness", "claude").exception, MachineError)


@pytest.mark.usefixtures("host")
def test_a_stop_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "preflight", lambda *given: given[-1].set() or [])
    done = run("--harness", "claude")
    assert done.exit_code == 1
    assert "stopped before all was tried" in done.stderr


def test_a_session_is_told_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "tools_here", Host(program=GOOD))
    done = run("--harness", "claude", "--script", "hi")
    assert done.exit_code == 0, done.stdout
    assert " s, 1 request, " in done.stdout


def test_real_clis_play_a_script_in_the_sandbox() -> None:
    """Claude Code and Codex, as they are installed."""
    done = run("--harness", "claude", "--harness", "codex", "--clis", str(CLIS), "--json")
    rows = json.loads(done.stdout)
    assert done.exit_code == 0, done.stdout
    for row in rows:
        checks = row["checks"]
        assert [checks[name]["state"] for name in ("installed", "version", "session")] == (
            ["fine"] * 3
        )
        assert "3 requests, " in checks["session"]["seen"]
