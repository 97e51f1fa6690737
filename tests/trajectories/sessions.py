"""Hand-made sessions with times, commands and token counts, folded into transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import cast

from msgspec.structs import replace

from kbsite.fold.steps import Fold
from kbsite.model.event import (
    Edit,
    Event,
    Finish,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    Source,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
)
from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.model.status import EndReason, Status
from kbsite.model.trajectory import Trajectory
from kbsite.model.transcript import Transcript
from kbsite.model.usage import Usage
from kbsite.trajectories import trajectory
from tests.fold.making import START

CWD = "/workspace"


def moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else START + timedelta(seconds=seconds)


class Work:
    """A session as it goes on: every row stands in a line of its own."""

    def __init__(self, cwd: str | None = CWD) -> None:
        self.events: list[Event] = []
        self._lines = count(1)
        self._ids = count(1)
        if cwd is not None:
            self.events.append(Session(source=self.source, at=START, cwd=cwd))

    @property
    def source(self) -> Source:
        return Source("main.jsonl", next(self._lines))

    def call(
        self,
        kind: ToolKind,
        arguments: Mapping[str, object] | str,
        output: str | None = "",
        *,
        at: tuple[float | None, float | None] = (None, None),
        edits: Sequence[Edit] = (),
        agent: str = "",
        failed: bool | None = None,
        exit_code: int | None = None,
        seconds: float | None = None,
        tool: str = "",
    ) -> Work:
        """A call and, unless `output` is None, its result."""
        call_id = f"c{next(self._ids)}"
        self.events.append(
            ToolCall(
                source=self.source,
                at=moment(at[0]),
                call_id=call_id,
                tool=tool or kind.value.title(),
                tool_kind=kind,
                arguments=arguments,
                edits=tuple(edits),
                agent=agent,
            )
        )
        if output is not None:
            self.events.append(
                ToolResult(
                    source=self.source,
                    at=moment(at[1]),
                    call_id=call_id,
                    output=output,
                    is_error=failed,
                    exit_code=exit_code,
                    seconds=seconds,
                    agent=agent,
                )
            )
        return self

    def run(
        self,
        command: str,
        output: str | None = "",
        *,
        at: tuple[float | None, float | None] = (None, None),
        exit_code: int | None = 0,
        agent: str = "",
    ) -> Work:
        return self.call(
            ToolKind.RUN, {"command": command}, output, at=at, exit_code=exit_code, agent=agent,
            failed=bool(exit_code),
        )  # fmt: skip

    def edit(
        self,
        *edits: Edit,
        at: float | None = None,
        failed: bool | None = None,
        agent: str = "",
        output: str | None = "",
    ) -> Work:
        return self.call(
            ToolKind.EDIT, {}, output, at=(at, at), edits=edits, failed=failed, agent=agent
        )

    def read(self, path: str, output: str, *, whole: bool = True, at: float | None = None) -> Work:
        """A call that read a file: all of it, by its CLI's word, unless it is not `whole`."""
        self.call(ToolKind.READ, {"file_path": path}, output, at=(at, at))
        if whole:
            last = cast("ToolResult", self.events[-1])
            lines = sum(1 for line in output.split("\n") if line.lstrip()[:1].isdigit())
            self.events[-1] = replace(last, whole_lines=lines)
        return self

    def say(
        self,
        text: str = "hm",
        *,
        at: float | None = None,
        role: Role = Role.ASSISTANT,
        injected: bool = False,
    ) -> Work:
        said = Message(source=self.source, at=moment(at), role=role, text=text, injected=injected)
        self.events.append(said)
        return self

    def use(self, sent: int, output: int, message: str) -> Work:
        usage = Usage(input=sent, output=output)
        self.events.append(
            TokenUse(source=self.source, usage=usage, scope=Scope.MESSAGE, message_id=message)
        )
        return self

    def notice(
        self,
        topic: Topic,
        *,
        at: float | None = None,
        wait: float | None = None,
        of_model: bool = False,
        undone: bool = False,
    ) -> Work:
        self.events.append(
            Notice(
                source=self.source,
                at=moment(at),
                topic=topic,
                text="told",
                wait=wait,
                of_model=of_model,
                undone=undone,
            )
        )
        return self

    def finish(self, *, at: float | None = None) -> Work:
        self.events.append(Finish(source=self.source, at=moment(at), ok=True, reason="done"))
        return self

    @property
    def transcript(self) -> Transcript:
        fold = Fold()
        for event in self.events:
            fold.add(event)
        return fold.transcript("fake", "Fake", ("main.jsonl",))

    def trajectory(self, metrics: Metrics | None = None, budget: float | None = None) -> Trajectory:
        return trajectory(self.transcript, run_record(budget), metrics)


def run_record(budget: float | None = None) -> Run:
    return Run(
        format=1, id="r", board="b", problem="p", problem_hash=None, prompt_hash=None,
        harness="claude", harness_version=None, model="m", effort=None, hardware=None,
        budget_seconds=budget, started=None, ended=None, end_reason=EndReason.FINISHED,
    )  # fmt: skip


def graded(peak: float | None, status: Status = Status.PASSED) -> Metrics:
    return Metrics(format=1, status=status, peak_fraction=peak)


BENCHMARK = """\
shape=0 variant=eager tflops=12.345 gbps=345.678 ms=1.234
shape=0 variant=solution tflops=98.765 gbps=1234.567 ms=0.123
shape=0 solution_peak_fraction=0.4100
  [sota unavailable] no module named flashinfer
shape=1 variant=solution tflops=55.000 gbps=800.000 ms=0.456
shape=1 solution_peak_fraction=0.3600
peak_fraction: {}
RESULT: OK
"""


def session() -> Work:
    """A whole session: written, checked, mended, measured twice, compacted, submitted."""
    work = Work().say("Make it fast.", at=0, role=Role.USER).say("I will.", at=4)
    work.use(1000, 50, "m1")
    work.edit(Edit(f"{CWD}/solution.py", None, "a = 1\nb = 2\n"), at=10).use(2000, 100, "m2")
    work.run("python check.py", "FAIL: shape 0 {'n': 8} seed 42: tolerance exceeded", at=(12, 20),
             exit_code=1).use(3000, 100, "m3")  # fmt: skip
    work.edit(Edit(f"{CWD}/solution.py", "a = 1", "a = 3"), at=30).use(4000, 100, "m4")
    work.run("python check.py && python benchmark.py", "PASS\n" + BENCHMARK.format("0.3842"),
             at=(35, 55)).use(5000, 100, "m5")  # fmt: skip
    work.notice(Topic.COMPACTION, at=57)
    work.run("cat > solution.py <<'EOF'\na = 4\nEOF\npython benchmark.py",
             BENCHMARK.format("0.3511"), at=(60, 70)).use(1500, 60, "m6")  # fmt: skip
    return work.say("Done.", at=80).use(1600, 20, "m7").finish(at=81)
