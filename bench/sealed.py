"""Run directories as bench writes them: whole or not there, and sealed by a manifest.

Standard library only, for machines that have nothing else: what the site reads them with needs
more. The format is that of `kbsite.store.manifests`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kbsite.errors import InputError
from kbsite.regular import LIMIT_BYTES, read_regular
from kbsite.store.files import contents, digest
from kbsite.store.folders import PARTIAL, sync
from kbsite.whole import is_left_over, write_bytes

RUN = "run.json"
METRICS = "metrics.json"
AUDIT = "audit.yaml"
MANIFEST = "manifest.json"
SOLUTION = "solution.py"
SIDECARS = "files/"
SAMPLES = "samples.jsonl"

MOST_BYTES = 2_000_000_000
"""Bytes of a file of a run that is held against its manifest: sessions leave none that is near."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole, and so that it survives a power cut: a run is not to be had again."""
    write_bytes(path, data, lasting=True)


def json_bytes(data: object) -> bytes:
    """Plain data as indented JSON that ends in a line end; ValueError for NaN and infinity."""
    return (json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def read_object(path: Path) -> Mapping[str, Any]:
    """What a JSON file of keys and values says; InputError where it is none."""
    if not os.path.lexists(path):
        raise InputError("no such file", path=path)
    try:
        data = json.loads(read_regular(path, LIMIT_BYTES))
    except ValueError as error:
        raise InputError(f"not valid JSON: {error}", path=path) from error
    if not isinstance(data, dict):
        raise InputError("expected keys and values", path=path)
    return data


def is_run(folder: Path) -> bool:
    """Whether a folder is a run directory."""
    return (folder / RUN).is_file()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps others who would write into a run waiting; nothing of it is seen in the run."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def check_seal(folder: Path, but: Collection[str]) -> None:
    """Raise InputError where a run's files, `but` some, are not those of its manifest.

    What is sealed anew after a change would hide the change for ever.
    """
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise InputError(
            "missing; the run is incomplete: finish it, or make it anew", path=manifest
        )
    listed = dict(read_object(manifest).get("files", {}))
    for file in contents(folder)[0]:
        expected = listed.pop(file.name, None)
        if file.name in (AUDIT, MANIFEST) or file.name in but:
            continue
        if file.size > MOST_BYTES:
            message = f"{file.size} bytes; expected at most {MOST_BYTES} in a file of a run"
            raise InputError(f"{message}; put back what was there", path=file.path)
        if expected is None:
            message = "not in the manifest: it came after the run was completed"
            raise InputError(f"{message}; move it out of the run", path=file.path)
        if digest(file.path) != expected:
            message = "not what the manifest has: it came after the run was completed"
            raise InputError(f"{message}; put back what was there", path=file.path)
    gone = sorted(name for name in listed if name not in but)
    if gone:
        raise InputError("missing; the manifest lists it", path=folder / gone[0])


def seal(folder: Path) -> None:
    """Write the manifest: the SHA-256 of every file but the audit.

    What is left of a write that was broken off goes: the manifest's own would be listed by it, and
    be gone as soon as that is written.
    """
    hashes = {}
    for file in contents(folder)[0]:
        if is_left_over(file.name):
            file.path.unlink()
        elif file.name not in (AUDIT, MANIFEST):
            hashes[file.name] = digest(file.path)
    write_whole(folder / MANIFEST, json_bytes({"format": 1, "files": hashes}))
    sync(folder)


def complete(partial: Path) -> Path:
    """Seal a run and give its folder its name, which is returned."""
    seal(partial)
    folder = partial.with_name(partial.name.removesuffix(PARTIAL))
    partial.rename(folder)
    sync(folder.parent)
    return folder
