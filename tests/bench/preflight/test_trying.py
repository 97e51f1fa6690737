"""Sessions that show whether a contender can start, in the real runner and its sandbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from threading import Event

import pytest

from bench.preflight import Check, State, Trial, Wanted, playing, preflight, trying
from bench.preflight.playing import processes
from bench.preflight.trying import Stage, live, scripted
from bench.providers import Dialect, Provider
from bench.sandbox.box import Box, Sandboxed
from bench.scripted import Server, load_scripts, serve
from kbsite.errors import MachineError
from tests.bench.preflight.standing_in import ASKS, GOOD, WRITES, tools
from tests.bench.running.sessions import left_of

KEY = "sk-real-key-of-an-operator-77"
CLAUDE = Wanted(harness="claude")


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Server]:
    with serve(load_scripts()) as server:
        yield server


def play(server: Server, program: str, script: str = "hi", wanted: Wanted = CLAUDE) -> Check:
    chosen = next(one for one in load_scripts() if one.name == script)
    return scripted(wanted, tools(program), Stage(server=server, script=chosen, stop=Event()))


def test_a_session_that_finishes_and_whose_counts_agree_is_fine(server: Server) -> None:
    check = play(server, GOOD)
    assert check.state is State.FINE, check.seen
    assert "1 request, " in check.seen
    assert left_of(os.getpid()) == []


@pytest.mark.parametrize(
    ("program", "script", "says"),
    [
        (ASKS + "sys.exit(0)", "hi", ["it ended as harness_error"]),
        ("sys.exit(3)", "hi", ["it ended as harness_error", "its own log tells no tokens"]),
        (ASKS + "done()", "e401", ["it ended as provider_error"]),
        ("ask()\ndone()", "hi", ["its own log tells no tokens"]),
        (ASKS.replace("answer = ask()", "answer = ask()\nanswer['usage']['output_tokens'] += 1")
         + "done()", "hi", ["its own log says", "the answers told"]),
        (ASKS + "ask('/v1/other')\ndone()", "hi", ["the proxy refused POST /v1/other"]),
        (ASKS + "done()", "quick", ["it left no solution.py"]),
        ("os.environ['MODEL'] = 'cheaper-1'\n" + GOOD, "hi",
         ["it asked for cheaper-1, and never for scripted-1"]),
    ],
    ids=["no completion", "no request", "401", "no log", "miscounted", "refused", "no solution",
         "other model"],
)  # fmt: skip
def test_what_goes_wrong_is_told(
    server: Server, program: str, script: str, says: Sequence[str]
) -> None:
    check = play(server, program, script)
    assert check.state is State.WRONG
    assert all(one in check.seen for one in says), check.seen
    assert "stderr.log" in check.cure


def test_a_script_that_writes_has_to_leave_a_solution(server: Server) -> None:
    check = play(server, WRITES + GOOD, "quick")
    assert "no solution.py" not in check.seen


def test_processes_that_outlive_a_session_are_named(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "_GONE_S", 0.2)
    asked: list[bool] = []

    def seen() -> list[int]:
        asked.append(True)
        return [] if len(asked) == 1 else [os.getpid(), 4_194_999]

    monkeypatch.setattr(playing, "processes", seen)
    check = play(server, GOOD)
    assert check.state is State.WRONG
    assert "processes outlived it: " in check.seen
    assert f"({os.getpid()})" in check.seen
    assert "4194999" not in check.seen, "one that is gone by now is none"


def test_processes_that_descend_from_this_one_are_seen() -> None:
    with subprocess.Popen(["/bin/sleep", "100"]) as child:
        found = set(processes())
        child.kill()
    assert child.pid in found
    assert os.getpid() not in found
    assert child.pid not in set(processes())


def test_a_session_that_cannot_start_is_told(server: Server) -> None:
    class Broken:
        name = "broken"
        gives_terminals = False

        def __hash__(self) -> int:
            return 1

        def available(self) -> str | None:
            return None

        def start(self, command: Sequence[str], box: Box) -> Sandboxed:
            raise MachineError(f"no room for {command[0]} and its {box.folder}")

    chosen = next(one for one in load_scripts() if one.name == "hi")
    stage = Stage(server=server, script=chosen, stop=Event())
    check = scripted(CLAUDE, tools(GOOD, sandbox=Broken()), stage)
    assert check.state is State.WRONG
    assert check.seen.startswith("it cannot be started: no room for ")


def test_whoever_stops_it_ends_the_session_under_way(server: Server) -> None:
    stop = Event()
    stop.set()
    chosen = next(one for one in load_scripts() if one.name == "hi")
    stage = Stage(server=server, script=chosen, stop=stop)
    check = scripted(CLAUDE, tools(ASKS + "time.sleep(999)"), stage)
    assert check.state is State.WRONG
    assert "it ended as signal" in check.seen
    assert left_of(os.getpid()) == []


def provider(server: Server, script: str, run: str = "live") -> Mapping[str, Provider]:
    """The scripted server, posing as a provider that wants a key."""
    bases = {Dialect.ANTHROPIC: f"{server.url}/r/{run}/s/{script}"}
    return {"real": Provider(id="real", bases=bases, key_variable="REAL_KEY")}


def turn(server: Server, script: str, program: str = GOOD) -> Check:
    host = tools(program, providers=provider(server, script), environment={"REAL_KEY": KEY})
    return live(Wanted(harness="claude", model="opus-x", provider="real"), host, Event())


def test_a_real_model_is_asked_once(server: Server) -> None:
    before = len(server.requests_of("live"))
    check = turn(server, "hi")
    assert check.state is State.FINE, check.seen
    assert "answered in" in check.seen
    asked = server.requests_of("live")[before:]
    assert [one.model for one in asked] == ["opus-x"]
    assert KEY not in check.sentence


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("e401", "real answered with status 401, the key was refused"),
        ("e429", "real answered with status 429, too many requests"),
        ("dropbefore", "real: the provider cannot be reached"),
    ],
)
def test_a_provider_that_does_not_answer_is_told(server: Server, script: str, says: str) -> None:
    check = turn(server, script)
    assert check.state is State.WRONG
    assert says in check.seen
    assert "key, account" in check.cure


def test_a_cli_that_asks_nothing_is_told(server: Server) -> None:
    check = turn(server, "hi", "sys.exit(4)")
    assert check.state is State.WRONG
    assert check.seen.startswith("no answer came: The CLI ended without asking a model")


def test_a_real_turn_is_ended_when_it_uses_more_than_a_little(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "LIVE_TOKENS", 1)
    check = turn(server, "hi", ASKS + "time.sleep(999)")
    assert check.state is State.FINE, "the model answered, and that is all that was asked"
    assert "were used in all" in check.seen


def test_without_a_provider_no_model_is_asked() -> None:
    assert live(CLAUDE, tools(), Event()).state is State.NOT_TRIED


def test_session_and_real_turn_go_together(server: Server) -> None:
    providers = provider(server, "hi", "together")
    host = tools(GOOD, providers=providers, environment={"REAL_KEY": KEY})
    wanted = [Wanted(harness="claude", model="opus-x", provider="real")]
    told: list[str] = []
    (row,) = preflight(
        wanted, host, Trial(script="hi", live=True), lambda what, _: told.append(what), Event()
    )
    assert row.can_start, [one.sentence for one in row.problems]
    assert [check.state for check in row.checks] == [State.FINE] * len(row.checks)
    assert told == ["looking at claude · opus-x", "trying claude · opus-x"]
    assert len(server.requests_of("together")) == 1, "the scripted session is not the provider's"


def test_where_the_scripted_session_fails_no_model_is_asked(server: Server) -> None:
    host = tools(
        "sys.exit(1)", providers=provider(server, "hi", "never"), environment={"REAL_KEY": KEY}
    )
    wanted = [Wanted(harness="claude", model="opus-x", provider="real")]
    (row,) = preflight(wanted, host, Trial(script="hi", live=True), lambda *_: None, Event())
    assert [one.name for one in row.problems] == ["session"]
    assert row.check("live").seen == "first: session"
    assert server.requests_of("never") == ()
