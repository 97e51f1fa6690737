"""Secrets in dumps of decimals, bits and code: `od -t u1`, `xxd -b`, `xxd -i`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import pytest

from kbsite.model.redaction import covered
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import DENIED
from tests.hanging import hanging
from tests.redaction.secrets import planted

LOOKER = Looker()
Write = Callable[[bytes], str]


def _rows(data: bytes, size: int) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]


def od_of_decimals(data: bytes) -> str:
    """What `od -t u1` prints."""
    rows = (f"{at:07o}{''.join(f' {one:3}' for one in row)}\n" for at, row in _rows(data, 16))
    return "".join(rows) + f"{len(data):07o}\n"


def od_of_decimals_alone(data: bytes) -> str:
    """What `od -An -v -t u1` prints."""
    return "".join(f"{''.join(f' {one:3}' for one in row)}\n" for _, row in _rows(data, 16))


def xxd_of_bits(data: bytes) -> str:
    """What `xxd -b` prints."""
    told = []
    for at, row in _rows(data, 6):
        letters = "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in row)
        told.append(f"{at:08x}: {' '.join(f'{one:08b}' for one in row):<53}  {letters}\n")
    return "".join(told)


def xxd_of_code(data: bytes) -> str:
    """What `xxd -i` prints of a file."""
    rows = ",\n".join("  " + ", ".join(f"0x{one:02x}" for one in row) for _, row in _rows(data, 12))
    return f"unsigned char a_txt[] = {{\n{rows}\n}};\nunsigned int a_txt_len = {len(data)};\n"


def from_decimals(text: str) -> bytes:
    rows = (re.sub("^[0-7]{7}", "", line) for line in text.split("\n"))
    ones = (row[at : at + 4].strip() for row in rows for at in range(0, len(row), 4))
    return bytes(int(one) if one.isdecimal() else 0 for one in ones)


def from_bits(text: str) -> bytes:
    ones = re.findall(r"(?<= )[01x]{8}(?= )", text)
    return bytes(0 if "x" in one else int(one, 2) for one in ones)


def from_code(text: str) -> bytes:
    return bytes(
        0 if "x" in one else int(one, 16) for one in re.findall("[0x]x([0-9a-fx]{2})", text)
    )


WAYS: Mapping[str, tuple[Write, Callable[[str], bytes]]] = {
    "od -t u1": (od_of_decimals, from_decimals),
    "od -An -t u1": (od_of_decimals_alone, from_decimals),
    "xxd -b": (xxd_of_bits, from_bits),
    "xxd -i": (xxd_of_code, from_code),
}


def shown(text: str, looker: Looker = LOOKER) -> str:
    data = text.encode()
    hidden = covered(data, looker.look(data).spans)
    assert len(hidden) == len(data)
    assert covered(hidden, looker.look(hidden).spans) == hidden
    return hidden.decode()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("within", ["alone", "a string", "a string in a string"])
@pytest.mark.parametrize("before", [0, 1, 7, 100])
def test_a_secret_is_hidden_in_a_dump(way: str, within: str, before: int) -> None:
    write, read = WAYS[way]
    one = planted(3, "github fine-grained")
    data = (". " * before + one.text + " and on" * 3).encode()
    text = write(data)
    for _ in range(("alone", "a string", "a string in a string").index(within)):
        text = json.dumps({"output": text})
    told = shown(text)
    while told.startswith("{"):
        told = json.loads(told)["output"]

    assert one.secret.encode() in read(write(data))
    assert one.secret[20:].encode() not in read(told)
    assert one.secret[11:] not in re.sub(r"\s|[01x]{8}|[0-9a-f]{8}:", "", told)


@pytest.mark.parametrize("way", WAYS)
def test_a_known_value_is_hidden_in_a_dump(way: str) -> None:
    write, read = WAYS[way]
    secret = b"Tr0ub4dor7aB2x9QhZk3"
    looker = Looker(Known([Value(secret, DENIED)]))

    assert secret not in read(shown(write(b"it is " + secret + b" so it is"), looker))


@pytest.mark.parametrize("way", WAYS)
def test_a_dump_without_secrets_stays(way: str) -> None:
    text = WAYS[way][0](b"def f(key, token):\n    return key @ token  # api_key is none\n" * 40)

    assert shown(text) == text


def test_numbers_that_are_no_bytes_stay() -> None:
    rows = "\n".join("".join(f" {300 + n:3}" for n in range(16)) for _ in range(9))

    assert shown(rows) == rows


@pytest.mark.parametrize("row", [" 103" * 16, "00000000: " + "01100111 " * 6, "  " + "0x67, " * 12])
def test_rows_made_to_be_read_again_and_again_do_not_hang(row: str) -> None:
    with hanging(seconds=10):
        LOOKER.look(((row + "\n") * (1_000_000 // len(row))).encode())
        LOOKER.look((row + "\\n" + "x\n").encode() * (500_000 // len(row)))
