"""Secrets in dumps of bytes: hidden among the digits, and among the letters beside them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping

import pytest

from kbsite.model.redaction import covered
from kbsite.redaction.scan import Looker
from tests.redaction.secrets import KINDS, planted

LOOKER = Looker()


def _letters(row: bytes) -> str:
    return "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in row)


def _rows(data: bytes, size: int = 16) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]


def xxd(data: bytes, group: int = 2) -> str:
    """What xxd says of some bytes."""
    lines = []
    for at, row in _rows(data):
        digits = " ".join(row[one : one + group].hex() for one in range(0, 16, group)).rstrip()
        lines.append(f"{at:08x}: {digits:<{32 + 16 // group - 1}}  {_letters(row)}\n")
    return "".join(lines)


def xxd_of_ones(data: bytes) -> str:
    """What `xxd -g1` says of some bytes."""
    return xxd(data, 1)


def hexdump(data: bytes) -> str:
    """What `hexdump -C` says of some bytes."""
    lines = []
    for at, row in _rows(data):
        digits = row[:8].hex(" ").ljust(23) + "  " + row[8:].hex(" ").ljust(23)
        lines.append(f"{at:08x}  {digits}  |{_letters(row)}|\n")
    return "".join(lines) + f"{len(data):08x}\n"


COLUMNS: Mapping[Callable[[bytes], str], tuple[int, int]] = {
    xxd: (49, 51),
    xxd_of_ones: (57, 59),
    hexdump: (58, 61),
}
"""Where in a line the digits end, and where the letters begin."""


def said(text: str, write: Callable[[bytes], str]) -> tuple[bytes, str]:
    """The bytes that a dump says that there are, zeros where it says nothing, and its letters."""
    digits, letters = "", ""
    until, start = COLUMNS[write]
    for line in text.splitlines():
        if re.match("[0-9a-f]{8}(?:: |  )", line):
            digits += line[10:until].replace(" ", "").replace("x", "0")
            letters += line[start : start + 16]
    return bytes.fromhex(digits), letters


def within(text: str, before: int) -> bytes:
    """A text among other bytes."""
    noise = random.Random(before).randbytes
    return noise(before) + b"\x00" + text.encode() + b"\x00" + noise(70)


def hidden(text: str) -> str:
    """A text as the site shows it."""
    data = text.encode()
    shown = covered(data, LOOKER.look(data).spans)
    assert len(shown) == len(data)
    assert covered(shown, LOOKER.look(shown).spans) == shown
    return shown.decode()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", [xxd, xxd_of_ones, hexdump])
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_secret_is_hidden_in_a_dump(kind: str, write: Callable[[bytes], str], deep: int) -> None:
    one = planted(2, kind)
    for before in (0, 5, 40):
        told = "$ dump a\n" + write(within(one.text, before)) + "$ \n"
        for _ in range(deep):
            told = json.dumps({"a": told})
        shown = hidden(told)
        for _ in range(deep):
            shown = json.loads(shown)["a"]
        data, letters = said(shown, write)

        assert one.secret.encode() not in data
        assert one.secret not in letters
        assert len(shown) == len(write(within(one.text, before))) + 12


def test_what_else_a_dump_says_stays() -> None:
    one = planted(1, "anthropic")
    text = xxd(b"x" * 20 + b"key " + one.secret.encode() + b" and so on, to its end")
    shown = hidden(text)

    assert shown.splitlines()[0] == text.splitlines()[0]
    assert shown.splitlines()[-1] == text.splitlines()[-1]
    assert "  xxxxkey xxxxx" in shown.splitlines()[1].replace("-", "x")


def test_a_dump_without_secrets_stays() -> None:
    noise = random.Random(1).randbytes(30_000)
    assert hidden(xxd(noise)) == xxd(noise)
    assert hidden(hexdump(noise)) == hexdump(noise)


def test_a_long_dump_is_read_to_its_end_and_is_not_too_crowded() -> None:
    noise, one = random.Random(2).randbytes, planted(1, "github")
    text = xxd(noise(200_000) + one.text.encode() + noise(200_000))
    data, letters = said(hidden(text), xxd)

    assert one.secret.encode() not in data
    assert one.secret not in letters
    assert len([*LOOKER.look(text.encode()).crowded]) == 0


@pytest.mark.parametrize("cut", range(2000, 4000, 170))
def test_where_a_file_is_cut_within_a_dump_does_not_matter(cut: int) -> None:
    noise, one = random.Random(2).randbytes, planted(1, "github fine-grained")
    data = hexdump(noise(600) + one.text.encode() + noise(600)).encode()
    whole = LOOKER.look(data).spans
    parts = [*LOOKER.look(data, 0, cut).spans, *LOOKER.look(data, cut).spans]

    assert covered(data, sorted(parts)) == covered(data, whole)


def test_what_is_no_dump_is_let_pass() -> None:
    for text in ("0: 12 34 56 78 9a\n", "100  12 34 56 78 90 12\n", "00000000: 6162 6364 6566"):
        assert hidden(text) == text
