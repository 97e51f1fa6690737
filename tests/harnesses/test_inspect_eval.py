"""Inspect's archives: zip files of JSON documents, sound, broken and hostile."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kbsite.harnesses import bounds
from kbsite.harnesses.form import Format
from kbsite.harnesses.inspect import FORMATS, archive
from kbsite.harnesses.inspect import log as inspect_log
from kbsite.harnesses.inspect.archive import Member, members
from kbsite.importers.recognition import recognised
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
from kbsite.model.status import EndReason
from kbsite.store import zipped
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


def zstd(*held: tuple[str, Any], frames: int = 1, spoilt: bool = False) -> bytes:
    """An archive as Inspect packs it since 2026: zipfile cannot write one."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, value in held:
            told = (value if isinstance(value, str) else json.dumps(value)).encode()
            step = -(-len(told) // frames) or 1
            parts = [told[at : at + step] for at in range(0, max(len(told), 1), step)]
            packed_ = b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)
            archive.writestr(name, packed_)
            info = archive.infolist()[-1]
            info.compress_type, info.file_size = 93, len(told)
            info.CRC = 1 if spoilt else zlib.crc32(told)
    return made.getvalue()


@pytest.mark.parametrize("frames", [1, 3])
def test_members_that_are_packed_with_zstandard_are_read(tmp_path: Path, frames: int) -> None:
    data = zstd(("header.json", HEADER), (SAMPLE, sample(said("user", "ä" * 999))), frames=frames)
    events = read(EVAL_LOG, data, "eval/a.eval")

    assert one(Message, events).text == "ä" * 999
    assert problems(events) == []
    (tmp_path / "a.eval").write_bytes(data)
    assert import_transcripts([tmp_path / "a.eval"], tmp_path / "mine").is_dir()


def test_a_member_with_a_wrong_checksum_is_told_if_it_is_packed_with_zstandard() -> None:
    data = zstd((SAMPLE, sample()), spoilt=True)

    assert problems(read(EVAL_LOG, data, "a.eval")) == [
        (SAMPLE, f"broken: Bad CRC-32 for file {SAMPLE!r}")
    ]


def test_any_byte_of_an_archive_that_is_packed_with_zstandard_may_be_wrong() -> None:
    data = zstd(("header.json", HEADER), (SAMPLE, sample(said("user", "a"))))
    for at in range(len(data)):
        assert read(EVAL_LOG, data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :], "a.eval")


def test_a_member_that_zstandard_packed_too_densely_is_not_read() -> None:
    bomb = '{"id": "' + " " * (archive.SMALL + archive.RATIO * 20_000) + '"}'
    events = read(EVAL_LOG, zstd((SAMPLE, bomb)), "a.eval")

    assert problems(events) == [(SAMPLE, "more than 400 times larger than packed")]


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (95, "packed with XZ, which cannot be unpacked here"),
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


def test_a_member_of_more_values_than_are_read_is_told_and_the_log_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bounds, "MOST", 100)
    crowded = sample(said("user", "a"), metadata={"x": [[]] * 100})
    held = (("header.json", HEADER), (SAMPLE, crowded))

    assert problems(told(*held)) == [(SAMPLE, "more than 100 values")]
    path = tmp_path / "a.eval"
    path.write_bytes(packed(*held))
    assert recognised(path, FORMATS[0]), "a log is one though its only sample cannot be read"


def test_an_archive_is_read_up_to_a_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_log, "MOST_VALUES", 3_000)
    held = [(f"samples/{n}_epoch_1.json", sample(metadata={"x": [0] * 1_000})) for n in range(4)]
    events = told(("header.json", HEADER), *held)

    beyond = f"beyond the {20_000_000} values that are read of an archive"
    assert problems(events) == [
        ("samples/2_epoch_1.json", beyond),
        ("samples/3_epoch_1.json", beyond),
    ]


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


# Samples in parts


WHOLE = "samples/a/b_epoch_2"
"""The folder of a sample in parts; ids may have any sign."""


