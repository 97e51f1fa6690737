"""What stands in the folder of a dataset and no export wrote: it stays when one is made anew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from kbsite.dataset.card import CARD, RUNS

MARKER = ".kbsite-dataset"
"""File that says what an export wrote into a folder, so that the next one may replace just that."""
_OURS = frozenset({CARD, RUNS, "transcripts", "solutions", "annotations"})
"""What an export that did not tell wrote, with all that is in it."""


class Written(Struct, frozen=True):
    """What MARKER tells."""

    head: Mapping[str, object] = {}
    """Of the card, as the export would have written it."""
    digest: str = ""
    """Of the card's text; empty where it is not known."""
    files: frozenset[str] | None = None
    """By path within the folder; None where that is not known."""

    @property
    def text(self) -> str:
        """The marker; in ASCII, since a name may hold bytes that are no UTF-8."""
        told = {"head": self.head, "card": self.digest, "files": sorted(self.files or ())}
        return f"{json.dumps(told, indent=0)}\n"


def written(folder: Path) -> Written:
    """What an export wrote into a folder; as good as nothing where its marker does not tell."""
    try:
        told = json.loads((folder / MARKER).read_bytes())
        head, digest, files = told["head"], told["card"], told["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Written()
    if isinstance(head, dict) and isinstance(digest, str) and isinstance(files, list):
        return Written(head, digest, frozenset(filter(_is_text, files)))
    return Written()


def _is_text(one: object) -> bool:
    return isinstance(one, str)


def others(folder: Path) -> list[str]:
    """Paths within a folder that no export wrote; a folder of nothing else is one of them."""
    files = written(folder).files
    holding = {str(above) for file in files or () for above in PurePosixPath(file).parents}
    return list(_others(folder, "", files, holding))


def _others(
    folder: Path, at: str, files: Iterable[str] | None, holding: Iterable[str]
) -> Iterator[str]:
    for one in sorted(os.scandir(folder / at), key=lambda entry: entry.name):
        path = f"{at}{one.name}"
        if path == MARKER or (files is None and path in _OURS):
            continue
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
