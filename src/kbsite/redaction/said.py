"""Keys and passwords that people and models say in words: `the API key is X`, `password: X`.

Such words stand in every text; what follows them is a key only if a machine drew it, and a password
only if somebody made it up as told. Each look is made where the automaton found the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction.rules import MARK
from kbsite.redaction.values import is_key, is_made_up, is_random

_OPEN: Final = rb"(?:is:? |provided: |(?:in|from) [^\s:]{1,60}: )?[*]{0,2}(?:" + MARK + b")?"
_KEY: Final = late(_OPEN + rb"([A-Za-z0-9_.~+/=-]{20,200})")
_TOKEN: Final = late(_OPEN + rb"([A-Za-z0-9]{24,200})(?![A-Za-z0-9_/.-][A-Za-z0-9])")
_PASSWORD: Final = late(_OPEN + rb"([^\s\\\"'`]{8,64})")

_OWNERS: Final = (
    b"API api Api access secret auth wandb W&B HF hf Face OpenAI openai Anthropic RunPod runpod"
    b" Vast Lambda Modal Kaggle GitHub".split()
)
"""Of whom a key is that is called one."""
_CALLED: Final = tuple(
    b"%b %b " % (one, kind) for one in _OWNERS for kind in (b"key", b"Key", b"token")
)
_TOLD: Final = (b"key is ", b"token is ", b"the token ", b"with token ", b"my token ", b"token `")
_VARIABLES: Final = tuple(
    kind + mark + says
    for kind in (b"_API_KEY", b"_TOKEN")
    for mark, says in ((b"", b" is "), (b"`", b" is "), (b"", b" -> "), (b"", b" \xe2\x86\x92 "))
)
"""Variables of the environment, as a sentence has them."""
_MADE_UP: Final = (b" pw: ", b"\npw: ", b"npw: ", b" pass: ", b"\npass: ", b"npass: ")


def _is_token(value: bytes) -> bool:
    return is_random(value, 4.0)


_LOOKS: Final[dict[bytes, tuple[re.Pattern[bytes], Callable[[bytes], bool]]]] = {
    **dict.fromkeys(_TOLD, (_TOKEN, _is_token)),
    **dict.fromkeys((*_CALLED, *_VARIABLES), (_KEY, is_key)),
    **dict.fromkeys(_MADE_UP, (_PASSWORD, is_made_up)),
}  # fmt: skip

GATES: Final = tuple(_LOOKS)
"""The words, for the automaton."""

_ENDS: Final = b".,;:!?)*"
"""What ends a sentence, and is no part of a value."""

Found = tuple[int, int, str]


def tells(text: bytes) -> bool:
    """Whether a match of the automaton is of such words."""
    return text in _LOOKS


def found(data: bytes, at: int, text: bytes) -> Iterator[Found]:
    """The key or the password that stands behind words at a place."""
    pattern, is_one = _LOOKS[text]
    one = pattern.match(data, at + len(text))
    value = one[1].rstrip(_ENDS) if one else b""
    if one and is_one(value):
        yield one.start(1), one.start(1) + len(value), "named-secret"
