"""A quote is proven where it stands, and nowhere else."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from kbsite import transcripts
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs import MOST, proofs
from kbsite.proofs import events as events_module
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.snapshot_diffs import snapshot_diff
from tests.conftest import MakeRun

SOLUTION = """\
import torch

def load(x):
    for i in range(4):
        if x:
            y = x[i]

        z = y
    return z

def max_value(x):
    return x
    for i in range(4):
        if x:
"""

ROWS = [
    {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "cwd": "/w"},
    {
        "type": "assistant",
        "message": {
            "id": "m1",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I cache the output\nby its address, in “vals”."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls /x"}},
            ],
        },
    },
    {
        "type": "user",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "check.py\nkey"}],
        },
    },
]
LOG = "".join(f"{json.dumps(row)}\n" for row in ROWS).encode()
PROVEN, ELSEWHERE, DIFFERS = ProofState.PROVEN, ProofState.ELSEWHERE, ProofState.DIFFERS
NO_FILE, NO_LINE = ProofState.NO_FILE, ProofState.NO_LINE


class Quoted(Protocol):
    def __call__(self, *quotes: dict[str, Any], **files: Any) -> tuple[Proof, ...]: ...


@pytest.fixture(name="stored")
def _stored(tmp_path: Path, make_run: MakeRun) -> Any:
    def make(*quotes: dict[str, Any], files: dict[str, bytes] | None = None) -> StoredRun:
        held = {"solution.py": SOLUTION.encode(), "check.log": b"\xef\xbb\xbfPASS  \r\nok\r\n"}
        folder = make_run(
            tmp_path / "demo",
            audit={"quotes": list(quotes)},
            files={**held, **(files or {})},
            transcript={"stdout.jsonl": LOG},
        )
        return read_run(folder)

    return make


def one(stored: Any, text: str, *lines: int, file: str = "solution.py") -> Proof:
    (proof,) = proofs(stored({"file": file, "lines": list(lines), "text": text}))
    return proof


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("    for i in range(4):\n        if x:\n            y = x[i]", (4, 6)),
        ("for i in range(4):\n    if x:\n        y = x[i]\n", (4, 6)),
        ("  for i in range(4):\n      if x:\n          y = x[i]\n\n", (4, 6)),
        ("\ny = x[i]\t\r\n\r\nz = y", ()),
        ("    y = x[i]\n\nz = y", (6, 8)),
        ("z = y", (8,)),
        ("z = y", (8, 8)),
        ("    z = y  ", (8,)),
        ("range(4):\n        if x:", (4, 5)),
        ("range(4):\n    if x:", (4, 5)),
        ("for i in range(4):\n    if", (4, 5)),
        ("x[i]", (6,)),
    ],
)
def test_a_passage_stands_where_it_stands(stored: Any, text: str, lines: tuple[int, ...]) -> None:
    proof = one(stored, text, *(lines or (6, 8)))
    assert proof.proven is bool(lines)
    assert (proof.found, proof.lines) == ("", ()) or not lines


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(4):\n      if x:\n          y = x[i]",
        "for i in range(4):\n        if x:\n        y = x[i]",
        "for i in range(4):\nif x:\n    y = x[i]",
        "    for i in range(4):\n    if x:\n        y = x[i]",
        "      for i in range(4):\n          if x:\n              y = x[i]",
        "for i in range(4):\n    if x:\n        y = x[j]",
        "for i in range(4):\n    if x:\n\n        y = x[i]",
        "for i in range(4):\n\tif x:\n\t\ty = x[i]",
        "for i in range(4): if x: y = x[i]",
        "for  i in range(4):\n    if x:\n        y = x[i]",
        "or i in range(4):\n    if x:\n        y = x[i]",
        "for i in range(4):\n    if x:\n        y = x[i",
    ],
)
def test_what_is_not_the_same_stands_nowhere(stored: Any, text: str) -> None:
    proof = one(stored, text, 4, 6)
    if text.endswith("x[i"):
        assert proof.state is PROVEN  # it ends where no word goes on
        return
    assert (proof.state, proof.lines) == (DIFFERS, ())
    assert proof.found == "    for i in range(4):\n        if x:\n            y = x[i]"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("for i in range(4):\n        if x:\n            y = x[i]", (4, 6)),
        ("\n  for i in range(4):\n        if x:", (4, 5)),
        # Shown as it is quoted, the last line would be one of the condition's.
        ("if x:\n            y = x[i]\n\n        z = y", (5, 8)),
        ("z = y\n    return", (8, 9)),
    ],
)
def test_indentation_that_a_mouse_left_before_the_first_line_is_put_back(
    stored: Any, text: str, lines: tuple[int, int]
) -> None:
    proof = one(stored, text, *lines)
    whole = "\n".join(SOLUTION.split("\n")[lines[0] - 1 : lines[1]])
    assert (proof.state, proof.quote.text) == (PROVEN, whole.removesuffix(" z"))
    assert one(stored, text, 1, 2).lines == lines


def test_blank_lines_around_a_passage_may_be_cited(stored: Any) -> None:
    assert one(stored, "y = x[i]", 6, 7).proven
    assert one(stored, "\ny = x[i]\n\n", 6, 7).proven
    assert one(stored, "z = y", 7, 8).proven
    assert one(stored, "z = y", 8, 9).state is ELSEWHERE
    assert one(stored, "y = x[i]\n\nz = y", 6, 8).proven is False


def test_indentation_of_a_lone_line_may_be_missing_but_not_be_made_up(stored: Any) -> None:
    assert one(stored, "        z = y", 8).proven
    assert one(stored, "    z = y", 8).proven
    assert one(stored, "            z = y", 8).state is DIFFERS
    assert one(stored, "\tz = y", 8).state is DIFFERS


@pytest.mark.parametrize(("text", "lines"), [("max", 11), ("alue(x)", 11), ("eturn z", 9)])
def test_a_passage_does_not_end_within_a_word(stored: Any, text: str, lines: int) -> None:
    assert one(stored, text, lines).state is DIFFERS


def test_any_other_line_than_where_it_stands_is_wrong(stored: Any) -> None:
    text = "for i in range(4):\n    if x:"
    for lines in ((3, 5), (4, 6), (5, 6), (4, 4), (4,), (3, 4)):
        proof = one(stored, text, *lines)
        assert (proof.state, proof.lines) == (ELSEWHERE, (4, 5)), lines
    assert one(stored, text, 4, 5).proven
    assert one(stored, text, 13, 14).proven
    assert one(stored, text, 11, 12).lines == (13, 14)
    assert one(stored, text, 900).lines == (13, 14)
    assert one(stored, text, 8, 9).lines == (4, 5)


def test_lines_that_there_are_not(stored: Any) -> None:
    assert one(stored, "nowhere", 14, 15).state is NO_LINE
    assert one(stored, "nowhere", 14).state is DIFFERS
    for lines in ((), (0,), (2, 1), (-1, 4), (1, 2, 3)):
        assert one(stored, "import torch", *lines).state is NO_LINE
    assert one(stored, " \n", 2).state is DIFFERS


@pytest.mark.parametrize(
    "file", ["solution", "../solution.py", "/etc/passwd", "audit.yaml", "", "transcript", "files/"]
)
def test_a_file_that_the_run_does_not_have(stored: Any, file: str) -> None:
    assert one(stored, "verdict: clean", 1, file=file).state is NO_FILE


def test_a_link_is_not_followed(stored: Any, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    run = stored({"file": "files/a", "lines": [1], "text": "secret"})
    (run.folder / "files").mkdir()
    (run.folder / "files" / "a").symlink_to(tmp_path / "secret")
    assert proofs(read_run(run.folder))[0].state is NO_FILE


def test_the_kind_of_line_end_does_not_count(stored: Any) -> None:
    assert one(stored, "PASS\nok", 1, 2, file="check.log").proven
    assert one(stored, "PASS\r\nok", 1, 2, file="check.log").proven
    assert one(stored, "PASSok", 1, 2, file="check.log").state is DIFFERS


def test_the_colours_of_a_log_do_not_count(stored: Any) -> None:
    coloured = b"one\n\x1b[31mtwo \x1b[0m\x1b[1;32mthree\x1b[m\n"
    quote = {"lines": [1, 2], "text": "one\ntwo three"}
    found = proofs(
        stored(
            {**quote, "file": "check.log"},
            {**quote, "file": "files/a"},
            files={"check.log": coloured, "files/a": coloured},
        )
    )
    assert [proof.state for proof in found] == [PROVEN, DIFFERS]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("I cache the output\nby its address", (2,)),
        ("cache the output by its   address, in “vals”.", (2, 2)),
        ('{"type": "text"', (2,)),
        ("check.py\nkey", (3,)),
    ],
)
def test_a_text_within_a_row_of_a_transcript(
    stored: Any, text: str, lines: tuple[int, ...]
) -> None:
    log = "transcript/stdout.jsonl"
    assert one(stored, text, *lines, file=log).proven
    assert one(stored, text, 1, file=log).lines == lines[:1]
    assert one(stored, text, 1, 3, file=log).lines == lines[:1]
    assert one(stored, text.replace("e", "E"), *lines, file=log).state is DIFFERS


@pytest.mark.parametrize("place", [{"lines": [1]}, {"event": "L1"}])
def test_the_colours_of_what_a_tool_printed_do_not_count(
    stored: Any, place: dict[str, Any]
) -> None:
    printed = "\x1b[32mPASS\x1b[0m all \x1b[1mfive\x1b[0m shapes"
    told = [{"type": "tool_result", "tool_use_id": "t1", "content": printed}]
    row = {"type": "user", "message": {"role": "user", "content": told}}
    log = {"transcript/stdout.jsonl": json.dumps(row).encode()}
    quote = {"file": "transcript/stdout.jsonl", **place}
    texts = ("PASS all five shapes", "five", printed, "all \x1b[31mfive", "mfive", "PASS five")
    found = proofs(stored(*({**quote, "text": text} for text in texts), files=log))
    assert [proof.state for proof in found] == [PROVEN] * 4 + [DIFFERS] * 2


def event(stored: Any, text: str, anchor: str, file: str = "transcript/stdout.jsonl") -> Proof:
    (proof,) = proofs(stored({"file": file, "event": anchor, "text": text}))
    return proof


def test_a_text_of_an_event(stored: Any) -> None:
    assert event(stored, "by its address", "L2").proven
    assert event(stored, "ls /x", "L2-1").proven
    assert event(stored, "check.py key", "L3").proven
    for anchor in ("L2-1", "L3", "L3x2"):
        proof = event(stored, "by its address", anchor)
        assert (proof.state, proof.event, proof.lines) == (ELSEWHERE, "L2", ())
    proof = event(stored, "not said", "L3")
    assert (proof.state, "check.py\nkey" in proof.found) == (DIFFERS, True)


def test_a_text_that_several_events_hold_is_told_by_the_nearest_one(
    tmp_path: Path, make_run: MakeRun
) -> None:
    def row(number: int, *content: dict[str, Any]) -> dict[str, Any]:
        message = {"id": f"m{number}", "role": "assistant", "content": list(content)}
        return {"type": "assistant", "message": message}

    held = {"todos": [{"content": "measure it by hand"}]}
    call = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": held}
    texts = {2: "said again", 3: "not that", 6: "said again"}
    says = [
        row(n, {"type": "text", "text": texts.get(n, "hm")}) for n in range(2, 7)
    ]  # fmt: skip
    log = "".join(f"{json.dumps(one)}\n" for one in (ROWS[0], *says, row(7, call)))
    cited = {"L2": "said again", "L6": "said again", "L5": "said again", "L3": "said again",
             "L7": "measure it by hand", "L4": "measure it by hand"}  # fmt: skip
    quotes = [
        {"file": "transcript/stdout.jsonl", "event": anchor, "text": text}
        for anchor, text in cited.items()
    ]
    folder = make_run(
        tmp_path / "demo", audit={"quotes": quotes}, transcript={"stdout.jsonl": log.encode()}
    )
    found = dict(zip(cited, proofs(read_run(folder)), strict=True))

    assert [anchor for anchor, proof in found.items() if proof.proven] == ["L2", "L6", "L7"]
    elsewhere = {anchor: proof.event for anchor, proof in found.items() if not proof.proven}
    assert elsewhere == {"L5": "L6", "L3": "L2", "L4": "L7"}


@pytest.mark.parametrize(
    "anchor", ["L9", "L2-7", "M2", "L", "l2", "f0123456789ab-L2", "L2 ", "#L2"]
)
def test_an_event_that_there_is_not(stored: Any, anchor: str) -> None:
    assert event(stored, "not said", anchor).state is NO_LINE


def test_an_event_stands_in_no_other_file(stored: Any) -> None:
    assert event(stored, "import torch", "L1", "solution.py").state is NO_LINE
    assert event(stored, "import torch", "L1", "transcript/lost").state is NO_FILE
    both = {"file": "transcript/stdout.jsonl", "event": "L2", "lines": [2], "text": "cache"}
    assert proofs(stored(both))[0].state is NO_LINE


def test_an_event_is_told_by_its_line_alone_where_that_is_enough(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "LARGEST", 10)
    assert event(stored, "by its address", "L2").proven
    assert event(stored, "by its address", "L3").state is DIFFERS
    assert event(stored, "by its address", "L4").state is NO_LINE


def test_events_of_further_files_carry_the_file_s_sign(tmp_path: Path, make_run: MakeRun) -> None:
    def row(text: str, agent: str) -> bytes:
        whole = {"type": "assistant", "uuid": text, "sessionId": "s", "isSidechain": bool(agent),
                 "agentId": agent, "timestamp": "2026-01-02T03:04:05Z",
                 "message": {"id": text, "role": "assistant",
                             "content": [{"type": "text", "text": text}]}}  # fmt: skip
        return json.dumps(whole).encode() + b"\n"

    home = "home/.claude/projects/p"
    names = [f"{home}/s.jsonl", f"{home}/s/subagents/agent-a1.jsonl"]
    sign = hashlib.sha256(names[1].encode()).hexdigest()[:12]
    quotes = [
        {"file": f"transcript/{name}", "event": anchor, "text": "said below"}
        for name in names
        for anchor in ("L1", f"f{sign}-L1")
    ]
    folder = make_run(
        tmp_path / "demo", audit={"quotes": quotes},
        transcript={names[0]: row("said above", ""), names[1]: row("said below", "a1")},
    )  # fmt: skip
    states = [proof.state for proof in proofs(read_run(folder))]
    assert states == [DIFFERS, NO_LINE, NO_LINE, PROVEN]


COPIES = {
    "snapshots/20260102T030405Z.py": b"a = 1\nb = 2\n",
    "snapshots/20260102T040405Z.py": b"a = 1\nb = 3\n",
}


def test_a_snapshot_and_what_changed_since_the_one_before(stored: Any) -> None:
    quotes = [
        {"file": "snapshots/20260102T040405Z.py", "lines": [2], "text": "b = 3"},
        {"file": "snapshots/20260102T040405Z.py.diff", "lines": [5, 6], "text": "-b = 2\n+b = 3"},
        {"file": "snapshots/20260102T040405Z.py.diff", "lines": [4, 5], "text": "-b = 2\n+b = 3"},
        {"file": "snapshots/20260102T030405Z.py.diff", "lines": [1], "text": "+a = 1"},
        {"file": "snapshots/20260102T050405Z.py.diff", "lines": [1], "text": "+a = 1"},
    ]
    run = stored(*quotes, files=COPIES)
    found = proofs(run)
    assert [proof.state for proof in found] == [PROVEN, PROVEN, ELSEWHERE, NO_LINE, NO_FILE]
    assert found[2].lines == (5, 6)
    assert (snapshot_diff(run, "snapshots/20260102T040405Z.py.diff") or "").splitlines() == [
        "--- snapshots/20260102T030405Z.py",
        "+++ snapshots/20260102T040405Z.py",
        "@@ -1,2 +1,2 @@",
        " a = 1",
        "-b = 2",
        "+b = 3",
    ]


def test_copies_too_alike_or_too_long_are_not_matched(stored: Any) -> None:
    many = {"snapshots/1.py": b"x\n" * 1000 + b"y\n", "snapshots/2.py": b"x\n" * 900 + b"z\n",
            "snapshots/3.py": b"x" * 600_000}  # fmt: skip
    run = stored(files=many)
    assert (snapshot_diff(run, "snapshots/2.py.diff") or "").count("\n") > 90
    assert snapshot_diff(run, "snapshots/3.py.diff") is None
    assert snapshot_diff(run, "snapshots/2.py") is None


def test_very_many_quotes_and_very_long_lines_are_bounded(stored: Any) -> None:
    long = b'{"a": "' + b"ab \\n" * 500_000 + b'end of it"}\n'
    quotes = [{"file": "transcript/x.jsonl", "lines": [1], "text": f"end of it {n}"}
              for n in range(MOST + 3)]  # fmt: skip
    quotes[0] |= {"text": "ab\nend of it"}
    found = proofs(stored(*quotes, files={"transcript/x.jsonl": long}))
    assert found[0].proven
    assert {proof.state for proof in found[1:]} == {DIFFERS}
    assert len(found) == MOST + 3
    assert all(len(proof.found) < 1100 for proof in found)


def test_a_line_that_stands_there_very_often_is_bounded(stored: Any) -> None:
    quotes = [{"file": "files/a", "lines": [n, n + 1], "text": "x\ny"} for n in range(1, 20)]
    found = proofs(stored(*quotes, files={"files/a": b"x\n" * 30_000}))
    assert {proof.state for proof in found} == {DIFFERS}


def test_many_quotes_of_events_read_a_file_once(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(name: str, *given: Any) -> Any:
        read.append(name)
        return getattr(transcripts, name)(*given)

    for name in ("events", "as_told"):
        monkeypatch.setattr(events_module, name, partial(counted, name))
    file = "transcript/stdout.jsonl"
    quotes = [{"file": file, "event": f"L{n % 4}", "text": "by its address"} for n in range(99)]
    found = proofs(stored(*quotes))
    assert len(read) == 2  # the main file is told by its first event
    assert [proof.state for proof in found[:4]] == [ELSEWHERE, ELSEWHERE, PROVEN, ELSEWHERE]


def test_a_passage_of_very_many_lines_is_bounded(stored: Any) -> None:
    quote = {"file": "files/a", "lines": [1], "text": "x\n" * 40_000 + "y"}
    found = proofs(stored(*[quote] * 3, files={"files/a": b"x\n" * 60_000}))
    assert {proof.state for proof in found} == {DIFFERS}
