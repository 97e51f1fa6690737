"""What providers refuse: 429s in the logs of proxies, read as they grow."""

from __future__ import annotations

import json
from pathlib import Path

from bench.sweeps.tries import read_first

LOG = "proxy.jsonl"
"""In a run's folder: a line for each exchange with the provider (bench.proxy.form)."""

TOO_MANY = 429

_MOST = 4 << 20


class Refusals:
    """The logs of several runs, each read from where it was read to."""

    def __init__(self) -> None:
        self._read: dict[Path, int] = {}

    def new(self, run: Path) -> int:
        """How many more 429s the log of a run holds since this was asked last."""
        path = run / LOG
        start = self._read.get(path, 0)
        try:
            data = read_first(path, _MOST, start)
        except OSError:
            return 0
        whole, end, _ = data.rpartition(b"\n")
        # A line that fills all that is read at once is none of ours.
        skipped = len(data) if not end and len(data) == _MOST else len(whole) + len(end)
        self._read[path] = start + skipped
        return sum(1 for line in whole.splitlines() if _refused(line))


def _refused(line: bytes) -> bool:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and told.get("status") == TOO_MANY
