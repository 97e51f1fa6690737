"""Turn what only a program can read into a transcript: in a box, for an agent may have made it."""

from __future__ import annotations

from pathlib import Path

from bench.harnesses.form import Extract
from bench.running.collecting import TRANSCRIPT, Notes, before_stars
from bench.sandbox.box import Box, Limits, Sandbox
from bench.sandbox.place import Place
from bench.sandbox.plan import python_command
from kbsite.harnesses.form import matches

SECONDS = 60.0
_MIB = 1 << 20
_MOST_FILES = 100
_MOST_BYTES = 256 * _MIB
_LEFT = Path("/left")
_SCRIPT = "extract.py"


def extract(how: Extract, home: Place, sandbox: Sandbox, transcript: Path, notes: Notes) -> None:
    """Write the file of transcript/ that an extraction makes; what goes wrong is noted."""
    left = _left(how.glob, home, notes)
    if not left:
        return
    target = transcript / how.to
    target.parent.mkdir(parents=True, exist_ok=True)
    log = target.with_name(f"{target.name}.log")
    size = sum(map(len, left.values()))
    box = Box(
        log=log,
        stdout=target,
        files={_SCRIPT: how.script},
        writable={_LEFT: 4 * size + 64 * _MIB},
        seeds={_LEFT / name: data for name, data in left.items()},
        limits=Limits(
            memory_bytes=1 << 30, processes=16, log_bytes=_MIB,
            stdout_bytes=TRANSCRIPT.file_bytes, scratch_bytes=2 * size + 64 * _MIB,
        ),
    )  # fmt: skip
    with sandbox.start(python_command(Path(_SCRIPT), str(_LEFT)), box) as running:
        ending = running.wait(SECONDS)
        running.kill()
    if ending is None or ending.exit_code != 0 or ending.over_stdout:
        said = f"it took more than {SECONDS:g} s" if ending is None else ending.sentence
        notes.add(f"{how.to} could not be made whole of {how.glob}: {said}.")
    elif not log.stat().st_size:
        log.unlink()


def _left(glob: str, home: Place, notes: Notes) -> dict[str, bytes]:
    """The files that an extraction needs, by their paths in HOME."""
    held: dict[str, bytes] = {}
    room = _MOST_BYTES
    for found in sorted(home.walk(below=before_stars(glob)), key=lambda one: str(one.path)):
        if not matches(str(found.path), glob):
            continue
        data = home.read(found.path, room + 1)
        if data is None or len(data) > room or len(held) >= _MOST_FILES:
            notes.add(f"{found.path} was not read: there is too much of its kind.")
            continue
        held[str(found.path)] = data
        room -= len(data)
    return held
