"""A planted secret looked for in every file of a folder, in every form that a slip could leave."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

PIECE = 1 << 20


@dataclass(frozen=True)
class Found:
    """A place where a secret lies open."""

    path: str
    """Relative to the folder."""
    form: str
    """How it is written there."""
    where: str
    """In "name", "content", "unpacked" or "link"."""


def forms(secret: str) -> Mapping[str, bytes]:
    """How a secret may be written, by the name of the form; base64 in all three alignments."""
    data = secret.encode()
    found = {
        "plain": data,
        "reversed": data[::-1],
        "hexadecimal": data.hex().encode(),
        "HEXADECIMAL": data.hex().upper().encode(),
        "URL-encoded": quote(secret, safe="").encode(),
        "form-encoded": quote_plus(secret, safe="").encode(),
        "every byte URL-encoded": "".join(f"%{byte:02X}" for byte in data).encode(),
        "in JSON": json.dumps(secret)[1:-1].encode(),
        "in JSON, slashes escaped": json.dumps(secret)[1:-1].replace("/", "\\/").encode(),
        "every character escaped": "".join(f"\\u{ord(one):04x}" for one in secret).encode(),
        "in HTML": html.escape(secret).encode(),
        "UTF-16": secret.encode("utf-16-le"),
    }
    for shift in range(3):
        # Only what does not hang on the bytes before and behind: whole groups of three.
        held = data[shift:]
        inner = base64.b64encode(held[: len(held) // 3 * 3])
        found[f"base64, {shift}"] = inner
        found[f"base64 for URLs, {shift}"] = inner.translate(bytes.maketrans(b"+/", b"-_"))
    short = min(found.values(), key=len)
    assert len(short) >= 8, f"a secret this short stands anywhere by chance: {short!r}"
    return found


def planted(folder: Path, secret: str) -> list[Found]:
    """Every place below a folder where a secret lies: names, contents, targets of links.

    What is packed with gzip or zlib is unpacked once. No link is followed. An empty folder is an
    error: nothing was searched.
    """
    held = forms(secret)
    found: list[Found] = []
    searched = 0
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        mode = path.lstat().st_mode
        found += _within(name, "name", os.fsencode(name), held)
        if stat.S_ISLNK(mode):
            found += _within(name, "link", os.fsencode(path.readlink()), held)
        if stat.S_ISREG(mode):
            searched += 1
            found += _in_file(path, name, held)
    assert searched, f"{folder} holds no file: nothing was searched"
    return found


def _in_file(path: Path, name: str, held: Mapping[str, bytes]) -> Iterator[Found]:
    longest = max(map(len, held.values()))
    seen: set[str] = set()
    before = b""
    with path.open("rb") as stream:
        while piece := stream.read(PIECE):
            for one in _within(name, "content", before + piece, held):
                if one.form not in seen:
                    seen.add(one.form)
                    yield one
            before = (before + piece)[-longest:]
    if packed := _unpacked(path):
        yield from _within(name, "unpacked", packed, held)


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else zlib.decompress(data)
    except (OSError, EOFError, zlib.error):
        return b""


def _within(name: str, where: str, data: bytes, held: Mapping[str, bytes]) -> list[Found]:
    return [Found(name, form, where) for form, one in held.items() if one in data]
