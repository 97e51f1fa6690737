"""Options that several commands share, and the choice that they make together."""

from __future__ import annotations

from pathlib import Path

from bench.commands.command import Given, Option

PROBLEMS = Option(name="problems", kind=Path, help="Folder of the problems.")
RUNS = Option(name="runs", kind=Path, help="Folder of the runs; its floors/ holds the floors.")
CLIS = Option(
    name="clis", kind=Path,
    help="Where CLIs are installed; else as KBSITE_CLIS says, else .clis beside kbsite.yaml.",
)  # fmt: skip
DEVICE = Option(
    name="device", choices=("cpu", "cuda"), help="What to grade on; else a GPU if there is one."
)
HARDWARE = Option(
    name="hardware", metavar="ID",
    help="Whose ceilings count: a file of bench/hardware; else what the driver calls it.",
)  # fmt: skip
ANCHORS = Option(
    name="anchors", kind=Path,
    help="What this machine was measured at (`bench calibrate`); else it is measured, once.",
)  # fmt: skip
SANDBOX = Option(
    name="sandbox", choices=("bubblewrap", "namespaces", "none"),
    help="What holds the solution; else the best that works here. `none` is for your own code.",
)  # fmt: skip
ROUNDS = Option(name="rounds", kind=int, help="Fresh processes; 5 without it.")
CALLS = Option(name="calls", kind=int, help="Calls of each on a shape; 100 without it.")
SHAPE = Option(
    name="shape", several=True, metavar="ID",
    help="Only this shape, or these; what comes of it is never written into a run.",
)  # fmt: skip

GRADING = (DEVICE, HARDWARE, ANCHORS, SANDBOX, ROUNDS, CALLS, PROBLEMS, RUNS)
"""How is graded."""


def clis(given: Given) -> Path:
    """The folder that CLIs are installed in; without one, the usual one of where the caller is."""
    from bench.installing import default_prefix

    named: Path | None = given.get("clis")
    return (named or default_prefix(Path.cwd())).absolute()


def folder(given: Given, name: str) -> Path:
    """The folder of problems or runs; without one, that of the folder that the caller is in."""
    return given.get(name) or Path(name)
