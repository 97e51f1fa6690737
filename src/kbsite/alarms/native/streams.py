"""Rules on streams and threads: work that nothing waits for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.unit import Unit
from kbsite.model.alarm import Alarm, Level

_MAKERS: Final = (
    "cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority",
    "cuStreamCreate", "cuStreamCreateWithPriority", "hipStreamCreate", "hipStreamCreateWithFlags",
    "at::cuda::getStreamFromPool", "c10::cuda::getStreamFromPool", "hipStreamCreateWithPriority",
    "c10::cuda::getStreamFromExternal", "at::cuda::getStreamFromExternal",
)  # fmt: skip
_SYNCS: Final = (
    "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cuStreamSynchronize",
    "cuCtxSynchronize", "hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize",
    "torch::cuda::synchronize", "c10::cuda::device_synchronize", "c10::cuda::stream_synchronize",
)  # fmt: skip
_WAITS: Final = ("cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent")
_OTHERS: Final = (
    "cudaStreamPerThread", "CU_STREAM_PER_THREAD", "CUDA_API_PER_THREAD_DEFAULT_STREAM",
    "hipStreamPerThread",
)  # fmt: skip
_CURRENT: Final = re.compile(r"[Cc]urrent|main|caller|^0$|nullptr|NULL|default|origin|parent")
_CLOCKS: Final = frozenset(("clock64", "clock", "__globaltimer", "globaltimer", "wall_clock64"))
_THREADS: Final = ("std::thread", "std::jthread", "pthread_create", "std::async", "thrd_create")


def find(held: Unit) -> Iterator[Alarm]:
    """Work of a source on streams and threads that nothing waits for."""
    yield from _streams(held)
    yield from _threads(held)
    yield from _delays(held)
    for name in _OTHERS:
        if places := held.names.get(name):
            saw = f"{name}: work on a stream that the caller's events do not see."
            yield held.alarm("stream-trick", Level.WARNING, saw, places[0])


def _streams(held: Unit) -> Iterator[Alarm]:
    made = sorted(at for name in _MAKERS for at in held.calls(name))
    if not made:
        return
    name = shown(held.tokens[made[0]][1])
    if _is_joined(held):
        saw = f"{name} makes a stream of its own; there is something that waits for it."
        yield held.alarm("stream-trick", Level.NOTE, saw, made[0])
    else:
        used = [at for at in held.launches if at > made[0]]
        saw = f"{name} makes a stream of its own, and nothing waits for it."
        yield held.alarm("stream-trick", Level.ALARM, saw, made[0], *used[:1])


def _is_joined(held: Unit) -> bool:
    """Whether anything in the source waits for another stream than the caller's."""
    if any(True for name in _SYNCS for _ in held.calls(name)) or _waited(held):
        return True
    ends = (*held.names.get("synchronize", ()), *held.names.get("block", ()))
    return any(held.before(at) in (".", "->") for at in ends)


def _waited(held: Unit) -> bool:
    """Whether the caller's stream waits for another: one stream forks, another joins."""
    waiting = set()
    for name in _WAITS:
        for at in held.calls(name):
            given = held.arguments(at)
            if given:
                waiting.add(held.written(given[0]))
    return len(waiting) > 1 or any(_CURRENT.search(one) for one in waiting)


def _threads(held: Unit) -> Iterator[Alarm]:
    for name in _THREADS:
        for at in held.names.get(name, ())[:1]:
            ends = ("join", "get", "pthread_join", "wait", "thrd_join")
            joined = any(held.names.get(end) for end in ends) and "detach" not in held.names
            level = Level.NOTE if joined else Level.ALARM
            then = "and it is joined" if joined else "and nothing joins it"
            yield held.alarm("stream-trick", level, f"{name} starts a thread, {then}.", at)


def _delays(held: Unit) -> Iterator[Alarm]:
    """Kernels that wait for a time to pass."""
    for loop in held.names.get("while", ()):
        closing = held.partner.get(loop + 1, loop)
        test = {text for _, text, _ in held.tokens[loop:closing]}
        clock = sorted(test & _CLOCKS)
        empty = held.after(closing) == ";" or held.partner.get(closing + 1) == closing + 2
        if clock and empty:
            saw = f"A loop does nothing but wait for {clock[0]} to go on."
            yield held.alarm("stream-trick", Level.WARNING, saw, loop, closing)
            return
