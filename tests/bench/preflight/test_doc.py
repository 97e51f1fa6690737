"""What docs/preflight.md says is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from bench.commands.doctor import DOCTOR
from bench.commands.preflight import PREFLIGHT
from bench.doctor.form import GIB, gib
from bench.doctor.machine import GOOD_DISK, LEAST_DISK, LEAST_MEMORY
from bench.preflight import CHECKS, Trial
from bench.preflight.trying import LIVE_SECONDS, LIVE_TOKENS
from bench.running.form import SessionLimits
from bench.scripted import SHIPPED

TEXT = (Path(__file__).parents[3] / "docs/preflight.md").read_text()


def first_cells(heading: str) -> list[str]:
    """The first column of the table below a heading."""
    part = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \|", part, re.MULTILINE)
    return [row.strip() for row in rows if not row.startswith("--")][1:]


def test_each_check_is_told() -> None:
    assert tuple(first_cells("preflight")) == CHECKS


def test_each_row_of_the_doctor_is_told() -> None:
    told = {name.strip() for cell in first_cells("doctor") for name in cell.split(",")}
    assert told >= {
        "system", "processors", "memory", "folders of sessions", "disk for runs", "python",
        "torch", "triton", "bubblewrap", "namespaces", "control groups", "GPUs", "ncu", "nsys",
        "profiling", "nvcc", "g++", "CLIs", "ray", "submitit", "providers",
    }  # fmt: skip


def test_figures_are_those_of_the_code() -> None:
    limits = SessionLimits()
    folders = limits.workspace_bytes + limits.home_bytes + limits.scratch_bytes
    assert f"up to {folders // GIB} GiB" in TEXT
    assert LEAST_DISK == LEAST_MEMORY == GIB
    assert f"{LEAST_DISK // GIB} GiB has to be free, {GOOD_DISK // GIB} GiB should be" in TEXT
    assert "less than 1 GiB of memory or disk" in TEXT
    assert f"{LIVE_TOKENS:,} tokens" in TEXT
    assert LIVE_SECONDS == 120
    assert "after two minutes" in TEXT
    assert gib(folders) == "14.0 GiB"


def test_scripts_and_options_that_it_names_are_there() -> None:
    assert Trial().script == "quick"
    for name in ("quick", "main"):
        assert f"`{name}`" in TEXT or f"--script {name}" in TEXT
        assert (SHIPPED / f"{name}.yaml").is_file()
    options = {one.name for one in (*PREFLIGHT.options, *DOCTOR.options)} | {"check"}
    assert set(re.findall(r"--([a-z]+)", TEXT)) - {"version"} <= options
