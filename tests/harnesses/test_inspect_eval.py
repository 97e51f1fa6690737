"""Inspect's archives: zip files of JSON documents, sound, broken and hostile."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kbsite.harnesses.form import Format
from kbsite.harnesses.inspect import FORMATS, archive
from kbsite.harnesses.inspect.archive import Member, members
from kbsite.importers.transcript import import_transcripts
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Session,
    Topic,
    Trace,
    Unknown,
)
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import read_run
from kbsite.transcripts import transcript
from tests.harnesses.reading import CORPUS, beside, of, one, read
from tests.harnesses.test_inspect import EVAL, log, said, sample

EVAL_LOG, JSON_LOG = FORMATS
HEADER = {"version": 2, "status": "success", "eval": EVAL}
SAMPLE = "samples/1_epoch_1.json"


def packed(*held: tuple[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these members; what is no text is written as JSON."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as made:
        for name, value in held:
            made.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return data.getvalue()


def told(*held: tuple[str, Any], method: int = zipfile.ZIP_DEFLATED) -> list[Event]:
    return read(EVAL_LOG, packed(*held, method=method), "eval/a.eval")


def problems(events: list[Event]) -> list[tuple[str, str]]:
    return [(bad.text, bad.reason) for bad in of(Malformed, events)]


def test_an_archive_tells_what_the_plain_log_of_its_parts_tells() -> None:
    samples = [sample(said("user", "a")), sample(said("user", "b"), said("assistant", "c"))]
    numbered = [(f"samples/{n}_epoch_1.json", one) for n, one in enumerate(samples)]
    events = told(*numbered, ("header.json", HEADER))

    plain = read(JSON_LOG, json.dumps(log(*samples)), "log/a.json")
    assert [event.kind for event in events] == [event.kind for event in plain]
    assert [m.text for m in of(Message, events)] == ["a", "b", "c"]
    assert [m.agent for m in of(Message, events)] == ["", "sample 2", "sample 2"]
    assert one(AgentStart, events).child == "sample 2"
    assert one(Session, events).session_id == "r-1"
    assert one(Finish, events).ok is True
    assert len({event.source for event in events}) == len(events)


def test_members_that_repeat_the_others_are_bookkeeping() -> None:
    events = told(
        ("header.json", HEADER), ("_journal/start.json", HEADER), ("summaries.json", []),
        ("reductions.json", []), ("_journal/summaries/1.json", []), ("samples/", ""),
    )  # fmt: skip

    kept = ["_journal/start.json", "samples/", "summaries.json", "reductions.json",
            "_journal/summaries/1.json"]  # fmt: skip
    assert sorted(trace.type for trace in of(Trace, events)) == sorted(kept)
    assert not of(Unknown, events)


def test_a_log_that_was_not_finished_has_no_end() -> None:
    start = {"version": 2, "eval": EVAL}
    events = told((SAMPLE, sample(said("user", "a"))), ("_journal/start.json", start))

    assert [event.kind for event in events[:2]] == ["session", "notice"]
    assert one(Session, events).model == "lab/m-1"
    assert of(Notice, events)[0].topic is Topic.INTERRUPTION
    assert one(Message, events).text == "a"
    assert not of(Finish, events)


@pytest.mark.parametrize("name", ["../../x.json", "/etc/x.json", "a\\b.json", "x\n.txt", "ü.bin"])
def test_a_member_of_an_odd_name_is_shown_as_it_is(name: str) -> None:
    events = told(("header.json", HEADER), (name, '"what it holds"'))

    unknown = one(Unknown, events)
    assert unknown.type == f"member {name}"
    assert unknown.raw == '"what it holds"'


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_members_are_read_however_they_are_packed(method: int) -> None:
    events = told((SAMPLE, sample(said("user", "a"))), method=method)

    assert one(Message, events).text == "a"


def renamed(data: bytes, local: int, central: int, value: bytes) -> bytes:
    """An archive of one member with bytes of both of its heads exchanged."""
    at = data.index(b"PK\x01\x02") + central
    return data[:local] + value + data[local + len(value) : at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (93, "packed with Zstandard, which cannot be unpacked here"),
        (77, "packed with method 77, which cannot be unpacked here"),
    ],
)
def test_a_member_that_is_packed_in_another_way_is_told(method: int, why: str) -> None:
    data = renamed(packed((SAMPLE, {})), 8, 10, method.to_bytes(2, "little"))

    assert problems(read(EVAL_LOG, data, "eval/a.eval")) == [(SAMPLE, why)]


def test_an_encrypted_member_is_told() -> None:
    data = renamed(packed((SAMPLE, {})), 6, 8, b"\x01\0")

    assert problems(read(EVAL_LOG, data, "eval/a.eval")) == [(SAMPLE, "encrypted")]


def test_a_member_with_a_wrong_checksum_is_told_and_the_others_are_read() -> None:
    data = packed(("header.json", HEADER), (SAMPLE, {"id": "x" * 99}), method=zipfile.ZIP_STORED)
    events = read(EVAL_LOG, data.replace(b"xxx", b"xyx", 1), "eval/a.eval")

    ((name, why),) = problems(events)
    assert name == SAMPLE
    assert why.startswith("broken: Bad CRC-32")
    assert one(Finish, events).ok is True


@pytest.mark.parametrize("left", [2, 30, 100, -30, -1])
def test_a_broken_archive_is_told_and_nothing_raises(left: int) -> None:
    events = read(EVAL_LOG, packed(("header.json", HEADER), (SAMPLE, sample()))[:left], "a.eval")

    ((name, why),) = problems(events)
    assert name == "the archive"
    assert why.startswith("no zip file that can be read: ")


def test_any_byte_may_be_wrong() -> None:
    data = packed(("header.json", HEADER), (SAMPLE, sample(said("user", "a"))))
    for at in range(len(data)):
        events = read(EVAL_LOG, data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :], "a.eval")
        assert events


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "", "nothing", '"text"', "[1]", "null"])
def test_a_sample_that_is_none_is_shown_as_it_is(text: str) -> None:
    events = told(("header.json", HEADER), (SAMPLE, text))

    shown = [bad.text for bad in of(Malformed, events)] + [un.raw for un in of(Unknown, events)]
    assert len(shown) == 1
    assert text in shown[0]


def test_two_members_of_one_name_are_both_read() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = packed((SAMPLE, sample(said("user", "a"))), (SAMPLE, sample(said("user", "b"))))

    assert [m.text for m in of(Message, read(EVAL_LOG, data, "a.eval"))] == ["a", "b"]


# Bombs


def test_a_member_that_swells_too_much_is_not_read() -> None:
    bomb = '{"id": "' + " " * (archive.SMALL + archive.RATIO * 20_000) + '"}'
    events = told((SAMPLE, bomb), ("samples/2_epoch_1.json", sample(said("user", "a"))))

    assert problems(events) == [(SAMPLE, "more than 400 times larger than packed")]
    assert one(Message, events).text == "a"


def test_a_member_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 100)

    assert problems(told((SAMPLE, {"id": "x" * 100}))) == [(SAMPLE, "larger than 100 bytes")]


def test_an_archive_is_read_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ARCHIVE_BYTES", 300)
    names = [f"samples/{number}.json" for number in range(4)]
    data = packed(*((name, json.dumps({"id": "x" * 100})) for name in names))
    held = [m for m in members(io.BytesIO(data)) if isinstance(m, Member)]

    assert [m.name for m in held if not m.problem] == names[:2]
    assert {m.problem for m in held[2:]} == {"beyond the 300 bytes that are read of an archive"}


def test_members_beyond_a_number_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBERS", 3)
    events = told(*((f"samples/{number}.json", sample()) for number in range(10)))

    assert problems(events) == [("7 more members", "only 3 members of an archive are read")]


def test_what_the_list_says_of_a_size_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed((SAMPLE, {"id": "x" * 5000}), method=zipfile.ZIP_STORED)
    size = len(json.dumps({"id": "x" * 5000})).to_bytes(4, "little")
    monkeypatch.setattr(archive, "MEMBER_BYTES", 1000)

    events = read(EVAL_LOG, data.replace(size, b"\x01\0\0\0"), "a.eval")

    ((name, _),) = problems(events)
    assert name == SAMPLE


# Files


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_a_plain_log_is_read_whatever_its_name_says(form: Format) -> None:
    events = read(form, json.dumps(log(sample(said("user", "a")))), "eval/a.eval")

    assert one(Message, events).text == "a"


def test_an_archive_imports_as_a_run(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(packed((SAMPLE, sample(said("user", "a"))), ("header.json", HEADER)))
    run = read_run(import_transcripts([path], tmp_path / "mine"))

    assert (run.run.harness, run.run.model) == ("inspect", "lab/m-1")
    assert [file.name for file in run.transcripts] == ["eval/a.eval"]
    assert run.transcripts[0].path.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("held", [b"PK", b"PK\x03\x04 and no more", packed(("x.json", {}))])
def test_another_archive_is_not_imported(tmp_path: Path, held: bytes) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(held)

    with pytest.raises(InvalidFileError, match="not recognised as a transcript"):
        import_transcripts([path], tmp_path / "mine")


@pytest.mark.parametrize("more", [{}, {"samples": None}, {"samples": []}, log(sample())])
def test_a_plain_log_is_no_archive_even_if_it_has_no_samples(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(HEADER | more))
    run = read_run(import_transcripts([path], tmp_path / "mine"))

    assert [file.name for file in run.transcripts] == ["log/a.json"]
    assert not EVAL_LOG.recognises([HEADER | more])


def test_members_of_an_archive_are_no_plain_log() -> None:
    members_of_it = [HEADER, {"version": 2, "eval": EVAL}, sample()]

    assert [form.id for form in FORMATS if form.recognises(members_of_it)] == ["inspect-eval"]


@beside
@pytest.mark.parametrize(
    "path", sorted((CORPUS / "inspect-eval").rglob("*.eval")), ids=lambda path: path.name[:40]
)
def test_every_sample_of_an_archive_is_an_agent(tmp_path: Path, path: Path) -> None:
    run = read_run(import_transcripts([path], tmp_path / "mine"))
    with zipfile.ZipFile(path) as held:
        samples = [name for name in held.namelist() if name.startswith("samples/")]

    shown = transcript("inspect", run.transcripts)

    assert shown is not None
    agents = [log.id for log in shown.agents if "beside" not in log.id]
    assert len(agents) == len(samples)
    assert not shown.malformed
    assert not shown.unknown
