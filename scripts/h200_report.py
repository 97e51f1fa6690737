"""Write what gradings on an H200 showed as a report, from their results alone.

    python scripts/h200_report.py

Reads runs/floors and docs/reports/2026-11-21-h200/, writes docs/reports/2026-11-21-h200.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "docs" / "reports" / "2026-11-21-h200.md"
DATA = REPORT.with_suffix("")
FLOORS = ROOT / "runs" / "floors"
HARDWARE = "h200-sxm"

DATASHEET = {"copy": 4800.0, "triad": 4800.0, "bf16": 989.5, "fp8": 1979.0}
GOAL_CV, WORST_CV = 0.003, 0.01
AGREEMENT = 0.01
CLOCKS = ("event_ms", "event_slope_ms", "wall_ms", "slope_ms")
NAMES = {
    "event_ms": "events, single calls", "event_slope_ms": "events, calls in batches",
    "wall_ms": "the grader's clock, single calls", "slope_ms": "the grader's clock, in batches",
}  # fmt: skip

Json = Mapping[str, Any]


def main() -> None:
    """Write the report, and say where it is."""
    REPORT.write_text(report(DATA, FLOORS), "utf-8")
    sys.stdout.write(f"{REPORT}\n")


def report(data: Path, floors: Path) -> str:
    """The whole report."""
    repeats = [(path.stem, read(path)) for path in sorted(data.glob("*-*.json"))]
    runs = list(floor_runs(floors))
    parts = [
        (data / "head.md").read_text("utf-8").strip(),
        "## What the machine reaches\n\n" + anchors(read(data / "anchors.json")),
        "## Library floors\n\n" + (data / "floors.md").read_text("utf-8").strip(),
        floor_table(runs),
        apart(runs),
        proof_table(runs),
        "## From process to process\n\n" + (data / "spread.md").read_text("utf-8").strip(),
        spread_table(repeats),
        verdict(repeats),
        "## Exploits\n\n" + (data / "exploits.md").read_text("utf-8").strip(),
        exploit_table(read(data / "exploits.json")),
        (data / "tail.md").read_text("utf-8").strip(),
    ]
    return "\n\n".join(parts) + "\n"


def read(path: Path) -> Any:
    """What a JSON file says."""
    return json.loads(path.read_bytes())


def floor_runs(floors: Path) -> Iterator[tuple[str, Json]]:
    """Problem and metrics of the floors that were graded on the hardware, in order of time."""
    for folder in sorted(floors.iterdir()):
        run = read(folder / "run.json")
        if run["hardware"] == HARDWARE:
            yield run["problem"], read(folder / "metrics.json")


def anchors(made: Json) -> str:
    """A line for each rate, with its share of the datasheet's where that names one."""
    rates = [(name, rate, "GB/s") for name, rate in made["gb_per_second"].items()]
    rates += [(name, rate, "TFLOP/s") for name, rate in made["tflops"].items()]
    rows = [
        (name, f"{rate:.0f} {unit}", f"{rate / DATASHEET[name]:.3f}" if name in DATASHEET else "")
        for name, rate, unit in rates
    ]
    return table(("what", "measured", "of the datasheet"), rows)


def floor_table(runs: Sequence[tuple[str, Json]]) -> str:
    """A line for each shape of each floor, and one for the floor."""
    rows = []
    for problem, metrics in runs:
        for shape in metrics["shapes"]:
            clocks, fraction = shape["clocks"], shape["peak_fraction"]
            rows.append((
                problem, shape["shape"], f"{shape['ms'] * 1e3:.0f}", f"{fraction:.3f}",
                *(f"{clocks[name] * 1e3:.0f}" for name in CLOCKS),
                f"{disagreement(clocks):.1%}",
            ))  # fmt: skip
        rows.append((problem, "**all**", "", f"**{metrics['peak_fraction']:.3f}**", *[""] * 5))
    heads = ("problem", "shape", "time, us", "peak_fraction", "event", "event slope", "wall",
             "slope", "slowest over event")  # fmt: skip
    return table(heads, rows)


