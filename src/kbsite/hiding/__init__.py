"""What is hidden of runs on their way to the site: each of their files looked at, and its name.

What is hidden depends on a run's files, on the rules and on kbsite.yaml, and on nothing else; a run
of which none of that changed is not looked at again. No file of a run is ever written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from importlib.util import find_spec
from os import getcwd
from pathlib import Path
from typing import Final

from msgspec import Struct, field, msgpack, structs

from kbsite import assets
from kbsite.engines import Engine, Errand, Lost, Parcel, engine_of
from kbsite.errors import MachineError
from kbsite.hiding.looking import Looking
from kbsite.model.config import Config, Redact
from kbsite.model.redaction import Hidden, Span, covered
from kbsite.store.files import (
    Refused,
    Stored,
    contents,
    numbered,
    sent_along,
    unread,
    within,
)
from kbsite.store.folders import PARTIAL
from kbsite.store.inputs import COMPILED, Below, Changes, Input, digest_of, inputs
from kbsite.store.run_folders import AUDIT, OWN, TRANSCRIPT, is_partial, run_folders
from kbsite.store.runs import StoredRun
from kbsite.store.settings import Settings, denied_of

__all__ = ["Hiding", "Looked", "denied_of", "hiding_of"]

_FASTER, _A_FILE = 20, 500
"""How much faster files are looked at than shown, and what each weighs beside."""


class Looked(Struct, frozen=True):
    """What a build hid of runs, for the next one to know."""

    rules: str = ""
    """Digest of what decides it beside the runs; empty where that is not known."""
    runs: str = ""
    """Where the runs lie."""
    folders: tuple[str, ...] = ()
    """Their folders, in order."""
    hidden: dict[str, Hidden] = field(default_factory=dict)
    """By the folder's absolute path: the next build may be started elsewhere."""
    program: dict[str, Input] = field(default_factory=dict)
    """The files that rules are made of."""


