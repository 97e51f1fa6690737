"""The page of a run's snapshots: solution.py after each change, as the changes that lead there.

Each page starts with one text in full and holds the changes that follow it, and whole what was
written anew, so that any state can be made from its page alone; static/snapshots.js does, to show
any state and what differs between any two. Long rows of changes go on to further pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct, field

from kbsite.fold.edits import Files
from kbsite.model.event import Edit
from kbsite.model.run import Run
from kbsite.model.snapshot import Snapshot, Snapshots
from kbsite.model.trajectory import Trajectory
from kbsite.model.transcript import DiffLine, Transcript
from kbsite.pages.file_names import raw_path
from kbsite.pages.page import INDEX, File, Renderer
from kbsite.pages.quoted_copies import PAGE, Copy
from kbsite.store.run_folders import SOLUTION
from kbsite.store.runs import StoredRun
from kbsite.store.snapshots import final, recorded
from kbsite.text import diff, visible
from kbsite.trajectories.snapshots import snapshots

PAGE_CHANGES, PAGE_CHARACTERS = 100, 150_000
"""Changes, and characters of them, from which they go on to the next page."""

ANEW = 20
"""Lines removed from which a text is shown in full, where less of the text before it stayed."""

LONGEST = 300_000
"""Characters of a text from which it is not shown."""

ALL_CHARACTERS = 6_000_000
"""Characters of all changes of a run from which later ones are told without their lines."""


class Change(Struct, frozen=True):
    """A snapshot as its page shows it."""

    number: int
    """From 1."""
    snapshot: Snapshot
    html: Markup = field(default_factory=Markup)
    """The lines that changed since the state `base`."""
    base: int | None = None
    """The state that the change starts from; None where it is shown in full or not at all."""
    same: int | None = None
    """The earlier state whose text it has again."""
    text: str = ""
    """Its text where it was written anew, and is shown in full in place of what changed."""
    missing: str = ""
    """Why its text is not shown; empty where it is."""


class SnapshotPage(Struct):
    """One page of changes."""

    number: int
    whole: int | None = None
    """The state that stands there in full."""
    text: str = ""
    """Its text."""
    changes: list[Change] = field(default_factory=list)

    @property
    def name(self) -> str:
        """File name, in the folder of the run's page."""
        return PAGE if self.number == 1 else f"snapshots-{self.number}.html"


def snapshots_of(stored: StoredRun, told: Trajectory | None, shown: Transcript | None) -> Snapshots:
    """The snapshots of a run, those of its folder among them."""
    copies, left_out = recorded(stored)
    start = shown.first if shown and not shown.late else None
    found = snapshots(told, copies, final(stored), start or stored.run.started)
    return Snapshots(found.held, found.places, tuple(left_out))


def state_address(found: Snapshots, state: int | None) -> str | None:
    """The address of a state of the trajectory, seen from the run's page."""
    return None if state is None else f"{PAGE}#state-{found.places[state] + 1}"


def snapshot_files(
    run: Run,
    found: Snapshots,
    href: Callable[[str], str],
    renderer: Renderer,
    copies: Sequence[Copy] = (),
) -> Iterator[File]:
    """The pages of a run's snapshots, the first one last; none where there are no snapshots.

    `href` is the address of a step by its anchor, seen from the run's page; `copies` are those that
    the audit quotes, which the first page shows.
    """
    if not found.held:
        return
    first: SnapshotPage | None = None
    elsewhere: list[tuple[Change, str]] = []
    values = {"run": run, "snapshots": found, "href": _from_here(href), "raw": raw_path}
    for page in _pages(found):
        if page.number == 1:
            first = page
            continue
        elsewhere += [(change, page.name) for change in page.changes]
        yield _file(page, values, renderer)
    if first is not None:
        yield _file(first, {**values, "elsewhere": elsewhere, "copies": copies}, renderer)


def _from_here(href: Callable[[str], str]) -> Callable[[str], str]:
    def seen(anchor: str) -> str:
        address = href(anchor)
        return f"{INDEX}{address}" if address.startswith("#") else address

    return seen


def _file(page: SnapshotPage, values: Mapping[str, object], renderer: Renderer) -> File:
    run = values["run"]
    assert isinstance(run, Run)
    path = f"runs/{run.id}/{page.name}"
    held = {
        "elsewhere": [],
        "copies": (),
        **values,
        "page": page,
        "title": f"snapshots of {run.id}",
    }
    return File(path, renderer.page("pages/snapshots.html", path, held))


def _pages(found: Snapshots) -> Iterator[SnapshotPage]:
    page, size, spent = SnapshotPage(1), 0, 0
    row = _Row()
    for number, snapshot in enumerate(found.held, start=1):
        change, lines = row.change(number, snapshot, room=ALL_CHARACTERS - spent)
        cost = sum(len(line.text) + 2 for line in lines)
        full = len(page.changes) >= PAGE_CHANGES or size + cost > PAGE_CHARACTERS
        if page.changes and full:
            yield page
            page, size = SnapshotPage(page.number + 1), 0
        if page.whole is None and row.number is not None:
            before = row.before if change.base is not None else None
            page.whole, page.text = before or (row.number, row.text)
        page.changes.append(change)
        size, spent = size + cost, spent + cost
    yield page


class _Row(Struct):
    """What is known of the solution while its changes come."""

    number: int | None = None
    """The last state whose text is shown."""
    text: str = ""
    before: tuple[int, str] | None = None
    """The one before that."""
    seen: dict[str, int] = field(default_factory=dict)

    def change(self, number: int, snapshot: Snapshot, room: int) -> tuple[Change, list[DiffLine]]:
        """The next change, with its lines; `room` is how many characters of them are shown."""
        if snapshot.content is None:
            missing = "Nothing tells what the file held then."
            return Change(number, snapshot, missing=missing), []
        if len(snapshot.content) > LONGEST:
            missing = f"The text of {len(snapshot.content):,} characters is too long to show here."
            return Change(number, snapshot, missing=missing), []
        text = _shown(snapshot.content)
        same = self.seen.setdefault(text, number)
        lines = [] if same != number or self.number is None else _changed(self.text, text)
        if sum(len(line.text) + 2 for line in lines) > room:
            del self.seen[text]
            missing = "The changes of this run are too large to show them all here."
            return Change(number, snapshot, missing=missing), []
        anew = _is_anew(self.text, lines)
        base = self.number if same == number and not anew else None
        self.before = None if self.number is None else (self.number, self.text)
        self.number, self.text = number, text
        again = same if same != number else None
        if anew:
            return Change(number, snapshot, text=text), lines
        return Change(number, snapshot, diff(lines), base, again), lines


def _is_anew(before: str, changed: Sequence[DiffLine]) -> bool:
    """Whether most of a text was put in place of most of another."""
    removed = sum(line.sign == "-" for line in changed)
    added = sum(line.sign == "+" for line in changed)
    stayed = before.count("\n") + 1 - removed
    return removed >= ANEW and 2 * stayed < added + removed


def _shown(text: str) -> str:
    """A text as a browser gives it back: every character of it can be seen, or ends a line."""
    return visible(text.replace("\r\n", "\n").replace("\r", "␍"))


def _changed(before: str, after: str) -> list[DiffLine]:
    # With one more line end on both sides, whether a text ends with one counts as a line. An edit
    # of every place shows only what lies near a change.
    files = Files()
    files.apply(Edit(SOLUTION, None, f"{before}\n"))
    return list(files.diff(Edit(SOLUTION, f"{before}\n", f"{after}\n", every=True)).lines)
