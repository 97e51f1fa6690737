"""Transcripts to export, and what one tells, in a form that survives an export to ATIF."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kbsite.exports.atif import NOTHING, linked
from kbsite.exports.plain import plain, whole
from kbsite.fold.steps import Fold
from kbsite.harnesses import ALL, atif
from kbsite.harnesses.lines import lines
from kbsite.model.board import Attempt
from kbsite.model.event import Image, Message, Notice, Role, Thought, ToolCall, ToolResult
from kbsite.model.run import Run
from kbsite.model.transcript import AgentLog, Transcript
from kbsite.store.files import contents
from kbsite.store.run_folders import run_folders
from kbsite.store.runs import UNGRADED, read_run
from kbsite.transcripts import transcript
from tests.conftest import RUN, STARTED
from tests.harnesses.reading import BESIDE, CORPUS
from tests.harnesses.test_transcripts_beside import CAPTURES, files_of

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "tests" / "harnesses" / "captures"

Case = tuple[str, Path, str]
"""A name, a folder or file, and the harness that wrote it."""


def attempt(**facts: Any) -> Attempt:
    """A run without a grade; keywords are laid over its run.json."""
    own = {"id": "r", "board": "demo", "model": "m", "started": STARTED, "ended": None, "usage": {}}
    return Attempt(msgspec.convert({**RUN, **own, **facts}, Run), UNGRADED, None)


def demo_runs() -> list[Case]:
    runs = ROOT / "runs" / "demo"
    return [(f.name, f / "transcript", read_run(f).run.harness) for f in run_folders(runs)]


def captures() -> Iterator[Case]:
    for harness in ALL:
        name = harness.HARNESS.id
        for folder in sorted((COMMITTED / name).glob("*/")):
            yield f"{name} {folder.name}", folder, name
        if name in CAPTURES:
            for folder in sorted((BESIDE / "captures").glob(f"{CAPTURES[name]}*/*/")):
                yield f"{folder.parent.name} {folder.name}", folder, name


def corpus() -> Iterator[tuple[str, Transcript]]:
    """The files of others that lie beside the checkout, each read alone."""
    for module in ALL:
        for form in module.FORMATS:
            for path in files_of(form):
                if path.stat().st_size > 5_000_000:
                    continue
                fold = Fold()
                with path.open("rb") as stream:
                    for event in form.parse(lines(stream), path.name):
                        fold.add(event)
                told = fold.transcript(form.id, form.title, (path.name,))
                yield f"{form.id} {path.relative_to(CORPUS)}", told


def of_folder(folder: Path, harness: str) -> Transcript | None:
    return transcript(harness, contents(folder)[0])


def read_back(text: str) -> Transcript:
    """A trajectory in ATIF, as kbsite's own parser reads it."""
    (form,) = atif.FORMATS
    fold = Fold()
    for event in form.parse(lines(io.BytesIO(text.encode("utf-8"))), "trajectory.json"):
        fold.add(event)
    return fold.transcript(form.id, form.title, ("trajectory.json",))


Told = tuple[str, ...]


def tale(told: Transcript, *, back: bool = False) -> dict[str, list[Told]]:
    """What each agent said, called and got back, in order; texts in a row are one.

    In a trajectory that was read back, a notice is what its head says of itself.
    """
    return {
        whole(log.id): _joined(t for t in _log(log) if not (back and t[0] == "notice"))
        for log in _logs(told)
    }


def _logs(told: Transcript) -> Iterator[AgentLog]:
    waiting = [*told.agents]
    while waiting:
        log = waiting.pop(0)
        yield log
        waiting += [agent for step in log.steps for agent in step.agents]


def _log(log: AgentLog) -> Iterator[Told]:
    for step in log.steps:
        match step.event:
            case Message(text=text, role=role, injected=injected, images=images):
                speaker = "system" if injected and role is Role.ASSISTANT else role.value
                shown = _shown(text, images)
                if shown != NOTHING:
                    yield "message", speaker, shown
            case Thought(text=text):
                yield "thought", whole(text)
            case Notice(text=text):
                yield "notice", "system", whole(text)
            case ToolCall() as call:
                yield "call", whole(call.tool), _arguments(call.arguments)
                # A sub-agent hangs on a result: one that never came back reads as an empty one.
                if step.result and (step.result.output or not step.agents):
                    yield _result(step.result)
                for agent in step.agents:
                    yield "agent", whole(agent.id)
            case ToolResult() as result:
                yield _result(result)
            case _:
                pass


def _arguments(given: object) -> str:
    held = {"input": given} if isinstance(given, str) else given
    return json.dumps(plain(held), sort_keys=True)


def _result(result: ToolResult) -> Told:
    return "result", _shown(result.output, result.images), f"{result.is_error} {result.exit_code}"


def _shown(text: str, images: tuple[Image, ...]) -> str:
    """Text, with a word for each picture that the format has no place for."""
    named = [
        f"[picture: {image.media_type}, {len(image.data)} characters of base64]"
        for image in images
        if not linked(image)
    ]
    return whole("\n".join([*([text] if text or not named else []), *named]))


def _joined(parts: Iterator[Told]) -> list[Told]:
    """Without what says nothing; thoughts, or texts of the model, in a row as one."""
    found: list[Told] = []
    for told in parts:
        part = ("message", *told[1:]) if told[0] == "notice" else told
        if part[0] in ("message", "thought") and not part[-1]:
            continue
        same = found and found[-1][:-1] == part[:-1]
        if same and part[:-1] in (("thought",), ("message", "assistant")):
            found[-1] = (*part[:-1], f"{found[-1][-1]}\n\n{part[-1]}")
        else:
            found.append(part)
    return found


@cache
def every_capture() -> tuple[tuple[str, Transcript], ...]:
    """The runs of the demo and all captures, read once for all tests."""
    cases = [*demo_runs(), *captures()]
    read = ((name, of_folder(folder, harness)) for name, folder, harness in cases)
    return tuple((name, told) for name, told in read if told is not None)
