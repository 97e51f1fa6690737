"""The pipeline: read everything, then write every page that is not what it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from kbsite import __version__
from kbsite.ahead import Ahead
from kbsite.beside import beside
from kbsite.errors import FULL, InputError
from kbsite.hiding import Hiding, Looked
from kbsite.hiding.told import counts, redactions, unwanted
from kbsite.lookout import Lookout
from kbsite.lookout.noticed import Sighting, found_across
from kbsite.model.config import Redact
from kbsite.model.finding import Finding
from kbsite.model.work import Tick, Work
from kbsite.output import Output
from kbsite.reading import MARKER, read_noticing
from kbsite.record import Memory, PageRecord, Record, rows_path
from kbsite.standing import Standing, digest, marker_of
from kbsite.store import spares
from kbsite.store.inputs import Input
from kbsite.store.run_folders import FLOORS, are_lost, vanished
from kbsite.store.runs import StoredRun
from kbsite.store.settings import Settings
from kbsite.store.steady import in_doubt
from kbsite.store.writing import write_text
from kbsite.unmet import unmet

if TYPE_CHECKING:
    from kbsite.build.page_making import PageMaking
    from kbsite.pages.page import Site


def make(
    settings: Settings,
    before: Standing,
    now: Standing,
    hide: Callable[[Looked], Hiding],
    tick: Tick | None = None,
    memory: Memory | None = None,
) -> tuple[Work, Standing, Callable[[], None]]:
    """Make the site that is `now` to be made; `before` tells what stands, `hide` what is hidden.

    What that took, what stands then, and what is left to do for the next build. Who waits for a
    change that this process heard of waits for no more than the site; whoever is killed then has
    the next process make all anew.
    """
    out, code = settings.out, now.code
    stays, memory = memory is not None, memory or Memory()
    with closing(Ahead(out.parent)) as ahead, _amiss(out, before, memory) as amiss:
        memory.recall(out, before, code)
        looked = before.looked or spares.left(out)
        known, runs = memory.record, memory.runs
        hiding = hide(memory.hidden)
        held, engine = hiding.shown(), hiding.engine
        noticed = known if before.code == code else Record()
        lookout = Lookout(
            held, noticed.noticed, noticed.across, engine,
            ahead=ahead, meanwhile=partial(_meanwhile, ahead),
        )  # fmt: skip
        site, seen = read_noticing(settings, lookout, tick, hiding, runs)
        if settings.config.search:
            from kbsite import search

            search.check(site)
        told = redactions(hiding.found, {stored.folder for stored in site.every_run})
        shown = replace(
            site,
            findings=_published(site.findings, settings, hiding),
            redactions=told,
            kept=memory.rows,
        )
        frame = _frame(code, settings, shown)
        memory.rows.begin(frame, digest(now.templates), rows_path(out), fresh=not before.program)
        output = Output(out, Work(), amiss, memory.spare)
        from kbsite.build.page_making import PageMaking, still_right
        from kbsite.build.tasks import Prepared

        earlier = still_right(known, frame, now.templates, before.templates)
        prepared = Prepared(shown, held, frame, earlier, output, ahead)
        making = PageMaking(
            prepared, before, now, known.raw, engine, _found_again(noticed, seen), stays
        )  # fmt: skip
        with _leaving_room(output):
            findings = [*site.findings, *making.make(tick)]
            _publish(making, known.pages if before.code == code else {}, settings.runs)
        standing = structs.replace(
            now,
            marker=marker_of(out) or 0,
            looked=looked if memory.named else now.begun if output.took_over else 0,
            inputs=_seen(settings, hiding, making, now.begun),
            pages=len(making.pages),
            findings=tuple(findings),
            unmet=(*unmet(site, settings), *unwanted(hiding.found)),
            hidden=counts(told),
        )
        runs.keep(stored.folder for stored in site.every_run)
        memory.remember(out, _record(making, standing.marker, seen), hiding.looked(settings))
        return output.work, standing, _rest(memory, standing, making)


def _seen(settings: Settings, hiding: Hiding, making: PageMaking, since: int) -> dict[str, Input]:
    """The files as this build saw them since a moment, for the next one."""
    held, floors = making.prepared.inputs, f"/{FLOORS}"
    read = {*hiding.anew, *making.read}
    read.update([Path(path) for path in held if path.endswith(floors)])
    if settings.problems.is_dir():
        read.add(settings.problems)
    return in_doubt(held, read, vanished(held, settings.runs, hiding.folders or ()), since)


def _refuse_gone_meanwhile(runs: Path, making: PageMaking) -> None:
    """Raise InputError where all runs went while pages were made of them: these say so, and stay.

    As a disk goes that is taken off, or whose server does not answer.
    """
    if are_lost(runs, making.now.inputs):
        making.prepared.output.abandon()
        message = "went while a site was made of it; what stood stays: bring it back, build again"
        raise InputError(message, path=runs)


@contextmanager
def _leaving_room(output: Output) -> Iterator[None]:
    """Where a disk is full, nothing of what was made for a site stays on it: runs are to come."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            output.abandon()
        raise


