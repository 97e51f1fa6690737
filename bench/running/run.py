"""One run, end to end: workspace, box, proxy and CLI, and the run directory that is left of it."""

from __future__ import annotations

import shutil
import socket
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from threading import Event

from bench.harnesses.form import HOME, WORKSPACE, Adapter, Asked, Launch, Program
from bench.providers import Dialect, Provider
from bench.proxy.clock import Clock, time_of_day
from bench.proxy.form import PORT, Account
from bench.proxy.limits import ProxyLimits
from bench.proxy.log import read_exchanges
from bench.proxy.upstream import Upstream
from bench.running.collecting import (
    Notes,
    Sidecars,
    Snapshots,
    Transcript,
    no_solution,
    solution,
)
from bench.running.ending import Facts, Verdict, decide
from bench.running.extracting import extract
from bench.running.form import Ended, Order, Places, SessionLimits
from bench.running.given import CHECKS, Workspace, workspace
from bench.running.hosts import Gpu, check_hardware, gpu, host
from bench.running.last_words import last_words
from bench.running.proven import proving
from bench.running.record import (
    PROMPT,
    PROXY,
    SANDBOX,
    SESSION,
    Became,
    Told,
    about_models,
    new_folder,
    run_record,
)
from bench.running.session import SHORT, STDERR, STDOUT, Over, Session
from bench.running.session import Told as ToldProgress
from bench.sandbox import NONE
from bench.sandbox.box import SCRATCH, Box, Limits, Proven, Sandbox, Sandboxed
from bench.sandbox.place import Place
from bench.sandbox.places import gpu_places, own_packages, python_places
from kbsite.errors import MachineError, UsageError
from kbsite.model.price import PriceTable
from kbsite.store.folders import PARTIAL
from kbsite.store.manifests import complete
from kbsite.store.problems import read_problem
from kbsite.store.run_folders import SIDECARS, SNAPSHOTS, SOLUTION, TRANSCRIPT
from kbsite.store.writing import json_text, write_bytes, write_text

_MOST_GIVEN = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Job:
    """An order with all that this host needs to carry it out."""

    order: Order
    program: Program
    adapter: Adapter
    provider: Provider
    key: str | None = field(repr=False)
    places: Places
    limits: SessionLimits
    sandbox: Sandbox
    prices: PriceTable = field(default_factory=PriceTable)
    problem_hash: str | None = None
    """Of the problem that is meant; None for whatever its folder holds."""

    @property
    def dialect(self) -> Dialect:
        """The API that CLI and provider share; UsageError where they share none."""
        for one in self.adapter.dialects:
            if one in self.provider.bases:
                return one
        spoken = ", ".join(one.value for one in self.adapter.dialects)
        raise UsageError(
            f"provider {self.provider.id!r} speaks none of the dialects of {self.adapter.id} "
            f"({spoken}); name another provider"
        )


def run(job: Job, told: ToldProgress, stop: Event) -> Ended:
    """Carry out an order; the run that is complete on disk then.

    Raises UsageError, InputError or MachineError, and leaves nothing, where it cannot be started;
    what is broken off later leaves a `.partial` folder.
    """
    prepared = _prepared(job)
    partial = _folder(job, prepared.started)
    write_text(partial / PROMPT, prepared.given.prompt)
    (partial / TRANSCRIPT).mkdir()
    try:
        asked = _box(job, prepared, partial)
        box = job.sandbox.start(prepared.command, asked)
    except BaseException:
        # Nothing has happened that anybody would want to read.
        shutil.rmtree(partial)
        raise
    with box:
        # Without a network of its own, a box shares our ports, and the session has this one.
        free = replace(asked, listen=_free_port()) if job.sandbox is NONE else asked
        proven = proving(job.sandbox, free)
        collected = _session(job, prepared, partial, box, told, stop)
    return _completed(job, prepared, partial, collected, proven.result())


def _folder(job: Job, started: datetime) -> Path:
    try:
        return new_folder(job.places.runs, job.order, started)
    except OSError as error:
        board, why = job.places.runs / job.order.board, error.strerror
        raise MachineError(
            f"this machine failed: no run can be made in {board}: {why}; nothing was started"
        ) from error


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    given: Workspace
    launch: Launch
    dialect: Dialect
    gpu: Gpu | None
    environment: Mapping[str, str]
    command: tuple[str, ...]
    port: int
    started: datetime


@dataclass(frozen=True, kw_only=True)
class _Collected:
    """What a session was, when all that it left is copied."""

    verdict: Verdict
    over: Over
    account: Account
    notes: tuple[str, ...]
    facts: dict[str, object]


