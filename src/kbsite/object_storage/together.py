"""Work that mostly waits for a network, several pieces of it at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

AT_ONCE = 8
"""Transfers at a time."""
_HEARS = 1.0
"""Seconds after which whoever waits looks up."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def together(
    work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | BaseException]]:
    """Each item with what came of it, or the error, in the order in which they end.

    Not more than a few items wait at a time. Whoever stops asking waits for those under way only;
    whoever interrupts it waits for none: a service that is silent would keep him for minutes.
    """
    waiting, under_way = iter(items), 0
    todo: SimpleQueue[tuple[Item] | None] = SimpleQueue()
    ended: SimpleQueue[tuple[Item, Result | BaseException]] = SimpleQueue()
    # Python waits at its end for the threads of its own pools.
    threads = [Thread(target=_work, args=(work, todo, ended), daemon=True) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    try:
        while True:
            for item in islice(waiting, 2 * AT_ONCE - under_way):
                todo.put((item,))
                under_way += 1
            if not under_way:
                break
            done = _heard(ended)
            under_way -= 1
            yield done
    except KeyboardInterrupt:
        threads.clear()
        raise
    finally:
        with suppress(Empty):
            while True:
                todo.get_nowait()
        for _ in range(AT_ONCE):
            todo.put(None)
        for thread in threads:
            thread.join()


def _heard(ended: SimpleQueue[tuple[Item, Result]]) -> tuple[Item, Result]:
    """What ends next. An interrupt that comes just before the wait begins is heard within it."""
    while True:
        with suppress(Empty):
            return ended.get(timeout=_HEARS)


def _work(
    work: Callable[[Item], Result],
    todo: SimpleQueue[tuple[Item] | None],
    ended: SimpleQueue[tuple[Item, Result | BaseException]],
) -> None:
    """Do what is to be done, until there is nothing more."""
    while (one := todo.get()) is not None:
        try:
            ended.put((one[0], work(one[0])))
        except BaseException as error:  # noqa: BLE001 - whoever asked is told of it
            ended.put((one[0], error))
