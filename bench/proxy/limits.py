"""How much a CLI may ask of its proxy at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProxyLimits:
    """What is refused above, so that a hostile client costs the proxy little."""

    open_at_once: int = 16
    """Requests under way; more are answered with 429."""
    connections: int = 128
    """Connections of clients; more are closed as they come."""
    body_bytes: int = 32 << 20
    """Of one request. It is read whole: what was not looked at does not go on."""
    held_bytes: int = 64 << 20
    """Of the bodies of all requests together that wait to be sent on."""
    connect_seconds: float = 30.0
    """Until a connection to the provider stands."""
    server_tools: bool = True
    """Whether requests go on that let the provider itself use tools; they are noted either way."""
    silence_seconds: float = 900.0
    """Without a byte from the provider, after which it counts as gone."""
