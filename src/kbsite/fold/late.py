"""Results of which a CLI tells more when their call is long past."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kbsite.model.event import ToolResult


def completed(result: ToolResult, late: ToolResult) -> ToolResult:
    """A result with what its CLI told of it later."""
    told = late.recorded if isinstance(late.recorded, Mapping) else {}
    more = {
        key: value
        for key, value in told.items()
        if not isinstance(value, str) or value.strip() not in result.output
    }
    return replace(
        result,
        exit_code=late.exit_code if result.exit_code is None else result.exit_code,
        is_error=late.is_error if result.is_error is None else result.is_error,
        seconds=result.seconds if late.seconds is None else late.seconds,
        recorded=result.recorded or more or "",
    )
