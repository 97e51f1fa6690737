"""Secrets in what gzip packed within a text: it is hidden whole."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import tarfile
from collections.abc import Callable

import pytest

from kbsite.model.redaction import covered
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import ARCHIVE, DENIED
from tests.hanging import hanging
from tests.redaction.secrets import planted
from tests.redaction.test_over_lines import in_base64

LOOKER = Looker()
WORDS = " ".join(
    random.Random(1).choices(["so", "it", "is", "and", "then", "was", "not", "here"], k=900)
)
Pack = Callable[[bytes], bytes]


def tar(data: bytes) -> bytes:
    """What `tar -cz` makes of a file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.env")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def hidden(data: bytes, looker: Looker = LOOKER) -> bytes:
    """Some bytes as the site shows them."""
    shown = covered(data, looker.look(data).spans)
    assert len(shown) == len(data)
    return shown


@pytest.mark.parametrize("pack", [gzip.compress, tar])
@pytest.mark.parametrize("kind", ["anthropic", "of psql", "api key", "private key", "home"])
@pytest.mark.parametrize("deep", range(3))
def test_what_is_packed_in_base64_is_hidden_with_a_secret_in_it(
    pack: Pack, kind: str, deep: int
) -> None:
    packed = base64.b64encode(pack(f"{WORDS}\n{planted(1, kind).text}\n{WORDS}".encode())).decode()
    told = f"$ it\n{packed}\n$ and now"
    for _ in range(deep):
        told = json.dumps({"a": told})
    shown = hidden(told.encode()).decode()
    for _ in range(deep):
        shown = json.loads(shown)["a"]

    assert packed not in shown
    assert set(shown.split("\n")[1]) <= set("x=")
    assert (shown.split("\n")[0], shown.split("\n")[2]) == ("$ it", "$ and now")


def test_what_is_packed_is_hidden_over_lines_and_among_other_bytes() -> None:
    packed = tar(f"{WORDS}\n{planted(1, 'github').text}\n".encode())
    lines = in_base64(76)(packed)
    shown = hidden(f"$ it\n{lines}$ and now\n".encode()).decode().split("\n")
    among = hidden(b"\0\x01it is\xff" + packed + b"\xffand so on")

    assert set("".join(shown[1:-2])) <= set("x=")
    assert (shown[0], shown[-2]) == ("$ it", "$ and now")
    assert packed not in among
    assert among.startswith(b"\0\x01it is\xff")
    assert among.endswith(b"\xffand so on")


def test_a_value_of_the_list_is_found_in_what_is_packed() -> None:
    packed = base64.b64encode(gzip.compress(f"{WORDS} build7 {WORDS}".encode()))
    looker = Looker(Known([Value(b"build7", DENIED)]))

    assert hidden(packed) == packed
    assert {span.rule for span in looker.look(packed).spans} == {ARCHIVE}


@pytest.mark.parametrize("pack", [gzip.compress, tar])
def test_what_is_packed_without_secrets_stays(pack: Pack) -> None:
    for held in (WORDS.encode(), random.Random(2).randbytes(90_000)):
        packed = pack(held)
        for data in (packed, base64.b64encode(packed), in_base64(76)(packed).encode()):
            text = b"it is " + data + b" and so on"
            assert hidden(text) == text


def test_what_is_broken_is_let_pass() -> None:
    packed = gzip.compress(WORDS.encode())
    for data in (packed[:9], b"\x1f\x8b\x08" + bytes(90), b"H4sIA", b"H4sIAAAAAAAAA", packed[:40]):
        assert hidden(b"it is " + data + b" there") == b"it is " + data + b" there"


HOSTILE: dict[str, bytes] = {
    "bombs": gzip.compress(bytes(1 << 20)) * 900,
    "bombs in base64": base64.b64encode(gzip.compress(bytes(1 << 20)) * 900),
    "heads": b"\x1f\x8b\x08\0" * 250_000,
    "heads in base64": b"H4sIAAAAAAAAA" * 80_000,
    "words in base64": (base64.b64encode(gzip.compress(WORDS.encode())) + b"\n") * 1000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_made_to_be_unpacked_again_and_again_does_not_hang(kind: str) -> None:
    with hanging():
        LOOKER.look(HOSTILE[kind])
