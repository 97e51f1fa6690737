"""What all audits of a site add up to, and what they say of the detectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kbsite.model.alarm import Level
from kbsite.model.audit import Audit, Verdict
from kbsite.model.board import Board
from kbsite.pages.page import Site

Verdicts = Mapping[Verdict | None, int]
"""Number of runs by verdict; None for those that nobody has audited."""


@dataclass(frozen=True, slots=True)
class BoardTally:
    """The audits of a board."""

    id: str
    due: int
    """Cells that the board's rule wants audited."""
    done: int
    """How many of them are."""
    verdicts: Verdicts
    """Of all its runs, also of those that no cell shows."""
    contenders: Mapping[str, Verdicts]
    """The same by contender, in the order of the rows."""


@dataclass(frozen=True, slots=True)
class KindTally:
    """The runs that raised alarms of a kind, once each, by the heaviest one."""

    kind: str
    """Empty for runs with no alarm at all."""
    level: Level | None
    verdicts: Verdicts

    @property
    def audited(self) -> int:
        """How many of them somebody has audited."""
        return sum(count for verdict, count in self.verdicts.items() if verdict)

    @property
    def confirmed(self) -> int:
        """In how many the auditor found that something was wrong, with whatever."""
        return sum(self.verdicts.get(verdict, 0) for verdict in Verdict if verdict.confirms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """All of it."""

    boards: tuple[BoardTally, ...]
    quotes: int
    proven: int
    """Quotes that stand where their audit says."""
    kinds: tuple[KindTally, ...]
    """Kinds in the order of their names, the heaviest level first; runs without alarms last."""
    auditors: Mapping[str, int]
    """Number of audits by who wrote them, the most first."""


def tallies(site: Site) -> Tallies:
    """What the audits of a site add up to."""
    audits = {one.run.id: one.audit for one in site.runs}
    written = [audit for audit in audits.values() if audit]
    proofs = [proof for held in site.proofs.values() for proof in held]
    who = Counter(audit.auditor for audit in written)
    return Tallies(
        boards=tuple(_board(board) for board in site.boards),
        quotes=sum(len(audit.quotes) for audit in written),
        proven=sum(proof.proven for proof in proofs),
        kinds=tuple(_kinds(site, audits)),
        auditors=dict(sorted(who.items(), key=lambda one: (-one[1], one[0]))),
    )


def _board(board: Board) -> BoardTally:
    rows = {
        row.contender.label: [a.audit for cell in row.cells if cell for a in cell.attempts]
        for row in board.rows
    }
    return BoardTally(
        id=board.config.id,
        due=board.audits_due,
        done=board.audits_done,
        verdicts=_verdicts(audit for audits in rows.values() for audit in audits),
        contenders={label: _verdicts(audits) for label, audits in rows.items()},
    )


def _verdicts(audits: Iterable[Audit | None]) -> Verdicts:
    return Counter(audit.verdict if audit else None for audit in audits)


def _kinds(site: Site, audits: Mapping[str, Audit | None]) -> list[KindTally]:
    raised: dict[tuple[str, Level], list[Audit | None]] = {}
    silent = []
    for run_id, audit in audits.items():
        heaviest: dict[str, Level] = {}
        for alarm in site.alarms.get(run_id, ()):
            known = heaviest.setdefault(alarm.kind, alarm.level)
            heaviest[alarm.kind] = max(known, alarm.level, key=lambda level: level.weight)
        for key in heaviest.items():
            raised.setdefault(key, []).append(audit)
        if not heaviest:
            silent.append(audit)
    keys = sorted(raised, key=lambda key: (key[0], -key[1].weight))
    found = [KindTally(kind, level, _verdicts(raised[kind, level])) for kind, level in keys]
    return [*found, KindTally("", None, _verdicts(silent))]
