"""A small published board, hand-made: two rows, two problems, nothing odd in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BESIDE = Path(__file__).parents[2].parent / "shared"

GEMM, ATTENTION = DECK = ["01_fp8_gemm", "03_paged_attention"]
ALPHA_1 = "20260101_000000_codex_alpha_01_fp8_gemm"
ALPHA_3 = "20260101_010000_codex_alpha_03_paged_attention"
BETA_1 = "20260102_000000_opencode_lab_beta_01_fp8_gemm"
BETA_3 = "20260102_010000_opencode_lab_beta_03_paged_attention"


def cell(run_id: str, score: float | None = None, **keys: Any) -> dict[str, Any]:
    """A published cell: passed where it has a score, else wrong."""
    return {
        "run_id": run_id,
        "correct": score is not None,
        "has_solution": True,
        "peak_fraction": score,
        "elapsed_seconds": 1000,
        **keys,
    }


def published() -> dict[str, Any]:
    """leaderboard.json: alpha passes one and fails one, beta is cut and leaves no solution."""
    return {
        "schema_version": 1,
        "hardware": {
            "name": "GPU X Workstation",
            "sm": "sm_1",
            "vram_gb": 96,
            "peak_bandwidth_gb_s": 1000,
        },
        "problems": list(DECK),
        "models": [
            {
                "label": "codex/alpha [high]",
                "harness": "codex",
                "model": "alpha",
                "effort": "high",
                "results": {GEMM: cell(ALPHA_1, 0.5), ATTENTION: cell(ALPHA_3)},
                "pass_count": 1,
                "total_runs": 2,
            },
            {
                "label": "opencode/lab/beta",
                "harness": "opencode",
                "model": "lab/beta",
                "effort": "",
                "results": {
                    GEMM: cell(BETA_1, 0.25, elapsed_seconds=2701),
                    ATTENTION: cell(BETA_3, has_solution=False),
                },
                "pass_count": 1,
                "total_runs": 2,
            },
        ],
        "per_problem": {
            GEMM: {
                "n_attempted": 2,
                "n_passed": 2,
                "best_peak_fraction": 0.5,
                "best_model": "codex/alpha [high]",
                "ranked_passes": [
                    {"model": "codex/alpha [high]", "peak_fraction": 0.5},
                    {"model": "opencode/lab/beta", "peak_fraction": 0.25},
                ],
            },
            ATTENTION: {
                "n_attempted": 2,
                "n_passed": 0,
                "best_peak_fraction": None,
                "best_model": None,
                "ranked_passes": [],
            },
        },
    }


def baselines() -> dict[str, Any]:
    """problem_baselines.json of that board: 100 in either unit for eager, the others faster."""
    rows = {
        "eager": {"ms": 2.0, "tflops": 100.0, "gbps": 100.0, "n_shapes": 4},
        "compiled": {"ms": 1.0, "tflops": 200.0, "gbps": 200.0, "n_shapes": 4},
        "sota": {"ms": 0.5, "tflops": 400.0, "gbps": 400.0, "n_shapes": 4},
        "solution": {"ms": 2.0, "tflops": 100.0, "gbps": 100.0, "n_shapes": 4},
    }
    return {"_hardware": "GPU_X_SM1", "problems": {name: dict(rows) for name in DECK}}


NOTE: dict[str, Any] = {
    "run_id": ALPHA_1,
    "model": "alpha",
    "harness": "codex",
    "effort": "high",
    "problem": GEMM,
    "peak_fraction": 0.5,
    "verdict": "rubric_leak",
    "summary": "It takes a way round.",
    "quotes": [
        {"file": "solution.py", "lines": [3, 4], "label": "The way", "text": "a = 1\nb = 2\n"}
    ],
    "implication": "The rubric has a hole.",
}
"""The note on alpha's passed run."""

BROKEN = f"""\
run_id: {ALPHA_3}
problem: {ATTENTION}
peak_fraction: null

verdict: bug

summary: >
  The gate stopped it
  for a word.

quotes:
  - file: solution.py
    lines: [1, 4]
    label: "Where it is"
    text: |
      class Model:
          word = 1

  def forward(self):
      return 2
  - file: check.log
    lines: [1]
    label: "What the gate said"
    text: "FAIL: forbidden op used: word"

implication: >
  The gate reads words.
"""
"""A note that is no YAML: a passage leaves its indentation in line 19."""
