"""Commands on a terminal of their own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def on_a_terminal(home: Path, *words: str, **environment: str) -> str:
    """What `kbsite audit` writes to a terminal, line ends as there."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "KBSITE_AUDITOR": "N. Owl", **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "kbsite", "audit", *words],
        cwd=home, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        chunks = list(_until_closed(ours))
        process.wait(timeout=60)
    os.close(ours)
    return b"".join(chunks).decode()


def after_the_bar(written: str) -> str:
    """What stays on a terminal where a bar said how far the command was: all after its wiping."""
    return written.rpartition("\x1b[2K")[2]


def _until_closed(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:
            # What a terminal says once nobody is left at its other end.
            return
        if not chunk:
            return
        yield chunk
