"""The channel to a worker: whatever comes up it that is not the right frame is a finding."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import pytest

from bench.grading.deadline import Deadline
from bench.grading.failures import Failure
from bench.grading.process import Process
from bench.sandbox.box import Box, Ending
from bench.sandbox.place import Place
from bench.sandbox.threads import Stand
from bench.worker import worker
from kbsite.errors import MachineError
from kbsite.model.grade import Outcome
from tests.bench.grading.setups import Parts, parts
from tests.bench.grading.test_grade import setting

Script = Callable[[socket.socket, bytes], None]
"""What a forged worker does with a frame that came down to it."""


class Forged:
    """Stands in for a worker in its sandbox: a thread that answers as its script says."""

    still = True
    thawing = 0.0

    pid = init = 0
    facts: dict[str, str] = {}  # noqa: RUF012 - the protocol's
    listener = None
    places: Mapping[Path, Place] = MappingProxyType({})

    def __init__(self, channel: socket.socket, script: Script, ending: Ending) -> None:
        self._channel = channel
        self._script = script
        self._ending = ending
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        greeted = False
        with self._channel as channel:
            while frame := channel.recv(worker.DOWN.size):
                size, nonce = worker.DOWN.unpack(frame)[4:6]
                while size:
                    size -= len(channel.recv(size))
                if greeted:
                    self._script(channel, nonce)
                else:
                    channel.sendall(answer(nonce))
                    greeted = True
                if channel.fileno() < 0:
                    return

    def running(self) -> bool:
        return self._thread.is_alive()

    def ended(self) -> Ending | None:
        return None if self.running() else self._ending

    def wait(self, seconds: float) -> Ending | None:
        self._thread.join(seconds)
        return self.ended()

    def memory_bytes(self) -> int:
        return 0

    def freeze(self, seconds: float) -> bool:
        return seconds > 0

    def stands(self) -> list[Stand]:
        return []

    def stood_still(self) -> bool:
        return self.still

    def thaw(self) -> None:
        time.sleep(self.thawing)

    def signal(self, number: int) -> None:
        """A thread takes none."""

    def kill(self) -> None:
        self._thread.join(5)

    def close(self) -> None:
        """It has no places."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()


class Stage:
    """A sandbox whose processes are forged."""

    name = "forged"
    gives_terminals = False

    def __init__(self, script: Script, ending: Ending) -> None:
        self._script = script
        self._ending = ending
        self.box: Box | None = None

    def available(self) -> str | None:
        return None

    def start(self, command: Sequence[str], box: Box) -> Forged:
        self.box = box
        channel = socket.socket(fileno=os.dup(int(command[-1])))
        return Forged(channel, self._script, self._ending)


def answer(
    nonce: bytes, status: int = worker.DONE, operation: int = 0, magic: bytes = worker.MAGIC_UP
) -> bytes:
    return worker.UP.pack(magic, status, operation, 11, 12, 13, nonce)


@contextmanager
def talking(
    script: Script, folder: Path, ending: Ending | None = None, deadline: Deadline | None = None
) -> Iterator[tuple[Process, Parts]]:
    stage = Stage(script, ending or Ending(exit_code=0))
    with parts() as made, begun(made, stage, folder, deadline) as process:
        yield process, made


def begun(made: Parts, stage: Stage, folder: Path, deadline: Deadline | None = None) -> Process:
    on = setting(device=made.device, sandbox=stage)
    return Process(on, made.arena, ["mm", "bmm"], folder / "log", deadline=deadline or Deadline())


def asked(script: Script, folder: Path, ending: Ending | None = None) -> Failure:
    with talking(script, folder, ending) as (process, _), pytest.raises(Failure) as caught:
        process.ask(worker.CALL, slots=[0], seconds=1)
    return caught.value


