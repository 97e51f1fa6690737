"""A site of which something is hidden follows from what it shows, and from nothing else."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from kbsite.build import build
from kbsite.model.redacted import RedactedFile
from kbsite.model.solution import solution_hash
from kbsite.store.problems import read_problem
from kbsite.verifying.reported import faults
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import SAMPLES, copy_of, errors, graded, in_json, replace_in

TOKEN = "ghp_" + "A1b2C3d4E5" * 3 + "x9Y8z7"
HOME = "/home/jane.doe/work"
MAIL = "jane.doe@corp.example.org"
SOLUTION = f"def solve(x):\n    # {HOME}/k.py for {MAIL}\n    return x.softmax(-1)\n# end\n"
SAID = f"export GITHUB_TOKEN={TOKEN}; cd {HOME}; mail {MAIL}"
ROWS: list[dict[str, object]] = [
    {"type": "system", "subtype": "init", "model": "opus-x", "cwd": HOME, "tools": []},
    {"type": "assistant",
     "message": {"id": "m", "model": "opus-x", "content": [{"type": "text", "text": SAID}]}},
]  # fmt: skip


def zipped(text: str) -> bytes:
    """An archive of a file that holds a text."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", text * 100)
    return out.getvalue()


@pytest.fixture(name="site", scope="module")
def _site(
    tmp_path_factory: pytest.TempPathFactory, make_settings: MakeSettings, make_run: MakeRun
) -> Path:
    settings = make_settings(tmp_path_factory.mktemp("home"))
    quote = {"file": "solution.py", "lines": [2], "text": f"# {HOME}/k.py for {MAIL}"}
    told = {"verdict": "interesting", "quotes": [quote], "implication": f"See {HOME}.",
            "summary": f"It mails {MAIL}."}  # fmt: skip
    of = {"problem_hash": read_problem(settings.problems / "softmax").hash}
    solved = {"solution.py": SOLUTION.encode(), "files/notes.md": SOLUTION.encode(),
              f"files/{TOKEN}.txt": b"named\n", "files/a.zip": zipped(SAID)}  # fmt: skip
    known = {name.removeprefix("files/"): data for name, data in solved.items()}
    held: dict[str, Any] = {
        "metrics": graded(0.42, solution_hash=solution_hash(known), **of),
        "audit": told, "notes": [f"Made in {HOME}."],
        "transcript": {"stdout.jsonl": "\n".join(map(json.dumps, ROWS)).encode()},
        "files": {"samples.jsonl": SAMPLES, "check.log": SAID.encode(), **solved}, **of,
    }  # fmt: skip
    make_run(settings.runs / "demo", **held)
    return build(settings).out


def test_what_is_hidden_stands_nowhere_and_the_rest_follows(site: Path) -> None:
    whole = b"".join(path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file())

    assert TOKEN.encode() not in whole
    assert not [path for path in site.rglob("*") if TOKEN in path.name]
    assert [one.text for one in errors(site)] == []


def test_a_report_of_other_files_than_those_published_is_named(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    in_json(spoilt, "data/redaction.json", lambda held: held["files"][0].update(after="0" * 64))
    (found,) = [one for one in errors(spoilt) if one.path == "data/redaction.json"]

    assert "is no file with the SHA-256 000" in found.message


def test_a_report_of_what_no_manifest_says_and_of_no_run_is_named(
    site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")

    def spoil(held: Any) -> None:
        held["files"].append({**held["files"][0], "run": "nobody's"})
        (log,) = [one for one in held["files"] if one["file"] == "check.log"]
        log["before"] = "0" * 64

    in_json(spoilt, "data/redaction.json", spoil)
    found = {one.key: one.message for one in errors(spoilt) if one.path == "data/redaction.json"}
    (run,) = (path.name for path in (spoilt / "runs").glob("2*"))

    assert set(found) == {"files[nobody's]", f"files[runs/{run}/raw/check.log].before"}
    assert "the run's manifest says" in found[f"files[runs/{run}/raw/check.log].before"]


FALSE: dict[str, tuple[dict[str, Any], str]] = {
    "of nothing": ({"hits": {}, "lines": {}}, "tells of nothing that is covered"),
    "of a rule that there is not": ({"hits": {"nonsense": 1}, "lines": {"nonsense": [1]}},
                                    "is no rule of redaction"),
    "of too many": ({"hits": {"email": 7}, "lines": {"email": [2]}}, "1 lines of 7 passages"),
    "of no line": ({"hits": {"email": 1}, "lines": {"email": [99]}}, "the file has no line 99"),
    "of no lines": ({"hits": {"email": 1}, "lines": {}}, "0 lines of 1 passages"),
    "of another line": ({"hits": {"email": 1}, "lines": {"email": [4]}},
                        "nothing in line 4 of the file is covered"),
    "of none": ({"hits": {"email": 0}, "lines": {"email": []}}, "expected at least one"),
    "of more lines": ({"hits": {"email": 1}, "lines": {"email": [2], "home": [2]}},
                      "of a rule of which hits knows nothing"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FALSE)
def test_a_report_that_the_file_does_not_bear_out_is_named(site: Path, kind: str) -> None:
    told, message = FALSE[kind]
    (run,) = (path for path in (site / "runs").glob("2*"))
    held = json.loads((site / "data/redaction.json").read_text("utf-8"))
    (honest,) = [one for one in held["files"] if one["file"] == "solution.py"]

    assert [*faults(convert(honest, RedactedFile), run / "raw/solution.py")] == []
    found = [*faults(convert({**honest, **told}, RedactedFile), run / "raw/solution.py")]
    assert [message in one for _, one in found] == [True]


def test_a_report_of_a_file_that_is_published_as_it_was_is_named(
    site: Path, tmp_path: Path
) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    (run,) = (path for path in (spoilt / "runs").glob("2*"))
    same = json.loads((run / "raw/manifest.json").read_text("utf-8"))["files"]["samples.jsonl"]
    told = {"run": run.name, "file": "samples.jsonl", "before": same, "after": same,
            "hits": {"email": 1}, "lines": {"email": [1]}}  # fmt: skip
    in_json(spoilt, "data/redaction.json", lambda held: held["files"].extend([told, told]))
    found = [one for one in errors(spoilt) if one.path == "data/redaction.json"]

    assert {one.message for one in found} == {
        "is listed twice; expected once",
        "is the SHA-256 before, too: nothing of the file is covered",
        "nothing in line 1 of the file is covered",
    }


def test_a_hidden_file_that_was_changed_besides_is_named(site: Path, tmp_path: Path) -> None:
    spoilt = copy_of(site, tmp_path / "site")
    (run,) = (path.name for path in (spoilt / "runs").glob("2*"))
    replace_in(spoilt, f"runs/{run}/raw/check.log", "export", "import")

    assert f"runs/{run}/raw/check.log" in {one.path for one in errors(spoilt)}
