"""The benchmark of the runner: both ways are whole sessions, and what is ours is told from a CLI.

A small program stands in for the CLI; no test asserts how long anything takes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.installing import programs
from bench.installing.lock import read_lock
from bench.installing.stamp import Installed, fingerprint, folder_of, write_stamp
from bench.scripted import load_script
from benchmarks import runner
from benchmarks.runner import Compared, compared, memory, side_by_side, table
from benchmarks.runner_memory import Held, Watching, Weight, own, weighed
from benchmarks.runner_sessions import SCRIPTS, Case, Took, bare, scripted, through

MB = 1_000_000
LONG_S = 60.0
BEFORE_S, AFTER_S = 0.4, 0.3
STAND_IN = f"""
import json, os, sys, time, urllib.request
prompt = sys.stdin.read()
assert "solution.py" in prompt, prompt
time.sleep({BEFORE_S})
body = {{"model": os.environ["ANTHROPIC_MODEL"], "max_tokens": 99, "stream": False,
         "messages": [{{"role": "user", "content": prompt}}]}}
asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
                               json.dumps(body).encode(), {{"content-type": "application/json"}})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
with opener.open(asked) as answer:
    json.load(answer)
time.sleep({AFTER_S})
# What was given lies in the folder that it works in, and HOME is a folder of its own.
assert os.path.exists("reference.py") and os.listdir(os.environ["HOME"]) is not None
open("solution.py", "w").write("def solve(a, b): return a + b")
print(json.dumps({{"type": "result", "is_error": False, "terminal_reason": "completed"}}))
"""


def installed(prefix: Path, program: str) -> Case:
    """A session of a program that is installed as Claude Code is."""
    locked = read_lock().clis["claude"]
    folder = folder_of(prefix, locked)
    folder.mkdir(parents=True)
    (folder / "stand_in.py").write_text(program)
    said = Installed(
        harness="claude", version=locked.version, package=locked.package, bytes=1, seconds=1.0,
        command=(os.path.realpath(sys.executable), "-IS", "./stand_in.py"),
        facts={"locked": fingerprint(locked)},
    )  # fmt: skip
    write_stamp(folder, said)
    return Case(program=programs(prefix)["claude"], script="hi", clis=prefix)


def printed(*tables: object) -> str:
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(*tables)
    return captured.get()


def took(wall: float, before: float = 0.5, after: float = 0.25, processor: float = 1.0) -> Took:
    return Took(wall=wall, before=before, after=after, processor=processor)


def waited(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + LONG_S
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_both_ways_are_whole_sessions_whose_parts_are_told_apart(tmp_path: Path) -> None:
    held = compared(installed(tmp_path, STAND_IN), 1)

    assert held.name == "claude, hi"
    assert len(held.bare) == len(held.through) == 1
    for one in (*held.bare, *held.through):
        assert one.before >= BEFORE_S
        assert one.after >= AFTER_S
        assert one.between >= 0
        assert one.wall == pytest.approx(one.before + one.between + one.after)
        assert one.processor > 0


def test_runs_side_by_side_are_weighed_each_for_itself(tmp_path: Path) -> None:
    weights = side_by_side(installed(tmp_path, STAND_IN), 2)

    assert len(weights) == 2
    for one in weights:
        # A Python with what it needs, and process 1 of a box beside it.
        assert one.most_pss >= one.usual_pss > MB
        assert one.most_uss >= one.usual_uss > MB
        assert one.processes >= 3


def test_a_session_that_comes_to_nothing_is_not_measured(tmp_path: Path) -> None:
    lazy = installed(tmp_path / "lazy", STAND_IN.replace('open("solution.py", "w")', "sys.stdout"))
    with scripted() as server, pytest.raises(RuntimeError, match=r"left no solution\.py"):
        bare(lazy, server)
    failing = installed(tmp_path / "failing", "raise SystemExit('it cannot start')")
    with scripted() as server:
        with pytest.raises(RuntimeError, match="it cannot start"):
            bare(failing, server)
        with pytest.raises(RuntimeError, match=r"came to nothing.*harness"):
            through(failing, server)


def test_more_is_the_median_of_pairs_and_a_share_of_the_bare_session() -> None:
    # The machine was twice as slow for the last pair: its difference does not count.
    held = Compared(
        name="x, y",
        bare=(took(20.0), took(20.5), took(40.0)),
        through=(took(20.5, 0.8), took(21.1, 0.9), took(43.0, 3.0)),
    )

    assert held.more(lambda one: one.wall) == pytest.approx(0.6)
    lines = printed(table(held)).splitlines()
    wall = next(line for line in lines if "wall time" in line)
    assert re.findall(r"[-+]?\d+\.\d+", wall) == ["20.50", "21.10", "1.03", "+0.60", "+2.9"]
    first = next(line for line in lines if "first request" in line)
    # A part's share is one of the whole, so that the parts add up.
    assert re.findall(r"[-+]?\d+\.\d+", first)[-2:] == ["+0.40", "+2.0"]
    fastest = next(line for line in lines if "fastest" in line)
    assert re.findall(r"[-+]?\d+\.\d+", fastest) == ["20.00", "20.50", "1.02", "+0.50", "+2.5"]
    processor = next(line for line in lines if "processor" in line)
    assert re.findall(r"[-+]?\d+\.\d+", processor) == ["1.00", "1.00", "1.00", "+0.00", "+0.0"]


def test_the_table_of_memory_has_a_line_a_run() -> None:
    one = Weight(
        usual_pss=42 * MB, most_pss=117 * MB, usual_uss=40 * MB, most_uss=115 * MB, processes=7
    )

    text = printed(memory("x, y", [one, one]))
    assert re.findall(r"run \d", text) == ["run 1", "run 2"]
    for figure in ("42 MB", "117 MB", "40 MB", "115 MB"):
        assert text.count(figure) == 2


def test_the_long_session_is_mostly_waits_which_no_runner_changes() -> None:
    script = load_script(SCRIPTS / "work.yaml")
    thinks = sum(turn.wait_seconds for turn in script.turns)
    sleeps = [
        int(found)
        for turn in script.turns
        for call in turn.calls
        if call.shell
        for found in re.findall(r"sleep (\d+)", call.shell.command)
    ]

    assert 20 <= thinks + sum(sleeps) - 2 <= 30  # two of them sleep at once


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block, with all that it started."""
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        try:
            yield started
        finally:
            os.killpg(started.pid, 9)


