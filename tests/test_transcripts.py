from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import Line, records
from kbsite.model.event import Event, Malformed, Message, Role
from kbsite.model.harness import Harness
from kbsite.store.files import Stored, contents
from kbsite.store.runs import read_run
from kbsite.transcripts import events, shown, transcript
from tests.conftest import MakeRun


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    for row in records(lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            agent = str(row.value.get("agent", ""))
            text = str(row.value.get("text"))
            yield Message(source=row.source, role=Role.ASSISTANT, text=text, agent=agent)


def form(name: str, *globs: str) -> Format:
    return Format(name, name.title(), globs, parse, lambda _: True, name)


class Fake:
    HARNESS = Harness("fake", "Fake CLI")
    FORMATS = [form("rich", "sessions/**/*.jsonl"), form("plain", "stdout.jsonl")]  # noqa: RUF012


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_ID, "fake", Fake())


def stored(folder: Path, **files: str) -> list[Stored]:
    """Files of which each name is given with `_` for `/`."""
    for name, text in files.items():
        path = folder / f"{name.replace('_', '/')}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return contents(folder)[0]


def names(files: list[Stored]) -> list[str]:
    return [file.name for file in files]


def test_files_beside_a_format_are_read_where_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich = replace(Fake.FORMATS[0], beside=("notes/*.jsonl",))
    monkeypatch.setattr(Fake, "FORMATS", [rich, Fake.FORMATS[1]])
    alone = stored(tmp_path / "alone", notes_a="{}", stdout="{}")
    both = stored(tmp_path / "both", notes_a="{}", notes_b="", sessions_a="{}", stdout="{}")
    found = [shown("fake", files) for files in (alone, both)]

    assert [(one[0].id, names(one[1])) for one in found if one] == [
        ("plain", ["stdout.jsonl"]), ("rich", ["sessions/a.jsonl", "notes/a.jsonl"]),
    ]  # fmt: skip


def test_the_richest_format_is_shown(tmp_path: Path) -> None:
    files = stored(tmp_path, stdout="{}", sessions_a="{}", sessions_deep_b="{}", other="{}")
    chosen = shown("fake", files)
    assert chosen is not None
    assert chosen[0].id == "rich"
    assert names(chosen[1]) == ["sessions/a.jsonl", "sessions/deep/b.jsonl"]


def test_an_empty_file_gives_way_to_a_poorer_format(tmp_path: Path) -> None:
    chosen = shown("fake", stored(tmp_path, sessions_a="", stdout="{}"))
    assert chosen is not None
    assert (chosen[0].id, names(chosen[1])) == ("plain", ["stdout.jsonl"])


def test_empty_files_are_shown_where_there_is_nothing_else(tmp_path: Path) -> None:
    files = stored(tmp_path, sessions_a="", stdout="")
    chosen = shown("fake", files)
    assert chosen is not None
    assert chosen[0].id == "rich"
    held = transcript("fake", files)
    assert held is not None
    assert held.main.steps == []
    assert held.files == ("sessions/a.jsonl",)


@pytest.mark.parametrize("harness", ["nobody", "", "Fake"])
def test_a_harness_that_nobody_knows_has_no_transcript(tmp_path: Path, harness: str) -> None:
    files = stored(tmp_path, stdout="{}")
    assert shown(harness, files) is None
    assert transcript(harness, files) is None


def test_files_of_no_format_are_no_transcript(tmp_path: Path) -> None:
    files = stored(tmp_path, notes="{}", deep_stdout="{}")
    assert shown("fake", files) is None
    assert transcript("fake", []) is None


def test_all_files_of_the_format_are_folded(tmp_path: Path) -> None:
    files = stored(
        tmp_path,
        sessions_a='{"text": "one"}\nbroken\n{"text": "two"}\n',
        sessions_b='{"text": "below", "agent": "b"}\n',
        stdout='{"text": "not shown"}\n',
    )
    held = transcript("fake", files)
    assert held is not None
    assert (held.format, held.title) == ("rich", "Rich")
    assert held.files == ("sessions/a.jsonl", "sessions/b.jsonl")
    texts = [
        [step.event.text for step in log.steps if isinstance(step.event, Message | Malformed)]
        for log in held.agents
    ]
    assert texts == [["one", "broken", "two"], ["below"]]
    assert held.kinds == {"message": 3, "malformed": 1}


@pytest.mark.parametrize(
    ("main", "unlinked", "files"),
    [
        (["one", "two"], [], {"sessions_a": "a:one a:two"}),
        (["one"], [], {"sessions_a": "a:one", "sessions_b": ""}),
        (["two"], [["one"], ["three"]], {"sessions_a": "a:one :two b:three"}),
        ([], [["one"], ["two"]], {"sessions_a": "a:one", "sessions_b": "b:two"}),
    ],
    ids=["alone", "with a note beside it", "begins before the main agent", "two sub-agents"],
)
def test_a_sub_agents_own_log_alone_is_shown_as_the_session(
    tmp_path: Path, main: list[str], unlinked: list[list[str]], files: dict[str, str]
) -> None:
    held = transcript("fake", stored(tmp_path, **{k: _spoken(v) for k, v in files.items()}))
    assert held is not None
    texts = [[getattr(s.event, "text", "") for s in log.steps] for log in held.agents]
    assert texts == [main, *unlinked]
    if not unlinked:
        assert {step.anchor for step in held.main.steps} <= {"L1", "L2"}


def _spoken(told: str) -> str:
    pairs = (one.split(":") for one in told.split())
    return "".join(json.dumps({"agent": agent, "text": text}) + "\n" for agent, text in pairs)


def test_bytes_that_are_no_text_come_through(tmp_path: Path) -> None:
    (tmp_path / "stdout.jsonl").write_bytes(b'\xff\xfe\0\n{"text": "caf\xe9"}\n{"text": "cu')
    held = transcript("fake", contents(tmp_path)[0])
    assert held is not None
    first, second, last = (step.event for step in held.main.steps)
    assert isinstance(first, Malformed)
    assert isinstance(second, Message)
    assert second.text.encode("utf-8", "surrogateescape") == b"caf\xe9"
    assert isinstance(last, Malformed)
    assert "ends in the middle" in last.reason


def test_a_file_is_read_as_its_events_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "stdout.jsonl").write_text('{"text": "one"}\n' * 10)
    chosen = shown("fake", contents(tmp_path)[0])
    assert chosen is not None
    going = events(*chosen)
    assert next(going).source.line == 1
    assert len(list(going)) == 9


def test_the_transcript_of_a_run(tmp_path: Path, make_run: MakeRun) -> None:
    log = {"stdout.jsonl": b'{"text": "hello"}\n', "stderr.log": b"warn\n"}
    run = read_run(make_run(tmp_path / "demo", harness="fake", transcript=log))
    held = transcript(run.run.harness, run.transcripts)
    assert held is not None
    assert held.files == ("stdout.jsonl",)
    assert [step.anchor for step in held.main.steps] == ["L1"]