def test_the_right_frame_is_an_answer(tmp_path: Path) -> None:
    with talking(lambda channel, nonce: channel.sendall(answer(nonce)), tmp_path) as (process, _):
        reply = process.ask(worker.CALL, slots=[0, 2], seconds=5)

    assert (reply.event, reply.host, reply.processor) == (11, 12, 13)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            lambda channel, nonce: channel.sendall(answer(nonce, magic=b"PASS")),
            "answers no command",
        ),
        (lambda channel, _: channel.sendall(answer(b"guessed!")), "answers no command"),
        (lambda channel, nonce: channel.sendall(answer(nonce)[:40]), "a frame of 40 bytes"),
        (lambda channel, nonce: channel.sendall(answer(nonce, status=77)), "status 77"),
        (lambda channel, _: channel.sendall(b'{"verdict": "PASS"}'), "a frame of 19 bytes"),
    ],
)
def test_a_frame_that_is_not_the_answer_is_a_breach(
    script: Script, words: str, tmp_path: Path
) -> None:
    failure = asked(script, tmp_path)

    assert failure.outcome is Outcome.PROTOCOL
    assert words in failure.detail


def test_an_answer_of_the_call_before_is_none_of_this_one(tmp_path: Path) -> None:
    kept: list[bytes] = []

    def replay(channel: socket.socket, nonce: bytes) -> None:
        kept.append(nonce)
        channel.sendall(answer(kept[0]))

    with talking(replay, tmp_path) as (process, _):
        process.ask(worker.CALL, slots=[0], seconds=5)
        with pytest.raises(Failure) as caught:
            process.ask(worker.CALL, slots=[1], seconds=5)

    assert caught.value.outcome is Outcome.PROTOCOL


def test_frames_that_nobody_asked_for_are_found_between_calls(tmp_path: Path) -> None:
    def twice(channel: socket.socket, nonce: bytes) -> None:
        channel.sendall(answer(nonce) + answer(nonce))

    with talking(twice, tmp_path) as (process, _):
        process.ask(worker.CALL, slots=[0], seconds=5)
        with pytest.raises(Failure) as caught:
            process.quiet()

    assert caught.value.outcome is Outcome.PROTOCOL


def test_a_quiet_channel_is_fine(tmp_path: Path) -> None:
    with talking(lambda channel, nonce: channel.sendall(answer(nonce)), tmp_path) as (process, _):
        process.ask(worker.CALL, slots=[0], seconds=5)
        process.quiet()


@pytest.mark.parametrize(
    ("status", "operation", "outcome", "words"),
    [
        (worker.FORBIDDEN, 2, Outcome.FORBIDDEN_OP, "aten::bmm was called"),
        (worker.FORBIDDEN, 9, Outcome.FORBIDDEN_OP, "an unknown operation"),
        (worker.OUT_OF_MEMORY, 0, Outcome.OOM, ""),
        (worker.RAISED, 0, Outcome.RUNTIME_ERROR, "it printed nothing"),
    ],
)
def test_what_a_worker_admits_is_believed(
    status: int, operation: int, outcome: Outcome, words: str, tmp_path: Path
) -> None:
    failure = asked(
        lambda channel, nonce: channel.sendall(answer(nonce, status, operation)), tmp_path
    )

    assert failure.outcome is outcome
    assert words in failure.detail


def test_an_error_in_the_import_is_one_of_the_build(tmp_path: Path) -> None:
    def raising(channel: socket.socket, nonce: bytes) -> None:
        (tmp_path / "log").write_text(
            "Traceback\n  ...\nSyntaxError: no such word\n\n" + worker.ERROR_END, "utf-8"
        )
        channel.sendall(answer(nonce, worker.RAISED))

    with talking(raising, tmp_path) as (process, _), pytest.raises(Failure) as caught:
        process.load({"solution.py": b"\x00\xff"}, seconds=5)

    assert caught.value.outcome is Outcome.COMPILE_ERROR
    assert "SyntaxError: no such word (import)" in caught.value.detail


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending(exit_code=0), Outcome.PROTOCOL),
        (Ending(signal=11), Outcome.RUNTIME_ERROR),
        (Ending(signal=9, over_memory=True), Outcome.OOM),
    ],
)
def test_who_ends_instead_of_answering_is_told_how(
    ending: Ending, outcome: Outcome, tmp_path: Path
) -> None:
    failure = asked(lambda channel, _: channel.close(), tmp_path, ending)

    assert failure.outcome is outcome
    assert "did not answer" in failure.detail


def test_who_says_nothing_is_not_waited_for(tmp_path: Path) -> None:
    started = time.monotonic()
    with talking(lambda *_: None, tmp_path) as (process, _), pytest.raises(Failure) as caught:
        process.ask(worker.CALL, slots=[0], seconds=0.2)

    assert caught.value.outcome is Outcome.TIMEOUT
    assert "within 0.2 s" in caught.value.detail
    assert time.monotonic() - started < 60


