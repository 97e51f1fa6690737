"""How a try ended: read from the disk, whatever its engine says."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from bench.sweeps.claims import unclaimed
from bench.sweeps.executors.form import Finished
from bench.sweeps.ledger import Held, Ledger, Try, Verdict
from bench.sweeps.outages import Outages
from bench.sweeps.refusals import MOST_SHOWN, answered, failure
from bench.sweeps.sheet import Sweep
from bench.sweeps.shelf import OnShelf, Shelf, grade_told, set_aside, spoilt
from bench.sweeps.states import Kind, Outcome, State, after
from bench.sweeps.tries import ELSEWHERE, ERR, SILENT, STOP, clear, holder, read_first
from kbsite.model.finding import one_line
from kbsite.model.status import EndReason

REFUSALS = (1, 2)
"""Exit codes of what will not work another time: a wrong file, a wrong use."""

_REASON = re.compile(r"^bench(?:\.running)?: ", re.MULTILINE)
"""Begins what supervisors and graders say of why they end; before it stands how far they were."""
_TRACE = "Traceback (most recent call last)"
_MOST_ERR = 1 << 20


@dataclass(frozen=True, kw_only=True)
class _Ended:
    outcome: Outcome
    detail: str
    run: str | None = None


@dataclass(frozen=True, kw_only=True)
class Settling:
    """What is needed to say how a try ended."""

    sweep: Sweep
    ledger: Ledger
    shelf: Shelf
    tries: Path
    """Folder of the tries."""
    aside: Path
    """Where what was broken off is moved to."""
    now: Callable[[], float]
    chance: Random
    outages: Outages

    def settle(self, one: Try, finished: Finished | None, *, restarted: bool = False) -> Verdict:
        """Write down how a try ended that nobody works on any more, and what becomes of its cell.

        `restarted` says that the driver has just come, so that there is nothing to wait for.
        """
        held = self.ledger.cell(one.cell)
        clear(self.tries / one.id)
        ended = self._found(one, finished, held)
        if ended.outcome is Outcome.LOST:
            ended = self._explained(one, finished, ended)
        following = after(
            one.kind, ended.outcome, held.tally, self.sweep.retries, grade=self.sweep.grade,
            chance=self.chance,
        )  # fmt: skip
        state = following.state
        if one.kind is Kind.GRADE and self._run_of(held) is None:
            state = State.WAITING
        wait = 0.0 if restarted and ended.outcome is Outcome.LOST else following.wait_seconds
        verdict = Verdict(
            outcome=ended.outcome, state=state, tally=following.tally, due=self.now() + wait,
            detail=ended.detail, run=ended.run,
        )  # fmt: skip
        self.ledger.end(one, verdict)
        return verdict

    def _found(self, one: Try, finished: Finished | None, held: Held) -> _Ended:
        """How a try ended, as the disk tells it."""
        if (self.tries / one.id / ELSEWHERE).exists():
            detail = "another sweep works on it, or has made it"
            return _Ended(outcome=Outcome.ELSEWHERE, detail=detail)
        if one.kind is Kind.GRADE:
            return self._grade(one, held)
        return self._session(one, finished, held)

    def _session(self, one: Try, finished: Finished | None, held: Held) -> _Ended:
        """How a session ended; what it left unfinished is moved aside."""
        left = self._set_partials_aside(one.cell)
        known = {each.run for each in self.ledger.tries(one.cell)}
        new = [r for r in self.shelf.look() if r.cell == one.cell and r.name not in known]
        if not new:
            what = f"left unfinished, in {left[0]}" if left else "left nothing"
            code = "" if finished is None else f"; exit code {finished.exit_code}"
            return _Ended(outcome=Outcome.LOST, detail=f"{what}{code}")
        return self._complete(one, max(new, key=lambda each: each.run.order), held)

    def _set_partials_aside(self, key: str) -> list[Path]:
        """Move aside what was begun of a cell; nothing if another sweep works on the cell now."""
        with unclaimed(self.shelf.board, key) as free:
            return [set_aside(path, self.aside) for path in self.shelf.partials(key) if free]

    def _complete(self, one: Try, made: OnShelf, held: Held) -> _Ended:
        why = spoilt(made.run, made.folder)
        said = one_line(made.run.end_detail or made.run.end_reason.sentence)[:MOST_SHOWN]
        if why is None:
            # The driver looks into logs that grow, and a session may end between two looks.
            if held.wanted and answered(made.folder):
                self.outages.answered(held.cell.contender)
            return _Ended(outcome=Outcome.RAN, detail=said, run=made.name)
        if made.run.end_reason is EndReason.SIGNAL:
            # Nobody wants to see on a board that an operator went home.
            place = set_aside(made.folder, self.aside)
            asked = self._asked_to_stop(one)
            outcome = Outcome.STOPPED if asked else Outcome.LOST
            return _Ended(outcome=outcome, detail=f"{why}; it lies in {place}")
        failed = _Ended(outcome=Outcome.SPOILT, detail=f"{why}: {said}", run=made.name)
        of_provider = made.run.end_reason is EndReason.PROVIDER
        return self._of_provider(failed, made, held) if of_provider else failed

    def _of_provider(self, failed: _Ended, made: OnShelf, held: Held) -> _Ended:
        """How a session ended that its provider spoilt."""
        found = failure(made.folder, made.run.provider or "the provider")
        if found is None:
            return failed
        if found.trouble.to_mend:
            failed = replace(failed, detail=found.sentence)
        telling = found.trouble.to_mend or found.trouble.waiting_helps
        down = held.wanted and telling and self.outages.failed(held.cell.contender, found)
        return replace(failed, outcome=Outcome.DOWN) if down else failed

    def _grade(self, one: Try, held: Held) -> _Ended:
        made = self._run_of(held)
        if made is None:
            return _Ended(outcome=Outcome.STOPPED, detail="its run is not on disk any more")
        said = grade_told(made.folder)
        if said is None:
            return _Ended(outcome=Outcome.LOST, detail=f"{one.id} left no grade")
        return _Ended(outcome=Outcome.GRADED, detail=said[:MOST_SHOWN], run=made.name)

    def _run_of(self, held: Held) -> OnShelf | None:
        return next((one for one in self.shelf.look() if one.name == held.run), None)

    def _explained(self, one: Try, finished: Finished | None, ended: _Ended) -> _Ended:
        """A try that left nothing, told apart by what is known of its process."""
        if self._asked_to_stop(one):
            return replace(ended, outcome=Outcome.STOPPED)
        said = self._last_words(one)
        refused = finished is not None and finished.exit_code in REFUSALS
        # Whoever refuses says why; what died without a word, as on a full disk, did not refuse.
        if refused and said and _TRACE not in said:
            return replace(ended, outcome=Outcome.REFUSED, detail=said[-MOST_SHOWN:])
        more = [f"on {host}"] if (host := self._other_host(one)) else []
        if self._was_silent(one):
            more.append("it gave no sign of life, and was ended")
        if finished is not None and finished.detail:
            more.append(finished.detail)
        if said:
            more.append(said[-MOST_SHOWN:])
        return replace(ended, detail="; ".join([ended.detail, *more]))

    def _other_host(self, one: Try) -> str | None:
        """The host that a try was on, if it was another one."""
        who = holder(self.tries / one.id)
        return who.host if who is not None and who.host != socket.gethostname() else None

    def _asked_to_stop(self, one: Try) -> bool:
        return (self.tries / one.id / STOP).exists() and not self._was_silent(one)

    def _was_silent(self, one: Try) -> bool:
        return (self.tries / one.id / SILENT).exists()

    def _last_words(self, one: Try) -> str:
        """Why a process ended, as it says, without how far it was; else all that it said."""
        path = self.tries / one.id / ERR
        try:
            start = max(0, path.lstat().st_size - _MOST_ERR)
            said = read_first(path, _MOST_ERR, start).decode("utf-8", "replace").strip()
        except OSError:
            return ""
        reasons = [] if _TRACE in said else [*_REASON.finditer(said)]
        return one_line(said[reasons[-1].start() :] if reasons else said)
