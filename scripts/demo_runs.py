"""Make runs/demo from captured sessions of the real CLIs: `demo_runs.py CAPTURES [OUT]`."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import matches
from kbsite.importers.capture import ORIGIN, Facts, import_capture
from kbsite.model.event import Message, Role
from kbsite.store.files import contents
from kbsite.store.problems import read_problem
from kbsite.store.runs import AUDIT, read_run, run_folders
from kbsite.store.writing import write_bytes
from kbsite.transcripts import events

OUT = Path(__file__).parents[1] / "runs" / "demo"
SCRIPTED = "The CLI and its tool calls are real; the model's turns were a script."
KILLED = "The CLI was killed while a tool ran, to show what is left of such a session."

PROBLEM = Path(__file__).parents[1] / "problems" / "add"
OWN = Path(__file__).parents[1] / "tests" / "harnesses" / "captures"
"""Captures in the repository, looked at first: opencode's has the export, with prompt and child."""
MARKER = re.compile(r"^\[\[script:\S+\]\] ")
"""What tells the scripted model which script to play."""

CAPTURES = {
    "claude-code-2.1.329/main": Facts(harness_version="2.1.329"),
    "claude-code-2.1.329/longtool-KILL": Facts(
        harness_version="2.1.329", variant="killed", notes=(KILLED,)
    ),
    "codex-0.169.0/main": Facts(harness_version="0.169.0"),
    "kimi-cli-1.50.0/main": Facts(harness_version="1.50.0", variant="kimi-cli"),
    "kimi-code-2.1.0/main": Facts(harness_version="2.1.0", variant="kimi-code"),
    "opencode/main": Facts(harness_version="1.18.33"),
}
"""The captures, and what they do not tell."""


def main(captures: Path, out: Path = OUT) -> None:
    """Write a run for every capture, and say what was left out of it and how large it is.

    Runs that an earlier call made are made anew, under the same names; their audits are kept.
    """
    audits = _taken_away(out)
    problem = read_problem(PROBLEM)
    for name, facts in CAPTURES.items():
        capture = next(home / name for home in (OWN, captures) if (home / name).is_dir())
        prompt = _prompt(capture)
        known = replace(
            facts,
            model="scripted",
            problem=problem.id,
            # The agent got the problem only if its prompt is the problem's, but for the marker.
            problem_hash=problem.hash if MARKER.sub("", prompt) == problem.prompt.strip() else None,
            prompt_hash=hashlib.sha256(prompt.encode()).hexdigest(),
            hardware="cpu",
            notes=(SCRIPTED, *facts.notes),
        )
        made = import_capture(capture, out, known)
        if made.folder.name in audits:
            write_bytes(made.folder / AUDIT, audits[made.folder.name])
        size = sum(file.size for file in contents(made.folder)[0])
        sys.stdout.write(f"{made.folder.name}: {size} bytes\n")
        for item in made.left_out:
            sys.stdout.write(f"  left out: {item.name} ({item.reason})\n")


def _prompt(capture: Path) -> str:
    """What the agent was asked: as an argument, else as the first words of a person."""
    argv = json.loads((capture / "meta.json").read_text("utf-8"))["argv"]
    asked = [word for word in argv if MARKER.match(word)]
    harness = capture.parent.name.partition("-")[0]
    for form in BY_ID[harness].FORMATS:
        held = [f for f in contents(capture)[0] if any(matches(f.name, g) for g in form.globs)]
        said = (event for event in events(form, held) if isinstance(event, Message))
        asked += [
            m.text.strip() for m in said if m.role is Role.USER and not (m.injected or m.agent)
        ]
    return str(asked[0])


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
