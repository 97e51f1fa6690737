"""The help of `kbsite audit` is quick, and true of what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kbsite.cli.audit import COMMANDS
from tests.cli.test_commands import HEAVY

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("words", [["audit", "--help"], ["audit", "queue", "--help"]])
def test_help_imports_nothing_that_draws_renders_or_counts(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from kbsite.cli import kbsite\n"
        f"kbsite({words!r}, standalone_mode=False)\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    # The settings of a site are records, which msgspec reads.
    assert set(done.stderr.strip()[1:-1].split(", ")) <= {"", "'msgspec'"}
    assert "Example:" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_tells_of_every_command(command: str) -> None:
    assert f"kbsite audit {command}" in README.read_text("utf-8")
