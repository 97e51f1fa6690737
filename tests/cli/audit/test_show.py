"""`kbsite audit show`: everything to judge a run by, and nothing that acts on the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from kbsite.auditing.moves import Move, Moves
from kbsite.cli.audit.code import marks, sources
from kbsite.cli.audit.sheet import SAID, main_file
from kbsite.model.alarm import Alarm, Level
from kbsite.model.audit import Quote
from kbsite.model.finding import one_line
from kbsite.model.proof import Proof, ProofState
from kbsite.model.trajectory import Point, PointKind
from kbsite.store.runs import read_run
from tests.cli.audit.calling import called, started
from tests.cli.audit.terminals import after_the_bar, on_a_terminal
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.pages.test_costs import TWICE

HOSTILE = "\x1b]0;pwned\x07\x1b[2J\r\x9b31m\u202e\u200b\x00"


def row(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def said(*content: dict[str, Any], role: str = "assistant") -> bytes:
    return row(type=role, message={"id": "m", "role": role, "content": list(content)})


def session(
    text: str = "a = 1\n", output: str = "PASS\npeak_fraction: 0.42", end: str = ""
) -> bytes:
    write = {"file_path": "/w/solution.py", "content": text}
    return b"".join([
        row(type="system", subtype="init", session_id="s", model="m", cwd="/w", tools=[]),
        said({"type": "tool_use", "id": "t1", "name": "Write", "input": write}),
        said({"type": "tool_result", "tool_use_id": "t1", "content": "ok"}, role="user"),
        said({"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "./check"}}),
        said({"type": "tool_result", "tool_use_id": "t2", "content": output}, role="user"),
        row(type="result", subtype="success", is_error=False, result=end or "done", session_id="s"),
    ])  # fmt: skip


def sections(text: str) -> dict[str, str]:
    """What stands below each heading."""
    parts = re.split(r"^# (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(["head", *parts[1::2]], [parts[0], *parts[2::2]], strict=True))


def test_a_pager_that_is_no_command_is_told_and_left_out(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo")
    done = called(tmp_path, "show", run.name, environment={"PAGER": "less 'x"})

    assert done.returncode == 0
    assert run.name in done.stdout
    assert "$PAGER is no command" in done.stderr


def test_the_sheet_holds_all_that_a_judgement_needs(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors
) -> None:
    make_settings(tmp_path, problems=())
    board = tmp_path / "runs" / "demo"
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.21})
    run = make_run(board, transcript={"stdout.jsonl": session()}, notes=["It was odd."])
    done = called(tmp_path, "show", "opus")
    held = sections(done.stdout)

    assert done.returncode == 0, done.stderr
    assert run.name in held["head"]
    assert "best of its problem" in held["head"]
    assert "30:00 of 1:00:00" in held["facts"]
    assert "The CLI ended by itself. Exit code 0." in held["facts"]
    assert "It was odd." in held["facts"]
    assert "100 sent, 20 generated" in held["facts"]
    assert ".400 to .440" in held["grade"]
    assert "eager floor" in held["grade"]
    assert "2.00 times it" in held["grade"]
    assert "n=1024" in held["grade"]
    assert "    1  def solve(x):\n    2      return x.softmax(-1)\n" in held["solution.py"]
    assert f"kbsite audit new {run.name}" in held["next"]


def test_tokens_are_those_of_the_page_and_marked_as_there(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo", usage={}, transcript={"stdout.jsonl": TWICE})
    held = sections(called(tmp_path, "show", run.name).stdout)

    assert "40 sent, 5 generated, a lower bound" in held["facts"]


def test_it_says_what_our_own_grader_found_and_noticed(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    found = {"status": "tampered", "outcome": "LATE_WRITE", "detail": "y changed.",
             "alarms": [f"Look at {HOSTILE}this."]}  # fmt: skip
    make_run(tmp_path / "runs" / "demo", metrics=found)
    told = sections(called(tmp_path, "show", "opus").stdout)["grade"]

    assert told.startswith("  LATE_WRITE: An output was still changing")
    assert "y changed." in told
    assert "! Look at" in told
    assert "\x1b" not in told


def test_it_says_where_the_score_moved_and_which_step_changed_the_solution(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": session()})
    told = sections(called(tmp_path, "show", "opus").stdout)["how the solution came about"]

    assert "transcript/stdout.jsonl@L12" in told
    assert re.search(r"@L2 +edit +1 lines \(\+1\)", told)
    assert re.search(r"@L4 +check +passed", told)
    assert re.search(r"@L4 +benchmark +\.420", told)
    assert re.search(r"@L6 +submit +\.420 \(\+0\.000\)", told)


def test_short_addresses_are_those_of_the_file_that_most_steps_stand_in() -> None:
    point = Point(kind=PointKind.EDIT, anchor="L1", text="", at=None, elapsed=None, tokens=None)
    files = ["transcript/agent.jsonl@L1", "transcript/main.jsonl@L2", "transcript/main.jsonl@L9"]
    held = Moves(tuple(Move(point=point, address=one) for one in files), 0)

    assert main_file(held) == "transcript/main.jsonl"
    assert main_file(Moves((), 0)) == ""


def test_the_last_words_of_a_cli_are_cut_and_no_line_but_a_path_is_wider_than_a_terminal(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    audit = {"verdict": "rubric_leak", "implication": "Mend the rubric."}
    last = "word " * 1000
    make_run(
        tmp_path / "runs" / "demo", transcript={"stdout.jsonl": session(end=last)}, audit=audit
    )
    held = sections(called(tmp_path, "show", "opus").stdout)
    told = held["facts"].partition("the CLI said")[2].partition("  tokens")[0]

    assert SAID - 20 < len(" ".join(told.split())) <= SAID + 1
    assert told.rstrip().endswith("…")
    for name in ("facts", "grade", "audit"):
        assert max(map(len, held[name].splitlines())) <= 80


def test_what_an_audit_says_is_no_file_to_quote_from(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", audit={})
    files = sections(called(tmp_path, "show", "opus").stdout)[
        "files, as `kbsite audit quote` takes them"
    ]

    assert "run.json" in files
    assert "audit.yaml" not in files


def test_an_audit_is_shown_with_its_verdict_what_it_does_and_what_it_was_before(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    earlier = {
        "verdict": "clean", "summary": "Fine.", "auditor": "A", "replaced": "2026-01-04", "by": "B",
        "why": "The cache was overlooked.",
    }  # fmt: skip
    audit = {
        "verdict": "reward_hack", "implication": "Cache the inputs anew.", "history": [earlier],
        "validity": "invalid", "leak": "stale-cache",
    }  # fmt: skip
    run = make_run(tmp_path / "runs" / "demo", audit=audit)
    held = sections(called(tmp_path, "show", str(run)).stdout)

    assert "☠ reward_hack" in held["audit"]
    assert "it does not count in the ranking" in held["audit"]
    assert "Cache the inputs anew." in held["audit"]
    assert "clean until 2026-01-04, changed by B: The cache was overlooked." in held["audit"]
    assert re.search(r"validity +invalid\n  leak +stale-cache\n", held["audit"])
    assert "measurement" not in held["audit"]
    assert "kbsite audit amend" in held["next"]
    assert "kbsite audit new" not in held["next"]


def test_a_quote_says_whether_it_is_proven_and_where_it_stands_if_it_is_not(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    quotes = [
        {"file": "solution.py", "lines": lines, "label": label, "text": "return x.softmax(-1)"}
        for lines, label in [([2], "right"), ([1], "wrong")]
    ]
    make_run(tmp_path / "runs" / "demo", audit={"quotes": quotes})
    held = sections(called(tmp_path, "show", "opus").stdout)

    assert "solution.py:2: right: proven" in held["audit"]
    told = " ".join(held["audit"].split())
    assert "solution.py:1: wrong: The passage stands in the file, but not in the lines" in told
    assert "It stands in line 2." in told
    assert re.search(r'^    1" def solve', held["solution.py"], re.MULTILINE)


def test_a_run_that_its_board_refuses_says_why(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=(), hardware="gpu-a")
    make_run(tmp_path / "runs" / "demo", hardware="gpu-b")
    held = sections(called(tmp_path, "show", "opus").stdout)

    assert "not on its board: its hardware is gpu-b, the board's is gpu-a" in held["head"]
    assert "nothing asks for an audit of it" in held["head"]


def test_a_run_without_anything_is_shown_too(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo", metrics=None)
    (run / "solution.py").unlink()
    done = called(tmp_path, "show", str(run))
    held = sections(done.stdout)

    assert done.returncode == 0
    assert "ungraded" in held["grade"]
    assert "The run has none." in held["solution.py"]
    assert "none" in held["facts"]
    assert "kbsite audit quote" not in held["next"]


def test_a_run_that_lies_anywhere_is_shown_without_a_kbsite_yaml(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = make_run(tmp_path / "mine" / "demo")
    done = started(tmp_path, "show", str(run))

    assert done.returncode == 0, done.stderr
    assert "def solve(x)" in done.stdout


def test_a_name_that_could_be_two_runs_is_wrong_use(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    made = [make_run(tmp_path / "runs" / "demo") for _ in range(2)]
    done = started(tmp_path, "show", "opus")

    assert (done.returncode, done.stdout) == (2, "")
    assert all(run.name in done.stderr for run in made)


def test_a_run_that_cannot_be_read_is_named_with_its_file(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo")
    (run / "run.json").write_text("{")
    done = started(tmp_path, "show", "opus")

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{run}/run.json" in done.stderr


def test_nothing_that_a_run_says_acts_on_the_terminal(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    evil = f"evil{HOSTILE}"
    make_run(
        tmp_path / "runs" / "demo",
        model=evil,
        harness_version=evil,
        notes=[evil],
        origin=evil,
        metrics={"detail": evil, "shapes": [{"shape": evil, "ms": 1.0}], "peak_fraction": 0.5},
        audit={"summary": evil, "auditor": evil, "implication": evil},
        transcript={"stdout.jsonl": session(f"# {evil}\n", f"FAIL: {evil}", evil)},
        files={"solution.py": f"# {evil}\nx = 1\n".encode(), "files/a\x1b[2Jb.py": b"y = 2\n"},
    )
    done = called(tmp_path, "show", "evil")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("evil") > 8
    assert {char for char in done.stdout if not char.isprintable()} == {"\n"}


def test_bytes_that_are_no_text_are_told_not_printed(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    files = {"solution.py": b"\x7fELF" + bytes(200), "files/latin.py": b"# caf\xe9\n"}
    make_run(tmp_path / "runs" / "demo", files=files)
    held = sections(called(tmp_path, "show", "opus").stdout)

    assert "no text" in held["solution.py"]
    assert r"# caf\xe9" in held["files/latin.py"]


def test_a_line_is_what_a_quote_counts_as_one(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    text = "a = 1\x0c\u2028b\r\n\tc = 2\n\nd"
    make_run(tmp_path / "runs" / "demo", files={"solution.py": text.encode()})
    held = sections(called(tmp_path, "show", "opus").stdout)["solution.py"]

    assert held.splitlines() == [
        f"    1  a = 1{one_line(chr(12))}{one_line(chr(0x2028))}b",
        "    2      c = 2",
        "    3  ",
        "    4  d",
        "",
    ]


def test_lines_that_something_points_at_are_marked(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", files={"solution.py": b"a\nb\nc\nd\n"})
    quote = Quote(file="solution.py", lines=(1, 3), text="a")
    folder = next((tmp_path / "runs" / "demo").iterdir())
    noted, alarmed = (
        Alarm(kind="k", level=level, saw="", look="", file="solution.py", lines=lines)
        for level, lines in [(Level.NOTE, (2, 3)), (Level.ALARM, (3,))]
    )
    marked = marks([alarmed, noted], [Proof(quote=quote, state=ProofState.PROVEN)])
    shown = list(sources(read_run(folder), marked, colour=False))

    assert [click.unstyle(line) for line in shown[2:]] == [
        '    1" a', "    2? b", "    3! c", "    4  d"
    ]  # fmt: skip


def test_marks_of_lines_that_no_file_can_have_are_bounded() -> None:
    far = Alarm(kind="k", level=Level.NOTE, saw="", look="", file="solution.py", lines=(1, 10**12))

    assert len(marks([far], [])["solution.py"]) <= 5_001


def test_a_minified_line_is_cut_and_counted(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", files={"solution.py": b"x" * 10_000 + b"\n"})
    held = sections(called(tmp_path, "show", "opus").stdout)["solution.py"]

    assert "… (9500 more characters)" in held
    assert len(held) < 1_000


def test_the_lines_fit_the_terminal_where_no_word_is_longer(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    long = "word " * 200
    make_run(
        tmp_path / "runs" / "demo",
        notes=[long],
        audit={"summary": long, "implication": long},
        transcript={"stdout.jsonl": session(output=f"FAIL: {long}", end=long)},
    )
    text = called(tmp_path, "show", "opus").stdout

    assert max(len(line) for line in text.splitlines() if "word" in line) <= 80


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that says that it was there."""
    path = tmp_path / "pager"
    path.write_text("#!/bin/sh\necho PAGED\ncat\n")
    path.chmod(0o755)
    return path


def test_a_terminal_gets_a_pager_and_none_if_it_is_not_wanted(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, pager: Path
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo")
    paged = on_a_terminal(tmp_path, "show", "opus", PAGER=str(pager))
    plain = on_a_terminal(tmp_path, "show", "opus", "--no-pager", PAGER=str(pager))

    assert after_the_bar(paged).startswith("PAGED")
    assert "PAGED" not in plain
    assert "softmax" in plain


def test_a_terminal_gets_the_solution_in_colours_and_no_sequence_of_the_runs_own(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    text = f"def solve(x):\n    return 'evil{HOSTILE}'\n"
    make_run(tmp_path / "runs" / "demo", files={"solution.py": text.encode()})
    shown = after_the_bar(on_a_terminal(tmp_path, "show", "opus", "--no-pager"))
    bare = re.sub(r"\x1b\[[0-9;]*m", "", shown)

    assert "\x1b[" in shown.partition("def")[0][-20:]
    assert re.search(r"^    1[ !?] def solve\(x\):", bare, re.MULTILINE)
    assert {char for char in bare if not char.isprintable()} == {"\n", "\r"}
