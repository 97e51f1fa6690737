"""A run in a process of its own: what it prints, how it is ended, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from bench.records import plain
from bench.running.form import Order, SessionLimits
from bench.scripted import Server, scripted_provider
from kbsite.store.runs import read_run
from tests.bench.planted import planted
from tests.bench.running.sessions import (
    CLIS,
    LONG_S,
    PROBLEMS,
    Trial,
    left_of,
    wrong_with,
)

KEY = "sk-planted-of-the-operator-77a8e2"
SUPERVISOR = (sys.executable, "-m", "bench.running")


def providers(path: Path, server: Server, run: str, script: str) -> Path:
    """A file that names the scripted server, as an operator names a provider, with a key."""
    bases = scripted_provider(server.url, run, script).bases
    told = {"bases": {one.value: base for one, base in bases.items()}, "key_variable": "KB_KEY"}
    path.write_text(yaml.safe_dump({"providers": {"scripted": told}}))
    return path


def order_file(trial: Trial, tmp_path: Path, script: str, **order: object) -> Path:
    told = Order(
        board="demo", problem="add", harness="claude", model="scripted-1", provider="scripted",
        **{"budget_seconds": 600.0, **order},  # type: ignore[arg-type]
    )  # fmt: skip
    whole = {
        "order": plain(told),
        "runs": str(trial.runs),
        "problems": str(PROBLEMS),
        "clis": str(CLIS),
        "providers": str(providers(tmp_path / "p.yaml", trial.server, trial.runs.name, script)),
        "limits": {"look_seconds": 0.2, "copy_seconds": 0.5, "grace_seconds": 1.0},
        "sandbox": None,
    }
    path = tmp_path / "order.json"
    path.write_text(json.dumps(whole))
    return path


@contextmanager
def process(command: Sequence[str], more: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process of a test; at the end it is dead, whatever happened, even if it hangs."""
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "KB_KEY": KEY, **more}, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    killer = threading.Timer(2 * LONG_S, started.kill)
    with started:
        killer.start()
        try:
            yield started
        finally:
            killer.cancel()
            started.kill()


def waited(holds: Callable[[], bool], started: subprocess.Popen[str] | None = None) -> bool:
    """Whether it came to hold before long; a process that ends before that is the reason."""
    until = time.monotonic() + LONG_S
    while not holds():
        if started is not None and started.poll() is not None:
            raise AssertionError(f"it ended: {started.communicate()}")
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def hanging(server: Server, run: str) -> bool:
    """Whether a CLI waits for an answer that will not come."""
    return any(one.turn == 1 and not one.ended for one in server.requests_of(run))


def copied(runs: Path) -> list[Path]:
    """The transcripts copied out of a session, while it runs or after it was killed."""
    return list(runs.glob("demo/*.partial/transcript/home/**/*.jsonl"))


def told_by_proxy(runs: Path) -> int:
    """The requests whose answers have come to an end; the CLI writes its transcript sooner."""
    return sum(one.read_bytes().count(b"\n") for one in runs.glob("demo/*.partial/proxy.jsonl"))


def test_it_prints_one_line_of_json_and_takes_the_key_out_of_sight(
    trial: Trial, tmp_path: Path
) -> None:
    path = order_file(trial, tmp_path, "quick", cell="cell-9")
    with process((*SUPERVISOR, str(path)), {}) as started:
        out, err = started.communicate(timeout=LONG_S)
    assert started.returncode == 0, err
    told = json.loads(out)
    assert set(told) == {"folder", "reason", "detail", "retryable"}
    assert told["reason"] == "finished", told["detail"]
    assert wrong_with(Path(told["folder"])) == []
    assert planted(trial.runs, KEY) == []
    assert KEY not in out + err
    assert left_of(started.pid) == []


def test_sigterm_ends_the_session_and_completes_the_run(trial: Trial, tmp_path: Path) -> None:
    path = order_file(trial, tmp_path, "hang")
    with process((*SUPERVISOR, str(path)), {}) as started:
        assert waited(lambda: hanging(trial.server, trial.runs.name), started)
        started.send_signal(signal.SIGTERM)
        out, err = started.communicate(timeout=LONG_S)
    assert started.returncode == 0, err
    told = json.loads(out)
    assert (told["reason"], told["retryable"]) == ("signal", False)
    assert wrong_with(Path(told["folder"])) == []
    assert left_of(started.pid) == []


