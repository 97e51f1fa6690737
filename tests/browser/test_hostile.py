"""Nothing that a run brings along is ever executed, whatever part of it says it."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import BrowserContext

from kbsite.build import build
from kbsite.text.terminal import breakable
from tests.browser.once import once
from tests.browser.witness import Witness
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings, formal_fields
from tests.store.cards import CARD

pytestmark = pytest.mark.browser

ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'><svg onload=alert(3)>",
    "</pre></td></title></style></textarea><script>alert(4)</script>",
    "[click](javascript:alert(5)) ![x](javascript:alert(6)) <javascript:alert(7)>",
    "{{ 7 * 7 }}{% for x in ().__class__.__bases__ %}{% endfor %}",
    '`</code><script>alert(8)</script>` "onmouseover="alert(9)',
    "<iframe srcdoc='<script>alert(10)</script>'></iframe><base href=//evil.example/>",
    "<!--<script>alert(11)</script>--><meta http-equiv=refresh content=0;url=//evil.example>",
    "${alert(20)}",
    "\\`);alert(21);//",
]
ATTACK = " ".join(ATTACKS)


def stream(text: str) -> bytes:
    """A Claude Code stream in which every field that a page shows holds `text`."""
    call = {"type": "tool_use", "id": text, "name": text, "input": {"command": text, text: text}}
    edit = {
        "type": "tool_use",
        "id": "edit",
        "name": "Edit",
        "input": {"file_path": text, "old_string": text, "new_string": text + text},
    }
    result = {"type": "tool_result", "tool_use_id": text, "content": text, "is_error": True}
    rows: list[dict[str, object]] = [
        {"type": "system", "subtype": "init", "model": text, "cwd": text, "tools": [text]},
        {"type": text, "x": text},
        {"type": "assistant", "message": {"id": "m", "model": text, "content": [
            {"type": "thinking", "thinking": text}, {"type": "text", "text": text}, call, edit,
            {"type": text, "y": text}]}},
        {"type": "user", "message": {"role": "user", "content": [result]},
         "tool_use_result": {"stdout": text, text: text}},
        {"type": "result", "subtype": text, "result": text, "is_error": True},
    ]  # fmt: skip
    return "\n".join([*map(json.dumps, rows), text, '{"cut": "' + text]).encode()


def hostile_card() -> str:
    """A file of hardware in which every text that a page shows is hostile."""
    card = yaml.safe_load(CARD)
    card |= {"name": ATTACK, "vendor": ATTACK, "architecture": ATTACK, "memory": ATTACK}
    card |= {"aliases": [ATTACK], "notes": [ATTACK]}
    card["units"]["note"] = card["peaks"][0]["note"] = ATTACK
    card["peaks"][0]["observed_per_clock"] = {"value": 256, "source": "sheet", "note": ATTACK}
    card["sources"]["sheet"] |= {"title": ATTACK, "note": ATTACK, "looked_up": "2026-11-21"}
    card["sources"]["sheet"]["url"] = f"https://a.example/{ATTACK}"
    return json.dumps(card)


@pytest.fixture(scope="session", name="hostile")
@once
def _hostile(
    home: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    make_problem: MakeProblem,
    make_floors: MakeFloors,
) -> Path:
    texts = {"title": ATTACK, "tagline": ATTACK, "about": ATTACK, "contact": ATTACK}
    (home / "bench" / "hardware").mkdir(parents=True)
    (home / "bench" / "hardware" / "gpu-a.yaml").write_text(hostile_card())
    settings = make_settings(home, site=texts, title=ATTACK, tagline=ATTACK)
    board = home / "runs" / "demo"
    make_problem(
        home / "problems", "softmax", title=ATTACK, summary=ATTACK, tags=[ATTACK],
        forbidden=[ATTACK], shapes=[{ATTACK: ATTACK}], **formal_fields(ATTACK),
    )  # fmt: skip
    quote = {"file": ATTACK, "lines": [1, 2], "label": ATTACK, "text": ATTACK}
    earlier = {
        "verdict": "clean", "summary": ATTACK, "auditor": ATTACK, "by": ATTACK, "why": ATTACK,
        "replaced": "2026-01-04",
    }  # fmt: skip
    audit = {
        "verdict": "reward_hack", "summary": ATTACK, "quotes": [quote], "implication": ATTACK,
        "auditor": ATTACK, "origin": ATTACK, "leak": ATTACK, "history": [earlier],
    }  # fmt: skip
    named = "x<img src=x onerror=alert(12)>.html"
    make_run(
        board, model=ATTACK, effort=ATTACK, variant=ATTACK, notes=[ATTACK], origin=ATTACK,
        provider=ATTACK, command=[ATTACK], environment=[ATTACK], usage_source=ATTACK,
        run_id="20260102_030405_claude_x'><script>alert(13)<_softmax",
        metrics={"detail": ATTACK, "grader": ATTACK}, audit=audit,
        transcript={"stdout.jsonl": stream(ATTACK), named: b"<script>alert(14)</script>"},
        files={"check.log": ATTACK.encode(), "files/x.svg": b"<svg onload='alert(15)'/>",
               "solution.py": f"# {ATTACK}\nx = '''{ATTACK}'''\n".encode()},
    )  # fmt: skip
    make_run(board, model="refused", hardware="gpu-b", audit=audit)
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1,
                        "source": ATTACK})  # fmt: skip
    (board / "20260102_030406_broken").mkdir()
    (board / "20260102_030406_broken" / "run.json").write_text(json.dumps({"id": ATTACK}))
    return build(settings).out


def test_nothing_hostile_is_executed_or_fetched_on_any_page(
    hostile: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of(bypass_csp=True).new_page()  # escaping alone has to hold, without the policy
    witness.watch(page)
    pages = sorted(hostile.rglob("*.html"))
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.mouse.move(300, 300)

        assert page.evaluate("location.href") == path.as_uri()

    assert len(pages) >= 7
    assert witness.dialogs == []
    assert witness.foreign(f"{hostile.as_uri()}/") == set()
    assert witness.errors == []


def test_a_page_that_is_read_as_a_script_from_disk_executes_nothing(
    tmp_path: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    context_of: functools.partial[BrowserContext],
    witness: Witness,
) -> None:
    settings = make_settings(tmp_path, site={"title": ATTACK})
    long = f"{ATTACK}\n" * 40
    transcript = b"\n".join([stream(ATTACK)] * 20 + [stream(long)])
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": transcript})
    folder = build(settings).out / "runs" / run.name
    page = context_of(bypass_csp=True).new_page()
    witness.watch(page)
    page.goto(f"{(folder / 'index.html').as_uri()}?q=alert(21)")
    page.wait_for_function("/ of \\d+$/.test(document.getElementById('found').textContent)")

    parts = list(folder.glob("steps-*.html"))
    texts = list(folder.glob("text-*.html"))
    assert len(parts) > 2
    assert len(texts) > 2
    found = page.locator("#found").inner_text().rpartition(" ")[2]
    assert int(found) > 40 * len(texts)
    assert {path.as_uri() for path in [*parts, *texts]} <= witness.addresses
    assert witness.dialogs == []
    assert witness.errors == []


def test_every_hostile_text_is_shown_as_text(
    hostile: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    run = next(path for path in hostile.glob("runs/*/index.html") if "script" in str(path))
    page.goto(run.as_uri())
    shown = page.evaluate("document.body.textContent")

    for attack in ATTACKS:
        assert shown.count(attack) >= 10, attack


def test_the_policy_forbids_what_escaping_would_let_through(
    hostile: Path, context_of: functools.partial[BrowserContext]
) -> None:
    page = context_of().new_page()
    page.goto((hostile / "index.html").as_uri())
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'window.ran = true'}))"
    )

    assert page.evaluate("window.ran") is None


def test_hostile_hardware_is_shown_as_text(
    hostile: Path, context_of: functools.partial[BrowserContext], witness: Witness
) -> None:
    page = context_of(bypass_csp=True).new_page()
    witness.watch(page)
    page.goto((hostile / "hardware" / "gpu-a" / "index.html").as_uri())
    shown = page.evaluate("document.body.textContent")
    links = page.evaluate("[...document.querySelectorAll('main a')].map((a) => a.protocol)")

    for attack in ATTACKS:
        assert shown.count(attack) >= 8, attack
    assert set(links) == {"https:", "file:"}
    assert witness.dialogs == []


def test_a_page_of_a_progress_bar_on_one_line_is_laid_out(
    context_of: functools.partial[BrowserContext], site: Path, tmp_path: Path
) -> None:
    bar = " 45%|████▌     | 45/100 [00:01<00:01, 44.5it/s]\r"
    style = f'<link rel="stylesheet" href="{(site / "static" / "kbsite.css").as_uri()}">'
    held = tmp_path / "long.html"
    text = breakable(bar * 20_000)
    held.write_text(f'<!doctype html><meta charset="utf-8">{style}<pre class="text">{text}</pre>')
    page = context_of().new_page()

    # Without places to break it, this takes minutes.
    page.goto(held.as_uri(), timeout=60_000)
    assert page.evaluate("document.querySelector('pre').getBoundingClientRect().height") > 50_000
    assert page.evaluate("document.querySelector('pre').textContent.length") == len(bar) * 20_000
