"""A site that stands in a folder, published to a bucket: what changed of it, in a careful order.

A reader who comes at any moment, also after a kill, finds each page as it was or as it will be,
with all that it loads and leads to. The next time goes on where this one ended.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

from kbsite.errors import MachineError, UsageError
from kbsite.model.finding import Finding, Severity
from kbsite.object_storage.bucket import Bucket
from kbsite.object_storage.digests import Digests, digests
from kbsite.object_storage.failures import MissingError
from kbsite.object_storage.headers import RULES, cache_control, content_type
from kbsite.object_storage.listing import is_marker, refusal
from kbsite.object_storage.manifest import INTENT, MANIFEST, Manifest, Sent, decoded, encoded
from kbsite.object_storage.order import dropping, sending
from kbsite.object_storage.provider import Entry
from kbsite.object_storage.together import together
from kbsite.pages.page import INDEX
from kbsite.reading import MARKER
from kbsite.store.alone import alone
from kbsite.store.files import Stored, contents
from kbsite.store.swapping import VERSIONS

if TYPE_CHECKING:
    from kbsite.model.work import Tick

_OWN = (MANIFEST, INTENT)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ROUNDS = 6
"""How often a site is sent where somebody else publishes there at the same time."""
PAUSE = 0.2
"""Seconds that are waited at most before the second time; then twice as many each time."""
_LARGEST = 1_000_000_000
"""Bytes of a manifest that is read: of several million files."""


@dataclass(slots=True)
class Published:
    """What was done to publish a site."""

    sent: int = 0
    sent_bytes: int = 0
    kept: int = 0
    """Files that were there already, as they are."""
    dropped: int = 0
    findings: list[Finding] = field(default_factory=list)


def publish(bucket: Bucket, site: Path, tick: Tick | None = None) -> Published:
    """Let a bucket hold what the site in a folder holds.

    UsageError where `site` is no site, or the bucket holds what kbsite did not publish there;
    StorageError or UnreachableError where the bucket does not take it: what it held until then is
    whole, and the next time goes on.
    """
    refuse_no_site(site)
    with alone(site):
        return _Publishing(bucket, site).bring(tick)


def refuse_no_site(folder: Path) -> None:
    """Raise UsageError where a folder is no site."""
    # Of a site that somebody emptied, what begins with a dot may be left.
    if not all((folder / name).is_file() for name in (MARKER, INDEX)):
        raise UsageError(f"{folder}: no site; make it with `kbsite build`")


@dataclass(frozen=True, slots=True)
class _Before:
    """What was published, and what a publishing that was broken off meant to."""

    manifest: Manifest
    intent: Manifest
    begun: float
    """When that was begun, by the clock of the service."""
    whole: bool
    """Whether none was broken off."""
    known: bool
    """Whether it is known what was published."""

    @property
    def ours(self) -> set[str]:
        """Every object that was ever published."""
        return {*self.manifest.files, *self.intent.files}

    def holds(self, held: Digests, entry: Entry | None) -> bool:
        """Whether the bucket holds a file as it is."""
        return entry is not None and (self._stands(held, entry) or self._arrived(held, entry))

    def _stands(self, held: Digests, entry: Entry) -> bool:
        """Whether the manifest says so, and the listing fits that."""
        told = self.manifest.files.get(entry.key)
        as_told = told == Sent(held.sha256, held.size, entry.version)
        return as_told and entry.size == held.size and self.manifest.headers == RULES

    def _arrived(self, held: Digests, entry: Entry) -> bool:
        """Whether the one that was broken off had sent it.

        It meant to, the object is younger than that, and the bucket tells the right MD5 of it.
        """
        meant = self.intent.files.get(entry.key)
        return (
            meant is not None
            and meant.sha256 == held.sha256
            and self.intent.headers == RULES
            and entry.written >= self.begun
            and (entry.md5, entry.size) == (held.md5, held.size)
        )


@dataclass(slots=True)
class _Publishing:
    """A site on its way."""

    bucket: Bucket
    site: Path
    done: Published = field(default_factory=Published)

    def bring(self, tick: Tick | None) -> Published:
        """Do all of it."""
        files = self._files()
        held = digests(files.values(), self.site.with_name(f".{self.site.name}.digests.json"))
        there = self._listed()
        before = self._before(there)
        self._tell_of_foreign(there, before, files)
        self._leave(there, before, files, held)
        wanted = [key for key in files if not before.holds(held[key], there.get(key))]
        gone = [key for key in there if key in before.ours and key not in files]
        self.done.kept = len(files) - len(wanted)
        if wanted or gone or not before.whole:
            self._write(INTENT, _manifest(held, there, gone))
            ours = self._bring(held, wanted, gone, there, files, tick)
            self._write(MANIFEST, _manifest(held, ours, ()))
            self.bucket.drop(INTENT)
        return self.done

    def _bring(
        self, held: Mapping[str, Digests], wanted: list[str], gone: Collection[str],
        there: Mapping[str, Entry], files: Mapping[str, Stored], tick: Tick | None,
    ) -> Mapping[str, Entry]:  # fmt: skip
        """Send and delete, again where somebody else does so meanwhile; what is ours then.

        Whoever ends last mends what the other one left.
        """
        for number in range(_ROUNDS):
            self._send(wanted, there, files, tick)
            self._drop(gone)
            there, gone = self._listed(), ()
            wanted = _lost(held, there)
            if not wanted:
                return there
            # Two that take turns by chance do not go on for ever.
            time.sleep(SystemRandom().uniform(0, PAUSE * 2**number))
        message = f"somebody else publishes here; {len(wanted)} files are not this site's"
        url = self.bucket.url(wanted[0])
        self.done.findings.append(Finding(Severity.ERROR, url, f"{message}: publish again"))
        return {key: entry for key, entry in there.items() if key not in wanted}

    def _before(self, there: Mapping[str, Entry]) -> _Before:
        """What was published until now; UsageError where somebody else's objects are."""
        if there and not any(name in there for name in _OWN):
            cure = "choose a prefix under which there is nothing"
            raise UsageError(f"{self.bucket.url('')}: not published by kbsite, so not used; {cure}")
        manifest, intent = (self._told(there, name) for name in _OWN)
        whole = manifest is not None and intent is None
        begun = there[INTENT].written if intent else 0.0
        known = manifest is not None
        return _Before(manifest or Manifest(), intent or Manifest(), begun, whole, known)

    def _files(self) -> dict[str, Stored]:
        """The files of the site that can be objects, by name.

        MachineError where nobody sees what a folder of it holds: all that would be deleted. What
        keeps versions of a site is no part of it.
        """
        found, refused = contents(self.site)
        for odd in refused:
            if _is_of_versions(odd.name):
                continue
            if odd.severity is Severity.ERROR:
                raise MachineError(f"{self.site / odd.name}: {odd.told}")
            self._tell_of_unsent(odd.name, odd.reason)
        files = {}
        for file in found:
            if _is_of_versions(file.name):
                continue
            why = refusal(file.name)
            if not why and self.bucket.provider.ambiguous(file.name):
                why = "it could mean another object"
            if not why and _CONTROL.search(file.name):
                why = "its name holds a control character, which not every service takes"
            if why:
                self._tell_of_unsent(file.name, why)
            else:
                files[file.name] = file
        return files

    def _tell_of_unsent(self, name: str, why: str) -> None:
        path = str(self.site / name)
        self.done.findings.append(Finding(Severity.ERROR, path, f"not published: {why}"))

    def _listed(self) -> dict[str, Entry]:
        return {entry.key: entry for entry in self.bucket.entries() if not is_marker(entry)}

    def _told(self, there: Mapping[str, Entry], name: str) -> Manifest | None:
        """What a manifest in the bucket says; None where there is none that can be used."""
        entry = there.get(name)
        if entry is None or entry.size > _LARGEST:
            return None
        try:
            return decoded(self.bucket.read(entry))
        except MissingError:
            return None

    def _tell_of_foreign(
        self, there: Mapping[str, Entry], before: _Before, files: Mapping[str, Stored]
    ) -> None:
        known = {*_OWN, *before.ours, *files}
        foreign = [key for key in there if key not in known]
        if foreign:
            message = f"not published by kbsite, and left alone; one of {len(foreign)} such objects"
            url = self.bucket.url(foreign[0])
            self.done.findings.append(Finding(Severity.WARNING, url, message))

    def _leave(
        self, there: Mapping[str, Entry], before: _Before, files: dict[str, Stored],
        held: dict[str, Digests],
    ) -> None:  # fmt: skip
        """Let go of the files in whose places other objects stand that kbsite did not publish."""
        cure = "delete it, or take it elsewhere, and publish again"
        message = f"not published: kbsite did not publish what stands there; {cure}"
        for key in [key for key in files if key in there and key not in before.ours]:
            same = (there[key].md5, there[key].size) == (held[key].md5, held[key].size)
            if before.known and not same:
                self.done.findings.append(Finding(Severity.ERROR, self.bucket.url(key), message))
                del files[key], held[key]

    def _send(
        self, wanted: list[str], there: Collection[str], files: Mapping[str, Stored],
        tick: Tick | None,
    ) -> None:  # fmt: skip
        new = [key for key in wanted if key not in there]
        steps = sending(new, [key for key in wanted if key in there])
        count = len(wanted)

        def send(key: str) -> None:
            self.bucket.send(files[key].path, key, content_type(key), cache_control(key))

        for step in steps:
            for key in _each(send, step):
                self.done.sent += 1
                self.done.sent_bytes += files[key].size
                if tick:
                    tick(key, self.done.sent, count)

    def _drop(self, gone: Collection[str]) -> None:
        for step in dropping(gone):
            self.done.dropped += len(list(_each(self.bucket.drop, step)))

    def _write(self, name: str, manifest: Manifest) -> None:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(encoded(manifest))
            file.flush()
            self.bucket.send(Path(file.name), name, "application/json", "no-cache")


