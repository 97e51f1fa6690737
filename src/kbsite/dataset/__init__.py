"""The runs of a site as a dataset for the Hugging Face hub: lines, transcripts, annotations, card.

    README.md                     the dataset card
    runs.jsonl                    a run a line
    transcripts/<run-id>/...      what its CLI wrote
    solutions/<run-id>/...        solution.py and the files that it needs
    annotations/<run-id>.yaml     its audit

Whatever is covered on the site is covered here: files are read as the build reads them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kbsite.dataset.card import CARD, LINE, RUNS, Card, card, card_at
from kbsite.dataset.kept import MARKER, OURS, STAGE, Written, move, others, written
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.exports.plain import plain
from kbsite.late import HALF
from kbsite.model.listing import ListedRun
from kbsite.pages import listing
from kbsite.pages.file_names import cut
from kbsite.pages.page import Site
from kbsite.pages.social import base_url
from kbsite.store.alone import alone_in
from kbsite.store.files import Stored
from kbsite.store.folders import make_folder
from kbsite.store.run_folders import AUDIT, SIDECARS, SOLUTION, TRANSCRIPT
from kbsite.store.runs import StoredRun
from kbsite.store.swapping import put_in_place
from kbsite.store.writing import write_bytes, write_text

__all__ = ["CARD", "LINE", "MARKER", "RUNS", "card", "write_dataset"]


def write_dataset(site: Site, out: Path) -> int:
    """Write the dataset, whole or not at all; how many runs it holds.

    Files that no export wrote stay, such as a licence, or the history of a folder that is pushed
    to the hub; so does what a person changed in the card's head, or wrote below its LINE.
    UsageError where something stands at its place that no export made, or would have to go;
    InputError where of all its runs none is left; MachineError where a file of a run is gone since.

    The folder itself is not replaced: somebody may stand in it, or it may be a disk of its own.
    Whoever is killed while a handful of names change places leaves some of them old, for the next
    export to mend. Exports into one folder wait for each other.
    """
    out = out.resolve()
    make_folder(out)
    with alone_in(out):
        return _exported(site, out)


def _exported(site: Site, out: Path) -> int:
    """Write the dataset into a folder that is there, and nobody else's; how many runs it holds."""
    _refuse_others(out)
    new = out / STAGE
    # Of an export that was killed.
    _settle(new, out)
    try:
        count, told = _write(site, new, out)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    # First what tells of all that is in either.
    for name in (MARKER, *OURS):
        if os.path.lexists(new / name):
            put_in_place(new / name, out / name)
        elif os.path.lexists(out / name):
            (out / name).rename(new / name)
    _settle(new, out)
    write_text(out / MARKER, told.text)
    return count


def _write(site: Site, new: Path, out: Path) -> tuple[int, Written]:
    """Write all of it into a folder; how many runs it holds, and what was written.

    Its marker tells of what the last export wrote, too.
    """
    listed = listing.listed(site)
    if not listed:
        _refuse_lost(out)
    own, before = card(site, listed), written(out)
    whole = _merged(own, out, before)
    lines = [_line(site, run, new) for run in listed]
    write_text(new / RUNS, "".join(lines))
    write_text(new / CARD, whole)
    for path in others(out, before.files):
        if path != CARD and os.path.lexists(new / path):
            raise UsageError(f"{out / path}: not made by an export, so not replaced; move it away")
    made = (one.relative_to(new) for one in new.rglob("*") if not one.is_dir())
    told = Written([(own.head, own.digest)], frozenset(map(str, made)))
    both = Written(
        [*told.cards, *before.cards], frozenset({*(told.files or ()), *(before.files or ())})
    )
    write_text(new / MARKER, both.text)
    return len(listed), told


def _refuse_lost(out: Path) -> None:
    """Raise InputError where a dataset stands that has runs, and none is to take their place."""
    if (out / RUNS).is_file() and (out / RUNS).stat().st_size:
        message = "no run was found, and the dataset that stands has runs. It stays as it is"
        raise InputError(f"{message}: bring the runs back, or name another folder", path=out)


