"""What a failed exchange says of its provider: whose fault it is, and whether waiting helps."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from bench.proxy.form import Exchange, Outcome


class Trouble(Enum):
    """Why a provider did not answer as it should; the value is a phrase for a sentence."""

    AUTH = "the key was refused"
    CREDIT = "the account has no credit left"
    ACCESS = "access was refused to this key, or to this model"
    MODEL = "it has no such model for this key, or nothing at this address"
    RATE = "too many requests for this account"
    OVERLOAD = "the provider is overloaded"
    SERVER = "the provider failed"
    UNREACHABLE = "the provider cannot be reached"
    BROKEN = "the answer broke off"
    REQUEST = "the provider refused the request itself"

    @property
    def waiting_helps(self) -> bool:
        """Whether the same request may succeed later, with nothing changed."""
        return not self.to_mend and self is not Trouble.REQUEST

    @property
    def to_mend(self) -> bool:
        """Whether other sessions meet the same, until a person mends something."""
        return self.of_account or self in (Trouble.ACCESS, Trouble.MODEL)

    @property
    def of_account(self) -> bool:
        """Whether a single answer shows that: neither request nor model has to do with it."""
        return self in (Trouble.AUTH, Trouble.CREDIT)

    @property
    def crowded(self) -> bool:
        """Whether fewer sessions at once would help."""
        return self in (Trouble.RATE, Trouble.OVERLOAD)


_BY_STATUS = {
    401: Trouble.AUTH, 402: Trouble.CREDIT, 403: Trouble.ACCESS, 404: Trouble.MODEL,
    408: Trouble.SERVER, 429: Trouble.RATE, 503: Trouble.OVERLOAD, 529: Trouble.OVERLOAD,
}  # fmt: skip

_BY_WORD = (
    (Trouble.CREDIT, ("insufficient_quota", "insufficient balance", "exceeded_current_quota",
                      "billing_error", "your credit balance", "credit balance", "payment required",
                      "billing hard limit", "billing_hard_limit", "billing_not_active",
                      "you have reached your specified api usage limits",
                      "specified api usage limits", "used all available credits",
                      "run out of credits", "arrearage", "overdue account", "key limit exceeded")),
    (Trouble.AUTH, ("authentication_error", "invalid_api_key", "api_key_invalid",
                    "incorrect api key", "api key not valid", "unauthenticated")),
    (Trouble.ACCESS, ("permission_error", "permission_denied")),
    (Trouble.MODEL, ("model_not_found", "model not found", "model not exist", "invalid_model",
                     "invalid model", "is not a valid model", "not a valid model",
                     "unknown model")),
    (Trouble.RATE, ("rate_limit", "resource_exhausted", "too_many_requests")),
    (Trouble.OVERLOAD, ("overloaded", "unavailable", "slow_down", "capacity")),
    (Trouble.REQUEST, ("invalid_request", "invalid_prompt", "invalid_argument", "not_found",
                       "context_length")),
)  # fmt: skip

_OF_ACCOUNT = (401, 402, 403, 429)
"""Statuses of answers that do not judge what a request asks for, so that they repeat nothing of
it but the model's name."""

_PASSED_ON = "provider returned error: "
"""What stands before an answer of another provider, as OpenRouter says."""

_OF_KEYS = ": extra inputs"
"""How Anthropic goes on after it has repeated a key that it does not know."""

_WORDS_COUNT = {
    (400, Trouble.AUTH), (403, Trouble.AUTH),  # as Google says that a key is wrong
    (400, Trouble.MODEL),  # as OpenRouter says
}  # fmt: skip
"""Where what an answer says tells more than its status."""


_OF_MODELS: Final = re.compile(
    r"(?:(?:a|access|api|any|do|does|found|have|invalid|no|not|of|permission|publisher|requested"
    r"|specified|such|the|this|to|unable|unknown|unsupported|use|you|your) )*"
    r"(?:models?|deployments?|endpoints?)\b"
)
"""How providers begin to say that there is no such model: with none of what a request names."""

