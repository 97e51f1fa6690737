"""Token counts of Inspect, which it keeps by model."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.harnesses.lines import count, mapping, number
from kbsite.model.usage import Usage, total


def usage(told: object) -> Usage:
    """The sum over the models of a `model_usage`."""
    return total(_usage(mapping(value)) for value in mapping(told).values())


def cost(told: object) -> float | None:
    """What the models of a `model_usage` cost together, as far as the log tells; in US dollars."""
    costs = [_cost(mapping(value)) for value in mapping(told).values()]
    known = [value for value in costs if value is not None]
    return sum(known) if known else None


def of_call(told: Mapping[str, object]) -> tuple[Usage, float | None]:
    """What one model call used and cost."""
    return _usage(told), _cost(told)


def _cost(told: Mapping[str, object]) -> float | None:
    value = number(told.get("total_cost"))
    return None if value is None or value < 0 else value


def _usage(told: Mapping[str, object]) -> Usage:
    sent, output = count(told.get("input_tokens")), count(told.get("output_tokens"))
    read = count(told.get("input_tokens_cache_read"))
    written = count(told.get("input_tokens_cache_write"))
    reasoning = count(told.get("reasoning_tokens"))
    if sent is not None and count(told.get("total_tokens")) == sent + (output or 0):
        # Some providers' input has the cached tokens in it, which the sum then gives away.
        sent = max(sent - (read or 0) - (written or 0), 0)
    if reasoning is not None and (output is None or reasoning > output):
        reasoning = None
    return Usage(
        input=sent, cache_read=read, cache_write=written, output=output, reasoning=reasoning
    )
