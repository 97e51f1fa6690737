"""A web search that the provider makes is a way out of the sandbox, unless the order allows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.proxy.form import Outcome
from bench.proxy.log import read_exchanges
from kbsite.store.runs import read_run
from tests.bench.running.sessions import SMALL, Trial

SEARCHES = """
body = {"model": os.environ["MODEL"], "max_tokens": 9, "stream": False,
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "messages": [{"role": "user", "content": sys.stdin.read()}]}
asked = urllib.request.Request(BASE + "/v1/messages", json.dumps(body).encode(),
                               {"content-type": "application/json"})
try:
    print(urllib.request.urlopen(asked).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


@pytest.mark.parametrize("allowed", [False, True])
def test_a_search_by_the_provider_goes_on_only_where_it_is_allowed(
    trial: Trial, allowed: bool
) -> None:
    ended = trial.fake(SEARCHES + "ask()\ndone()\n", limits=replace(SMALL, server_tools=allowed))
    first, *_ = read_exchanges(ended.folder / "proxy.jsonl")
    told = (ended.folder / "transcript" / "stdout.jsonl").read_text()

    assert first.server_tools == ("web_search_20250305",)
    assert (first.outcome is Outcome.REFUSED) == (not allowed)
    assert ("403" in told.splitlines()[0]) == (not allowed)
    assert any("web_search_20250305" in note for note in read_run(ended.folder).run.notes)
