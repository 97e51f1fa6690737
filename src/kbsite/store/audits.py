"""audit.yaml as it is written: every change leaves comments and all other text as they stand.

What comes out of a change is read again before it is written: if the file then said anything else
than before but for the change, it stays as it is, and InvalidFileError asks for a person's hand.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from kbsite.model.audit import Audit, Earlier, Quote
from kbsite.store.parsing import LIMIT_YAML_BYTES, invalid, read_text, yaml_data
from kbsite.store.records import record
from kbsite.store.writing import write_text
from kbsite.store.yaml_edits import (
    FlowStyleError,
    document,
    items,
    on_lines,
    pair,
    root,
    with_item,
    with_key,
    with_value,
    without_key,
)

_ORDER = tuple(field.name for field in fields(Audit))
_LISTS = ("quotes", "history")
_Data = dict[str, Any]


def audit_text(audit: Audit) -> str:
    """The text of an audit.yaml of its own, without the keys that say nothing."""
    said = _said(audit)
    lists = {
        name: [_said(item) for item in getattr(audit, name)] for name in _LISTS if name in said
    }
    return document({name: said[name] for name in said if name not in _LISTS}, lists)


def add_quote(path: Path, quote: Quote) -> Audit:
    """Write a quote below the others of an audit.yaml; the audit as it is then."""
    said = _said(quote)

    def change(text: str, data: _Data) -> str:
        data["quotes"] = [*(data.get("quotes") or ()), said]
        return with_item(text, "quotes", said, on_lines(text))

    return _changed(path, change)


def set_lines(path: Path, number: int, lines: tuple[int, ...]) -> Audit:
    """Let the quote of this number, from 0, cite other lines; the audit as it is then."""
    return _set_place(path, number, "lines", list(lines))


def set_event(path: Path, number: int, event: str) -> Audit:
    """Let the quote of this number, from 0, cite another event; the audit as it is then."""
    return _set_place(path, number, "event", event)


def amend(
    path: Path, changes: Mapping[str, object], *, replaced: datetime.date, by: str, why: str
) -> Audit:
    """Write other values under keys of an audit, and what they replace to the end of its history.

    `changes` are fields of Audit but `quotes` and `history`, in the types of the record; a null or
    empty value takes the key away. The audit as it is then comes back. ValueError for other keys.
    """
    if unknown := changes.keys() - (set(_ORDER) - set(_LISTS)):
        raise ValueError(f"no key that can be amended: {', '.join(sorted(unknown))}")
    before = record(_read(path)[1], Audit, path, "")
    earlier = Earlier(
        verdict=before.verdict, effect=before.effect, summary=before.summary,
        auditor=before.auditor, date=before.date, replaced=replaced, by=by, why=why,
    )  # fmt: skip

    def change(text: str, data: _Data) -> str:
        for name in (name for name in _ORDER if name in changes):
            text = _with(text, name, msgspec.to_builtins(changes[name]), data)
        said = _said(earlier)
        data["history"] = [*(data.get("history") or ()), said]
        return with_item(text, "history", said, on_lines(text))

    return _changed(path, change)


def _with(text: str, name: str, value: Any, data: _Data) -> str:
    top = on_lines(text)
    place = pair(top, name)
    data.pop(name, None)
    if value in (None, ""):
        return text if place is None else without_key(text, place)
    data[name] = value
    if place is not None:
        return with_value(text, place, value)
    above = _ORDER[: _ORDER.index(name)]
    after = [number for number, (key, _) in enumerate(top.value) if key.value in above]
    return with_key(text, name, value, top, after[-1] if after else len(top.value) - 1)


def _set_place(path: Path, number: int, name: str, value: list[int] | str) -> Audit:
    def change(text: str, data: _Data) -> str:
        data["quotes"][number][name] = value
        quotes = pair(root(text), "quotes")
        place = pair(items(quotes and quotes[1])[number], name)
        if place is None:
            raise ValueError(f"quotes[{number}] has no {name}")
        return with_value(text, place, value)

    return _changed(path, change, adds=False)


def _read(path: Path) -> tuple[str, _Data]:
    text = read_text(path, LIMIT_YAML_BYTES)
    return text, _plain(path, text.removeprefix("\ufeff"))


def _plain(path: Path, text: str) -> _Data:
    data = yaml_data(path, text)
    if not isinstance(data, dict):
        raise invalid("expected keys and values", path, line=1)
    return data


def _changed(path: Path, change: Callable[[str, _Data], str], *, adds: bool = True) -> Audit:
    """The audit after a change, which is written if it changes nothing else.

    A change that adds lines has its text end in a line end.
    """
    whole, data = _read(path)
    record(data, Audit, path, whole)
    mark = "\ufeff" if whole.startswith("\ufeff") else ""
    ends = "\r\n" if 0 < whole.count("\n") == whole.count("\r\n") else "\n"
    text = whole.removeprefix(mark).replace(ends, "\n")
    if adds and not text.endswith("\n"):
        text += "\n"
        data = _plain(path, text)
    try:
        new = change(text, data)
    except FlowStyleError as error:
        message = f"cannot be changed by a machine: {error}"
        raise invalid(message, path, line=error.line) from error
    except ValueError as error:
        raise invalid(f"cannot be changed by a machine: {error}; edit it", path) from error
    found = yaml_data(path, new)
    if found != data:
        raise invalid("cannot be changed by a machine without losing something; edit it", path)
    audit = record(data, Audit, path, new)
    write_text(path, mark + new.replace("\n", ends))
    return audit


def _said(value: Audit | Quote | Earlier) -> _Data:
    plain: _Data = msgspec.to_builtins(value)
    told = [field.name for field in fields(value) if getattr(value, field.name) != field.default]
    return {name: [*held] if isinstance(held := plain[name], tuple) else held for name in told}