def _prepared(job: Job) -> _Prepared:
    """All that can be found wrong before anything is written or started."""
    order = job.order
    check_hardware(order.hardware, gpu=order.gpu is not None)
    folder = problem_folder(order, job.places)
    port = PORT if job.sandbox is not NONE else _free_port()
    given = workspace(
        read_problem(folder), order.budget_seconds, gpu=order.gpu is not None, port=port
    )
    if job.problem_hash not in (None, given.problem_hash):
        what = f"it was {(job.problem_hash or '')[:12]} and is {given.problem_hash[:12]}"
        raise UsageError(
            f"{folder}: changed since this run was ordered ({what}); put back what was there, or "
            "run the sweep again, which wants other runs then"
        )
    launch = job.adapter.launch(
        Asked(
            model=order.model, effort=order.effort, prompt=given.prompt, dialect=job.dialect,
            base_url=f"http://127.0.0.1:{port}", session_id=str(uuid.uuid4()),
            version=job.program.version, terminals=job.sandbox.gives_terminals,
        )
    )  # fmt: skip
    return _Prepared(
        given=given,
        launch=launch,
        dialect=job.dialect,
        gpu=_gpu(job) if order.gpu else None,
        environment=_environment(job, launch),
        command=(*job.program.command, *launch.command),
        port=port,
        started=time_of_day(),
    )


def problem_folder(order: Order, places: Places) -> Path:
    """The folder of an order's problem; UsageError where there is none."""
    folder = places.problems / order.problem
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such problem; name a folder of {places.problems}")
    return folder


def _gpu(job: Job) -> Gpu:
    uuid = job.order.gpu or ""
    return gpu(uuid, job.order.hardware, shared=job.limits.share_gpu)


