"""What a site leaves undone: audits due, quotes without proof, runs and boards without each other.

It is no fault of a file, so no page is left out for it; a strict build fails on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from kbsite.model.counts import number_of
from kbsite.model.finding import Finding, Severity, short
from kbsite.pages.page import Site
from kbsite.store.parsing import InvalidFileError, read_text
from kbsite.store.places import lines_of
from kbsite.store.run_folders import AUDIT
from kbsite.store.runs import StoredRun
from kbsite.store.settings import Settings

NAMED = 20
"""Unproven quotes of an audit that are named; the others are counted."""


def unmet(site: Site, settings: Settings) -> Iterator[Finding]:
    """All of it, as warnings; `settings` are of the kbsite.yaml that says what is due."""
    yield from unread(site, settings.path)
    yield from _gone(settings)
    yield from left_out(site, settings)
    for stored in site.runs:
        if stored.run.id in site.proofs:
            yield from _unproven(site, stored)


def unread(site: Site, config: Path) -> Iterator[Finding]:
    """One warning for each board that has not all the audits that its rule wants."""
    for board in site.boards:
        coverage = board.coverage()
        if coverage.missing:
            message = (
                f"{coverage.missing} of {coverage.due} audits that are due are missing;"
                " `kbsite audit queue` lists them"
            )
            yield Finding(Severity.WARNING, str(config), message, key=f"boards.{board.config.id}")


def _gone(settings: Settings) -> Iterator[Finding]:
    """A warning for each folder of runs that a board names and that is not there."""
    if not settings.runs.is_dir():
        return  # that is told by itself
    config = str(settings.path)
    for board in settings.config.boards:
        for name in board.runs or (board.id,):
            if not (folder := settings.runs / name).is_dir():
                message = f"there is no folder {folder} for its runs"
                yield Finding(Severity.WARNING, config, message, key=f"boards.{board.id}")


def left_out(site: Site, settings: Settings) -> Iterator[Finding]:
    """Runs that nobody meant to leave out: of boards that refuse all of theirs, and of none."""
    config = str(settings.path)
    on_boards: set[str] = set()
    for board in site.boards:
        on_boards.update(one.run_id for one in board.refused)
        on_boards.update(one.run.id for one in board.attempts)
        if board.refused and not board.rows:
            one = board.refused[0]
            all_of_them = f"all that it has, {number_of(len(board.refused), 'run')}"
            message = f"it refuses {all_of_them}; {one.run_id}: {one.reason}"
            yield Finding(Severity.WARNING, config, message, key=f"boards.{board.config.id}")
    others = (stored for stored in site.runs if stored.run.id not in on_boards)
    for folder, count in sorted(Counter(stored.folder.parent for stored in others).items()):
        name = folder.relative_to(settings.runs) if folder.is_relative_to(settings.runs) else folder
        message = (
            f"none takes the runs in {folder}, {count} in all; a board with {name} under runs does"
        )
        yield Finding(Severity.WARNING, config, message, key="boards")


def _unproven(site: Site, stored: StoredRun) -> Iterator[Finding]:
    """A warning for each of the first quotes of an audit that do not stand where they say."""
    proofs = enumerate(site.proofs.get(stored.run.id, ()))
    doubtful = {f"quotes[{number}]": proof for number, proof in proofs if not proof.proven}
    path = stored.folder / AUDIT
    named = dict(islice(doubtful.items(), NAMED))
    for (key, proof), line in zip(named.items(), _lines(path, list(named)), strict=True):
        message = f"not proven: {short(proof.quote.file)}: {proof.state.sentence}"
        yield Finding(Severity.WARNING, str(path), message, line, key)
    if len(doubtful) > NAMED:
        message = (
            f"{len(doubtful)} quotes are not proven in all, {len(doubtful) - NAMED} not named here"
        )
        yield Finding(Severity.WARNING, str(path), message, key="quotes")


def _lines(path: Path, keys: Sequence[str]) -> list[int | None]:
    """The line that each key of a file stands in; None where it cannot be told."""
    if not keys:
        return []
    try:
        return lines_of(read_text(path), [f".{key}" for key in keys])
    except InvalidFileError:
        # It was read a moment ago; without it there are no lines to name.
        return [None] * len(keys)
