"""problem_baselines.json of the published KernelBench Hard board, as floors in the grid's unit.

The file gives times and achieved rates, both as geometric means over a problem's shapes. The board
scored a run by the geometric mean of achieved rate / peak rate, which is the mean rate / the peak,
so a floor's score follows exactly where the peak is known that the board scored with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from kbsite.errors import InputError
from kbsite.importers.hard_board import Leaderboard
from kbsite.importers.report import Oddity
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.slugs import slug
from kbsite.store.records import InvalidFileError, json_record, line_of

BASELINES = "problem_baselines.json"

FP8_TFLOPS: Final = 400.0
BF16_TFLOPS: Final = 200.0
"""The dense tensor-core peaks in KernelBench Hard's hardware table from April to June 2026, when
the board was scored. They were too low and were corrected on 2026-06-14, to 1000 and 500."""

COMPUTE = {
    "01_fp8_gemm": ("fp8", FP8_TFLOPS),
    "02_kda_cutlass": ("bf16", BF16_TFLOPS),
    "06_sonic_moe_swiglu": ("bf16", BF16_TFLOPS),
    "10_patch_embed_conv3d_gemm": ("bf16", BF16_TFLOPS),
}
"""The problems that the board scored against a compute peak, with the peak's type."""
MEMORY = frozenset({
    "03_paged_attention", "04_kahan_softmax", "05_topk_bitonic", "07_w4a16_gemm",
    "09_fmha_preattn_mrope",
})  # fmt: skip
"""The problems that the board scored against the memory's bandwidth."""

