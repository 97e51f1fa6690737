"""What detectors look at: a run with its sources, its problem and its transcript."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import PurePosixPath

from msgspec import Struct, field

from kbsite.model.event import Event
from kbsite.model.transcript import Transcript
from kbsite.store.files import Stored
from kbsite.store.problems import StoredProblem
from kbsite.store.run_folders import SIDECARS, SOLUTION
from kbsite.store.runs import StoredRun
from kbsite.transcripts import transcript

LONGEST = 2_000_000
"""Bytes from which a source is not looked into: no person and no model wrote it."""


class Source(Struct, frozen=True):
    """A text file of the solution."""

    name: str
    """Within the run: solution.py, or a file under files/."""
    text: str

    @property
    def suffix(self) -> str:
        """The end of its name, in lower case, with the dot."""
        return PurePosixPath(self.name).suffix.lower()


class Evidence(Struct, frozen=True, dict=True):
    """A run, as detectors see it. What is costly is made once, when a detector asks for it."""

    stored: StoredRun
    problem: StoredProblem | None = None
    """Its problem, if that is in the repository."""
    eager: float | None = None
    """The score of the eager reference on its hardware, if that was measured."""
    in_shares: bool = True
    """Whether its score is a share of a ceiling, and no figure of its board's own."""
    shared: dict[str, object] = field(default_factory=dict)
    """What detectors of one kind make of the sources and share."""
    ends: list[Callable[[], None]] = field(default_factory=list)
    """What takes apart what is shared."""
    told: list[Event] | None = None
    """Where what the transcript says is kept, all of it, by whoever reads it; None for nowhere."""

    def forget(self) -> None:
        """Let go of what detectors share; what they found stays.

        Its parts know each other: all of it would stay until somebody looks for cycles, the trees
        of a thousand runs.
        """
        for end in self.ends:
            end()
        self.shared.clear()

    @property
    def source_files(self) -> list[Stored]:
        """The files that may be its sources."""
        names = (SOLUTION, SIDECARS)
        return [file for file in self.stored.files if file.name.startswith(names)]

    @property
    def has_sources(self) -> bool:
        """Whether there is a file that may be one of its sources."""
        return bool(self.source_files)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """solution.py and its sidecars, as text, in order of name; without what is no text."""
        read = []
        for file in self.source_files:
            if 0 < file.size <= LONGEST:
                data = file.read()
                if b"\0" not in data:
                    read.append(Source(file.name, data.decode("utf-8", "replace")))
        return tuple(sorted(read, key=lambda source: (source.name != SOLUTION, source.name)))

    @cached_property
    def transcript(self) -> Transcript | None:
        """The whole transcript; None if there is none to show. It can take seconds to read."""
        return transcript(self.stored.run.harness, self.stored.transcripts)