def _rest(memory: Memory, standing: Standing, making: PageMaking) -> Callable[[], None]:
    """What is left to do of a site that stands; only who waits for a change is told before."""
    if not memory.named:
        memory.write(standing)
    return partial(_left_to_do, memory, standing if memory.named else None, making)


def _left_to_do(memory: Memory, standing: Standing | None, making: PageMaking) -> None:
    """Leave to the next build what this one knows; what was made is let go here, and not before."""
    if standing:
        memory.write(standing)
    memory.spare = making.prepared.output.tidy()


def _frame(code: str, settings: Settings, shown: Site) -> str:
    """Digest of what all pages depend on."""
    # What a leak is stands on few pages, and those that are kept say that they depend on it; so
    # does what is hidden of a run.
    framed = structs.replace(settings.config, leaks=(), redact=Redact())
    return digest(code, framed, shown.prices, *shown.frame)


@contextmanager
def _amiss(
    out: Path, before: Standing, memory: Memory
) -> Iterator[Callable[[], spares.Amiss | None]]:
    """Who tells where the site is not as the last build left it, meanwhile."""
    if memory.named:
        # Who is told of every change has the site for itself, but for what is put into it.
        yield spares.Amiss
    elif before.pages < spares.SMALL:
        yield partial(spares.amiss, out, before.looked)
    else:
        amiss = cache(beside(partial(spares.amiss, out, before.looked)))
        try:
            yield amiss
        finally:
            # Nobody is left behind, whatever goes wrong.
            amiss()


def _record(making: PageMaking, marker: int, seen: Sighting) -> Record:
    return Record(
        marker, making.prepared.frame, making.pages, dict(seen.noticed), seen.across, making.raw,
        making.whole, making.beside,
    )  # fmt: skip


def _found_again(before: Record, seen: Sighting) -> frozenset[str]:
    """Ids of the runs in which nothing else was found than the last time, nor by comparing them."""
    old, new = found_across(before.across), found_across(seen.across)
    return frozenset(
        run_id
        for run_id, one in seen.noticed.items()
        if one is before.noticed.get(run_id) and old.get(run_id) == new.get(run_id)
    )


def load(*, anew: bool = False) -> None:
    """While others look at many runs: load what looks them over and what makes pages."""
    from kbsite import alarms  # it takes as long as some pages
    from kbsite.build import page_making

    alarms.load(sources=False)
    page_making.load(anew=anew)


def _meanwhile(ahead: Ahead, stored: StoredRun | None) -> None:
    """While others look runs over: load what makes pages, and read a run if a core is left."""
    load()
    if stored:
        ahead.read(stored)


def _publish(making: PageMaking, stood: Mapping[str, PageRecord], runs: Path) -> None:
    """Let what was made take the place of the site, with an index of its texts if it has one.

    `stood` are the pages of that site, if this very code made it. InputError where `runs` went.
    """
    _refuse_gone_meanwhile(runs, making)
    output, site = making.prepared.output, making.prepared.site
    if site.config.search:
        from kbsite import search

        made, stands = (
            {path: page.files for path, page in held.items()} for held in (making.pages, stood)
        )
        search.index_texts(site, output, making.engine, made, stands, astray=making.astray)
    else:
        output.drop(astray=making.astray)
    write_text(output.folder / MARKER, f"{__version__}\n")
    output.filled(MARKER)
    output.replace()


def _published(
    findings: Sequence[Finding], settings: Settings, hiding: Hiding
) -> tuple[Finding, ...]:
    """Findings with paths from the folder of the runs on: where it lies is nobody's business.

    What they tell of a run is covered as the run itself is.
    """
    homes = [settings.runs.parent, settings.problems.parent]
    published = []
    for finding in findings:
        path = Path(finding.path)
        inside = [path.relative_to(home) for home in homes if path.is_relative_to(home)]
        shown = hiding.text(str(inside[0]) if inside else path.name)
        key = hiding.text(finding.key) if finding.key else finding.key
        told = hiding.text(finding.message)
        published.append(replace(finding, path=shown, message=told, key=key))
    return tuple(published)
