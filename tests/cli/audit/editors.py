"""Editors that a script plays, as $EDITOR names them: each a program of its own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def editor(folder: Path, body: str) -> str:
    """A command that runs some Python on the text of the file that it is given, as `text`.

    What `text` is at the end is written back; `path` is the file.
    """
    program = folder / "editor.py"
    program.write_text(
        "import os, sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
        f"text = path.read_text()\n{body}\npath.write_text(text)\n"
    )
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}"


def filling(folder: Path, verdict: str = "clean", summary: str = "It adds.", **more: str) -> str:
    """An editor in which somebody fills in a draft."""
    said = {"summary": summary, **more}
    lines = [f"text = text.replace('verdict:\\n', 'verdict: {verdict}\\n')"]
    lines += [
        f"text = text.replace('{key}: >-\\n  \\n', {f'{key}: >-{chr(10)}  {value}{chr(10)}'!r})"
        for key, value in said.items()
    ]
    return editor(folder, "\n".join(lines))
