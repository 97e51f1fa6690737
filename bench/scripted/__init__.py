"""A model server that plays a script: how CLIs are tested without a model.

    scripts = load_scripts()
    with serve(scripts) as server:
        provider = scripted_provider(server.url, "run-1")
        ...
    expected_usage(server.requests_of("run-1"))

A marker [[script:NAME]] in the prompt says which script is played.
"""

from __future__ import annotations

from bench.scripted.requests import Request, expected_usage
from bench.scripted.script import SHIPPED, Script, load_script, load_scripts
from bench.scripted.server import Server, scripted_provider, serve

__all__ = [
    "SHIPPED", "Request", "Script", "Server", "expected_usage", "load_script", "load_scripts",
    "scripted_provider", "serve",
]  # fmt: skip
