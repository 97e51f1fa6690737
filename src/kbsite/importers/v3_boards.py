"""The boards of the published KernelBench v3 table: one a GPU, its deck in levels and tracks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import yaml

from kbsite.importers.report import Oddity
from kbsite.importers.v3_table import Row
from kbsite.model.config import DeckGroup
from kbsite.model.counts import figure
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.slugs import slug

BOARD = "v3-"
"""How the ids of its boards begin; the GPU follows."""

HARDWARE: Mapping[str, str] = {
    "RTX3090": "rtx-3090",
    "H100": "h100-sxm",
    "B200": "b200-sxm-180gb-1000w",
}
"""What each GPU of the table is taken for. Its authors rented H100 and B200 from a cloud; the table
tells neither memory nor form."""

TRACKS: Mapping[str, frozenset[str]] = {
    "Graphics": frozenset({"bloom", "particles"}),
    "Tile-specialized": frozenset({
        "gemm_bf16", "gemm_bias_gelu", "gemm_bias_relu", "gemm_bias_silu", "gemm_fp4", "gemm_fp8",
        "gemm_mixed_fp8_fp16", "gemm_residual_add", "gemv_bf16", "gemv_fp16", "gemv_fp4",
        "gemv_fp8", "moe_grouped_gemm",
    }),
    "CuTile": frozenset({"persistent_gemm", "stream_k_gemm", "warp_specialized_gemm"}),
}  # fmt: skip
"""Problems that its authors kept in folders of their own; the table files them as level 1."""

KINDS: Mapping[str, FloorKind] = {
    "pytorch": FloorKind.EAGER,
    "pytorch_eager": FloorKind.EAGER,
    "torch_compile": FloorKind.COMPILED,
}
"""Which reference `ref_ms` is the time of, by `baseline_type`: earlier batches say pytorch."""

SPREAD = 2
"""Times of one reference that differ by more are told."""


@dataclass(frozen=True, slots=True)
class V3Board:
    """The rows of one GPU, and the floors that they tell."""

    gpu: str
    hardware: str
    rows: tuple[Row, ...]
    groups: tuple[DeckGroup, ...]
    floors: tuple[Floor, ...]

    @property
    def id(self) -> str:
        """The id of the board, which is the name of its folder, too."""
        return f"{BOARD}{slug(self.gpu)}"


def boards_of(
    rows: Sequence[Row], file: str, hardware: Mapping[str, str] | None = None
) -> tuple[V3Board, ...]:
    """The boards of a table, in the order of its rows; `hardware` says more than HARDWARE does."""
    taken_for = {**HARDWARE, **(hardware or {})}
    by_gpu: dict[str, list[Row]] = {}
    for row in rows:
        by_gpu.setdefault(row.gpu, []).append(row)
    found = []
    for gpu, own in by_gpu.items():
        device = taken_for.get(gpu, slug(gpu))
        floors = tuple(_floors(own, device, file))
        found.append(V3Board(gpu, device, tuple(own), tuple(_groups(own)), floors))
    return tuple(found)


def track_of(problem: str) -> str | None:
    """The track that a problem belongs to in truth; None where its level is what the table says."""
    return next((title for title, held in TRACKS.items() if problem in held), None)


def _groups(rows: Iterable[Row]) -> Iterator[DeckGroup]:
    held: dict[tuple[int, str], set[str]] = {}
    level_of: dict[str, int] = {}
    for row in rows:
        track, level = track_of(row.problem), level_of.setdefault(row.problem, row.level)
        # Levels first, then tracks in the order of the table above.
        at = (100 + list(TRACKS).index(track), track) if track else (level, f"Level {level}")
        held.setdefault(at, set()).add(row.problem)
    for (_, title), problems in sorted(held.items()):
        yield DeckGroup(title=title, problems=tuple(sorted(problems, key=_by_number)))


def _by_number(problem: str) -> tuple[int, str]:
    number = re.match(r"[0-9]{1,9}", problem)
    return (int(number[0]) if number else 10**9, problem)


def _measured(rows: Iterable[Row]) -> dict[tuple[str, FloorKind], list[float]]:
    """The times of each problem's references, in order of size."""
    found: dict[tuple[str, FloorKind], list[float]] = {}
    for row in rows:
        kind = KINDS.get(row.baseline)
        if kind and row.ref_ms is not None:
            found.setdefault((row.problem, kind), []).append(row.ref_ms)
    return {key: sorted(times) for key, times in sorted(found.items(), key=_in_order)}


def _in_order(item: tuple[tuple[str, FloorKind], list[float]]) -> tuple[str, str]:
    (problem, kind), _ = item
    return problem, kind.value


