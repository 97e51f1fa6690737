"""The text that an auditor starts from: what is known, and what each key means."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from kbsite.auditing.drafts import TOLD
from kbsite.model.alarm import Alarm
from kbsite.model.audit import Effect, Measurement, Provenance, Validity, Verdict
from kbsite.model.finding import one_line
from kbsite.store.yaml_edits import document

WIDTH = 96
ALARMS = 50
"""Alarms that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is known of an audit before its auditor has written anything."""

    run_id: str
    told: str
    """Whose run it is, on what, with which score; a sentence."""
    alarms: tuple[Alarm, ...]
    verdict: Verdict | None = None
    summary: str = ""
    implication: str = ""
    auditor: str
    date: date


def template(start: Start) -> str:
    """The text of a new draft."""
    return "".join(f"{line}\n" for line in _lines(start))


def _lines(start: Start) -> Iterator[str]:
    yield from _told(f"Audit of {start.run_id}: {start.told}")
    yield from _told(
        "A draft until its summary is written and nothing is wrong with it. Save and close it, or"
        f" go on later by `kbsite audit new {start.run_id}`. Lines with {TOLD} are not kept."
    )
    yield from _alarms(start.alarms)
    yield TOLD
    for verdict in Verdict:
        counts = "counts" if verdict.effect is Effect.COUNTS else "does not count"
        yield from _told(f"{verdict.value:<12} {verdict.sentence} ({counts})", 13)
    yield f"verdict: {start.verdict.value if start.verdict else ''}".rstrip()
    yield from _told("For a reader of the board, at most 60 words; no figures, no names.")
    yield from _prose("summary", start.summary)
    yield from _told("What follows from it; needed unless the verdict is clean.")
    yield from _prose("implication", start.implication)
    yield document({"auditor": start.auditor}, {}).removesuffix("\n")
    yield f"date: {start.date.isoformat()}"
    yield from _told("Only what you judged; without them, the verdict says what it does:")
    for key, values in (
        ("effect", Effect), ("validity", Validity), ("measurement", Measurement),
        ("provenance", Provenance),
    ):  # fmt: skip
        yield f"{TOLD} {key}: {' or '.join(one.value for one in values)}"
    yield f"{TOLD} leak: the id of a leak in kbsite.yaml, if it is an instance of one"
    yield from _told(
        f"Quotes: `kbsite audit quote {start.run_id} solution.py:12-20 --label LABEL` adds them"
        " here, proven; it needs the verdict above."
    )


def _told(text: str, indent: int = 0) -> Iterator[str]:
    head = f"{TOLD} "
    yield from textwrap.wrap(
        one_line(text), WIDTH, initial_indent=head, subsequent_indent=head + " " * indent,
        break_long_words=False, break_on_hyphens=False, replace_whitespace=False,
        drop_whitespace=True,
    )  # fmt: skip


def _alarms(alarms: tuple[Alarm, ...]) -> Iterator[str]:
    yield from [TOLD, f"{TOLD} Alarms, which are no verdict:"] if alarms else []
    for alarm in alarms[:ALARMS]:
        where = f"{alarm.level.value} {alarm.kind} {alarm.span}".rstrip()
        told = f"{where}: {alarm.saw} {alarm.look}"
        yield from _told(told, 4)
    if len(alarms) > ALARMS:
        yield f"{TOLD} and {len(alarms) - ALARMS} more"


def _prose(key: str, text: str) -> Iterator[str]:
    """A key with its text; an empty one ready to be written into, two columns in."""
    if text:
        yield document({key: text}, {}).removesuffix("\n")
    else:
        yield from [f"{key}: >-", "  "]
