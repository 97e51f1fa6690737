"""What stands in the folder of a dataset and no export wrote: it stays when one is made anew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from kbsite.dataset.card import CARD, RUNS
from kbsite.whole import is_left_over

MARKER = ".kbsite-dataset"
"""File that says what an export wrote into a folder, so that the next one may replace just that."""
OURS = ("transcripts", "solutions", "annotations", RUNS, CARD)
"""What an export writes, but for the marker; all that is in these, of one that did not tell."""
STAGE = f"{MARKER}.partial"
"""Folder within that of the dataset in which an export writes what then takes its place."""


class Written(Struct, frozen=True):
    """What MARKER tells."""

    cards: Sequence[tuple[Mapping[str, object], str]] = ()
    """Heads of its card and the digests of their texts, as no person had changed them.

    More than one while an export takes the place of another: who is killed may leave either.
    """
    files: frozenset[str] | None = None
    """By path within the folder; None where that is not known."""

    @property
    def text(self) -> str:
        """The marker; in ASCII, since a name may hold bytes that are no UTF-8."""
        cards = [{"head": head, "text": digest} for head, digest in self.cards]
        return f"{json.dumps({'cards': cards, 'files': sorted(self.files or ())}, indent=0)}\n"


def written(folder: Path) -> Written:
    """What an export wrote into a folder; as good as nothing where its marker does not tell."""
    try:
        told = msgspec.convert(json.loads((folder / MARKER).read_bytes()), _Told)
    except (OSError, ValueError, RecursionError):
        return Written()
    return Written([(one.head, one.text) for one in told.cards], frozenset(told.files))


class _ToldCard(Struct, frozen=True):
    head: dict[str, Any]
    text: str


class _Told(Struct, frozen=True):
    cards: list[_ToldCard]
    files: list[str]


def others(folder: Path, files: frozenset[str] | None) -> list[str]:
    """Paths within a folder other than `files`, or OURS; a folder of nothing else is one path."""
    holding = {str(above) for file in files or () for above in PurePosixPath(file).parents}
    return list(_others(folder, "", files, holding))


def _others(
    folder: Path, at: str, files: Iterable[str] | None, holding: Iterable[str]
) -> Iterator[str]:
    for one in sorted(os.scandir(folder / at), key=lambda entry: entry.name):
        path = f"{at}{one.name}"
        if path in (MARKER, STAGE) or (files is None and path in OURS):
            continue
        if is_left_over(path):
            continue  # half a file, of an export that was killed
        if path in holding and one.is_dir(follow_symlinks=False):
            yield from _others(folder, f"{path}/", files, holding)
        elif files is None or path not in files:
            yield path


def move(paths: Iterable[str], old: Path, new: Path) -> None:
    """Put what stands in one folder into another, except where there is something already."""
    for path in paths:
        place = new / path
        if not os.path.lexists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            (old / path).rename(place)
