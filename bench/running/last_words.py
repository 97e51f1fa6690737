"""What a CLI that died at its start wrote last: nobody else knows why."""

from __future__ import annotations

import re
from pathlib import Path

from kbsite.model.finding import one_line, short

_MOST_BYTES = 16_384
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"(?:\w*(?:Error|Exception)\b|error:|fatal:|panic)")


def last_words(log: Path) -> str:
    """The last line of a log that tells an error, else its last one, shortened; empty for none.

    Node ends with its version, and Python with what was raised.
    """
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _MOST_BYTES))
            text = stream.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
    lines = [one.strip() for one in _COLOURS.sub("", text).splitlines() if one.strip()]
    errors = [one for one in lines if _ERROR.match(one)]
    found = errors or lines
    return short(one_line(found[-1])) if found else ""
