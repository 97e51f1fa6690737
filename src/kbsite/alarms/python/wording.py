"""Words in a source: what is said to its judge, and whose licence stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import alarm, shown
from kbsite.alarms.python.reading import Reading
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_JUDGE: Final = re.compile(
    r"""(?ix)
    \b(note|message|attention|dear|hello|hi|instructions?)\s+(to|for)\s+(the\s+|any\s+|all\s+)?
        (\w+\s+)?(auditor|reviewer|judge|grader|evaluator|reviewing|model|llm|ai
        |assistant)s?\b
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
_LICENCE: Final = re.compile(
    r"(?i)SPDX-License-Identifier|copyright\s*(\(c\)|©|\d{4})|licensed under|all rights reserved"
    r"|permission is hereby granted|\bvendored from\b"
)
_TAKEN: Final = re.compile(
    r"(?i)\b(vendored|copied|taken|adapted|ported|borrowed|lifted|extracted|based on|verbatim)\b"
    r"[^\n]{0,40}\b(from|on)?\b[^\n]{0,20}\b(flash[-_ ]?(attn|attention|infer|linear)|fla\b|vllm"
    r"|xformers|cutlass example|sglang|deepgemm|thunderkittens|liger|unsloth|apex|megablocks"
    r"|bitsandbytes|marlin|tensorrt|torchao|exllama|github\.com)"
)
_WORDS: Final = (
    "audit", "review", "judge", "grader", "evaluator", "llm", "assistant", "instruction", "prompt",
    "rule", "verdict", "flag", "report", "mention", "penali", "reject", "mark", "approved",
    "verified", "exempt", "whitelisted", "cleared", " ai", "model:", "model,", "system",
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
    licences: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 2_000:
            continue
        lowered = line.lower()
        if any(word in lowered for word in _WORDS) and _JUDGE.search(line):
            says = f"A line speaks to whoever judges the solution: `{shown(line.strip())}`."
            yield alarm("addressed-auditor", ALARM, says, file, (number,))
        if any(word in lowered for word in _LICENCES) and _is_of_others(line):
            licences.append(number)
    if licences:
        first = text.splitlines()[licences[0] - 1].strip()
        says = f"The source says that it is of others: `{shown(first)}`."
        yield alarm("third-party-kernel", WARNING, says, file, (licences[0],))


def _is_of_others(line: str) -> bool:
    return bool(_LICENCE.search(line) or _TAKEN.search(line))