def _floors(rows: Iterable[Row], hardware: str, file: str) -> Iterator[Floor]:
    for (problem, kind), times in _measured(rows).items():
        few = f"the only ref_ms of {file} for it"
        many = (
            f"the median of {len(times)} times, {figure(times[0])} to {figure(times[-1])} ms:"
            f" ref_ms of {file}, measured anew beside each solution"
        )
        yield Floor(
            kind=kind,
            problem=problem,
            hardware=hardware,
            ms=median(times),
            source=f"{few if len(times) == 1 else many}; it gives a time but no score",
        )


def settings_text(boards: Sequence[V3Board]) -> str:
    """The `boards` of a kbsite.yaml that show them, as YAML."""
    return yaml.dump(
        {"boards": [_settings(board) for board in boards]},
        Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120,
    )  # fmt: skip


class _List(list[str]):
    """A list that stands on one line."""


class _Dumper(yaml.SafeDumper):
    """Knows which lists stand on one line."""


_Dumper.add_representer(
    _List,
    lambda dumper, held: dumper.represent_sequence(
        "tag:yaml.org,2002:seq", list(held), flow_style=True
    ),
)


def _settings(board: V3Board) -> dict[str, Any]:
    return {
        "id": board.id,
        "title": f"v3 {board.gpu}",
        "tagline": f"KernelBench v3 as its authors published it, batches of {_when(board.rows)}:"
        " who passed, in what time; no transcripts, no scores.",
        "metric": "problems_passed",
        "hardware": board.hardware,
        "archived": True,
        "groups": [
            {"title": group.title, "problems": _List(group.problems)} for group in board.groups
        ],
    }


def _when(rows: Sequence[Row]) -> str:
    """The months in which batches began: "2026-02 to 2026-03"."""
    months = sorted({f"{row.stamp[:4]}-{row.stamp[4:6]}" for row in rows})
    return " to ".join(dict.fromkeys((months[0], months[-1])))


def board_oddities(board: V3Board, file: str) -> Iterator[Oddity]:
    """What is odd about the rows of one GPU."""
    yield _odd(board, file, "gpu", ("the product is not told", f"taken for {board.hardware}"))
    for key, of in (
        ("model", _repeated), ("level", _filed_elsewhere), ("level", _of_two_levels),
        ("ref_ms", _far_apart), ("baseline_type", _of_unknown),
    ):  # fmt: skip
        for told in of(board.rows):
            yield _odd(board, file, key, told)


_Told = tuple[str, str]
"""What was found, and what was made of it."""


def _odd(board: V3Board, file: str, key: str, told: _Told) -> Oddity:
    found, done = told
    return Oddity(file=file, key=key, found=f"{board.gpu}: {found}", done=done)


def _repeated(rows: Sequence[Row]) -> Iterator[_Told]:
    by_model: dict[str, list[str]] = {}
    for row in rows:
        by_model.setdefault(row.model, []).append(row.problem)
    for model, own in by_model.items():
        if len(own) > len(set(own)):
            found = f"{len(own)} rows of {model!r} for {len(set(own))} problems, unmarked"
            yield found, "attempts in order of run_dir"


def _filed_elsewhere(rows: Sequence[Row]) -> Iterator[_Told]:
    held = Counter(track_of(problem) for problem in {row.problem for row in rows})
    for title in filter(held.get, TRACKS):
        found = f"{held[title]} problems of the track {title!r} are filed under a level"
        yield found, f"a group {title!r} of their own"


def _of_two_levels(rows: Sequence[Row]) -> Iterator[_Told]:
    levels = Counter(problem for problem, _ in {(row.problem, row.level) for row in rows})
    for problem, count in sorted(levels.items()):
        if count > 1:
            yield f"{problem} has {count} levels", "the first kept"


def _far_apart(rows: Sequence[Row]) -> Iterator[_Told]:
    for (problem, kind), times in _measured(rows).items():
        if times[-1] > SPREAD * times[0]:
            found = (
                f"{len(times)} times of the {kind.value} reference of {problem} differ:"
                f" {figure(times[0])} to {figure(times[-1])} ms"
            )
            yield found, f"the floor is their median, {figure(median(times))} ms"


def _of_unknown(rows: Sequence[Row]) -> Iterator[_Told]:
    unknown = Counter(row.baseline for row in rows if row.ref_ms and row.baseline not in KINDS)
    for name, count in unknown.items():
        found = f"{count} times of a reference {name!r}, of which nobody says what it is"
        yield found, "no floors of them"
