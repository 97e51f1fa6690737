"""Logs of several sessions that somebody names together, as a shell does for `*.jsonl`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbsite.cli import kbsite
from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import matches
from kbsite.importers.transcript import import_transcripts
from kbsite.store.runs import read_run
from tests.harnesses import claude_rows

CAPTURES = Path(__file__).parents[1] / "harnesses" / "captures"
TWO = {
    "claude": ("claude/e401", "claude/quick"),
    "codex": ("codex/e401", "codex/quick"),
    "gemini": ("gemini/e401", "gemini/quick"),
    "opencode": ("opencode/e401", "opencode/quick"),
    "qwen": ("qwen/e401", "qwen/quick"),
}


def logs(harness: str, capture: str) -> list[Path]:
    """The files of a captured session in the CLI's richest format."""
    files = [path for path in sorted((CAPTURES / capture).rglob("*")) if path.is_file()]
    named = {path: path.relative_to(CAPTURES / capture).as_posix() for path in files}
    found = (
        [path for path in files if any(matches(named[path], glob) for glob in form.globs)]
        for form in BY_ID[harness].FORMATS
    )
    return next(filter(None, found))


def notes(*files: Path, out: Path) -> list[str]:
    """What a run of these files says of several sessions."""
    made = read_run(import_transcripts(files, out)).run
    return [note for note in made.notes if "sessions" in note]


@pytest.mark.parametrize("harness", TWO)
def test_a_run_of_two_sessions_says_so(harness: str, tmp_path: Path) -> None:
    one, other = (logs(harness, capture) for capture in TWO[harness])

    assert notes(*one, out=tmp_path / "one") == []
    (note,) = notes(*one, *other, out=tmp_path / "both")
    assert note.startswith("Imported from the logs of 2 sessions, ")


def test_a_session_and_its_sub_agents_are_one(tmp_path: Path) -> None:
    assert notes(*logs("opencode", "opencode/main"), out=tmp_path / "mine") == []


def test_the_command_names_some_sessions_and_counts_the_rest(tmp_path: Path) -> None:
    for number in range(5):
        said = {"type": "text", "text": "Yes."}
        rows = [claude_rows.user(f"{number}?"), claude_rows.assistant(said)]
        told = [{**row, "sessionId": f"s-{number}\x1b[31m"} for row in rows]
        log = tmp_path / f"{number}.jsonl"
        log.write_text("".join(json.dumps(row) + os.linesep for row in told))
    files = sorted(map(str, tmp_path.glob("*.jsonl")))
    words = ["import", "transcript", *files, "--out", str(tmp_path / "mine")]
    done = CliRunner().invoke(kbsite, words)

    assert done.exit_code == 0
    folder, note = done.stdout.strip(), done.stderr.strip()
    assert note.startswith(f"{folder}: Imported from the logs of 5 sessions, s-0")
    assert note.endswith(" and 2 more: what they did is shown, and counted, as one run.")
    assert "\x1b" not in note