KINDS = {"eager": FloorKind.EAGER, "compiled": FloorKind.COMPILED, "sota": FloorKind.LIBRARY}
_GRADED = "solution"
_OWN_SCORE = "_solution_peak_fraction_baseline"
_DIGITS = 4
_LARGEST = 2**53
_SAME_WORK = 1.03
_SAME_TIME = 1.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One published row of a problem."""

    ms: float
    tflops: float | None = None
    gbps: float | None = None
    n_shapes: int | None = None


@dataclass(frozen=True, slots=True)
class _Document:
    problems: Mapping[str, Mapping[str, object]]
    _hardware: str | None = None


@dataclass(frozen=True, slots=True)
class _Peak:
    """What achieved rates are held against."""

    rate: str
    """The key of the achieved rate."""
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Found:
    """The floors of the board, and what was odd about them."""

    floors: list[Floor] = field(default_factory=list)
    oddities: list[Oddity] = field(default_factory=list)


def read_floors(path: Path, board: Leaderboard) -> Found:
    """The floors in a file, for the problems of the board; none if the file is not there."""
    found = Found()
    if not path.exists():
        found.oddities.append(Oddity(file=path.name, found="missing", done="no floors"))
        return found
    document = json_record(path, _Document)
    text = path.read_text("utf-8-sig")
    same_machine = slug(document._hardware or "").startswith(board.hardware.id)
    if not same_machine:
        here = Oddity(file=path.name, key="_hardware", found="", done="")
        message = f"measured on {document._hardware!r}, the board on {board.hardware.name!r}"
        found.oddities.append(_odd(here, message, "times kept, no peak_fraction"))
    for problem, rows in document.problems.items():
        line = line_of(text, f".problems.{problem}")
        here = Oddity(file=path.name, line=line, key=f"problems.{problem}", found="", done="")
        if problem not in board.problems:
            found.oddities.append(_odd(here, "a problem that the board does not have", "left out"))
            continue
        measured = _measured(rows, path, text, here)
        peak = _peak(problem, board) if same_machine else None
        reason = _distrust(rows, measured, peak)
        if reason:
            found.oddities.append(_odd(here, reason, "times kept, no peak_fraction"))
        found.oddities.extend(_twice(measured, here))
        found.floors.extend(_floors(problem, board, measured, None if reason else peak))
    found.oddities.extend(
        Oddity(file=path.name, key=f"problems.{problem}", found="missing", done="no floors for it")
        for problem in board.problems
        if problem not in document.problems
    )
    return found


def _floors(
    problem: str, board: Leaderboard, measured: Mapping[str, Measured], peak: _Peak | None
) -> list[Floor]:
    present = [(kind, measured[name]) for name, kind in KINDS.items() if name in measured]
    return [_floor(kind, problem, board, row, peak) for kind, row in present]


def _odd(here: Oddity, found: str, done: str) -> Oddity:
    return replace(here, found=found, done=done)


def _measured(
    rows: Mapping[str, object], path: Path, text: str, here: Oddity
) -> dict[str, Measured]:
    found = {}
    for name, row in rows.items():
        if name.startswith("_"):
            continue
        key = f"{here.key}.{name}"
        try:
            measured = msgspec.convert(row, Measured)
        except msgspec.ValidationError as error:
            raise _error(str(error), path, text, key) from error
        values = (measured.ms, measured.tflops, measured.gbps)
        if not all(value is None or 0 < value < _LARGEST for value in values):
            raise _error("expected finite numbers above 0", path, text, key)
        found[name] = measured
    return found


def _error(message: str, path: Path, text: str, key: str) -> InvalidFileError:
    line = line_of(text, f".{key}")
    return InvalidFileError([InputError(message, path=path, line=line, key=key)])


def _peak(problem: str, board: Leaderboard) -> _Peak | None:
    if problem in COMPUTE:
        kind, value = COMPUTE[problem]
        source = f"the {kind} peak that the board was scored with"
        return _Peak("tflops", value, "TFLOPS", source)
    bandwidth = board.hardware.peak_bandwidth_gb_s
    if problem in MEMORY and bandwidth:
        return _Peak("gbps", bandwidth, "GB/s", "the board's peak bandwidth")
    return None


def _rate(row: Measured, peak: _Peak) -> float | None:
    return row.tflops if peak.rate == "tflops" else row.gbps


def _distrust(
    rows: Mapping[str, object], measured: Mapping[str, Measured], peak: _Peak | None
) -> str | None:
    """Why no score can be derived from a problem's rows; None if it can."""
    if peak is None:
        return "no peak is known that the board scored this problem with"
    work = [rate * row.ms for row in measured.values() if (rate := _rate(row, peak))]
    if not work:
        return f"no row gives {peak.rate}"
    if max(work) > min(work) * _SAME_WORK:
        return f"{peak.rate} x ms differs between the rows: they did not do the same work"
    own, graded = rows.get(_OWN_SCORE), measured.get(_GRADED)
    rate = _rate(graded, peak) if graded else None
    if isinstance(own, int | float) and rate and not _agrees(own, rate / peak.value):
        return f"the published score of the reference, {own}, is not {rate / peak.value:.4f}"
    return None


def _agrees(published: float, derived: float) -> bool:
    return round(published, _DIGITS - 1) == round(derived, _DIGITS - 1)


def _twice(measured: Mapping[str, Measured], here: Oddity) -> Iterator[Oddity]:
    eager, graded = measured.get("eager"), measured.get(_GRADED)
    if eager and graded and not 1 / _SAME_TIME < eager.ms / graded.ms < _SAME_TIME:
        found = f"the reference took {eager.ms} ms as eager and {graded.ms} ms graded as a solution"
        yield _odd(here, found, "the floor is the eager row")


def _floor(
    kind: FloorKind, problem: str, board: Leaderboard, row: Measured, peak: _Peak | None
) -> Floor:
    name = next(name for name, known in KINDS.items() if known is kind)
    rate = _rate(row, peak) if peak else None
    score = round(rate / peak.value, _DIGITS) if peak and rate else None
    how = f": {rate} {peak.unit} / {peak.value:g} {peak.unit}, {peak.source}" if peak else ""
    return Floor(
        kind=kind,
        problem=problem,
        hardware=board.hardware.id,
        peak_fraction=score,
        ms=row.ms,
        source=f"{BASELINES} of the published KernelBench Hard board, {name}"
        + (how if score is not None else ", which gives a time but no score"),
    )
