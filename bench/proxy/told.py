"""What an answer told of itself: the model, why it stopped, what it used, what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

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
        input: int | None = None,  # noqa: A002 - as in Usage
        cache_read: int | None = None,
        cache_write: int | None = None,
        output: int | None = None,
        reasoning: int | None = None,
    ) -> None:
        """Take over figures that are told; those told before stay where nothing new is."""
        given = {
            "input": input, "cache_read": cache_read, "cache_write": cache_write,
            "output": output, "reasoning": reasoning,
        }  # fmt: skip
        known = {name: count for name, count in given.items() if _is_count(count)}
        self.usage = replace(self.usage, **known)

    def stopped(self, reason: str | None, *, limits: tuple[str, ...]) -> None:
        """Take over why the model stopped; nothing where None is given."""
        if reason:
            self.stop = reason
            self.cut = reason in limits


def _is_count(count: int | None) -> bool:
    return count is not None and 0 <= count <= MOST_TOKENS


def less(all_of_it: int | None, *parts: int | None) -> int | None:
    """A count without parts of it, at least 0; None where it is unknown."""
    if all_of_it is None:
        return None
    return max(0, all_of_it - sum(part for part in parts if part is not None))
