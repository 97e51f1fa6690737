"""Files written so that nobody ever sees half of one."""

from __future__ import annotations

import json
import os
from dataclasses import is_dataclass
from pathlib import Path

import msgspec


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole: beside its place first, then moved there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, whole, with line ends as they are."""
    write_bytes(path, text.encode("utf-8"))


def json_text(value: object) -> str:
    """`value`, a record or plain data, as indented JSON that ends in a line end."""
    plain = msgspec.to_builtins(value) if is_dataclass(value) else value
    return json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def sync(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
