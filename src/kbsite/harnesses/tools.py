"""Tool calls of every CLI, brought to one shape: kind, one-line summary, edits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from kbsite.harnesses.lines import count, dump, mapping, parsed, sequence, text
from kbsite.model.event import UNTOLD, Edit, ToolCall, ToolKind

_PATHS = ("file_path", "filePath", "path", "notebook_path", "filename")
_OLD = ("old_string", "oldString", "old", "old_str", "oldText")
_NEW = ("new_string", "newString", "new", "new_str", "newText", "insert_text", "new_source")
_SUBJECTS = (
    "command", "cmd", *_PATHS, "pattern", "globPattern", "glob_pattern", "query", "search_term",
    "searchTerm", "url", "subject", "description", "title", "name", "prompt", "intent", "skill",
    "objective", "code",
)  # fmt: skip
_EVERY = ("replace_all", "replaceAll", "allow_multiple", "change_all")
_CONTENT = ("content", "contents", "file_text", "fileText")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
"""How the name of what is read begins where a tool for files is given a page of the web."""
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$")
_ACTIONS = {"Add": "add", "Update": "update", "Delete": "delete"}


def arguments(value: object) -> Mapping[str, object] | str:
    """A call's arguments as an object where they are one, or JSON text of one; else as text."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        try:
            held = parsed(value)
        except (ValueError, RecursionError):
            return value
        return held if isinstance(held, dict) else value
    return text(value)


def call(kinds: Mapping[str, ToolKind], tool: str, given: object, **event: Any) -> ToolCall:
    """The call of `tool`, with its kind from `kinds`, its summary and the edits that it asks for.

    `event` holds the rest of the ToolCall: source, call_id, at, agent.
    """
    held = arguments(given)
    kind, about = kinds.get(tool, ToolKind.OTHER), summary(held)
    if kind is ToolKind.READ and _ADDRESS.match(about):
        kind = ToolKind.WEB
    return ToolCall(
        tool=tool,
        tool_kind=kind,
        arguments=held,
        summary=about,
        edits=edits(kind, held),
        **event,
    )


def summary(held: Mapping[str, object] | str) -> str:
    """One line that says what a call is about: its command, path, query or title."""
    if isinstance(held, str):
        return _first_line(held)
    for key in _SUBJECTS:
        value = held.get(key)
        if isinstance(value, list):
            value = " ".join(str(item) for item in value)
        if isinstance(value, str) and value.strip():
            return _first_line(value)
    return _question(sequence(held.get("questions")))


def _question(asked: Sequence[object]) -> str:
    """The first one of the questions that a model has for its user, and how many more there are."""
    told = [text(mapping(one).get("question")).strip() for one in asked]
    more = f" (+{len(told) - 1} more)" if len(told) > 1 else ""
    return _first_line(told[0]) + more if told and told[0] else ""


def definitions(offered: Sequence[object]) -> str:
    """What a model is told of its tools, one after the other: names, descriptions, the rest."""
    return "\n".join(_definition(held) for one in offered if (held := mapping(one)))


def _definition(held: Mapping[str, object]) -> str:
    rest = {key: value for key, value in held.items() if key not in ("name", "description")}
    as_json = dump(rest) if rest else ""
    with suppress(msgspec.DecodeError):
        as_json = msgspec.json.format(as_json, indent=2)
    told = (f"# {text(held.get('name'))}", text(held.get("description")), as_json)
    return "".join(f"{part}\n\n" for part in told if part)


def edits(kind: ToolKind, held: Mapping[str, object] | str) -> tuple[Edit, ...]:
    """The changes of files that a call asks for; none if it is not a writing or editing tool."""
    if kind not in (ToolKind.WRITE, ToolKind.EDIT):
        return ()
    if isinstance(held, str):
        return patch_edits(held)
    patch = held.get("patch") or held.get("input") or held.get("patchText")
    if isinstance(patch, str) and "*** Begin Patch" in patch:
        return patch_edits(patch)
    path = _first(held, _PATHS)
    if path is None:
        return ()
    found = _of_file(path, held)
    if found or kind is ToolKind.WRITE or not isinstance(patch, str):
        return found
    # In marks of the CLI's own: what the file held before is not what it holds now.
    return (Edit(path, None, "", patch=UNTOLD),)


def _of_file(path: str, held: Mapping[str, object]) -> tuple[Edit, ...]:
    """The changes that a call asks for in the file that it names."""
    content = _first(held, _CONTENT)
    if content is not None:
        return (Edit(path, None, content),)
    several = (
        sequence(held.get("edits")) or sequence(held.get("edit")) or [held.get("edit") or held]
    )
    return tuple(edit for item in several if (edit := _replacement(path, mapping(item))))


def patch_edits(patch: str) -> tuple[Edit, ...]:
    """A change for each file of an apply_patch envelope (`*** Begin Patch` to `*** End Patch`)."""
    found: list[tuple[str, str, list[str]]] = []
    inside = False
    for line in patch.removesuffix("\n").split("\n"):  # \f and U+2028 are text, not line ends
        if match := _PATCH_FILE.match(line):
            found.append((match[2].strip(), _ACTIONS[match[1]], []))
            inside = True
        elif line.startswith(("*** End Patch", "*** Begin Patch")):
            inside = False
        elif inside and line.startswith("*** Move to: "):
            path, _, hunks = found[-1]
            found[-1] = (path, "move", [*hunks, line])
        elif inside:
            found[-1][2].append(line)
    return tuple(_patched(path, action, hunks) for path, action, hunks in found)


def _patched(path: str, action: str, hunks: list[str]) -> Edit:
    if action == "add":
        body = "".join(line[1:] + "\n" for line in hunks if line.startswith("+"))
        return Edit(path, None, body, action="add")
    # One that tells no change is none that tells the whole file.
    patch = "\n".join(hunks) or ("" if action == "delete" else UNTOLD)
    return Edit(path, None, "", patch=patch, action=action)


def _replacement(path: str, item: Mapping[str, object]) -> Edit | None:
    old, new = _first(item, _OLD), _first(item, _NEW)
    if old is None and new is None:
        return None
    if old is None:
        # It is put somewhere into the file, and what else stands there is not known.
        return added(path, new or "")
    times = count(item.get("expected_replacements")) or 1
    every = times > 1 or any(item.get(key) is True for key in _EVERY)
    return Edit(_first(item, _PATHS) or path, old, new or "", every)


def added(path: str, text: str) -> Edit:
    """A text that is put into a file, where nothing tells what becomes of the whole."""
    lines = text.removesuffix("\n").split("\n")
    return Edit(path, None, "", patch="\n".join(f"+{line}" for line in lines))


def _first(held: Mapping[str, object], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := held.get(key), str)), None)


def _first_line(value: str) -> str:
    return value.strip().split("\n", 1)[0].strip()
