"""Programs that installing needs: run quietly, and heard only when they fail."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from kbsite.errors import MachineError
from kbsite.store.scratch import scratch_folder

MOST_SECONDS = 1800.0
"""An installation that takes longer hangs."""
SHOWN_LINES = 12
"""Of what a failed program said: that many from its beginning, and from its end."""


def quietly(command: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a program to its end; its stdout. MachineError with the end of what it said."""
    try:
        done = subprocess.run(  # noqa: S603 - a list of words, no shell
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=MOST_SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        raise MachineError(f"{command[0]} cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise MachineError(f"{_named(command)}: no end after {MOST_SECONDS:.0f} s") from error
    if done.returncode:
        said = _shortened(f"{done.stdout}\n{done.stderr}".strip().splitlines())
        code, colon = done.returncode, ":" if said else " and said nothing"
        # As a shell tells it, a negative code is a signal's number.
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        raise MachineError("\n  ".join([f"{_named(command)} {how}{colon}", *said]))
    return done.stdout


def _shortened(lines: list[str]) -> list[str]:
    left_out = len(lines) - 2 * SHOWN_LINES
    if left_out <= 0:
        return lines
    return [*lines[:SHOWN_LINES], f"… {left_out} lines …", *lines[-SHOWN_LINES:]]


def _named(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:3]])


def printed_version(command: Sequence[str]) -> str:
    """What a program prints on `--version`, stripped; in a home of its own, which it may litter."""
    return _in_own_home([*command, "--version"]).strip()


def imported(python: Path, modules: Sequence[str]) -> None:
    """Have a Python import modules, and so keep them compiled; MachineError if it cannot."""
    _in_own_home([str(python), "-c", f"import {', '.join(modules)}"])


def _in_own_home(command: Sequence[str]) -> str:
    with scratch_folder("version") as folder:
        home = str(folder)
        path = os.environ.get("PATH", os.defpath)
        environment = {"HOME": home, "TMPDIR": home, "PATH": path, "LANG": "C.UTF-8", "CI": "1"}
        return quietly(command, folder=folder, environment=environment)
