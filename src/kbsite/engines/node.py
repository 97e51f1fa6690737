"""What a process on a node of a cluster does: one task after the other, from bytes to bytes.

It sees no file of the process that sends tasks. Those of a task lie in a folder of its own while
the task is done, named by their numbers: what others called them never becomes a path here.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import platform
import tempfile
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from kbsite import __version__, assets
from kbsite.beside import one_core
from kbsite.engines.engine import COLLECT_AFTER, Afar, packed_error

if TYPE_CHECKING:
    import ray

LIBRARIES = (
    "detect-secrets", "google-re2", "hyperscan", "jinja2", "markdown-it-py", "markupsafe",
    "msgspec", "pyfiglet", "pygments", "pyyaml", "zstandard",
)  # fmt: skip
"""What pages of runs are made with: in another version, another page may come of the same run."""


class Answer(Enum):
    """What came of a task."""

    GIVEN = "given"
    RAISED = "raised"
    OTHER = "other"
    """The node has another program: it did nothing."""


class _Held(Struct):
    """What this process holds between tasks."""

    key: str = ""
    afar: Afar | None = None


_held = _Held()


class Packed(Struct, frozen=True):
    """A task on its way."""

    told: bytes
    files: Sequence[bytes]

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.told) + sum(map(len, self.files))


class Sent(Struct, frozen=True):
    """Tasks on their way, to be done one after the other: small ones cost less together."""

    key: str
    """Whose tasks they are: what `afar` holds is unpacked once for all of them."""
    program: Mapping[str, str]
    """What the process that sends them is made of."""
    tasks: Sequence[Packed]


def do(sent: Sent, afar: Sequence[ray.ObjectRef[bytes]]) -> list[tuple[Answer, bytes]]:
    """Do tasks, up to one that raises; what is sent back of each, packed."""
    others = differences(sent.program)
    if others:
        return [(Answer.OTHER, f"{', '.join(others)} ({platform.node()})".encode())]
    answers: list[tuple[Answer, bytes]] = []
    with one_core():
        for task in sent.tasks:
            answers.append(_done(sent.key, task, afar))
            if answers[-1][0] is Answer.RAISED:
                break
    return answers


def _done(key: str, task: Packed, afar: Sequence[ray.ObjectRef[bytes]]) -> tuple[Answer, bytes]:
    with tempfile.TemporaryDirectory(prefix="kbsite-") as place:
        try:
            for number, data in enumerate(task.files):
                Path(place, str(number)).write_bytes(data)
            told = pickle.loads(task.told)  # noqa: S301 - who sends tasks sends code as well
            given = _afar(key, afar).do(told, Path(place))
            return Answer.GIVEN, pickle.dumps(given, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001 - raised where the tasks come from
            return Answer.RAISED, packed_error(error)


def _afar(key: str, afar: Sequence[ray.ObjectRef[bytes]]) -> Afar:
    """Who does the tasks of this key: unpacked for the first of them."""
    if _held.afar is None or _held.key != key:
        import ray

        gc.freeze()
        gc.set_threshold(COLLECT_AFTER)
        _held.afar = pickle.loads(ray.get(afar[0]))  # noqa: S301 - as above
        _held.key = key
    assert _held.afar is not None
    return _held.afar


@cache
def program() -> Mapping[str, str]:
    """What this process is made of, by name: all that pages of runs hang on beside the runs."""
    held = {"Python": platform.python_version(), "kbsite": __version__, "kbsite's files": _files()}
    for name in LIBRARIES:
        try:
            held[name] = version(name)
        except PackageNotFoundError:
            held[name] = "none"
    return held


def differences(program_there: Mapping[str, str]) -> list[str]:
    """Where this process is made of something else than another one, in words."""
    here = program()
    return [
        f"{name} {here.get(name, 'none')} instead of {there}"
        for name, there in program_there.items()
        if here.get(name) != there
    ]


def _files() -> str:
    """A digest of code and templates, wherever they lie; the first letters are enough."""
    whole = hashlib.sha256()
    for home in (assets.PACKAGE, assets.folder("templates")):
        for path in sorted(home.rglob("*")):
            name = path.relative_to(home).as_posix()
            if path.suffix in (".py", ".json", ".html") and not name.startswith("templates/"):
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                whole.update(f"{digest}  {name}\0".encode())
    return whole.hexdigest()[:16]
