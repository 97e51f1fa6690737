"""Codex's token counts, in the site's kinds."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.harnesses.lines import count
from kbsite.model.usage import Usage


def usage(counts: Mapping[str, object]) -> Usage:
    """The count without overlap: Codex counts cached tokens, read or written, within the input."""
    sent = count(counts.get("input_tokens"))
    read = count(counts.get("cached_input_tokens"))
    written = count(counts.get("cache_write_input_tokens"))
    return Usage(
        input=None if sent is None else max(sent - (read or 0) - (written or 0), 0),
        cache_read=read,
        cache_write=written,
        output=count(counts.get("output_tokens")),
        reasoning=count(counts.get("reasoning_output_tokens")),
    )
