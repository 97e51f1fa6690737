"""What pages share: made once for all that see it from the same place."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup


def made_once() -> Callable[..., Markup]:
    """Gives what a `call` block of a template holds, made once for each name and place.

    What it holds may hang on nothing but the site and the place that addresses are seen from: the
    next page gets the same.
    """
    made: dict[tuple[str, str], Markup] = {}

    def held(name: str, seen_from: str, caller: Callable[[], Markup]) -> Markup:
        if (name, seen_from) not in made:
            made[name, seen_from] = caller()
        return made[name, seen_from]

    return held
