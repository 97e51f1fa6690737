"""Whether files stayed what they were while a build read them.

A build looks at all files first, and reads them later. What it remembers of one that became another
in between would be wrong for good where that file is then put back as it was.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from kbsite.store.inputs import GONE, UNREAD, Below, Input

_COARSE = 5
"""Linux' CLOCK_REALTIME_COARSE, for which Python has no name."""


def moment() -> int:
    """Now, in nanoseconds since 1970: whatever changed a file before gave it no later time.

    Whatever changes one after `wait_past` it gives it no earlier one.
    """
    return time.time_ns()


def wait_past(since: int) -> None:
    """Wait until what changes a file gives it a time from a moment on, some milliseconds at most.

    On Linux files may bear the time of the last tick. Where the clock is set back meanwhile, nobody
    waits until it is as late again.
    """
    while sys.platform == "linux" and 0 < since - time.clock_gettime_ns(_COARSE) < _TICK:
        time.sleep(0.0005)


_TICK = 20_000_000
"""More nanoseconds than there are between two ticks of any system."""


def in_doubt(
    inputs: Mapping[str, Input], read: Iterable[Path], lost: Iterable[Path], since: int
) -> dict[str, Input]:
    """Files as they were seen, but for those of which that is not sure, for the next build to know.

    Those are all in a file or folder that was `read` and in which anything changed since a moment:
    the next build reads them anew, and tells what it makes of them from what was made before. Of a
    folder that was `lost`, seen and then not found, nothing was seen.
    """
    away, moved = ([place for place in some if _moved(place, since)] for some in (lost, read))
    if not away and not moved:
        return dict(inputs)
    mark = str(time.time_ns())
    doubt = partial(
        replace, changed=UNREAD, digest=f"changed while it was read: {mark}", again=mark
    )
    held, below = dict(inputs), Below(inputs)
    for place in moved:
        # What was not there when all was looked at has come for the next build.
        for path in _paths(place, inputs, below) or [f"{place.absolute()}/"]:
            held[path] = doubt(inputs.get(path, _NOTHING))
    for place in away:
        for path in _paths(place, inputs, below):
            held.pop(path, None)
    return held


def _paths(place: Path, inputs: Mapping[str, Input], below: Below) -> list[str]:
    """The files that are at or below a place."""
    at = str(place.absolute())
    return [at] if at in inputs else [f"{at}/{name}" for name in below.of(place)]


_NOTHING = Input(0, UNREAD, "")


def _moved(place: Path, since: int) -> bool:
    """Whether a file, or a folder with all in it, came, went or was changed after a moment.

    A file system that tells times in whole seconds hides what happens within one of them; on one
    of a machine whose clock is ahead, all that is new has moved for as long as that is.
    """
    try:
        status = os.lstat(place)
        if status.st_ctime_ns > since or not stat.S_ISDIR(status.st_mode):
            return status.st_ctime_ns > since
        return any(changed > since for changed in _changes(place))
    except GONE:
        return True
    except OSError:
        return False


def _changes(folder: Path) -> Iterator[int]:
    """When each thing below a folder was changed, but for what cannot be looked at.

    Nothing was read of that: it may not be, or lies too deep for a path.
    """
    below = [str(folder)]
    while below:
        try:
            with os.scandir(below.pop()) as entries:
                held = list(entries)
        except GONE:
            raise
        except OSError:
            continue
        for entry in held:
            try:
                status = entry.stat(follow_symlinks=False)
            except GONE:
                raise
            except OSError:
                continue
            yield status.st_ctime_ns
            if stat.S_ISDIR(status.st_mode):
                below.append(entry.path)
