"""The index of texts: what it covers, that it is the same every time, and who may go without."""

from __future__ import annotations

import gzip
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kbsite import search
from kbsite.build import build, override
from kbsite.cli import kbsite
from kbsite.errors import MachineError
from kbsite.search import pagefind
from kbsite.store.settings import Settings
from tests.browser.long_session import LONG_ROUND, line_of, session
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

LOG = "home/.claude/projects/-w/s.jsonl"
HOSTILE = 'm"><script>alert(1)</script>'
SAID = b"""\
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"First <b>bold</b>"}]}}
{"type":"assistant","message":{"id":"n","content":[{"type":"text","text":"second"}]}}
"""


def searching(settings: Settings) -> Settings:
    return replace(settings, config=replace(settings.config, search=True))


def fragments(site: Path) -> dict[str, dict[str, Any]]:
    """What the index holds of each page, by its own number."""
    found = {}
    for path in (site / search.FOLDER / "fragment").iterdir():
        held = json.loads(gzip.decompress(path.read_bytes()).removeprefix(b"pagefind_dcd"))
        found[held["url"]] = held
    return dict(sorted(found.items()))


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    make_run(board, run_id="long", transcript={LOG: session()}, audit={"verdict": "bug"})
    make_run(board, run_id="short", model=HOSTILE, transcript={"stdout.jsonl": SAID})
    return searching(settings)


def test_every_page_with_a_text_is_covered(settings: Settings) -> None:
    out = build(settings).out
    held = list(fragments(out).values())
    pages = {"/".join(page["meta"]["at"].split("/")) for page in held}
    written = [path for path in out.glob("runs/*/*.html") if path.name != "snapshots.html"]
    listed = [path for path in written if path.parent.name in ("long", "short")]

    assert pages == {
        "demo/index.html", "problems/softmax/index.html", "runs/long/index.html",
        "runs/short/index.html",
    }  # fmt: skip
    assert len(held) == len(listed) + 2
    assert len([page for page in held if page["meta"]["at"] == "runs/long/index.html"]) > 5


def test_a_page_carries_what_it_is_filtered_by(settings: Settings) -> None:
    held = list(fragments(build(settings).out).values())
    filters = {page["meta"]["at"]: set(page["filters"]) for page in held}

    assert filters["demo/index.html"] == {"board-demo"}
    assert filters["problems/softmax/index.html"] == {"problem-softmax"}
    own = filters["runs/long/index.html"]
    assert {name for name in own if not name.startswith("alarm-")} == {
        "board-demo", "model-opus-x", "harness-claude", "problem-softmax", "verdict-bug",
        "status-passed", "cut-no",
    }  # fmt: skip
    assert "model-m%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E" in filters["runs/short/index.html"]
    assert "verdict-none" in filters["runs/short/index.html"]


def test_a_word_stands_behind_the_anchor_of_its_step(settings: Settings) -> None:
    held = fragments(build(settings).out).values()
    (page,) = [page for page in held if "Round 77 begins" in page["content"]]
    words = page["content"].split()
    pairs = enumerate(pairwise(words))
    at = next(number for number, pair in pairs if pair == ("Round", "77"))
    before = [anchor["id"] for anchor in page["anchors"] if anchor["location"] <= at]

    assert before[-1].endswith(f"L{line_of(77)}")


def test_a_long_text_leads_to_its_step_and_to_itself(settings: Settings) -> None:
    out = build(settings).out
    (page,) = [page for page in fragments(out).values() if "whole" in page["meta"]]

    assert "needle-03999" in page["content"]
    assert page["meta"]["anchor"].endswith(f"L{line_of(LONG_ROUND) + 1}")
    assert (out / page["meta"]["whole"]).is_file()


def test_words_of_neighbouring_elements_stay_apart(settings: Settings) -> None:
    held = fragments(build(settings).out).values()
    (short,) = [page for page in held if page["meta"]["at"] == "runs/short/index.html"]

    words = set(short["content"].replace(f"{pagefind.JOINER} ", "").replace(".", " ").split())
    assert {"says", "First", "<b>bold</b>", "second"} <= words


CODE = b"""\
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"It's\
 torch.nn.functional(x_ptr,\\"a\\")<b>1.25 x[-1] a-b sub-agent"}]}}
"""


