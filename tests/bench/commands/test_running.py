"""`bench run`: from words to an order, and what is told on the way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.commands.run import order_of, progress, seconds, words
from bench.running import run as running
from bench.running.form import BUDGET_SECONDS, Ended
from bench.running.session import Progress
from kbsite.errors import UsageError
from kbsite.model.usage import Usage
from tests.bench.commands.shells import Shell

NAMED = {"harness": "claude", "model": "opus", "problem": "add"}


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90.0), ("45m", 2700.0), ("1.5h", 5400.0), (" 2m ", 120.0)]
)
def test_a_budget_has_a_unit(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["45", "0m", "m", "-5m", "1d", "1e9s", "nan s", f"{'9' * 400}s"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a time with its unit"):
        seconds(text)


def test_an_order_has_the_defaults_of_its_cli() -> None:
    told = order_of(NAMED)
    assert told.order.provider == "anthropic"
    assert told.order.board == "trial"
    assert told.order.budget_seconds == BUDGET_SECONDS
    assert Path(told.runs).is_absolute()
    assert told.sandbox is None


def test_options_become_an_order(tmp_path: Path) -> None:
    told = order_of({
        **NAMED, "effort": "max", "budget": "10m", "provider": "zai", "board": "mine",
        "variant": "again", "hardware": "h200-sxm", "gpu": "GPU-1", "sandbox": "none",
        "runs": tmp_path, "providers": tmp_path / "p.yaml", "clis": tmp_path / "clis",
    })  # fmt: skip
    order = told.order
    assert (order.effort, order.variant, order.provider) == ("max", "again", "zai")
    assert (order.budget_seconds, order.hardware, order.gpu) == (600.0, "h200-sxm", "GPU-1")
    assert told.runs == str(tmp_path)
    assert told.providers == str(tmp_path / "p.yaml")
    assert told.clis == str(tmp_path / "clis")


def test_a_cli_that_is_made_for_nobody_needs_a_provider() -> None:
    with pytest.raises(UsageError, match="opencode is made for no provider alone"):
        order_of({**NAMED, "harness": "opencode"})
    with pytest.raises(UsageError, match="'abacus' is no harness"):
        order_of({**NAMED, "harness": "abacus"})


STATE = Progress(
    elapsed=100.0, left=2460.0, budget=2700.0, exchanges=12,
    usage=Usage(input=19_000, cache_read=80_000, output=4_100), snapshots=3,
    last="complete answer",
)  # fmt: skip


def test_how_far_a_session_is_in_words() -> None:
    assert words(STATE) == (
        "41 min left, 12 requests (99 k tokens in, 4 k out), 3 versions of the solution, "
        "complete answer"
    )
    nothing = Progress(
        elapsed=1.0, left=67.0, budget=90.0, exchanges=1, usage=Usage(), snapshots=1, last="-"
    )
    assert words(nothing).startswith("60 s left, 1 request (0 k tokens in, 0 k out), 1 version of")
    told: list[tuple[str, float | None]] = []
    progress(lambda what, share: told.append((what, share)))(STATE)
    assert told == [(words(STATE), 1 - 2460 / 2700)]


@pytest.mark.parametrize(
    ("reason", "retryable", "code"),
    [("finished", False, 0), ("budget", False, 0), ("provider_error", True, 1)],
)
def test_what_came_of_it_is_told_and_coded(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch, reason: str, retryable: bool,
    code: int,
) -> None:  # fmt: skip
    asked: list[Any] = []

    def carried_out(job: Any, told: Any, _stop: Any) -> Ended:
        asked.append(job)
        told(STATE)
        return Ended(
            folder=home / "runs/trial/x", reason=reason, detail="So it was.", retryable=retryable
        )

    monkeypatch.setattr(running, "run", carried_out)
    monkeypatch.setattr("bench.running.supervising.job_of", lambda order: order)
    options = ("run", "claude", "opus", "toy", "--budget", "5m", "--effort", "max")
    got, out, err = shell(*options)
    assert (got, out) == (code, f"{home}/runs/trial/x\n")
    assert f"{reason}: So it was." in err
    assert "41 min left" in err
    assert (asked[0].order.budget_seconds, asked[0].order.effort) == (300.0, "max")
    assert asked[0].problems == str(home / "problems")
    got, out, err = shell(*options, "--json")
    assert json.loads(out) == {
        "folder": f"{home}/runs/trial/x", "reason": reason, "detail": "So it was.",
        "retryable": retryable,
    }  # fmt: skip


def test_a_disk_that_is_full_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def carried_out(*_: Any) -> Ended:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(running, "run", carried_out)
    monkeypatch.setattr("bench.running.supervising.job_of", lambda order: order)
    got, _, err = shell("run", "claude", "opus", "toy")
    assert got == 3
    assert "the run was broken off: [Errno 28] No space left on device" in err


def test_a_cli_that_is_not_installed_is_told_with_the_cure(shell: Shell, home: Path) -> None:
    got, _, err = shell("run", "claude", "opus", "toy", "--clis", str(home / "none"))
    assert got == 3
    assert "kbsite bench install claude" in err
    assert "claude on toy" not in err


def test_what_cannot_be_ordered_is_told_as_it_was_typed(shell: Shell) -> None:
    got, _, err = shell("run", "claude", "opus", "toy", "--board", "../up")
    assert got == 2
    assert "--board: it becomes part of an address" in err


def test_a_budget_that_no_calendar_has_is_refused_before_anything_starts(
    shell: Shell, home: Path
) -> None:
    got, _, err = shell("run", "claude", "opus", "toy", "--budget", "99999999999999h")
    assert got == 2
    assert "--budget: expected seconds, more than 0 and at most 31536000 (a year), got" in err
    assert not (home / "runs").exists()


@pytest.mark.parametrize(
    ("words", "lacks"), [("install", "msgspec"), ("sweep plan x.yaml", "yaml")]
)
def test_a_bare_checkout_without_a_package_names_it_and_prints_no_traceback(
    words: str, lacks: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "bench", *words.split()], cwd=Path(__file__).parents[3],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": "src:."},
    )  # fmt: skip
    said = f"bench: {lacks} cannot be imported; install it with: pip install 'kbsite[bench]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", said)
