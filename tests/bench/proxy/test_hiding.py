"""The key gets into no answer, no error and no log, whatever a provider does with it."""

from __future__ import annotations

import base64
import json
import re
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.proxy.hiding import Hiding
from bench.proxy.upstream import Upstream
from tests.bench.planted import planted
from tests.bench.proxy.peers import (
    KEY,
    LAST_CHUNK,
    STREAM,
    Got,
    chunk,
    event,
    head,
    plays_well,
    proxied,
    raw_provider,
)


def _signs(key: str, form: str) -> bytes:
    """A key of which all but letters and digits are escaped, as some libraries do."""
    return "".join(one if one.isalnum() else form.format(ord(one)) for one in key).encode()


def _second(key: str, form: str) -> bytes:
    """A key of which every second character is escaped."""
    return "".join(form.format(ord(one)) if at % 2 else one for at, one in enumerate(key)).encode()


FORMS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "URL-encoded": lambda key: quote(key, safe="").encode(),
    "JSON": lambda key: json.dumps(key).encode(),
    "base64": lambda key: base64.b64encode(key.encode()),
    "base64 of a header": lambda key: base64.b64encode(f"Bearer {key}".encode()),
    "base64 of more": lambda key: base64.b64encode(f"xy{key} and".encode()),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"x{key}".encode()),
    "base64, slashes": lambda key: base64.b64encode(f"x{key}".encode()).replace(b"/", b"\\/"),
    "base64, URL-encoded": lambda key: quote(base64.b64encode(key.encode()), safe="").encode(),
    "base64, signs alone": lambda key: _signs(
        base64.b64encode(f"xy{key}".encode()).decode(), "\\u{:04X}"
    ),
    "JSON, every character": lambda key: "".join(f"\\u{ord(c):04x}" for c in key).encode(),
    "JSON, capital digits": lambda key: "".join(f"\\u{ord(c):04X}" for c in key).encode(),
    "JSON, slashes": lambda key: json.dumps(key).replace("/", r"\/").encode(),
    "JSON, signs alone": lambda key: _signs(key, "\\u{:04X}"),
    "JSON, every second": lambda key: _second(key, "\\u{:04x}"),
    "JSON within JSON": lambda key: json.dumps(_signs(key, "\\u{:04X}").decode())[1:-1].encode(),
    "JSON within JSON within JSON": lambda key: json.dumps(
        json.dumps(_signs(key, "\\u{:04x}").decode())[1:-1]
    )[1:-1].encode(),
    "URL-encoded, small digits": lambda key: _signs(key, "%{:02x}"),
    "URL-encoded, every character": lambda key: "".join(f"%{ord(c):02X}" for c in key).encode(),
    "hexadecimal": lambda key: key.encode().hex().encode(),
}


def unescaped(text: str) -> str:
    """A text as somebody reads it who undoes every escape, however often it was escaped."""
    while True:
        read = unquote(re.sub(r"\\+u([0-9a-fA-F]{4})", lambda one: chr(int(one[1], 16)), text))
        read = re.sub(r"\\+/", "/", read)
        if read == text:
            return text
        text = read


def error(text: bytes) -> bytes:
    said = {"type": "error", "error": {"type": "authentication_error", "message": text.decode()}}
    return json.dumps(said).encode()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("where", ["an error", "a stream", "an error in a stream", "a header"])
def test_a_provider_that_echoes_the_key_is_not_heard(form: str, where: str, tmp_path: Path) -> None:
    echoed = FORMS[form](KEY)

    def play(connection: socket.socket, _: Got) -> None:
        match where:
            case "an error":
                body = error(b"no such key: " + echoed)
                connection.sendall(head("401 No", content_length=str(len(body))) + body)
            case "a stream":
                at = len(echoed) // 2
                parts = chunk(b"data: " + echoed[:at]) + chunk(echoed[at:] + b"\n\n")
                connection.sendall(head(**STREAM) + parts + LAST_CHUNK)
            case "an error in a stream":
                said = event(json.loads(error(b"bad key " + echoed)))
                connection.sendall(head(**STREAM) + chunk(said) + LAST_CHUNK)
            case _:
                text = echoed.decode().strip('"')
                connection.sendall(head(request_id=text, x_echo=text, content_length="0"))

    with raw_provider(play) as raw, proxied(raw.provider(), tmp_path) as proxy:
        answer = proxy.post()
        told = repr(proxy.meter.exchanges) + repr(proxy.meter.account)
    (tmp_path / "seen").write_bytes(answer.body + repr(answer.headers).encode() + told.encode())
    assert raw.got[0].header("x-api-key") == [KEY]
    assert "*" * 20 in (tmp_path / "seen").read_text()
    assert KEY[-8:] not in unescaped((tmp_path / "seen").read_text())
    assert planted(tmp_path, KEY) == []


