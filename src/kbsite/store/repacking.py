"""Zip archives of a run with what is hidden of their members covered."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import IO

from kbsite.model.redaction import Span, covered
from kbsite.store.nameless import nameless
from kbsite.store.zipped import listed, opened


def repacked(stream: IO[bytes], spans: Sequence[Span]) -> IO[bytes]:
    """An archive with the same members, packed anew; the same bytes for the same members.

    OSError where it is none. What is hidden was found in it, so that its sizes are known.
    """
    within: dict[int, list[Span]] = {}
    for span in spans:
        within.setdefault(span.member, []).append(span)
    target = nameless()  # whoever reads it closes it
    try:
        with listed(stream) as old, zipfile.ZipFile(target, "w") as new:
            for number, info in enumerate(old.infolist()):
                entry = zipfile.ZipInfo(info.filename, info.date_time)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with opened(old, info, stream) as member:
                    new.writestr(entry, covered(member.read(), within.get(number, ())))
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        target.close()
        raise OSError(f"no archive: {error}") from error
    target.seek(0)
    return target
