"""Builds and publishing that are killed at any moment, and what is left then."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kbsite.build import build
from kbsite.store.settings import Settings, read_settings
from kbsite.store.swapping import put_in_place
from tests.trees import tree

FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Killed:
    """What a site was after each kill: how often the old one, the new one, and anything else."""

    old: int
    new: int
    other: int
    completed: int
    """How often the work was done before it could be killed."""


def during_a_build(home: Path, times: int, seed: int = 1) -> Killed:
    """Kill builds that turn a site into another one and back, then let one end and look again.

    `home` has a kbsite.yaml whose title makes the two sites; both are built first, to know them.
    """
    drawn = random.Random(seed)
    config = home / "kbsite.yaml"
    texts = [config.read_text(), config.read_text().replace("A site", "Another")]
    trees = [_whole(home, text) for text in texts]
    before = time.perf_counter()
    assert _whole(home, texts[0]) == trees[0] != trees[1]
    seconds = time.perf_counter() - before
    seen: Counter[str] = Counter()
    for number in range(times):
        standing = tree(_site(home))
        config.write_text(texts[trees.index(standing) - 1])
        ended = _killed(lambda: _build(home), drawn.uniform(0, seconds))
        left = tree(_site(home))
        seen["ended"] += ended
        seen["old" if left == standing else "new" if left in trees else "other"] += 1
        if number % 10 == 9 or left not in trees:
            # What a killed build left lying about does no harm to the next.
            _build(home)
            assert tree(_site(home)) == trees[texts.index(config.read_text())]
    return Killed(seen["old"], seen["new"], seen["other"], seen["ended"])


def during_publishing(folder: Path, times: int, seed: int = 1) -> Killed:
    """Kill processes that do nothing but put one of two folders in the place of the other."""
    drawn = random.Random(seed)
    new, place = folder / "site.partial", folder / "site"
    for made, text in ((new, "one"), (place, "two")):
        for number in range(20):
            (made / str(number % 4)).mkdir(parents=True, exist_ok=True)
            (made / str(number % 4) / str(number)).write_text(text)
    trees = [tree(place), tree(new)]
    seen: Counter[str] = Counter()
    for _ in range(times):
        ended = _killed(lambda: _swap_for_ever(new, place), 0.01 + drawn.uniform(0, 0.01))
        left = tree(place)
        seen["ended"] += ended
        seen[("old", "new")[trees.index(left)] if left in trees else "other"] += 1
    return Killed(seen["old"], seen["new"], seen["other"], seen["ended"])


def _swap_for_ever(new: Path, place: Path) -> None:
    while True:
        put_in_place(new, place)


def _killed(work: Callable[[], None], seconds: float) -> bool:
    """Whether some work ended in a process that is killed, with its copies, after a while."""
    process = FORK.Process(target=work)
    process.start()
    process.join(seconds)
    ended = process.exitcode is not None
    if not ended:
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return ended


def _settings(home: Path) -> Settings:
    return read_settings(home / "kbsite.yaml")


def _site(home: Path) -> Path:
    return _settings(home).out


def _build(home: Path) -> None:
    build(_settings(home))


def _whole(home: Path, text: str) -> dict[str, str]:
    (home / "kbsite.yaml").write_text(text)
    assert _killed(lambda: _build(home), 600)
    return tree(_site(home))
