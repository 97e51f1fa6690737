"""Token counts of Inspect, which it keeps by model."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.harnesses.lines import count, mapping
from kbsite.model.usage import Usage, total


def usage(told: object) -> Usage:
    """The sum over the models of a `model_usage`."""
    return total(_usage(mapping(value)) for value in mapping(told).values())


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
