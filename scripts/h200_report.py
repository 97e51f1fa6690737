"""Write what gradings on an H200 showed as a report, from their results alone.

    python scripts/h200_report.py

Reads runs/floors, docs/reports/2026-11-21-h200/ and the table of exploits; writes
docs/reports/2026-11-21-h200.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "docs" / "reports" / "2026-11-21-h200.md"
DATA = REPORT.with_suffix("")
FLOORS = ROOT / "runs" / "floors"
EXPLOITS = ROOT / "src" / "kbsite" / "exploits.json"
HARDWARE = "h200-sxm"

DATASHEET = {"copy": 4800.0, "triad": 4800.0, "bf16": 989.5, "fp8": 1979.0}
GOAL_CV, WORST_CV = 0.003, 0.01
GRADINGS = 10
"""Gradings of a floor that were asked for to tell its variation."""
AGREEMENT = 0.01
GOALS = {
    "fp8_gemm": (0.70, 0.95), "bf16_gemm": (0.70, 0.95), "mrope": (0.80, 0.95),
    "vector_add": (0.80, 0.95),
}  # fmt: skip
"""Between which shares of the datasheet a library floor has to lie, where that is known."""

SECONDS = 120
"""What a grading of five shapes may take."""

EACH_SHAPE = "automatic_dynamic_shapes = False"
"""What the source of a compiled floor says that has code for each shape."""

CLOCKS = ("event_ms", "wall_ms", "event_slope_ms", "slope_ms")
NAMES = {
    "event_ms": "events, single calls", "event_slope_ms": "events, calls in batches",
    "wall_ms": "the grader's clock, single calls", "slope_ms": "the grader's clock, in batches",
}  # fmt: skip

Json = Mapping[str, Any]


def main() -> None:
    """Write the report, and say where it is."""
    REPORT.write_text(report(DATA, FLOORS, EXPLOITS), "utf-8")
    sys.stdout.write(f"{REPORT}\n")


def report(data: Path, floors: Path, exploits: Path) -> str:
    """The whole report."""
    repeats = [(path.stem, read(path)) for path in sorted((data / "gradings").glob("*.json"))]
    runs = list(floor_runs(floors, "library"))
    machines = sorted(map(read, (data / "anchors").glob("*.json")), key=itemgetter("made"))
    parts = [
        (data / "head.md").read_text("utf-8").strip(),
        "## What the machines reach\n\n" + anchors(machines),
        "## Library floors\n\n" + (data / "floors.md").read_text("utf-8").strip(),
        goal_table(runs),
        floor_table(runs),
        apart(runs),
        proof_table(runs),
        "## Eager floors\n\n" + (data / "eager.md").read_text("utf-8").strip(),
        floors_beside(floors, "eager", dict(runs)),
        "## Compiled floors\n\n" + (data / "compiled.md").read_text("utf-8").strip(),
        floors_beside(floors, "compiled", dict(runs), how_compiled(floors)),
        each_shape(read(data / "as-it-comes.json"), floors),
        "## From grading to grading\n\n" + (data / "spread.md").read_text("utf-8").strip(),
        spread_table(repeats),
        verdict(repeats),
        apart_table(repeats),
        "## Exploits\n\n" + (data / "exploits.md").read_text("utf-8").strip(),
        exploit_table(read(exploits)),
        (data / "tail.md").read_text("utf-8").strip(),
    ]
    return "\n\n".join(parts) + "\n"


def read(path: Path) -> Any:
    """What a JSON file says."""
    return json.loads(path.read_bytes())


def floor_runs(floors: Path, kind: str) -> Iterator[tuple[str, Json]]:
    """Problem and metrics of the floors of a kind that were graded on the hardware, by time."""
    for folder in _floors(floors, kind):
        yield read(folder / "run.json")["problem"], read(folder / "metrics.json")


def _floors(floors: Path, kind: str) -> Iterator[Path]:
    """The runs of the floors of a kind that were graded on the hardware, by time."""
    for folder in sorted(floors.iterdir()):
        run = read(folder / "run.json")
        if run["hardware"] == HARDWARE and run["model"] == kind:
            yield folder


def anchors(machines: Sequence[Json]) -> str:
    """A line for each rate, what it was on each machine, with its share of the datasheet's."""
    rows = []
    for key, unit in (("gb_per_second", "GB/s"), ("tflops", "TFLOP/s")):
        for name in machines[0][key]:
            rates = [made[key][name] for made in machines]
            rows.append((name, *(f"{rate:.0f} {unit}{of_datasheet(name, rate)}" for rate in rates)))
    return table(
        ("what", *(f"on {made['made'][:16]}, of the datasheet" for made in machines)), rows
    )


def of_datasheet(name: str, rate: float) -> str:
    """A rate as a share of the datasheet's, where that names one."""
    return f", {rate / DATASHEET[name]:.3f}" if name in DATASHEET else ""