def disagreement(clocks: Json) -> float:
    """By how much the slowest clock is above the event clock, as a share of that."""
    return float(max(clocks[name] for name in CLOCKS) / clocks["event_ms"] - 1)


def apart(runs: Sequence[tuple[str, Json]]) -> str:
    """How far clocks were apart over all shapes, in a sentence."""
    clocks = [shape["clocks"] for _, metrics in runs for shape in metrics["shapes"]]
    slowest = [disagreement(one) for one in clocks]
    inside = [abs(one["event_slope_ms"] / one["event_ms"] - 1) for one in clocks]
    above = [(one["wall_ms"] - one["event_ms"]) * 1e3 for one in clocks]
    return (
        f"Over the {len(clocks)} shapes the slowest clock is {min(slowest):.1%} to "
        f"{max(slowest):.1%} above the event clock, {median(slowest):.1%} in the median. A single "
        f"call takes {round(min(above))} to {round(max(above))} us more by the grader's clock "
        f"than by events. Events of single calls and of calls in batches are {median(inside):.1%} "
        f"apart in the median; {sum(one <= AGREEMENT for one in inside)} of {len(inside)} within "
        f"{AGREEMENT:.0%}."
    )


def proof_table(runs: Sequence[tuple[str, Json]]) -> str:
    """What was counted while each floor ran."""
    rows = [
        (problem, proof["name"], proof["detail"])
        for problem, metrics in runs
        for proof in metrics["proofs"]
        if proof["available"] and proof["name"] != "kernel names"
    ]
    return table(("problem", "proof", "seen"), rows)


def process_times(samples: Sequence[Json], clock: str) -> list[float]:
    """What a clock makes of each process, milliseconds: medians, less those of empty calls."""
    found = []
    for one in samples:
        if one[clock]:
            off = median(one["overhead_ms"]) if clock == "wall_ms" else 0.0
            found.append(median(one[clock]) - off)
    return found


def variation(times: Sequence[float]) -> float:
    """Coefficient of variation."""
    return stdev(times) / mean(times)


def spread_table(repeats: Sequence[tuple[str, Json]]) -> str:
    """For each clock, the time and its variation over fresh processes."""
    rows = []
    for name, told in repeats:
        for clock in CLOCKS:
            times = process_times(told["samples"], clock)
            rows.append((name, NAMES[clock], str(len(times)), f"{mean(times) * 1e3:.1f}",
                         f"{variation(times):.2%}"))  # fmt: skip
        slowest = slowest_times(told["samples"])
        rows.append((name, "**slowest, which counts**", str(len(slowest)),
                     f"{mean(slowest) * 1e3:.1f}", f"{variation(slowest):.2%}"))  # fmt: skip
    return table(("floor and shape", "clock", "processes", "mean, us", "CV"), rows)


def slowest_times(samples: Sequence[Json]) -> list[float]:
    """The slowest clock of each process, milliseconds."""
    return [
        max(max(process_times([one], clock), default=0.0) for clock in CLOCKS if one[clock])
        for one in samples
    ]


def verdict(repeats: Sequence[tuple[str, Json]]) -> str:
    """Whether the goals for the variation were met, by the event clock and by the slowest."""
    found = []
    for label, times in (
        ("event clock", [process_times(told["samples"], "event_ms") for _, told in repeats]),
        ("slowest clock", [slowest_times(told["samples"]) for _, told in repeats]),
    ):
        all_of = [variation(one) for one in times]
        met = median(all_of) <= GOAL_CV and max(all_of) <= WORST_CV
        found.append(
            f"* {label}: median {median(all_of):.2%}, worst {max(all_of):.2%}; the goal (median "
            f"{GOAL_CV:.1%}, worst {WORST_CV:.0%}) is {'met' if met else 'missed'}."
        )
    return "\n".join(found)


def exploit_table(judged: Sequence[Json]) -> str:
    """What the grader said of each exploit."""
    rows = [(one["case"], one["outcome"], one["detail"]) for one in judged]
    return table(("exploit", "outcome", "in its words"), rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
