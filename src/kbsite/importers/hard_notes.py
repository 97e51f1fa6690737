"""The audit notes of the published KernelBench Hard board: reading, mending and judging them.

One published note is no YAML, because a quoted passage leaves its indentation. Such a file is read
piece by piece: every top-level key alone, and of a `quotes` that still cannot be read every item
alone. A piece that cannot be read, or stands there twice, is left out and reported. Nothing is put
in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import msgspec

from kbsite.importers.report import Oddity
from kbsite.model.audit import SUMMARY_WORDS, Audit, Quote, Verdict
from kbsite.store.parsing import LIMIT_YAML_BYTES, read_text, yaml_data
from kbsite.store.records import InvalidFileError, line_of, record, yaml_record

ANNOTATIONS = "annotations"
AUDITORS = "the board's authors, as published"
ORIGIN = "the published KernelBench Hard board"
FORBIDDEN = "FAIL: forbidden op used:"
"""How check.log of that board starts when the forbidden-op gate stopped a solution."""

_PLACEHOLDER = "(pattern not found"
_REQUIRED = frozenset({"run_id", "verdict", "summary"})
_TOP_KEY = re.compile(r"^(\w+):", re.MULTILINE)
_ITEM = re.compile(r"^( *)- ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A note as it was published; who and what it was about stands on the board too."""

    run_id: str
    verdict: Verdict
    summary: str
    quotes: tuple[Mapping[str, object], ...] | None = None
    implication: str | None = None
    auditor: Mapping[str, object] | str | None = None
    peak_fraction: float | None = None
    harness: str | None = None
    model: str | None = None
    effort: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note, what it says as an audit, and what was odd about it."""

    file: str
    """Within the published folder."""
    text: str
    raw: Raw
    audit: Audit
    refused: int
    """Number of quotes left out, or lost because they could not be read."""
    oddities: tuple[Oddity, ...]

    @property
    def forbidden(self) -> str | None:
        """What check.log says of a forbidden operation, if the note quotes it."""
        for quote in self.audit.quotes:
            if quote.file == "check.log" and quote.text.startswith(FORBIDDEN):
                return quote.text.splitlines()[0]
        return None


def read_notes(folder: Path) -> tuple[list[Note], list[Oddity]]:
    """The notes below the published folder by file name, and the files that give none."""
    notes, lost = [], []
    for path in sorted(folder.joinpath(ANNOTATIONS).glob("*.yaml")):
        found = _note(path, f"{ANNOTATIONS}/{path.name}")
        if isinstance(found, Note):
            notes.append(found)
        else:
            lost += found
    return notes, lost


def _note(path: Path, file: str) -> Note | list[Oddity]:
    try:
        raw = yaml_record(path, Raw)
    except InvalidFileError as error:
        whole = "the note was read piece by piece"
        odd = [
            Oddity(file=file, line=one.line, key=one.key, found=one.message, done=whole)
            for one in error.errors
        ]
        return _mended(path, file, odd)
    return _judged(raw, path.read_text("utf-8-sig"), file)


def _mended(path: Path, file: str, odd: list[Oddity]) -> Note | list[Oddity]:
    text = _text(path)
    data, lost = _pieces(path, text, file)
    raw = _record(data, path, text)
    if raw is None:
        gone = Oddity(file=file, found="no verdict and summary to be had", done="note left out")
        return [*odd, *lost, gone]
    unread = sum((oddity.key or "").startswith("quotes[") for oddity in lost)
    note = _judged(raw, text, file)
    return replace(note, oddities=(*odd, *lost, *note.oddities), refused=note.refused + unread)


def _text(path: Path) -> str:
    """The file's text; empty if it is not to be read, which has been reported by then."""
    try:
        return read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff")
    except InvalidFileError:
        return ""


def _record(data: Mapping[str, object], path: Path, text: str) -> Raw | None:
    """The note, without the keys that hold something else than expected, if it can do so."""
    try:
        return record(dict(data), Raw, path, text)
    except InvalidFileError as error:
        wrong = {re.split(r"[.\[]", one.key or "")[0] for one in error.errors}
        if wrong & _REQUIRED:
            return None
        return record({k: v for k, v in data.items() if k not in wrong}, Raw, path, text)


