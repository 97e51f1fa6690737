"""Why a session ended: decided from events, in a fixed order; an exit code proves nothing."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property

from bench.harnesses.form import Completion, Said
from bench.proxy.form import Exchange, Outcome
from bench.proxy.troubles import Trouble, is_of_content, trouble
from bench.sandbox.box import Ending
from kbsite.model.status import EndReason


class Stop(Enum):
    """Why the runner itself ended a session."""

    DEADLINE = "deadline"
    OPERATOR = "operator"
    NO_REQUEST = "no request"
    FAILURES = "failures"
    STALL = "stall"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a session that is over."""

    stop: Stop | None
    """None where it ended by itself."""
    why: str
    """The sentence that the runner ended it with; empty where it did not."""
    exchanges: Sequence[Exchange]
    """Those with models, in the order in which they ended."""
    completion: Completion
    ending: Ending
    ended: datetime
    """When it ended, or when the runner began to end it."""
    budget_seconds: float
    late: bool = False
    """Whether the deadline had passed."""
    solution: bool = False
    """Whether there is a solution.py, or was one."""
    last_words: str = ""
    """What the CLI wrote on stderr last, if anything, on one line."""
    model: str = ""
    """The one that was ordered."""
    answers: int = 0
    """Whole answers of models, those too that are not among the exchanges any more."""

    @property
    def last(self) -> Exchange | None:
        """The exchange that ended last."""
        return self.exchanges[-1] if self.exchanges else None

    @property
    def answer(self) -> Exchange | None:
        """The last exchange that the CLI waited for to its end, and that was sent on."""
        waited = (one for one in reversed(self.exchanges) if one.outcome.of_provider)
        if self.completion.said is Said.COMPLETED:
            # What it did not send itself, it did not wait for.
            waited = (one for one in waited if not self.is_bad(one))
        return next(waited, None)

    def is_bad(self, one: Exchange) -> bool:
        """Whether a request failed because of what it asks for: whoever sent it is to blame.

        An agent can send such requests from a shell, which would be worth another session to it.
        Before a model has answered, the CLI alone asks, and with what it was started with.
        """
        if not self.worked:
            return False
        match trouble(one):
            case Trouble.REQUEST:
                return True
            case Trouble.MODEL | Trouble.ACCESS:
                return one.model not in self._models or is_of_content(one)
            case _:
                return False

    @cached_property
    def _models(self) -> frozenset[str | None]:
        """The model that was ordered, and those that answered."""
        return frozenset({self.model, *(o.model for o in self.exchanges if o.outcome.answered)})

    @property
    def blocked_seconds(self) -> float:
        """How long before its end the provider had begun to fail at each request; 0 if it did not.

        What nobody waited for counts neither way.
        """
        since = None
        for one in reversed(self.exchanges):
            if self.is_bad(one):
                continue
            if one.outcome.failed:
                since = one.started
            elif one.outcome.answered:
                break
        return 0.0 if since is None else (self.ended - since).total_seconds()

    @property
    def silence(self) -> tuple[float, bool] | None:
        """How long nothing of an answer had come at its end, and whether keep-alives had.

        None where no answer was under way then: a CLI may work for long without asking.
        """
        said = [(one, one.started + timedelta(seconds=one.seconds)) for one in self.exchanges]
        open_then = [
            one for one, end in said if one.silent_seconds is not None and end >= self.ended
        ]
        if not open_then:
            return None
        heard = max(end - timedelta(seconds=one.silent_seconds or 0.0) for one, end in said)
        alive = any(one.first_byte_seconds is not None for one in open_then)
        return max(0.0, (self.ended - heard).total_seconds()), alive

    @property
    def crowd(self) -> int:
        """How often models were asked in the minute before the last answer that failed so.

        0 where it does not say that there were too many requests.
        """
        answer = self.answer
        found = None if answer is None else trouble(answer)
        if answer is None or found is None or not found.crowded:
            return 0
        ages = ((answer.started - one.started).total_seconds() for one in self.exchanges)
        return sum(0 <= age < CROWD_SECONDS for age in ages)

    @property
    def told(self) -> str:
        """What the CLI's own events say of the end, as a sentence."""
        detail = self.completion.detail.strip()
        end = "" if detail.endswith((".", "!", "?")) else "."
        return f"By the CLI's own account, {detail}{end}"

    @cached_property
    def worked(self) -> bool:
        """Whether a model answered at all."""
        return self.answers > 0 or any(one.outcome.answered for one in self.exchanges)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Why a session ended, for a record and for who may order it again."""

    reason: EndReason
    detail: str
    """A sentence: by which event the reason was decided."""
    retryable: bool


BLOCKED_SHARE = 0.2
"""Share of the budget that a provider may fail for at the end, and it still was the budget that
ended the session: more than CLIs take to give up in most sessions, and less than a contender may be
blamed for. A provider that was silent for so long is told of."""

CROWD_SECONDS = 60.0
CROWD = 60
"""Requests in so long from which on it is told how many there were: few CLIs ask once a second,
with all of their sub-agents, but an agent that wants another session can, from a shell."""

PATIENCE_SECONDS = 30.0
"""No CLI gives a silent provider up sooner; one that ends before has died, or was killed by what it
runs, which is no provider's failure."""

