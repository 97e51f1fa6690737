"""Make runs/demo from captured sessions of the real CLIs: `demo_runs.py CAPTURES [OUT]`."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from kbsite.importers.capture import ORIGIN, Facts, import_capture
from kbsite.store.files import contents
from kbsite.store.runs import AUDIT, read_run, run_folders
from kbsite.store.writing import write_bytes

OUT = Path(__file__).parents[1] / "runs" / "demo"
SCRIPTED = "The CLI and its tool calls are real; the model's turns were a script."
KILLED = "The CLI was killed while a tool ran, to show what is left of such a session."

CAPTURES = {
    "claude-code-2.1.329/main": Facts(harness_version="2.1.329"),
    "claude-code-2.1.329/longtool-KILL": Facts(
        harness_version="2.1.329", variant="killed", notes=(KILLED,)
    ),
    "codex-0.169.0/main": Facts(harness_version="0.169.0"),
    "kimi-cli-1.50.0/main": Facts(harness_version="1.50.0", variant="kimi-cli"),
    "kimi-code-2.1.0/main": Facts(harness_version="2.1.0", variant="kimi-code"),
    "opencode-1.18.33/main": Facts(harness_version="1.18.33"),
}
"""The captures, and what they do not tell."""


def main(captures: Path, out: Path = OUT) -> None:
    """Write a run for every capture, and say what was left out of it and how large it is.

    Runs that an earlier call made are made anew, under the same names; their audits are kept.
    """
    audits = _taken_away(out)
    for name, facts in CAPTURES.items():
        notes = (SCRIPTED, *facts.notes)
        known = replace(facts, model="scripted", problem="add", hardware="cpu", notes=notes)
        made = import_capture(captures / name, out, known)
        if made.folder.name in audits:
            write_bytes(made.folder / AUDIT, audits[made.folder.name])
        size = sum(file.size for file in contents(made.folder)[0])
        sys.stdout.write(f"{made.folder.name}: {size} bytes\n")
        for item in made.left_out:
            sys.stdout.write(f"  left out: {item.name} ({item.reason})\n")


def _taken_away(out: Path) -> dict[str, bytes]:
    """The audits of the runs made of captures before, which are deleted, by run id."""
    audits = {}
    for folder in list(run_folders(out)) if out.is_dir() else []:
        stored = read_run(folder)
        if stored.run.origin == ORIGIN:
            if stored.file(AUDIT):
                audits[folder.name] = (folder / AUDIT).read_bytes()
            shutil.rmtree(folder)
    return audits


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
