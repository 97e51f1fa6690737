"""Where a site does not keep what it says of its audits: runs that nobody read, unproven quotes.

It is no fault of a file, so no page is left out for it; a strict build fails on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kbsite.model.finding import Finding, Severity
from kbsite.pages.page import Site
from kbsite.store.parsing import InvalidFileError, read_text
from kbsite.store.places import lines_of
from kbsite.store.runs import AUDIT, StoredRun


def unmet(site: Site, config: Path) -> Iterator[Finding]:
    """All of it, as warnings; `config` is the kbsite.yaml that says what is due."""
    yield from unread(site, config)
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


def _unproven(site: Site, stored: StoredRun) -> Iterator[Finding]:
    """A warning for each quote of a run's audit that does not stand where it says."""
    proofs = enumerate(site.proofs.get(stored.run.id, ()))
    doubtful = {f"quotes[{number}]": proof for number, proof in proofs if not proof.proven}
    path = stored.folder / AUDIT
    for (key, proof), line in zip(doubtful.items(), _lines(path, list(doubtful)), strict=True):
        message = f"not proven: {proof.quote.file}: {proof.state.sentence}"
        yield Finding(Severity.WARNING, str(path), message, line, key)


def _lines(path: Path, keys: Sequence[str]) -> list[int | None]:
    """The line that each key of a file stands in; None where it cannot be told."""
    if not keys:
        return []
    try:
        return lines_of(read_text(path), [f".{key}" for key in keys])
    except InvalidFileError:
        # It was read a moment ago; without it there are no lines to name.
        return [None] * len(keys)
