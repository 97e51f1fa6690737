"""Persons and machines, in the ways in which systems and harnesses write their names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kbsite.hiding.files import Seen
from kbsite.model.redaction import covered
from kbsite.store.files import Stored
from tests.redaction.test_scan import LOOKER, hidden, hidden_within


def _shown(tmp_path: Path, text: str) -> str:
    """A file of a run as the site shows it."""
    path, seen = tmp_path / "log", Seen(LOOKER)
    path.write_text(text)
    seen.see(Stored("log", str(path), path.stat().st_size))
    seen.again()
    return covered(path.read_bytes(), seen.spans["log"]).decode()


@pytest.mark.parametrize(
    "text",
    ["~/.cursor/projects/home-marianne-code", "~/.cursor/projects/c-Users-marianne-code/x",
     "~/.pi/agent/sessions/--Users-marianne-code--/x", "\\\\wsl$\\Ubuntu\\home\\marianne\\x",
     "LOGNAME=marianne\n", "SUDO_USER=marianne\n", "\nmarianne@devbox:~$ ls",
     "marianne@devbox:/srv/x$ ls\n",
     "\x1b[01;32mmarianne@devbox\x1b[00m:\x1b[01;34m~/x\x1b[00m$ ls"],
)  # fmt: skip
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_person_is_known_by_what_harnesses_and_shells_say(text: str, deep: int) -> None:
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert "marianne" not in hidden(text)


@pytest.mark.parametrize(
    "text",
    ["C:\\Users\\Marianne Sommer\\code\\n.py", '"/Users/Marianne Sommer/Desktop/a b"',
     "/home/Marianne Anna Sommer/x"],
)  # fmt: skip
@pytest.mark.parametrize("deep", range(4))
def test_a_name_is_hidden_whole_that_has_blanks(text: str, deep: int) -> None:
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert "Sommer" not in hidden(text)


@pytest.mark.parametrize("deep", range(3))
def test_what_stands_behind_a_home_is_no_name(deep: int) -> None:
    text = "ls /home/marianne Makefile\nmv /Users/marianne Desktop and /srv\n"
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert hidden(text) == text.replace("marianne", "xxxxxxxx")


@pytest.mark.parametrize("host", ["corpx.systems", "lab.corpx.museum", "CorpX.Com"])
@pytest.mark.parametrize("deep", range(3))
def test_the_address_of_an_author_is_hidden_whatever_it_ends_in(host: str, deep: int) -> None:
    text = f"Author: M. Sommer <marianne@{host}>\nSigned-off-by: M <m.sommer@{host}>"
    for _ in range(deep):
        text = json.dumps({"a": text})
    shown = hidden(text)

    assert "marianne" not in shown
    assert "m.sommer" not in shown
    assert hidden("std::map<a@b.c> <noreply@corpx.systems>") == (
        "std::map<a@b.c> <noreply@corpx.systems>"
    )


@pytest.mark.parametrize("home", ["/home/", "/Users/", "C:\\Users\\"])
@pytest.mark.parametrize("name", ["müller", "özlem", "андрей", "张伟"])
@pytest.mark.parametrize("deep", [1, 2, 3])
def test_a_name_beyond_ascii_is_hidden_in_json_of_ascii_alone(
    home: str, name: str, deep: int
) -> None:
    shown = hidden_within(f"cd {home}{name}/x", deep)

    assert name[1:] not in shown
    assert shown.startswith(f"cd {home}")


@pytest.mark.parametrize(
    "text", ["marianne 12 0.0 0.1 a\n{}", "marianne:x:1000:1000::/srv:/bin/sh\n{}", "marianne\n"]
)
def test_a_name_that_a_file_begins_with_is_hidden(tmp_path: Path, text: str) -> None:
    if "{}" not in text:
        seen = Seen(LOOKER)
        path = tmp_path / "log"
        path.write_text(text)
        (tmp_path / "other").write_text("cd /home/marianne/x\n")
        for one in (path, tmp_path / "other"):
            seen.see(Stored(one.name, str(one), one.stat().st_size))
        seen.again()
        assert covered(path.read_bytes(), seen.spans["log"]) == b"xxxxxxxx\n"
    else:
        assert "marianne" not in _shown(tmp_path, text.replace("{}", "cd /home/marianne/x\n"))


@pytest.mark.parametrize(
    "text",
    ["Darwin mariannes-mbp.local 23.1.0 Darwin Kernel Version 23.1.0",
     "Static hostname: devbox77\n",
     "uname_result(system='Linux', node='devbox77', release='6.1')",
     "posix.uname_result(sysname='Linux', nodename='devbox77', release='6.1')"],
)  # fmt: skip
def test_a_machine_is_known_by_what_uname_says_of_it(text: str) -> None:
    assert "devbox77" not in hidden(text)
    assert "mariannes" not in hidden(text)


@pytest.mark.parametrize(
    "text",
    ["MARIA@SIEMENS.COM", "maria@upb.ro", "maria@tcd.ie", "maria@ui.ac.id", "maria@um.edu.my",
     "maria@ku.ac.th", "maria@etf.ac.rs"],
)  # fmt: skip
def test_an_address_of_any_country_is_hidden(text: str) -> None:
    assert "maria" not in hidden(f"Author: Maria <{text}>").lower().replace("maria <", "")


@pytest.mark.parametrize(
    "text",
    ["root@3f2a9c1b7d5e:/app# ls", "postgres@db:~$ psql", "git@github.com:a/b.git",
     "scp a.txt me@box:/srv/x", "q@k.id and x@lib.so and a@b.rs", "q@k.th; a@B.T",
     "LOGNAME=$USER SUDO_USER=root", "projects/home-assistant-core", "\\home\\n",
     "Static hostname: localhost", "node='22', release='x'"],
)  # fmt: skip
def test_what_names_nobody_stays(text: str) -> None:
    assert hidden(text) == text


@pytest.mark.parametrize("before", ["\n", "\t", "\r\n", "\u2192"])
@pytest.mark.parametrize("deep", [0, 1, 2, 3])
def test_json_within_json_stays_json_where_an_address_begins_a_line(before: str, deep: int) -> None:
    text = f"from{before}maria.anders@siemens.com to"
    for _ in range(deep):
        text = json.dumps({"arguments": text})
    shown = hidden(text)
    for _ in range(deep):
        shown = json.loads(shown)["arguments"]

    assert shown == f"from{before}xxxxx.xxxxxx@xxxxxxx.xxx to"
