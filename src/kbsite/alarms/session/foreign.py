"""What tools are given that no CLI brings along, such as those of MCP servers, and by which words.

Nobody says what they do: their names and the names of their arguments have to tell.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kbsite.alarms.session.places import Way
from kbsite.model.event import ToolCall, ToolKind

_PATHS: Final = (
    "file_path", "filePath", "path", "paths", "absolute_path", "notebook_path", "file_paths",
    "dir_path", "directory", "target_file", "filename", "files", "uri",
)  # fmt: skip
_TARGETS: Final = ("destination", "dest", "target", "new_path")
_WRITES: Final = re.compile(
    r"(?i)(?:^|[_./-])(?:write|edit|create|move|delete|remove|patch|append|update|rename|replace)"
)
_SEARCHES: Final = re.compile(
    r"(?i)web|internet|(?:^|[_./-])(?:google|brave|exa|tavily|serper|duckduckgo|firecrawl|"
    r"perplexity|kagi|bing)(?:$|[_./-])"
)
_SCRIPTS: Final = ("command", "cmd", "script")
_QUERIES: Final = ("query", "q", "search_query")
_FILE: Final = "file://"


def paths(call: ToolCall) -> Iterator[tuple[str, Way]]:
    """The paths that a tool is called with, and the pattern of names where it looks for such."""
    given = call.arguments
    if not isinstance(given, Mapping):
        return
    way = Way.READ if call.tool_kind is ToolKind.READ else Way.LISTED
    named = [path.removeprefix(_FILE) for path in _texts(given, _PATHS)]
    if call.tool_kind is ToolKind.OTHER and _WRITES.search(call.tool):
        way = Way.WRITTEN
        named += _texts(given, _TARGETS)
    pattern = given.get("pattern") or given.get("glob")
    if "glob" in call.tool.lower() and isinstance(pattern, str):
        named.append(posixpath.join(named[0] if named else "", pattern))
    yield from ((path, way) for path in named)


def _texts(given: Mapping[str, object], keys: Iterable[str]) -> list[str]:
    """The texts under some keys that are not empty."""
    return [text for key in keys for text in texts_of(given.get(key)) if text]


def asked(call: ToolCall) -> Iterator[str]:
    """What a tool asks the network for: an address, or what it searches the web for."""
    given = call.arguments
    if not isinstance(given, Mapping):
        return
    address = given.get("url")
    if isinstance(address, str) and "://" in address:
        yield address
    elif _SEARCHES.search(call.tool):
        yield from _texts(given, _QUERIES)


def script(call: ToolCall) -> str:
    """The commands that a tool is to run; empty where there are none."""
    given = call.arguments
    if not isinstance(given, Mapping):
        return ""
    words = next((given[key] for key in _SCRIPTS if given.get(key)), "")
    if isinstance(words, str):
        return " ".join([words, shlex.join(texts_of(given.get("args")))]).rstrip()
    return shlex.join(texts_of(words))


def code(call: ToolCall) -> str | None:
    """The code that a tool is to run; None where there is none."""
    given = call.arguments
    held = given.get("code") if isinstance(given, Mapping) else None
    return held if isinstance(held, str) else None


def texts_of(value: object) -> list[str]:
    """A text, or those in a list, as far as they are few."""
    if isinstance(value, list):
        return [item for item in value[:50] if isinstance(item, str)]
    return [value] if isinstance(value, str) else []