def _is_of_versions(name: str) -> bool:
    """Whether it is of what keeps the versions of a site: nobody's to read who reads the site."""
    return name.partition("/")[0] in VERSIONS


def _each(work: Callable[[str], None], keys: list[str]) -> Iterator[str]:
    """The keys of a step for which the work is done; the first error ends the step."""
    for key, ended in together(work, keys):
        if isinstance(ended, BaseException):
            raise ended
        yield key


def _lost(held: Mapping[str, Digests], there: Mapping[str, Entry]) -> list[str]:
    """The files of a site that the bucket does not hold, though all of them were sent."""
    pairs = [(key, one, there.get(key)) for key, one in held.items()]
    # A bucket that encrypts tells something else than MD5s, of all objects.
    tells = any(entry and entry.md5 == one.md5 for _, one, entry in pairs)
    return [
        key for key, one, entry in pairs
        if entry is None or entry.size != one.size
        or (tells and entry.md5 and entry.md5 != one.md5)
    ]  # fmt: skip


def _manifest(
    held: Mapping[str, Digests], there: Mapping[str, Entry], gone: Collection[str]
) -> Manifest:
    """All files of a site, with the versions of their objects; and what is to be deleted."""
    leaving = {key: Sent("", there[key].size) for key in gone}
    staying = {
        key: Sent(one.sha256, one.size, there[key].version if key in there else "")
        for key, one in held.items()
    }
    return Manifest(files={**leaving, **staying})