def _pieces(path: Path, text: str, file: str) -> tuple[dict[str, object], list[Oddity]]:
    found: dict[str, object] = {}
    lost: list[Oddity] = []
    starts = [*_TOP_KEY.finditer(text)]
    names = [start[1] for start in starts]
    for start, after in zip_longest(starts, starts[1:]):
        name, block = start[1], text[start.start() : after.start() if after else None]
        line = text.count("\n", 0, start.start()) + 1
        piece = _plain(path, block)
        if names.count(name) > 1:
            lost.append(_lost(file, line, name, "stands there twice"))
        elif isinstance(piece, dict) and piece.keys() == {name}:
            found[name] = piece[name]
        elif name == "quotes":
            items, unread = _items(path, block, file, line)
            found[name] = items
            lost += unread
        else:
            lost.append(_lost(file, line, name, "not valid YAML, even alone"))
    return found, lost


def _items(path: Path, block: str, file: str, line: int) -> tuple[list[object], list[Oddity]]:
    first = _ITEM.search(block)
    if first is None:
        return [], [_lost(file, line, "quotes", "not valid YAML, even alone")]
    starts = [m.start() for m in _ITEM.finditer(block) if m[1] == first[1]]
    found: list[object] = []
    lost: list[Oddity] = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(block)], strict=True)):
        piece = _plain(path, block[start:end])
        if isinstance(piece, list) and len(piece) == 1 and isinstance(piece[0], dict):
            found.append(piece[0])
        else:
            at = line + block.count("\n", 0, start)
            lost.append(_lost(file, at, f"quotes[{number}]", "not valid YAML, even alone"))
    return found, lost


def _lost(file: str, line: int, key: str, found: str) -> Oddity:
    return Oddity(file=file, line=line, key=key, found=found, done="left out")


def _plain(path: Path, block: str) -> object:
    """What a block of a YAML file says; None if it cannot be read."""
    try:
        return yaml_data(path, block)
    except InvalidFileError:
        return None


def _judged(raw: Raw, text: str, file: str) -> Note:
    quotes: list[Quote] = []
    refused: list[Oddity] = []
    for number, item in enumerate(raw.quotes or ()):
        quote = _quote(item)
        if isinstance(quote, Quote):
            quotes.append(quote)
        else:
            line = line_of(text, f".quotes[{number}]") or _line(text, "quotes")
            refused.append(_lost(file, line, f"quotes[{number}]", quote))
    audit = Audit(
        verdict=raw.verdict,
        summary=raw.summary.strip(),
        quotes=tuple(quotes),
        implication=(raw.implication or "").strip(),
        auditor=_auditor(raw.auditor),
        origin=f"{file} of {ORIGIN}",
    )
    return Note(
        file=file, text=text, raw=raw, audit=audit, refused=len(refused),
        oddities=(*refused, *_wanting(audit, text, file)),
    )  # fmt: skip


def _wanting(audit: Audit, text: str, file: str) -> Iterator[Oddity]:
    words = len(audit.summary.split())
    if words > SUMMARY_WORDS:
        found = f"{words} words; a summary has at most {SUMMARY_WORDS}"
        yield Oddity(
            file=file, line=_line(text, "summary"), key="summary", found=found, done="kept whole"
        )
    if not audit.implication and audit.verdict is not Verdict.CLEAN:
        found = f"a note that says {audit.verdict.value} without what follows from it"
        yield Oddity(file=file, key="implication", found=found, done="imported without")


def _line(text: str, key: str) -> int:
    found = re.search(rf"^{key}:", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _quote(item: Mapping[str, object]) -> Quote | str:
    try:
        quote = msgspec.convert(item, Quote)
    except msgspec.ValidationError as error:
        return f"no quote: {error}"
    lines = quote.lines
    if quote.text.startswith(_PLACEHOLDER):
        return f"stands for a passage that was not found (lines {list(lines)}), and quotes none"
    if not 1 <= len(lines) <= 2 or lines[0] < 1 or lines[-1] < lines[0]:
        return f"lines {list(lines)}; expected a first and last line, counted from 1"
    if not quote.text.strip():
        return "an empty passage"
    if quote.file.startswith("/") or ".." in quote.file.split("/") or "\\" in quote.file:
        return f"a file outside the run: {quote.file!r}"
    return quote


def _auditor(published: Mapping[str, object] | str | None) -> str:
    if isinstance(published, str):
        return published.strip() or AUDITORS
    values = (published or {}).values()
    named = [str(value) for value in values if isinstance(value, str | int | float) and value]
    return " ".join(named) or AUDITORS
