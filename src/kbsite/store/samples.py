"""samples.jsonl: raw timing samples, one line a round and shape, read one line at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import IO

import msgspec
from msgspec import Struct

from kbsite.model.finding import Finding, Severity
from kbsite.model.samples import Samples, Spread
from kbsite.regular import LIMIT_BYTES
from kbsite.store.files import Stored
from kbsite.store.parsing import InvalidFileError, invalid, json_data
from kbsite.store.records import record
from kbsite.store.runs import as_findings

SAMPLES = "samples.jsonl"
CLOCKS = ("ms", "event_ms", "wall_ms", "slope_ms", "event_slope_ms", "overhead_ms")
"""Keys of a line that hold times."""

DRAWN = 40
"""Samples of a round and shape that are kept to be drawn."""

MOST_SPREADS = 2000
"""Rounds and shapes that are read; what stands behind them is not."""

MOST_BYTES = 100_000_000
"""Bytes of a file that are read."""

MOST_LINES = 100_000
"""Lines that are read, whatever is in them."""

MOST_FINDINGS = 20
"""Lines that are named as wrong; more are counted."""

MOST_EXPLAINED = 50_000
"""Bytes of a wrong line from which what is wrong with it is told in the words of the decoder."""


class ReadSamples(Struct, frozen=True):
    """What a file of samples says."""

    spreads: tuple[Spread, ...]
    """By shape in the order of the file, then by round."""
    findings: tuple[Finding, ...]
    """Lines that could not be read, and what was left out."""

    @property
    def rounds(self) -> int:
        """How many rounds there were, of whatever shape."""
        return len({spread.round for spread in self.spreads})

    @property
    def shapes(self) -> int:
        """How many shapes were measured."""
        return len({spread.shape for spread in self.spreads})


def read_samples(file: Stored, each: Callable[[Samples], object] | None = None) -> ReadSamples:
    """The samples of a run's file; what is wrong with it is named, and never stops a build.

    `each` is handed all samples of a line, which may be far more than what is kept of it.
    """
    spreads: list[Spread] = []
    findings: list[Finding] = []
    wrong, size = 0, 0
    with file.open() as stream:
        for number, line in _lines(stream):
            size += len(line)
            if len(spreads) >= MOST_SPREADS or size > MOST_BYTES or number > MOST_LINES:
                message = f"what stands from line {number} on is not read: there is too much of it"
                findings.append(Finding(Severity.WARNING, str(file.path), message, number))
                break
            try:
                samples = _line(file, line, explain=wrong < MOST_FINDINGS)
            except InvalidFileError as error:
                wrong += 1
                if wrong <= MOST_FINDINGS:
                    findings += [replace(one, line=number) for one in as_findings(error)]
                continue
            if samples is not None:
                spreads.append(spread(samples))
                if each is not None:
                    each(samples)
    if wrong > MOST_FINDINGS:
        message = f"{wrong - MOST_FINDINGS} more lines cannot be read"
        findings.append(Finding(Severity.ERROR, str(file.path), message))
    findings += _twice(file, spreads)
    return ReadSamples(tuple(_ordered(spreads)), tuple(findings))


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; of one that is too long, one byte more than fits."""
    number = 0
    while line := stream.readline(LIMIT_BYTES + 1):
        number += 1
        yield number, line
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(LIMIT_BYTES)


def _line(file: Stored, line: bytes, *, explain: bool) -> Samples | None:
    """The samples of a line; None of one that is blank."""
    if not line.strip():
        return None
    if len(line) > LIMIT_BYTES:
        raise invalid(f"expected a line of at most {LIMIT_BYTES} bytes", file.path)
    samples = _samples(file, line, explain=explain)
    if not samples.ms:
        raise invalid("expected at least one time", file.path, key="ms")
    for key in CLOCKS:
        if not all(map(math.isfinite, getattr(samples, key))):
            raise invalid("expected finite times", file.path, key=key)
    for key, late in (("late_ms", samples.late_ms), ("delay_ms", samples.delay_ms)):
        if not 0 <= late < math.inf:
            raise invalid("expected 0 or more milliseconds", file.path, key=key)
    if not 0 <= samples.drift < 1:
        raise invalid("expected a share from 0 up to 1", file.path, key="drift")
    # A difference of two times can come out below 0, a time that was read off a clock cannot.
    if samples.time_ms <= 0 or (not samples.clocks and min(samples.ms) <= 0):
        raise invalid("expected times of more than 0", file.path, key="ms")
    return samples


def _samples(file: Stored, line: bytes, *, explain: bool) -> Samples:
    try:
        return msgspec.json.decode(line, type=Samples)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        # What explains best takes seconds for a megabyte, and nobody reads it of lines not named.
        if not explain or len(line) > MOST_EXPLAINED:
            raise invalid(str(wrong), file.path) from wrong
        # Read once more, slowly, by what can say what is wrong.
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise invalid("expected UTF-8 text", file.path) from error
        return record(json_data(file.path, text), Samples, file.path, text)


def spread(samples: Samples) -> Spread:
    """The numbers that stand for samples, of which there is at least one."""
    ordered = sorted(samples.ms)
    size = len(ordered)
    most = min(size, DRAWN)
    places = [number * (size - 1) // max(1, most - 1) for number in range(most)]
    return Spread(
        round=samples.round,
        shape=samples.shape,
        count=size,
        least=ordered[0],
        median=median(ordered),
        p90=ordered[math.ceil(size * 0.9) - 1],
        most=ordered[-1],
        time=samples.time_ms,
        clocks=samples.clocks,
        single=len(samples.event_ms),
        batches=len(samples.slope_ms),
        drawn=tuple(ordered[place] for place in places),
    )


def _ordered(spreads: Sequence[Spread]) -> list[Spread]:
    shapes = {spread.shape: number for number, spread in reversed(list(enumerate(spreads)))}
    return sorted(spreads, key=lambda spread: (shapes[spread.shape], spread.round))


def _twice(file: Stored, spreads: Sequence[Spread]) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for one in spreads:
        if (one.shape, one.round) in seen:
            message = f"round {one.round} of shape {one.shape[:80]!r} is there twice"
            yield Finding(Severity.WARNING, str(file.path), message)
            return
        seen.add((one.shape, one.round))
