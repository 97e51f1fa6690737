"""The script that makes the pictures of docs/screenshots."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "screenshots.py"


def test_its_help_makes_no_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], cwd=tmp_path, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip

    assert "folder of the pictures" in done.stdout
    assert list(tmp_path.iterdir()) == []
