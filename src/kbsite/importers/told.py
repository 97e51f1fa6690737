"""What a transcript itself tells of its run, and which count of it that is."""

from __future__ import annotations

from kbsite.model.finding import one_line
from kbsite.model.status import EndReason
from kbsite.model.transcript import Transcript
from kbsite.model.usage import BY_MESSAGE, OWN_TOTAL

UNKNOWN_MODEL = "unknown"


def told_model(shown: Transcript) -> str:
    """The model that a transcript names, else "unknown"."""
    named = [shown.session.model if shown.session else "", *shown.models]
    return next(filter(None, named), UNKNOWN_MODEL)


def told_version(shown: Transcript) -> str | None:
    """The CLI's version, as the CLI tells it."""
    return (shown.session.harness_version if shown.session else "") or None


def usage_source(shown: Transcript) -> str | None:
    """Which count of which files the usage is; None if there is none."""
    if not shown.usage.known:
        return None
    how = OWN_TOTAL if shown.usage_told else BY_MESSAGE
    least = ", a lower bound" if shown.lower_bound else ""
    return f"{_files(shown)}: {how}{least}"


def cost_source(shown: Transcript) -> str | None:
    """Who says what it cost; None if nobody does."""
    return None if shown.cost_usd is None else f"{_files(shown)}: what the CLI says"


def _files(shown: Transcript) -> str:
    more = f" and {len(shown.files) - 1} more" if len(shown.files) > 1 else ""
    return f"{shown.title} ({one_line(shown.files[0])}{more})"


def told_seconds(shown: Transcript) -> float | None:
    """How long the session took, as the CLI tells it."""
    if shown.finish is None or shown.ends > 1:
        return None  # each of several ends tells of its own turn only
    return shown.finish.seconds


def told_end(shown: Transcript) -> EndReason:
    """Why the session ended, as the CLI tells it."""
    finish = shown.finish
    if finish is None or finish.ok is None:
        return EndReason.UNKNOWN
    if finish.ok:
        return EndReason.FINISHED
    return EndReason.SIGNAL if finish.stopped else EndReason.ERROR
