"""What is answered to a request: which script, which turn, which calls, and what goes wrong."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.scripted.answer import Answer, Block, Ending, Text, Thinking, ToolCall, usage_of
from bench.scripted.conversation import Conversation, Kind
from bench.scripted.fitting import Invocation, fit
from bench.scripted.script import Call, Fault, Finish, Script, Shell, Stop, Turn

SIDE: Final = "side"
"""What requests play that belong to no script: titles, summaries, classifiers."""

_SIDE_TEXT = "Scripted side answer"
_SIDE_JSON = (
    '{"title": "Scripted side answer", "isNewTopic": true, "next_speaker": "user", '
    '"reasoning": "scripted"}'
)
_OVER = Turn(text="The script has no more turns.")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer and what becomes of it."""

    answer: Answer
    script: str
    turn: int
    attempt: int
    """How often this turn was asked for in this run, this time included."""
    wait_seconds: float = 0
    fault: Fault | None = None
    """What goes wrong this time."""


class Player:
    """Plays scripts for many sessions at once; all that it remembers is how often it was asked."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self._scripts: Mapping[str, Script] = {one.name: one for one in scripts}
        self._lock = threading.Lock()
        self._asked: Counter[tuple[str, str, int]] = Counter()

    def reply(self, conversation: Conversation, run: str, default: str | None) -> Reply:
        """What is answered; `default` names the script of sessions without a marker."""
        name = conversation.script(self._scripts) or default
        script = self._scripts.get(name) if name else None
        if script is None or not conversation.tools:
            return self._side(conversation, run)
        number, turn = _turn(script, conversation, conversation.turn(self._scripts))
        attempt = self._count(run, script.name, number)
        calls = _Calls(_word(script.name), number, attempt, conversation)
        blocks = calls.blocks(turn)
        answer = Answer(
            id=f"{_word(script.name)}_t{number}_{attempt}", model=conversation.model,
            blocks=blocks, ending=_ending(turn, blocks), usage=usage_of(script.name, number),
        )  # fmt: skip
        streams = conversation.streams
        struck = turn.fault is not None and turn.fault.strikes(attempt, streams=streams)
        return Reply(
            answer=answer, script=script.name, turn=number, attempt=attempt,
            wait_seconds=turn.wait_seconds, fault=turn.fault if struck else None,
        )  # fmt: skip

    def _side(self, conversation: Conversation, run: str) -> Reply:
        attempt = self._count(run, SIDE, 0)
        asked = conversation.system[-4000:].lower()
        text = _SIDE_JSON if "json" in asked else _SIDE_TEXT
        answer = Answer(
            id=f"{SIDE}_{attempt}", model=conversation.model, blocks=(Text(text),),
            ending=Ending.SAID, usage=usage_of(SIDE, 0),
        )  # fmt: skip
        return Reply(answer=answer, script=SIDE, turn=0, attempt=attempt)

    def _count(self, run: str, script: str, turn: int) -> int:
        with self._lock:
            self._asked[run, script, turn] += 1
            return self._asked[run, script, turn]


def _turn(script: Script, conversation: Conversation, number: int) -> tuple[int, Turn]:
    """The turn to play: one whose calls are all for other CLIs is passed over."""
    while number < len(script.turns):
        calls = script.turns[number].calls
        left_out = [one.may_be_left_out and not fit(one.intent, conversation) for one in calls]
        if not calls or not all(left_out):
            return number, script.turns[number]
        number += 1
    return number, _OVER


@dataclass(frozen=True)
class _Calls:
    """The blocks of a turn, with ids that are the call's own: of this script, turn and try."""

    script: str
    turn: int
    attempt: int
    conversation: Conversation

    def blocks(self, turn: Turn) -> tuple[Block, ...]:
        """What the turn says and calls, fitted to the tools that are offered."""
        blocks: list[Block] = [Thinking(turn.thinking)] if turn.thinking else []
        blocks += [Text(turn.text)] if turn.text else []
        for call in turn.calls:
            made = fit(call.intent, self.conversation)
            if made is not None:
                blocks.append(self._call(made, len(blocks)))
            elif isinstance(call.intent, Finish):
                blocks.append(Text(call.intent.report))
            elif not call.may_be_left_out:
                blocks += self._unfit(call, len(blocks))
        return tuple(blocks) or (Text("Nothing to say."),)

    def _call(self, made: Invocation, at: int) -> ToolCall:
        """The call; one that only looks for the tool is not the turn's call yet."""
        sign = "s" if made.kind is Kind.SEARCH else "t"
        return ToolCall(
            id=f"call_{self.script}_{sign}{self.turn}_{self.attempt}_{at}", name=made.name,
            kind=made.kind, namespace=made.namespace, arguments=made.arguments,
        )  # fmt: skip

    def _unfit(self, call: Call, at: int) -> list[Block]:
        """Says so in the transcript, and calls something, so that the session goes on."""
        offered = ", ".join(sorted(self.conversation.tools))
        kind = type(call.intent).__name__.lower()
        blocks: list[Block] = [Text(f"No tool for {kind} is among those offered: {offered}")]
        made = fit(Shell(command="true"), self.conversation)
        return [*blocks, self._call(made, at + 1)] if made else blocks


def _ending(turn: Turn, blocks: Sequence[Block]) -> Ending:
    if turn.stop is Stop.MAX_TOKENS:
        return Ending.MAX_TOKENS
    return Ending.CALLS if any(isinstance(one, ToolCall) for one in blocks) else Ending.SAID


def _word(script: str) -> str:
    """A script's name as a part of an id."""
    return script.partition("@")[0]
