"""What a sub-agent's conversation has shown so far, whose model calls send all of it again."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from kbsite.harnesses.inspect.calls import Sent
from kbsite.harnesses.inspect.parts import Ranges, beyond


class Heard(Struct):
    """The conversation of one of them."""

    says: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    """Ids of the messages that came back from its model."""
    refs: Ranges = ()
    """What of the pool its last call sent."""
    sent: Counter[str] = field(default_factory=Counter)
    """How often that call sent what."""

    def beyond(self, refs: Ranges) -> Ranges:
        """What of the pool the next call sent that has to be looked at.

        What it begins with is not, if the call before sent the same: all of it was shown.
        """
        more = beyond(refs, self.refs)
        if more is None or not self.refs:
            self.sent, more = Counter(), refs
        self.refs = refs
        return more

    def again(self, message: Sent) -> bool:
        """Whether a message was shown, which is the next of those that a call sent."""
        self.sent[message.key] += 1
        if message.id and message.id in self.ids:
            return True
        if self.sent[message.key] <= self.says[message.key]:
            return True
        self.says[message.key] += 1
        return False
