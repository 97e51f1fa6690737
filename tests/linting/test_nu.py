"""What the Nu Html Checker says is told as findings of the site, by a program that speaks as it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kbsite.errors import MachineError
from kbsite.linting.nu import nu_findings
from kbsite.model.finding import Severity

TOLD: list[dict[str, object]] = [
    {"type": "error", "lastLine": 3, "message": "Element details not allowed here."},
    {"type": "info", "subType": "warning", "lastLine": 4, "message": "Odd."},
    {"type": "info", "subType": "warning", "message": "It violates Content Security Policy x"},
    {"type": "info", "subType": "warning", "message": "Section lacks heading. Consider."},
    {"type": "error", "lastLine": 5, "message": "CSS: “width”: Parse Error."},
    {"type": "error", "lastLine": 9, "message": "The heading “h4” follows the heading “h2”."},
    {"type": "info", "message": "Document checked."},
]  # fmt: skip


def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Something that is called as Java is; the jar that it is given."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "vnu.jar"


def test_errors_and_warnings_are_findings_of_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = (tmp_path / "a b.html").as_uri()
    answer = json.dumps({"messages": [{"url": url, **one} for one in TOLD]})
    (tmp_path / "answer.json").write_text(answer)
    jar = java(tmp_path, monkeypatch, f"cat '{tmp_path}/answer.json'")
    found = list(nu_findings(tmp_path, jar))

    assert [(one.path, one.line, one.severity) for one in found] == [
        ("a b.html", 3, Severity.ERROR),
        ("a b.html", 4, Severity.WARNING),
        ("a b.html", 9, Severity.WARNING),
    ]
    assert "details not allowed" in found[0].message


@pytest.mark.parametrize("answer", ["echo Error: Unable to access jarfile", "echo '[]'", "exit 1"])
def test_a_checker_that_cannot_be_run_is_told(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = java(tmp_path, monkeypatch, answer)

    with pytest.raises(MachineError, match="npm install vnu-jar"):
        list(nu_findings(tmp_path, jar))


def test_without_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MachineError, match="default-jre"):
        list(nu_findings(tmp_path, tmp_path / "vnu.jar"))
