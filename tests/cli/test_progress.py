"""What a person sees of how far a command is, and what is left of it at the terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.audit.terminals import on_a_terminal
from tests.conftest import MakeRun, MakeSettings

SHOWN, HIDDEN = b"\x1b[?25h", b"\x1b[?25l"
WAITS = """
import time
from kbsite.beside import copied
from kbsite.cli.progress import progress

with progress() as tick:
    copied(lambda stream: time.sleep(60))
    tick("asleep", 0, 1)
    time.sleep(60)
"""
AWAKE = 0.3
"""Seconds that it may still be at what shows that it sleeps."""


def _at_a_terminal(code: str, number: int, kind: str = "xterm") -> tuple[int, bytes]:
    """How a program ends that gets a signal once it shows that it sleeps, and what it wrote."""
    process, end = pty.fork()
    if not process:
        os.environ["TERM"] = kind
        # Whoever runs tests in the background has them ignore it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", code])
    written, sent, until = b"", False, time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([end], [], [], 0.1)[0]:
            try:
                written += os.read(end, 65536)
            except OSError:
                break
        if b"asleep" in written and not sent:
            time.sleep(AWAKE)
            os.kill(process, number)
            sent = True
    os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), written


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -15), (signal.SIGINT, -2)])
def test_who_is_ended_while_it_shows_progress_gives_the_cursor_back(number: int, code: int) -> None:
    ended, written = _at_a_terminal(WAITS, number)
    assert ended == code
    assert written.rfind(SHOWN) > written.rfind(HIDDEN) >= 0


def test_a_terminal_that_knows_no_cursor_is_told_of_none() -> None:
    waits = WAITS.replace("tick(", "print(")
    ended, written = _at_a_terminal(waits, signal.SIGTERM, "dumb")
    assert ended == -15
    assert b"\x1b" not in written


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_left_out_where_the_environment_says_so(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings,
    environment: dict[str, str], coloured: bool,
) -> None:  # fmt: skip
    make_settings(tmp_path)
    make_run(tmp_path / "runs/demo", run_id="one")
    usual = {"NO_COLOR": ""}
    for words in (["stats"], ["show", "one", "--no-pager"]):
        shown = on_a_terminal(tmp_path, *words, **usual | environment)
        assert ("\x1b[1m" in shown) == coloured, words
