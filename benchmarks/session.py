"""A long session as Claude Code would log it, made up and always the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

WORDS = [
    "kernel", "tile", "warp", "shared", "memory", "bandwidth", "register", "spill", "tensor",
    "core", "scale", "epilogue", "bank", "conflict", "prefetch", "pipeline", "stage", "barrier",
    "launch", "grid", "block", "vector", "load", "store", "roofline", "peak", "benchmark",
    "check", "tolerance", "reference", "compile", "cache", "latency", "shape", "measure",
    "again", "larger",
]  # fmt: skip
SEED = 11
ROUND = 4700
"""Bytes that one round of `_rounds` makes, about."""


def write_session(path: Path, size: int) -> None:
    """Write a session of about `size` bytes: thoughts, prose, commands, edits, their results."""
    chance = random.Random(SEED)  # noqa: S311 - it has to be the same each time
    with path.open("w", encoding="utf-8") as out:
        for number in range(max(1, size // ROUND)):
            for row in _round(number, chance):
                out.write(json.dumps(row, separators=(",", ":")) + "\n")


def write_exchange(path: Path) -> None:
    """Write a session of one question and its answer, Markdown with blocks of code."""
    answer: dict[str, object] = {"type": "text", "text": _prose(random.Random(path.name))}  # noqa: S311
    rows = [
        _row(0, 0, "user", {"role": "user", "content": "How is it done?"}),
        _row(0, 1, "assistant", _said(0, answer)),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


PROBES = [
    "<script>(window.probes ??= []).push(1)</script>",
    '<img src="x" onerror="(window.probes ??= []).push(2)">',
    "[link](javascript:(window.probes??=[]).push(3)) <svg onload=(window.probes??=[]).push(4)>",
    "```html\n</code></pre><script>(window.probes ??= []).push(5)</script>\n```",
]
"""What a page that takes text for HTML would execute; said by user, model and tool."""


def _probes() -> Iterator[dict[str, object]]:
    text = "\n\n".join(PROBES)
    asked = {"command": "cat page.html", "description": text}
    used = {"type": "tool_use", "id": "toolu_probe", "name": "Bash", "input": asked}
    result = {"type": "tool_result", "tool_use_id": "toolu_probe", "content": text}
    yield _row(0, 5, "user", {"role": "user", "content": text})
    yield _row(0, 6, "assistant", _said(0, {"type": "text", "text": text}))
    yield _row(0, 7, "assistant", _said(0, used))
    yield _row(0, 8, "user", {"role": "user", "content": [result]})


def _round(number: int, chance: random.Random) -> Iterator[dict[str, object]]:
    """A thought, a remark and a call, with what comes back."""
    call = f"toolu_{number:08}"
    if number % 50 == 0:
        yield _row(number, 0, "user", {"role": "user", "content": _sentences(chance, 2)})
    yield _row(number, 1, "assistant", _said(number, _thought(chance)))
    told: dict[str, object] = {"type": "text", "text": _prose(chance)}
    yield _row(number, 2, "assistant", _said(number, told))
    name, asked = _asked(number, chance)
    used: dict[str, object] = {"type": "tool_use", "id": call, "name": name, "input": asked}
    yield _row(number, 3, "assistant", _said(number, used))
    result = {"type": "tool_result", "tool_use_id": call, "content": _log(chance)}
    yield _row(number, 4, "user", {"role": "user", "content": [result]})
    if number == 0:
        yield from _probes()


def _row(number: int, part: int, kind: str, message: dict[str, object]) -> dict[str, object]:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=9 * number + 2 * part)
    return {"parentUuid": f"{number:08}-{part - 1}" if part else None, "isSidechain": False,
            "userType": "external", "cwd": "/workspace", "sessionId": "bench", "version": "2.1.0",
            "type": kind, "uuid": f"{number:08}-{part}", "timestamp": at.isoformat(),
            "message": message}  # fmt: skip


def _said(number: int, block: Mapping[str, object]) -> dict[str, object]:
    usage = {"input_tokens": 9, "cache_read_input_tokens": 40_000 + number, "output_tokens": 300}
    return {"id": f"msg_{number:08}", "type": "message", "role": "assistant", "model": "made-up",
            "content": [block], "stop_reason": None, "usage": usage}  # fmt: skip


def _thought(chance: random.Random) -> dict[str, object]:
    return {"type": "thinking", "thinking": _sentences(chance, 4)}


def _prose(chance: random.Random) -> str:
    points = "\n".join(f"- **{chance.choice(WORDS)}**: {_sentences(chance, 1)}" for _ in range(3))
    return f"{_sentences(chance, 2)}\n\n{points}\n\n```python\n{_code(chance, 6)}\n```"


def _asked(number: int, chance: random.Random) -> tuple[str, dict[str, object]]:
    if number % 3:
        return "Bash", {"command": f"python check.py --shape {number % 7}"}
    file = f"/workspace/kernel_{number % 5}.py"
    return "Write", {"file_path": file, "content": _code(chance, 40)}


def _log(chance: random.Random) -> str:
    rows = (f"\x1b[32mPASS\x1b[0m {_sentences(chance, 1)} {chance.random():.4f}" for _ in range(18))
    return "\n".join(rows)


def _code(chance: random.Random, lines: int) -> str:
    return "\n".join(f"    {chance.choice(WORDS)} = {chance.random():.3f}" for _ in range(lines))


def _sentences(chance: random.Random, number: int) -> str:
    words = (" ".join(chance.choices(WORDS, k=chance.randint(6, 16))) for _ in range(number))
    return " ".join(f"{held.capitalize()}." for held in words)
