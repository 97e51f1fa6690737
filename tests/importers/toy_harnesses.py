"""Two made-up CLIs, for tests of what an import does with any CLI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kbsite.harnesses.form import Format, HarnessModule
from kbsite.harnesses.lines import Line, Record, count, mapping, records, text, timestamp
from kbsite.model.event import Event, Finish, Message, Role, Scope, Session, TokenUse
from kbsite.model.harness import Harness
from kbsite.model.usage import Usage


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """A toy log: a start, words, tokens and an end, one a row."""
    for record in records(lines, file):
        if not isinstance(record, Record):
            yield record
            continue
        row, at = record.value, timestamp(record.value.get("at"))
        match row.get("toy"):
            case "start":
                yield Session(
                    source=record.source, at=at, model=text(row.get("model")),
                    harness_version=text(row.get("version")), effort=text(row.get("effort")),
                )  # fmt: skip
            case "tokens":
                used = mapping(row.get("used"))
                usage = Usage(input=count(used.get("in")), output=count(used.get("out")))
                yield TokenUse(
                    source=record.source, at=at, usage=usage, scope=Scope.MESSAGE,
                    message_id=text(row.get("id")), cost_usd=0.5,
                )  # fmt: skip
            case "end":
                ok = row.get("ok")
                yield Finish(
                    source=record.source, at=at, ok=ok if isinstance(ok, bool) else None,
                    reason=text(row.get("reason")) or "end", seconds=7.0,
                    agent=text(row.get("agent")),
                )  # fmt: skip
            case _:
                yield Message(source=record.source, at=at, role=Role.ASSISTANT, text=record.raw)


def of(word: str, key: str = "toy") -> Format:
    """A toy format whose files have a row with this word under a key."""

    def recognises(head: Sequence[Mapping[str, object]]) -> bool:
        return any(row.get(key) == word for row in head)

    return Format(
        id=f"toy-{word}", title=f"{word} log", globs=(f"{word}/*.jsonl",), parse=parse,
        recognises=recognises, stored_as=word,
    )  # fmt: skip


class Toy:
    """A made-up CLI."""

    def __init__(self, harness_id: str, *formats: Format) -> None:
        self.HARNESS = Harness(harness_id, harness_id.title())
        self.FORMATS = list(formats)


TOYS: list[HarnessModule] = [
    Toy("toy", of("start"), of("printed")),
    Toy("twin", of("twins"), of("start", key="also")),
]


def rows(*held: Mapping[str, object]) -> bytes:
    """Rows as the bytes of a file of JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in held).encode()


START = {"toy": "start", "at": "2026-01-02T03:04:05Z", "model": "Lab/M 1", "version": "1.2",
         "effort": "max"}  # fmt: skip
TOKENS = {"toy": "tokens", "id": "m1", "used": {"in": 10, "out": 5}}
END = {"toy": "end", "at": "2026-01-02T03:14:05Z", "ok": True}
