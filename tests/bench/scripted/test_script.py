"""Scripts as files: what they may say, and what a person is told of a slip."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.scripted import SHIPPED, load_script, load_scripts
from bench.scripted.script import Edit, Item, Shell, State, Task, Todo, Write
from kbsite.errors import InputError

NAMED_IN_THE_MATRIX = {
    "main", "child", "hi", "e400", "e401", "e429", "e500", "dropbefore", "dropmid", "dropmidonce",
    "cut", "streamerr", "maxtok", "badtool", "asks", "hang", "stall", "longtool", "bgtool", "quick",
    "late400", "late401", "late500", "e429once", "e500once", "hostile",
}  # fmt: skip


def written(folder: Path, text: str, name: str = "one.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_all_scripts_are_there_and_can_be_read() -> None:
    scripts = load_scripts()
    assert {one.name for one in scripts} == NAMED_IN_THE_MATRIX | {"main@add", "quick@add"}
    assert all(one.about for one in scripts)


def test_main_solves_add_for_real() -> None:
    script = load_script(SHIPPED / "main.yaml", "add")
    intents = [call.intent for turn in script.turns for call in turn.calls]
    write = next(one for one in intents if isinstance(one, Write))
    edit = next(one for one in intents if isinstance(one, Edit))
    held: dict[str, object] = {}
    assert write.content.count(edit.old) == 1
    exec(write.content.replace(edit.old, edit.new), held)
    assert held["solve"](2, 3) == 5  # type: ignore[operator]
    wrong: dict[str, object] = {}
    exec(write.content, wrong)
    assert wrong["solve"](2, 3) != 5  # type: ignore[operator]
    assert any(isinstance(one, Task) and "[[script:child]]" in one.prompt for one in intents)
    assert any(len(turn.calls) == 2 for turn in script.turns)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_shells_can_read_all_commands(shell: str) -> None:
    calls = [call for one in load_scripts() for turn in one.turns for call in turn.calls]
    commands = [call.shell.command for call in calls if call.shell]
    assert len(commands) > 20
    for command in commands:
        done = subprocess.run([shell, "-n", "-c", command], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), command


def test_calls_are_typed(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
about: Two calls.
turns:
  - calls:
      - shell: {command: ls, timeout_seconds: 3}
      - optional: true
        todo: {items: [{text: Try it, state: in_progress}, {text: Say so}]}
  - text: The end.
""",
    )
    first, second = load_script(path).turns[0].calls
    assert first.intent == Shell(command="ls", timeout_seconds=3)
    items = (Item(text="Try it", state=State.IN_PROGRESS), Item(text="Say so"))
    assert second.intent == Todo(items=items)
    assert (first.may_be_left_out, second.may_be_left_out) == (False, True)


def test_problems_fill_the_holes(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
about: One file.
problems:
  add: {body: "a + b"}
  sub: {body: "a - b"}
turns:
  - calls: [{write: {path: solution.py, content: "return {{body}}"}}]
  - text: "It is {{body}}."
""",
    )
    assert [one.name for one in load_scripts(path)] == ["one", "one@add", "one@sub"]
    assert load_script(path).turns[1].text == "It is a + b."
    script = load_script(path, "sub")
    assert script.turns[0].calls[0].intent == Write(path="solution.py", content="return a - b")
    with pytest.raises(InputError, match="problems: nothing for the problem 'mul'; it knows add"):
        load_script(path, "mul")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("about: x\nturns: []", "turns: expected at least one turn"),
        ("about: x\nturns: [{text: 5}]", "turns[0].text: expected text, got 5"),
        ("about: x\nturns:\n- {talk: a}", "turns[0].talk: no such key"),
        ("turns: [{text: a}]", "about: missing"),
        ("about: x\nturns:\n- calls: [{optional: true}]", "calls[0]: expected exactly one kind"),
        (
            "about: x\nturns:\n- calls: [{read: {path: a}, wait: {}}]",
            "turns[0].calls[0]: expected exactly one kind of call, got 2",
        ),
        ("about: x\nturns:\n- calls: [{shell: ls}]", "calls[0].shell: expected keys and values"),
        ("about: x\nturns: [{text: a}, {text: b}]", "turns[0].calls: a session ends"),
        ("about: x\nturns: [{wait_seconds: -1}]", "turns[0].wait_seconds: expected 0 or more"),
        ("about: x\nturns: [{fault: {times: 1}}]", "fault: expected exactly one of status, reset"),
        ("about: x\nturns: [{fault: {status: 200}}]", "fault.status: expected a status from 400"),
        ("about: x\nturns: [{fault: {status: 500, times: 0}}]", "fault.times: expected 1 or more"),
        ("about: x\nturns: [{fault: {reset: never}}]", "turns[0].fault.reset: expected"),
        (
            "about: x\nturns: [{fault: {early_end: true, stall_seconds: 1}}]",
            "expected exactly one of status, reset, early_end, error_event, stall_seconds, got 2",
        ),
        ('about: x\nturns: [{text: "{{hole}}"}]', "turns[0].text: nothing stands for {{hole}}"),
        ("about: x\nturns: [", "not valid YAML"),
    ],
)  # fmt: skip
def test_a_slip_is_told_with_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_script(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_name_has_to_fit_a_call_id(tmp_path: Path) -> None:
    path = written(tmp_path, "about: x\nturns: [{text: a}]", "two_words.yaml")
    with pytest.raises(InputError, match="rename the file"):
        load_script(path)
    with pytest.raises(InputError, match="no script here"):
        load_scripts(_empty(tmp_path))


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"
