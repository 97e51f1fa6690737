"""Sessions on one problem that read, edit, check and measure in different orders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

LOG = "home/.claude/projects/-w/s.jsonl"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

Call = tuple[str, str, str]
"""A kind of call, what it is about, and what comes back."""

READ: Call = ("read", "/w/reference.py", "def reference(x):")
PASS: Call = ("run", "python check.py", "PASS")
FAIL: Call = ("run", "python check.py", "FAIL: off by 0.1")

STEADY: Sequence[Call] = (
    READ,
    ("write", "import torch\n\ndef solve(x):\n    return x\n", "written"),
    FAIL,
    ("write", "import torch\n\ndef solve(x):\n    return x.softmax(-1)\n", "written"),
    PASS,
    ("run", "python benchmark.py", "peak_fraction: 0.3000\nRESULT: OK"),
    ("run", "python benchmark.py --again", "peak_fraction: 0.4000\nRESULT: OK"),
)
"""Reads, edits, fails, edits, passes, measures twice; a call every ten seconds."""

HASTY: Sequence[Call] = (
    ("write", "def solve(x):\n    return x.softmax(dim=-1)\n", "written"),
    PASS,
    READ,
    ("run", "python benchmark.py", "peak_fraction: 0.5000\nRESULT: OK"),
)
"""Edits before it has read anything, and measures once."""

LOST: Sequence[Call] = (READ, ("run", "ls", "x"), ("run", "ls -la", "x"))
"""Never edits nor checks anything."""


def session(calls: Sequence[Call], pause: float = 10) -> bytes:
    """The session log: call n, from 0, stands in line 2 n + 1, `pause` seconds after the last."""
    return "".join(f"{line}\n" for line in _lines(calls, pause)).encode()


def line_of(call: int) -> int:
    """The line of the session log that a call stands in."""
    return 2 * call + 1


def _lines(calls: Sequence[Call], pause: float) -> Iterator[str]:
    for number, (kind, about, output) in enumerate(calls):
        usage = {"input_tokens": 100, "output_tokens": 10}
        message = {"id": f"m{number}", "model": "opus-x", "usage": usage}
        yield _row(number * pause, "assistant", {**message, "content": [_use(number, kind, about)]})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output}
        yield _row(number * pause + 1, "user", {"content": [result]})


def _use(number: int, kind: str, about: str) -> dict[str, object]:
    name, given = {
        "read": ("Read", {"file_path": about}),
        "write": ("Write", {"file_path": "/w/solution.py", "content": about}),
        "run": ("Bash", {"command": about}),
    }[kind]
    return {"type": "tool_use", "id": f"c{number}", "name": name, "input": given}


def _row(second: float, kind: str, message: dict[str, object]) -> str:
    at = (START + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
    return json.dumps(
        {"type": kind, "timestamp": at, "uuid": f"u{second}", "parentUuid": None,
         "sessionId": "s", "version": "2.1.0", "cwd": "/w", "isSidechain": False,
         "message": {"role": kind, **message}}
    )  # fmt: skip