_GOES_ON = ("tool_use", "tool_calls", "function_call", "pause_turn")
"""Words of providers for an answer after which a CLI has to ask again."""
_STOPPED = {
    Stop.DEADLINE: EndReason.BUDGET,
    Stop.OPERATOR: EndReason.SIGNAL,
    Stop.NO_REQUEST: EndReason.HARNESS,
    Stop.FAILURES: EndReason.PROVIDER,
    Stop.STALL: EndReason.STALLED,
}
_SAID = {
    Said.CUT: EndReason.TRUNCATED,
    Said.PROVIDER: EndReason.PROVIDER,
    Said.FAILED: EndReason.HARNESS,
}
_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGQUIT)


def decide(facts: Facts) -> Verdict:
    """Why a session ended.

    By the runner's own doing, else by what went through the proxy, else by the CLI's events, else
    by how its process ended.
    """
    reason, detail = (
        _by_runner(facts) or _by_exchanges(facts) or _by_completion(facts) or _by_process(facts)
    )
    return Verdict(reason=reason, detail=detail, retryable=_retryable(reason, facts))


def _retryable(reason: EndReason, facts: Facts) -> bool:
    match reason:
        case EndReason.PROVIDER:
            return True
        case EndReason.HARNESS:
            return not facts.worked
        case EndReason.STALLED:
            return not facts.solution
        case _:
            return False


_Decided = tuple[EndReason, str] | None


def _by_runner(facts: Facts) -> _Decided:
    blocked = facts.blocked_seconds
    if facts.stop is Stop.DEADLINE and blocked >= BLOCKED_SHARE * facts.budget_seconds:
        detail = f"{facts.why} Each request of the last {blocked:.0f} s of it had failed"
        return EndReason.PROVIDER, f"{detail}: {_told(facts.answer)}."
    if facts.stop is not None:
        answer = facts.answer
        bad = facts.stop is Stop.FAILURES and answer is not None and facts.is_bad(answer)
        reason = EndReason.HARNESS if bad else _STOPPED[facts.stop]
        return reason, f"{facts.why}{_more(facts)}"
    if facts.ending.over_memory:
        return EndReason.HARNESS, "The session needed more memory than it may use, and was ended."
    return None


def _more(facts: Facts) -> str:
    """What a person has to know besides why the runner ended a session; empty for nothing."""
    answer = facts.answer
    if facts.stop is Stop.FAILURES and answer is not None and answer.outcome.failed:
        return f" The last one: {_told(answer)}.{_crowd(facts)}"
    words = facts.last_words if facts.stop is Stop.NO_REQUEST else ""
    return _silent(facts) if facts.stop is Stop.DEADLINE else _said_last(words)