def test_an_unreachable_provider_shows_no_key(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw:
        gone = raw.provider()
    with proxied(gone, tmp_path) as proxy:
        (tmp_path / "seen").write_bytes(proxy.post().body)
    assert planted(tmp_path, KEY) == []


def test_a_request_that_names_the_key_shows_it_to_nobody(tmp_path: Path) -> None:
    with raw_provider(plays_well) as raw, proxied(raw.provider(), tmp_path) as proxy:
        proxy.post({"model": KEY})
        proxy.get(f"/{quote(KEY, safe='')}")
        (tmp_path / "seen").write_text(repr(proxy.meter.exchanges))
    assert planted(tmp_path, KEY) == []


def test_the_upstream_does_not_print_its_key() -> None:
    with raw_provider(plays_well) as raw:
        upstream = Upstream(raw.provider(), next(iter(raw.provider().bases)), KEY)
    assert KEY not in f"{upstream} {upstream!r}"
    assert upstream.headers([])["x-api-key"] == KEY


@given(st.lists(st.sampled_from([KEY, KEY[:7], KEY[3:], "s", "sk-", "\n", "plain"])), st.data())
def test_no_cut_lets_a_key_through_and_nothing_else_changes(
    words: list[str], data: st.DataObject
) -> None:
    text = "".join(words).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    hiding = Hiding(KEY)
    edges = [0, *cuts, len(text)]
    shown = b"".join(hiding.feed(text[a:b]) for a, b in pairwise(edges))
    shown += hiding.rest()
    assert shown == text.replace(KEY.encode(), b"*" * len(KEY))


@given(st.sampled_from(sorted(FORMS)), st.data())
def test_no_cut_lets_an_escaped_key_through(form: str, data: st.DataObject) -> None:
    before = data.draw(st.sampled_from([b"", b"s", b"\\n", b"\\u007", b"%7", KEY[:5].encode()]))
    text = before + FORMS[form](KEY) + b"; and more"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    hiding = Hiding(KEY)
    edges = [0, *cuts, len(text)]
    shown = b"".join(hiding.feed(text[a:b]) for a, b in pairwise(edges)) + hiding.rest()
    assert len(shown) == len(text)
    assert shown == Hiding(KEY).within(text)
    assert KEY[-8:] not in unescaped(shown.decode())
    assert shown.startswith(before)
    assert shown.endswith(b"; and more")


@given(st.text(alphabet="\\/u05c+%4bK"), st.text(alphabet="\\/u05c+%4bK"))
def test_any_key_is_found_in_any_spelling(key: str, around: str) -> None:
    key = f"sk-planted{key}-23"
    for form in FORMS.values():
        text = around.encode() + form(key) + b"!"
        hiding = Hiding(key)
        shown = b"".join(hiding.feed(text[at : at + 1]) for at in range(len(text)))
        shown += hiding.rest()
        assert len(shown) == len(text)
        assert key not in unescaped(shown.decode()), form


def test_without_a_key_everything_passes_as_it_is() -> None:
    hiding = Hiding(None)
    assert hiding.feed(b"sk-") + hiding.feed(KEY.encode()) + hiding.rest() == f"sk-{KEY}".encode()


def test_what_ends_no_piece_of_the_key_never_waits() -> None:
    assert Hiding(KEY).feed(b"data: {}\n\n") == b"data: {}\n\n"
