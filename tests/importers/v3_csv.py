"""A small table of our own, in the columns of the published KernelBench v3 table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from kbsite.importers.v3_table import COLUMNS
from tests.importers.published_board import BESIDE

PUBLISHED = BESIDE / "upstream" / "v3" / "results.csv"
"""The real table, where it lies beside the checkout."""

PASSED: dict[str, Any] = {
    "model": "Alpha 1", "gpu": "H100", "level": 1, "problem": "23_Softmax.py", "compiled": True,
    "correct": True, "speedup": 0.5, "ref_ms": 0.25, "sol_ms": 0.5, "turns": 7,
    "total_tokens": 12345, "estimated_cost_usd": 0.125, "op_type": "softmax",
    "baseline_type": "pytorch_eager", "precision_used": "fp32",
    "run_dir": "run_20260102_030405", "solution_link": "/solutions/Alpha 1_softmax.txt",
    "baseline_link": "/references/23_Softmax.py",
}  # fmt: skip

FAILED: dict[str, Any] = {
    **PASSED, "correct": False, "speedup": "", "ref_ms": "", "sol_ms": "", "op_type": "",
    "baseline_type": "",
}  # fmt: skip
"""It compiled and was wrong."""

BROKEN: dict[str, Any] = {**FAILED, "compiled": False, "precision_used": "", "solution_link": ""}
"""It did not compile."""

SILENT: dict[str, Any] = {**BROKEN, "turns": 1, "total_tokens": 0, "estimated_cost_usd": ""}
"""Nothing tells that the model answered."""


def table(path: Path, *rows: dict[str, Any]) -> Path:
    """The rows as a table at a path, which is returned."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), "utf-8", newline="")
    return path