def in_parts(**more: Any) -> list[tuple[str, Any]]:
    pool = [
        said("user", "q", id="1"),
        said("assistant", "attachment://1", id="2"),
        said("user", "z"),
    ]
    event = {"event": "info", "data": "attachment://0"}
    shell = {"id": "a/b", "epoch": 2, "message_refs": [[0, 2], [0, 1]]}
    return [
        (f"{WHOLE}/events/1.json", [{"event": "info", "data": "second"}]),
        (f"{WHOLE}/events/0.json", [event]),
        (f"{WHOLE}/events/stats.json", {"version": 1}),
        (f"{WHOLE}/events/uuids.json", []),
        (f"{WHOLE}/skeleton.json", {}),
        (f"{WHOLE}/metadata.json", {"m": 1}),
        (f"{WHOLE}/messages/0.json", pool[:1]),
        (f"{WHOLE}/messages/1.json", pool[1:]),
        (f"{WHOLE}/attachments/0.json", ["first", "answer"]),
        (f"{WHOLE}/sample.json", shell | more),
    ]


def test_a_sample_in_parts_is_put_together() -> None:
    events = told(("header.json", HEADER), *in_parts(), (SAMPLE, sample(said("user", "next"))))

    assert [m.text for m in of(Message, events)] == ["q", "answer", "q", "next"]
    assert [n.text for n in of(Notice, events)][:3] == ["Sample a/b, epoch 2", "first", "second"]
    assert not of(Unknown, events)
    assert not problems(events)
    assert json.loads(of(Notice, events)[0].raw)["metadata"] == {"m": 1}


def test_a_part_that_is_none_is_told_and_the_others_are_read() -> None:
    parts = [(n, "{" if n.endswith("stats.json") else v) for n, v in in_parts()]
    parts = [(n, 1 if n.endswith("events/0.json") else v) for n, v in parts]
    events = told(*parts)

    assert problems(events)[0] == (f"{WHOLE}/events/0.json", "not what its name says")
    assert [m.text for m in of(Message, events)] == ["q", "answer", "q"]


def test_a_sample_in_parts_is_read_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 150)
    events = told(*in_parts())

    told_ = {why for _, why in problems(events)}
    assert told_ == {"beyond the 150 bytes that are read of a sample"}


def test_a_sample_in_parts_that_repeats_itself_is_read_up_to_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 100_000)
    events = told(*in_parts(message_refs=[[0, 3]] * 5000))

    assert problems(events) == [(WHOLE, "names more than 100000 bytes of messages")]
    assert 100 < len(of(Message, events)) < 2000


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


@pytest.mark.parametrize("more", [[], [(SAMPLE, sample(said("user", "a")))]])
def test_a_log_that_was_killed_imports_as_a_run(tmp_path: Path, more: list[Any]) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(zstd(("_journal/start.json", {"version": 2, "eval": EVAL, "plan": {}}), *more))
    run = read_run(import_transcripts([path], tmp_path / "mine"))

    assert (run.run.harness, run.run.model) == ("inspect", "lab/m-1")
    assert run.run.end_reason is EndReason.UNKNOWN
    assert [file.name for file in run.transcripts] == ["eval/a.eval"]


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


def test_a_list_of_very_many_members_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "LISTED", 10_000)
    large = sample(said("user", "x" * 20_000))
    few = told(("header.json", HEADER), (SAMPLE, large), method=zipfile.ZIP_STORED)
    many = told(("header.json", HEADER), *((f"samples/{n}.json", "{}") for n in range(200)))

    assert not problems(few), "a member may be larger than the list of all"
    assert problems(many) == [
        (
            "the archive",
            "no zip file that can be read: its list of members is larger than 10000 bytes",
        )
    ]


def test_the_time_of_a_sample_that_is_alone_begins_with_it() -> None:
    """It may have waited for others: that the evaluation began before is none of its time."""
    begun = {"created": "2026-01-02T00:00:00+00:00", "task": "t", "model": "m"}
    head = ("header.json", {"status": "success", "plan": {}, "eval": begun})
    own = {"id": "a", "epoch": 1, "started_at": "2026-01-02T03:00:00+00:00", "messages": []}
    samples = [(f"samples/{name}_epoch_1.json", own) for name in ("a", "b")]

    assert one(Session, told(head, samples[0])).at is None
    assert one(Session, told(head, *samples)).at is not None
