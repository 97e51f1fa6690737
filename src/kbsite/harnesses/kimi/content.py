"""What messages and tool results consist of: text, thinking, pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from kbsite.harnesses.lines import dump, mapping, number, sequence, text
from kbsite.harnesses.pictures import picture_at
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Image, Message, Role, Thought, Trace, Unknown

_MEDIA = {"audio_url", "video_url"}
_SAVED = re.compile(r"^output_path: (.+)$", re.MULTILINE)
_PREVIEW = "\n[preview"
_EXIT = re.compile(r"(?:\A|\n)Command failed with exit code: (-?\d{1,9})\.\Z")


class Gathered(Struct, frozen=True):
    """A list of content blocks, put together."""

    text: str
    images: tuple[Image, ...]
    others: tuple[Mapping[str, object], ...]
    """Blocks that are neither text nor pictures."""


def gathered(content: object) -> Gathered:
    """The text and the pictures of content, whether it is text or a list of blocks."""
    if not isinstance(content, list):
        return Gathered(text(content), (), ())
    texts, images, others = [], [], []
    for item in content:
        block = item if isinstance(item, dict) else {"type": "text", "text": text(item)}
        match block.get("type"):
            case "text":
                texts.append(text(block.get("text")))
            case "image_url":
                images.append(image(block))
            case _:
                others.append(block)
    return Gathered("\n".join(texts), tuple(images), tuple(others))


def image(block: Mapping[str, object]) -> Image:
    """The picture of an `image_url` block, inline or by its address."""
    held = block.get("image_url", block.get("imageUrl"))
    return picture_at(text(mapping(held).get("url")) if isinstance(held, dict) else text(held))


def asked(
    row: Row, content: object, role: Role = Role.USER, *, injected: bool = False
) -> Iterator[Event]:
    """A message to the model: one for all its text and pictures."""
    held = gathered(content)
    if held.text.strip() or held.images:
        yield Message(
            role=role, text=held.text, images=held.images, injected=injected, **row.where()
        )
    for block in held.others:
        yield from answered(row, block)


def answer(row: Row, content: object) -> Iterator[Event]:
    """A message of the model: an event for each block."""
    if not isinstance(content, list):
        if text(content).strip():
            yield Message(role=Role.ASSISTANT, text=text(content), **row.where())
        return
    for item in content:
        block = item if isinstance(item, dict) else {"type": "text", "text": text(item)}
        yield from answered(row, block)


def answered(row: Row, block: Mapping[str, object]) -> Iterator[Event]:
    """One block of a message of the model."""
    kind = text(block.get("type"))
    match kind:
        case "text":
            yield Message(role=Role.ASSISTANT, text=text(block.get("text")), **row.where())
        case "think":
            thought = text(block.get("think"))
            sealed = bool(block.get("encrypted")) and not thought
            yield Thought(text=thought, encrypted=sealed, **row.where())
        case "image_url":
            yield Message(role=Role.ASSISTANT, text="", images=(image(block),), **row.where())
        case _:
            yield leftover(row, block)


def leftover(row: Row, block: Mapping[str, object]) -> Event:
    """A block that no other event can hold, as its own JSON."""
    kind = text(block.get("type"))
    if kind in _MEDIA:
        return Trace(type=kind, raw=dump(block), **row.where())
    return Unknown(type=f"content {kind}", raw=dump(block), **row.where())


def exit_code(output: str) -> int | None:
    """The exit code that ends the output of a failed command; None where it tells none."""
    told = _EXIT.search(output)
    return int(told[1]) if told else None


def side_files(output: str) -> tuple[str, ...]:
    """The file that a cut output says it was saved to."""
    if not output.startswith("Tool output exceeded"):
        return ()
    return tuple(_SAVED.findall(output.split(_PREVIEW, 1)[0]))


def seconds(milliseconds: object) -> float | None:
    """A duration in seconds; None where there is none."""
    value = number(milliseconds)
    return value / 1000 if value is not None and 0 <= value < 1e15 else None


def words(items: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(item for item in sequence(items) if isinstance(item, str))