def _free_port() -> int:
    """A port that nobody listens at now: without a network of its own, a box shares ours."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _environment(job: Job, launch: Launch) -> dict[str, str]:
    """All variables that the CLI has: a list of what is allowed, and nothing of ours."""
    path = (*map(str, job.program.path), f"{sys.prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin")
    given = {"CUDA_VISIBLE_DEVICES": job.order.gpu} if job.order.gpu else {}
    return {
        "HOME": str(HOME), "PATH": ":".join(path), "TMPDIR": str(SCRATCH), "LANG": "C.UTF-8",
        "TERM": "dumb", "NO_COLOR": "1", "CI": "1", **given, **launch.environment,
    }  # fmt: skip


def _box(job: Job, prepared: _Prepared, partial: Path) -> Box:
    limits, devices = job.limits, prepared.gpu.devices if prepared.gpu else ()
    return Box(
        log=partial / TRANSCRIPT / STDERR,
        stdout=partial / TRANSCRIPT / STDOUT,
        folder=Path(WORKSPACE),
        home=Path(HOME),
        files=prepared.given.files,
        writable={Path(WORKSPACE): limits.workspace_bytes, Path(HOME): limits.home_bytes},
        seeds={Path(HOME / name): data for name, data in prepared.launch.files.items()},
        readable=(*python_places(), *job.program.readable, *(gpu_places() if devices else ())),
        bound={Path(inside): place for inside, place in job.program.bound.items()},
        hidden=own_packages(),
        devices=devices,
        environment=prepared.environment,
        stdin=prepared.launch.stdin,
        listen=prepared.port,
        interfaces=True,
        terminals=True,
        limits=Limits(
            memory_bytes=limits.memory_bytes, processes=limits.processes,
            log_bytes=limits.stderr_bytes, stdout_bytes=limits.stdout_bytes,
            scratch_bytes=limits.scratch_bytes,
        ),
    )  # fmt: skip


def _session(
    job: Job, prepared: _Prepared, partial: Path, box: Sandboxed, told: ToldProgress, stop: Event
) -> _Collected:
    """Let the CLI work until it is over, and copy what it left."""
    # Loaded while the CLI starts: with aiohttp it takes as long as half of all else.
    from bench.proxy.metering import metering

    notes, clock = Notes(), Clock(job.order.budget_seconds)
    if job.provider.note:
        notes.add(job.provider.note, few=True)
    transcript = partial / TRANSCRIPT
    upstream = Upstream(provider=job.provider, dialect=prepared.dialect, key=job.key)
    listener = box.listener
    assert listener is not None, "the box was asked for one"
    allowed = ProxyLimits(server_tools=job.limits.server_tools)
    with listener, metering(listener, upstream, partial / PROXY, clock, allowed) as meter:
        session = Session(
            box=box, meter=meter, clock=clock, limits=job.limits,
            logs=(transcript / STDOUT, transcript / STDERR),
            transcript=Transcript(job.adapter.kept, transcript, notes),
            snapshots=Snapshots(partial / SNAPSHOTS, notes),
            sidecars=Sidecars(partial / SIDECARS, (*prepared.given.files, CHECKS, SHORT), notes),
            told=told, stop=stop,
        )  # fmt: skip
        over = session.watched()
    session.transcript.finish(session.home)
    if over.stop is None:
        session.snapshots.look(session.workspace)
    if job.adapter.extract is not None:
        extract(job.adapter.extract, session.home, job.sandbox, transcript, notes)
    final = _hand_in(session, over, partial, prepared.given, notes)
    # Only now all exchanges have ended, those too that the end of the session cut off.
    exchanges = tuple(one for one in meter.exchanges if one.model_request)
    # Of all, and not of the last ones alone: an agent could ask on until others are forgotten.
    for sentence in about_models(job.order, read_exchanges(partial / PROXY)):
        notes.add(sentence, few=True)
    verdict = decide(
        Facts(
            stop=over.stop, why=over.why, exchanges=exchanges,
            completion=job.adapter.completion(transcript), ending=over.ending, ended=over.ended,
            budget_seconds=job.order.budget_seconds, late=clock.over,
            solution=final is not None or session.snapshots.count > 0,
            last_words=last_words(transcript / STDERR), model=job.order.model,
            answers=meter.account.answers,
        )
    )  # fmt: skip
    return _Collected(
        verdict=verdict, over=over, account=meter.account, notes=notes.sentences,
        facts=_facts(job, prepared, session, box),
    )  # fmt: skip


def _hand_in(
    session: Session, over: Over, partial: Path, given: Workspace, notes: Notes
) -> bytes | None:
    """Write down the solution as it counts, and what lies beside it; the solution."""
    final = solution(session.workspace)
    if over.stop is not None and over.at_deadline != final:
        said = f"{SOLUTION} was changed while the session was ended; what it was before counts."
        notes.add(said, few=True)
        final = over.at_deadline
    if final is not None:
        write_bytes(partial / SOLUTION, final)
    elif why := no_solution(session.workspace):
        notes.add(why, few=True)
    if over.stop is None:
        session.sidecars.take(session.workspace)
    else:
        session.sidecars.tell_of_changes(session.workspace)
    for name, data in given.files.items():
        if session.workspace.read(PurePosixPath(name), _MOST_GIVEN) != data:
            said = f"{name}, which was given, was changed or removed in the workspace."
            notes.add(said, few=True)
    for odd in session.workspace.odd()[:10]:
        notes.add(f"In the workspace lies something that is no file: {odd}.")
    return final


def _facts(job: Job, prepared: _Prepared, session: Session, box: Sandboxed) -> dict[str, object]:
    """What session.json tells beside run.json."""
    checks = _lines(session.workspace, CHECKS)
    return {
        # Where this machine has it says nothing to others.
        "program": {
            name: fact
            for name, fact in job.program.facts.items()
            if not PurePosixPath(fact).is_absolute()
        },
        "box": dict(box.facts),
        "limits": job.limits,
        "dialect": prepared.dialect.value,
        "first_request": session.clock.started,
        "deadline": session.clock.deadline,
        "checks": checks,
        "snapshots": session.snapshots.count,
        "unfair": list(job.adapter.unfair),
    }


def _lines(workspace: Place, name: str) -> int:
    held = workspace.read(PurePosixPath(name), _MOST_GIVEN)
    return 0 if held is None else held.count(b"\n")


def _completed(
    job: Job, prepared: _Prepared, partial: Path, collected: _Collected, proven: Proven
) -> Ended:
    """Write the records and the manifest, and give the folder its name."""
    write_text(partial / SANDBOX, json_text(proven.as_dict()))
    write_text(partial / SESSION, json_text(collected.facts))
    told = Told(
        order=job.order, program=job.program, provider_host=job.provider.host(prepared.dialect),
        command=prepared.command, environment=prepared.environment, given=prepared.given,
        host=host(prepared.gpu), started=prepared.started,
    )  # fmt: skip
    verdict, over = collected.verdict, collected.over
    became = Became(
        verdict=verdict, ending=over.ending, ended=over.ended, account=collected.account,
        proven=proven, notes=collected.notes,
    )  # fmt: skip
    run_id = partial.name.removesuffix(PARTIAL)
    record = run_record(run_id, told, became, job.prices, partial)
    folder = complete(partial, record, None)
    return Ended(
        folder=folder, reason=verdict.reason.value, detail=verdict.detail,
        retryable=verdict.retryable,
    )  # fmt: skip
