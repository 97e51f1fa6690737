"""The commands of bench; a new one is a module here and a line below."""

from __future__ import annotations

from bench.commands.calibrate import CALIBRATE
from bench.commands.command import Argument, Command, Front, Given, Option, Told
from bench.commands.doctor import DOCTOR
from bench.commands.floor import FLOOR
from bench.commands.grade import GRADE
from bench.commands.install import INSTALL
from bench.commands.lint import LINT
from bench.commands.preflight import PREFLIGHT
from bench.commands.run import RUN
from bench.commands.sweep import SWEEP

__all__ = [
    "COMMANDS",
    "SUMMARY",
    "Argument",
    "Command",
    "Front",
    "Given",
    "Option",
    "Told",
]

SUMMARY = "Run agents in sandboxes, and grade what they leave."

COMMANDS: tuple[Command, ...] = (
    GRADE, FLOOR, LINT, CALIBRATE, INSTALL, DOCTOR, PREFLIGHT, RUN, SWEEP,
)  # fmt: skip
