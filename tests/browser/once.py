"""Sites that all processes of these tests look at are made once, by the first that needs them."""

from __future__ import annotations

import fcntl
import functools
import shutil
from collections.abc import Callable
from pathlib import Path


def once(make: Callable[..., Path]) -> Callable[..., Path]:
    """A fixture that makes something in the folder `home`, so that it is made once for all.

    What it comes back with lies in that folder, which is one of its own: no test may change it.
    """

    @functools.wraps(make)
    def made(home: Path, **fixtures: object) -> Path:
        folder = home / f"{make.__module__}.{make.__name__}"
        told = folder.with_name(f"{folder.name}.txt")
        with folder.with_name(f"{folder.name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not told.exists():
                # Of one that failed there is something left.
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                told.write_text(str(make(folder, **fixtures)), "utf-8")
        return Path(told.read_text("utf-8"))

    return made
