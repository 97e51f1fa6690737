"""A session that writes solution.py many times, as a Claude Code log, and what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LOG = "home/.claude/projects/-w/s.jsonl"


def version(number: int, lines: int = 12) -> str:
    """The text of solution.py after change `number`, from 1."""
    body = "".join(f"    x = x + {line if line != number % lines else -number}\n"
                   for line in range(lines))  # fmt: skip
    return f"def solve(x):\n{body}    return x\n"


def changing(texts: Sequence[str], scored: Sequence[int] = ()) -> bytes:
    """A session that writes each of `texts`, five seconds apart, and then measures the `scored`."""
    return "\n".join(_lines(texts, frozenset(scored))).encode("utf-8", "surrogatepass") + b"\n"


def at(number: int) -> datetime:
    """When text `number`, from 1, was written."""
    return START + timedelta(seconds=5 * number)


def _lines(texts: Sequence[str], scored: frozenset[int]) -> Iterator[str]:
    for number, text in enumerate(texts, start=1):
        write = {"file_path": "/w/solution.py", "content": text}
        yield from _called(at(number), f"w{number}", "Write", write, "fine")
        if number in scored:
            said = f"PASS\npeak_fraction: 0.{number:04}\nRESULT: OK"
            run = {"command": "python check.py && python benchmark.py"}
            moment = at(number) + timedelta(seconds=2)
            yield from _called(moment, f"b{number}", "Bash", run, said)


def _called(
    moment: datetime, call: str, tool: str, given: dict[str, str], said: str
) -> Iterator[str]:
    use = {"type": "tool_use", "id": call, "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": call, "content": said, "is_error": False}
    usage = {"input_tokens": 1000, "output_tokens": 50}
    message: dict[str, object] = {"id": call, "model": "opus-x", "usage": usage, "content": [use]}
    yield _row(moment, call, "assistant", message)
    yield _row(moment, f"{call}r", "user", {"content": [result]})


def _row(moment: datetime, name: str, kind: str, message: dict[str, object]) -> str:
    return json.dumps(
        {"type": kind, "timestamp": moment.isoformat().replace("+00:00", "Z"), "uuid": name,
         "parentUuid": None, "sessionId": "s", "version": "2.1.0", "cwd": "/w",
         "isSidechain": False, "message": {"role": kind, **message}}
    )  # fmt: skip
