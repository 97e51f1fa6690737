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
