"""One run looked at for what is to be hidden of it, here or wherever its files are sent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import SEEK_END
from pathlib import Path

from kbsite.hiding.allowed import allowed
from kbsite.hiding.files import Seen
from kbsite.model.config import Redact
from kbsite.model.redaction import Hidden, Span
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Found, Looker
from kbsite.redaction.titles import DENIED, must_not_happen
from kbsite.store.files import Stored, arrived


@dataclass(frozen=True)
class Looking:
    """Looks at runs, by the rules of a site."""

    rules: Redact
    denied: tuple[bytes, ...] = ()

    @cached_property
    def looker(self) -> Looker:
        """What looks at bytes."""
        return Looker(
            Known(Value(value, DENIED) for value in self.denied), self.rules.private_addresses
        )

    @cached_property
    def named(self) -> dict[str, Found]:
        """What rules find in names of files."""
        return {}

    def do(self, told: tuple[str, tuple[Stored, ...]], folder: Path) -> Hidden:
        """What is to be hidden of a run whose files lie in a folder, each under its number."""
        run, files = told
        return self.look(run, arrived(files, folder))

    def look(
        self, run: str, files: Sequence[Stored], known: Callable[[Stored], str] = lambda _: ""
    ) -> Hidden:
        """What is to be hidden of a run, which is called board/run.

        `known` is what tells the digest of a file, where somebody has read it for that before.
        """
        if not self.rules.on:
            return Hidden()
        seen = Seen(self.looker, self.named)
        for file in files:
            seen.see(file)
        seen.again()
        kept = {
            name: tuple(self._kept(f"{run}/{name}", name, spans, seen))
            for name, spans in seen.spans.items()
        }
        hidden = {name: held for name, held in kept.items() if held}
        names = _unique({file.name: seen.name(file.name) for file in files})
        before, after, sizes = {}, {}, {}
        for file in files:
            if file.name in hidden:
                before[file.name] = known(file) or _digest(file)
                shown = replace(file, hidden=hidden[file.name])
                after[file.name] = _digest(shown)
                if hidden[file.name][0].member >= 0:
                    sizes[file.name] = _size(shown)
        return Hidden("", hidden, names, before, after, self._called(run), sizes)

    def _called(self, run: str) -> tuple[str, ...]:
        """The rules on which a strict build fails that find something in the id of a run."""
        own = run.rpartition("/")[2].encode("utf-8", "surrogateescape")
        told = {
            span.rule
            for span in self.looker.look(own).spans
            if must_not_happen(span.rule)
            and not allowed(self.rules.allow, span, run, own[span.start : span.end])
        }
        return tuple(sorted(told))

    def _kept(self, place: str, name: str, spans: Sequence[Span], seen: Seen) -> Iterator[Span]:
        if not self.rules.allow:
            yield from spans
            return
        for span in spans:
            if not allowed(self.rules.allow, span, place, seen.value(name, span)):
                yield span


def _digest(file: Stored) -> str:
    """The SHA-256 of what the site shows of a file; empty of one that cannot be read."""
    try:
        with file.open() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
    except OSError:
        return ""


def _size(file: Stored) -> int:
    """How many bytes the site shows of an archive that is packed anew."""
    try:
        with file.open() as stream:
            return stream.seek(0, SEEK_END)
    except OSError:
        return file.size


def _unique(names: Mapping[str, str]) -> dict[str, str]:
    """New names of files that are called otherwise; no two the same, and none that of another."""
    taken = {old for old, new in names.items() if old == new}
    found = {}
    for old, new in names.items():
        if old == new:
            continue
        own, number = new, 1
        while own in taken:
            number += 1
            own = f"{new}-{number}"
        taken.add(own)
        found[old] = own
    return found