class Hiding(Struct, dict=True):
    """What is hidden of the runs of a site."""

    rules: Redact
    denied: tuple[bytes, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    """The files of the runs, by absolute path; a run with others is always looked at."""
    before: Looked = Looked()
    """What was hidden the last time."""
    touched: Collection[str] | None = None
    """Folders with a file, at any depth, that is not what it was then; None if nobody knows."""
    most: int = Config().most_file_bytes
    """Bytes of a file that is shown at all."""
    found: dict[str, Hidden] = field(default_factory=dict)
    """What is hidden now."""
    listed: dict[str, tuple[list[Stored], list[Refused]]] = field(default_factory=dict)
    """What was looked at of runs, for who reads them: nothing else of them is shown."""
    folders: tuple[Path, ...] | None = None
    """The folders of the runs, in order; None where nobody has looked for all of them."""
    engine: Engine = field(default_factory=engine_of)
    """Who looks."""
    meanwhile: Callable[[], None] | None = None
    """What there is to do while others look."""
    anew: list[Path] = field(default_factory=list)
    """The folders of the runs that were looked at, since nobody knew what to hide of them."""

    def look(self, folders: Iterable[Path]) -> None:
        """Look at runs; MachineError where that could not be done."""
        anew = [folder for folder in folders if not self._is_known(folder)]
        if not anew:
            return
        self.anew += anew
        listed = {folder: self.contents(folder) for folder in anew}
        files = {folder: held for folder, (held, _) in listed.items()}
        self.listed |= {str(folder): listed[folder] for folder in anew}

        def told(number: int, given: Hidden | Lost) -> None:
            folder = anew[number]
            if isinstance(given, Lost):
                raise MachineError(f"{folder}: nobody could look for what is to hide: {given.why}")
            self.found[str(folder)] = given

        weights = [_weight(files[folder]) for folder in anew]
        rest = self.meanwhile
        self.engine.each(
            self._errand(files), anew, weights, told, (lambda _: rest()) if rest else None
        )
        # Told in whatever order, it is found in that of the folders.
        found = {str(folder): self.found.pop(str(folder)) for folder in anew}
        self.found |= found

    def contents(self, folder: Path) -> tuple[list[Stored], list[Refused]]:
        """The files of a run that may be shown, and what else is there."""
        return within(self.most, contents(folder), self._unread)

    def _unread(self, file: Stored) -> int:
        """By which error a file cannot be read: as whoever looked at all files found, else now."""
        held = self.inputs.get(_absolute(file.at))
        return held.unread if held else unread(file)

    def _is_known(self, folder: Path) -> bool:
        """Whether it was told the last time what is hidden of a run; then that holds."""
        name = str(folder)
        path = _absolute(name)
        held = self.before.hidden.get(path)
        if held is None or not held.made_of:
            return False
        if self.touched is not None and self.before.rules == self._own:
            if path in self.touched:
                return False
        elif held.made_of != self._key(folder):
            return False
        self.found[name] = held
        return True

    def looked(self, settings: Settings) -> Looked:
        """What there is for the next build to know."""
        folders = tuple(map(str, self.folders or ()))
        hidden = {_absolute(name): one for name, one in self.found.items()}
        return Looked(self._own, str(settings.runs), folders, hidden, self._program)

    def says(self, folder: Path) -> tuple[str, str, str]:
        """Digests of what the site shows of a run's files.

        Of all, of all but its audit, and of all but what its transcript says; empty where that is
        not known.
        """
        hidden, shown = self.of(folder), {}
        for name, one in self._below.of(folder).items():
            if one.size > self.most:
                continue
            spans = hidden.files.get(name)
            covered_as = _digest_of_spans(spans) if spans else ""
            shown[hidden.names.get(name, name)] = structs.replace(one, hidden=covered_as)
        if not shown:
            return "", "", ""
        untold = {
            name: structs.replace(one, digest="", hidden="") if name.startswith(TRANSCRIPT) else one
            for name, one in shown.items()
        }
        unaudited = {name: one for name, one in shown.items() if name != AUDIT}
        return digest_of(shown), digest_of(unaudited), digest_of(untold)

    def holds(self, folder: Path) -> str:
        """Digest of the files of a folder, a problem's say; empty where that is not known."""
        held = self._below.of(folder)
        return digest_of(held) if held else ""

    def of(self, folder: Path) -> Hidden:
        """What is hidden of a run."""
        if str(folder) not in self.found:
            self.look([folder])
        return self.found[str(folder)]

    def shown(self) -> dict[str, Input]:
        """The files of the runs, with what is hidden of each."""
        held = dict(self.inputs)
        # Of many thousands of files something is hidden of few.
        for path in [path for path, one in held.items() if one.hidden]:
            held[path] = structs.replace(held[path], hidden="")
        for folder, hidden in self.found.items():
            home = _absolute(folder)
            for name, spans in hidden.files.items():
                path = f"{home}/{name}"
                if path in held:
                    held[path] = structs.replace(held[path], hidden=_digest_of_spans(spans))
        return held

    def text(self, text: str) -> str:
        """A text that tells of runs, with what is to be hidden of it covered."""
        if not self.rules.on:
            return text
        data = text.encode("utf-8", "surrogateescape")
        return covered(data, self._looking.looker.look(data).spans).decode(
            "utf-8", "surrogateescape"
        )

    def told(self, stored: StoredRun) -> StoredRun:
        """A run as it was read, with what is to be hidden of what was found wrong with it covered.

        Where a link leads, say, stands in none of its files.
        """
        if not stored.findings:
            return stored
        found = [replace(one, message=self.text(one.message)) for one in stored.findings]
        return structs.replace(stored, findings=tuple(found))

    @cached_property
    def _looking(self) -> Looking:
        return Looking(self.rules, self.denied)

    def _key(self, folder: Path) -> str:
        """Digest of all that decides what is hidden of a run; empty where that is not known."""
        held = self._below.of(folder)
        if not held:
            return ""
        whole = hashlib.sha256(self._own.encode("utf-8", "surrogateescape"))
        for name, one in held.items():
            whole.update(f"{one.holds}  {name}\0".encode("utf-8", "surrogateescape"))
        return whole.hexdigest()

    def _digest(self, file: Stored) -> str:
        """Digest of a file of a run; empty where that is not known."""
        held = self.inputs.get(_absolute(file.at))
        return held.digest if held else ""

    @cached_property
    def _below(self) -> Below:
        return Below(self.inputs)

    @cached_property
    def _own(self) -> str:
        denied = hashlib.sha256(b"\0".join(self.denied)).hexdigest()
        return f"{digest_of(self._program)} {self.rules!r} {self.most} {denied}"

    @cached_property
    def _program(self) -> dict[str, Input]:
        return _rule_files(self.before.program)

    def _errand(self, files: Mapping[Path, Sequence[Stored]]) -> Errand[Path, Hidden]:
        def here(folder: Path) -> Hidden:
            found = self._looking.look(_name(folder), files[folder], self._digest)
            return received(folder, found)

        def parcel(folder: Path) -> Parcel:
            held = files[folder]
            return Parcel((_name(folder), numbered(held)), sent_along(held))

        def received(folder: Path, found: Hidden) -> Hidden:
            return replace(found, made_of=self._key(folder))

        def afar() -> Looking:
            return Looking(self.rules, self.denied)

        return Errand(here, afar, lambda _: self.rules.on, parcel, received)


def _name(folder: Path) -> str:
    """What a run is called where kbsite.yaml allows something in it."""
    return f"{folder.parent.name}/{folder.name}"


def _absolute(folder: str) -> str:
    """The path of a folder, which may be told from where the build was started."""
    # A Path for each of thousands of runs takes as long as a page.
    return folder if folder.startswith("/") else f"{getcwd()}/{folder}"  # noqa: PTH109


def _weight(files: Sequence[Stored]) -> int:
    return sum(_A_FILE + file.size // _FASTER for file in files)


def _digest_of_spans(spans: Sequence[Span]) -> str:
    return hashlib.sha256(msgpack.encode(spans)).hexdigest()


_MADE_OF: Final = ("redaction", "hiding", "model/redaction.py", "late.py")
_LIBRARIES: Final = (("detect_secrets", "__version__.py"), ("re2", "."))
"""Packages of others that rules are made of, each with what of it tells which version it is.

Their metadata say it too, but to load what reads these takes longer than all else here.
"""


def _rule_files(before: Mapping[str, Input]) -> dict[str, Input]:
    """The files that rules are made of; `before` spares reading those that did not change."""
    held = inputs(
        [*(assets.PACKAGE / name for name in _MADE_OF), *_libraries()], before, apart=COMPILED
    )
    return {path: file for path, file in held.items() if COMPILED not in path}


def _libraries() -> Iterator[Path]:
    for package, telling in _LIBRARIES:
        found = find_spec(package)
        if found and found.origin:
            yield Path(found.origin).parent / telling


def hiding_of(
    settings: Settings,
    held: Mapping[str, Input],
    before: Looked = Looked(),  # noqa: B008 - unchangeable
    changes: Changes | None = None,
    engine: Engine | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Hiding:
    """What is hidden of all runs of a site; as many processes look as build, or another `engine`.

    `held`, `before` and what changed since then spare looking at what is known. `meanwhile` is
    what there is to do while other processes look; it need not be called.
    """
    folders: tuple[Path, ...]
    if changes is None or before.runs != str(settings.runs):
        folders = tuple(run_folders(settings.runs))
    elif _are_where_they_were(settings.runs, before, changes.others, held):
        folders = tuple(map(_folder, before.folders))
    else:
        still = {name for name in before.folders if _absolute(name) not in changes.folders}
        folders = tuple(run_folders(settings.runs, still))
    hiding = Hiding(
        settings.config.redact, denied_of(settings), held, before,
        changes.folders if changes else None, folders=folders,
        most=settings.config.most_file_bytes,
        engine=engine or engine_of(otherwise=settings.config.jobs), meanwhile=meanwhile,
    )  # fmt: skip
    hiding.look(one for one in folders if not is_partial(one))
    return hiding


def _are_where_they_were(
    runs: Path, before: Looked, others: Iterable[str], held: Mapping[str, Input]
) -> bool:
    """Whether runs lie in the folders that are known: what came or went lies in one of a run."""
    if before.runs != str(runs):
        return False
    within = f"{runs.absolute()}/"
    others = [path for path in others if path.startswith(within)]
    known = frozenset(map(_absolute, before.folders)) if others else frozenset[str]()
    return all(_in_a_run(path, known, held) for path in others)


def _in_a_run(path: str, folders: Collection[str], held: Mapping[str, Input]) -> bool:
    """Whether a path lies in one of some folders, and that is still a run's."""
    above = path.rpartition("/")[0]
    while above and above not in folders:
        above = above.rpartition("/")[0]
    return not above.endswith(PARTIAL) and any(f"{above}/{name}" in held for name in OWN)


@lru_cache(maxsize=100_000)
def _folder(path: str) -> Path:
    """A folder by its path, which a process that builds again takes apart once."""
    return Path(path)
