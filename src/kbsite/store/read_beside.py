"""Large files that are read while others are looked at: who digests them lets Python go on."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Read = TypeVar("Read")


class ReadBeside(Generic[Asked, Read]):
    """A thread that reads what it is asked for, one after the other, from the first one on.

    The standard library's pools have the end of a process wait for all that they were asked for:
    a key that ends a build would be heard when the last large file is read.
    """

    def __init__(self, read: Callable[[Asked], Read]) -> None:
        self._read = read
        self._asked: SimpleQueue[Asked | None] = SimpleQueue()
        self._found: list[Read] = []
        self._wrong: list[BaseException] = []
        self._thread: Thread | None = None

    def ask(self, asked: Asked) -> None:
        """Have something read."""
        self._asked.put(asked)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="read beside", daemon=True)
            self._thread.start()

    def found(self) -> list[Read]:
        """All that was read, in the order that it was asked for; what went wrong first is raised.

        Nothing can be asked for afterwards.
        """
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()
        if self._wrong:
            raise self._wrong[0]
        return self._found

    def _work(self) -> None:
        try:
            while (asked := self._asked.get()) is not None:
                self._found.append(self._read(asked))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._wrong.append(error)
