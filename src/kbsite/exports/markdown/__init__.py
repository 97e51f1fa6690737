"""A run as compact Markdown, for people and agents: facts, verdict, grade, then every step.

Texts are whole up to a bound; beyond it, and in outputs much sooner, the middle is left out with
a count of what is missing, and the file says at its top how much that is. Whatever comes from a
run stands between fences longer than any within it, so that it cannot pass for a heading.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kbsite.exports.markdown.excerpts import Left
from kbsite.exports.markdown.facts import head
from kbsite.exports.markdown.fences import code
from kbsite.exports.markdown.transcript import steps
from kbsite.model.board import Attempt
from kbsite.model.proof import Proof
from kbsite.model.transcript import Transcript

__all__ = ["page"]


def page(
    told: Transcript | None, attempt: Attempt, proofs: Sequence[Proof] = (), canary: str = ""
) -> Iterator[str]:
    """The whole file, in pieces that end in line ends: a transcript is never one text.

    `proofs` are those of the audit's quotes; a quote that is not proven by one says so. `canary`
    is the GUID of the site's canary.
    """
    left = Left()
    body = _body(told, left)
    for line in chain(
        head(told, attempt, proofs, canary), _left(told, left), ["", "## Steps", ""], body
    ):
        yield f"{line}\n"


def _body(told: Transcript | None, left: Left) -> Iterable[str]:
    """The steps; what they leave out stands before them, and is in `left` at once."""
    if told is None:
        return ["There is no transcript of this run."]
    if not told.aside:
        return list(steps(told, left))
    # They may be larger than memory should be: they are made once more when they are written.
    deque(steps(told, left), maxlen=0)
    return steps(told, Left())


def _left(told: Transcript | None, left: Left) -> Iterator[str]:
    """What the file leaves out."""
    if told is None:
        return
    parts = {
        f"{left.characters:,} characters of long texts and outputs, in {left.places:,} places": (
            left.characters
        ),
        f"{left.rows:,} rows of bookkeeping": left.rows,
        f"{left.pictures:,} pictures": left.pictures,
    }
    named = "; ".join(part for part, number in parts.items() if number) or "no row and no text"
    yield from ["", "## Left out", ""]
    yield f"Left out here: {named}; and the CLI's own richer copies of results."
    yield f"All of it is in raw/transcript/: {', '.join(code(name) for name in told.files)}."
    yield "Each step is headed by its number, its place (an anchor of the run's page) and the time."
