"""`kbsite check` on secrets: in runs, their ids and audits, in floors and in problems."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbsite.check import check
from kbsite.model.finding import Finding, Severity
from kbsite.store.settings import Settings
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.redaction.secrets import planted

KEY = planted(1, "anthropic").secret
MAIL = "maria.anders@siemens.com"
RULES = {"anthropic-key", "seen-elsewhere", "email", "home", "crowded"}

Make = Callable[..., Settings]


@pytest.fixture(name="site")
def _site(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Make:
    def made(log: str, audit: dict[str, Any] | None = None, **site: Any) -> Settings:
        settings = make_settings(tmp_path, site=site)
        make_run(settings.runs / "demo", audit=audit, files={"agent.log": log.encode()})
        return settings

    return made


def told(settings: Settings, *paths: Path) -> list[Finding]:
    """What is said of secrets."""
    found = list(check(paths, settings))
    return [one for one in found if one.key in RULES or "the site covers" in one.message]


def test_a_key_in_a_run_is_told_with_its_file_line_rule_and_number(site: Make) -> None:
    settings = site(f"one\nkey {KEY}\nagain {KEY}\n")
    [finding] = told(settings)

    assert (finding.severity, finding.line, finding.key) == (Severity.WARNING, 2, "anthropic-key")
    assert finding.path.endswith("/agent.log")
    assert finding.message.startswith("2 passages are hidden on the site: key of Anthropic; revoke")
    assert KEY not in finding.text
    run = Path(finding.path).parent
    for paths in ([run], [settings.runs], [settings.path]):
        assert [one.text for one in told(settings, *paths)] == [finding.text]


@pytest.mark.parametrize(
    ("log", "redact"),
    [
        (f"key {KEY}\n", {"allow": [{"rule": "anthropic-key"}]}),
        (f"key {KEY}\n", {"allow": [{"text": KEY, "file": "demo/*/agent.log"}]}),
        (f"key {KEY}\n", {"on": False}),
        (f"write to {MAIL}\n", {}),
    ],
)
def test_what_is_allowed_or_covered_anyway_is_not_told(
    site: Make, log: str, redact: dict[str, Any]
) -> None:
    assert told(site(log, redact=redact)) == []


def test_a_list_that_cannot_be_had_is_an_error(site: Make) -> None:
    settings = site("one\n", redact={"deny": ["KBSITE_NOT_SET_ANYWHERE"]})

    assert [one.key for one in check([], settings) if one.severity is Severity.ERROR] == [
        "redact.deny"
    ]


def test_floors_and_problems_are_looked_at_whatever_rule_it_is(
    site: Make, make_floors: MakeFloors
) -> None:
    settings = site("one\n", redact={"allow": [{"rule": "home", "file": "problems/*/prompt.md"}]})
    make_floors(settings.runs / "demo", {"kind": "eager", "source": f"told by {MAIL}"})
    problem = settings.problems / "softmax"
    (problem / "prompt.md").write_text(f"As in /home/maria/x\n\n{KEY}\n")
    (problem / "reference.py").write_text("# /home/maria/x\n")
    found = {(Path(one.path).name, one.line, one.key) for one in told(settings)}

    assert {one for one in found if one[0] != "floors.json"} == {
        ("prompt.md", 3, "anthropic-key"),
        ("reference.py", 1, "home"),
    }
    assert {(name, rule) for name, _, rule in found if name == "floors.json"} == {
        ("floors.json", "email")
    }
    assert {one.key for one in told(settings, problem)} == {"anthropic-key", "home"}


def test_the_id_of_a_run_is_looked_at(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    token = KEY
    named = folder.rename(folder.with_name(f"{folder.name}_{token}"))
    found = [one for one in check([named]) if one.message.startswith("the id of the run")]

    assert [one.key for one in found] == ["anthropic-key"]
    assert token not in found[0].message


def test_a_quote_of_what_is_covered_says_so(site: Make) -> None:
    def quote(text: str, *lines: int) -> dict[str, Any]:
        return {"file": "agent.log", "lines": list(lines), "text": text}

    quotes = [quote(f"key {KEY}", 2), quote("one", 1), quote("write", 3)]
    audit = {"quotes": quotes}
    settings = site(f"one\nkey {KEY}\nwrite to {MAIL}\n", audit)
    found = [one for one in told(settings) if "quotes" in (one.key or "")]

    assert [(one.key, one.severity) for one in found] == [("quotes[0].text", Severity.WARNING)]
    assert found[0].message.startswith("quotes what the site covers in line 2: key of Anthropic; ")
    assert json.dumps(KEY)[1:-1] not in found[0].message


def test_a_quote_within_a_line_that_is_hidden_whole_says_so(site: Make) -> None:
    log = f"one\n{'secret=aaaaaaaa ' * 30_000}\nlast\n"
    quotes = [{"file": "agent.log", "lines": [2], "text": "secret=aaaaaaaa secret=aaaaaaaa"}]
    found = told(site(log, {"quotes": quotes}))

    assert [(one.key, one.line) for one in found if one.path.endswith("agent.log")] == [
        ("crowded", 2)
    ]
    assert "quotes[0].text" in {one.key for one in found}
