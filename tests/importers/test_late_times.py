"""A stream that tells no time of the model's own rows, as Claude Code's did for some versions."""

from __future__ import annotations

import json
from pathlib import Path

from kbsite.build import build
from kbsite.importers.transcript import LATE, import_transcripts
from kbsite.model.trajectory import PointKind
from kbsite.store.runs import read_run
from kbsite.trajectories import trajectory
from kbsite.transcripts import transcript
from tests.conftest import MakeSettings
from tests.harnesses.test_claude_stream import result, row, system

INIT = system(
    "init", cwd="/w", model="m", claude_code_version="2.1.143", tools=[], slash_commands=[]
)


def _written(folder: Path) -> Path:
    """A file that is written, then looked at: it took two minutes, and times are of the last."""
    content = {"file_path": "/w/solution.py", "content": "a = 1\n"}
    rows = [
        INIT,
        row("assistant", {"type": "tool_use", "id": "c1", "name": "Write", "input": content}),
        row("user", {"type": "tool_result", "tool_use_id": "c1", "content": "made"},
            timestamp="2026-05-17T12:28:30Z"),
        row("assistant", {"type": "tool_use", "id": "c2", "name": "Bash",
                          "input": {"command": "python check.py"}}),
        row("user", {"type": "tool_result", "tool_use_id": "c2", "content": "PASS"},
            timestamp="2026-05-17T12:29:30Z"),
        result(duration_ms=120_000),
    ]  # fmt: skip
    folder.mkdir()
    log = folder / "stream.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return log


def test_no_seconds_are_counted_from_its_first_result(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    run = read_run(import_transcripts([_written(tmp_path / "in")], tmp_path / "runs" / "demo"))
    shown = transcript("claude", run.transcripts)
    assert shown is not None
    told = trajectory(shown, run.run)

    assert LATE in run.run.notes
    assert run.run.elapsed_seconds == told.end == 120
    assert [(point.kind, point.elapsed) for point in told.points] == [
        (PointKind.EDIT, None), (PointKind.CHECK, None), (PointKind.SUBMIT, 120),
    ]  # fmt: skip
    settings = make_settings(tmp_path, problems=[])
    page = (build(settings).out / "runs" / run.run.id / "index.html").read_text()
    assert "since the start" not in page
    assert "data-first" not in page
