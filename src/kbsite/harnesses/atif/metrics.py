"""Token counts of a trajectory.

`prompt_tokens` includes what the cache served and, from newer converters, what was written to it.
Harbor's converter for Claude Code used to make several steps of one message and to give each the
message's whole count, and its own totals then count the message as often: such steps are counted
once here, and such totals are not believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from kbsite.harnesses.lines import count, dump, mapping, number, text
from kbsite.model.usage import Usage, total

Counts = Mapping[str, object]

_WRITTEN = ("cache_creation_input_tokens", "total_cache_creation_input_tokens")
_WRITTEN_1H = ("ephemeral_1h_input_tokens", "total_ephemeral_1h_input_tokens")
_REASONING = (
    "reasoning_tokens", "reasoning_output_tokens", "total_reasoning_tokens",
    "total_reasoning_output_tokens", "thoughts_tokens",
)  # fmt: skip


def usage(told: Counts, prefix: str = "", *, written_apart: bool = False) -> Usage:
    """A step's count, or with the prefix "total_" a trajectory's."""
    extra = mapping(told.get("extra"))
    prompt, cached = count(told.get(f"{prefix}prompt_tokens")), _cached(told, prefix)
    written, output = _first(extra, _WRITTEN), count(told.get(f"{prefix}completion_tokens"))
    reasoning, kept = _first(extra, _REASONING), {**mapping(extra.get("cache_creation")), **extra}
    if prompt is not None:
        within = (cached or 0) + (0 if written_apart else written or 0)
        prompt = max(prompt - within, 0)
    if reasoning is not None and (output is None or reasoning > output):
        reasoning = None
    return Usage(
        input=prompt, cache_read=cached, cache_write=written,
        cache_write_1h=_first(kept, _WRITTEN_1H), output=output, reasoning=reasoning,
    )  # fmt: skip


def written_apart(steps: Iterable[Counts]) -> bool:
    """Whether prompt tokens leave out what was written to the cache: some step's are too few."""
    return any(_lacks_written(step) for step in steps)


def _lacks_written(told: Counts) -> bool:
    prompt, written = count(told.get("prompt_tokens")), _first(mapping(told.get("extra")), _WRITTEN)
    return prompt is not None and prompt < (_cached(told) or 0) + (written or 0)


def _cached(told: Counts, prefix: str = "") -> int | None:
    return count(told.get(f"{prefix}cached_tokens"))


def cost(told: Counts, prefix: str = "") -> float | None:
    """What it cost, in US dollars, as the trajectory tells it."""
    value = number(told.get(f"{prefix}cost_usd"))
    return None if value is None or value < 0 else value


def _first(extra: Counts, keys: tuple[str, ...]) -> int | None:
    found = (count(extra.get(key)) for key in keys)
    return next((value for value in found if value is not None), None)


class Messages(Struct):
    """The counts of a trajectory's steps, by the message that they count."""

    seen: dict[tuple[str, str], str] = field(default_factory=dict)
    """Message ids, by model and count."""
    every: list[Usage] = field(default_factory=list)
    """The counts of all steps, repeated or not."""
    repeats: int = 0

    def message_id(self, step: str, model: object, told: Counts, *, may_repeat: bool) -> str:
        """The message that a step counts: one of its own, or one that was counted before."""
        key = (text(model), dump(told))
        self.every.append(usage(told))
        earlier = self.seen.get(key) if may_repeat else None
        if earlier is None:
            self.seen[key] = step
            return step
        self.repeats += 1
        return earlier

    def inflated(self, final: Usage) -> bool:
        """Whether totals count messages as often as steps repeat them."""
        return self.repeats > 0 and final.output == total(self.every).output
