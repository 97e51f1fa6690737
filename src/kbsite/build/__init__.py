"""A build: whether there is anything to do, and then the doing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from kbsite import feeds
from kbsite.allocator import keep_freed
from kbsite.beside import one_core
from kbsite.engines import Engine, Here, engine_of
from kbsite.errors import InputError, UsageError
from kbsite.model.finding import Finding
from kbsite.model.work import Tick, Work
from kbsite.standing import Standing, digest, program, read_standing
from kbsite.store import rested, spares
from kbsite.store.alone import alone, still_alone
from kbsite.store.first_look import FirstLook
from kbsite.store.inputs import Input, MostBytes, changed, changes, inputs
from kbsite.store.rested import Rested
from kbsite.store.settings import Settings, denied_of, override
from kbsite.store.shared_look import SharedLook
from kbsite.store.spares import MARKER
from kbsite.store.steady import moment, wait_past
from kbsite.store.swapping import clear

if TYPE_CHECKING:
    from kbsite.hiding import Hiding, Looked
    from kbsite.record import Memory
    from kbsite.store.rested import Difference

__all__ = ["REDACTION", "Built", "build", "override", "refuse_within"]

REDACTION = "data/redaction.json"
"""What is hidden of the runs: which rule, where and how often."""


class Built(Struct, frozen=True):
    """What a build made."""

    out: Path
    pages: int
    findings: tuple[Finding, ...]
    """What is wrong with the input."""
    work: Work
    unmet: tuple[Finding, ...] = ()
    """Where the site does not keep what it says of its audits, its runs hold what none may, or
    kbsite.yaml has keys that nobody knows."""
    hidden: Mapping[str, int] = field(default_factory=dict)
    """How many passages of runs are hidden, by rule."""


def build(
    settings: Settings,
    tick: Tick | None = None,
    *,
    fresh: bool = False,
    memory: Memory | None = None,
    engine: Engine | None = None,
    told: Callable[[Built], None] | None = None,
) -> Built:
    """Make the site, whole or not at all: what stood at its place stays until all is written.

    What did not change since the last build is taken over, unless it is to be made `fresh`. The
    runs that are looked over are told, then the paths of the pages. A process that builds again
    and again has a `memory`, and reads less. As many processes do it as kbsite.yaml says, or
    another `engine`: what comes out is the same. What was built is `told` as soon as it stands.
    """
    jobs = settings.config.jobs
    # A site is the same whoever builds it.
    settings = structs.replace(settings, config=structs.replace(settings.config, jobs=0, engine=""))
    _refuse_place(settings)
    with alone(settings.out):
        _refuse_foreign(settings.out)
        chosen = engine or engine_of(otherwise=jobs)
        with one_core() if isinstance(chosen, Here) else nullcontext():
            return _build(settings, tick, memory, chosen, told or _nothing, fresh=fresh)


def _build(
    settings: Settings,
    tick: Tick | None,
    memory: Memory | None,
    engine: Engine,
    told: Callable[[Built], None],
    *,
    fresh: bool,
) -> Built:
    """What `build` gives, where nobody else works; nothing is done beside the work of one alone."""
    before, now, again, folders = _standings(settings, memory, fresh=fresh)
    stands = before.program and _same(before, now) and not again
    if stands and not _is_torn(settings.out, before, memory):
        work, standing = Work(), before
        still_alone(settings.out)
        # Nobody else works there now: what is left is of a build that was killed.
        clear(spares.partial_path(settings.out), settings.out)
        rest: Callable[[], None] = _nothing
        if memory:
            rest = partial(_get_ready, memory, settings.out, before)
    else:
        _refuse_lost(settings.runs, before.inputs)
        if memory is None:
            keep_freed()
        hide = _hide(settings, before, now, engine)
        # Whoever has nothing to do waits for none of this.
        from kbsite.build.making import make

        work, standing, rest = make(settings, before, now, hide, tick, memory)
    folders.keep(standing.marker)
    if memory:
        memory.looked(settings.out, _places(settings), standing)
    built = _built(settings, standing, work)
    told(built)
    rest()
    if memory is None:
        _LEFT[1:] = [rest]
    return built


def _hide(
    settings: Settings, before: Standing, now: Standing, engine: Engine
) -> Callable[[Looked], Hiding]:
    """Who tells what is hidden of the runs, given what was the last time.

    Where nothing stands they are looked at now, before this process loads what it needs itself: it
    does that while others look.
    """
    from kbsite.hiding import Looked, hiding_of

    since = changes(before.inputs, now.inputs)
    load = partial(_load_what_makes, anew=before.code != now.code)

    def hide(known: Looked) -> Hiding:
        return hiding_of(settings, now.inputs, known, since, engine, load)

    if before.program:
        return hide
    hiding = hide(Looked())
    return lambda _: hiding


def _load_what_makes(*, anew: bool) -> None:
    from kbsite.build.making import load

    load(anew=anew)


def _is_torn(out: Path, before: Standing, memory: Memory | None) -> bool:
    """Whether files of a site are gone, of which nobody would tell while nothing changes.

    Of a large site that is not asked: it takes as long as to ask whether anything did.
    """
    return memory is None and before.pages < spares.SMALL and spares.is_torn(out, before.looked)


def _get_ready(memory: Memory, out: Path, standing: Standing) -> None:
    """Load what the next build needs: this process stays, and nobody waits for it now."""
    _load_while(lambda: True)
    memory.recall(out, standing, standing.code)


_LEFT: list[object] = []
"""What the last build knew, of a process that will not build again: to take that apart takes longer
than to make most pages, so it goes with the process."""
# A list that holds itself is not taken apart when the process ends either.
_LEFT.append(_LEFT)


def _nothing(_: object = None) -> None:
    """Do nothing: there is nothing left to do, or nobody to tell."""


def _places(settings: Settings) -> list[Path]:
    return [settings.runs, settings.problems]


def _standings(
    settings: Settings, memory: Memory | None, *, fresh: bool
) -> tuple[Standing, Standing, bool, Rested]:
    """What stands, what is to stand, whether to go over it though it is the same, and folders."""
    begun = moment()
    if memory and fresh:
        memory.hear(None)
    since = memory.since(settings.out, _places(settings)) if memory else None
    before, heard = since or (Standing() if fresh else read_standing(settings.out), None)
    places, folders = _places(settings), Rested(settings.out, before.marker)
    most = settings.most_bytes
    wait_past(begun)
    look = _begun(places, before.inputs, most, folders) if heard is None else None
    now = _meanwhile(settings, before, heard, look, anew=memory is None)
    held = (
        look().applied(before.inputs) if look
        else inputs(places, before.inputs, heard, most=most)
    )  # fmt: skip
    again = memory is not None and memory.owes_a_look and heard is None
    return before, structs.replace(now, inputs=held, begun=begun), again, folders


def _begun(
    places: Collection[Path], before: Mapping[str, Input], most: MostBytes, folders: Rested
) -> SharedLook[Difference] | FirstLook | None:
    """A look at all files by a copy of this process, where that is of use."""
    if not before:
        return FirstLook(places, most)
    return folders.look(places, before, most) if len(before) >= rested.MANY else None


def _meanwhile(
    settings: Settings,
    before: Standing,
    heard: Collection[str] | None,
    look: SharedLook[Difference] | FirstLook | None,
    *,
    anew: bool,
) -> Standing:
    """What is to stand, but for the inputs; then what helps who looks at these, and who builds."""
    shared = look if isinstance(look, SharedLook) else None
    try:
        now = Standing(
            program=dict(program(before.program, heard).files),
            # What stands does not hang on keys that mean nothing.
            settings=digest(
                structs.replace(settings, unknown=()), *denied_of(settings), feeds.installed()
            ),
        )
        if shared:
            shared.join()
        if look:
            _load_while(look.is_under_way)
            # Of a site that is made anew nothing of the last one is asked.
            if anew and before.program and look.is_under_way():
                from kbsite.record import recorded

                recorded(settings.out, before.marker, now.code)
    finally:
        if shared:
            shared.leave()
    return now


_NEXT = (
    "jinja2", "kbsite.hiding", "kbsite.alarms.evidence", "kbsite.reading",
    "kbsite.build.making", "kbsite.pages.kinds", "kbsite.build.page_making",
)  # fmt: skip
"""What a build loads that has something to do, in pieces: none takes long."""


def _load_while(under_way: Callable[[], bool]) -> None:
    """Load what is needed next, as far as there is time."""
    for name in _NEXT:
        if not under_way():
            return
        import_module(name)


def _refuse_place(settings: Settings) -> None:
    """Raise UsageError where no site can be put, before anything comes to lie beside the place."""
    # The next build would take the site for a run, or for a problem.
    refuse_within(settings.out, settings.input_folders, "choose --out outside it")
    # What can be no place is told by who makes it.
    with suppress(OSError):
        if settings.out.name:
            _refuse_foreign(settings.out)
            _refuse_over(settings)


def refuse_within(place: Path, folders: Mapping[str, Path], cure: str) -> None:
    """Raise UsageError where a place lies in one of some folders, which go by what they hold."""
    for what, folder in folders.items():
        if place.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"{place}: within the folder of the {what}, {folder}; {cure}")


def _refuse_over(settings: Settings) -> None:
    """Raise UsageError where what a site is made of lies in its place: it would be gone then."""
    own = {"settings": settings.path} if settings.path.exists() else {}
    for what, path in {**settings.input_folders, **own}.items():
        if path.resolve().is_relative_to(settings.out.resolve()):
            message = f"the {what} lie within {settings.out}, which a build replaces"
            raise UsageError(f"{path}: {message}; choose --out beside them")


def _refuse_foreign(out: Path) -> None:
    """Raise UsageError where a folder holds what no build made, or is none."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: a file; expected a folder, or a place for one")
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise UsageError(f"{out}: not made by kbsite, so not replaced; empty it or choose --out")


def _refuse_lost(runs: Path, before: Iterable[str]) -> None:
    """Raise InputError where a site that stands has runs, and nothing is where they come from.

    A disk that was not mounted, a path with a slip in it: nobody means to publish that.
    """
    from kbsite.store.run_folders import are_lost

    if not are_lost(runs, before):
        return
    left = "nothing is in it" if runs.is_dir() else "no such folder"
    message = (
        f"{left}, and the site that stands has runs. It stays as it is: bring them back, or say "
        "with --fresh that there are none"
    )
    raise InputError(message, path=runs)


def _built(settings: Settings, standing: Standing, work: Work) -> Built:
    unmet = (*settings.unknown, *standing.unmet)
    found, hidden = standing.findings, standing.hidden
    return Built(settings.out, standing.pages, found, work, unmet, hidden)


def _same(before: Standing, now: Standing) -> bool:
    """Whether what a site is made of holds what it held."""
    return (
        before.settings == now.settings
        and _hold_the_same(before.program, now.program)
        and _hold_the_same(before.inputs, now.inputs)
    )


def _hold_the_same(before: Mapping[str, Input], now: Mapping[str, Input]) -> bool:
    # Where none came, and there are as many, none went.
    return len(before) == len(now) and not changed(before, now)
