"""Secrets in the files of a run are nowhere on the site; everything else stands as it stood."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kbsite import single_file
from kbsite.build import REDACTION, Built, build
from kbsite.engines import Here, copies
from kbsite.engines.copies import Copies
from kbsite.errors import InputError
from kbsite.hiding import Hiding, denied_of, hiding_of
from kbsite.hiding.looking import Looking
from kbsite.model.config import Allowed, Redact
from kbsite.model.finding import Severity
from kbsite.model.proof import ProofState
from kbsite.model.work import Work
from kbsite.reading import looked_over, read
from kbsite.store.inputs import changes, inputs
from kbsite.store.settings import Settings, read_settings
from kbsite.verifying.places import FolderPlace
from kbsite.verifying.whole import verify
from tests.bench.planted import planted as places_of
from tests.conftest import MakeRun, MakeSettings
from tests.redaction.secrets import (
    BEGIN_WITH_LETTERS,
    KINDS,
    Planted,
    escaped,
    percent,
    planted,
)
from tests.trees import tree

ROW = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": ""}]}}


def row(text: str) -> str:
    """A line of a transcript of Claude Code."""
    content = [{"type": "text", "text": text}]
    return json.dumps(
        {"type": "assistant", "message": {"id": f"m{hash(text)}", "content": content}}
    )


def with_secrets(draw: random.Random) -> tuple[dict[str, Any], list[str]]:
    """The files of a run that tells secrets everywhere, and those secrets: 200 of all kinds."""
    kinds = list(KINDS)
    drawn = [planted(number, kinds[number % len(kinds)]) for number in range(200)]
    rows, solution, log, named = [], ["import torch"], ["check.py"], {}
    for number, one in enumerate(drawn):
        match number % 6:
            case 0:
                rows.append(row(f"It said {one.text}\nand went on"))
            case 1:
                solution += [f"# {line}" for line in one.text.split("\n")]
            case 2:
                log.append(one.text)
            case 3:
                rows.append('{"type":"assistant","message":{"content":[{"type":"text","text":"a\\n'
                            + escaped(one.text, draw) + ' b"}]}}')  # fmt: skip
            case 4:
                rows.append(row(json.dumps({"stdout": f"x\n{one.text}\ny"})))
            case _:
                rows.append(row(_otherwise(one, number)))
    token = planted(1000, "github")
    named[f"files/{token.secret}.txt"] = b"nothing"
    named["files/build.log.gz"] = gzip.compress(f"x {drawn[0].secret} y".encode())
    files = {
        "solution.py": "\n".join(solution).encode(), "check.log": "\n".join(log).encode(),
        "snapshots/20260102T030405Z.py": "\n".join(solution).encode(), **named,
    }  # fmt: skip
    transcript = {"stdout.jsonl": "\n".join(rows).encode() + b"\n"}
    quoted = f"It said {drawn[0].text}"
    audit = {
        "summary": f"The agent printed {drawn[6].text} in the end.",
        "quotes": [
            {
                "file": "transcript/stdout.jsonl",
                "lines": [1],
                "text": quoted.split("\n", maxsplit=1)[0],
            }
        ],
    }
    return {"files": files, "transcript": transcript, "audit": audit}, [
        *(one.secret for one in drawn), token.secret,
    ]  # fmt: skip


def _otherwise(one: Planted, number: int) -> str:
    """A secret in another writing, if it is of a kind that is known so; else as it is."""
    if one.kind not in BEGIN_WITH_LETTERS:
        return f"again: {one.text}"
    data = b"it is " + one.secret.encode() + b" there"
    match number % 4:
        case 0:
            return base64.b64encode(b"." * (number % 3) + data).decode()
        case 1:
            return data.hex()
        case 2:
            return f"https://a.example/?q={percent(one.secret, random.Random(number))}"
        case _:
            return json.dumps(json.dumps(one.text))


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    return make_settings(tmp_path)


def told(built: Built) -> list[dict[str, Any]]:
    """What the site tells of what is hidden."""
    held: dict[str, Any] = json.loads((built.out / REDACTION).read_text("utf-8"))
    files: list[dict[str, Any]] = held["files"]
    return files


def test_two_hundred_secrets_are_nowhere_on_the_site(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    parts, secrets = with_secrets(random.Random(7))
    folder = make_run(settings.runs / "demo", **parts)
    before = tree(settings.runs)
    built = build(settings)
    single_file.write(settings, folder.name, tmp_path / "single" / "run.html")
    found = {
        (secret, place.path, place.form)
        for secret in secrets
        for out in (built.out, tmp_path / "single")
        for place in places_of(out, secret)
    }

    assert found == set()
    assert tree(settings.runs) == before
    assert sum(built.hidden.values()) >= 200
    assert not [finding for finding in built.findings if finding.path.endswith(".html")]
    assert list(verify(FolderPlace(built.out))) == []


def test_a_proven_quote_stays_proven_and_lines_stay_where_they_were(
    settings: Settings, make_run: MakeRun
) -> None:
    parts, _ = with_secrets(random.Random(3))
    folder = make_run(settings.runs / "demo", **parts)
    hiding = Hiding(settings.config.redact)
    (stored,) = read(settings, hiding=hiding).runs
    shown = looked_over(read(settings, hiding=hiding), stored)

    assert [proof.state for proof in shown.proofs[stored.run.id]] == [ProofState.PROVEN]
    for file in stored.files:
        data = file.path.read_bytes()
        assert len(file.read()) == len(data)
        if not file.name.endswith(".gz"):
            assert file.read().count(b"\n") == data.count(b"\n")
        with file.open() as stream:
            assert stream.read() == file.read()
        with file.open() as stream:
            stream.seek(5)
            assert stream.read(100) == file.read()[5:105]
    assert {file.name for file in stored.files if file.hidden} >= {
        "solution.py", "check.log", "audit.yaml", "manifest.json", "files/build.log.gz"
    }  # fmt: skip
    assert folder.is_dir()


def test_a_run_without_secrets_is_published_byte_for_byte(
    settings: Settings, make_run: MakeRun
) -> None:
    noise = random.Random(1).randbytes(40_000)
    folder = make_run(
        settings.runs / "demo",
        transcript={"stdout.jsonl": f"{row('All is well.')}\n".encode()},
        files={"files/weights.bin": noise, "files/a.json": b'{"key": "value", "n": 12345678901}'},
    )
    built = build(settings)
    raw = built.out / "runs" / folder.name / "raw"

    assert told(built) == []
    assert built.hidden == {}
    assert (raw / "files" / "weights.bin.txt").read_bytes() == noise
    assert (raw / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()


def test_the_report_tells_where_and_how_many_and_never_what(
    settings: Settings, make_run: MakeRun
) -> None:
    one, mail = planted(1, "anthropic"), planted(1, "e-mail")
    log = f"first\n{one.secret}\nthird {mail.text}\n{one.secret}\n".encode()
    folder = make_run(settings.runs / "demo", run_id="one", files={"check.log": log})
    built = build(settings)
    raw = (built.out / "runs" / "one" / "raw" / "check.log").read_bytes()

    assert told(built) == [
        {
            "run": "one",
            "file": "check.log",
            "before": json.loads((folder / "manifest.json").read_text())["files"]["check.log"],
            "after": hashlib.sha256(raw).hexdigest(),
            "hits": {"anthropic-key": 2, "email": 1},
            "lines": {"anthropic-key": [2, 4], "email": [3]},
        }
    ]
    assert built.hidden == {"anthropic-key": 2, "email": 1}
    assert [(item.line, item.key) for item in built.unmet if item.path.endswith(".log")] == [
        (2, "anthropic-key")
    ]


def test_what_is_hidden_is_told_again_by_a_build_that_has_nothing_to_do(
    settings: Settings, make_run: MakeRun
) -> None:
    make_run(settings.runs / "demo", files={"check.log": planted(1, "groq").text.encode()})
    first = build(settings)
    again = build(settings)

    assert again.work == Work()
    assert (again.hidden, again.unmet) == (first.hidden, first.unmet)
    assert again.hidden == {"groq-key": 1}


def test_runs_that_are_named_from_elsewhere_are_not_looked_at_again(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(settings.runs / "demo", files={"check.log": planted(1, "groq").text.encode()})
    held = inputs([settings.runs], {})
    looked = hiding_of(settings, held).looked(settings)
    monkeypatch.chdir(settings.runs.parent)
    here = replace(settings, runs=Path(settings.runs.name))
    monkeypatch.setattr(Looking, "look", None)

    again = hiding_of(here, held, looked, changes(held, held))

    assert again.looked(here).hidden == looked.hidden
    assert [str(folder.absolute()) for folder in again.folders or ()] == list(looked.folders)


def test_what_is_allowed_stays_and_its_page_alone_is_made_anew(
    settings: Settings, make_run: MakeRun
) -> None:
    one = planted(2, "nvidia")
    make_run(settings.runs / "demo", run_id="one", files={"check.log": one.secret.encode()})
    make_run(settings.runs / "demo", run_id="two", transcript={"stdout.jsonl": row("b").encode()})
    first = build(settings)
    before = tree(first.out)
    allowed = with_redact(settings, Redact(allow=(Allowed(text=one.secret),)))
    after = tree(build(allowed).out)

    assert {path.split("/", 2)[1] for path in before if before[path] != after[path]} == {
        "one", "index.html", "redaction.json"
    }  # fmt: skip
    assert places_of(first.out, one.secret)
    assert after == tree(build(replace(allowed, out=settings.out.with_name("new"))).out)


def with_redact(settings: Settings, redact: Redact) -> Settings:
    """Settings with other rules."""
    return replace(settings, config=replace(settings.config, redact=redact))


@pytest.mark.parametrize(
    ("allowed", "stays"),
    [
        (Allowed(rule="email"), True),
        (Allowed(rule="email", file="demo/one/check.log"), True),
        (Allowed(file="demo/*/check.log"), True),
        (Allowed(rule="ip"), False),
        (Allowed(rule="email", file="other/*"), False),
        (Allowed(why="told nothing"), False),
    ],
)
def test_an_entry_allows_what_it_names(
    settings: Settings, make_run: MakeRun, *, allowed: Allowed, stays: bool
) -> None:
    one = planted(2, "e-mail")
    folder = make_run(settings.runs / "demo", run_id="one", files={"check.log": one.text.encode()})
    hidden = Hiding(Redact(allow=(allowed,))).of(folder)

    assert (hidden.files == {}) is stays


def test_values_of_the_environment_and_of_files_are_hidden(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_BADGE", "four words of nothing")
    (tmp_path / "deny.txt").write_text("# persons\nMaria Anders\n\nbuild-host-7\n")
    log = b"Maria Anders on build-host-7: four words of nothing; four words of something"
    make_run(settings.runs / "demo", run_id="one", files={"check.log": log})
    chosen = with_redact(settings, Redact(deny=("MY_BADGE",), deny_files=("deny.txt",)))
    built = build(chosen)

    assert denied_of(chosen) == (b"four words of nothing", b"Maria Anders", b"build-host-7")
    assert (built.out / "runs" / "one" / "raw" / "check.log").read_bytes() == (
        b"(redacted)xx on (redacted)xx: (redacted)xxxxxxxxxxx; four words of something"
    )
    assert built.hidden == {"denied": 3}
    (tmp_path / "deny.txt").write_text("Maria Anders\n")
    assert build(chosen).hidden == {"denied": 2}


def test_a_list_that_cannot_be_had_stops_the_build(settings: Settings) -> None:
    with pytest.raises(InputError, match=r"redact\.deny"):
        build(with_redact(settings, Redact(deny=("NO_SUCH_VARIABLE_HERE",))))
    with pytest.raises(InputError, match=r"redact\.deny_files"):
        build(with_redact(settings, Redact(deny_files=("none.txt",))))


@pytest.mark.parametrize(
    ("made", "why"),
    [(os.mkfifo, "expected a regular file"), (Path.mkdir, "expected a regular file"),
     (lambda path: path.symlink_to("/dev/zero"), "expected a regular file"),
     (lambda path: path.write_bytes(b"x" * 4_000_001), "expected at most 4000000 bytes"),
     (lambda path: path.write_text("name", "utf-16"), "no UTF-8 text")],
)  # fmt: skip
def test_what_can_be_no_list_of_values_is_told_and_not_waited_for(
    tmp_path: Path, made: Callable[[Path], object], why: str
) -> None:
    path = tmp_path / "deny.txt"
    made(path)
    (tmp_path / "kbsite.yaml").write_text("redact: {deny_files: [deny.txt]}\n")
    with pytest.raises(InputError, match=rf"deny\.txt: redact\.deny_files: .*{why}"):
        denied_of(read_settings(tmp_path / "kbsite.yaml"))


def test_the_mark_that_an_editor_puts_first_is_no_part_of_the_first_value(tmp_path: Path) -> None:
    (tmp_path / "deny.txt").write_bytes(b"\xef\xbb\xbfAda\r\n# a remark\r\nGrace\r\n")
    (tmp_path / "kbsite.yaml").write_text("redact: {deny_files: [deny.txt]}\n")

    assert denied_of(read_settings(tmp_path / "kbsite.yaml")) == (b"Ada", b"Grace")


def test_nothing_is_hidden_where_that_is_said(settings: Settings, make_run: MakeRun) -> None:
    one = planted(2, "stripe")
    make_run(settings.runs / "demo", run_id="one", files={"check.log": one.secret.encode()})

    assert places_of(build(with_redact(settings, Redact(on=False))).out, one.secret)


def test_a_name_is_hidden_where_it_stands_for_a_person(
    settings: Settings, make_run: MakeRun
) -> None:
    log = (
        "cd /home/marianne/x\nmarianne@host-a:~$ ls -l\n-rw-r--r-- 1 marianne marianne 12 a\n"
        "uid=1000(marianne)\n~/.claude/projects/-home-marianne-x\n"
        "marianne is the name of the model\n"
    )
    folder = make_run(settings.runs / "demo", files={"check.log": log.encode()})
    built = build(settings)
    shown = (built.out / "runs" / folder.name / "raw" / "check.log").read_text("utf-8")

    assert shown.replace("xxxxxxxx", "marianne") == log
    assert shown.count("marianne") == 1 + shown.count("1 xxxxxxxx marianne")


@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_name_is_hidden_in_json_as_it_is_in_a_log(
    settings: Settings, make_run: MakeRun, *, deep: int
) -> None:
    log = (
        "cd /home/marianne/x\nmarianne@host-a:~$ env\n\x1b[01;32mmarianne@host-a\x1b[00m:~$\n"
        "USER=marianne\nuid=1000(marianne) groups=7(marianne)\n"
        "-rw-r--r-- 1 marianne marianne 12 a\n"
        "\x1b[m\x1b[Kmarianne@host-a:~$\n\x1b[2K\x1b[1Gmarianne@host-a:~$\n"
        "Author: marianne <>\n/scratch/marianne/x\n/data2/marianne\n"
    )
    found = "\x1b[01;31m\x1b[Kmarianne\x1b[m\x1b[K"
    log += f"uid=1000({found})\nUSER={found}\n{found}@host-a:~$\nls /home/{found}/x\n"
    for _ in range(deep):
        log = json.dumps(log)
    folder = make_run(settings.runs / "demo", files={"check.log": log.encode()})
    built = build(settings)
    shown = (built.out / "runs" / folder.name / "raw" / "check.log").read_text("utf-8")

    assert shown.count("marianne") == 0
    assert shown.replace("xxxxxxxx", "marianne") == log


def test_what_was_wrong_with_a_run_tells_no_secret_and_no_person(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    one = planted(4, "github")
    folder = make_run(settings.runs / "demo", run_id="one")
    (folder / "files").mkdir()
    (folder / "files" / "python").symlink_to(f"/home/marianne/.venv/{one.secret}/bin/python")
    built = build(settings)
    single_file.write(settings, "one", tmp_path / "single" / "run.html")
    page = (built.out / "runs" / "one" / "index.html").read_text("utf-8")

    assert "a symbolic link (to /home/xxxxxxxx/.venv/" in page
    for out in (built.out, tmp_path / "single"):
        assert places_of(out, one.secret) == []
        assert places_of(out, "marianne") == []


def test_an_audit_whose_values_are_secrets_stays_yaml(
    settings: Settings, make_run: MakeRun
) -> None:
    one = planted(4, "github").secret
    quote = {"file": "check.log", "lines": [1], "text": one, "label": one}
    told = {"summary": one, "implication": one, "quotes": [quote], "verdict": "interesting"}
    make_run(settings.runs / "demo", run_id="one", audit=told, files={"check.log": one.encode()})
    built = build(settings)
    (stored,) = read(settings, hiding=Hiding(Redact())).runs
    shown = looked_over(read(settings, hiding=Hiding(Redact())), stored)

    assert built.findings == ()
    assert stored.audit is not None
    assert stored.audit.summary == f"(redacted){'x' * (len(one) - 10)}"
    assert [proof.state for proof in shown.proofs["one"]] == [ProofState.PROVEN]


def test_a_run_whose_id_is_a_secret_is_left_out_unless_that_is_allowed(
    settings: Settings, make_run: MakeRun
) -> None:
    one = planted(4, "github").secret
    make_run(settings.runs / "demo", run_id=f"20260102_030405_{one}")
    make_run(settings.runs / "demo", run_id="other")
    built = build(settings)
    (finding,) = [found for found in built.findings if found.severity is Severity.ERROR]
    allowed = with_redact(settings, Redact(allow=(Allowed(file="demo/*", text=one),)))

    assert places_of(built.out, one) == []
    assert (built.out / "runs" / "other" / "index.html").is_file()
    assert "left out: the id of the run tells" in finding.message
    assert places_of(build(allowed).out, one)


def test_a_key_in_the_command_line_of_a_run_is_hidden(
    settings: Settings, make_run: MakeRun
) -> None:
    key = planted(4, "api key").secret
    short = planted(4, "said").secret
    command = ("claude", "--api-key", key, "--token", short, "-p", "go")
    make_run(settings.runs / "demo", command=command)
    built = build(settings)

    assert places_of(built.out, key) == []
    assert places_of(built.out, short) == []


def test_names_that_become_the_same_are_told_apart(settings: Settings, make_run: MakeRun) -> None:
    names = [f"files/{planted(seed, 'groq').secret}.py" for seed in range(3)]
    make_run(settings.runs / "demo", run_id="one", files=dict.fromkeys(names, b"x = 1\n"))
    (stored,) = read(settings, hiding=Hiding(Redact())).runs
    shown = [file.name for file in stored.files if file.name.startswith("files/")]

    assert len(set(shown)) == 3
    assert all("(redacted)" in name for name in shown)


def test_long_runs_are_looked_at_as_well_with_a_second_core(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        log = f"{planted(number, 'npm').text}\n".encode() * (number + 1)
        make_run(settings.runs / "demo", run_id=f"run-{number}", files={"check.log": log})
    alone = hiding_of(settings, {}, engine=Here()).found
    monkeypatch.setattr(copies, "LEAST", 1)
    here: list[int] = []

    def meanwhile() -> None:
        here.append(os.getpid())

    together = hiding_of(settings, {}, engine=Copies(2), meanwhile=meanwhile).found

    assert together == alone
    assert here == [os.getpid()]
    assert list(together) == list(alone)
    assert [len(together[key].files["check.log"]) for key in sorted(together)] == [1, 2, 3, 4, 5]
