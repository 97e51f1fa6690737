"""Print the sessions of an opencode database, each as one line of JSON: {info, messages}.

It runs in a box of its own, with the standard library alone, for the database may hold anything:
its only argument is the folder of the files. A line is what `opencode export` prints of a session.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

DATABASE = ".local/share/opencode/opencode.db"
TABLES = frozenset({"session", "message", "part"})
MOST_SECONDS = 60.0
MOST_ITEM = 32 << 20
"""Bytes of one message's or part's data; of what is longer, only the size is told."""
MOST_BYTES = 256 << 20
"""Characters that are printed in all; messages after that are left out."""

KINDS = "SELECT name FROM sqlite_master WHERE type = 'table'"
SESSIONS = "SELECT * FROM session ORDER BY time_created, id"
MESSAGES = """SELECT id, length(data), substr(data, 1, :most) FROM message
    WHERE session_id = :of ORDER BY time_created, id"""
PARTS = """SELECT id, length(data), substr(data, 1, :most) FROM part
    WHERE message_id = :of ORDER BY id"""

NAMES = {
    "id": "id", "slug": "slug", "project_id": "projectID", "directory": "directory",
    "path": "path", "parent_id": "parentID", "title": "title", "agent": "agent",
    "version": "version", "cost": "cost",
}  # fmt: skip
"""Columns of a session that an export tells as they are, and how it names them."""
TOKENS = {
    "input": "tokens_input", "output": "tokens_output", "reasoning": "tokens_reasoning",
}  # fmt: skip
CACHE = {"read": "tokens_cache_read", "write": "tokens_cache_write"}
TIMES = {"created": "time_created", "updated": "time_updated"}

Row = dict[str, object]


def main(folder: Path, out: TextIO) -> int:
    """Print all sessions; 1 if there is no database that can be read."""
    kept = folder / DATABASE
    if not kept.is_file():
        sys.stderr.write(f"{DATABASE}: no database\n")
        return 1
    with tempfile.TemporaryDirectory() as place:
        try:
            database = opened(kept, Path(place))
            for line in lines(database):
                out.write(line)
        except sqlite3.Error as error:
            sys.stderr.write(f"{DATABASE}: {error}\n")
            return 1
    return 0


def opened(kept: Path, place: Path) -> sqlite3.Connection:
    """A copy of the database with what its journal holds; raises sqlite3.Error."""
    for end in ("", "-wal"):
        source = kept.with_name(kept.name + end)
        if source.is_file():
            shutil.copyfile(source, place / source.name)
    database = sqlite3.connect(place / kept.name)
    database.text_factory = lambda held: held.decode("utf-8", "replace")
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    end_at = time.monotonic() + MOST_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > end_at, 1_000_000)
    tables = {name for (name,) in database.execute(KINDS)}
    if not tables >= TABLES:
        raise sqlite3.DatabaseError(f"expected the tables {', '.join(sorted(TABLES))}")
    return database


def lines(database: sqlite3.Connection) -> Iterator[str]:
    """The sessions, piece by piece; each is whole at the end of its line."""
    left = MOST_BYTES
    for row in database.execute(SESSIONS).fetchall():
        held = dict(row)
        yield f'{{"info": {dumped(told(held))}, "messages": ['
        comma = ""
        for piece in messages(database, str(held["id"])):
            left -= len(piece)
            if left < 0:
                break
            yield comma + piece
            comma = ", "
        yield "]}\n"


def messages(database: sqlite3.Connection, session: str) -> Iterator[str]:
    """The messages of a session with their parts, as JSON."""
    for row in database.execute(MESSAGES, {"of": session, "most": MOST_ITEM}):
        own = {"id": row[0], "sessionID": session}
        parts = [
            item(part, {"id": part[0], "sessionID": session, "messageID": row[0]})
            for part in database.execute(PARTS, {"of": row[0], "most": MOST_ITEM})
        ]
        yield dumped({"info": item(row, own), "parts": parts})


def item(row: Sequence[object], own: Row) -> Row:
    """What a message or a part holds, with its ids."""
    _, size, text = row
    if isinstance(size, int) and size > MOST_ITEM:
        return {"type": "left out", "bytes": size, **own}
    held = parsed(text)
    return (
        {**held, **own} if isinstance(held, dict) else {"type": "unreadable", "data": text, **own}
    )


def told(row: Row) -> Row:
    """A session as an export tells it."""
    info: Row = {new: row[old] for old, new in NAMES.items() if row.get(old) is not None}
    info["model"] = parsed(row.get("model"))
    tokens: Row = {key: row.get(column) for key, column in TOKENS.items()}
    tokens["cache"] = {key: row.get(column) for key, column in CACHE.items()}
    info["tokens"] = tokens
    info["time"] = {key: row.get(column) for key, column in TIMES.items()}
    return info


def parsed(text: object) -> object:
    """JSON as it was meant; None for what is none."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def dumped(value: object) -> str:
    """One line of JSON."""
    return json.dumps(value, default=lambda held: held.decode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.stdout))
