"""What an answer told of itself: the model, why it stopped, what it used, what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from kbsite.model.usage import Usage

MOST_TOKENS: Final = 1_000_000_000
"""A larger figure, or one below 0, counts as unknown: nobody sends that."""


@dataclass
class Told:
    """Filled in as events of an answer come."""

    model: str | None = None
    stop: str | None = None
    cut: bool = False
    """Whether `stop` is a limit of tokens."""
    error: str | None = None
    usage: Usage = field(default_factory=Usage)

    def used(
        self,
        *,
        input: Any = None,  # noqa: A002 - as in Usage
        cache_read: Any = None,
        cache_write: Any = None,
        cache_write_1h: Any = None,
        output: Any = None,
        reasoning: Any = None,
    ) -> None:
        """Take over figures that are told; those told before stay where nothing new is.

        What is no figure is not told: whoever writes one so has said all else right.
        """
        given = {
            "input": input, "cache_read": cache_read, "cache_write": cache_write,
            "cache_write_1h": cache_write_1h, "output": output, "reasoning": reasoning,
        }  # fmt: skip
        counts = {name: count_of(told) for name, told in given.items()}
        known = {name: count for name, count in counts.items() if _is_count(count)}
        self.usage = replace(self.usage, **known)

    def stopped(self, reason: str | None, *, limits: tuple[str, ...]) -> None:
        """Take over why the model stopped; nothing where None is given."""
        if reason:
            self.stop = reason
            self.cut = reason in limits


def count_of(told: Any) -> int | None:
    """A whole number, also where it is written with a point; None for whatever else is there."""
    if isinstance(told, float) and told.is_integer():
        return int(told)
    return told if isinstance(told, int) and not isinstance(told, bool) else None


def _is_count(count: int | None) -> bool:
    return count is not None and 0 <= count <= MOST_TOKENS


def less(all_of_it: Any, *parts: Any) -> int | None:
    """A count without parts of it, at least 0; None where it is unknown."""
    whole = count_of(all_of_it)
    if whole is None:
        return None
    return max(0, whole - sum(count_of(part) or 0 for part in parts))
