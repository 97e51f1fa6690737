"""Calls and their times as raw rows of Claude Code tell them, read here by nothing of kbsite's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kbsite.store.files import Stored
from kbsite.trajectories.times import moments
from kbsite.trajectories.vitals import SLOWEST, vital_signs
from kbsite.transcripts import transcript
from tests.harnesses.reading import BESIDE, CORPUS

HERE = Path(__file__).parents[1] / "harnesses" / "captures" / "claude"
LOGS = [
    path
    for path in (
        *sorted(HERE.glob("*/home/.claude/projects/*/*.jsonl")),
        *sorted(BESIDE.glob("captures/claude-code-*/*/home/.claude/projects/*/*.jsonl")),
        *sorted((CORPUS / "claude-session").rglob("*.jsonl")),
    )
    if "subagents" not in path.parts
]
TOLD = (("durationMs", 1e-3), ("totalDurationMs", 1e-3), ("durationSeconds", 1.0))


def repeated(row: dict[str, Any]) -> dict[str, Any] | None:
    """The row of a sub-agent without a file that one of its parent's repeats; None of another."""
    data = row.get("data")
    if row.get("type") != "progress" or not isinstance(data, dict) or "agentId" not in data:
        return None
    return {"isSidechain": True, **data["message"]}


def blocks(path: Path) -> Iterator[tuple[float, dict[str, Any], dict[str, Any]]]:
    """The moment of each block of content, the block, and its row; a row that is repeated once."""
    seen = set()
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        row = repeated(row) or row
        if row.get("type") not in ("user", "assistant"):
            continue
        content = row["message"].get("content")
        if row.get("uuid") in seen or not isinstance(content, list):
            continue
        seen.add(row.get("uuid"))
        at = datetime.fromisoformat(row["timestamp"]).timestamp()
        yield from ((at, block, row) for block in content if isinstance(block, dict))


@dataclass
class Call:
    """A call as its rows tell it."""

    start: float
    kid: bool
    """Whether a sub-agent made it."""
    asks: bool
    """Whether it waits for a person's answer."""
    end: float | None = None
    told: float | None = None
    """How long the CLI itself says that it took."""


def calls(path: Path) -> dict[str, Call]:
    """The calls of a log, by id."""
    found: dict[str, Call] = {}
    for at, block, row in blocks(path):
        if block.get("type") == "tool_use":
            asks = block["name"] in ("AskUserQuestion", "ExitPlanMode")
            found.setdefault(block["id"], Call(at, bool(row.get("isSidechain")), asks))
        known = found.get(block.get("tool_use_id", ""))
        if block.get("type") == "tool_result" and known and known.end is None:
            rich = row.get("toolUseResult")
            held = rich if isinstance(rich, dict) else {}
            known.end = at
            for key, size in TOLD:
                if known.told is None and isinstance(held.get(key), int | float):
                    known.told = held[key] * size
    return found


def covered(spans: list[tuple[float, float]]) -> float:
    """Seconds that lie in at least one span."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


@pytest.mark.parametrize(
    "path", LOGS, ids=lambda path: "-".join(path.parts[-6:-5] + path.parts[-1:])
)
def test_calls_took_as_long_as_their_rows_tell(path: Path) -> None:
    name = f"home/.claude/projects/-w/{path.name}"
    whole = transcript("claude", [Stored(name, str(path), path.stat().st_size)])
    assert whole is not None
    signs = vital_signs(whole, moments(whole), [])
    found = calls(path)

    assert sum(signs.calls.values()) == len(found)
    over = [(one, one.end) for one in found.values() if one.end is not None]
    took = [max(0.0, end - one.start) if one.told is None else one.told for one, end in over]
    assert [one.seconds for one in signs.slowest] == pytest.approx(
        sorted(took, reverse=True)[:SLOWEST], abs=1e-3
    )
    own = [(one.start, end) for one, end in over if not one.kid and not one.asks]
    assert sum(signs.tools.values()) == pytest.approx(covered(own), abs=1e-2)
    asked = [(one.start, end) for one, end in over if not one.kid and one.asks]
    assert (signs.idle or 0) >= covered([*own, *asked]) - covered(own) - 1e-2
    if signs.span is not None:
        assert signs.span == pytest.approx(
            sum(signs.tools.values()) + (signs.model or 0) + (signs.idle or 0), abs=1e-3
        )
