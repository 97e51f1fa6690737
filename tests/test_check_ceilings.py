"""`kbsite check` computes ceilings anew from a problem's formulas and the hardware."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kbsite.check import check
from kbsite.model.accounting import bound_by, ceiling_of, sizes, work
from kbsite.model.hardware import Format
from kbsite.store.problems import read_problem
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeRun, MakeSettings
from tests.store.cards import CARD

# By the problem of the tests: 5 n operations in fp32 and 8 n bytes; by the card 25.6 TFLOP/s and
# 1000 GB/s: n = 1024 takes 8192 B / 10^12 B/s = 8.192e-6 ms, and far less to compute.
BY_SHEET = {"shape": "long", "ceiling_ms": 8.192e-6, "bound_by": "dram"}
# 64 elements at 2 GB/s take 512 B / 2 * 10^9 B/s = 2.56e-4 ms; 320 operations at 10^-3 TFLOP/s
# take 3.2e-4 ms.
BY_ANCHORS = {"shape": "short", "ceiling_ms": 3.2e-4, "bound_by": "fp32"}
ANCHORS = {"copy GB/s": 1.5, "read GB/s": 2.0, "fp32 TFLOP/s": 1e-3, "fp64 TFLOP/s": 1e-4}


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    folder = tmp_path / "bench" / "hardware"
    folder.mkdir(parents=True)
    (folder / "gpu-a.yaml").write_text(CARD)
    make_settings(tmp_path)
    return read_settings(tmp_path / "kbsite.yaml")


@pytest.fixture(name="found")
def _found(settings: Settings, make_run: MakeRun) -> Callable[..., set[tuple[str, str | None]]]:
    """Checks a grade of a shape that failed to pass: only its ceiling is looked at."""
    problem_hash = read_problem(settings.problems / "softmax").hash

    def check_of(
        shape: dict[str, Any], *, site: Settings = settings, **metrics: Any
    ) -> set[tuple[str, str | None]]:
        told = {
            "status": "tampered", "outcome": "CLOCK_MISMATCH", "shapes": [deepcopy(shape)],
            "problem_hash": problem_hash, **metrics,
        }  # fmt: skip
        run = make_run(settings.runs / "demo", metrics=told, problem_hash=problem_hash)
        kept = [f for f in check([run], site) if f.path.endswith("metrics.json")]
        return {(f.severity.value, f.key) for f in kept}

    return check_of


def test_ceilings_by_the_datasheet(found: Any) -> None:
    on_gpu = {"device": "cuda", "hardware": "gpu-a"}

    assert found(BY_SHEET, **on_gpu) == set()
    assert found({**BY_SHEET, "ceiling_ms": 1.6e-5}, **on_gpu) == {
        ("error", "shapes[0].ceiling_ms")
    }
    assert found({**BY_SHEET, "bound_by": "fp32"}, **on_gpu) == {("error", "shapes[0].bound_by")}
    assert found({**BY_SHEET, "shape": "wide"}, **on_gpu) == {("warning", "shapes[0].ceiling_ms")}


def test_ceilings_by_what_a_cpu_was_measured_at(found: Any) -> None:
    on_cpu = {"device": "cpu", "anchors": ANCHORS}

    assert found(BY_ANCHORS, **on_cpu) == set()
    slower = {**ANCHORS, "fp32 TFLOP/s": 2e-3}
    assert ("error", "shapes[0].ceiling_ms") in found(BY_ANCHORS, device="cpu", anchors=slower)
    lacking = {name: rate for name, rate in ANCHORS.items() if "fp32" not in name}
    assert found({**BY_ANCHORS, "ceiling_ms": 3.2e-3}, device="cpu", anchors=lacking) == set(), (
        "a format that was not measured counts as the fastest one"
    )
    assert found(BY_ANCHORS, device="cpu") == {("warning", "shapes[0].ceiling_ms")}


def test_what_no_kernel_beats_and_what_a_machine_reaches(found: Any) -> None:
    """By the card at its highest clocks, and by anchors: 512 B at 2 GB/s, 320 operations."""
    # 8192 B at 1000 GB/s, the only figure of its DRAM; at 900 GB/s they take a ninth longer.
    on_gpu = {"device": "cuda", "hardware": "gpu-a",
              "anchors": {"copy GB/s": 900.0, "fp32 TFLOP/s": 20.0}}  # fmt: skip
    fine = {**BY_SHEET, "floor_ms": 8.192e-6, "achievable_ms": 8192 / 900e6}
    assert found(fine, **on_gpu) == set()
    assert found({**fine, "floor_ms": 8e-6}, **on_gpu) == {("error", "shapes[0].floor_ms")}
    assert found({**fine, "achievable_ms": 9e-6}, **on_gpu) == {
        ("error", "shapes[0].achievable_ms")
    }
    on_cpu = {"device": "cpu", "anchors": ANCHORS}
    assert found({**BY_ANCHORS, "floor_ms": 1.6e-4, "achievable_ms": 3.2e-4}, **on_cpu) == set()
    assert found({**BY_ANCHORS, "floor_ms": 1e-4}, **on_cpu) == {("error", "shapes[0].floor_ms")}


def test_a_passed_grade_has_all_shapes_of_its_problem_on_hardware_that_is_known(found: Any) -> None:
    passed = {"status": "passed", "outcome": "PASS", "device": "cuda"}
    assert ("error", "shapes") in found({**BY_SHEET, "shape": "wide"}, hardware="gpu-a", **passed)
    assert ("error", "shapes") not in found(BY_SHEET, hardware="gpu-a", **passed)
    assert ("warning", "hardware") in found(BY_SHEET, hardware="gpu-b", **passed)
    assert ("warning", "hardware") not in found(BY_SHEET, hardware="gpu-a", **passed)
    assert ("error", "shapes[0].achievable_ms") in found(
        BY_SHEET, hardware="gpu-a", anchors={"copy GB/s": 900.0, "fp32 TFLOP/s": 20.0}, **passed
    )
    assert ("warning", "problem_hash") in found(BY_SHEET, problem_hash="0" * 64, **passed)


def test_a_grade_on_another_gpu_than_it_is_held_against_is_an_error(
    settings: Settings, found: Any
) -> None:
    """Where one is known by another name: what nobody knows may be the one."""
    folder = settings.path.parent / "bench" / "hardware"
    for number, names in (("b", "[Maker GPU B]"), ("c", "[]")):
        card = CARD.replace("aliases: [CARD 1, Card One]", f"aliases: {names}")
        (folder / f"gpu-{number}.yaml").write_text(card)
    site = read_settings(settings.path)
    passed = {"status": "passed", "outcome": "PASS", "device": "cuda"}

    def wrong(hardware: str, gpu: str) -> bool:
        told = {**passed, "hardware": hardware, "host": {"gpu": gpu}}
        return ("error", "hardware") in found(BY_SHEET, site=site, **told)

    assert wrong("gpu-a", "maker gpu b")
    assert not wrong("gpu-b", "Maker GPU B")
    assert not wrong("gpu-c", "Maker GPU B"), "a sibling that has no name of its own"
    assert not wrong("gpu-a", "Maker GPU D")


@pytest.mark.parametrize(
    "told",
    [{"hardware": "gpu-b", "device": "cuda"}, {"problem_hash": "0" * 64, "device": "cpu"},
     {"problem_hash": None, "device": "cpu"}, {"outcome": None, "device": "cpu"}],
)  # fmt: skip
def test_what_cannot_be_known_is_not_held_against_anything(
    found: Any, told: dict[str, Any]
) -> None:
    assert found({**BY_SHEET, "ceiling_ms": 1.0}, **told) == set()


def test_a_run_alone_is_held_against_no_problem(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    told = {"status": "tampered", "outcome": "CLOCK_MISMATCH", "device": "cpu",
            "shapes": [{**BY_ANCHORS, "ceiling_ms": 1.0}],
            "problem_hash": read_problem(settings.problems / "softmax").hash}  # fmt: skip
    run = make_run(tmp_path / "elsewhere", metrics=told)

    assert not [f for f in check([run]) if f.path.endswith("metrics.json")]


def test_the_accounting_of_a_shape(settings: Settings) -> None:
    problem = read_problem(settings.problems / "softmax").problem
    shape: dict[str, int | float | str | bool] = {
        "id": "long",
        "n": 1024,
        "fast": True,
        "scale": 0.5,
    }
    needed = work(problem, shape)

    assert sizes(shape) == {"n": 1024}
    assert needed.bytes == 8192
    assert needed.flops == {(Format.FP32, None): 5120}
    found = ceiling_of(problem, shape, settings.hardware["gpu-a"])
    assert found.ms == pytest.approx(8.192e-6)
    assert bound_by(found) == "dram"
    with pytest.raises(ValueError, match="n"):
        work(problem, {"id": "other", "m": 3})
