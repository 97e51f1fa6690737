"""Calling `kbsite audit` as a person does, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner, Result

from kbsite.cli import kbsite


@contextmanager
def within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def called(home: Path, *words: str, **environment: str) -> Result:
    """`kbsite audit` with some words, in a site's folder; what it raises is in the result."""
    with within(home):
        env = {"KBSITE_AUDITOR": "N. Owl", **environment}
        return CliRunner().invoke(kbsite, ["audit", *words], env=env)


def started(
    home: Path, *words: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same as a process of its own."""
    env = {**os.environ, "KBSITE_AUDITOR": "N. Owl", **(environment or {})}
    return subprocess.run(
        [sys.executable, "-m", "kbsite", "audit", *words],
        cwd=home, env=env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
