"""What a request asks for: the model, and tools that the provider would use by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bench.providers import Dialect

MOST_TOOLS_BYTES: Final = 4 << 20
"""Of tools that are looked at one by one."""

UNREAD: Final = "tools that are too many to be looked at"

_CLIENTS_ANTHROPIC = ("custom", "bash_", "text_editor_", "computer_", "memory_")
_CLIENTS_OPENAI = (
    "function", "custom", "namespace", "local_shell", "shell", "apply_patch", "computer",
    "tool_search",
)  # fmt: skip
_GEMINI_CLIENT = ("functionDeclarations", "function_declarations")
_NONE = msgspec.Raw(b"")


class _Body(msgspec.Struct):
    model: Any = None
    stream: Any = None
    tools: msgspec.Raw = _NONE
    input: msgspec.Raw = _NONE
    mcp_servers: Any = None
    web_search_options: Any = None
    plugins: Any = None
    enable_search: Any = None


class _Item(msgspec.Struct):
    type: Any = None
    tools: msgspec.Raw = _NONE


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A request's body, looked at."""

    model: str | None
    body: bytes
    """As it goes on."""
    server_tools: tuple[str, ...] = ()


def look(dialect: Dialect, path: str, body: bytes) -> Wanted:
    """What a body asks for; ValueError where it is no JSON object.

    A stream of chat completions is asked to tell its usage, whether the CLI wants that or not.
    """
    try:
        held = msgspec.json.decode(body, type=_Body)
        found = tuple(dict.fromkeys(_server_tools(dialect, held)))
        if dialect is Dialect.CHAT and held.stream is True:
            body = _with_usage(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"the body is not a JSON object as this API has it: {error}") from error
    model = _in_path(path) if dialect is Dialect.GEMINI else held.model
    return Wanted(model=model if isinstance(model, str) else None, body=body, server_tools=found)


def _in_path(path: str) -> str:
    return path.rpartition("/")[2].partition(":")[0]


def _with_usage(body: bytes) -> bytes:
    held = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    options = msgspec.json.decode(held.get("stream_options", b"null"))
    options = options if isinstance(options, dict) else {}
    if options.get("include_usage") is True:
        return body
    told = msgspec.json.encode({**options, "include_usage": True})
    return msgspec.json.encode({**held, "stream_options": msgspec.Raw(told)})


def _server_tools(dialect: Dialect, held: _Body) -> Iterator[str]:
    yield from _beside_tools(held)
    for tool in _tools(held.tools):
        yield from _named(dialect, tool)
    if dialect is Dialect.RESPONSES and b'"additional_tools"' in bytes(held.input):
        for item in msgspec.json.decode(held.input, type=list[_Item]):
            for tool in _tools(item.tools) if item.type == "additional_tools" else ():
                yield from _named(dialect, tool)


def _beside_tools(held: _Body) -> Iterator[str]:
    if held.mcp_servers:
        yield "mcp_servers"
    if held.web_search_options is not None:
        yield "web_search_options"
    if held.enable_search:
        yield "enable_search"
    if held.plugins:
        yield "plugins"
    if isinstance(held.model, str) and held.model.endswith(":online"):
        yield "online"


def _tools(raw: msgspec.Raw) -> list[Mapping[str, Any]]:
    if not bytes(raw):
        return []
    if len(bytes(raw)) > MOST_TOOLS_BYTES:
        return [{"type": UNREAD}]
    found = msgspec.json.decode(raw)
    # Gemini takes a lone object for a list of one.
    listed = found if isinstance(found, list) else [found]
    return [one for one in listed if isinstance(one, dict)]


def _named(dialect: Dialect, tool: Mapping[str, Any]) -> Iterator[str]:
    """The names of what a provider uses by itself, among what one entry of `tools` offers."""
    if dialect is Dialect.GEMINI:
        yield from (str(key) for key in tool if key not in _GEMINI_CLIENT)
        return
    kind = tool.get("type")
    own = _CLIENTS_ANTHROPIC if dialect is Dialect.ANTHROPIC else _CLIENTS_OPENAI
    if kind is not None and (not str(kind).startswith(own) or _is_hosted(tool)):
        yield str(kind)
    name = _function_name(tool)
    if name.startswith("$"):  # as Moonshot calls what it runs itself
        yield name


def _is_hosted(tool: Mapping[str, Any]) -> bool:
    """Whether what a client runs otherwise, a shell, runs in a container of the provider's."""
    where = tool.get("environment")
    return isinstance(where, dict) and where.get("type") != "local"


def _function_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    return str(function.get("name")) if isinstance(function, dict) else ""
