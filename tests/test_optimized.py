"""Python leaves out assertions with -O, docstrings with -OO: nothing that a site says or does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kbsite.cli import COMMANDS
from tests.conftest import MakeRun
from tests.trees import tree


def kbsite(optimized: int, *arguments: str, folder: Path) -> str:
    """What kbsite says on standard output with so many levels of optimization."""
    environment = {**os.environ, "PYTHONOPTIMIZE": str(optimized or "")}
    done = subprocess.run(
        [sys.executable, "-m", "kbsite", *arguments], cwd=folder, env=environment, check=True,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("optimized", [1, 2])
def test_a_site_is_the_same_and_is_called_true(
    tmp_path: Path, make_run: MakeRun, optimized: int
) -> None:
    make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": b"{}\n"})
    (tmp_path / "kbsite.yaml").write_text("{title: a, boards: [{id: demo, title: Demo}]}\n")
    kbsite(0, "build", "--out", "site", folder=tmp_path)
    kbsite(optimized, "build", "--out", "other", folder=tmp_path)
    kbsite(optimized, "verify", "site", folder=tmp_path)

    assert tree(tmp_path / "other") == tree(tmp_path / "site")


@pytest.mark.parametrize("command", ["", *COMMANDS, "audit new", "export hf", "bench grade"])
def test_help_is_the_same(command: str, tmp_path: Path) -> None:
    whole = kbsite(0, *command.split(), "--help", folder=tmp_path)

    assert kbsite(2, *command.split(), "--help", folder=tmp_path) == whole


def test_what_a_reference_asserts_holds(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text("def reference():\n    assert False, 'it holds'\n")
    script = (
        "from pathlib import Path; from bench.problems import functions;"
        "functions(Path('reference.py'), ['reference'])['reference']()"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", script], cwd=tmp_path, check=False, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip

    assert "AssertionError: it holds" in done.stderr
