"""What an adapter of a CLI has to offer: how it is started, what it leaves, when it is done.

An adapter starts nothing and reads no clock: it is data and pure functions. `bench.running` starts
what it names, in a sandbox, and asks it afterwards what the CLI said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Protocol

from bench.providers import Dialect

HOME = PurePosixPath("/home/agent")
WORKSPACE = PurePosixPath("/workspace")
CLIS = PurePosixPath("/opt/clis")
"""Where all CLIs are seen in a sandbox, each in a folder of its id; Node in `node`."""

DUMMY_KEY = "sk-kept-by-the-proxy"
"""What a CLI is given where it wants a key; the proxy has the real one."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a session is asked to be."""

    model: str
    effort: str | None
    prompt: str
    dialect: Dialect
    """One of the adapter's dialects."""
    base_url: str
    """Of the proxy, as seen from inside, without a path: http://127.0.0.1:8000."""
    session_id: str
    """A UUID, for CLIs that let it be chosen."""
    version: str
    """Of the installed CLI."""
    terminals: bool = False
    """Whether programs inside can open terminals of their own."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How a CLI is started in a sandbox."""

    command: tuple[str, ...]
    """What follows the installed program (`Program.command`); no secret, no prompt if avoidable."""
    environment: Mapping[str, str]
    """Beside HOME, PATH, TMPDIR, LANG, TERM, NO_COLOR, CI, which the runner sets."""
    files: Mapping[PurePosixPath, bytes]
    """Configuration, by paths relative to HOME; written by the box's user before the start."""
    stdin: bytes
    """What it reads, then the end of the file; empty for none."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Files in HOME that belong to the transcript, copied as they grow."""

    glob: str
    """Relative to HOME; `*` stays in a folder, `**/` crosses them (kbsite.harnesses.form)."""
    to: str
    """Folder in transcript/ that they go to, with the part of their path below `below`."""
    below: str = ""
    """The leading part of the path that is dropped."""


class Said(Enum):
    """What a CLI's own events say of its end."""

    COMPLETED = "completed"
    """Its completion event is there, and says that all is well."""
    CUT = "cut"
    """The last answer was cut by its limit of tokens."""
    PROVIDER = "provider"
    """It gave up because of an answer, or no answer, of the model's API."""
    FAILED = "failed"
    """It says that it failed, for another reason."""
    NOTHING = "nothing"
    """No completion event."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """How a session ended, by the CLI's own events; exit codes are not asked."""

    said: Said
    detail: str
    """A sentence for a person: which event of which file said it, and what."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """An installed CLI, as a sandbox gets it."""

    harness: str
    version: str
    """As `--version` said, and nothing else around it."""
    command: tuple[str, ...]
    """Inside the sandbox; paths below CLIS."""
    bound: Mapping[PurePosixPath, Path] = field(default_factory=lambda: MappingProxyType({}))
    """Folders of the host, by where they are seen inside, read-only."""
    readable: tuple[Path, ...] = ()
    """Further paths of the host, seen at the same place: an interpreter, for example."""
    path: tuple[PurePosixPath, ...] = ()
    """Folders that PATH begins with inside."""
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What else a run has to record, such as the version of Node."""


@dataclass(frozen=True, kw_only=True)
class Extract:
    """A command that turns what a CLI left into a transcript, run after it, in a box of its own."""

    script: bytes
    """A Python program, standard library only; its argument is the folder of the files."""
    glob: str
    """The files in HOME that it gets, in a folder of the same layout."""
    to: str
    """The file in transcript/ that its output becomes."""


class Adapter(Protocol):
    """A CLI that drives a model."""

    @property
    def id(self) -> str:
        """The harness, as run.json and kbsite.harnesses name it."""
        ...

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The APIs that it can speak, the one that suits it best first."""
        ...

    @property
    def provider(self) -> str | None:
        """The id of the provider that it is made for; None where one has to be named."""
        ...

    @property
    def efforts(self) -> tuple[str, ...]:
        """The efforts that it can be asked for; none where it has no switch."""
        ...

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Where its rich logs and side files lie."""
        ...

    @property
    def extract(self) -> Extract | None:
        """What has to be run to have its log as text; None where that is not needed."""
        ...

    @property
    def unfair(self) -> tuple[str, ...]:
        """Sentences: which of its own limits make comparisons unfair; shown on its page."""
        ...

    def recognises(self, printed: str) -> str | None:
        """The version, if what `--version` printed is this CLI's, else None."""
        ...

    def launch(self, asked: Asked) -> Launch:
        """How to start it; raises UsageError for an effort or a dialect that it has not."""
        ...

    def completion(self, transcript: Path) -> Completion:
        """What its events in a run's transcript/ say of the end; never raises for bad files."""
        ...


def by_id(adapters: Sequence[Adapter]) -> Mapping[str, Adapter]:
    """The adapters by their harness."""
    return {one.id: one for one in adapters}
