"""Reviews: a thread of its own looks at changes, and the thread that asked for it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kbsite.harnesses.lines import count, dump, mapping, number, sequence, text

_ASKED = ("instructions", "branch", "sha", "title", "type")
_KNOWN = frozenset({
    "findings", "overall_correctness", "overall_explanation", "overall_confidence_score",
})  # fmt: skip


class Reviews(Struct):
    """Whether a review is under way, whose rows stand among those of the thread that asked."""

    elsewhere: frozenset[str] = frozenset()
    """The threads that other files are of."""
    under_way: bool = False


def begins(held: Mapping[str, object]) -> str:
    """What a review is of."""
    target = mapping(held.get("target"))
    asked = [text(held.get("user_facing_hint")), *(text(target.get(key)) for key in _ASKED)]
    what = next(filter(None, asked), "")
    return f"A review begins: {what}" if what else "A review begins."


def ends(held: Mapping[str, object]) -> str:
    """What came of a review."""
    output = held.get("review_output")
    review = mapping(output)
    if not review:
        return "The review ended without a result." if output is None else text(output)
    return "\n\n".join(["The review ended.", *filter(None, _told(review))])


def _told(review: Mapping[str, object]) -> Iterator[str]:
    verdict = text(review.get("overall_correctness"))
    sure = number(review.get("overall_confidence_score"))
    yield f"{verdict} (confidence {sure:g})" if verdict and sure else verdict
    yield text(review.get("overall_explanation"))
    for finding in map(mapping, sequence(review.get("findings"))):
        head = " ".join(filter(None, [text(finding.get("title")), _place(finding)]))
        yield "\n".join(filter(None, [head, text(finding.get("body"))])) or dump(finding)
    rest = {key: value for key, value in review.items() if key not in _KNOWN}
    yield dump(rest) if rest else ""


def _place(finding: Mapping[str, object]) -> str:
    place = mapping(finding.get("code_location"))
    lines = mapping(place.get("line_range"))
    named = [text(place.get("absolute_file_path"))]
    named += [str(line) for key in ("start", "end") if (line := count(lines.get(key))) is not None]
    return f"({':'.join(named[:2])}{'-' + named[2] if len(named) > 2 else ''})" if named[0] else ""
