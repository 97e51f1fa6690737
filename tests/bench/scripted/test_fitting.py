"""Intents fitted to tools as CLIs offer them: names, schemas, units, other means."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.scripted.conversation import Conversation, Kind, Tool, UserText
from bench.scripted.fitting import fit
from bench.scripted.patches import command, patch
from bench.scripted.script import (
    Edit,
    Finish,
    Intent,
    Item,
    Named,
    Read,
    Shell,
    State,
    Task,
    Todo,
    Wait,
    Write,
)

STRING = {"type": "string"}
LIST = Todo(items=(Item(text="Try", state=State.COMPLETED), Item(text="Say")))
WRITE = Write(path="solution.py", content="a\nb\n")
EDIT = Edit(path="solution.py", old="a", new="c")


def talk(*tools: Tool, system: str = "Working directory: /workspace", results: str = "") -> Any:
    return Conversation(
        model="m", streams=True, system=system, tools={one.name: one for one in tools},
        events=(UserText("hello"),), results=results,
    )  # fmt: skip


def tool(
    name: str,
    known: dict[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    about: str = "",
    **properties: Any,
) -> Tool:
    schema = {"properties": {**(known or {}), **properties}, "required": list(required)}
    return Tool(name=name, schema=schema, description=about)


def arguments(intent: Intent, offered: Tool, **more: Any) -> dict[str, Any]:
    made = fit(intent, talk(offered, **more))
    assert made is not None
    assert made.name == offered.name
    return dict(made.arguments)


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (tool("Bash", command=STRING), {"command": "ls"}),
        (tool("Bash", cmd=STRING, description=STRING), {"cmd": "ls", "description": "Look"}),
        (tool("exec_command", cmd=STRING), {"cmd": "ls"}),
        (tool("shell", command={"type": "array"}), {"command": ["bash", "-lc", "ls"]}),
        (
            tool("run_shell_command", command=STRING, is_background={"type": "boolean"}),
            {"command": "ls", "is_background": False},
        ),
        (
            tool("Bash", required=("command", "level", "mode", "many"), command=STRING,
                 level={"type": "integer"}, mode={"enum": ["fast"]}, many={"type": ["array"]}),
            {"command": "ls", "level": 0, "mode": "fast", "many": []},
        ),
    ],
)  # fmt: skip
def test_a_command(offered: Tool, expected: dict[str, Any]) -> None:
    assert arguments(Shell(command="ls", title="Look"), offered) == expected


@pytest.mark.parametrize(
    ("name", "about", "expected"),
    [
        ("timeout", {"description": "in milliseconds", "maximum": 600_000}, 300_000),
        ("timeout", {"description": "in milliseconds", "maximum": 120_000}, 120_000),
        ("timeout", {"description": "seconds to wait"}, 300),
        ("timeout", {"maximum": 300}, 300),
        ("timeout", {"maximum": 60}, 60),
        ("timeout", {"anyOf": [{"type": "integer", "maximum": 100}, {"type": "null"}]}, 100),
        ("timeout_ms", {"description": "seconds, really"}, 300_000),
        ("yield_time_ms", {}, 300_000),
    ],
)
def test_times_are_in_the_unit_that_the_schema_means(
    name: str, about: dict[str, Any], expected: int
) -> None:
    offered = tool("Bash", {name: about}, command=STRING)
    assert arguments(Shell(command="ls", timeout_seconds=300), offered)[name] == expected
    assert name not in arguments(Shell(command="ls"), offered)


@pytest.mark.parametrize("name", ["file_path", "filePath", "path", "absolute_path"])
def test_files_by_whatever_the_path_is_called(name: str) -> None:
    place = {name: "/workspace/solution.py"}
    write = tool("write_file", {name: STRING}, content=STRING)
    assert arguments(WRITE, write) == {**place, "content": "a\nb\n"}
    assert arguments(Read(path="solution.py"), tool("Read", {name: STRING})) == place
    snake = tool("Edit", {name: STRING}, old_string=STRING, new_string=STRING)
    assert arguments(EDIT, snake) == {**place, "old_string": "a", "new_string": "c"}
    camel = tool("edit", {name: STRING}, oldString=STRING, newString=STRING)
    assert arguments(EDIT, camel) == {**place, "oldString": "a", "newString": "c"}
    nested = tool("StrReplaceFile", {name: STRING}, edit={"type": "object"})
    assert arguments(EDIT, nested) == {**place, "edit": {"old": "a", "new": "c"}}


def test_without_a_known_workspace_paths_stay_relative() -> None:
    offered = tool("Read", path=STRING)
    assert arguments(Read(path="a"), offered, system="")["path"] == "a"


def test_lists_of_things_to_do() -> None:
    plain = {"properties": {"content": STRING, "status": {"enum": ["pending", "completed"]}}}
    made = arguments(LIST, tool("TodoWrite", todos={"type": "array", "items": plain}))
    rows = [{"content": "Try", "status": "completed"}, {"content": "Say", "status": "pending"}]
    assert made == {"todos": rows}
    kimi = Tool(
        name="SetTodoList",
        schema={
            "properties": {
                "todos": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Todo"}}]}
            },
            "$defs": {"Todo": {"properties": {"title": STRING, "status": {"enum": ["done", "x"]}}}},
        },
    )
    rows = [{"title": "Try", "status": "done"}, {"title": "Say", "status": "done"}]
    assert arguments(LIST, kimi) == {"todos": rows}
    plan = {"properties": {"step": STRING, "status": STRING, "id": STRING, "priority": STRING}}
    made = arguments(LIST, tool("update_plan", plan={"type": "array", "items": plan}))
    assert made["plan"][1] == {"step": "Say", "status": "pending", "id": "2", "priority": "medium"}


@pytest.mark.parametrize(
    ("name", "kind", "about", "system", "expected"),
    [
        ("Agent", {"type": "string"}, "- general-purpose: Any work", "", "general-purpose"),
        ("Agent", {"type": "string"}, "- `coder`: general work", "", "coder"),
        ("agent", {"type": "string"}, "- **general-purpose**: Any", "", "general-purpose"),
        ("task", {"type": "string"}, '"general" does it', "", "general"),
        ("invoke_agent", {"type": "string"}, "", "- generalist -> Any work", "generalist"),
        ("Task", {"enum": ["explore", "general"]}, "", "", "general"),
        ("Task", {"enum": ["explore"]}, "", "", "explore"),
        ("Agent", {"type": "string"}, "no names", "", "general-purpose"),
    ],
)
def test_a_sub_agent_of_any_kind(
    name: str, kind: dict[str, Any], about: str, system: str, expected: str
) -> None:
    offered = tool(name, about=about, prompt=STRING, description=STRING, subagent_type=kind)
    made = arguments(Task(prompt="Do it", title="child"), offered, system=system)
    assert made == {"prompt": "Do it", "description": "child", "subagent_type": expected}


def test_codex_names_its_tasks() -> None:
    offered = tool("spawn_agent", message=STRING, task_name=STRING)
    made = arguments(Task(prompt="Do it", title="Child task"), offered)
    assert made == {"message": "Do it", "task_name": "child_task"}


def test_waiting_names_the_child_that_was_last_made() -> None:
    first, second = "01a1ff7b-ff1c-7fb3-822b-86eddd10cf48", "01a1ff7c-cc89-7dd0-9f6e-00cd627cc7f2"
    offered = tool("wait_agent", targets={"type": "array"}, timeout_ms={"type": "integer"})
    made = arguments(Wait(), offered, results=f'{{"agent_id": "{first}"}} "{second}"')
    assert made == {"targets": [second], "timeout_ms": 20_000}
    assert fit(Wait(), talk(tool("Bash", command=STRING))) is None


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"type": "object", "properties": {"response": STRING}}, {"response": "Said"}),
        ({"type": "object", "properties": {"other": STRING}}, {"other": "Said"}),
        (STRING, "Said"),
    ],
)
def test_a_report_in_the_form_that_is_asked_for(result: dict[str, Any], expected: object) -> None:
    offered = tool("complete_task", result=result)
    assert arguments(Finish(report="Said"), offered) == {"result": expected}


def test_a_named_tool_is_called_as_it_stands() -> None:
    made = fit(Named(tool="NoSuchTool", arguments={"a": 1}), talk())
    assert made is not None
    assert (made.name, made.arguments, made.kind) == ("NoSuchTool", {"a": 1}, Kind.FUNCTION)


def test_patches_where_they_are_offered() -> None:
    shell = tool("exec_command", cmd=STRING)
    freeform = Tool(name="apply_patch", schema={}, kind=Kind.FREEFORM)
    made = fit(WRITE, talk(shell, freeform))
    assert made is not None
    assert (made.name, made.kind) == ("apply_patch", Kind.FREEFORM)
    assert made.arguments == {
        "input": "*** Begin Patch\n*** Add File: solution.py\n+a\n+b\n*** End Patch\n"
    }
    assert patch(EDIT) == (
        "*** Begin Patch\n*** Update File: solution.py\n@@\n-a\n+c\n*** End Patch\n"
    )
    assert arguments(EDIT, tool("apply_patch", patch=STRING)) == {"patch": patch(EDIT)}


def test_files_through_the_shell_where_nothing_else_is_offered(tmp_path: Path) -> None:
    content = 'it\'s "a" $HOME `b` \\n\n%s end\n'
    shell = tool("exec_command", cmd=STRING)
    cmd = arguments(Write(path="it's.py", content=content), shell)["cmd"]
    subprocess.run(cmd, cwd=tmp_path, shell=True, check=True)
    assert (tmp_path / "it's.py").read_text() == content
    edit = Edit(path="it's.py", old="$HOME `b`", new="'new' \\1")
    by_shell = command(edit).replace("python3", sys.executable, 1)
    subprocess.run(by_shell, cwd=tmp_path, shell=True, check=True)
    assert (tmp_path / "it's.py").read_text() == content.replace("$HOME `b`", "'new' \\1")
    again = subprocess.run(by_shell, cwd=tmp_path, shell=True, capture_output=True, check=False)
    assert again.returncode == 1
    assert arguments(Read(path="a"), shell) == {"cmd": "cat a"}
    assert fit(WRITE, talk()) is None


def test_sub_agents_behind_a_search_are_looked_for_first() -> None:
    search = Tool(name="tool_search", schema={}, kind=Kind.SEARCH)
    made = fit(Task(prompt="Do it"), talk(search))
    assert made is not None
    assert (made.name, made.kind) == ("tool_search", Kind.SEARCH)
    made = fit(Task(prompt="Do it"), talk(search, tool("spawn_agent", message=STRING)))
    assert made is not None
    assert made.name == "spawn_agent"
    assert fit(Task(prompt="Do it"), talk()) is None


def test_code_mode_runs_programs() -> None:
    code = Tool(name="exec", schema={}, kind=Kind.FREEFORM)
    spawn = Tool(name="spawn_agent", schema={}, namespace="collaboration")
    talked = talk(code, spawn)
    for intent, held in (
        (Shell(command="a", timeout_seconds=300), {"cmd": "a", "yield_time_ms": 30000}),
        (Read(path="a b"), {"cmd": "cat 'a b'"}),
    ):  # fmt: skip
        made = fit(intent, talked)
        assert made is not None
        assert made.kind is Kind.FREEFORM
        assert f"tools.exec_command({json.dumps(held)})" in made.arguments["input"]
    made = fit(WRITE, talked)
    assert made is not None
    assert (
        made.arguments["input"] == f"text(await tools.apply_patch({json.dumps(patch(WRITE))}));\n"
    )
    made = fit(Task(prompt="Do it"), talked)
    assert made is not None
    assert (made.name, made.namespace, made.kind) == ("spawn_agent", "collaboration", Kind.FUNCTION)
    assert fit(LIST, talked) is None
