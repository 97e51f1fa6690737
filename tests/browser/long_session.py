"""A long Claude Code session that a test knows by heart: what stands in which step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

ROUNDS = 150
"""Rounds of the session: each has a thought, a text, a call and its result."""
LONG_ROUND = 70
"""The round whose output is too long for its place."""
FAILED = (33, 120)
"""Rounds whose command fails."""
EDITED = (10, 90)
"""Rounds that change solution.py."""
AGENT_ROUND = 60
"""The round that starts a sub-agent."""
WINDOWS_ROUND = 20
"""The round whose output ends its lines as Windows does."""
ACCENTED_ROUND = 21
"""The round whose output has a letter with an accent as one letter, and as two."""
QUOTED = 111
"""The round that the audit of the run quotes."""
HIDDEN = 130
"""The round whose thought, which is folded, the audit quotes."""
PAUSED = 140
"""The round before which nothing happens for a while."""
PAUSE = timedelta(minutes=5)
SOLUTION = (
    "def solve(x):\n" + "".join(f"    x = x + {n}\n" for n in range(2, 120)) + "    return x\n"
)
"""120 lines: line n adds n."""
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LONG = "".join(f"needle-{number:05} of the long output\n" for number in range(4000))


def _row(number: int, kind: str, message: dict[str, object], **more: object) -> str:
    paused = PAUSE if number > 4 * PAUSED else timedelta()
    at = (START + timedelta(seconds=number) + paused).isoformat().replace("+00:00", "Z")
    return json.dumps(
        {"type": kind, "timestamp": at, "uuid": f"u{number}", "parentUuid": None,
         "sessionId": "s", "version": "2.1.0", "cwd": "/w",
         "message": {"role": kind, **message}, "isSidechain": False, **more}
    )  # fmt: skip


def _call(number: int) -> dict[str, object]:
    if number in EDITED:
        edit = {"file_path": "/w/solution.py", "content": f"version = {number}\n"}
        return {"type": "tool_use", "id": f"c{number}", "name": "Write", "input": edit}
    if number == AGENT_ROUND:
        task = {"description": "look around", "prompt": "look"}
        return {"type": "tool_use", "id": f"c{number}", "name": "Task", "input": task}
    run = {"command": f"python check.py --round {number}"}
    return {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": run}


def _result(number: int) -> str:
    told = f"result of round {number}"
    if number == WINDOWS_ROUND:
        return f"{told}\r\nof two lines"
    if number == ACCENTED_ROUND:
        return f"{told}\ncafe\u0301 au lait, caf\u00e9 noir"
    return LONG if number == LONG_ROUND else told


def session() -> bytes:
    """The session log, a line each; line 4 n + 2 is the text of round n."""
    return "\n".join(_lines()).encode() + b"\n"


def child() -> bytes:
    """The log of a sub-agent that nothing ties to a call: two texts and a call of its own tool."""
    search = {"type": "tool_use", "id": "k", "name": "Grep", "input": {"pattern": "kernel"}}
    held = [{"type": "text", "text": "A child begins."}, search, {"type": "text", "text": "Done."}]
    rows = [
        _row(n, "assistant", {"id": f"k{n}", "content": [one]}, isSidechain=True, agentId="a1")
        for n, one in enumerate(held, start=900)
    ]
    return "\n".join(rows).encode() + b"\n"


def _lines() -> Iterator[str]:
    for n in range(ROUNDS):
        thought = {"type": "thinking", "thinking": f"secret thought {n}"}
        said = {"type": "text", "text": f"Round **{n}** begins."}
        result = {
            "type": "tool_result", "tool_use_id": f"c{n}", "content": _result(n),
            "is_error": n in FAILED,
        }  # fmt: skip
        message = {"id": f"m{n}", "model": "opus-x", "usage": {"input_tokens": 10}}
        line = 4 * n
        yield _row(line + 1, "assistant", {**message, "content": [thought]})
        yield _row(line + 2, "assistant", {**message, "content": [said]})
        yield _row(line + 3, "assistant", {**message, "content": [_call(n)]})
        yield _row(line + 4, "user", {"content": [result]})


def line_of(number: int) -> int:
    """The line in which the text of a round stands."""
    return 4 * number + 2
