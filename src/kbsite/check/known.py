"""What a check of one record has to know of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from kbsite.errors import InputError
from kbsite.model.config import Config
from kbsite.model.hardware import Hardware
from kbsite.model.price import PriceTable
from kbsite.model.problem import Problem
from kbsite.store.files import folder_digest
from kbsite.store.problems import PROBLEM, is_problem, problem_folders
from kbsite.store.records import InvalidFileError, yaml_record
from kbsite.store.run_folders import finished_folders
from kbsite.store.settings import Settings


def runs_in(board: Path) -> list[Path]:
    """The folders of the runs in a board's folder; none where that cannot be listed."""
    try:
        return [*finished_folders(board)]
    except OSError:
        return []  # told when all runs are checked


@dataclass(frozen=True, slots=True)
class Known:
    """The problems, the leaks and the hardware that there are."""

    problems: Mapping[str, str] | None
    """Hashes by id; None where no kbsite.yaml says where the problems are."""
    leaks: frozenset[str] | None = None
    """Ids of the leaks that kbsite.yaml names; None where there is none."""
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    """By id."""
    folder: Path | None = None
    """Where the problems are."""
    prices: PriceTable = field(default_factory=PriceTable)
    own_metrics: frozenset[str] = frozenset()
    """Folders of runs whose boards have a metric of their own."""
    most: int = Config().most_file_bytes
    """Bytes of a file of a run that is read at all."""

    def problem(self, name: str, its_hash: str | None) -> Problem | None:
        """A problem as it is graded today; None if it is another one now, or cannot be read."""
        folder = self.problem_folder(name, its_hash)
        return None if folder is None else _read(folder / PROBLEM, its_hash or "")

    def problem_folder(self, name: str, its_hash: str | None) -> Path | None:
        """Where a problem of a hash lies; None if it is another one now."""
        if self.folder is None or its_hash is None or (self.problems or {}).get(name) != its_hash:
            return None
        return self.folder / name


@lru_cache(maxsize=256)
def _read(path: Path, its_hash: str) -> Problem | None:  # noqa: ARG001 - another hash is another one
    """A problem that many runs worked on; None if it cannot be read."""
    try:
        return yaml_record(path, Problem)
    except InvalidFileError:
        return None  # told where the problem itself is checked


def known(settings: Settings | None) -> Known:
    """What the folders of a site tell."""
    if settings is None:
        return Known(None)
    folders = problem_folders(settings.problems)
    leaks = frozenset(leak.id for leak in settings.config.leaks)
    hashes = {one.name: _hash(one) for one in folders}
    most = settings.config.most_file_bytes
    return Known(
        hashes, leaks, settings.hardware, settings.problems, settings.prices,
        settings.config.own_metrics, most,
    )  # fmt: skip


def _hash(problem: Path) -> str:
    try:
        return folder_digest(problem) if is_problem(problem) else ""
    except InputError:
        return ""  # told where the problem itself is checked
