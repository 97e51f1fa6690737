"""What a machine reaches: measured by real calls, told while it happens, kept as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import anchors as module
from bench.anchors import FORMATS, Anchors, calibrate, read_anchors, write_anchors
from bench.devices.cpu import Cpu
from kbsite.errors import InputError

ARRAY = 1 << 20


class Slow:
    """A device as grading knows it, with one thread."""

    name = "cpu"

    def told(self) -> Mapping[str, Any]:
        return {"threads": 1}

    def facts(self) -> Mapping[str, str]:
        return {"cpu": "an abacus"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of 64 rows."""
    monkeypatch.setattr(module, "SMALLEST", 64)
    monkeypatch.setattr(module, "LARGEST", {"cpu": 64})


def stored(**changed: Any) -> Anchors:
    fields: dict[str, Any] = {
        "host": {"cpu": "x"}, "made": datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        "gb_per_second": {"copy": 10.5, "triad": 12.0}, "tflops": {"fp32": 0.1},
    }  # fmt: skip
    return Anchors(**fields | changed)


@pytest.mark.usefixtures("small")
def test_bandwidths_and_the_rate_of_every_format_are_measured() -> None:
    found = calibrate(Slow(), seconds=0.01, array_bytes=ARRAY)

    assert [*found.gb_per_second] == ["copy", "triad", "read"]
    assert {*found.tflops} <= {*FORMATS["cpu"]}
    assert {"fp64", "fp32", "bf16"} <= {*found.tflops}
    assert all(rate > 0 for rate in [*found.gb_per_second.values(), *found.tflops.values()])
    assert found.bandwidth == max(found.gb_per_second.values())
    assert found.host["cpu"] == "an abacus"
    assert found.host["torch"] == torch.__version__
    assert datetime.now(UTC) - found.made < timedelta(minutes=5)


@pytest.mark.usefixtures("small")
def test_what_is_measured_next_is_told() -> None:
    heard: list[tuple[str, int, int]] = []

    calibrate(Slow(), lambda *step: heard.append(step), seconds=0.01, array_bytes=ARRAY)

    names = ["copy", "triad", "read", *FORMATS["cpu"]]
    assert [what for what, _, _ in heard] == names
    assert [of for _, _, of in heard] == [len(names)] * len(names)
    assert [done for _, done, _ in heard] == sorted({done for _, done, _ in heard})


@pytest.mark.usefixtures("small")
def test_a_format_that_cannot_be_multiplied_is_left_out_and_told_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("not on this abacus\nat line 7")

    monkeypatch.setattr(torch, "_int_mm", refused)
    monkeypatch.setattr(module, "FORMATS", {"cpu": ("int8", "fp32")})
    heard: list[tuple[str, int, int]] = []

    found = calibrate(Slow(), lambda *step: heard.append(step), seconds=0.01, array_bytes=ARRAY)

    assert "int8" not in found.tflops
    assert [done for _, done, _ in heard] == [0, 1, 2, 3, 4]
    assert found.host["lacks int8"] == "not on this abacus"
    assert "lacks fp32" not in found.host


@pytest.mark.usefixtures("small")
def test_threads_and_precision_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, str]] = []
    product = module._product

    def watched(kind: str, number: str, size: int) -> Callable[[], object]:
        seen.append((torch.get_num_threads(), torch.get_float32_matmul_precision()))
        return product(kind, number, size)

    monkeypatch.setattr(module, "_product", watched)
    with settings_of_torch(threads=2, precision="high"):
        calibrate(Slow(), seconds=0.01, array_bytes=ARRAY)
        assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (2, "high")

    assert {*seen} == {(1, "highest")}


@contextmanager
def settings_of_torch(threads: int, precision: str) -> Iterator[None]:
    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_float32_matmul_precision(before[1])


def test_the_best_call_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.5, 0.2, 0.3])
    watch = module._Bench("cpu", 0.0)
    monkeypatch.setattr(module._Bench, "_timed", lambda _self, _call: next(seconds))
    calls: list[int] = []

    assert watch.best(lambda: calls.append(1)) == 0.2
    assert calls == [1]  # the first one, which is not timed


@pytest.mark.parametrize(("takes", "size"), [(1.0, 256), (1e-9, 4096)])
def test_a_product_grows_until_it_takes_long_enough(
    takes: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def product(_kind: str, _number: str, rows: int) -> Callable[[], object]:
        sizes.append(rows)
        return lambda: None

    monkeypatch.setattr(module, "_product", product)
    monkeypatch.setattr(module._Bench, "_timed", lambda _self, _call: takes)

    rate = module._Bench("cpu", 0.0).product("fp32")

    assert sizes[-1] == size
    assert sizes == sorted({*sizes})
    assert rate == pytest.approx(2 * size**3 / takes / 1e12)


@pytest.mark.parametrize("number", ["fp64", "fp32", "bf16", "int8"])
def test_products_multiply_random_numbers(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros would be multiplied faster than any solution's inputs."""
    operands: list[torch.Tensor] = []
    name = "_int_mm" if number == "int8" else "mm"
    monkeypatch.setattr(torch, name, lambda *given, **_: operands.extend(given))

    module._product("cpu", number, 64)()

    for operand in operands:
        assert operand.shape == (64, 64)
        assert operand.double().std() > 0.5
        assert len({*operand.reshape(-1).tolist()}) > 100
    assert len(operands) == 2
    assert not torch.equal(operands[0], operands[1])


def test_streams_count_each_array_that_they_touch_once() -> None:
    moved = {what: size for what, size, _ in module._streams("cpu", ARRAY)}

    assert moved == {"copy": 2 * ARRAY, "triad": 3 * ARRAY, "read": ARRAY}


def test_arrays_are_larger_than_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "last_level_cache", lambda: 32 << 20)
    assert module._array_bytes("cpu") == 128 << 20
    monkeypatch.setattr(module, "last_level_cache", lambda: 1 << 40)
    assert module._array_bytes("cpu") == 1 << 30


def test_anchors_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "anchors.json"
    path.write_text("something older")

    write_anchors(path, stored())

    assert read_anchors(path) == stored()
    assert [one.name for one in tmp_path.iterdir()] == ["anchors.json"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{}", ""),
        ('{"host": {}, "made": "2026-01-01T00:00:00+00:00", "gb_per_second": {"copy": "10"},'
         ' "tflops": {}}', "gb_per_second.copy"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_anchors_is_refused(text: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "anchors.json"
    path.write_text(text)

    with pytest.raises(InputError, match=r"anchors\.json") as caught:
        read_anchors(path)

    assert key in str(caught.value)


def test_nothing_measured_is_no_bandwidth() -> None:
    assert stored(gb_per_second={}).bandwidth is None


def test_the_devices_of_the_bench_can_be_calibrated() -> None:
    device: module.Calibrated = Cpu()

    assert device.name in FORMATS
    assert device.told()["threads"] >= 1
