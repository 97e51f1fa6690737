"""What one session has used, and whether it came to an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kbsite.harnesses.lines import count, dump, mapping, number, text
from kbsite.harnesses.opencode.row import Row
from kbsite.model.event import Event, Finish, Scope, TokenUse, Trace
from kbsite.model.usage import Usage

GOES_ON = "tool-calls"
"""The reason of a step after which the model is asked again."""
_WELL = {"stop": True, "length": False, "content-filter": False, "error": False}


def usage(tokens: object) -> Usage:
    """Tokens as opencode counts them: input leaves out what was cached, output the reasoning."""
    told = mapping(tokens)
    cache = mapping(told.get("cache"))
    output, reasoning = count(told.get("output")), count(told.get("reasoning"))
    return Usage(
        input=count(told.get("input")),
        cache_read=count(cache.get("read")),
        cache_write=count(cache.get("write")),
        output=None if output is None else output + (reasoning or 0),
        reasoning=reasoning,
    )


def counted(told: Usage) -> bool:
    """Whether anything was used: opencode writes 0 for what it has not counted yet."""
    return any([told.sent, told.output])


def identity(value: object) -> str:
    """An id of opencode's own making; empty for one that was masked and may stand for several."""
    return told if (told := text(value)).startswith(("msg_", "prt_")) else ""


def cost(value: object) -> float | None:
    """US dollars; None for 0, which opencode writes wherever it has no price for the model."""
    return number(value) or None


class Progress(Struct):
    """The steps of one session, as they start and finish.

    What only the end of the file can tell (that a step never finished, or that no step came
    after this one) is held back until `close`.
    """

    model: str = ""
    open_step: TokenUse | None = None
    ending: Finish | None = None

    def step_started(self, part: Mapping[str, object], row: Row) -> Iterator[Event]:
        """A model request that now runs: what came before it was not the end."""
        yield Trace(
            source=row.source(), at=row.at, agent=row.agent, type="step-start", raw=dump(part)
        )
        self.goes_on()
        self.open_step = uncounted(row, identity(part.get("messageID")))

    def step_finished(self, part: Mapping[str, object], row: Row, *, ends: bool) -> Iterator[Event]:
        """The count of one model request; `ends`: whether it may have been the session's last."""
        message_id = identity(part.get("id"))
        told = usage(part.get("tokens"))
        if counted(told):
            yield message_use(told, part, row, message_id)
        else:
            yield uncounted(row, message_id)
        self.open_step = None
        if ends:
            self.ended(text(part.get("reason")), row, raw=dump(part))

    def goes_on(self) -> None:
        """Take note that the session is not at its end."""
        self.ending = None

    def ended(self, reason: str, row: Row, *, raw: str) -> None:
        """Take note of the word that the session would end with, if nothing came after it."""
        if reason == GOES_ON:
            return
        self.ending = Finish(
            source=row.source(),
            at=row.at,
            agent=row.agent,
            ok=_WELL.get(reason),
            reason=reason,
            raw=raw,
        )

    def failed(self, name: str, said: str, row: Row, *, raw: str) -> None:
        """Take note of an error that the session would end with, if nothing came after it."""
        self.ending = Finish(
            source=row.source(),
            at=row.at,
            agent=row.agent,
            ok=False,
            reason=name,
            text=said,
            raw=raw,
        )

    def close(self) -> Iterator[Event]:
        """What is known now that nothing follows."""
        if self.open_step:
            yield self.open_step
        if self.ending:
            yield self.ending


def message_use(told: Usage, counts: Mapping[str, object], row: Row, message_id: str) -> TokenUse:
    """The count of one model request, with what the same row says that it cost."""
    return TokenUse(
        source=row.source(),
        at=row.at,
        agent=row.agent,
        usage=told,
        scope=Scope.MESSAGE,
        message_id=message_id,
        model=row.model,
        cost_usd=cost(counts.get("cost")),
    )


def uncounted(row: Row, message_id: str) -> TokenUse:
    """A model request of which nobody wrote down what it used."""
    return TokenUse(
        source=row.source(),
        at=row.at,
        agent=row.agent,
        usage=Usage(),
        scope=Scope.MESSAGE,
        message_id=message_id,
        model=row.model,
        lower_bound=True,
    )
