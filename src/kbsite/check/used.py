"""Checks that a run used the tokens that its proxy or transcript counted, and cost as much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import reduce

import msgspec
from msgspec import Struct

from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding, Severity
from kbsite.model.price import estimate
from kbsite.model.run import Run
from kbsite.model.usage import BY_MESSAGE, OWN_TOTAL, Usage, total
from kbsite.regular import LIMIT_BYTES
from kbsite.store.files import Stored
from kbsite.store.prices import PRICES
from kbsite.store.run_folders import RUN
from kbsite.store.runs import StoredRun

PROXY = "proxy.jsonl"
"""The account of what a CLI asked of its provider, an exchange a line."""

ALL_WRITTEN = 1000
"""Exchanges up to which each has its line; of more, some kinds may only be counted."""

ANSWERED = ("complete", "cut")
"""How exchanges end in which a whole answer came."""

REFUSED = "refused"
"""How those end that went to no provider."""

ROUNDING = 1e-6
"""US dollars that a cost is rounded to."""

_COUNTED = re.compile(rf"{re.escape(PROXY)}: (\d{{1,9}}) exchanges?\b")
"""How run.json says that its tokens are those of so many exchanges."""

_KINDS = tuple(one.name for one in fields(Usage))


class _Exchange(Struct):
    """What counts of a line."""

    outcome: str
    usage: Usage
    model_request: bool

    @property
    def of_model(self) -> bool:
        """Whether a model was asked."""
        return self.model_request and self.outcome != REFUSED


class _Account(Struct):
    """What the lines come to."""

    lines: int = 0
    answers: int = 0
    usage: Usage = Usage()

    def with_line(self, one: _Exchange) -> _Account:
        """The same with one more line."""
        if not one.of_model:
            return _Account(self.lines + 1, self.answers, self.usage)
        answered = self.answers + (one.outcome in ANSWERED)
        return _Account(self.lines + 1, answered, total([self.usage, one.usage]))


def account_findings(stored: StoredRun) -> Iterator[Finding]:
    """Where run.json tells other tokens than the lines of proxy.jsonl that it names come to."""
    file = stored.file(PROXY)
    said = _COUNTED.match(stored.run.usage_source or "")
    if file is None or said is None:
        return
    try:
        found = reduce(_Account.with_line, _lines(file), _Account())
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        yield Finding(Severity.ERROR, str(file.path), f"cannot be counted: {error}")
        return
    except OSError:
        return  # told where the manifest is held against the files
    remarks = Remarks(stored.folder / RUN)
    exchanges = int(said[1])
    _hold(remarks, "usage_source", exchanges, found.lines, whole=exchanges <= ALL_WRITTEN)
    _counts(remarks, stored.run, found, whole=exchanges <= ALL_WRITTEN)
    yield from remarks.findings()


def _counts(remarks: Remarks, run: Run, found: _Account, *, whole: bool) -> None:
    for kind in _KINDS:
        told, counted = getattr(run.usage, kind), getattr(found.usage, kind)
        _hold(remarks, f"usage.{kind}", told, counted, whole=whole)
    if run.answers is not None:
        _hold(remarks, "answers", run.answers, found.answers, whole=whole)


def _hold(
    remarks: Remarks, key: str, told: int | None, counted: int | None, *, whole: bool
) -> None:
    """Say where a count is not that of the lines, or less than that where not all have one."""
    if (told or 0) < (counted or 0) or (whole and told != counted):
        remarks.error(key, f"{PROXY} comes to {counted}, not {told}")


def _lines(file: Stored) -> Iterator[_Exchange]:
    with file.open() as stream:
        while line := stream.readline(LIMIT_BYTES + 1):
            if len(line) > LIMIT_BYTES:
                raise ValueError(f"a line is longer than {LIMIT_BYTES} bytes")
            if line.strip():
                yield msgspec.json.decode(line, type=_Exchange)


def cost_findings(stored: StoredRun, there: Known) -> Iterator[Finding]:
    """Where a run's cost is not what its tokens cost by the price that it names.

    Of a price that was looked up again since nothing is said: the one of then is not kept.
    """
    run = stored.run
    price = estimate(run.usage, run.model, run.day, there.prices)
    if run.cost_usd is None or price is None:
        return
    if not (run.cost_source or "").startswith(f"{PRICES} ({price.price.stated}) "):
        return
    if abs(float(price.usd) - run.cost_usd) > ROUNDING:
        remarks = Remarks(stored.folder / RUN)
        remarks.error("cost_usd", f"its tokens cost {float(price.usd):.6f} by {PRICES}")
        yield from remarks.findings()


def transcript_usage_findings(stored: StoredRun, counted: Usage) -> Iterator[Finding]:
    """Where run.json tells other tokens than its transcript comes to, if they are from there."""
    source = stored.run.usage_source or ""
    if f": {OWN_TOTAL}" not in source and f": {BY_MESSAGE}" not in source:
        return
    remarks = Remarks(stored.folder / RUN)
    for kind in _KINDS:
        told, found = getattr(stored.run.usage, kind), getattr(counted, kind)
        if told is None and not found and kind == "cache_write_1h":
            continue  # run.json is older than this kind, and lacks nothing
        if told != found:
            # Who wrote run.json may have read the transcript with another version.
            what = "tells none" if found is None else f"comes to {found}"
            expected = "null" if told is None else told
            remarks.warn(f"usage.{kind}", f"the transcript {what}, not {expected}")
    yield from remarks.findings()