_OF_ADDRESS: Final = re.compile(
    r"(?:404:? )?(?:page )?not found\.?|<.*|no explanation .*|", re.DOTALL
)
"""What servers say that know nothing of models."""

_OF_CONTENT: Final = re.compile(
    r"you do not have permission to access the file|cached ?content|your chosen model requires mod"
)
"""How providers begin to refuse access to what a request names: Google's, and OpenRouter's."""


def trouble(exchange: Exchange) -> Trouble | None:
    """What an exchange says is wrong with its provider; None where nothing is, as far as it goes.

    What a CLI gave up, and what the proxy refused, say nothing of a provider.
    """
    match exchange.outcome:
        case Outcome.UNREACHABLE:
            return Trouble.UNREACHABLE
        case Outcome.BROKEN:
            return Trouble.BROKEN
        case Outcome.ERROR:
            return _named(exchange)
        case Outcome.COMPLETE | Outcome.CUT | Outcome.ABANDONED | Outcome.REFUSED:
            return None


def _named(exchange: Exchange) -> Trouble:
    status = exchange.status or 0
    said, asked = (exchange.error or "").lower(), (exchange.model or "").lower()
    if _worded(asked):
        # The model that a request names is often repeated, and it may name what it likes.
        said = said.replace(asked, "")
    worded = _worded(said, anywhere=status in _OF_ACCOUNT)
    if worded is Trouble.CREDIT or status < 400:
        return worded or Trouble.SERVER
    if worded and (status, worded) in _WORDS_COUNT:
        return worded
    return _BY_STATUS.get(status) or (Trouble.SERVER if status >= 500 else Trouble.REQUEST)


def _worded(error: str, *, anywhere: bool = True) -> Trouble | None:
    """What words of an error say.

    Where an answer may repeat what the request holds, an agent's own words, those that somebody
    would have to mend something for count only where the provider itself begins to speak.
    """
    for kind, words in _BY_WORD:
        within = _begins if kind.to_mend and not anywhere else str.__contains__
        if any(within(error, word) for word in words):
            return kind
    return None


def _begins(error: str, word: str) -> bool:
    """Whether a word is the kind of an error, or several begin what is said of it."""
    kind, said = _parted(error)
    kind = kind or error
    if said.startswith(_PASSED_ON):
        return _begins(said.removeprefix(_PASSED_ON), word)
    if " " not in word:
        return kind.startswith(word)
    # The name of a model may stand before it.
    return _OF_KEYS not in said and said.startswith((word, f"{said.partition(' ')[0]} {word}"))


def is_of_content(exchange: Exchange) -> bool:
    """Whether what is said to be missing, or not allowed, is no model but what a request holds.

    A request can name other things too, as a file of the provider's. An agent that does so from a
    shell chooses their names, so that only how the provider begins to speak tells which it was.
    """
    kind, message = _parted((exchange.error or "").lower())
    if message.startswith(_PASSED_ON):
        kind, message = _parted(message.removeprefix(_PASSED_ON))
    if exchange.status == 404:  # else it was said in words
        of_model = kind.startswith("model") or _OF_MODELS.match(message)
        return not of_model and not _OF_ADDRESS.fullmatch(message)
    return _OF_CONTENT.match(message) is not None


def _parted(error: str) -> tuple[str, str]:
    """The kind of an error, if it tells one, and what is said of it."""
    kind, colon, said = error.partition(": ")
    return (kind, said) if colon and " " not in kind else ("", error)


def sentence(exchange: Exchange, provider: str) -> str:
    """What went wrong, for a person; empty where nothing did."""
    found = trouble(exchange)
    if found is None:
        return ""
    status = "" if exchange.status is None else f" with status {exchange.status}"
    wait = exchange.retry_after_seconds
    waiting = "" if wait is None else f"; it asked to wait {wait:g} seconds"
    said = f": {exchange.error}" if exchange.error else ""
    return (
        f"{provider} answered{status}, {found.value}{waiting}{said}"
        if status
        else (f"{provider}: {found.value}{waiting}{said}")
    )