def test_sigkill_leaves_no_process_and_what_was_copied_so_far(trial: Trial, tmp_path: Path) -> None:
    path = order_file(trial, tmp_path, "longtool", cell="cell-9")
    with process((*SUPERVISOR, str(path)), {}) as started:
        assert waited(lambda: bool(copied(trial.runs)) and told_by_proxy(trial.runs) >= 1, started)
        assert left_of(started.pid) != [], "the session runs"
        started.kill()
        started.wait(LONG_S)
        assert waited(lambda: left_of(started.pid) == [])
    (partial,) = trial.runs.glob("demo/*.partial")
    assert json.loads((partial / "order.json").read_text())["cell"] == "cell-9"
    assert copied(trial.runs) != []
    assert told_by_proxy(trial.runs) >= 1
    assert not (partial / "manifest.json").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_is_a_wish_and_the_second_an_end(number: signal.Signals) -> None:
    program = """
from bench.running.stopping import stopped_by_signals
with stopped_by_signals() as stop:
    print("ready", flush=True)
    stop.wait()
    print("asked to stop", flush=True)
    while True:
        stop.wait(0.1)
"""
    with process((sys.executable, "-c", program), {}) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        started.send_signal(number)
        assert started.stdout.readline() == "asked to stop\n"
        started.send_signal(number)
        assert started.wait(LONG_S) == -number


def test_a_signal_is_heard_in_the_midst_of_a_wait_for_it() -> None:
    program = f"""
import os, signal, sys, time
from bench.running.stopping import stopped_by_signals
with stopped_by_signals() as stop:
    # The lock that each wait for an event holds for a moment.
    with stop._cond:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
    sys.exit(0 if stop.wait({LONG_S}) else 1)
"""
    with process((sys.executable, "-c", program), {}) as started:
        assert started.wait(LONG_S) == 0


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"order": {"harness": "abacus"}}, 2, "'abacus' is no harness; expected one of: claude"),
        ({"order": {"provider": "nobody"}, "clis": "/nowhere"}, 2, "'nobody' is no provider"),
        ({"order": {"problem": "gone"}, "clis": "/nowhere"}, 2, "gone: no such problem"),
        ({"order": {"problem": "../add"}}, 1, "order.problem: it becomes part of an address"),
        ({"order": {"budget_seconds": 0.0}}, 1, "order.budget_seconds: expected seconds"),
        ({"limits": {"processes": -1}}, 1, "limits.processes: expected more than 0"),
        ({"clis": "/nowhere"}, 3, "claude is not installed in /nowhere; install it with"),
        ({"problem_hash": "0" * 64}, 2, "it was 000000000000 and is "),
        ({"sandbox": "box"}, 2, "'box' is no sandbox"),
    ],
)
def test_what_cannot_be_is_told_and_starts_nothing(
    trial: Trial, tmp_path: Path, change: dict[str, object], code: int, said: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from bench.running.__main__ import main

    path = order_file(trial, tmp_path, "quick")
    whole = json.loads(path.read_text())
    for key, value in change.items():
        whole[key] = {**whole[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(whole))
    monkeypatch.setenv("KB_KEY", KEY)
    monkeypatch.setattr(sys, "argv", ["bench.running", str(path)])
    assert main() == code
    assert said in capsys.readouterr().err
    assert list(trial.runs.iterdir()) == []


def test_a_machine_that_fails_is_told_apart_from_a_wrong_order(
    trial: Trial,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bench.running.__main__ import main

    path = order_file(trial, tmp_path, "quick")
    whole = json.loads(path.read_text())
    whole["limits"]["grace_seconds"] = whole["limits"]["copy_seconds"] = 0.0
    (tmp_path / "no-folder").write_text("")
    path.write_text(json.dumps({**whole, "runs": str(tmp_path / "no-folder")}))
    monkeypatch.setenv("KB_KEY", KEY)
    monkeypatch.setattr(sys, "argv", ["bench.running", str(path)])
    assert main() == 3
    assert "this machine failed: no run can be made in" in capsys.readouterr().err


def test_without_its_key_it_does_not_start(
    trial: Trial,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bench.running.__main__ import main

    path = order_file(trial, tmp_path, "quick")
    monkeypatch.delenv("KB_KEY", raising=False)
    monkeypatch.setattr(sys, "argv", ["bench.running", str(path)])
    assert main() == 2
    assert "KB_KEY is not set" in capsys.readouterr().err


def test_some_limits_may_be_left_out(trial: Trial, tmp_path: Path) -> None:
    from bench.running.orders import read_order

    told = read_order(order_file(trial, tmp_path, "quick"))
    assert told.limits.look_seconds == 0.2
    assert told.limits.processes == SessionLimits().processes


def test_ctrl_c_at_the_command_completes_the_run(trial: Trial, tmp_path: Path) -> None:
    path = providers(tmp_path / "p.yaml", trial.server, trial.runs.name, "hang")
    command = [
        sys.executable, "-m", "bench", "run", "claude", "scripted-1", "add",
        "--provider", "scripted", "--providers", str(path), "--runs", str(trial.runs),
        "--problems", str(PROBLEMS), "--clis", str(CLIS), "--budget", "10m", "--board", "mine",
    ]  # fmt: skip
    with process(command, {}) as started:
        assert waited(lambda: hanging(trial.server, trial.runs.name), started)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=LONG_S)
    assert started.returncode == 0, err
    folder = Path(out.strip())
    assert folder.parent == trial.runs / "mine"
    assert read_run(folder).run.end_reason.value == "signal"
    assert "left," in err, "it told how far it was"
    assert "ending the session; its run is completed then" in err
    assert "signal: Whoever started the run ended it." in err
    assert left_of(started.pid) == []
