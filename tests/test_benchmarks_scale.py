"""The benchmark of very many runs makes long sessions that are read whole, the same each time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.grown import fitting, session
from benchmarks.many import CAPTURES, Cost
from benchmarks.scale import Scale, slopes, write_more
from kbsite.model.event import ToolCall
from kbsite.reading import read
from kbsite.store.files import contents
from kbsite.store.settings import read_settings
from kbsite.transcripts import transcript
from tests.trees import tree

GROWING = [
    ("claude", "claude/quick", ""), ("codex", "codex/quick", ""), ("gemini", "gemini/quick", ""),
    ("qwen", "qwen/quick", ""), ("kimi-code", "kimi/kimi-code-quick", ""),
    ("kimi-cli", "kimi/kimi-cli-quick", ""), ("opencode", "opencode/main", "export/"),
]  # fmt: skip


@pytest.mark.parametrize(("harness", "name", "without"), GROWING)
def test_a_session_goes_on_with_calls_of_its_own(
    tmp_path: Path, harness: str, name: str, without: str
) -> None:
    held = session(harness, CAPTURES / name, without)
    calls = []
    for number, size in enumerate((0, 3 * held.size)):
        home = tmp_path / str(number)
        for file, data in held.grown(size, random.Random(1)):
            (home / file).parent.mkdir(parents=True, exist_ok=True)
            (home / file).write_bytes(data)
        shown = transcript(harness, contents(home)[0])
        assert shown is not None
        steps = [step for step in shown.main.every_step if isinstance(step.event, ToolCall)]
        assert all(step.result for step in steps)
        calls.append(len(steps))

    assert 0.5 < sum(file.size for file in contents(tmp_path / "1")[0]) / (3 * held.size) < 1.1
    assert calls[1] > 1.5 * calls[0] > 0


def test_the_longest_session_that_fits_is_taken_and_one_that_goes_on_where_none_is_long() -> None:
    short = session("codex", CAPTURES / "codex" / "e401")
    long = session("codex", CAPTURES / "codex" / "quick")

    assert fitting([short, long], 1_000_000) is long
    assert fitting([short, long], short.size) is short
    assert fitting([short, long], 0) is short


def test_the_runs_are_sound_and_some_failed_and_some_are_audited(tmp_path: Path) -> None:
    write_more(tmp_path, 20)
    before = tree(tmp_path)
    write_more(tmp_path, 30)
    site = read(read_settings(tmp_path / "kbsite.yaml"))

    assert before.items() <= tree(tmp_path).items()
    assert [finding.text for finding in site.findings] == []
    assert len({stored.run.contender for stored in site.runs}) == 10
    assert {stored.metrics.status.value for stored in site.runs} > {"passed"}
    assert 0 < sum(stored.audit is not None for stored in site.runs) < 30


def test_the_slope_is_that_of_seconds_over_runs_and_over_bytes() -> None:
    held = [
        Scale(runs, 100 * runs, Cost(1, 0.1 * runs, 1, 1, 1, 1), 1, Cost(1, 1, 1, 0, 0, 0), 1, 1)
        for runs in (10, 100, 1000)
    ]

    assert list(slopes(held)) == [
        f"CPU seconds grow as {name} to the power of 1.000" for name in ("runs", "transcripts")
    ]
    assert list(slopes(held[:1])) == []
