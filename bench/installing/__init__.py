"""CLIs installed in the versions that clis.lock.toml names, below a folder of our own."""

from __future__ import annotations

from bench.installing.installing import Failure, install
from bench.installing.lock import Lock, Locked, read_lock
from bench.installing.programs import programs
from bench.installing.stamp import Installed, default_prefix, install_command

__all__ = [
    "Failure", "Installed", "Lock", "Locked", "default_prefix", "install", "install_command",
    "programs", "read_lock",
]  # fmt: skip
