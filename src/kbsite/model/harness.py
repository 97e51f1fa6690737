"""The CLIs that drive a model, as the site names them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Harness:
    """A coding-agent CLI."""

    id: str
    title: str
    maker: str = ""
    url: str = ""
    keeps_folder: bool | None = None
    """Whether a shell command of the main agent begins in the folder that the one before it ended
    in, and not in the session's; None where that is not known."""
