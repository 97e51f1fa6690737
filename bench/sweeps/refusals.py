"""What providers refuse: read in the logs of proxies, as they grow and when a session is over."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.proxy.form import Exchange, Outcome
from bench.proxy.troubles import Trouble, sentence, trouble
from bench.sweeps.tries import read_first

LOG = "proxy.jsonl"
"""In a run's folder: a line for each exchange with the provider."""

_TO_MEND = (Trouble.AUTH, Trouble.CREDIT)
_NO_ANSWER = (Outcome.ABANDONED, Outcome.REFUSED)
_MOST = 4 << 20
_DECODER = msgspec.json.Decoder(Exchange)


class Refusals:
    """The logs of several runs, each read from where it was read to."""

    def __init__(self) -> None:
        self._read: dict[Path, int] = {}

    def new(self, run: Path) -> int:
        """How many more answers of a run's log say that fewer sessions at once would help."""
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
        troubles = (trouble(one) for one in _exchanges(whole))
        return sum(1 for one in troubles if one is not None and one.crowded)


def to_mend(run: Path, provider: str) -> str | None:
    """What a person has to mend at a provider before another session makes sense, as a sentence.

    None where the last answer of a run's log says nothing of that kind.
    """
    path = run / LOG
    try:
        data = read_first(path, _MOST, max(0, path.lstat().st_size - _MOST))
    except OSError:
        return None
    answers = (one for one in _exchanges(data) if one.outcome not in _NO_ANSWER)
    last = deque((one for one in answers if one.model_request), maxlen=1)
    return sentence(last[0], provider) if last and trouble(last[0]) in _TO_MEND else None


def _exchanges(lines: bytes) -> Iterator[Exchange]:
    for line in lines.splitlines():
        try:
            yield _DECODER.decode(line)
        except msgspec.DecodeError:
            # The end of a line whose beginning was not read, or nothing of the proxy's.
            continue
