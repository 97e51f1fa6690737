"""What archives among the files of a run hold is hidden as well, or they are withheld."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.hiding import Hiding, archives
from kbsite.model.config import Allowed, Redact
from kbsite.model.redaction import Span
from kbsite.store.settings import Settings
from tests.bench.planted import planted as places_of
from tests.conftest import MakeRun, MakeSettings
from tests.harnesses.test_inspect_eval import zstd
from tests.redaction.secrets import planted
from tests.redaction.test_site import told
from tests.trees import tree


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    return make_settings(tmp_path)


@pytest.mark.parametrize("how", ["gzip", "bz2", "xz", "broken", "sealed"])
def test_an_archive_that_holds_a_secret_or_is_closed_is_withheld(
    settings: Settings, make_run: MakeRun, how: str
) -> None:
    one = planted(4, "openai project")
    folder = make_run(settings.runs / "demo", files={"files/a.bin": packed(how, one.secret)})
    hidden = Hiding(Redact()).of(folder)
    clean = make_run(settings.runs / "demo", files={"files/a.bin": packed("zip", "nothing")})

    assert [span.rule for span in hidden.files["files/a.bin"]] == ["archive"]
    assert hidden.files["files/a.bin"][0].end == len(packed(how, one.secret))
    assert Hiding(Redact()).of(clean).files == {}


@pytest.mark.parametrize("form", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_text_of_wide_characters_that_holds_a_secret_is_withheld(
    settings: Settings, make_run: MakeRun, form: str
) -> None:
    one = planted(4, "openai project")
    data = f"set as it was told: {one.secret}\r\n".encode(form)
    folder = make_run(settings.runs / "demo", run_id="one", files={"check.log": data})
    clean = make_run(settings.runs / "demo", files={"check.log": "nothing to hide".encode(form)})
    built = build(settings)

    assert [span.rule for span in Hiding(Redact()).of(folder).files["check.log"]] == ["archive"]
    assert Hiding(Redact()).of(clean).files == {}
    assert not any(
        one.secret.encode(form)[4:] in path.read_bytes()
        for path in built.out.rglob("*") if path.is_file()
    )  # fmt: skip


@pytest.mark.parametrize("how", ["gzip", "bz2", "xz"])
@pytest.mark.parametrize("place", ["behind", "before"])
def test_what_stands_beside_an_archive_is_looked_at_too(
    settings: Settings, make_run: MakeRun, how: str, place: str
) -> None:
    one = planted(4, "openai project")
    data = packed(how, "nothing") + f"\nit is {one.secret}\n".encode()
    if place == "before":
        held = io.BytesIO()
        with gzip.GzipFile(one.secret, "wb", fileobj=held) as stream:
            stream.write(b"nothing")
        data = held.getvalue()
    folder = make_run(settings.runs / "demo", files={"files/a.bin": data})

    assert one.secret.encode() in data
    assert [span.rule for span in Hiding(Redact()).of(folder).files["files/a.bin"]] == ["archive"]


@pytest.mark.parametrize("place", ["behind", "between", "in a head", "nowhere"])
def test_what_a_zip_archive_holds_beside_its_members_is_looked_at_too(
    settings: Settings, make_run: MakeRun, place: str
) -> None:
    one = planted(4, "openai project").secret.encode()
    held, info = io.BytesIO(), zipfile.ZipInfo("a.txt")
    if place == "in a head":
        info.extra = struct.pack("<HH", 0x9999, len(one)) + one
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(info, "nothing to hide")
    data = held.getvalue()
    if place == "between":
        at, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
        listed_at = struct.pack("<I", at + len(one))
        data = data[:at] + one + data[at : end + 16] + listed_at + data[end + 20 :]
    data += one if place == "behind" else b""
    folder = make_run(settings.runs / "demo", files={"files/a.zip": data})
    rules = [span.rule for span in Hiding(Redact()).of(folder).files.get("files/a.zip", ())]

    assert rules == ([] if place == "nowhere" else ["archive"])


@pytest.mark.parametrize(
    "start", [struct.pack("<20H", *range(1, 21)), struct.pack(">9H", *range(9)), b"\xff\xfe\x80\n"]
)
def test_bytes_that_begin_like_wide_characters_are_looked_at_as_they_are(
    settings: Settings, make_run: MakeRun, start: bytes
) -> None:
    one = planted(4, "openai project")
    folder = make_run(
        settings.runs / "demo", run_id="one",
        files={"files/a.bin": start + one.text.encode() + b"\n/home/marianne/a\n"},
    )  # fmt: skip
    built = build(settings)
    raw = (built.out / "runs" / "one" / "raw" / "files" / "a.bin.txt").read_bytes()

    assert places_of(built.out, one.secret) == []
    assert raw.startswith(start)
    assert raw.endswith(b"\n/home/xxxxxxxx/a\n")
    assert (folder / "files" / "a.bin").stat().st_size == len(raw)


def test_of_a_zip_archive_the_members_are_covered(settings: Settings, make_run: MakeRun) -> None:
    one = planted(4, "openai project")
    folder = make_run(
        settings.runs / "demo",
        run_id="one",
        files={"files/a.zip": packed("zip", one.secret), "check.log": one.text.encode()},
    )
    built = build(settings)
    raw = built.out / "runs" / "one" / "raw" / "files" / "a.zip.txt"
    with zipfile.ZipFile(raw) as archive:
        shown = archive.read("a.txt")
    (held,) = [file for file in told(built) if file["file"] == "files/a.zip"]

    assert shown == packed_text("(redacted)".ljust(len(one.secret), "x"))
    assert places_of(built.out, one.secret) == []
    assert held["hits"] == {"openai-key": 1}
    assert held["after"] == hashlib.sha256(raw.read_bytes()).hexdigest()
    assert held["before"] == hashlib.sha256((folder / "files" / "a.zip").read_bytes()).hexdigest()
    assert tree(build(settings, fresh=True).out) == tree(built.out)


def test_members_that_zstandard_packed_are_covered_too(
    settings: Settings, make_run: MakeRun
) -> None:
    one = planted(4, "openai project")
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    data = zstd(("header.json", header), ("samples/1_epoch_1.json", {"input": one.secret}))
    name = "transcript/logs/a.eval"
    make_run(settings.runs / "demo", run_id="one", harness="inspect", files={name: data})
    built = build(settings)
    (raw,) = (built.out / "runs" / "one" / "raw" / "transcript" / "logs").iterdir()
    with zipfile.ZipFile(raw) as archive:
        shown = json.loads(archive.read("samples/1_epoch_1.json"))

    assert shown == {"input": "(redacted)".ljust(len(one.secret), "x")}
    assert places_of(built.out, one.secret) == []


def test_what_is_allowed_within_an_archive_stays(settings: Settings, make_run: MakeRun) -> None:
    one = planted(4, "openai project")
    folder = make_run(settings.runs / "demo", files={"files/a.zip": packed("zip", one.secret)})

    assert Hiding(Redact()).of(folder).files
    assert not Hiding(Redact(allow=(Allowed(text=one.secret),))).of(folder).files


def packed_text(text: str) -> bytes:
    """What the archive of a text holds."""
    return f"it is {text} there".encode()


def packed(how: str, text: str) -> bytes:
    """A text in an archive."""
    data = packed_text(text)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", data)
    ways: Mapping[str, bytes] = {
        "zip": held.getvalue(),
        "gzip": gzip.compress(data),
        "bz2": bz2.compress(data),
        "xz": lzma.compress(data),
        "broken": held.getvalue()[:-30],
        "sealed": b"7z\xbc\xaf\x27\x1c" + bytes(40),
    }
    return ways[how]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(*chunks: bytes) -> bytes:
    size = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    dot = _chunk(b"IHDR", size), *chunks, _chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"".join((b"\x89PNG\r\n\x1a\n", *dot, _chunk(b"IEND", b"")))


TEXTS = {
    "zTXt": lambda text: _chunk(b"zTXt", b"Comment\0\0" + zlib.compress(text)),
    "iCCP": lambda text: _chunk(b"iCCP", b"profile\0\0" + zlib.compress(text)),
    "iTXt, compressed": lambda text: _chunk(
        b"iTXt", b"Comment\0\x01\0en\0Bemerkung\0" + zlib.compress(text)
    ),
}


@pytest.mark.parametrize("how", list(TEXTS))
@pytest.mark.parametrize("value", [None, "mail to rowan.hale@some-lab.io"])
def test_a_png_whose_compressed_text_holds_something_to_hide_is_withheld(
    settings: Settings, make_run: MakeRun, how: str, value: str | None
) -> None:
    text = f"it is {planted(4, 'openai project').secret} " if value is None else value
    data = _png(TEXTS[how](b"drawn at noon"), TEXTS[how](text.encode()))
    folder = make_run(settings.runs / "demo", run_id="one", files={"files/a.png": data})
    plain = _png(TEXTS[how](b"drawn at noon"))
    clean = make_run(settings.runs / "demo", files={"files/a.png": plain})

    assert [span.rule for span in Hiding(Redact()).of(folder).files["files/a.png"]] == ["archive"]
    assert Hiding(Redact()).of(clean).files == {}


def test_a_text_of_a_png_that_stands_there_as_it_is_is_covered_alone(
    settings: Settings, make_run: MakeRun
) -> None:
    one = planted(4, "openai project")
    said = b"it is " + one.secret.encode() + b" "
    plain = _chunk(b"tEXt", b"Comment\0" + said)
    plain += _chunk(b"iTXt", b"Comment\0\0\0en\0Bemerkung\0" + said)
    data = _png(plain)
    folder = make_run(settings.runs / "demo", files={"files/a.png": data})
    spans = Hiding(Redact()).of(folder).files["files/a.png"]

    assert [data[span.start : span.end].decode() for span in spans] == [one.secret, one.secret]


@pytest.mark.parametrize(
    "chunk",
    [
        _chunk(b"zTXt", b"Comment\0\0no zlib"),
        struct.pack(">I", 2**31) + b"zTXt" + b"cut",
        _chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"x" * (archives.MEMBER + 1))),
    ],
    ids=["broken", "cut", "bomb"],
)
def test_a_png_that_nobody_can_look_into_is_withheld(
    settings: Settings, make_run: MakeRun, chunk: bytes
) -> None:
    data = b"\x89PNG\r\n\x1a\n" + chunk
    folder = make_run(settings.runs / "demo", files={"files/a.png": data})

    assert Hiding(Redact()).of(folder).files["files/a.png"] == (Span(0, len(data), "archive"),)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n\0\0\0\x05IDATab"])
def test_a_png_that_is_cut_is_shown(settings: Settings, make_run: MakeRun, data: bytes) -> None:
    folder = make_run(settings.runs / "demo", files={"files/a.png": data})

    assert Hiding(Redact()).of(folder).files == {}
