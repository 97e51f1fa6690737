"""What a CLI that died at its start wrote last: nobody else knows why."""

from __future__ import annotations

import re
from pathlib import Path

from kbsite.model.colours import without_colours
from kbsite.model.finding import one_line, short
from kbsite.regular import end_of

_MOST_BYTES = 16_384
_ERROR = re.compile(r"(?:\w*(?:Error|Exception)\b|error:|fatal:|panic)")


def last_words(log: Path) -> str:
    """The last line of a log that tells an error, else its last one, shortened; empty for none.

    Node ends with its version, and Python with what was raised.
    """
    try:
        text = end_of(log, _MOST_BYTES)
    except OSError:
        return ""
    lines = [one.strip() for one in without_colours(text).splitlines() if one.strip()]
    errors = [one for one in lines if _ERROR.match(one)]
    found = errors or lines
    return short(one_line(found[-1])) if found else ""
