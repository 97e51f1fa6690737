"""Token counts of Claude Code in the site's terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from kbsite.harnesses.claude.vocabulary import SYNTHETIC
from kbsite.harnesses.lines import count, mapping, number, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Scope, TokenUse
from kbsite.model.usage import Usage, total

Figures = Mapping[tuple[str, str], int]
"""Counts by model and by kind of token."""

_SINCE = "model_usage_since_last_result"

_KINDS = {
    "inputTokens": "input",
    "input_tokens": "input",
    "cacheReadInputTokens": "cache_read",
    "cache_read_input_tokens": "cache_read",
    "cacheCreationInputTokens": "cache_write",
    "cache_creation_input_tokens": "cache_write",
    "cacheCreationEphemeral1hInputTokens": "cache_write_1h",
    "ephemeral_1h_input_tokens": "cache_write_1h",
    "outputTokens": "output",
    "output_tokens": "output",
    "thinkingTokens": "reasoning",
    "thinking_tokens": "reasoning",
}


def usage(value: object) -> Usage:
    """The counts of one usage object, of a message, a model or a result; input excludes cache."""
    held = mapping(value)
    details, kept = mapping(held.get("output_tokens_details")), mapping(held.get("cache_creation"))
    told = {**details, **kept, **held} if details or kept else held
    found: dict[str, int] = {}
    for key, kind in _KINDS.items():
        if key in told and (counted := count(told[key])) is not None:
            found.setdefault(kind, counted)
    return Usage(**found)


def of_message(row: Row) -> Iterator[TokenUse]:
    """What a row of the model says of its message's tokens, if it is one and says anything.

    Rows that are written while a message still comes in have no stop reason, and count only what
    was known at its start. Nothing but zeros is what providers send that do not count.
    """
    message = mapping(row.value.get("message"))
    told = mapping(message.get("usage"))
    if not told or message.get("model") == SYNTHETIC:
        return
    counted = usage(told)
    silent = not counted.sent and not counted.output
    yield row.event(
        TokenUse,
        usage=Usage() if silent else counted,
        scope=Scope.MESSAGE,
        message_id=text(message.get("id")),
        model=text(message.get("model")),
        lower_bound=silent or message.get("stop_reason") is None,
    )


class Totals(Struct):
    """The CLI's own totals, told apart by run of a session.

    A CLI that goes on with a session repeats its earlier figures in the later ones; one that
    starts counting anew under the same session id does not, and then both count.
    """

    last: dict[str, Figures] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)

    def of_row(self, row: Row, session: str, *, short: bool = False) -> Iterator[TokenUse]:
        """The total that a final row states: by model, sub-agents included, else in one sum.

        It is `short` of a request that was never answered.
        """
        models = mapping(row.value.get("modelUsage"))
        counted = total(usage(each) for each in models.values())
        if not counted.known:
            counted = usage(row.value.get("usage"))
        if not counted.known and row.value.get("modelUsage") == {}:
            counted = Usage(input=0, cache_read=0, cache_write=0, output=0)
        if not counted.known:
            return
        yield row.event(
            TokenUse,
            usage=counted,
            scope=Scope.RUN,
            message_id=self._run(session, row.value),
            model=next(iter(models)) if len(models) == 1 else "",
            cost_usd=_cost(row.value, models),
            lower_bound=short,
        )

    def _run(self, session: str, value: Mapping[str, object]) -> str:
        now, before = _figures(value, "modelUsage"), self.last.get(session)
        if before is not None and not _continues(before, now, value):
            self.runs[session] = self.runs.get(session, 1) + 1
        self.last[session] = now
        nth = self.runs.get(session, 1)
        return session if nth == 1 else f"{session}#{nth}"


def less(value: Mapping[str, object], base: Mapping[str, object]) -> Mapping[str, object]:
    """A total without an earlier one that it includes; itself where it was counted anew."""
    if not _continues(_figures(base, "modelUsage"), _figures(value, "modelUsage"), value):
        return value
    before = mapping(base.get("modelUsage"))
    models = {
        model: _without(mapping(held), mapping(before.get(model)))
        for model, held in mapping(value.get("modelUsage")).items()
    }
    return {**_without(value, {"totalCostUSD": base.get("totalCostUSD")}), "modelUsage": models}


def _without(value: Mapping[str, object], base: Mapping[str, object]) -> dict[str, object]:
    """Numbers less those of another object, as exact as prices are."""
    left = dict(value)
    for key, told in base.items():
        now, before = number(value.get(key)), number(told)
        if now is not None and before is not None:
            rest = round(now - before, 9)
            left[key] = int(rest) if count(value[key]) is not None else rest
    return left


def _figures(value: Mapping[str, object], key: str) -> Figures:
    models = mapping(value.get(key)) or {"": value.get("usage")}
    return {
        (model, kind): n
        for model, held in models.items()
        for kind, told in mapping(held).items()
        if (n := count(told)) is not None
    }


def _continues(before: Figures, now: Figures, value: Mapping[str, object]) -> bool:
    anew = mapping(value.get(_SINCE)) and _figures(value, _SINCE) == now
    return not anew and all(now.get(key, 0) >= n for key, n in before.items())


def _cost(value: Mapping[str, object], models: Mapping[str, object]) -> float | None:
    guessed = any(mapping(held).get("costBasis") == "unknown" for held in models.values())
    if guessed or value.get("hasUnknownModelCost") is True:
        return None
    told = value.get("total_cost_usd", value.get("totalCostUSD"))
    return number(told)
