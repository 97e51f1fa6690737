"""Calling `kbsite audit` as a person does, in this process or, slower, in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from kbsite.cli import kbsite
from kbsite.errors import KbsiteError

AUDITOR = {"KBSITE_AUDITOR": "N. Owl"}


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


@contextmanager
def within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def called(home: Path, *words: str, environment: Mapping[str, str] | None = None) -> Done:
    """`kbsite audit` with some words, in a site's folder; what it did not expect is raised."""
    with within(home):
        done = CliRunner().invoke(kbsite, ["audit", *words], env={**AUDITOR, **(environment or {})})
    match done.exception:
        case None | SystemExit():
            return Done(done.exit_code, done.stdout, done.stderr)
        case KbsiteError() as error:
            # As kbsite.cli.main tells it.
            return Done(error.exit_code, done.stdout, f"{done.stderr}kbsite: {error}\n")
        case error:
            raise error


def started(home: Path, *words: str, environment: Mapping[str, str] | None = None) -> Done:
    """The same as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "kbsite", "audit", *words],
        cwd=home, env={**os.environ, **AUDITOR, **(environment or {})},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)
