"""What stops of a worker meet, and what is said where they cannot meet anything."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.grading import stops as module
from bench.grading.failures import Failure
from bench.grading.stops import AT_ONCE, FEWEST, LONGEST, Stops
from bench.sandbox.threads import Region, Stand
from kbsite.model.grade import Outcome
from tests.bench.grading.test_grade import setting

TORCH = "/lib/libtorch_cpu.so"
REGIONS = {
    "torch": Region(0x1000, 0x2000, 0x100, TORCH),
    "copy": Region(0x3000, 0x4000, 0x100, "/tmp/own.so"),
    "made": Region(0x5000, 0x6000, 0, ""),
}
PRODUCT, SUM = 0x500, 0x900


class Worker:
    """A process whose threads stand where a test wants them."""

    pid = 1

    def __init__(self, met: Sequence[Stand], answers_after: int = 99) -> None:
        self.met = met
        self.answers_after = answers_after
        self.frozen = 0
        self.still = False
        self.error: OSError | None = None

    def answered(self) -> bool:
        return self.frozen >= self.answers_after

    def freeze(self) -> None:
        self.frozen += 1
        self.still = True

    def thaw(self) -> None:
        self.still = False

    def stands(self) -> Sequence[Stand]:
        assert self.still
        if self.error:
            raise self.error
        return self.met


class Memory:
    """Regions, and a stack that holds some addresses."""

    stack: Sequence[int] = ()
    code = b"own"

    def __init__(self, process: int) -> None:
        assert process == 1

    def at(self, address: int) -> Region | None:
        return next((one for one in REGIONS.values() if one.start <= address < one.end), None)

    def files(self) -> Sequence[Region]:
        return [REGIONS["torch"]]

    def returns(self, start: int, size: int) -> Iterator[tuple[int, Region]]:
        assert start == 0x9000
        assert size
        for one in self.stack:
            region = self.at(one)
            if region is not None:
                yield one, region

    def read(self, address: int, size: int) -> bytes:  # noqa: ARG002 - as memory has it
        return self.code[:size]


class Names:
    """The functions of torch's library."""

    complete = True

    def at(self, offset: int) -> str:
        if offset < 0x600:
            return "mkl_blas_sgemm" if offset < 0x580 else "cblas_sgemm"
        return "sum_kernel"


@pytest.fixture(autouse=True)
def _forged(monkeypatch: pytest.MonkeyPatch) -> None:
    module._known.cache_clear()
    monkeypatch.setattr(module, "Code", Memory)
    monkeypatch.setattr(module, "functions_of", lambda _: Names())
    monkeypatch.setattr(module, "_of_a_library", lambda path: path == TORCH)
    monkeypatch.setattr(module, "sleep", lambda _: None)
    monkeypatch.setattr(module, "promptly", _at_leisure)


@contextmanager
def _at_leisure() -> Iterator[None]:
    yield


def stand(region: str, offset: int) -> Stand:
    held = REGIONS[region]
    return Stand(1, held.start + offset - held.offset, 0x9000)


def looked(met: Stand) -> Stops:
    """Stops after one batch, in which a thread was met."""
    made = Stops(("matmul",))
    made.during(Worker([met]), 1.0, random.Random(1))  # type: ignore[arg-type]
    return made


def test_a_thread_in_a_product_of_a_library_is_forbidden() -> None:
    with pytest.raises(Failure, match=r"mkl_blas_sgemm of libtorch_cpu\.so.* matmul") as found:
        looked(stand("torch", PRODUCT))

    assert found.value.outcome is Outcome.FORBIDDEN_OP


def test_threads_in_other_code_of_libraries_and_in_code_of_their_own_are_counted() -> None:
    of_library, own, made = (
        looked(stand("torch", SUM)),
        looked(stand("copy", 0x200)),
        looked(stand("made", 0x200)),
    )

    assert (of_library.stops, of_library.at_work, of_library.own) == (AT_ONCE, AT_ONCE, 0)
    assert (own.at_work, own.own) == (AT_ONCE, AT_ONCE)
    assert made.own == AT_ONCE


@pytest.mark.parametrize("region", ["made", "torch", "copy"])
def test_what_a_product_called_is_part_of_it(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "stack", [7, 0x5100, stand("torch", PRODUCT).code])
    assert looked(stand(region, SUM)).at_work
    called = [stand("torch", at).code for at in (SUM, PRODUCT, PRODUCT + 0x90)]
    monkeypatch.setattr(Memory, "stack", called)

    with pytest.raises(Failure, match="cblas_sgemm"):
        looked(stand(region, SUM))