def test_a_cli_and_what_it_started_is_not_ours_whoever_interprets_it() -> None:
    program = """
exec 3>&1
bash -c 'exec -a /opt/clis/x/bin/x bash -c "sleep 99 & echo cli \\$! >&3; wait"' &
bash -s /opt/clis/y/y.py <<< 'echo cli $$ >&3; sleep 99; true' &
bash -c 'sleep 99 & echo own $$ $! >&3; wait' &
wait
"""
    with process("bash", "-c", program) as started:
        assert started.stdout is not None
        told = [started.stdout.readline().split() for _ in range(3)]
        ours = {int(word) for kind, *words in told if kind == "own" for word in words}
        others = {int(word) for kind, *words in told if kind == "cli" for word in words}
        assert waited(lambda: ours <= set(own(started.pid)))
        found = set(own(started.pid))

    assert started.pid in found
    assert len(ours) == 2
    assert others
    assert not others & found


def test_what_a_process_holds_alone_counts_in_full() -> None:
    program = "held = bytearray(b'x') * 50_000_000; print('held', flush=True); input()"
    with process(sys.executable, "-c", program) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "held\n"
        held = weighed(started.pid)
    assert held is not None
    assert held.pss >= held.uss > 50 * MB
    assert weighed(started.pid) is None


def test_looking_ends_with_the_block_and_tells_nothing_of_who_was_not_there() -> None:
    with Watching() as watching:
        watching.add(os.getpid())
        watching.add(2**22 + 1)  # more than any process is called
        assert waited(lambda: bool(watching.weights))

    (seen,) = watching.weights
    assert seen.processes >= 1
    assert seen.usual_pss > 0


def test_usual_is_the_median_and_most_is_the_most() -> None:
    watching = Watching()
    watching.add(7)
    for pss, processes in ((10, 1), (90, 5), (20, 3)):
        watching._seen[7].append(Held(pss=pss, uss=pss - 5, processes=processes))

    (weight,) = watching.weights
    assert (weight.usual_pss, weight.most_pss) == (20, 90)
    assert (weight.usual_uss, weight.most_uss) == (15, 85)
    assert weight.processes == 5


def test_the_command_measures_what_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, int]] = []

    def measured(case: Case, times: int) -> Compared:
        asked.append((case.name, times))
        return Compared(name=case.name, bare=(took(2.0),), through=(took(3.0),))

    def weighed_all(case: Case, count: int) -> list[Weight]:
        asked.append((case.name, count))
        return []

    monkeypatch.setattr(runner, "compared", measured)
    monkeypatch.setattr(runner, "side_by_side", weighed_all)
    installed(tmp_path, STAND_IN)
    runner.main(["--clis", str(tmp_path), "--harness", "claude", "--times", "5", "--side", "2"])

    assert asked == [("claude, main", 5), ("claude, work", 5), ("claude, work", 2)]
    out = capsys.readouterr().out
    assert "+1.00 s" in out
    assert "+50.0 %" in out
    assert f"on {os.cpu_count()} processors" in out
    with pytest.raises(SystemExit, match="not installed: codex"):
        runner.main(["--clis", str(tmp_path)])
