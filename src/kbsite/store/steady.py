"""Whether files stayed what they were while a build read them.

A build looks at all files first, and reads them later. What it remembers of one that became another
in between would be wrong for good where that file is then put back as it was.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from kbsite.store.inputs import GONE, UNREAD, Input


def moment() -> int:
    """Now, as the system tells of files that are changed: nanoseconds since 1970."""
    # They bear the time of the last tick of a coarser clock.
    coarse = getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME)
    return time.clock_gettime_ns(coarse)


def in_doubt(
    inputs: Mapping[str, Input], read: Iterable[Path], lost: Iterable[Path], since: int
) -> dict[str, Input]:
    """Files as they were seen, but for those of which that is not sure, for the next build to know.

    Those are all in a file or folder that was `read` and in which anything changed since a moment:
    the next build reads them anew, and tells what it makes of them from what was made before. Of a
    folder that was `lost`, seen and then not found, nothing was seen.
    """
    away, moved = _moved_of(lost, since), _moved_of(read, since)
    if not away and not moved:
        return dict(inputs)
    mark = str(time.time_ns())
    changed = partial(
        replace, changed=UNREAD, digest=f"changed while it was read: {mark}", again=mark
    )
    held = {path: one for path, one in inputs.items() if not path.startswith(away)}
    told = {path: changed(one) for path, one in held.items() if f"{path}/".startswith(moved)}
    # What was not there when all was looked at has come for the next build.
    new = {home for home in moved if not any(f"{path}/".startswith(home) for path in told)}
    return held | told | {home: changed(Input(0, UNREAD, "")) for home in new}


def _moved_of(places: Iterable[Path], since: int) -> tuple[str, ...]:
    """Those places in which anything changed after a moment, with a slash behind each."""
    return tuple(f"{place.absolute()}/" for place in places if _moved(str(place), since))


def _moved(place: str, since: int) -> bool:
    """Whether a file, or a folder with all in it, came, went or was changed after a moment.

    A file system that tells times in whole seconds hides what happens within one of them; on one
    of a machine whose clock is ahead, all that is new has moved for as long as that is.
    """
    below = [place]
    try:
        status = os.lstat(place)
        if status.st_ctime_ns > since or not stat.S_ISDIR(status.st_mode):
            return status.st_ctime_ns > since
        while below:
            # Nothing was read of what may not be looked at.
            with suppress(PermissionError), os.scandir(below.pop()) as entries:
                for entry in entries:
                    if entry.stat(follow_symlinks=False).st_ctime_ns > since:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
    except PermissionError:
        return False
    except GONE:
        return True
    return False
