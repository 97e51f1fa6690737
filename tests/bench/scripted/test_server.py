"""What a server plays in each dialect, what it tells of the usage, and what its log says."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from bench.providers import Dialect
from bench.scripted import (
    SHIPPED,
    Server,
    expected_usage,
    load_script,
    load_scripts,
    scripted_provider,
    serve,
)
from kbsite.errors import MachineError, UsageError
from kbsite.model.usage import total
from tests.bench.scripted.clients import CLIENTS, AnthropicClient, ChatClient, Client, post

EACH_WAY = pytest.mark.parametrize("streams", [True, False], ids=["streaming", "whole"])
EACH_CLIENT = pytest.mark.parametrize("kind", CLIENTS, ids=lambda one: one.dialect.value)


def client(kind: type[Client], server: Server, run: str, *, streams: bool = True) -> Client:
    provider = scripted_provider(server.url, run)
    return kind(provider.bases[kind.dialect], streams=streams)


@EACH_WAY
@EACH_CLIENT
def test_main_is_played_to_its_end_in_each_dialect(
    server: Server, run: str, kind: type[Client], streams: bool
) -> None:
    said = client(kind, server, run, streams=streams).play("[[script:main]] Solve it.")
    script = load_script(SHIPPED / "main.yaml")
    left_out = {1, 12, 13}  # no list of things to do is offered, and nothing waits
    played = [turn for number, turn in enumerate(script.turns) if number not in left_out]
    assert [one.text for one in said] == [turn.text for turn in played]
    assert [one.thinking for one in said] == [turn.thinking for turn in played]
    assert [len(one.calls) for one in said] == [len(turn.calls) for turn in played]
    names = [name for one in said for _, name, _ in one.calls]
    assert names == [
        "Bash", "Write", "Edit", "Read", "Bash", "Bash", "Bash", "Bash", "Bash", "Bash", "Bash",
        "Agent",
    ]  # fmt: skip
    written = said[1].calls[0][2]
    assert written["file_path"] == "/workspace/solution.py"
    assert written["content"].startswith("def solve(a, b):\n")


@EACH_WAY
@EACH_CLIENT
def test_the_log_knows_what_was_told_to_the_digit(
    server: Server, run: str, kind: type[Client], streams: bool
) -> None:
    said = client(kind, server, run, streams=streams).play("[[script:main]] Solve it.")
    requests = server.requests_of(run)
    assert [one.told for one in requests] == [one.usage for one in said]
    assert expected_usage(requests) == total(one.usage for one in said)
    assert len({one.usage for one in said}) == len(said), "turns have to differ"
    assert all(one.ended and one.status == 200 and one.streamed is streams for one in requests)
    assert {one.dialect for one in requests} == {kind.dialect}
    assert [one.turn for one in requests] == [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14]


def test_a_child_in_a_forked_history_plays_its_own_script(server: Server, run: str) -> None:
    parent = client(AnthropicClient, server, run)
    said = parent.play("[[script:main]] Solve it.")
    task = next(a for one in said for _, name, a in one.calls if name == "Agent")
    child = client(AnthropicClient, server, run)
    child.history = list(parent.history)
    answers = child.play(task["prompt"])
    assert answers[0].calls[0][2] == {"command": "echo hello from the child; pwd"}
    assert answers[-1].text.startswith("CHILD-REPORT")
    assert {one.script for one in server.requests_of(run)} == {"main", "child"}


def test_calls_of_two_children_have_ids_of_their_own(server: Server, run: str) -> None:
    first = client(ChatClient, server, run).ask("[[script:child]] one")
    second = client(ChatClient, server, run).ask("[[script:child]] two")
    assert first.calls[0][0] != second.calls[0][0]


def test_runs_side_by_side_count_their_tries_apart(server: Server) -> None:
    for run in ("side-a", "side-b"):
        one = client(ChatClient, server, run)
        one.history.append(one.user("[[script:e429once]]"))
        assert post(one.url(), one.body())[0].status == 429
        assert one.ask().text == "After one 429."
        assert [asked.attempt for asked in server.requests_of(run)] == [1, 2]


def test_sessions_at_once_do_not_mix(server: Server, run: str) -> None:
    found: dict[int, list[str]] = {}

    def play(number: int) -> None:
        said = client(CLIENTS[number % 4], server, f"{run}-{number}").play("[[script:quick]]")
        found[number] = [name for one in said for _, name, _ in one.calls]

    threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: ["Bash", "Write"] for number in range(8)}
    assert all(len(server.requests_of(f"{run}-{number}")) == 3 for number in range(8))


@EACH_CLIENT
def test_a_provider_may_choose_the_script_where_the_prompt_does_not(
    server: Server, run: str, kind: type[Client]
) -> None:
    provider = scripted_provider(server.url, run, "quick")
    assert provider.key_variable is None
    assert set(provider.bases) == set(Dialect)
    said = kind(provider.bases[kind.dialect], streams=True).play("A real prompt.")
    assert [len(one.calls) for one in said] == [1, 1, 0]
    assert {one.script for one in server.requests_of(run)} == {"quick"}


def test_a_run_is_named_by_what_a_url_can_hold() -> None:
    with pytest.raises(UsageError, match="cannot name a run"):
        scripted_provider("http://127.0.0.1:1", "a/b")


@EACH_WAY
@EACH_CLIENT
def test_requests_without_tools_or_marker_get_a_side_answer(
    server: Server, run: str, kind: type[Client], streams: bool
) -> None:
    base = scripted_provider(server.url, run).bases[kind.dialect]
    assert kind(base, streams=streams, tools={}).ask("[[script:main]] A title?").calls == []
    assert kind(base, streams=streams).ask("No marker.").text == "Scripted side answer"
    assert kind(base, streams=streams).ask("[[script:unheardof]]").stop
    requests = server.requests_of(run)
    assert [one.side for one in requests] == [True] * 3
    assert expected_usage(requests) == total(one.told for one in requests if one.told)


def test_tokens_are_counted_and_models_listed(server: Server, run: str) -> None:
    base = f"{server.url}/r/{run}"
    _, data = post(f"{base}/v1/messages/count_tokens", {"messages": ["x" * 400]})
    assert json.loads(data)["input_tokens"] > 90
    _, data = post(f"{base}/v1beta/models/m:countTokens", {"contents": ["x" * 400]})
    assert json.loads(data)["totalTokens"] > 90
    response, data = post(f"{base}/v1/models", b"", "GET")
    assert response.status == 200
    assert json.loads(data)["data"][0]["id"] == "scripted-1"
    assert post(server.url, b"", "HEAD")[0].status == 200
    assert all(one.told is None and one.ended for one in server.requests_of(run))


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/elsewhere", b"{}", 404),
        ("GET", "/v1/elsewhere", b"", 404),
        ("PUT", "/v1/messages", b"{}", 404),
        ("POST", "/v1/messages", b"{", 400),
        ("POST", "/v1/responses", b"\xff", 400),
        ("POST", "/v1/chat/completions", b"[" * 100_000, 400),
        ("POST", "/v1beta/models/m:generateContent", b'"text"', 200),
    ],
)  # fmt: skip
def test_what_is_no_request_of_a_dialect_is_told_so(
    server: Server, run: str, method: str, path: str, body: bytes, status: int
) -> None:
    response, data = post(f"{server.url}/r/{run}{path}", body, method)
    assert response.status == status
    json.loads(data)
    (request,) = server.requests_of(run)
    assert (request.status, request.path, request.ended) == (status, path, True)


def test_a_taken_port_is_a_matter_of_the_machine(server: Server) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(MachineError, match=f"{port} cannot be listened at"), serve((), port=port):
        pass


def test_bodies_and_a_log_are_kept_in_a_folder(tmp_path: Path) -> None:
    with serve(load_scripts(SHIPPED / "hi.yaml"), folder=tmp_path / "kept") as server:
        one = client(AnthropicClient, server, "r")
        assert one.ask("[[script:hi]]").text == "Hello."
    body = json.loads((tmp_path / "kept/00001.json").read_text())
    assert body == one.body()
    (line,) = (tmp_path / "kept/requests.jsonl").read_text().splitlines()
    logged = json.loads(line)
    assert (logged["script"], logged["dialect"], logged["run"]) == ("hi", "anthropic", "r")


def test_one_can_wait_for_a_request(server: Server, run: str) -> None:
    assert not server.wait_until(lambda all_: any(one.run == run for one in all_), 0)
    thread = threading.Thread(target=client(ChatClient, server, run).ask, args=("[[script:hi]]",))
    thread.start()
    assert server.wait_until(lambda all_: any(one.run == run and one.ended for one in all_), 60)
    thread.join(60)
