"""Secrets in texts that are printed in pieces: hidden in each piece, whoever puts them together."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kbsite.hiding.files import Seen
from kbsite.model.redaction import covered
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import DENIED, SEEN
from kbsite.store.files import Stored
from tests.hanging import hanging
from tests.redaction.secrets import KINDS, planted

LOOKER = Looker()
Write = Callable[[str], dict[str, Any]]


def _of_a_block(kind: str, key: str) -> Write:
    return lambda text: {
        "type": "stream_event", "session_id": "a",
        "event": {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}},
    }  # fmt: skip


WAYS: Mapping[str, Write] = {
    "Gemini CLI": lambda text: {
        "type": "message", "timestamp": "2026-01-01T00:00:00Z", "role": "assistant",
        "content": text, "delta": True,
    },
    "Cursor, thinking": lambda text: {
        "type": "thinking", "subtype": "delta", "text": text, "timestamp_ms": 1784819288883,
    },
    "Cursor, an answer": lambda text: {
        "type": "assistant", "timestamp_ms": 1784819288883,
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
    },
    "Claude Code": _of_a_block("text_delta", "text"),
    "Claude Code, thinking": _of_a_block("thinking_delta", "thinking"),
    "Qwen Code, a call": _of_a_block("input_json_delta", "partial_json"),
    "opencode": lambda text: {
        "type": "message.part.delta", "properties": {"partID": "a", "field": "text", "delta": text},
    },
    "Copilot": lambda text: {"type": "assistant.message_delta", "data": {"deltaContent": text}},
    "Copilot, a call": lambda text: {
        "type": "assistant.tool_call_delta",
        "data": {"toolCallId": "c1", "toolName": "bash", "inputDelta": text}, "ephemeral": True,
    },
    "pi": lambda text: {
        "type": "message_update", "usage": {"input": 1, "output": 2},
        "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": text},
    },
    "a server": lambda text: {"choices": [{"index": 0, "delta": {"content": text}}]},
}  # fmt: skip
"""How programs print a piece of what a model says."""

PARTS: Mapping[str, Write] = {
    "Copilot, what a command prints": lambda text: {
        "type": "tool.shell_output",
        "ephemeral": True,
        "parentId": "p",
        "data": {"toolCallId": "c1", "stream": "stdout", "text": text, "sequence": 0},
    },
    "kimi-cli, a call": lambda text: {
        "timestamp": 1.5,
        "message": {"type": "ToolCallPart", "payload": {"arguments_part": text}},
    },
}
"""How programs print parts of what a command prints, or of what it is called with."""


def printed(text: str, write: Write, seed: int) -> bytes:
    """A stream in which a text is printed in pieces of some letters each."""
    draw, pieces = random.Random(seed), list[str]()
    while text:
        size = draw.randint(1, 9)
        pieces.append(text[:size])
        text = text[size:]
    separators = draw.choice([(",", ":"), (", ", ": ")])
    rows = [json.dumps(write(piece), separators=separators) for piece in pieces]
    return "\n".join(['{"type": "init"}', *rows, '{"type": "result"}', ""]).encode()


def read(stream: bytes) -> str:
    """The text that a stream says."""
    return "".join(map(_piece, map(json.loads, stream.decode().splitlines()[1:-1])))


def _piece(value: object) -> str:
    keys = (
        "text",
        "content",
        "delta",
        "thinking",
        "partial_json",
        "deltaContent",
        "inputDelta",
        "arguments_part",
    )
    if isinstance(value, list):
        return "".join(map(_piece, value))
    if not isinstance(value, dict):
        return ""
    own = [held for key, held in value.items() if key in keys and isinstance(held, str)]
    return own[0] if own else "".join(map(_piece, value.values()))


def shown(data: bytes, looker: Looker = LOOKER) -> bytes:
    """A stream as the site shows it."""
    hidden = covered(data, looker.look(data).spans)
    assert len(hidden) == len(data)
    assert covered(hidden, looker.look(hidden).spans) == hidden
    return hidden


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_hidden_in_pieces(kind: str, way: str) -> None:
    one = planted(2, kind)
    text = f'It is {"so " * 20}\n"{one.text}"\n{"and on " * 20}'
    stream = printed(f"It is so.\n{one.text}\n{'and on ' * 20}", WAYS[way], 7)

    assert one.secret in read(stream)
    assert one.secret not in read(shown(stream))
    assert one.secret not in read(shown(printed(text, WAYS[way], 8)))


@pytest.mark.parametrize("kind", ["github fine-grained", "password of a file"])
@pytest.mark.parametrize("way", PARTS)
def test_a_secret_is_hidden_in_parts(kind: str, way: str) -> None:
    one = planted(2, kind)
    stream = printed(f"It is so.\n{one.text}\n{'and on ' * 20}", PARTS[way], 7)

    assert one.secret in read(stream)
    assert one.secret not in read(shown(stream))


def shell_output(call_id: str, text: str) -> str:
    held = {"toolCallId": call_id, "stream": "stdout", "text": text, "sequence": 0}
    return json.dumps({"type": "tool.shell_output", "data": held}, separators=(",", ":"))


def said_by(stream: bytes, call_id: str) -> str:
    rows = (json.loads(row)["data"] for row in stream.decode().splitlines())
    return "".join(row.get("text", "") for row in rows if row.get("toolCallId") == call_id)


def test_what_two_commands_print_at_once_is_put_together_for_each() -> None:
    # Copilot says in between what else goes on, and what a command has printed so far.
    one, two = planted(2, "github fine-grained").secret, planted(3, "openai project").secret
    between = json.dumps({"type": "session.background_tasks_changed", "data": {}})
    rows = []
    for n in range(0, max(len(one), len(two)), 7):
        rows += [shell_output("c1", one[n : n + 7]), *[between] * 9]
        rows += [shell_output("c2", two[n : n + 7])]
    hidden = shown("\n".join([*rows, ""]).encode())

    assert one not in said_by(hidden, "c1")
    assert two not in said_by(hidden, "c2")


@pytest.mark.parametrize("cut", [100, 900, 1500, 2300])
def test_what_goes_on_behind_other_rows_is_put_together_wherever_one_begins(cut: int) -> None:
    one = planted(2, "github fine-grained").secret
    between = [json.dumps({"type": "session.background_tasks_changed", "data": {}})] * 9
    rows = [
        row for n in range(0, len(one), 9) for row in (shell_output("c1", one[n : n + 9]), *between)
    ]
    stream = "\n".join([*rows, ""]).encode()
    parts = [*LOOKER.look(stream, 0, cut).spans, *LOOKER.look(stream, cut).spans]

    assert one not in said_by(covered(stream, sorted(parts)), "c1")


def test_a_call_that_goes_on_in_parts_is_put_together_with_its_begin() -> None:
    one = planted(2, "github fine-grained").secret
    asked = {"name": "Bash", "arguments": f'{{"a": "{one[:9]}'}
    held = {"type": "function", "id": "t", "function": asked}
    head = {"message": {"type": "ToolCall", "payload": held}}
    rows = [head, *[PARTS["kimi-cli, a call"](one[n : n + 9]) for n in range(9, len(one), 9)]]
    hidden = shown("\n".join([*map(json.dumps, rows), ""]).encode()).decode().splitlines()
    said = [json.loads(row)["message"]["payload"] for row in hidden]

    assert one not in said[0]["function"]["arguments"] + "".join(
        part["arguments_part"] for part in said[1:]
    )


def test_texts_of_different_calls_are_not_put_together() -> None:
    one = planted(2, "github fine-grained").secret
    halves = [shell_output("c1", one[:12]), shell_output("c2", one[12:])]
    stream = "\n".join([*halves, ""]).encode()

    assert shown(stream) == stream


@pytest.mark.parametrize("way", WAYS)
def test_pieces_without_secrets_stay(way: str) -> None:
    text = "def f(key, token):\n    return key @ token  # api_key is none\n" * 900
    stream = printed(text, WAYS[way], 1)

    assert shown(stream) == stream


def test_what_a_piece_says_alone_is_hidden_as_ever() -> None:
    stream = "\n".join(
        json.dumps({"delta": f"/home/marianne/{n} {planted(n, 'e-mail').secret} "})
        for n in range(9)
    ).encode()
    alone = b"\n".join(
        covered(row, LOOKER.look(row).spans) for row in stream.split(b"\n")
    )  # fmt: skip

    assert b"marianne" not in alone
    assert shown(stream) == alone


@pytest.mark.parametrize("way", WAYS)
def test_a_value_of_the_list_and_of_another_file_is_hidden_in_pieces(
    way: str, tmp_path: Path
) -> None:
    secret = "Tr0ub4dor7aB2x9QhZk3"
    stream = printed(f"{'It is so. ' * 20}{secret}{' and on' * 20}", WAYS[way], 3)
    assert secret not in read(shown(stream, Looker(Known([Value(secret.encode(), DENIED)]))))

    seen = Seen(LOOKER)
    for name, said in (("a", f'password = "{secret}"\n'.encode()), ("b", stream)):
        (tmp_path / name).write_bytes(said)
        seen.see(Stored(name, str(tmp_path / name), len(said)))
    seen.again()
    assert {span.rule for span in seen.spans["b"]} == {SEEN}
    assert secret not in read(covered(stream, seen.spans["b"]))


def test_a_secret_deep_in_a_long_stream_is_hidden_wherever_the_file_is_cut() -> None:
    one, way = planted(1, "github fine-grained"), WAYS["Gemini CLI"]
    stream = printed(f"{'so it is ' * 4500}{one.text}{' so it is' * 90}", way, 5)
    whole = LOOKER.look(stream)

    assert whole.crowded == []
    assert one.secret not in read(covered(stream, whole.spans))
    middle = whole.spans[0].start
    for cut in range(middle - 500, whole.spans[-1].end + 300, 211):
        parts = [*LOOKER.look(stream, 0, cut).spans, *LOOKER.look(stream, cut).spans]
        assert covered(stream, sorted(parts)) == covered(stream, whole.spans)


HOSTILE: Mapping[str, Callable[[int], str]] = {
    "marks alone": lambda size: 'delta"' * (size // 6),
    "marks in one line of JSON": lambda size: '{"delta":"a", ' + 'delta" ' * (size // 7),
    "lines of one piece": lambda size: ('{"delta":"a"}\n-\n') * (size // 16),
    "lines full of marks": lambda size: (
        ('{"delta":"' + 'delta" ' * 5000 + "\n\n") * (size // 35_000)
    ),
    "lines of no text": lambda size: ('{"delta":1}\n') * (size // 12),
    "pieces of many calls": lambda size: "".join(
        f'{{"delta":"a","toolCallId":"{n}"}}\n' for n in range(size // 34)
    ),
    "a piece, then other lines": lambda size: (
        ('{"delta":"a","toolCallId":"c"}\n' + "{\n" * 40) * (size // 110)
    ),
    "pieces": lambda size: ('{"delta":"a"}\n') * (size // 14),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_made_to_be_looked_at_again_and_again_does_not_hang(kind: str) -> None:
    data = HOSTILE[kind](2_000_000).encode()
    with hanging(seconds=10):
        LOOKER.look(data)
