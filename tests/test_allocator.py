"""Memory that is let go, and kept for what is asked for next."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from kbsite import allocator

PIECE = 24 << 20
PROGRAM = f"""
import resource, sys
from kbsite.allocator import keep_freed

def held():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize()

if sys.argv[1:]:
    keep_freed()
before = held()
piece = bytearray(b"x") * {PIECE}
del piece
print(held() - before)
"""


def left(*words: str) -> int:
    """Bytes that a process has more once it has let a large piece go."""
    command = [sys.executable, "-c", PROGRAM, *words]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(told.stdout)


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="another C library than glibc"
)
def test_a_large_piece_that_is_let_go_is_kept() -> None:
    assert left() < PIECE / 4
    assert left("kept") > PIECE * 3 / 4


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    allocator.keep_freed()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: pytest.fail("it is asked"))
    monkeypatch.setattr(sys, "platform", "darwin")
    allocator.keep_freed()