def _refuse_others(out: Path) -> None:
    """Raise UsageError where something stands that no export made, and that one would hide."""
    names = {one.name for one in out.iterdir()}
    if MARKER in names:
        return
    # What the hub makes: a history, and a card that has a head at most.
    held = {name for name in names if not name.startswith(".")}
    if held - {CARD} or (CARD in held and card_at(out).text.strip()):
        message = "not made by an export, so not replaced; empty it or name another"
        raise UsageError(f"{out}: {message}")


def _settle(new: Path, out: Path) -> None:
    """Remove what an export left aside; what others had in it goes back to where it was."""
    if new.is_dir():
        one, other = written(new).files, written(out).files
        move(others(new, None if one is None or other is None else one | other), new, out)
    shutil.rmtree(new, ignore_errors=True)


def _merged(own: Card, out: Path, before: Written) -> str:
    """The card, with what a person wrote into the one that stands there."""
    held = card_at(out)
    if before.cards and (out / CARD).exists() and held.digest not in (d for _, d in before.cards):
        message = f"changed by hand, so not replaced; what you write is kept below the line {LINE}"
        raise UsageError(f"{out / CARD}: {message}, or delete the file")
    return own.over(held, [head for head, _ in before.cards]).whole


def _line(site: Site, run: ListedRun, folder: Path) -> str:
    """The line of a run, whose files are put in their places."""
    stored = site.by_id[run.id]
    told: dict[str, object] = msgspec.to_builtins(run)
    base = base_url(site)
    told["page"] = f"{base}{told['page']}" if base else None
    told |= {
        "grader": stored.metrics.grader,
        "summary": stored.audit.summary if stored.audit else None,
        "implication": stored.audit.implication if stored.audit else None,
        "transcripts": list(_put(_transcripts(stored), folder)),
        "solutions": list(_put(_solutions(stored), folder)),
        "annotation": next(_put(_annotation(stored), folder), None),
    }
    return json.dumps(plain(told), allow_nan=False) + "\n"


def _put(files: Iterator[tuple[str, Stored]], folder: Path) -> Iterator[str]:
    for held, file in files:
        # Of a name with bytes that are no UTF-8 neither JSON nor the hub knows anything.
        name = HALF.sub(lambda half: f"%{ord(half[0]) & 0xFF:02X}", held)
        try:
            data = file.read()
        except OSError as error:
            why = f"cannot be read any more: {error.strerror or error}"
            cure = "the dataset stays as it is, export it again"
            raise MachineError(f"{file.at}: {why}; {cure}") from error
        write_bytes(folder / name, data)
        yield name


def _transcripts(stored: StoredRun) -> Iterator[tuple[str, Stored]]:
    for file in stored.files:
        if file.name.startswith(TRANSCRIPT):
            yield f"transcripts/{stored.run.id}/{file.name.removeprefix(TRANSCRIPT)}", file


def _solutions(stored: StoredRun) -> Iterator[tuple[str, Stored]]:
    for file in stored.files:
        if file.name == SOLUTION or file.name.startswith(SIDECARS):
            yield f"solutions/{stored.run.id}/{file.name}", file


def _annotation(stored: StoredRun) -> Iterator[tuple[str, Stored]]:
    file = stored.file(AUDIT)
    if file is not None and stored.audit is not None:
        yield f"annotations/{_file_name(stored.run.id)}.yaml", file


_LONGEST = 200
"""Bytes of a run's id from which it is cut where it begins the name of a file: systems have names
of 255."""


def _file_name(run_id: str) -> str:
    """The id as a name that letters may follow; no two runs have the same."""
    size = len(run_id.encode("utf-8", "surrogateescape"))
    return run_id if size <= _LONGEST else cut(run_id, _LONGEST - 20)
