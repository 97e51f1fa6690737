"""The site that a build writes: beside the one that stands, and in its place when it is whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from copy import copy
from errno import EIO
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from kbsite.beside import beside
from kbsite.model.work import Work
from kbsite.store import spares
from kbsite.store.alone import claim, still_alone, still_claimed
from kbsite.store.files import AT_ONCE, Stored, digest, gzipped
from kbsite.store.swapping import bring_along, clear, put_in_place, recover, remove
from kbsite.store.writing import write_new, write_parts, write_pieces

if TYPE_CHECKING:
    from kbsite.pages.page import File


class Placed(Struct, frozen=True):
    """Files that were put in their places, by path within the site."""

    written: tuple[str, ...] = ()
    """Those that are new."""
    kept: tuple[str, ...] = ()
    """Those that stood there."""


class Copy(Struct, frozen=True):
    """A file that is copied into the site."""

    file: Stored
    path: str
    same: bool
    """Whether it is what it was when the site that stands was made."""
    compressed: bool = False


class Destination(Protocol):
    """Where the files of a page go."""

    work: Work

    def write(self, file: File) -> None:
        """Take a file; one that comes in pieces, when `settle` is called."""
        ...

    def settle(self) -> None:
        """Take what is still to be taken; what went wrong first is raised at last."""
        ...

    def stand(self, paths: Iterable[str]) -> bool:
        """Whether all of these files stand in the site as it was."""
        ...

    def stood(self, path: str) -> bytes | None:
        """What a file of the site as it was holds; None where there is none to read."""
        ...


class Gathered(Struct):
    """The files of a page as bytes, where there is no site."""

    standing: Container[str] = frozenset()
    """Those of its files that stand in the site, wherever that is."""
    files: dict[str, bytes | None] = field(default_factory=dict)
    """By path; None for one that stays as it stands."""
    work: Work = field(default_factory=Work)
    _pieces: list[File] = field(default_factory=list)

    def write(self, file: File) -> None:
        """Take a file; one that comes in pieces, when `settle` is called."""
        if file.pieces is not None:
            self._pieces.append(file)
        else:
            self.files[file.path] = None if file.stays else file_bytes(file)

    def settle(self) -> None:
        """Take what comes in pieces; what went wrong first is raised at last."""
        waiting, self._pieces = self._pieces, []
        wrong: list[Exception] = []
        for file in waiting:
            try:
                self.files[file.path] = "".join(file.pieces or ()).encode("utf-8")
            except Exception as error:  # noqa: BLE001 - the others are made as well
                wrong.append(error)
        if wrong:
            raise wrong[0]

    def stand(self, paths: Iterable[str]) -> bool:
        """Whether all of these files stand in the site as it was."""
        return all(path in self.standing for path in paths)

    def stood(self, path: str) -> bytes | None:  # noqa: ARG002
        """None: no file of the site can be read here."""
        return None


def file_bytes(file: File) -> bytes:
    """What a file holds that is whole."""
    return file.data() if file.data else file.text.encode("utf-8")


class Output:
    """A folder that takes the place of `out` when it is whole; what did not change is taken over.

    The folder starts as what the last build left beside the site: a second folder of the same
    files, linked. So a build touches no more than what changes. Where there is none, it starts
    empty, and each file that stays is linked.

    It takes over without a look what is not `amiss` of the files that both have; what is, is not
    taken over. Where nobody tells what that is, it looks whether each file that stays is there.
    What is `known` of the list of what the last build left is not read.
    """

    def __init__(
        self,
        out: Path,
        work: Work,
        amiss: Callable[[], spares.Amiss | None] = lambda: None,
        known: spares.Listed | None = None,
    ) -> None:
        self.out = out
        self.folder = spares.partial_path(out)
        self.work = work
        self._at, self._home = f"{out}/", f"{self.folder}/"
        self._is_first = not out.is_dir()
        """Whether no site stands: then nobody looks what stands of it."""
        self._beside: list[Callable[[], Placed]] = []
        self._large: list[File] = []
        """Files that a copy of this process is to write."""
        self._placed: set[str] = set()
        self._fresh: set[str] = set()
        """Of the placed files those that are not what stands in the site."""
        self._gone: spares.Files = frozenset()
        """What stood in the site and has no place in it any more."""
        # Asked before the spare has another name.
        others = amiss()
        still_alone(out)
        # Who was killed once the site stood has not brought along what keeps its versions.
        clear(self.folder, out)
        self._standing = spares.taken_up(out, self.folder, known)
        """The files of the site that stands, which are in the folder too; None if it is empty."""
        claim(out, self.folder)
        both: spares.Files = self._standing or frozenset()
        self._amiss = frozenset(others.gone) if others else frozenset()
        """Of these the ones that somebody took away or put something else in the place of."""
        # Of many thousands none is left out where nothing is amiss.
        kept = both - self._amiss if self._amiss else both
        self._trusted: spares.Files = frozenset() if others is None else kept
        self._strange = others.strange if others else None
        for path in others.strange_in_spare if others and both else ():
            remove(self.folder / path)

    def apart(self) -> Output:
        """The same folder, to put files in with an account of its own: `placed` and `work`."""
        own = copy(self)
        own.work, own._placed, own._fresh = Work(), set(), set()
        own._beside, own._large = [], []
        return own

    @property
    def took_over(self) -> bool:
        """Whether the folder started as what the last build left."""
        return self._standing is not None

    @property
    def placed(self) -> Placed:
        """What was put in its place so far."""
        return Placed(tuple(self._fresh), tuple(self._placed - self._fresh))

    def write(self, file: File) -> None:
        """Put a file in its place; one that comes in pieces, when `settle` is called."""
        if file.pieces is not None and file.large:
            self._large.append(file)
            return
        self._begin()
        if file.stays:
            self.keep([file.path])
        elif file.pieces is None:
            self.write_bytes(file.path, file_bytes(file))
        else:
            self._beside.append(partial(self._in_pieces, [file]))

    def _begin(self) -> None:
        """Have the large files written that came one after the other, all by one copy.

        What they are made of is the same, and a copy of this process takes it over as it reads it.
        """
        large, self._large = self._large, []
        if large:
            self._beside.append(beside(partial(self._in_pieces, large), patient=True))

    def _in_pieces(self, files: Sequence[File]) -> Placed:
        placed = [self._pieces(file) for file in files]
        written = tuple(path for one in placed for path in one.written)
        return Placed(written, tuple(path for one in placed for path in one.kept))

    def _pieces(self, file: File) -> Placed:
        """Write a file in pieces, or keep the one that stands there if it holds the same."""
        target = self._way_to(file.path)
        write_pieces(target, file.pieces or ())
        if not self._stands_as(file.path, target):
            return Placed(written=(file.path,))
        Path(target).unlink()
        spares.link(f"{self._at}{file.path}", target)
        return Placed(kept=(file.path,))

    def _stands_as(self, path: str, target: str) -> bool:
        """Whether a file stands in the site that holds the same as one that was written."""
        old = self._status(path)
        if old is None or old.st_size != os.lstat(target).st_size:
            return False
        return digest(self.out / path) == digest(Path(target))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Put a file in its place: the one that stands there, if it holds the same."""
        old = self._status(path)
        if old and old.st_size == len(data) and (self.out / path).read_bytes() == data:
            self.keep([path])
            return
        write_new(self._way_to(path), data)
        self.count(Placed(written=(path,)))

    def copy(self, sources: Iterable[Copy]) -> list[OSError]:
        """Put copies of files in their places, some of them compressed.

        What could not be read, such as a file that vanished since its run was: its place is empty.
        OSError where nothing can be written.
        """
        kept, written, unread = [], [], []
        for source in sources:
            if source.same and self._take_over(source.path, self._status(source.path)):
                kept.append(source.path)
                continue
            target = self._way_to(source.path)
            try:
                _copy(source.file, target, compressed=source.compressed)
            except OSError as error:
                if error.filename is None or os.fspath(error.filename) != source.file.at:
                    raise
                unread.append(error)
            else:
                written.append(source.path)
        self.count(Placed(tuple(written), tuple(kept)))
        return unread

    def keep(self, paths: Collection[str]) -> bool:
        """Take files over as they stand; False, and none of them, where one is not there."""
        if self._trusted.issuperset(paths):
            self.work.kept += len(paths)
            self._placed.update(paths)
            return True
        held = [self._status(path) for path in paths]
        if None in held:
            return False
        for path, status in zip(paths, held, strict=True):
            self._take_over(path, status)
        self.count(Placed(kept=tuple(paths)))
        return True

    def _take_over(self, path: str, status: os.stat_result | None) -> bool:
        """Take a file over; False where it is not there."""
        if status is None:
            return False
        if path not in self._trusted:
            target = self._way_to(path)
            Path(target).unlink(missing_ok=True)
            spares.link(f"{self._at}{path}", target)
        return True

    def _way_to(self, path: str) -> str:
        """Where a file belongs, without what an earlier build left in its way."""
        target = f"{self._home}{path}"
        if self._standing is not None and (path in self._amiss or path not in self._standing):
            self._clear(Path(target))
        return target

    def _clear(self, target: Path) -> None:
        """Take away what stands where a file belongs, or a folder that it lies in."""
        for folder in [*target.relative_to(self.folder).parents][-2::-1]:
            above = self.folder / folder
            if above.is_symlink() or (above.exists() and not above.is_dir()):
                above.unlink()
        if target.is_dir() and not target.is_symlink():
            remove(target)

    def stand(self, paths: Iterable[str]) -> bool:
        """Whether all of these files stand in the site as it was."""
        return all(self._status(path) for path in paths)

    def _status(self, path: str) -> os.stat_result | None:
        """What the system says of a regular file of the site as it was; None if there is none."""
        if self._is_first or path in self._amiss:
            return None
        try:
            status = os.lstat(f"{self._at}{path}")
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) else None

    def stood(self, path: str) -> bytes | None:
        """What a file of the site as it was holds; None where there is none to read."""
        return (self.out / path).read_bytes() if self.stand([path]) else None

    def settle(self) -> None:
        """Wait for the files that are written beside; what went wrong first is raised at last."""
        self._begin()
        waiting, self._beside = self._beside, []
        wrong: list[Exception] = []
        for placed in waiting:
            try:
                self.count(placed())
            except Exception as error:  # noqa: BLE001 - the others are waited for as well
                wrong.append(error)
        if wrong:
            raise wrong[0]

    def count(self, placed: Placed) -> None:
        """Take down what was written and kept."""
        self.work.written += len(placed.written)
        self.work.kept += len(placed.kept)
        self._placed.update(placed.written, placed.kept)
        self._fresh.update(placed.written)

    def drop(self, *, astray: bool = False) -> None:
        """Take away what nobody has put in its place: it is no part of the site any more.

        Nobody knows what that is where somebody was killed who wrote: then the folder is gone
        through for what is `astray`.
        """
        self._gone = (self._standing or frozenset()) - self._placed
        astrays = spares.files_below(self.folder) - self._placed if astray else self._gone
        spares.drop(self.folder, astrays)

    def empty(self, folder: str) -> Path:
        """A folder of the site without what stood in it, for somebody else to fill."""
        remove(self.folder / folder)
        return self.folder / folder

    def filled(self, folder: str) -> None:
        """Take down what somebody else has put in a folder of the site, or at its place."""
        held = spares.files_below(self.folder, folder)
        self._placed |= held
        self._fresh |= held

    def replace(self) -> None:
        """Let the folder take the place of the site that stood; until now that was untouched."""
        still_claimed(self.out, self.folder)
        put_in_place(self.folder, self.out)
        bring_along(self.folder, self.out)

    def abandon(self) -> None:
        """Take the folder away, which will not take the place of the site that stands."""
        recover(self.out)
        remove(self.folder)

    def tidy(self) -> spares.Listed | None:
        """Make of the site that stood what the next build starts from; what that has to know."""
        held = self._standing
        # The marker was dropped as well, and is there again.
        gone = self._gone - self._placed
        earlier = None if held is None else spares.Earlier(held, gone, self._strange, self._amiss)
        return spares.lay_aside(self.out, self.folder, earlier, self._placed, self._fresh)


_AT_ONCE = 1 << 20
"""Bytes of a file that is copied in one piece: that takes half as many calls of the system."""


def _copy(file: Stored, target: str, *, compressed: bool) -> None:
    write_parts(target, _held(file, compressed=compressed))


def _held(file: Stored, *, compressed: bool) -> Iterator[bytes]:
    """What is written of a file, in pieces; OSError that names it where it cannot be read."""
    try:
        if compressed:
            yield from gzipped(file)
        elif file.size <= _AT_ONCE:
            yield file.read()
        else:
            with file.open() as stream:
                yield from iter(partial(stream.read, AT_ONCE), b"")
    except OSError as error:
        # Of what goes wrong while it is read, the system names no file.
        raise OSError(error.errno or EIO, error.strerror or str(error), file.at) from error
