"""What the metering proxy tells: an exchange with the provider, and the account of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Protocol

from bench.providers import Dialect
from kbsite.model.usage import Usage

PORT = 8000
"""Where a CLI finds the proxy, on 127.0.0.1 of its own network namespace."""

CLOCK_PATH = "/kb-time"
"""A GET is answered with JSON: budget_seconds, elapsed_seconds, left_seconds, deadline (ISO)."""


class Outcome(Enum):
    """How an exchange ended, as seen between both sides."""

    COMPLETE = "complete"
    """The answer came whole, with a reason why the model stopped."""
    CUT = "cut"
    """The answer came whole and says that a limit of tokens ended it."""
    BROKEN = "broken"
    """The stream broke off, or ended without saying why the model stopped."""
    ERROR = "error"
    """A status of 400 or more, or an error event within the stream."""
    UNREACHABLE = "unreachable"
    """No answer: refused, reset before the headers, no such host, out of time."""
    ABANDONED = "abandoned"
    """The CLI hung up before the answer was whole."""
    REFUSED = "refused"
    """Not sent on: another host, another path, after the deadline, over a limit."""

    @property
    def answered(self) -> bool:
        """Whether a whole answer came."""
        return self in (Outcome.COMPLETE, Outcome.CUT)

    @property
    def failed(self) -> bool:
        """Whether the provider gave none that is whole, though it was waited for."""
        return self in (Outcome.BROKEN, Outcome.ERROR, Outcome.UNREACHABLE)

    @property
    def of_provider(self) -> bool:
        """Whether it says something of the provider: neither CLI nor proxy ended it."""
        return self.answered or self.failed


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request of a CLI and what became of it: a line of proxy.jsonl."""

    number: int
    started: datetime
    seconds: float
    first_byte_seconds: float | None
    method: str
    path: str
    dialect: Dialect | None
    model: str | None
    """As the request names it."""
    answered_by: str | None
    """The model that the answer names."""
    status: int | None
    outcome: Outcome
    stop: str | None
    """Why the model stopped, in the provider's words."""
    request_id: str | None
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    """What the provider, or the proxy where it refused, said; shortened, keys removed."""
    sent_bytes: int = 0
    received_bytes: int = 0
    server_tools: tuple[str, ...] = ()
    """Tools that the request lets the provider itself use: a web search, for example."""
    retry_after_seconds: float | None = None
    """How long the provider asked to wait before the next try."""
    model_request: bool = True
    """Whether a model was asked; False for counts of tokens, lists of models and what else came."""
    silent_seconds: float | None = None
    """How long nothing of the answer had come at its end, keep-alives aside; null where it came
    whole, or was refused."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """What was used in all, as far as answers told it."""

    exchanges: int
    usage: Usage
    outcomes: Mapping[Outcome, int] = field(default_factory=lambda: MappingProxyType({}))
    models: tuple[str, ...] = ()
    """The models that answers named."""
    answers: int = 0
    """Whole answers of models, whether they told their usage or not."""


class Meter(Protocol):
    """What a running proxy can be asked, from any thread."""

    @property
    def first_request(self) -> datetime | None:
        """When the first request for a model came; None before. The budget begins there."""
        ...

    @property
    def quiet_seconds(self) -> float:
        """How long no byte went through, either way; from its start where none ever did."""
        ...

    @property
    def open_exchanges(self) -> int:
        """How many requests wait for an answer or its end."""
        ...

    @property
    def failures_in_a_row(self) -> int:
        """Exchanges since the last COMPLETE or CUT one that were ERROR, BROKEN or UNREACHABLE."""
        ...

    @property
    def last(self) -> Exchange | None:
        """The model exchange that ended last."""
        ...

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """The last exchanges, in the order in which they ended.

        At most 1,000 that were sent on to a model, and as many of other paths and of refused ones.
        """
        ...

    @property
    def account(self) -> Account:
        """The sum of all so far."""
        ...

    def close_door(self, why: str) -> None:
        """Refuse each further request with this sentence; those under way go on."""
        ...
