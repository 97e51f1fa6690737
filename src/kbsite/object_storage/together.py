"""Work that mostly waits for a network, several pieces of it at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

AT_ONCE = 8
"""Transfers at a time."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def together(
    work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | BaseException]]:
    """Each item with what came of it, or the error, in the order in which they end.

    Not more than a few items wait at a time. Whoever stops asking waits for those under way only.
    """
    waiting = iter(items)
    under_way: dict[Future[Result], Item] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while True:
            for item in islice(waiting, 2 * AT_ONCE - len(under_way)):
                under_way[pool.submit(work, item)] = item
            if not under_way:
                return
            try:
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    yield under_way.pop(done), done.exception() or done.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