def test_words_of_code_are_words_of_the_index(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs/demo", run_id="code", transcript={"stdout.jsonl": CODE})
    held = fragments(build(searching(settings)).out).values()
    (page,) = [page for page in held if page["meta"]["at"] == "runs/code/index.html"]
    content = page["content"]
    start = content.index("It's")

    said = content[start : content.index("sub-agent")].split()
    assert [word.strip(f"{pagefind.JOINER}.,()<>[-\"") for word in said] == [
        "It's", "torch", "nn", "functional", "x_ptr", "a", "b", "1", "25", "x", "1]", "a-b",
    ]  # fmt: skip
    whole = content.replace(f"{pagefind.JOINER} ", "")
    assert 'It\'s torch.nn.functional(x_ptr,"a")<b>1.25 x[-1] a-b sub-agent' in whole


def test_pages_carry_nothing_of_the_index(settings: Settings) -> None:
    plain = replace(settings, config=replace(settings.config, search=False))
    without = tree(build(override(plain, None, None, settings.out.with_name("plain"))).out)
    out = build(settings).out
    with_index = tree(out)
    own = {name for name in with_index if name.startswith(f"{search.FOLDER}/")}

    assert {name for name in without if without[name] != with_index.get(name)} == {
        "data/site.json", "runs/index.html"
    }  # fmt: skip
    assert set(with_index) - set(without) == own
    assert "data-pagefind" not in "".join(p.read_text("utf-8") for p in out.rglob("*.html"))


def test_two_builds_make_the_same_index(settings: Settings) -> None:
    first = tree(build(settings).out)
    second = tree(build(override(settings, None, None, settings.out.with_name("again"))).out)

    assert first == second
    assert {"search/pagefind.js", "search/pagefind-worker.js", "search/wasm.en.pagefind"} <= set(
        first
    )
    assert not {name for name in first if "-ui" in name or "highlight" in name}
    assert not list(settings.out.parent.glob("*.partial"))


def test_pages_are_numbered_as_they_come_however_the_disk_lists_them(settings: Settings) -> None:
    folder = build(settings).out / search.FOLDER
    (described,) = folder.glob("*.pf_meta")
    data = gzip.decompress(described.read_bytes())
    _, (start, _), *_ = pagefind._items(data, len(pagefind._SIGNATURE))
    hashes = [pagefind._items(data, at)[0] for at, _ in pagefind._items(data, start)]
    urls = []
    for at, end in hashes:
        name = data[at + 1 : end].decode()
        held = gzip.decompress((folder / "fragment" / f"{name}.pf_fragment").read_bytes())
        urls.append(json.loads(held.removeprefix(b"pagefind_dcd"))["url"])

    assert len(urls) > 5
    assert urls == sorted(urls)


def test_options_from_outside_do_not_matter(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tree(build(settings).out)
    monkeypatch.setenv("PAGEFIND_ROOT_SELECTOR", "footer")
    monkeypatch.setenv("PAGEFIND_EXCLUDE_SELECTORS", "main")
    (settings.path.parent / "pagefind.toml").write_text('root_selector = "footer"\n')
    monkeypatch.chdir(settings.path.parent)
    again = override(settings, None, None, settings.out.with_name("again"))

    assert tree(build(again).out) == first


def test_a_site_without_runs_has_an_index(tmp_path: Path, make_settings: MakeSettings) -> None:
    out = build(searching(make_settings(tmp_path))).out

    assert [page["meta"]["at"] for page in fragments(out).values()] == [
        "demo/index.html", "problems/softmax/index.html",
    ]  # fmt: skip


def test_without_the_extra_nothing_is_built(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pagefind.service", None)

    with pytest.raises(MachineError, match=r"pip install 'kbsite\[search\]'"):
        build(settings)
    assert not settings.out.exists()


def test_a_program_that_is_not_there_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFIND_BINARY_PATH", str(settings.path.parent / "nowhere"))

    with pytest.raises(MachineError, match="build without --search"):
        build(settings)


def test_a_program_that_fails_leaves_the_old_site(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, make_run: MakeRun
) -> None:
    before = tree(build(settings).out)
    make_run(settings.runs / "demo", run_id="new")
    broken = settings.path.parent / "broken"
    broken.write_text("#!/bin/sh\necho no disk left >&2\nexit 7\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PAGEFIND_BINARY_PATH", str(broken))

    with pytest.raises(MachineError, match="exit code 7: no disk left") as caught:
        build(settings)
    assert caught.value.exit_code == 3
    assert tree(settings.out) == before


def test_the_command_line_asks_for_the_index(settings: Settings) -> None:
    config = ["--config", str(settings.path)]
    plain = CliRunner().invoke(kbsite, ["build", *config])
    assert plain.exit_code == 0, plain.output
    assert not (settings.out / search.FOLDER).exists()

    asked = CliRunner().invoke(kbsite, ["build", *config, "--search"])
    assert asked.exit_code == 0, asked.output
    assert (settings.out / search.FOLDER / "pagefind.js").is_file()


def test_kbsite_yaml_asks_for_the_index(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path, site={"search": True})

    assert (build(settings).out / search.FOLDER / "pagefind.js").is_file()
