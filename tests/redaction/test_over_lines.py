"""Secrets in what goes over several lines: digits that are wrapped, and the dumps of `od`."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kbsite.hiding.files import Seen
from kbsite.model.redaction import covered
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import DENIED, SEEN
from kbsite.store.files import Stored
from tests.hanging import hanging
from tests.redaction.secrets import KINDS, planted

LOOKER = Looker()
LETTERS = string.ascii_letters + string.digits
Write = Callable[[bytes], str]


def _lines(digits: str, size: int) -> str:
    return "".join(f"{digits[at : at + size]}\n" for at in range(0, len(digits), size))


def in_base64(size: int) -> Write:
    """What `base64 -w SIZE` prints."""
    return lambda data: _lines(base64.b64encode(data).decode(), size)


def in_base64_for_addresses(data: bytes) -> str:
    """What `basenc --base64url` prints."""
    return _lines(base64.urlsafe_b64encode(data).decode(), 76)


def in_hex(size: int) -> Write:
    """What `xxd -p` prints, with a size as `-c` has it."""
    return lambda data: _lines(data.hex(), size)


def from_digits(text: str) -> bytes:
    """What wrapped digits say; what is hidden is said as whatever stands there."""
    digits = "".join(text.split())
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return base64.urlsafe_b64decode(digits.replace("+", "-").replace("/", "_"))


def _rows(data: bytes) -> list[bytes]:
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def _letters(row: bytes) -> str:
    return "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in row)


NAMED = {0: r"\0", 7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}


def _one(byte: int) -> str:
    if byte == ord("\\"):
        return r"  \\"
    named = NAMED.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"{byte:03o}")
    return f"{named:>4}"


def od_of_bytes(data: bytes) -> str:
    """What `od -t x1` prints."""
    rows = [f"{16 * n:07o} {row.hex(' ')}\n" for n, row in enumerate(_rows(data))]
    return "".join(rows) + f"{len(data):07o}\n"


def od_without_addresses(data: bytes) -> str:
    """What `od -An -tx1` prints."""
    return "".join(f" {row.hex(' ')}\n" for row in _rows(data))


def od_with_letters(data: bytes) -> str:
    """What `od -A x -t x1z` prints."""
    rows = enumerate(_rows(data))
    told = [f"{16 * n:06x} {row.hex(' '):<47}  >{_letters(row)}<\n" for n, row in rows]
    return "".join(told) + f"{len(data):06x}\n"


def od_of_letters(data: bytes) -> str:
    """What `od -c` prints."""
    rows = [f"{16 * n:07o}{''.join(map(_one, row))}\n" for n, row in enumerate(_rows(data))]
    return "".join(rows) + f"{len(data):07o}\n"


def od_of_letters_alone(data: bytes) -> str:
    """What `od -An -c` prints."""
    return "".join(f"{''.join(map(_one, row))}\n" for row in _rows(data))


def from_bytes(text: str) -> bytes:
    """What a dump of `od` says in digits; zeros where it says nothing."""
    found = (re.match("(?:[0-9a-f]{6,7})?((?: [0-9a-fx]{2})+)", line) for line in text.split("\n"))
    return bytes.fromhex("".join(one[1].replace("x", "0") for one in found if one))


def from_letters(text: str) -> bytes:
    """What a dump of `od -c` says."""
    rows = (re.sub("^[0-7]{7}", "", line) for line in text.split("\n"))
    ones = (row[at : at + 4].lstrip(" ") or " " for row in rows for at in range(0, len(row), 4))
    return "".join(ones).encode()


WAYS: Mapping[str, tuple[Write, Callable[[str], bytes]]] = {
    "base64": (in_base64(76), from_digits),
    "openssl base64": (in_base64(64), from_digits),
    "base64 -w 100": (in_base64(100), from_digits),
    "base64 -w 70": (in_base64(70), from_digits),
    "basenc --base64url": (in_base64_for_addresses, from_digits),
    "xxd -p": (in_hex(60), from_digits),
    "xxd -p -c 32": (in_hex(64), from_digits),
    "od -t x1": (od_of_bytes, from_bytes),
    "od -An -tx1": (od_without_addresses, from_bytes),
    "od -A x -t x1z": (od_with_letters, from_bytes),
    "od -c": (od_of_letters, from_letters),
    "od -An -c": (od_of_letters_alone, from_letters),
}
"""Ways to write bytes over several lines, and to read them."""


def hidden(text: str, looker: Looker = LOOKER) -> str:
    """A text as the site shows it."""
    data = text.encode()
    shown = covered(data, looker.look(data).spans)
    assert len(shown) == len(data)
    assert [len(line) for line in shown.split(b"\n")] == [len(line) for line in data.split(b"\n")]
    return shown.decode()


def in_json(text: str, deep: int) -> str:
    """A text as a string of JSON, which stands in another one, and so on."""
    for _ in range(deep):
        text = json.dumps({"a": text})
    return text


def out_of_json(text: str, deep: int) -> str:
    """The text that such a string holds."""
    for _ in range(deep):
        text = json.loads(text)["a"]
    return text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_hidden_over_lines(kind: str, way: str) -> None:
    one, (write, read) = planted(2, kind), WAYS[way]
    for deep, before in enumerate((31, 52, 90)):
        start = b'{"a": "' + b"x y" * before + b'\n"}\n'
        text = write(start + one.text.encode() + b"\n" + b"and so on" * 9)
        told = in_json(f"$ it\n{text}$ and now\n", deep)
        shown = out_of_json(hidden(told), deep)

        assert one.secret.encode() in read(text)
        assert one.secret.encode() not in read(shown[5:-10])


@pytest.mark.parametrize("way", WAYS)
def test_what_was_hidden_is_hidden_once(way: str) -> None:
    one, (write, _) = planted(1, "anthropic"), WAYS[way]
    shown = hidden(write(b"the token is " + one.secret.encode() + b" and so on " * 9))

    assert hidden(shown) == shown


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("deep", [0, 1])
def test_the_first_thing_that_a_program_said_needs_nothing_before_it(way: str, deep: int) -> None:
    one, (write, read) = planted(1, "github"), WAYS[way]
    text = write(f"GITHUB_TOKEN={one.secret} # of nobody, for all that".encode())
    shown = out_of_json(hidden(in_json(text, deep)), deep)

    assert one.secret.encode() not in read(shown)


@pytest.mark.parametrize("way", WAYS)
def test_bytes_without_secrets_stay(way: str) -> None:
    text = WAYS[way][0](random.Random(1).randbytes(30_000))

    assert hidden(text) == text
    assert hidden(in_json(text, 1)) == in_json(text, 1)


@pytest.mark.parametrize("way", WAYS)
def test_a_value_of_the_list_is_hidden_over_lines(way: str) -> None:
    value, (write, read) = b"correct horse battery 17", WAYS[way]
    looker = Looker(Known([Value(value, DENIED)]))
    text = write(b"x y" * 21 + b": " + value + b", it said, and more than that" * 3)
    found = looker.look(text.encode())

    assert {span.rule for span in found.spans} == {DENIED}
    assert value not in read(hidden(text, looker))


@pytest.mark.parametrize("way", WAYS)
def test_what_another_file_told_is_hidden_over_lines(way: str, tmp_path: Path) -> None:
    secret, (write, read) = "Tr0ub4dor7aB2x9QhZk3", WAYS[way]
    text = write(f"{'x y' * 21} {secret} {'and so on ' * 9}".encode())
    seen = Seen(LOOKER)
    for name, said in (("a", f'password = "{secret}"\n'), ("b", text)):
        (tmp_path / name).write_text(said)
        seen.see(Stored(name, str(tmp_path / name), len(said)))
    seen.again()

    assert {span.rule for span in seen.spans["b"]} == {SEEN}
    assert secret.encode() not in read(covered(text.encode(), seen.spans["b"]).decode())


BEFORE_LINES: Mapping[str, Callable[[int], str]] = {
    "moved to the right": lambda _: "    ",
    "numbered": lambda number: f"{number:6}\t",
    "numbered with an arrow": lambda number: f"{number:6}→",
    "found": lambda number: f"{number}:",
    "added": lambda _: "+",
}


@pytest.mark.parametrize("before", BEFORE_LINES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_tool_may_write_something_before_each_line(before: str, ends: str, deep: int) -> None:
    one = planted(3, "anthropic")
    text = in_base64(76)(b"x y" * 30 + one.text.encode() + b" and so on" * 20)
    rows = [f"{BEFORE_LINES[before](n)}{row}" for n, row in enumerate(text.split(), 1)]
    told = in_json(f"it{ends}{ends.join(rows)}{ends}", deep)
    shown = out_of_json(hidden(told), deep).split(ends)[1:-1]
    own = [row[len(BEFORE_LINES[before](n)) :] for n, row in enumerate(shown, 1)]

    assert [row[: -len(o)] for row, o in zip(shown, own, strict=True)] == [
        row[: -len(o)] for row, o in zip(rows, own, strict=True)
    ]
    assert one.secret.encode() not in from_digits("".join(own))


def test_lines_of_which_the_first_ones_are_not_shown_are_read() -> None:
    one = planted(3, "anthropic")
    text = in_base64(76)(b"x y" * 30 + one.text.encode() + b" and so on" * 20)
    for cut in range(1, 76):
        assert one.secret.encode() not in from_digits(_aligned(hidden(text[cut:])))


def _aligned(text: str) -> str:
    """Lines of base64 from where a group begins."""
    first, *rest = text.split()
    return "".join((first[len(first) % 4 :], *rest))


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_deep_in_a_long_file_is_hidden(way: str) -> None:
    noise, one, (write, read) = random.Random(2).randbytes, planted(1, "github"), WAYS[way]
    text = write(noise(96_001) + one.text.encode() + noise(60_000))
    found = LOOKER.look(text.encode())

    assert one.secret.encode() not in read(covered(text.encode(), found.spans).decode())
    assert found.crowded == []


# A row of `od -c` is four times as long as what it holds.
@pytest.mark.parametrize(
    ("way", "step"), [("base64", 17), ("xxd -p", 17), ("od -t x1", 17), ("od -c", 41)]
)
def test_where_a_file_is_cut_within_lines_does_not_matter(way: str, step: int) -> None:
    noise, one = random.Random(2).randbytes, planted(1, "github fine-grained")
    data = WAYS[way][0](noise(20_000) + one.text.encode() + noise(20_000)).encode()
    whole = LOOKER.look(data).spans
    middle = whole[0].start
    for cut in range(middle - 90, whole[-1].end + 90, step):
        parts = [*LOOKER.look(data, 0, cut).spans, *LOOKER.look(data, cut).spans]
        assert covered(data, sorted(parts)) == covered(data, whole)


HOSTILE: Mapping[str, Callable[[int], str]] = {
    "an image": lambda size: in_base64(76)(random.Random(1).randbytes(size * 3 // 4)),
    "an image in hex": lambda size: in_hex(60)(random.Random(1).randbytes(size // 2)),
    "a dump": lambda size: od_of_bytes(random.Random(1).randbytes(size // 3)),
    "lines that are alone": lambda size: ("aB3" * 21 + "\n, ") * (size // 66),
    "two lines each": lambda size: ("aB3dE5gH" * 8 + "\nab3=\n,\n") * (size // 73),
    "two rows each": lambda size: " 7b 22 61 63 64 65 66 67\n" * 2 + (
        "-\n" + " 7b 22 61 63 64 65 66 67\n" * 2
    ) * (size // 52),
    "rows that are alone": lambda size: "\n   a   b   c   d   e   f -" * (size // 27),
    "one line": lambda size: "aB3d" * (size // 4) + "\n",
    "hyphens": lambda size: ("-" * 80 + "\n") * (size // 81),
    "longer and longer": lambda size: "".join(
        "aB3" * (20 + n % 600) + "\n" for n in range(size // 960)
    ),
    "blanks": lambda size: ("\n" + " " * 900) * (size // 901),
    "backslashes": lambda size: ("aB3" * 21 + "\\" * 40 + "n") * (size // 104),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_made_to_be_looked_at_again_and_again_does_not_hang(kind: str) -> None:
    """Two megabytes take a second at most; where the work is quadratic, a minute."""
    data = HOSTILE[kind](2_000_000).encode()
    with hanging(seconds=10):
        LOOKER.look(data)


@pytest.mark.parametrize("kind", ["an image", "an image in hex", "a dump"])
def test_megabytes_of_them_are_not_crowded(kind: str) -> None:
    data = HOSTILE[kind](4_000_000).encode()
    found = LOOKER.look(data)

    assert found.crowded == []
    assert len(found.spans) < 3


def test_lines_that_are_full_of_secrets_are_hidden_unseen() -> None:
    draw = random.Random(4)
    secrets = ["".join(draw.choices(LETTERS, k=20)) + "7aB2x9Q" for _ in range(12_000)]
    text = in_base64(76)(" ".join(f'api_key="{one}"' for one in secrets).encode())
    found = LOOKER.look(text.encode())
    shown = covered(text.encode(), found.spans).decode().replace("(redacted)", "x" * 10)
    told = from_digits(shown).decode("latin-1")

    assert found.crowded
    assert not [one for one in secrets if one in told]