def test_what_other_libraries_left_on_a_stack_is_no_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(REGIONS, "numpy", Region(0x7000, 0x8000, 0x100, "/lib/_multiarray.so"))
    monkeypatch.setattr(module, "_of_a_library", lambda path: path.startswith("/lib/"))
    monkeypatch.setattr(Memory, "stack", [stand("numpy", at).code for at in (0x500, 0x590)])
    monkeypatch.setattr(module, "family_of_code", lambda *_: "matmul")

    assert looked(stand("made", 0x200)).own


@pytest.mark.parametrize(
    "copied", [stand("copy", PRODUCT), stand("copy", PRODUCT + 8), stand("made", 0x200)],
    ids=["file", "moved", "no-file"],
)  # fmt: skip
def test_a_copy_of_a_library_is_that_library(
    copied: Stand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libtorch_cpu.so"
    library.write_bytes(bytes(PRODUCT) + bytes(range(60)))
    monkeypatch.setattr(module, "_libraries", lambda: [library])
    assert looked(copied).own
    monkeypatch.setattr(Memory, "code", bytes(range(60)))

    with pytest.raises(Failure, match="mkl_blas_sgemm"):
        looked(copied)


def test_libraries_are_searched_for_copies_of_their_code_only_so_often(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libtorch_cpu.so"
    library.write_bytes(bytes(PRODUCT) + bytes(range(60)))
    monkeypatch.setattr(module, "_libraries", lambda: [library])
    monkeypatch.setattr(Memory, "code", bytes(range(60)))
    made = Stops(("matmul",))
    made._left = PRODUCT

    made.during(Worker([stand("made", 0x200)]), 1.0, random.Random(1))  # type: ignore[arg-type]

    assert made.own


def test_a_worker_that_answered_is_not_stopped() -> None:
    worker = Worker([], answers_after=2)
    Stops(("matmul",)).during(worker, 1.0, random.Random(1))  # type: ignore[arg-type]

    assert worker.frozen == 2
    assert not worker.still


def test_stops_come_sooner_after_some_that_were_too_late_and_later_after_others() -> None:
    stops = Stops(("matmul",))
    for _ in range(20):
        stops.during(Worker([], answers_after=0), 1e-4, random.Random(1))  # type: ignore[arg-type]
    assert stops.reach < 0.02
    for _ in range(100):
        stops.during(Worker([], answers_after=1), 1e-4, random.Random(1))  # type: ignore[arg-type]
    assert stops.reach == LONGEST


def test_who_hides_once_it_was_seen_is_refused_and_who_never_could_be_seen_is_told() -> None:
    worker = Worker([])
    seen, unseen = Stops(("matmul",)), Stops(("matmul",))
    seen.try_out(worker)  # type: ignore[arg-type]
    worker.error = PermissionError(1, "not permitted")
    unseen.try_out(worker)  # type: ignore[arg-type]

    assert seen.batches(setting(stopped=60, rounds=5), 4) == 3
    assert unseen.batches(setting(stopped=60), 4) == 0
    assert not worker.still
    (proof,) = unseen.proofs()
    assert (proof.available, proof.passed) == (False, None)
    assert "not permitted" in proof.detail
    with pytest.raises(Failure) as found:
        seen.during(worker, 1.0, random.Random(1))  # type: ignore[arg-type]
    assert found.value.outcome is Outcome.PROTOCOL


def test_libraries_that_do_not_name_their_functions_are_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Names, "complete", False)
    made = Stops(("matmul",))
    made.try_out(Worker([]))  # type: ignore[arg-type]

    assert "does not name its functions" in made.proofs()[0].detail


def test_enough_threads_have_to_be_met_before_something_is_said() -> None:
    few = Stops(("matmul",), stops=60, at_work=FEWEST - 1)
    enough = Stops(("matmul",), stops=60, at_work=FEWEST, own=3)

    assert not few.proofs()[0].available
    assert enough.proofs()[0].passed
    assert "3 of them in code of no library" in enough.proofs()[0].detail


@pytest.mark.parametrize(
    ("forbidden", "device"), [(("sort",), "cpu"), (("matmul",), "cuda"), ((), "cpu")]
)
def test_nothing_is_stopped_where_nothing_could_be_met(
    forbidden: tuple[str, ...], device: str
) -> None:
    made = Stops.of(forbidden, device)
    made.try_out(Worker([]))  # type: ignore[arg-type]

    assert not made.tried
    assert made.batches(setting(stopped=60), 1) == 0
    assert made.proofs() == ()


def test_a_product_is_met_as_convolution_too() -> None:
    assert Stops.of(("matmul",), "cpu").forbidden == ("matmul", "convolution")
