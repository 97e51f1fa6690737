"""All that there is to judge one run by, read for its auditor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kbsite.auditing.moves import Moves, moves
from kbsite.model.alarm import Alarm
from kbsite.model.board import Attempt
from kbsite.model.floor import Floor
from kbsite.model.proof import Proof
from kbsite.model.trajectory import Trajectory
from kbsite.model.transcript import Transcript
from kbsite.model.work import Tick
from kbsite.pages.grade import floors_of
from kbsite.pages.page import Site, attempt_of
from kbsite.pages.queue import why_due
from kbsite.reading import looked_over, lookout_of, read
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.settings import Settings
from kbsite.trajectories import trajectory
from kbsite.transcripts import transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """A run, and what all of the site tells of it."""

    site: Site
    stored: StoredRun
    attempt: Attempt
    due: tuple[str, ...]
    """Why it has to be audited, in words; empty where nothing asks for it."""
    refused: str
    """Why its board does not show it; empty where it does."""
    floors: tuple[Floor, ...]
    alarms: tuple[Alarm, ...]
    proofs: tuple[Proof, ...]
    """What became of the quotes of its audit, in their order."""
    transcript: Transcript | None
    told: Trajectory | None
    moves: Moves


def dossier(settings: Settings, folder: Path, tick: Tick | None = None) -> Dossier:
    """What there is on the run in a folder, which the settings' runs need not hold.

    The runs of the settings that are looked over for it, to compare it with them, are told.
    """
    site = read(settings, lookout_of(settings), tick)
    stored = next((one for one in site.every_run if one.folder == folder), None)
    if stored is None:
        stored = read_run(folder)
        site = looked_over(site, stored)
    run_id = stored.run.id
    shown = transcript(stored.run.harness, stored.transcripts)
    told = trajectory(shown, stored.run, stored.metrics) if shown else None
    alarms = site.alarms.get(run_id, ())
    return Dossier(
        site=site,
        stored=stored,
        attempt=attempt_of(stored, alarms),
        due=why_due(site, run_id),
        refused=_refusal(site, run_id),
        floors=floors_of(site, stored),
        alarms=alarms,
        proofs=site.proofs.get(run_id, ()),
        transcript=shown,
        told=told,
        moves=moves(told, shown) if told and shown else Moves((), 0),
    )


def _refusal(site: Site, run_id: str) -> str:
    refused = (refusal for board in site.boards for refusal in board.refused)
    return next((one.reason for one in refused if one.run_id == run_id), "")