def goal_table(runs: Sequence[tuple[str, Json]]) -> str:
    """A line for each floor: how thoroughly it was graded, how long that took, what it reached."""
    rows = []
    for problem, metrics in runs:
        took = sum(metrics["stages"].values())
        low, high = GOALS.get(problem, (0.0, 0.0))
        reached = metrics["peak_fraction"]
        met = "met" if low <= reached <= high else "missed"
        goal = f"{low:.2f} to {high:.2f}: {met}" if problem in GOALS else ""
        rows.append((
            problem, f"{metrics['rounds']} x {metrics['calls_per_round']}",
            str(len(metrics["shapes"])), f"{took:.0f} s", f"{reached:.3f}",
            "{:.3f} to {:.3f}".format(*metrics["interval"]), goal,
        ))  # fmt: skip
    heads = ("problem", "processes x calls", "shapes", "grading took", "peak_fraction", "95 %",
             "asked for")  # fmt: skip
    whole = [without_build(one["stages"]) for _, one in runs if one["calls_per_round"] >= 100]
    said = (
        f"Gradings to publish (5 processes of 100 calls on each of four or five shapes) took "
        f"{', '.join(f'{one:.0f} s' for one in sorted(whole))} without what the solution took to "
        f"be imported and to prepare itself; {SECONDS} s were allowed."
    )
    return f"{table(heads, rows)}\n\n{said}"


def without_build(stages: Json) -> float:
    """Seconds of a grading but for those in which the solution was built."""
    return float(sum(stages.values()) - stages.get("build", 0.0))


def floor_table(runs: Sequence[tuple[str, Json]]) -> str:
    """A line for each shape of each floor."""
    rows = []
    for problem, metrics in runs:
        for shape in metrics["shapes"]:
            clocks = shape["clocks"]
            rows.append((
                problem, shape["shape"], f"{shape['ms'] * 1e3:.0f}",
                f"{shape['peak_fraction']:.3f}", *(f"{clocks[name] * 1e3:.0f}" for name in CLOCKS),
                f"{of_batches(clocks):.1%}",
            ))  # fmt: skip
    heads = ("problem", "shape", "time, us", "peak_fraction", "event, single", "grader, single",
             "event, batch", "grader, batch", "apart over batches")  # fmt: skip
    return table(heads, rows)


def of_batches(clocks: Json) -> float:
    """How far the two clocks are apart over the same batches, as a share of the slower one."""
    pair = clocks["event_slope_ms"], clocks["slope_ms"]
    return float((max(pair) - min(pair)) / max(pair))


