"""Scores that are nearly those of others: as a rule they call the same library.

The scores of a problem on one hardware lie far apart. Where at least three contenders lie within
0.4 % of each other (and what rounding adds), and luck makes less than one such cluster in a hundred
problems, it is told. Luck strews the logarithms of all scores evenly over twice the range that the
middle half of the other ones has. So scores that were rounded to three digits are told where they
are large, and not where they are small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import quantiles
from typing import Final

from msgspec import Struct

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm
from kbsite.model.alarm import Alarm, Level
from kbsite.model.status import Status

WIDTH: Final = 0.004
"""How far the scores of a cluster lie apart at most, in parts of them."""

LEAST: Final = 3
"""Contenders of a cluster."""

LUCK: Final = 0.01
"""Clusters made by luck alone, on average, from which one may be luck."""

DIGITS: Final = 6
"""Decimals of a score that are taken for measured, where it has more."""

OTHERS: Final = 4
"""Scores outside of a cluster from which their range can be told."""

USUAL: Final = math.log(2)
"""Range of the logarithms of scores that is assumed where too few are there to tell."""

Print = Mapping[str, tuple[str | int | float, ...]]


class _Score(Struct, frozen=True):
    run_id: str
    contender: str
    value: float
    rounding: float
    """The step that it was rounded to."""
    eager: float
    """The score of the eager reference; 0 where it is not known."""

    @property
    def log(self) -> float:
        """Its logarithm: differences of those are ratios of scores."""
        return math.log(self.value)


class Scores:
    """Compares scores with those of other runs of the same problem."""

    def fingerprint(self, evidence: Evidence) -> Print:
        """The score and what it can be compared with; empty where there is none that counts."""
        run, metrics = evidence.stored.run, evidence.stored.metrics
        value = metrics.peak_fraction
        if metrics.status is not Status.PASSED or value is None:
            return {}
        if not (math.isfinite(value) and value > 0):
            return {}
        where = (run.problem, run.hardware or "", run.problem_hash or "")
        return {
            "where": where,
            "who": (run.contender.label,),
            "score": (value, _step(value), evidence.eager or 0.0),
        }

    def alarms(self, runs: Mapping[str, Print]) -> Iterator[tuple[str, Alarm]]:
        """The members of each cluster, and runs that are as fast as the eager reference."""
        groups: dict[tuple[object, ...], list[_Score]] = {}
        for run_id, taken in runs.items():
            value, step, eager = (float(number) for number in taken["score"])
            one = _Score(run_id, str(taken["who"][0]), value, step, eager)
            groups.setdefault(taken["where"], []).append(one)
        for held in groups.values():
            held.sort(key=lambda score: (score.value, score.run_id))
            told: set[str] = set()
            for cluster in _clusters(held):
                chance = _chance(held, cluster)
                if chance < LUCK:
                    told.update(score.run_id for score in cluster)
                    yield from _alarms(cluster, chance)
            yield from _as_eager([score for score in held if score.run_id not in told])


def _step(value: float) -> float:
    """The step that a score was rounded to, by the decimals that it has."""
    decimals = len(f"{value:.{DIGITS}f}".rstrip("0").partition(".")[2])
    return float(10.0 ** -max(decimals, 1))


def _clusters(held: Sequence[_Score]) -> Iterator[Sequence[_Score]]:
    """The largest sets of neighbours that lie close enough, of enough contenders, none twice."""
    start = 0
    while start < len(held):
        end = start + 1
        while end < len(held) and held[end].log - held[start].log <= _width(held[start]):
            end += 1
        if len({score.contender for score in held[start:end]}) >= LEAST:
            yield held[start:end]
            start = end
        else:
            start += 1


def _width(score: _Score) -> float:
    return WIDTH + score.rounding / score.value


def _chance(held: Sequence[_Score], cluster: Sequence[_Score]) -> float:
    """How many such clusters luck alone makes, at most 1.

    Each of the runs may be part of one, but several of one contender are no more than one.
    """
    size = len({score.contender for score in cluster})
    width = _width(cluster[0])
    part = min(1.0, width / max(width, _reach(held, cluster)))
    return min(1.0, math.comb(len(held), size) * size * part ** (size - 1))


def _reach(held: Sequence[_Score], cluster: Sequence[_Score]) -> float:
    """How far the logarithms of the other scores reach, without the outliers among them."""
    inside = {score.run_id for score in cluster}
    others = sorted(score.log for score in held if score.run_id not in inside)
    if len(others) < OTHERS:
        return USUAL
    low, _, high = quantiles(others, n=4)
    return 2 * (high - low)


def _alarms(cluster: Sequence[_Score], chance: float) -> Iterator[tuple[str, Alarm]]:
    contenders = len({score.contender for score in cluster})
    low, high = cluster[0].value, cluster[-1].value
    told = f"1 in {1 / chance:,.0f}" if chance > 1e-6 else "less than 1 in a million"
    also = ", and so does the eager reference" if _is_near(cluster[0].eager, cluster[0]) else ""
    for score in cluster:
        other = next(one for one in cluster if one.contender != score.contender)
        saw = (
            f"{contenders} contenders score between {low:.6g} and {high:.6g}{also}; the chance of"
            f" that by luck is {told}."
        )
        yield (
            score.run_id,
            alarm("near-identical-score", Level.WARNING, saw, "metrics.json", other=other.run_id),
        )


def _as_eager(scores: Sequence[_Score]) -> Iterator[tuple[str, Alarm]]:
    for score in scores:
        if _is_near(score.eager, score):
            saw = (
                f"The score, {score.value:.6g}, is that of the eager reference, {score.eager:.6g}:"
                " it may call the same library."
            )
            yield score.run_id, alarm("near-identical-score", Level.NOTE, saw, "metrics.json")


def _is_near(eager: float, score: _Score) -> bool:
    return eager > 0 and abs(math.log(eager / score.value)) <= _width(score)
