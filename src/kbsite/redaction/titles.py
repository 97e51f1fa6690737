"""What rules are called, and which of them a strict build fails on."""

from __future__ import annotations

from typing import Final

from kbsite.redaction.gates import RULES

ARCHIVE: Final = "archive"
"""The rule that withholds an archive in which something is to be hidden."""

CROWDED: Final = "crowded"
"""The rule that hides what is made to fit the rules everywhere."""

DENIED: Final = "denied"
SEEN: Final = "seen-elsewhere"

KNOWN: Final = frozenset((ARCHIVE, CROWDED, DENIED, SEEN, *(rule.id for rule in RULES)))
"""The ids of all rules."""


def title(rule: str) -> str:
    """What a rule hides, in words."""
    own = {
        DENIED: "value of the list of the site",
        SEEN: "what a rule found elsewhere in the run",
        CROWDED: "lines and strings so full of what rules find that they are hidden whole",
        ARCHIVE: "archive, picture, or text in UTF-16 that holds something to be hidden, or that "
        "nobody can look into",
    }
    return own.get(rule) or next((one.title for one in RULES if one.id == rule), rule)


def must_not_happen(rule: str) -> bool:
    """Whether a strict build fails on what a rule finds."""
    return rule in (DENIED, SEEN, CROWDED) or any(r.id == rule and r.must_not_happen for r in RULES)
