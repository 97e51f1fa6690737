"""Other programs, asked for a word; they may be missing, slow or broken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

LONGEST_S = 20.0
MOST = 10_000
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w+-]*")
_MARKED = re.compile(r"(?:\bV|[vV]ersion )(\d+(?:\.\d+)+[\w.+-]*)")


def found(program: str, folders: Sequence[Path] = ()) -> Path | None:
    """Where a program is: on PATH, or else in one of these folders; None where it is nowhere."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *map(str, folders)])
    place = shutil.which(program, path=path)
    return Path(place) if place else None


def version_of(program: Path) -> str:
    """The version that a program prints on `--version`, or what it did instead, in words."""
    try:
        done = subprocess.run(  # noqa: S603 - a list of words, no shell
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=LONGEST_S, check=False,
        )  # fmt: skip
    except OSError as error:
        return f"cannot be started: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"said nothing within {LONGEST_S:g} s"
    said = f"{done.stdout[:MOST]}\n{done.stderr[:MOST]}".strip()
    numbers = _MARKED.findall(said) or _NUMBER.findall(said)
    if done.returncode or not numbers:
        return f"ended with code {done.returncode} and told no version"
    return str(numbers[-1])
