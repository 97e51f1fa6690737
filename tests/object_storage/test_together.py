"""Several pieces of work at a time: each is told as it ends; who is interrupted waits for none."""

from __future__ import annotations

import signal
import threading
import time
from itertools import count

import pytest

from kbsite.object_storage.together import AT_ONCE, together


def test_each_item_comes_back_with_what_came_of_it() -> None:
    def work(number: int) -> int:
        if number % 10 == 3:
            raise ValueError(number)
        return number * 2

    held = dict(together(work, range(100)))

    assert sorted(held) == [*range(100)]
    for number, ended in held.items():
        assert str(ended) == str(number if number % 10 == 3 else number * 2)
    assert list(together(work, [])) == []


def test_what_ends_first_is_told_first_and_few_items_wait() -> None:
    taken: list[int] = []
    free = threading.Event()

    def items() -> object:
        for number in count():
            taken.append(number)
            yield number

    def work(number: int) -> int:
        if not number:
            free.wait()
        return number

    found = together(work, items())  # type: ignore[arg-type]
    firsts = [next(found)[0] for _ in range(50)]
    assert 0 not in firsts
    assert len(taken) <= 50 + 2 * AT_ONCE
    free.set()
    found.close()  # type: ignore[attr-defined]


def test_whoever_stops_asking_waits_for_what_is_under_way_and_begins_nothing_more() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.05)
        ended.append(number)

    found = together(work, range(1000))
    next(found)
    found.close()  # type: ignore[attr-defined]

    assert sorted(begun) == sorted(ended)
    assert len(begun) <= 3 * AT_ONCE
    before = len(begun)
    time.sleep(0.2)
    assert len(begun) == before


def test_whoever_interrupts_it_waits_for_nothing() -> None:
    free = threading.Event()
    main = threading.main_thread().ident
    assert main
    ended: list[int] = []

    def work(number: int) -> None:
        if not number:  # whoever asked waits by then
            signal.pthread_kill(main, signal.SIGINT)
        free.wait(60)
        ended.append(number)

    # Who was started in the background may have it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(together(work, range(100)))
        assert ended == []
    finally:
        free.set()
        signal.signal(signal.SIGINT, before)
