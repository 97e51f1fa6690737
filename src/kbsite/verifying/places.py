"""Where a site is read from: a folder, or a web server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from kbsite.errors import InputError, MachineError
from kbsite.store.files import UNLISTED, Refused, contents
from kbsite.store.spares import standing

MOST_BYTES = 1_000_000_000
"""Bytes of a file that are read."""


class Place(Protocol):
    """A published site."""

    def read(self, path: str) -> bytes | None:
        """What a file of the site holds; None if it is not there.

        InputError where it cannot be read, or is larger than anything that kbsite publishes.
        """
        ...

    def names(self) -> frozenset[str] | None:
        """Every file of the site; None where nobody can list them."""
        ...

    def others(self) -> Sequence[Refused]:
        """What stands among the files and is none, such as a link, where that can be seen."""
        ...

    def state(self) -> object:
        """Another one once another site took the place of this one, as far as can be seen."""
        ...

    def is_other(self, wrong: Collection[str]) -> bool:
        """Whether files are not what was read, where something is wrong with some.

        It is looked for where `state` does not tell of each change.
        """
        ...


class FolderPlace:
    """A site in a folder of this machine; links in it are not followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        files, self._others = contents(folder)
        shut = next((one for one in self._others if one.reason.startswith(UNLISTED)), None)
        if shut:
            # Whatever is in it would be missing, which says nothing of the site.
            raise MachineError(f"{folder / shut.name}: {shut.reason}")
        self._files = {file.name: file for file in files}

    def read(self, path: str) -> bytes | None:
        """What a file of the folder holds; None if it is not there."""
        file = self._files.get(path)
        if file is None:
            return None
        if file.size > MOST_BYTES:
            message = f"larger than {MOST_BYTES} bytes, which no file of a site is"
            raise InputError(message, path=self._folder / path)
        try:
            return file.read()
        except OSError as error:
            message = f"cannot be read: {error.strerror}"
            raise InputError(message, path=self._folder / path) from error

    def names(self) -> frozenset[str]:
        """Every file of the folder."""
        return frozenset(self._files)

    def others(self) -> Sequence[Refused]:
        """Links, devices, and what cannot be listed."""
        return self._others

    def state(self) -> object:
        """Which folder it is, and which build made it."""
        return standing(self._folder)

    def is_other(self, wrong: Collection[str]) -> bool:  # noqa: ARG002
        """False: its state tells of each build."""
        return False


def below(names: frozenset[str] | None, folder: str) -> Iterator[str]:
    """The files of a site below a folder of it, where they can be listed."""
    yield from (name for name in sorted(names or ()) if name.startswith(f"{folder}/"))
