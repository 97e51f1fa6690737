"""What providers refuse: read in the logs of proxies, as they grow and when a session is over."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.proxy.form import Exchange, Outcome
from bench.proxy.troubles import Trouble, sentence, trouble
from bench.sweeps.tries import read_first
from kbsite.model.finding import one_line

LOG = "proxy.jsonl"
"""In a run's folder: a line for each exchange with the provider."""

MOST_SHOWN = 400
"""Characters of what a provider or a program said that a ledger holds."""

_MOST = 4 << 20
_DECODER = msgspec.json.Decoder(Exchange)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What was wrong with a provider when it was asked last."""

    trouble: Trouble
    sentence: str
    """For a person; in it what the provider said."""


@dataclass(frozen=True, kw_only=True)
class News:
    """What came to a log."""

    crowded: int = 0
    """Answers that say that fewer sessions at once would help."""
    answered: bool = False
    """Whether a model gave a whole answer."""


class Refusals:
    """The logs of several runs, each read from where it was read to."""

    def __init__(self) -> None:
        self._read: dict[Path, int] = {}

    def new(self, run: Path) -> News:
        """What came to a run's log since this was asked last."""
        path = run / LOG
        start = self._read.get(path, 0)
        try:
            data = read_first(path, _MOST, start)
        except OSError:
            return News()
        whole, end, _ = data.rpartition(b"\n")
        # A line that fills all that is read at once is none of ours.
        skipped = len(data) if not end and len(data) == _MOST else len(whole) + len(end)
        self._read[path] = start + skipped
        exchanges = list(_exchanges(whole))
        troubles = (trouble(one) for one in exchanges)
        return News(
            crowded=sum(1 for one in troubles if one is not None and one.crowded),
            answered=any(
                one.model_request and one.outcome is Outcome.COMPLETE for one in exchanges
            ),
        )


def failure(run: Path, provider: str) -> Failure | None:
    """What the last answer of a run's log says is wrong with its provider; None for nothing."""
    last = _last(run)
    found = None if last is None else trouble(last)
    if last is None or found is None:
        return None
    return Failure(trouble=found, sentence=one_line(sentence(last, provider))[:MOST_SHOWN])


def answered(run: Path) -> bool:
    """Whether the last answer of a run's log is a whole one of a model."""
    last = _last(run)
    return last is not None and last.outcome.answered


def _last(run: Path) -> Exchange | None:
    """The last exchange with a model that says something of its provider."""
    path = run / LOG
    try:
        data = read_first(path, _MOST, max(0, path.lstat().st_size - _MOST))
    except OSError:
        return None
    answers = (one for one in _exchanges(data) if one.outcome.of_provider)
    last = deque((one for one in answers if one.model_request), maxlen=1)
    return last[0] if last else None


def _exchanges(lines: bytes) -> Iterator[Exchange]:
    for line in lines.splitlines():
        try:
            yield _DECODER.decode(line)
        except msgspec.DecodeError:
            # The end of a line whose beginning was not read, or nothing of the proxy's.
            continue
