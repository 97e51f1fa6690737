"""Which CLI wrote a file, told from its content alone.

Only here: everywhere else a run says which CLI wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kbsite import harnesses
from kbsite.errors import InputError, UsageError
from kbsite.harnesses.form import Format, HarnessModule, Read
from kbsite.harnesses.lines import BOM, LONGEST, Record, lines, parsed, records, spread
from kbsite.model.event import Malformed
from kbsite.store.records import InvalidFileError

_HEAD_OBJECTS = 20
_HEAD_LINES = 2000
_HEAD_SIZE = 10_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and the formats that it may be of, the richest of a CLI first."""

    path: Path
    candidates: Mapping[str, Format]
    """By harness."""


def modules(harness: str | None) -> list[HarnessModule]:
    """All CLIs, or the one asked for; UsageError where that is not known."""
    if harness is None:
        return harnesses.ALL
    if harness in harnesses.APART:
        return [harnesses.BY_ID[harness]]
    found = [one for one in harnesses.ALL if one.HARNESS.id == harness]
    if not found:
        known = ", ".join((*(one.HARNESS.id for one in harnesses.ALL), *harnesses.APART))
        raise UsageError(f"no transcripts of {harness!r} can be read; known are {known}")
    return found


def _unread(path: Path) -> str:
    """What has to be done before a file can be read, where its first bytes tell."""
    with path.open("rb") as stream:
        begin = stream.read(4)
    cures = (how for magic, how in _OTHERWISE.items() if begin.startswith(magic))
    return next((f"{cure}; it is " for cure in cures), "")


def _empty(path: Path) -> str:
    return "" if path.stat().st_size else ", as it is empty"


_UTF_16 = "is UTF-16, as some shells write it: make it UTF-8 by `iconv -f UTF-16 -t UTF-8`"
_OTHERWISE = {
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x1f\x8b": "is packed with gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "is packed with Zstandard: unpack it first",
}
"""What files begin with that may hold a transcript in another form."""


def recognised_sources(paths: Sequence[Path], among: Sequence[HarnessModule]) -> list[Source]:
    """The files with their candidates; InvalidFileError names every file that has none."""
    found = []
    for path in paths:
        forms = [(m.HARNESS.id, form) for m in among for form in reversed(m.FORMATS)]
        heads = {read: head(path, read) for read in {_by_head(form) for _, form in forms}}
        candidates = {
            wrote: form for wrote, form in forms if form.recognises(heads[_by_head(form)])
        }
        found.append(Source(path, candidates))
    known = f"known formats are {_known(among)}"
    lost = [
        InputError(
            f"{_unread(one.path)}not recognised as a transcript{_empty(one.path)}; {known}",
            path=one.path,
        )
        for one in found
        if not one.candidates
    ]
    if lost:
        raise InvalidFileError(lost)
    return found


def _known(modules: Sequence[HarnessModule]) -> str:
    known = [f"{form.id} ({form.title})" for module in modules for form in module.FORMATS]
    return ", ".join(known) or "none"


def one_harness(sources: Sequence[Source]) -> str:
    """The one CLI that may have written all files; UsageError where that is none, or several."""
    common = set.intersection(*(set(source.candidates) for source in sources))
    if len(common) == 1:
        return common.pop()
    told = "; ".join(f"{s.path.name}: {' or '.join(sorted(s.candidates))}" for s in sources)
    if common:
        raise UsageError(f"more than one CLI may have written this ({told}); give --harness")
    raise UsageError(f"the files are of different CLIs ({told}); import them one by one")


def _by_head(form: Format) -> Read:
    """How the head of a file is read: a document is known by its lines, too, and parsed once."""
    return lines if form.read is spread else form.read


def head(path: Path, read: Read) -> list[Mapping[str, object]]:
    """The first JSON objects of a file: its rows, or the top level of its one document."""
    with path.open("rb") as stream:
        rows = records(islice(read(stream), _HEAD_LINES), path.name)
        first = next(rows, None)
        if isinstance(first, Record) or first is None:
            whole = [] if first is None else [first.value]
        else:
            whole = _document(path, first.text)
            if whole:
                return whole
        return [*whole, *islice(_small(rows), _HEAD_OBJECTS - len(whole))]


def _small(rows: Iterable[Record | Malformed]) -> Iterator[Mapping[str, object]]:
    """Objects until they are large: samples of an archive may be, and are in memory together."""
    size = 0
    for row in rows:
        if isinstance(row, Record):
            yield row.value
            size += len(row.raw)
        if size > _HEAD_SIZE:
            break


def _document(path: Path, start: str) -> list[Mapping[str, object]]:
    if start[0] not in "{[" or path.stat().st_size > LONGEST:
        return []
    try:
        document = parsed(
            path.read_bytes().decode("utf-8", "surrogateescape").strip(BOM), strict=True
        )
    except (ValueError, RecursionError):
        return []
    items = document if isinstance(document, list) else [document]
    return [item for item in items[:_HEAD_OBJECTS] if isinstance(item, dict)]


def recognised(path: Path, form: Format) -> bool:
    """Whether a file starts like one of a format."""
    return form.recognises(head(path, _by_head(form)))
