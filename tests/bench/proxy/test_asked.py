"""What a request asks for is seen, wherever the API lets it stand; what was seen goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.providers import Dialect
from bench.proxy import asked
from bench.proxy.asked import UNREAD, look

PATH = "/v1/x"


def tools(dialect: Dialect, body: Any) -> tuple[str, ...]:
    return look(dialect, PATH, json.dumps({"model": "m", **body}).encode()).server_tools


@pytest.mark.parametrize(
    ("dialect", "body", "found"),
    [
        (Dialect.ANTHROPIC, {"tools": [{"name": "Bash", "input_schema": {}},
                                       {"type": "custom", "name": "x"},
                                       {"type": "bash_20250124", "name": "bash"},
                                       {"type": "web_search_20250305", "name": "web_search"},
                                       {"type": "code_execution_20250825"}]},
         ("web_search_20250305", "code_execution_20250825")),
        (Dialect.ANTHROPIC, {"mcp_servers": [{"url": "https://example.org"}]}, ("mcp_servers",)),
        (Dialect.ANTHROPIC, {"mcp_servers": []}, ()),
        (Dialect.RESPONSES, {"tools": [{"type": "function", "name": "x"}, {"type": "custom"},
                                       {"type": "namespace"}, {"type": "web_search"},
                                       {"type": "web_search"}, {"type": "code_interpreter"}]},
         ("web_search", "code_interpreter")),
        (Dialect.RESPONSES, {"input": [{"type": "message", "content": "web_search"},
                                       {"type": "additional_tools",
                                        "tools": [{"type": "custom"}, {"type": "mcp"}]}]},
         ("mcp",)),
        (Dialect.RESPONSES, {"input": 'a text with "additional_tools" in it'}, ()),
        (Dialect.CHAT, {"tools": [{"type": "function", "function": {"name": "x"}}]}, ()),
        (Dialect.CHAT, {"tools": [{"type": "builtin_function",
                                   "function": {"name": "$web_search"}}]},
         ("builtin_function", "$web_search")),
        (Dialect.CHAT, {"web_search_options": {}}, ("web_search_options",)),
        (Dialect.CHAT, {"plugins": [{"id": "web"}], "enable_search": True},
         ("enable_search", "plugins")),
        (Dialect.CHAT, {"model": "some/model:online"}, ("online",)),
        (Dialect.GEMINI, {"tools": [{"functionDeclarations": []}]}, ()),
        (Dialect.GEMINI, {"tools": [{"functionDeclarations": [], "googleSearch": {}},
                                    {"url_context": {}}]}, ("googleSearch", "url_context")),
        (Dialect.GEMINI, {"tools": {"googleSearch": {}}}, ("googleSearch",)),
        (Dialect.GEMINI, {"tools": {"functionDeclarations": []}}, ()),
        (Dialect.RESPONSES, {"tools": [{"type": "shell"},
                                       {"type": "shell", "environment": {"type": "local"}}]}, ()),
        (Dialect.RESPONSES, {"tools": [{"type": "shell",
                                        "environment": {"type": "container_auto"}}]}, ("shell",)),
        (Dialect.CHAT, {"tools": "none", "input": 3}, ()),
        (Dialect.CHAT, {"tools": [1, None, {}]}, ()),
    ],
)  # fmt: skip
def test_tools_of_the_provider_are_seen(
    dialect: Dialect, body: Any, found: tuple[str, ...]
) -> None:
    assert tools(dialect, body) == found


def test_tools_that_are_too_many_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "MOST_TOOLS_BYTES", 100)
    many = [{"type": "function", "name": "x" * 200}]
    assert tools(Dialect.RESPONSES, {"tools": many}) == (UNREAD,)


def test_the_model_is_the_one_that_the_provider_will_read() -> None:
    assert look(Dialect.CHAT, PATH, b'{"mod\\u0065l":"m"}').model == "m"
    assert look(Dialect.CHAT, PATH, b'{"model":["m"]}').model is None
    path = "/v1beta/models/gemini-9:generateContent"
    assert look(Dialect.GEMINI, path, b'{"model":"other"}').model == "gemini-9"


def test_a_model_that_stands_twice_goes_on_once_in_a_stream_of_chat() -> None:
    wanted = look(Dialect.CHAT, PATH, b'{"stream":true,"model":"a","model":"b"}')
    assert wanted.model == "b"
    assert json.loads(wanted.body, object_pairs_hook=list)[1] == ("model", "b")


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ("", {"include_usage": True}),
        (',"stream_options":null', {"include_usage": True}),
        (',"stream_options":{"include_usage":false,"x":1}', {"include_usage": True, "x": 1}),
    ],
)
def test_a_stream_of_chat_tells_its_usage(options: str, sent: dict[str, Any]) -> None:
    body = f'{{"model":"m","stream":true,"big":1.000000000000000001{options}}}'.encode()
    wanted = look(Dialect.CHAT, PATH, body)
    assert json.loads(wanted.body)["stream_options"] == sent
    assert b"1.000000000000000001" in wanted.body


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (Dialect.CHAT, b'{"model":"m", "stream":true,"stream_options":{"include_usage":true}}'),
        (Dialect.CHAT, b'{"model": "m"}'),
        (Dialect.CHAT, b'{"model": "m", "stream": false}'),
        (Dialect.RESPONSES, b'{"model": "m", "stream": true}'),
        (Dialect.ANTHROPIC, b'{"model": "m", "stream": true}'),
    ],
)
def test_other_bodies_go_on_byte_for_byte(dialect: Dialect, body: bytes) -> None:
    assert look(dialect, PATH, body).body == body


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b'{"model":"m"', b"\xff", b'{"model":"m"}{}',
     b'{"tools":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
     b'{"input":[{"type":"additional_tools","tools":3,}]}'],
)  # fmt: skip
def test_what_is_no_json_object_does_not_go_on(body: bytes) -> None:
    with pytest.raises(ValueError, match="JSON object"):
        look(Dialect.RESPONSES, PATH, body)