def _silent(facts: Facts) -> str:
    """That a budget was spent on waiting: who looks for a cell to repeat has to know."""
    if (silence := facts.silence) is None or silence[0] < BLOCKED_SHARE * facts.budget_seconds:
        return ""
    seconds, alive = silence
    what = "nothing but keep-alives" if alive else "nothing"
    return f" An answer was awaited then, of which {what} had come for {seconds:.0f} s."


def _crowd(facts: Facts) -> str:
    """That there were very many requests before there were too many; empty for a usual number."""
    count = facts.crowd
    return f" In the minute before, models were asked {count} times." if count >= CROWD else ""


def _said_last(words: str) -> str:
    return f" It wrote last: {words}" if words else ""


def _by_exchanges(facts: Facts) -> _Decided:
    """What the last exchanges say; None where the last answer came whole and ended naturally."""
    last, answer = facts.last, facts.answer
    if last is None:
        detail = f"The CLI ended without asking a model: {_ended(facts)}. {facts.told}"
        return EndReason.HARNESS, f"{detail}{_said_last(facts.last_words)}"
    if last.outcome is Outcome.REFUSED and facts.late:
        return EndReason.BUDGET, "The CLI ended when the proxy refused it after the deadline."
    if answer is None:
        return _unanswered(facts, last)
    if facts.is_bad(answer):
        said = "The last request could not be answered as it was"
        return EndReason.HARNESS, f"{said}: {_told(answer)}. {facts.told}"
    if answer.outcome.failed:
        said = f"The last answer of the provider failed: {_told(answer)}.{_crowd(facts)}"
        return EndReason.PROVIDER, said
    if answer.outcome is Outcome.CUT:
        return EndReason.TRUNCATED, "The last answer was cut by its limit of tokens."
    if answer is not last and facts.completion.said is not Said.COMPLETED:
        return _unanswered(facts, last)
    if answer.stop in _GOES_ON:
        detail = f"The model waited for what its tools say ({answer.stop}) when {_ended(facts)}"
        return EndReason.HARNESS, f"{detail}. {facts.told}"
    return None


def _unanswered(facts: Facts, last: Exchange) -> tuple[EndReason, str]:
    """What it means that the last request was refused, or given up by the CLI."""
    if last.outcome is Outcome.REFUSED:
        return EndReason.HARNESS, f"The proxy refused the CLI's last request: {_told(last)}."
    silent = last.first_byte_seconds is None
    if (silent and last.seconds >= PATIENCE_SECONDS) or facts.completion.said is Said.PROVIDER:
        said = "No byte of an answer had come." if silent else facts.told
        return EndReason.PROVIDER, f"The CLI gave up after {last.seconds:.0f} s. {said}"
    where = "while it waited for an answer" if silent else "in the middle of an answer"
    return EndReason.HARNESS, f"The CLI ended ({_ended(facts)}) {where}."


def _by_completion(facts: Facts) -> _Decided:
    said, detail = facts.completion.said, facts.told
    if said is Said.COMPLETED:
        return EndReason.FINISHED, f"The last answer ended naturally. {detail}"
    return (_SAID[said], detail) if said in _SAID else None


def _by_process(facts: Facts) -> tuple[EndReason, str]:
    detail = f"{facts.told} The CLI: {_ended(facts)}."
    by_signal = facts.ending.signal in _FROM_OUTSIDE
    return (EndReason.SIGNAL if by_signal else EndReason.HARNESS), detail


def _ended(facts: Facts) -> str:
    return facts.ending.sentence


def _told(exchange: Exchange | None) -> str:
    """What an exchange says of itself, shortened."""
    if exchange is None:
        return "nothing came back"
    status = f"status {exchange.status}" if exchange.status else exchange.outcome.value
    error = (exchange.error or exchange.outcome.value).strip().rstrip(".")
    return f"{status}, {error[:300]}"
