"""The scripted server through a proxy: usage to the digit in each dialect, faults by name."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import pytest

import bench.scripted
from bench.providers import Dialect
from bench.proxy.form import Outcome
from bench.proxy.troubles import Trouble, trouble
from bench.scripted.requests import expected_usage
from bench.scripted.script import load_script
from bench.scripted.server import scripted_provider, serve
from tests.bench.proxy.peers import Proxy, proxied

SCRIPTS = sorted((Path(bench.scripted.__file__).parent / "scripts").glob("*.yaml"))


def asking(dialect: Dialect, script: str, *, streamed: bool) -> tuple[str, dict[str, Any]]:
    """A path and a body that ask for the first turn of a script."""
    prompt = f"[[script:{script}]] do it"
    tool = {"type": "object", "properties": {"command": {"type": "string"}}}
    match dialect:
        case Dialect.ANTHROPIC:
            return "/v1/messages", {
                "model": "m", "stream": streamed, "max_tokens": 100,
                "messages": [{"role": "user", "content": prompt}],
                "tools": [{"name": "Bash", "input_schema": tool}],
            }  # fmt: skip
        case Dialect.RESPONSES:
            return "/v1/responses", {
                "model": "m", "stream": streamed, "input": prompt,
                "tools": [{"type": "function", "name": "shell", "parameters": tool}],
            }  # fmt: skip
        case Dialect.CHAT:
            return "/v1/chat/completions", {
                "model": "m", "stream": streamed,
                "messages": [{"role": "user", "content": prompt}],
                "tools": [{"type": "function", "function": {"name": "shell", "parameters": tool}}],
            }  # fmt: skip
        case Dialect.GEMINI:
            declared = {"name": "run_shell_command", "parametersJsonSchema": tool}
            verb = "streamGenerateContent?alt=sse" if streamed else "generateContent"
            return f"/v1beta/models/m:{verb}", {
                "contents": [{"role": "user", "parts": [{"text": prompt}]}],
                "tools": [{"functionDeclarations": [declared]}],
            }  # fmt: skip


def ask(proxy: Proxy, dialect: Dialect, script: str, *, streamed: bool) -> None:
    """Ask once; however it ends."""
    path, body = asking(dialect, script, streamed=streamed)
    before = proxy.meter.account.exchanges
    try:
        proxy.post(body, path=path)
    except (http.client.HTTPException, ConnectionError):
        proxy.settled(before + 1)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", list(Dialect))
def test_usage_is_what_the_formula_says(dialect: Dialect, streamed: bool, tmp_path: Path) -> None:
    with serve([load_script(path) for path in SCRIPTS]) as server:
        provider = scripted_provider(server.url, "usage")
        with proxied(provider, tmp_path, dialect=dialect) as proxy:
            for script in ("main", "hi", "quick", "main"):
                ask(proxy, dialect, script, streamed=streamed)
            account = proxy.meter.account
            assert account.exchanges == len(server.requests) == 4
            assert dict(account.outcomes) == {Outcome.COMPLETE: 4}
            assert account.usage == expected_usage(server.requests)
            assert account.usage.output
            assert account.models
            assert {one.model for one in proxy.meter.exchanges} == {"m"}
            assert not any(one.server_tools for one in proxy.meter.exchanges)


FAULTS = {
    "e400": (Outcome.ERROR, Trouble.REQUEST), "e401": (Outcome.ERROR, Trouble.AUTH),
    "e429": (Outcome.ERROR, Trouble.RATE), "e500": (Outcome.ERROR, Trouble.SERVER),
    "dropbefore": (Outcome.UNREACHABLE, Trouble.UNREACHABLE),
    "dropmid": (Outcome.BROKEN, Trouble.BROKEN), "cut": (Outcome.BROKEN, Trouble.BROKEN),
    "maxtok": (Outcome.CUT, None),
}  # fmt: skip


@pytest.mark.parametrize("dialect", list(Dialect))
def test_each_fault_has_its_name(dialect: Dialect, tmp_path: Path) -> None:
    with serve([load_script(path) for path in SCRIPTS]) as server:
        provider = scripted_provider(server.url, "faults")
        with proxied(provider, tmp_path, dialect=dialect) as proxy:
            for script in (*FAULTS, "streamerr"):
                ask(proxy, dialect, script, streamed=True)
            *faults, in_stream = proxy.meter.exchanges
    found = {name: (one.outcome, trouble(one)) for name, one in zip(FAULTS, faults, strict=True)}
    assert found == FAULTS
    assert in_stream.outcome is Outcome.ERROR
    assert in_stream.status == 200
    assert in_stream.error
    trouble_in_stream = trouble(in_stream)
    assert trouble_in_stream is not None
    assert trouble_in_stream.waiting_helps


def test_a_stream_of_chat_is_asked_for_its_usage(tmp_path: Path) -> None:
    with serve([load_script(path) for path in SCRIPTS]) as server:
        provider = scripted_provider(server.url, "chat")
        with proxied(provider, tmp_path, dialect=Dialect.CHAT) as proxy:
            path, body = asking(Dialect.CHAT, "hi", streamed=True)
            answer = proxy.post(body, path=path)
            events = [line for line in answer.body.split(b"\n") if line.startswith(b"data: {")]
            assert json.loads(events[-1][6:])["usage"]["prompt_tokens"]
            assert proxy.meter.account.usage.known
