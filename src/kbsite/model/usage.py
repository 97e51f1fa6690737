"""Tokens and money, in one set of kinds for every CLI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

OWN_TOTAL = "the CLI's own total"
BY_MESSAGE = "counted once per model message"
"""What is said of tokens that were counted in a run's transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens by kind. None where the CLI does not say; never 0 for unknown.

    The kinds do not overlap, but for `reasoning`, which is a part of `output`, and
    `cache_write_1h`, which is one of `cache_write`: a CLI that counts cached tokens within its
    input, or reasoning beside its output, is converted by its parser.
    """

    input: int | None = None
    """Tokens sent that no cache served."""
    cache_read: int | None = None
    """Tokens sent that came from the provider's cache."""
    cache_write: int | None = None
    """Tokens sent that were written into the provider's cache."""
    cache_write_1h: int | None = None
    """The part of `cache_write` that is kept for an hour; the rest for as long as is usual."""
    output: int | None = None
    """Tokens generated, reasoning included."""
    reasoning: int | None = None
    """The part of `output` that was reasoning."""

    def lacking(self, kinds: frozenset[str]) -> Usage:
        """The same, of which nothing is known of some kinds."""
        return replace(self, **dict.fromkeys(kinds)) if kinds else self

    @property
    def sent(self) -> int | None:
        """All tokens sent, cached or not; None where nothing is known."""
        held, read, written = self.input, self.cache_read, self.cache_write
        if held is None and read is None and written is None:
            return None
        return (held or 0) + (read or 0) + (written or 0)

    @property
    def tokens(self) -> int:
        """All tokens, sent and generated, as far as they are known."""
        return (self.sent or 0) + (self.output or 0)

    @property
    def known(self) -> bool:
        """Whether the CLI told anything at all."""
        return self != NOTHING


NOTHING = Usage()
"""What is known where nothing was told."""


def total(usages: Iterable[Usage]) -> Usage:
    """The sum, kind by kind; a kind that nobody tells stays None."""
    held = list(usages)
    if len(held) < 2:
        return held[0] if held else NOTHING
    return Usage(
        input=_sum([usage.input for usage in held]),
        cache_read=_sum([usage.cache_read for usage in held]),
        cache_write=_sum([usage.cache_write for usage in held]),
        cache_write_1h=_sum([usage.cache_write_1h for usage in held]),
        output=_sum([usage.output for usage in held]),
        reasoning=_sum([usage.reasoning for usage in held]),
    )


def without(whole: Usage, part: Usage) -> Usage:
    """What is left of a count where a part of it is counted elsewhere, kind by kind.

    Never below 0; a kind that the whole does not tell stays None.
    """
    return Usage(
        input=_less(whole.input, part.input),
        cache_read=_less(whole.cache_read, part.cache_read),
        cache_write=_less(whole.cache_write, part.cache_write),
        cache_write_1h=_less(whole.cache_write_1h, part.cache_write_1h),
        output=_less(whole.output, part.output),
        reasoning=_less(whole.reasoning, part.reasoning),
    )


def with_hours_of(told: Usage, counted: Usage) -> Usage:
    """A count that says what was written for an hour, as far as another of the same answers does.

    That is a part of what the count itself says was written. One with less does not hold it.
    """
    known, written = counted.cache_write_1h, told.cache_write
    if told.cache_write_1h is not None or known is None or written is None:
        return told
    return told if written < (counted.cache_write or 0) else replace(told, cache_write_1h=known)


def of_run(told: Usage, counted: Usage) -> Usage:
    """What is said of a run's tokens: what its transcript tells, else what was counted.

    Kinds that the CLI made up are unknown.
    """
    return told.lacking(made_up(told, counted)) if told.known else counted


def made_up(told: Usage, counted: Usage) -> frozenset[str]:
    """Kinds of which a CLI tells nothing that it knows, though it writes 0: nor does its provider.

    A kind that is 0 is such a one where `counted`, of the same answers, has tokens and none of it.
    """
    if counted.input is None:
        return frozenset()
    kinds = (one.name for one in fields(told))
    return frozenset(
        one for one in kinds if getattr(told, one) == 0 and getattr(counted, one) is None
    )


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None else max(0, whole - (part or 0))


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
