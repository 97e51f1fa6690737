"""How many of something there are, in words."""

from __future__ import annotations


def number_of(count: int, what: str, several: str | None = None) -> str:
    """How many of something: "1 run", "1,203 runs"; `several` is what it is called where s is not.

    All that counts for a person is to say it so, on pages and on command lines.
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {several or what + 's'}"
