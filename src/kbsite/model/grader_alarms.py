"""What our own grader has an auditor look at in a grade, as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import geometric_mean

from kbsite.model.grade import ShapeMetrics

SENTENCE = 300
"""Characters of a sentence that is passed on, and of what is told of several shapes at once."""

SUSPECT = 0.9
"""A fraction above this asks whether the vendor's library gets there too."""

PARITY = 0.05
"""How much faster than the library floor may be without being suspect, as a share."""

DRIFT = 0.02
"""By how much what a machine reaches changes within a day, as a share."""


def alarms(shapes: Sequence[ShapeMetrics], library_fraction: float | None) -> list[str]:
    """Those of fractions that are too good; of single shapes first.

    `library_fraction` is the peak_fraction of the library floor of this problem and hardware.
    """
    return [*shape_alarms(shapes), *_without_parity(shapes, library_fraction)]


def shape_alarms(shapes: Iterable[ShapeMetrics]) -> Iterator[str]:
    """Those that follow from the figures of the grade alone; each begins with its shape."""
    held = list(shapes)
    for shape in held:
        if shape.peak_fraction is not None and shape.peak_fraction > 1:
            yield (
                f"{shape.shape}: {shape.peak_fraction:.3f} of the ceiling ({shape.bound_by}), more "
                "than its figures allow: the work is counted too high, the peak stated too low, or "
                "the time is wrong."
            )
    for shape in held:
        reached = shape.achievable_fraction
        if reached is not None and reached > 1 + DRIFT and (shape.peak_fraction or 0) <= 1:
            yield (
                f"{shape.shape}: faster than this machine was measured at, {reached:.3f} of its "
                "anchors: either these were measured while it was slower, or less work was done."
            )


def _without_parity(shapes: Iterable[ShapeMetrics], library: float | None) -> list[str]:
    """The sentence on a fraction so high that a vendor's library should reach it too."""
    each = [shape.peak_fraction for shape in shapes if shape.peak_fraction]
    whole = geometric_mean(each) if each else 0.0
    if whole <= SUSPECT or (library is not None and whole <= library * (1 + PARITY)):
        return []
    said = (
        "no library floor was graded here" if library is None
        else f"the library floor here reaches {library:.3f}"
    )  # fmt: skip
    return [f"{whole:.3f} of the ceiling over all shapes, but {said}: look at what it computes."]


def own_file_alarm(name: str) -> str:
    """The sentence on a file of the run that is called like one of its problem's."""
    return (
        f"The run has a {name.rpartition('/')[2]} of its own ({name}), which is not the problem's; "
        "it was graded on the true one."
    )


_FIGURE = re.compile(r"\d+\.\d+")


def gathered(sentences: Iterable[str], longest: int) -> list[str]:
    """The sentences, with those that say the same of several shapes told as one.

    "a: 1.2 of it." and "b: 1.3 of it." become "a and b: 1.2 and 1.3 of it.". None gets longer than
    `longest` by that: those that it has no room for are told by another one.
    """
    found: dict[tuple[bool, str], list[list[tuple[str, str]]]] = {}
    for sentence in sentences:
        shape, colon, said = sentence.partition(": ")
        # One that is too long is not looked at: a run can say anything, of any length.
        figures = _FIGURE.findall(said) if colon and len(sentence) <= longest else []
        whole = len(figures) != 1
        groups = found.setdefault((whole, sentence if whole else _FIGURE.sub(_PLACE, said)), [])
        one = (sentence, "") if whole else (shape, figures[0])
        if not whole and groups and len(_as_one(said, [*groups[-1], one])) <= longest:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [_as_one(said, group) for (_, said), groups in found.items() for group in groups]


_PLACE = "0.0"
"""What stands in the place of a figure, where sentences are held against each other."""


def _as_one(said: str, group: Sequence[tuple[str, str]]) -> str:
    """What is said of some shapes, each with its figure; of a sentence without any, itself."""
    if not group[0][1]:
        return group[0][0]
    shapes, figures = (_listed([one[at] for one in group]) for at in (0, 1))
    return f"{shapes}: {_FIGURE.sub(figures, said)}"


def _listed(words: Sequence[str]) -> str:
    """Words in a row: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
