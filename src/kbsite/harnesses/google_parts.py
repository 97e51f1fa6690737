"""Content as Google's Gemini API has it: a list of parts. The CLIs made for it keep that form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field

from kbsite.harnesses.lines import count, dump, integer, mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Image, Message, Notice, Role, Thought, ToolKind, Topic
from kbsite.model.usage import Usage

_FILES = ("inlineData", "fileData")
_BESIDE = frozenset({"text", "thought", "thoughtSignature"})
ENDED = {"success": False, "error": True, "cancelled": True}
"""How a call may end, and whether that is an error."""
TRAILER = 400
"""Signs at the end of a command's output within which a CLI writes how it ended."""
_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
_LIMIT = 1_000_000_000
"""An exit code beyond it is none."""


class Speech(Struct, frozen=True):
    """Whose words the parts are, and how they are read."""

    role: Role
    kinds: Mapping[str, ToolKind] = field(default_factory=dict)
    model: str = ""
    injected: bool = False


class Answer(Struct, frozen=True):
    """What a functionResponse part says."""

    call_id: str
    tool: str
    output: str
    failed: bool
    images: tuple[Image, ...]


Answered = Callable[[Answer], Iterator[Event]]


def part_events(row: Row, content: object, speech: Speech, answered: Answered) -> Iterator[Event]:
    """The events of content, in its order; neighbouring texts and pictures are one message."""
    words, images = list[str](), list[Image]()
    for part in parts(content):
        match plain(part):
            case str() as said:
                words.append(said)
            case Image() as picture:
                images.append(picture)
            case None:
                yield from _message(row, speech, words, images)
                words, images = [], []
                yield from _part(row, mapping(part), speech, answered)
    yield from _message(row, speech, words, images)


def parts(content: object) -> list[object]:
    """The parts of content, which may be a list of them, one alone, or mere text."""
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def plain(part: object) -> str | Image | None:
    """The text or the picture that a part is; None if it is anything else."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    if isinstance(part.get("text"), str) and set(part) <= _BESIDE and not part.get("thought"):
        return str(part["text"])
    return picture(part)


def picture(part: Mapping[str, object]) -> Image | None:
    """The picture that a part holds or points to."""
    for key in _FILES:
        held = mapping(part.get(key))
        media_type = text(held.get("mimeType"))
        if media_type.startswith("image/"):
            return Image(media_type, text(held.get("data")), text(held.get("fileUri")))
    return None


def answer(part: Mapping[str, object]) -> Answer:
    """What a functionResponse part says."""
    told = mapping(part.get("functionResponse"))
    response = told.get("response")
    held = mapping(response)
    key = next((key for key in ("output", "error") if set(held) == {key}), "")
    pictures = (picture(mapping(inner)) for inner in sequence(told.get("parts")))
    return Answer(
        call_id=text(told.get("id")),
        tool=text(told.get("name")),
        output=text(held[key] if key else response),
        failed="error" in held and "output" not in held,
        images=tuple(filter(None, pictures)),
    )


def told_exit_code(trailer: str) -> int | None:
    """The exit code that a CLI wrote below a command's own output, which may say the same."""
    codes = _EXIT.findall(trailer)
    return int(codes[-1]) if codes else None


def exit_code(value: object) -> int | None:
    """A number that a process ended with; None if it is none."""
    code = integer(value)
    return code if code is not None and abs(code) < _LIMIT else None


def tokens(told: Mapping[str, object], keys: tuple[str, str, str, str, str]) -> Usage:
    """Tokens as counted by these keys: all input, cached input, output, thoughts, and the total.

    Google's API counts thoughts beside the output, an adapter to another API within it: the total
    tells which.
    """
    sent, cached, output, thoughts, whole = (count(told.get(key)) for key in keys)
    beside = whole is None or (sent or 0) + (output or 0) < whole
    if output is not None and beside:
        output += thoughts or 0
    return Usage(
        input=None if sent is None else max(sent - (cached or 0), 0),
        cache_read=cached,
        output=output,
        reasoning=thoughts,
    )


def _message(
    row: Row, speech: Speech, words: Iterable[str], images: Iterable[Image]
) -> Iterator[Event]:
    said, pictures = "".join(words), tuple(images)
    if said or pictures:
        yield row.event(
            Message,
            role=speech.role,
            text=said,
            images=pictures,
            injected=speech.injected,
            model=speech.model,
        )


def _part(
    row: Row, part: Mapping[str, object], speech: Speech, answered: Answered
) -> Iterator[Event]:
    asked = part.get("functionCall")
    if isinstance(asked, dict):
        name, call_id = text(asked.get("name")), text(asked.get("id"))
        yield row.call(speech.kinds, name, asked.get("args"), call_id)
    elif isinstance(part.get("functionResponse"), dict):
        yield from answered(answer(part))
    elif part and set(part) <= _BESIDE:
        said = text(part.get("text"))
        yield row.event(Thought, text=said, encrypted=not said)
    elif held := next((mapping(part.get(key)) for key in _FILES if mapping(part.get(key))), None):
        told = f"File attached: {text(held.get('fileUri'))} ({text(held.get('mimeType'))})"
        yield row.event(Notice, topic=Topic.NOTE, text=told, raw=dump(part))
    else:
        yield row.unknown("part:" + ",".join(part), part)