def test_who_says_nothing_is_waited_for_no_longer_than_the_grading_lasts(tmp_path: Path) -> None:
    now = [0.0]
    deadline = Deadline(100, lambda: now[0])
    with talking(lambda *_: None, tmp_path, deadline=deadline) as (process, _):
        assert process.order(worker.CALL, seconds=30).seconds == 30
        now[0] = 99.8
        order = process.order(worker.CALL, slots=[0], seconds=30)
        assert order.seconds == pytest.approx(0.2)
        with pytest.raises(Failure, match=r"no answer within 0\.2 s"):
            process.send(order)
        now[0] = 100.0
        with pytest.raises(Failure, match="as a whole took more than 100 s") as caught:
            process.send(order)
        with pytest.raises(Failure, match="as a whole"):
            process.order(worker.CALL, seconds=30)

    assert caught.value.outcome is Outcome.TIMEOUT


def test_a_worker_that_does_not_even_start_is_the_machines_fault(tmp_path: Path) -> None:
    class Mute(Stage):
        def start(self, command: Sequence[str], box: Box) -> Forged:
            self.box = box
            channel = socket.socket(fileno=os.dup(int(command[-1])))
            channel.shutdown(socket.SHUT_RDWR)
            return Forged(channel, self._script, self._ending)

    stage = Mute(lambda *_: None, Ending(exit_code=1))
    with parts() as made, pytest.raises(MachineError, match="did not start"):
        begun(made, stage, tmp_path)


def test_how_long_a_worker_takes_to_start_is_not_the_gradings(tmp_path: Path) -> None:
    """The machine would be at fault for what a solution took, and the grade be made again."""
    with (
        talking(lambda *_: None, tmp_path, deadline=Deadline(0)) as (process, _),
        pytest.raises(Failure, match="as a whole") as caught,
    ):
        process.order(worker.CALL, seconds=30)
    assert caught.value.outcome is Outcome.TIMEOUT


def test_the_box_gets_the_worker_and_nothing_of_the_grader(tmp_path: Path) -> None:
    stage = Stage(lambda *_: None, Ending(exit_code=0))
    with parts() as made, begun(made, stage, tmp_path):
        box = stage.box

    assert box is not None
    assert set(box.files) == {"worker.py"}
    assert box.environment.keys() == {"OMP_NUM_THREADS", "PATH"}
    assert box.environment["PATH"] != os.environ["PATH"]
    assert not any("bench" in place.parts for place in box.readable)
    assert len(box.pass_fds) == 1 + len(made.arena.fds)


def test_who_goes_on_while_inputs_are_laid_out_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Forged, "still", False)
    with talking(lambda *_: None, tmp_path) as (process, _):
        process.freeze()
        with pytest.raises(Failure) as caught:
            process.thaw()

    assert caught.value.outcome is Outcome.PROTOCOL
    assert "by itself" in caught.value.detail


def test_processes_that_take_long_to_let_go_on_are_counted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Forged, "thawing", 0.2)
    with talking(lambda *_: None, tmp_path) as (process, _):
        process.freeze()
        began = time.perf_counter_ns()
        started = process.thaw()
        ended = time.perf_counter_ns()

    assert began <= started < ended - 100_000_000


class Backwards:
    """A torch whose events end before they began, as where a solution changes the stream."""

    class cuda:
        class Event:
            def __init__(self, *, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                """Nothing."""

            def elapsed_time(self, other: object) -> float:  # noqa: ARG002
                return -0.25

    class _C:
        @staticmethod
        def _cuda_sleep(cycles: int) -> None:
            assert cycles > 0

        @staticmethod
        def _cuda_synchronize() -> None:
            """Nothing."""


def test_an_end_before_the_beginning_is_no_time_and_can_be_told() -> None:
    clock = worker.CudaClock(Backwards, 10, 10)  # type: ignore[arg-type]
    clock.gate()
    clock.start()
    took = clock.stop(None)

    assert took == 0
    worker.UP.pack(worker.MAGIC_UP, worker.DONE, 0, took, 0, 0, bytes(8))
