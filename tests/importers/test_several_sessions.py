"""Logs of several sessions that somebody names together, as a shell does for `*.jsonl`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbsite.cli import kbsite
from kbsite.fold.steps import Fold
from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import Format, matches
from kbsite.importers.transcript import import_transcripts
from kbsite.model.transcript import Transcript
from kbsite.model.usage import total
from kbsite.store.files import Stored
from kbsite.store.runs import read_run
from kbsite.transcripts import events
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


def sessions() -> Iterator[tuple[Format, Path]]:
    """The captured sessions, in each format that the CLI wrote them in."""
    for harness in sorted(path.name for path in CAPTURES.iterdir()):
        for folder in sorted((CAPTURES / harness).iterdir()):
            for form in BY_ID[harness].FORMATS:
                if held(form, folder):
                    yield form, folder


def held(form: Format, folder: Path) -> list[Stored]:
    """The files of a captured session in a format."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    named = [(path, path.relative_to(folder).as_posix()) for path in files]
    return [
        Stored(f"{folder.name}/{name}", str(path), path.stat().st_size)
        for path, name in named
        if any(matches(name, glob) for glob in form.globs)
    ]


def told(form: Format, *folders: Path) -> Transcript:
    """The transcript of these sessions."""
    fold = Fold()
    for event in events(form, [file for folder in folders for file in held(form, folder)]):
        fold.add(event)
    return fold.transcript(form.id, form.title, ())


ONE_LOG = {"agents", "parts"}
"""Two captures that hold one log, written in two ways."""
ALL = tuple(sessions())
PAIRS = [
    (form, one, other)
    for form, one in ALL
    for same, other in ALL
    if form is same and one != other and {one.name, other.name} != ONE_LOG
]


NAMES = [f"{form.id}-{one.name}-{other.name}" for form, one, other in PAIRS]


@pytest.mark.parametrize(("form", "one", "other"), PAIRS, ids=NAMES)
def test_two_sessions_used_what_each_of_them_did(form: Format, one: Path, other: Path) -> None:
    first, second, both = told(form, one), told(form, other), told(form, one, other)
    each = total([first.usage, second.usage])

    assert both.usage == each or both.lower_bound
    if first.usage_told is second.usage_told:
        assert both.usage == each
        assert both.lower_bound is (first.lower_bound or second.lower_bound)


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
