"""The sessions of opencode's database come out as kbsite reads them, whatever it holds."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.harnesses import opencode_sessions
from bench.harnesses.opencode import ADAPTER
from kbsite.harnesses.form import matches
from kbsite.model.usage import Usage
from kbsite.store.files import contents
from kbsite.transcripts import transcript

SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text,
  directory text, path text, title text, version text, cost real, tokens_input integer,
  tokens_output integer, tokens_reasoning integer, tokens_cache_read integer,
  tokens_cache_write integer, agent text, model text, time_created integer,
  time_updated integer, permission text);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
  time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
  time_updated integer, data text);
"""
PARENT, CHILD = "ses_parent", "ses_child"
Row = dict[str, object]


def database_of(folder: Path) -> Path:
    path = folder / opencode_sessions.DATABASE
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    """A database with opencode's tables, whose journal is still apart as long as it is open."""
    with closing(sqlite3.connect(database_of(folder))) as held:
        held.execute("PRAGMA journal_mode = WAL")
        held.executescript(SCHEMA)
        yield held
        held.commit()


def add_session(held: sqlite3.Connection, name: str, parent: str | None, tokens: int) -> None:
    model = '{"id": "model-1", "providerID": "proxy", "variant": "high"}'
    begun = 1_795_287_354_865 + (0 if parent is None else 1)
    row = (name, "global", parent, "slug", "/workspace", "w", "Title", "1.18.33", 0.0, tokens,
           2, 1, 0, 0, "build", model, begun, begun + 6_000, "[]")  # fmt: skip
    held.execute(f"INSERT INTO session VALUES ({','.join('?' * len(row))})", row)


def add_message(
    held: sqlite3.Connection, session: str, name: str, data: object, parts: Sequence[object]
) -> None:
    told = data if isinstance(data, str) else json.dumps(data)
    held.execute("INSERT INTO message VALUES (?, ?, 1, 1, ?)", (name, session, told))
    for number, part in enumerate(parts):
        text = part if isinstance(part, str) else json.dumps(part)
        key = f"prt_{name}_{number}"
        held.execute("INSERT INTO part VALUES (?, ?, ?, 1, 1, ?)", (key, name, session, text))


def step(tokens: int) -> Row:
    held = {"input": tokens, "output": 2, "reasoning": 1, "cache": {"read": 0, "write": 0}}
    return {"type": "step-finish", "reason": "stop", "tokens": held, "cost": 0}


def task() -> Row:
    state = {
        "status": "completed", "input": {"description": "d", "prompt": "p"}, "output": "o",
        "metadata": {"sessionId": CHILD}, "time": {"start": 1, "end": 2},
    }  # fmt: skip
    return {"type": "tool", "tool": "task", "callID": "c", "state": state}


