"""What a bucket lists, as runs and other files: only what can safely be files of a folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kbsite.model.finding import Finding, Severity
from kbsite.object_storage.bucket import Bucket
from kbsite.object_storage.provider import Entry
from kbsite.store.folders import PARTIAL
from kbsite.store.run_folders import AUDIT, MANIFEST, METRICS, RUN

_LONGEST_NAME = 255
_LONGEST_KEY = 1024
"""Bytes; what S3 and Google allow, too."""


@dataclass(slots=True)
class Listing:
    """The objects of a place that are taken, by their keys."""

    runs: dict[str, dict[str, Entry]] = field(default_factory=dict)
    """The files of each run, by the folder of the run."""
    others: dict[str, Entry] = field(default_factory=dict)
    """Files of no run."""
    left: set[str] = field(default_factory=set)
    """Folders of runs that are left as they were the last time: they are still being written."""
    findings: list[Finding] = field(default_factory=list)


def listing(bucket: Bucket) -> Listing:
    """What a place holds; StorageError or UnreachableError where it cannot be listed."""
    found = Listing()
    taken: dict[str, Entry] = {}
    for entry in bucket.entries():
        if is_marker(entry):
            continue
        why = refusal(entry.key) or _ambiguous(bucket, entry.key)
        if why:
            found.findings.append(_refused(bucket, entry.key, why))
        else:
            taken[entry.key] = entry
    for key in _in_the_way(taken):
        found.findings.append(_refused(bucket, key, "another object bears the name of its folder"))
        del taken[key]
    _sort(taken, found)
    for folder in sorted(found.runs):
        if f"{folder}/{MANIFEST}" not in found.runs[folder]:
            del found.runs[folder]
            found.left.add(folder)
            message = f"no {MANIFEST}, which is written last; the run is taken once it is there"
            found.findings.append(Finding(Severity.WARNING, bucket.url(folder), message))
    return found


def refusal(key: str) -> str:
    """Why a key names no file within a folder; empty if it does."""
    parts = key.split("/")
    if key.startswith("/"):
        return "it would be an absolute path"
    if any(part in (".", "..") for part in parts):
        return "it would lead out of its folder"
    if not all(parts):
        return "a part of it is empty"
    if "\0" in key:
        return "it holds a NUL"
    try:
        sizes = [len(part.encode("utf-8")) for part in parts]
    except UnicodeEncodeError:
        return "it is no UTF-8"
    if max(sizes) > _LONGEST_NAME or sum(sizes) + len(sizes) - 1 > _LONGEST_KEY:
        return "it is longer than names of files are"
    return ""


def _ambiguous(bucket: Bucket, key: str) -> str:
    return "it could mean another object" if bucket.provider.ambiguous(key) else ""


def _refused(bucket: Bucket, key: str, why: str) -> Finding:
    return Finding(Severity.ERROR, bucket.url(key), f"not taken: {why}")


def is_marker(entry: Entry) -> bool:
    """Whether it stands for a folder: tools for buckets make such objects."""
    return entry.size == 0 and (entry.key.endswith("/") or not entry.key)


def _is_left_alone(folder: str) -> bool:
    """Whether what lies in a folder is a run that is still written, or is hidden."""
    names = folder.split("/")
    return any(name.endswith(PARTIAL) or name.startswith(".") for name in names)


def _in_the_way(keys: Iterable[str]) -> list[str]:
    """The keys below a name that is an object's own."""
    held = set(keys)
    return [key for key in held if any(above in held for above in above(key))]


def above(key: str) -> list[str]:
    """The folders that a key lies in, the outermost first."""
    parts = key.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _sort(taken: dict[str, Entry], found: Listing) -> None:
    own = (RUN, MANIFEST, METRICS, AUDIT)
    folders = {
        key.rpartition("/")[0] for key in taken if key.rpartition("/")[2] in own and "/" in key
    }
    for key in sorted(taken):
        run = next((folder for folder in above(key) if folder in folders), None)
        if _is_left_alone(run or key.rpartition("/")[0]):
            continue
        if run is None:
            found.others[key] = taken[key]
        else:
            found.runs.setdefault(run, {})[key] = taken[key]
