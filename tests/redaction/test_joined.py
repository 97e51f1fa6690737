"""Keys that a terminal broke, at its width or by a colour: hidden in each of their pieces."""

from __future__ import annotations

import json

import pytest

from tests.redaction.secrets import BEGIN_WITH_LETTERS, planted
from tests.redaction.test_scan import hidden

WIDTHS = {"a terminal": 80, "a pane of tmux": 160}


def _wrapped(secret: str, width: int, cut: int, between: str = "\n") -> str:
    """What a terminal of some columns shows of a line, of which `cut` letters of a key fit."""
    line = f"{'the output of it '.ljust(width - cut, '.')}{secret} and so on"
    return between.join(line[at : at + width] for at in range(0, len(line), width))


def _seen(shown: str, secret: str, width: int, cut: int, between: str = "\n") -> int:
    """How many letters of the key are still where they were."""
    told = shown.replace(between, "")[width - cut :]
    return sum(one == two for one, two in zip(told, secret, strict=False))


@pytest.mark.parametrize("kind", sorted(BEGIN_WITH_LETTERS - {"jwt"}))
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_key_is_hidden_that_goes_on_in_the_next_line_of_a_terminal(kind: str, deep: int) -> None:
    for seed, width in enumerate(WIDTHS.values()):
        secret = planted(seed, kind).secret
        for cut in range(32, min(len(secret) - 1, 70), 7):
            text = _wrapped(secret, width, cut)
            for _ in range(deep):
                text = json.dumps({"out": text})
            shown = hidden(text)
            for _ in range(deep):
                shown = json.loads(shown)["out"]

            assert _seen(shown, secret, width, cut) < len(secret) // 4
            assert shown.endswith(" and so on")


@pytest.mark.parametrize("between", ["│\n│", " ┃\n┃ ", "\r\n"])
def test_a_key_is_hidden_that_goes_on_within_a_box(between: str) -> None:
    secret = planted(3, "anthropic").secret

    assert secret[40:] not in hidden(_wrapped(secret, 100, 40, between))


def test_a_long_key_is_hidden_over_three_lines_and_the_lines_stay() -> None:
    secret = (
        planted(1, "github fine-grained").secret + planted(2, "github fine-grained").secret[11:]
    )
    text = _wrapped(secret, 64, 30)
    shown = hidden(text)

    assert [len(line) for line in shown.split("\n")] == [len(line) for line in text.split("\n")]
    assert _seen(shown, secret, 64, 30) < 20


@pytest.mark.parametrize("kind", ["github", "anthropic", "npm", "openai project", "set in Python"])
@pytest.mark.parametrize("colour", ["\x1b[1;31m\x1b[K", "\x1b[0m"])
@pytest.mark.parametrize("deep", [0, 1])
def test_a_key_is_hidden_in_the_midst_of_which_a_colour_stands(
    kind: str, colour: str, deep: int
) -> None:
    one = planted(4, kind)
    at = len(one.secret) // 2
    text = one.text.replace(one.secret, f"{one.secret[:at]}{colour}{one.secret[at:]}")
    for _ in range(deep):
        text = json.dumps({"a": text})
    shown = hidden(text)

    assert one.secret[:at] not in shown
    assert one.secret[at:] not in shown
    if deep:
        assert "\x1b[" in json.loads(shown)["a"]


@pytest.mark.parametrize(
    "behind",
    ["\nOPENAI_API_KEY=a", "\nexport A=1", "\nthe next line", "\nsrc/kbsite/a2b3C4/d.py", "\n2\n",
     "\x1b[0m and so on", "\x1b[0mdone"],
)  # fmt: skip
def test_what_follows_a_whole_key_stays(behind: str) -> None:
    secret = planted(1, "github").secret
    text = f"{'x' * 70} {secret}{behind}"

    assert hidden(text).endswith(behind)