def fill(held: sqlite3.Connection) -> None:
    """A session with a sub-agent's."""
    add_session(held, PARENT, None, 1000)
    add_session(held, CHILD, PARENT, 500)
    assistant = {"role": "assistant", "modelID": "model-1", "time": {"created": 1, "completed": 2}}
    add_message(held, PARENT, "msg_1", {"role": "user"}, [{"type": "text", "text": "Do \x00 it"}])
    add_message(held, PARENT, "msg_2", assistant, [{"type": "step-start"}, task(), step(1000)])
    add_message(held, CHILD, "msg_3", assistant, [{"type": "step-start"}, step(500)])
    held.commit()


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """The program as the runner starts it: with the standard library alone."""
    script = folder / "script.py"
    script.write_bytes(ADAPTER.extract.script)
    command = [sys.executable, "-I", str(script), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def printed(folder: Path) -> list[dict[str, Any]]:
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_session_is_a_line_with_its_messages_and_parts(tmp_path: Path) -> None:
    with database(tmp_path) as held:
        fill(held)
    parent, child = printed(tmp_path)

    assert parent["info"]["id"] == PARENT
    assert "parentID" not in parent["info"]
    assert child["info"]["parentID"] == PARENT
    assert parent["info"]["model"]["variant"] == "high"
    assert [one["info"]["id"] for one in parent["messages"]] == ["msg_1", "msg_2"]
    assert [part["type"] for part in parent["messages"][1]["parts"]] == [
        "step-start",
        "tool",
        "step-finish",
    ]


def test_what_is_still_in_the_journal_is_read_too(tmp_path: Path) -> None:
    with database(tmp_path) as held:
        fill(held)
        journal = database_of(tmp_path).with_name("opencode.db-wal")
        assert journal.stat().st_size > 0
        assert len(printed(tmp_path)) == 2


def test_kbsite_shows_the_sub_agent_and_counts_all_tokens_once(tmp_path: Path) -> None:
    with database(tmp_path) as held:
        fill(held)
    kept = tmp_path / "transcript" / ADAPTER.extract.to
    kept.parent.mkdir(parents=True)
    kept.write_text(run(tmp_path).stdout, "utf-8")
    shown = transcript("opencode", contents(tmp_path / "transcript")[0])

    assert shown is not None
    assert shown.usage == Usage(input=1500, cache_read=0, cache_write=0, output=6, reasoning=2)
    assert [log.id for one in shown.main.steps for log in one.agents] == [CHILD]
    assert shown.finish is not None
    assert shown.finish.ok is True
    assert dict(shown.unknown) == {}


def test_what_is_no_json_is_kept_as_it_is(tmp_path: Path) -> None:
    with database(tmp_path) as held:
        add_session(held, PARENT, None, 1)
        add_message(held, PARENT, "msg_1", "{cut", ["[" * 100_000, '"text"'])
    ((message,),) = (one["messages"] for one in printed(tmp_path))

    assert message["info"]["data"] == "{cut"
    assert [part["type"] for part in message["parts"]] == ["unreadable"] * 2


def test_bytes_that_are_no_text_do_not_end_it(tmp_path: Path) -> None:
    with database(tmp_path) as held:
        add_session(held, PARENT, None, 1)
        held.execute("INSERT INTO message VALUES ('msg_1', ?, 1, 1, x'7bff00')", (PARENT,))
        held.execute("INSERT INTO message VALUES ('msg_2', ?, 1, 1, NULL)", (PARENT,))
        held.execute("INSERT INTO part VALUES (NULL, 'msg_2', 1, 1, 1, 7.5)")
        held.execute("UPDATE session SET title = CAST(x'ff41' AS TEXT)")
    (session,) = printed(tmp_path)

    assert session["info"]["title"] == "\ufffdA"
    assert [one["info"]["data"] for one in session["messages"]] == ["{\ufffd\0", None]
    assert session["messages"][1]["parts"][0]["data"] == "7.5"


def test_a_part_that_is_too_long_is_told_by_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencode_sessions, "MOST_ITEM", 100)
    with database(tmp_path) as held:
        add_session(held, PARENT, None, 1)
        add_message(held, PARENT, "msg_1", {"role": "user"}, [{"text": "x" * 200}, {"text": "y"}])
    ((long, short),) = (one["parts"] for one in sessions_here(tmp_path)[0]["messages"])

    assert (long["type"], long["bytes"]) == ("left out", 212)
    assert short["text"] == "y"


def test_no_more_than_so_much_is_printed_in_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencode_sessions, "MOST_BYTES", 5000)
    with database(tmp_path) as held:
        add_session(held, PARENT, None, 1)
        for number in range(100):
            add_message(held, PARENT, f"msg_{number:03}", {"role": "user"}, [{"text": "x" * 100}])
    (session,) = sessions_here(tmp_path)

    assert 10 < len(session["messages"]) < 30


def test_a_query_without_an_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode_sessions, "MOST_SECONDS", 0.0)
    with database(tmp_path) as held:
        fill(held)
    place = tmp_path / "place"
    place.mkdir()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
    with closing(opencode_sessions.opened(database_of(tmp_path), place)) as held:
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            held.execute(endless).fetchone()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            held.execute("DELETE FROM part")


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE other (a)",
        "CREATE TABLE session (id); CREATE TABLE message (id); CREATE VIEW part AS SELECT 1",
        "CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id)",
    ],
)
def test_other_tables_are_refused_with_a_sentence(tmp_path: Path, made: str) -> None:
    with closing(sqlite3.connect(database_of(tmp_path))) as held:
        held.executescript(made)
    done = run(tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "opencode.db: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("data", [None, b"", b"SQLite format 3\0" + b"\xff" * 5000, b"text"])
def test_what_is_no_database_is_refused_with_a_sentence(tmp_path: Path, data: bytes | None) -> None:
    if data is not None:
        database_of(tmp_path).write_bytes(data)
    done = run(tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


def test_the_program_gets_the_database_and_its_journal() -> None:
    base = opencode_sessions.DATABASE

    assert all(matches(base + end, ADAPTER.extract.glob) for end in ("", "-wal", "-shm"))
    assert not matches(".local/share/opencode/auth.json", ADAPTER.extract.glob)


def sessions_here(folder: Path) -> list[Mapping[str, Any]]:
    """What the program prints, run here, where its limits can be set."""
    place = folder / "place"
    place.mkdir()
    with closing(opencode_sessions.opened(database_of(folder), place)) as held:
        text = "".join(opencode_sessions.lines(held))
    return [json.loads(line) for line in text.splitlines()]
