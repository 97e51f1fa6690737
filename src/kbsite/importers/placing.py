"""Runs and floors of a published board put on disk; what is there already is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kbsite.importers.report import Oddity
from kbsite.model.floor import Floor, Floors
from kbsite.model.grade import Metrics
from kbsite.model.run import FORMAT, Run
from kbsite.store.folders import PARTIAL, filled, new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.run_folders import AUDIT, FLOORS, MANIFEST, METRICS, RUN
from kbsite.store.writing import json_text, write_text


@dataclass(slots=True)
class Placing:
    """The folder of a board, with what came of putting runs and floors into it."""

    out: Path
    oddities: list[Oddity] = field(default_factory=list)
    written: int = 0
    there: int = 0
    """Runs that were there before, changed or not; they were kept."""

    def run(self, run: Run, metrics: Metrics, beside: Mapping[str, str] | None = None) -> bool:
        """Whether the run is on disk, written now or there before.

        `beside` holds the texts of its other files, by name.
        """
        texts = {RUN: json_text(run), METRICS: json_text(metrics), **(beside or {})}
        folder = self.out / run.id
        if folder.exists() or folder.is_symlink():
            self.there += 1
            if differing := _differing(folder, texts):
                message = f"there already, with another {', '.join(differing)}"
                self.oddities.append(Oddity(file=run.id, found=message, done="kept as it is"))
            return True
        unfinished = self.out / f"{run.id}{PARTIAL}"
        if unfinished.exists() or unfinished.is_symlink():
            message = "being written by another import, or broken off by one"
            done = "run left out; delete the folder and import again"
            self.oddities.append(Oddity(file=unfinished.name, found=message, done=done))
            return False
        partial = new_run_folder(self.out, run.id)
        with filled(partial):
            for name, text in texts.items():
                write_text(partial / name, text)
            complete(partial, run, metrics)
        self.written += 1
        return True

    def floors(self, floors: Sequence[Floor]) -> None:
        """Write the floors of the board, if it has none yet."""
        path, text = self.out / FLOORS, json_text(Floors(format=FORMAT, floors=tuple(floors)))
        if not (path.exists() or path.is_symlink()):
            write_text(path, text)
        elif not _holds(path, text):
            message = "there already, with other floors"
            self.oddities.append(Oddity(file=FLOORS, found=message, done="kept as it is"))


def _differing(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """The files of a run that are not as the import would write them."""
    if folder.is_symlink() or not folder.is_dir():
        return ["kind of entry, no folder"]
    changed = [name for name, text in texts.items() if not _holds(folder / name, text)]
    unknown = [] if AUDIT in texts or not (folder / AUDIT).exists() else [AUDIT]
    missing = [] if (folder / MANIFEST).is_file() else [MANIFEST]
    return changed + unknown + missing


def _holds(path: Path, text: str) -> bool:
    regular = path.is_file() and not path.is_symlink()
    return regular and path.read_bytes() == text.encode("utf-8")
