"""What a build made, page by page, so that the next one makes only what changed.

The record lies beside the site, never in it: a site is the same however it was built.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from kbsite.hiding import Looked
from kbsite.lookout.noticed import Across, Noticed
from kbsite.pages.coloured import Made
from kbsite.pages.kept_rows import KeptRows
from kbsite.pages.stretches import Cut
from kbsite.standing import Standing, marker_of, write_standing
from kbsite.store.known_runs import KnownRuns, read_known, write_known
from kbsite.store.spares import Listed
from kbsite.store.told import read_told, write_told


class PageRecord(Struct, frozen=True):
    """A page as it was made."""

    key: str
    """Digest of everything that its files depend on; empty for one that is always made anew."""
    files: dict[str, Made | None]
    """Its files, by path within the site, with what those that can stay alone were made of."""
    templates: tuple[str, ...] = ()
    """Names of the templates that it was made with, as they were when the site was made that
    stands: a page that one of them changed under is made anew."""
    rest: str = ""
    """Digest of what all depends on but the page's stretch; empty where it has none."""
    cut: Cut | None = None
    """Where the stretch lies in the page's own file."""


class Raw(Struct, frozen=True):
    """The files of a run as they stand in the site."""

    says: str = ""
    """Digest of what the site shows of them; empty where that is not known."""
    paths: tuple[str, ...] = ()
    """Where they stand."""
    folder: str = ""
    """Where they were copied from."""


class Record(Struct, frozen=True):
    """A build."""

    marker: int = 0
    """When the site's marker was written, nanoseconds since 1970: another site has another."""
    frame: str = ""
    """Digest of what stands on every page: the code that made it, titles, boards."""
    pages: dict[str, PageRecord] = field(default_factory=dict)
    noticed: dict[str, Noticed] = field(default_factory=dict)
    """What was found in each run, by its id."""
    across: Mapping[str, Across] = field(default_factory=dict)
    """What was found by comparing those of a problem, by problem."""
    raw: dict[str, Raw] = field(default_factory=dict)
    """The runs' own files as they stand in the site, by id of run."""
    whole: str = ""
    """Digest of all that pages show but what transcripts say; empty where that is not known."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Digests of what pages of runs show of other runs and of the site, by problem."""

    def file(self, path: str, page: str) -> Made | None:
        """What a file of a page was made of; None where that is not known."""
        held = self.pages.get(page)
        return held.files.get(path) if held else None


class Memory(Struct):
    """What is known of the last build: a process that stays need not read it anew."""

    record: Record = field(default_factory=Record)
    hidden: Looked = field(default_factory=Looked)
    """What was hidden of each run."""
    runs: KnownRuns = field(default_factory=lambda: KnownRuns(""))
    rows: KeptRows = field(default_factory=KeptRows)
    spare: Listed | None = None
    """What the last build left beside the site for the next one to start from."""
    named: bool = False
    """Whether the build that is under way looks at nothing but what it heard of."""
    owes_a_look: bool = False
    """Whether a build since the last that looked at everything did so."""
    _code: str = ""
    _out: Path | None = None
    _standing: Standing = field(default_factory=Standing)
    _places: list[Path] = field(default_factory=list)
    _heard: set[str] | None = None
    _told: bool = False
    _hides_other: bool = False
    """Whether something else is hidden than what is written down."""

    def hear(self, paths: Collection[str] | None) -> None:
        """Take down which files have changed; None where nobody knows, so that all are looked at.

        Whoever tells has to tell of every one since the last build that looked.
        """
        self._told = True
        if paths is None:
            self._heard = None
        elif self._heard is not None:
            self._heard |= set(paths)

    def since(self, out: Path, places: list[Path]) -> tuple[Standing, Collection[str]] | None:
        """What stands, and the files that alone can have changed since; None where any can."""
        standing, heard = self._standing, self._heard if self._told else None
        same = self._out == out and self._places == places and standing.program
        self.named = bool(same) and heard is not None and marker_of(out) == standing.marker
        return (standing, heard) if self.named and heard is not None else None

    def looked(self, out: Path, places: list[Path], standing: Standing) -> None:
        """Know what stands now, since the build that looked has ended well."""
        self._out, self._places, self._standing = out, places, standing
        # Of what changed while it was read nobody else may tell in full.
        self._heard = {path for path, one in standing.inputs.items() if one.is_in_doubt}
        self._told, self.owes_a_look = False, self.named

    def recall(self, out: Path, standing: Standing, code: str) -> None:
        """Know what stands in `out`, and what of it was read by the code that is now at work."""
        if not standing.program:
            self.record, self.hidden, self.runs = Record(), Looked(), KnownRuns(code)
            return
        same = self._out == out and self._code == code
        if same and self.record.marker == standing.marker:
            return
        self.record, self.hidden, self.runs = recorded(out, standing.marker, code)
        # They are this build's now, and change with it.
        recorded.cache_clear()
        self._out, self._code = out, code

    def remember(self, out: Path, record: Record, hidden: Looked) -> None:
        """Know what a build has made, which is still to be written down."""
        self._hides_other |= self.hidden != hidden
        self.record, self.hidden = record, hidden
        self._out, self._code = out, self.runs.code

    def write(self, standing: Standing) -> None:
        """Write down what stands now, last of all that it stands; no secret is in any of it."""
        out = self._out
        assert out
        if self._hides_other or not _path(out, "hidden").exists():
            write_told(_path(out, "hidden"), self.hidden)
            self._hides_other = False
        write_known(_path(out, "runs"), self.runs)
        write_told(_path(out, "pages"), self.record)
        write_standing(out, standing)


@lru_cache(maxsize=1)
def recorded(out: Path, marker: int, code: str) -> tuple[Record, Looked, KnownRuns]:
    """What lies beside the site of a marker; read once where it was asked for ahead of a build."""
    record = read_told(_path(out, "pages"), Record)
    fits = record is not None and record.marker == marker
    hidden = read_told(_path(out, "hidden"), Looked) or Looked()
    return record if record and fits else Record(), hidden, read_known(_path(out, "runs"), code)


def rows_path(out: Path) -> Path:
    """Where rows of lists lie beside the site."""
    return out.with_name(f".{out.name}.rows")


def _path(out: Path, name: str) -> Path:
    return out.with_name(f".{out.name}.{name}.json")