def apart(runs: Sequence[tuple[str, Json]]) -> str:
    """How far clocks were apart over all shapes of the floors, in a sentence."""
    clocks = [shape["clocks"] for _, metrics in runs for shape in metrics["shapes"]]
    batches = [of_batches(one) for one in clocks]
    late = [(one["wall_ms"] - one["event_ms"]) * 1e3 for one in clocks]
    return (
        f"Both clocks are {min(batches):.2%} to {max(batches):.2%} apart over batches, "
        f"{median(batches):.1%} in the median; {sum(one <= AGREEMENT for one in batches)} of "
        f"{len(batches)} shapes are within {AGREEMENT:.0%}. A single call takes {round(min(late))} "
        f"to {round(max(late))} us more by the grader's clock than by events."
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


def floors_beside(
    floors: Path, kind: str, library: Mapping[str, Json], how: Mapping[str, str] | None = None
) -> str:
    """A line for each floor of a kind, beside the library floor of the same problem.

    Where it is told how each of them was compiled, that has a column.
    """
    rows = []
    apart = processes_apart(floors, kind)
    for problem, metrics in floor_runs(floors, kind):
        reached, other = metrics["peak_fraction"], library[problem]["peak_fraction"]
        shape, times = apart[problem]
        rows.append((
            problem, *([how[problem]] if how else []), f"{reached:.4f}",
            "{:.4f} to {:.4f}".format(*metrics["interval"]), f"{other:.3f}",
            f"{other / reached:.1f}", f"{times:.2f} ({shape})",
            f"{sum(metrics['stages'].values()):.0f} s",
        ))  # fmt: skip
    heads = (
        "problem", *(["how"] if how else []), kind, "95 %", "library", "library is faster, times",
        "slowest process, times the fastest", "grading took",
    )  # fmt: skip
    return table(heads, rows)


def how_compiled(floors: Path) -> dict[str, str]:
    """For each compiled floor, by its source, whether it has code for each shape."""
    return {
        read(folder / "run.json")["problem"]: (
            "for each shape"
            if EACH_SHAPE in (folder / "solution.py").read_text("utf-8")
            else "as it comes"
        )
        for folder in _floors(floors, "compiled")
    }


def each_shape(before: Sequence[Json], floors: Path) -> str:
    """A line for each grading of a floor compiled as it comes that one for each shape replaced."""
    rows = []
    now = dict(floor_runs(floors, "compiled"))
    apart = processes_apart(floors, "compiled")
    for one in before:
        problem, reached = one["problem"], one["peak_fraction"]
        metrics = now[problem]
        passed = reached is not None
        rows.append((
            problem, f"{one['run'][6:8]} November", *(
                (in_interval(one), "{1:.2f} ({0})".format(*most_apart(one["event_ms"])))
                if passed else (one["outcome"], "")
            ),
            in_interval(metrics), "{1:.2f} ({0})".format(*apart[problem]),
            f"{metrics['peak_fraction'] / reached:.1f}" if passed else "",
        ))  # fmt: skip
    heads = (
        "problem", "graded", "compiled as it comes", "slowest process, times the fastest",
        "compiled for each shape", "slowest process, times the fastest", "faster, times",
    )  # fmt: skip
    return table(heads, rows)


def in_interval(metrics: Json) -> str:
    """What a floor reached, with its interval."""
    return "{:.4f} ({:.4f} to {:.4f})".format(metrics["peak_fraction"], *metrics["interval"])


def processes_apart(floors: Path, kind: str) -> dict[str, tuple[str, float]]:
    """For each floor of a kind, the shape whose processes differ most, and by what factor.

    The time of a shape in a process is the median of its single calls, by events.
    """
    found = {}
    for folder in _floors(floors, kind):
        times: dict[str, list[float]] = {}
        for line in (folder / "samples.jsonl").read_text("utf-8").splitlines():
            round_ = json.loads(line)
            times.setdefault(round_["shape"], []).append(median(round_["event_ms"]))
        found[read(folder / "run.json")["problem"]] = most_apart(times)
    return found


def most_apart(times: Mapping[str, Sequence[float]]) -> tuple[str, float]:
    """Of the times of shapes in each process, the shape where they differ most, and the factor."""
    ratio, shape = max((max(of) / min(of), shape) for shape, of in times.items())
    return shape, ratio


def variation(times: Sequence[float]) -> float:
    """Coefficient of variation."""
    return stdev(times) / mean(times)


def spread_table(repeats: Sequence[tuple[str, Sequence[Json]]]) -> str:
    """For each clock, the time and its variation from grading to grading."""
    rows = []
    for name, gradings in repeats:
        for clock in CLOCKS:
            times = [one["metrics"]["shapes"][0]["clocks"][clock] for one in gradings]
            rows.append((name, NAMES[clock], *in_short(times)))
        rows.append((name, "**the time**", *in_short(times_of(gradings))))
    return table(("floor and shape", "clock", "gradings", "mean, us", "CV"), rows)


def in_short(times: Sequence[float]) -> tuple[str, str, str]:
    """How many times, their mean and their variation."""
    return str(len(times)), f"{mean(times) * 1e3:.1f}", f"{variation(times):.2%}"


def times_of(gradings: Sequence[Json]) -> list[float]:
    """The time of each grading, milliseconds."""
    return [one["metrics"]["ms"] for one in gradings]


def verdict(repeats: Sequence[tuple[str, Sequence[Json]]]) -> str:
    """Whether the goals for the variation of the time were met, where there are enough times."""
    enough = [gradings for _, gradings in repeats if len(gradings) >= GRADINGS]
    all_of = [variation(times_of(gradings)) for gradings in enough]
    met = median(all_of) <= GOAL_CV and max(all_of) <= WORST_CV
    return (
        f"Of {len(all_of)} floors: median {median(all_of):.2%}, worst {max(all_of):.2%}. Asked for "
        f"were a median of {GOAL_CV:.1%} and at worst {WORST_CV:.0%}: {'met' if met else 'missed'} "
        f"over {min(map(len, enough))} gradings each."
    )


def apart_table(repeats: Sequence[tuple[str, Sequence[Json]]]) -> str:
    """How far both clocks of each grading are apart over the same batches."""
    rows = []
    for name, gradings in repeats:
        found = [of_batches(one["metrics"]["shapes"][0]["clocks"]) for one in gradings]
        within = sum(one <= AGREEMENT for one in found)
        rows.append((
            name, f"{median(found):.2%}", f"{max(found):.2%}", f"{within} of {len(found)}",
        ))  # fmt: skip
    heads = ("floor and shape", "apart over batches, median", "worst", f"within {AGREEMENT:.0%}")
    return table(heads, rows)


def exploit_table(published: Json) -> str:
    """What the grader said of each exploit and control on a GPU."""
    rows = [
        (one["id"], one["seen"]["cuda"]["outcome"], one["seen"]["cuda"]["dealt"], one["title"])
        for section in ("exploits", "hostile", "controls")
        for one in published[section]
        if "cuda" in one["seen"]
    ]
    return table(("case", "outcome", "dealt with", "what it does"), rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
