"""Content blocks of messages and tool outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.pictures import picture_at
from kbsite.model.event import Image

_TEXTS = {
    "input_text": "text", "output_text": "text", "text": "text", "Text": "text",
    "summary_text": "text", "reasoning_text": "text", "refusal": "refusal",
}  # fmt: skip
_IMAGES = {
    "input_image": "image_url", "output_image": "image_url", "image": "image_url",
    "image_url": "image_url", "local_image": "path",
}  # fmt: skip
_INJECTED = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>",
    "<turn_aborted>", "<subagent_notification>", "<skill>", "<user_action>",
    "<user_shell_command>", "<hook_prompt",
    "<permissions instructions>", "<skills_instructions>", "<apps_instructions>",
    "<plugins_instructions>", "<collaboration_mode>", "<multi_agent_mode>", "<model_switch>",
)  # fmt: skip
_PROVENANCE = {"harness": True, "tool": True, "user": False}


class Block(Struct, frozen=True):
    """A piece of content: text, a picture, or neither where its type is not known."""

    type: str
    text: str = ""
    image: Image | None = None
    known: bool = True
    injected: bool = False


def blocks(content: object, row: Mapping[str, object] | None = None) -> list[Block]:
    """The blocks of some content; `row`, a message, may tell where each one comes from."""
    if isinstance(content, str):
        return [Block("text", content, injected=_is_injected(content, None))]
    if content is not None and not isinstance(content, list):
        return [Block(f"content of type {type(content).__name__}", text(content), known=False)]
    passed = mapping((row or {}).get("internal_chat_message_metadata_passthrough"))
    told = sequence(passed.get("content_item_metadata"))
    return [
        _block(item, mapping(mapping(told[index]).get("provenance")) if index < len(told) else {})
        for index, item in enumerate(sequence(content))
    ]


def _block(item: object, provenance: Mapping[str, object]) -> Block:
    if isinstance(item, str):
        return Block("text", item, injected=_is_injected(item, provenance))
    held = mapping(item)
    kind = text(held.get("type"))
    if kind in _TEXTS:
        body = text(held.get(_TEXTS[kind]))
        return Block(kind, body, injected=_is_injected(body, provenance))
    if kind == "image" and isinstance(held.get("data"), str):
        return Block(kind, image=Image(text(held.get("mimeType")), text(held["data"])))
    if kind in _IMAGES:
        return Block(kind, image=image(held.get(_IMAGES[kind])))
    return Block(kind, text(item), known=False)


def _is_injected(body: str, provenance: Mapping[str, object] | None) -> bool:
    told = _PROVENANCE.get(text((provenance or {}).get("type")))
    return body.lstrip().startswith(_INJECTED) if told is None else told


def image(address: object) -> Image:
    """The picture of a data URL, or the one that an address or a path names."""
    url = text(mapping(address).get("url")) if isinstance(address, dict) else text(address)
    return picture_at(url)


def joined(texts: Iterable[str]) -> str:
    """Texts one after the other, each on a line of its own."""
    body = ""
    for piece in texts:
        body += "\n" + piece if body and not body.endswith("\n") else piece
    return body


def images(held: Iterable[Block]) -> tuple[Image, ...]:
    """The pictures among some blocks."""
    return tuple(block.image for block in held if block.image)


def texts(held: object) -> list[str]:
    """The texts of blocks, or of a list of plain texts."""
    return [block.text for block in blocks(held) if block.text]
