"""Small sessions of several CLIs, written as those write them, and what is raised about them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.session.detector import Session
from kbsite.model.alarm import Alarm
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.runs import read_run
from tests.alarms.made import made_run
from tests.harnesses import claude_rows, gemini_rows, opencode_rows, qwen_rows
from tests.harnesses.test_codex import item
from tests.harnesses.test_codex import row as codex_row

MINE = "20261120_100000_claude_model_add"
HOME = "/w/ws"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A command that the agent ran, and what came back."""

    command: str
    output: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Cli:
    """How a CLI writes a session down."""

    harness: str
    file: str
    before: Sequence[Row]
    """The rows that every session begins with."""
    rows: Callable[[Step, str], list[Row]]
    """A command and its result, given an id; the first row is the one that holds the call."""


def _claude(step: Step, name: str) -> list[Row]:
    call = claude_rows.call(name, "Bash", command=step.command)
    came = claude_rows.result(name, step.output, is_error=step.failed)
    return [
        claude_rows.assistant(call, message={"id": name}, uuid=f"a{name}", cwd=HOME),
        claude_rows.user([came], uuid=f"u{name}", cwd=HOME),
    ]


def _codex(step: Step, name: str) -> list[Row]:
    code = int(step.failed)
    told = f"Exit code: {code}\nWall time: 0.4 seconds\nOutput:\n{step.output}"
    given = json.dumps({"cmd": step.command})
    return [
        item("function_call", name="exec_command", call_id=name, arguments=given),
        item("function_call_output", call_id=name, output=told),
    ]


def _codex_exec(step: Step, name: str) -> list[Row]:
    told = {"id": name, "type": "command_execution",
            "command": shlex.join(["/bin/bash", "-lc", step.command])}  # fmt: skip
    came = {"aggregated_output": step.output, "exit_code": int(step.failed)}
    status = "failed" if step.failed else "completed"
    return [
        {"type": "item.started", "item": {**told, "aggregated_output": "", "exit_code": None,
                                          "status": "in_progress"}},
        {"type": "item.completed", "item": {**told, **came, "status": status}},
    ]  # fmt: skip


def _kimi(step: Step, name: str) -> list[Row]:
    given = json.dumps({"command": step.command})
    head = "ERROR: Command failed with exit code: 1." if step.failed else "Command executed."
    call = {"type": "function", "id": name, "function": {"name": "Shell", "arguments": given}}
    return [
        {"role": "assistant", "content": [], "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": name,
            "content": f"<system>{head}</system>\n{step.output}",
        },
    ]


def _opencode(step: Step, name: str) -> list[Row]:
    told = {"output": step.output, "exit": int(step.failed), "truncated": False}
    part = opencode_rows.tool(input={"command": step.command}, output=step.output, metadata=told)
    return [opencode_rows.row("tool_use", {**part, "id": f"prt_{name}", "callID": name})]


def _gemini(step: Step, name: str) -> list[Row]:
    status = "error" if step.failed else "success"
    return [
        {"type": "tool_use", "timestamp": gemini_rows.AT, "tool_name": "run_shell_command",
         "tool_id": name, "parameters": {"command": step.command}},
        {"type": "tool_result", "timestamp": gemini_rows.AT, "tool_id": name, "status": status,
         "output": step.output},
    ]  # fmt: skip


def _qwen(step: Step, name: str) -> list[Row]:
    use = qwen_rows.use(call_id=name, command=step.command)
    came = {"type": "tool_result", "tool_use_id": name, "content": step.output,
            "is_error": step.failed}  # fmt: skip
    return [
        {"type": "assistant", "session_id": "s-1", "parent_tool_use_id": None,
         "message": {"id": f"m{name}", "role": "assistant", "content": [use]}},
        {"type": "user", "session_id": "s-1", "parent_tool_use_id": None,
         "message": {"role": "user", "content": [came]}},
    ]  # fmt: skip


CLIS = {
    cli.harness: cli
    for cli in (
        Cli("claude", "home/.claude/projects/-w-ws/s.jsonl",
            [claude_rows.user("Go.", cwd=HOME)], _claude),
        Cli("codex", "home/.codex/sessions/2026/11/20/rollout-a.jsonl",
            [codex_row("session_meta", id="t1", cwd=HOME, cli_version="0.100.0", source="exec")],
            _codex),
        Cli("kimi", "stdout.jsonl", [{"role": "assistant", "content": "I begin."}], _kimi),
        Cli("opencode", "stdout.jsonl", [opencode_rows.row("text", opencode_rows.said())],
            _opencode),
        Cli("gemini", "stdout.jsonl",
            [{"type": "init", "timestamp": gemini_rows.AT, "session_id": "s-1", "model": "m"}],
            _gemini),
        Cli("qwen", "stdout.jsonl",
            [{"type": "system", "subtype": "init", "session_id": "s-1", "cwd": HOME}], _qwen),
    )
}  # fmt: skip
CLIS["codex-exec"] = Cli(
    "codex", "stdout.jsonl", [{"type": "thread.started", "thread_id": "t1"}], _codex_exec
)


def told(folder: Path, cli: Cli, steps: Sequence[Step]) -> tuple[list[Alarm], list[int]]:
    """What is raised about a session, and the line of the transcript that each command is on."""
    rows, lines = list(cli.before), []
    for number, step in enumerate(steps):
        lines.append(len(rows) + 1)
        rows += cli.rows(step, f"c{number}")
    partial = new_run_folder(folder, MINE)
    path = partial / "transcript" / cli.file
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = replace(made_run(MINE), harness=cli.harness)
    stored = read_run(complete(partial, run, None))
    return list(Session().alarms(Evidence(stored))), lines


def said(folder: Path, *commands: str | Step, harness: str = "claude") -> list[tuple[str, str]]:
    """The kinds and levels of all that is raised about a session, in order, each once."""
    steps = [one if isinstance(one, Step) else Step(one) for one in commands]
    found, _ = told(folder, CLIS[harness], steps)
    return sorted({(alarm.kind, alarm.level.value) for alarm in found})
