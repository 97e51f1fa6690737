"""What both of kimi-cli's formats tell in words: retries, notifications, side questions."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.harnesses.lines import text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Notice, Topic


def retried(row: Row, error: str, attempts: tuple[object, object], wait: float | None) -> Notice:
    """One line on a model request that is tried again, in so many seconds."""
    attempt, most = map(text, attempts)
    return row.notice(Topic.RETRY, f"Attempt {attempt} of {most} after: {error}", wait=wait)


def notification(row: Row, held: Mapping[str, object]) -> Notice:
    """A notification of the CLI: title and body."""
    topic = Topic.ERROR if held.get("severity") == "error" else Topic.NOTE
    told = [text(held.get(key)) for key in ("title", "body")]
    return row.notice(topic, "\n".join(filter(None, told)))


def btw(row: Row, held: Mapping[str, object]) -> Notice:
    """A side question, or the answer to one."""
    topic = Topic.ERROR if held.get("error") else Topic.NOTE
    told = [text(held.get(key)) for key in ("question", "response", "error")]
    return row.notice(topic, "\n".join(filter(None, told)))
