"""Words in a source: what is said to its judge, and whose licence stands in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from kbsite.alarms.kinds import alarm, shown
from kbsite.alarms.python.module import rows_of
from kbsite.alarms.python.reading import Reading
from kbsite.late import late
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

LONGEST: Final = 2_000
"""Characters of a line; what is longer nobody wrote for a reader."""

_JUDGE: Final = late(
    r"""(?ix)
    \b(note|message|attention|hello|hi|instructions?)\s+(to|for)\s+(the\s+|any\s+|all\s+)?
        (\w+\s+)?(auditor|reviewer|judge|grader|evaluator|reviewing|model|llm|ai
        |assistant)s?\b
    | \b(dear|hello|hi)\s+(auditor|reviewer|judge|grader|evaluator|model|llm|assistant)s?\b
    | ^\W*(auditor|reviewer|judge|grader|evaluator|llm|assistant|system)s?\s*[:,]
    | \b(ignore|disregard|forget)\s+(all\s+|any\s+|the\s+|your\s+)*(previous|prior|above|earlier)
        \s+(instructions?|rules?|prompts?)
    | \bverdict\s*(:|=|is|must\s+be|should\s+be)\s*["']?(clean|pass|ok|legit)
    | \b(must|should|do|need)\s+not\s+(be\s+)?(flag|report|mention|penali[sz]e|reject|mark)
        (ged|ed)?\b
    | \b(mark|rate|classify|report|grade|score)\s+(this|it|the\s+solution)\s+(as\s+)?(clean|pass|
        correct|valid|legit|honest)
    | \b(pre-?)?(approved|verified|exempt(ed)?|whitelisted|cleared)\s+(by|from)
        \s+(the\s+)?(\w+'?s?\s+)?
        (auditor|maintainer|benchmark|grader|reviewer|organi[sz]er|rule|precision\s+rule|check)s?
    | \bas\s+an?\s+(ai|llm)\s+(auditor|reviewer|judge|grader)
    """
)
_LICENCE: Final = late(
    r"(?i)SPDX-License-Identifier|copyright\s*(\(c\)|©|\d{4})|licensed under|all rights reserved"
    r"|permission is hereby granted|\bvendored from\b"
)
_TAKEN: Final = late(
    r"(?i)\b(vendored|copied|taken|adapted|ported|borrowed|lifted|extracted|based on|verbatim)\b"
    r"[^\n]{0,40}\b(from|on)?\b[^\n]{0,20}\b(flash[-_ ]?(attn|attention|infer|linear)|fla\b|vllm"
    r"|xformers|cutlass example|sglang|deepgemm|thunderkittens|liger|unsloth|apex|megablocks"
    r"|bitsandbytes|marlin|tensorrt|torchao|exllama|github\.com)"
)
_WORDS: Final = (
    "audit", "review", "judge", "grader", "evaluator", "llm", "assistant", "instruction", "prompt",
    "rule", "verdict", "flag", "report", "mention", "penali", "reject", "mark", "approved",
    "verified", "exempt", "whitelisted", "cleared", " ai", " model", "system", "grade", "score",
    "classify", "rate this", "rate it", "rate the",
)  # fmt: skip
"""One of these is in every line that says something to its judge."""

_LICENCES: Final = (
    "spdx", "copyright", "licen", "rights reserved", "permission", "vendored", "copied", "taken",
    "adapted", "ported", "borrowed", "lifted", "extracted", "based on", "verbatim",
)  # fmt: skip


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of what a source says to its judge, and of licences of others in it."""
    yield from worded(reading.file, reading.module.source.text)


def worded(file: str, text: str) -> Iterator[Alarm]:
    """Alarms of the words of a source, in whatever language it is written."""
    rows = rows_of(text)
    lowered = [row.lower() for row in rows]
    for number in _rows_with(lowered, _WORDS):
        if len(rows[number]) <= LONGEST and _JUDGE.search(rows[number]):
            says = f"A line speaks to whoever judges the solution: `{shown(rows[number].strip())}`."
            yield alarm("addressed-auditor", ALARM, says, file, (number + 1,))
    for number in _rows_with(lowered, _LICENCES):
        if len(rows[number]) <= LONGEST and _is_of_others(rows[number]):
            says = f"The source says that it is of others: `{shown(rows[number].strip())}`."
            yield alarm("third-party-kernel", WARNING, says, file, (number + 1,))
            return


def _rows_with(rows: list[str], words: tuple[str, ...]) -> list[int]:
    """The numbers of the lines that hold one of these words, from 0."""
    text = "\n".join(rows)
    ends = list(accumulate(len(row) + 1 for row in rows))
    found: set[int] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            row = bisect_right(ends, at)
            found.add(row)
            at = text.find(word, ends[row])
    return sorted(found)


def _is_of_others(line: str) -> bool:
    return bool(_LICENCE.search(line) or _TAKEN.search(line))
