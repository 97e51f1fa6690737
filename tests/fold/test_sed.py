"""`sed -i`, told without sed: what it answers is right, and where it cannot know it says so."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kbsite.fold import sed
from kbsite.fold.sed import edited

TEXT = "a = 1\nb = 22\n  call(a, b)\n\nend a a\n"


@pytest.mark.parametrize(
    ("script", "after"),
    [
        ("s/1/2/", "a = 2\nb = 22\n  call(a, b)\n\nend a a\n"),
        ("s/a/x/", "x = 1\nb = 22\n  cxll(a, b)\n\nend x a\n"),
        ("s/a/x/g", "x = 1\nb = 22\n  cxll(x, b)\n\nend x x\n"),
        ("s/a/x/2", "a = 1\nb = 22\n  call(x, b)\n\nend a x\n"),
        ("2d", "a = 1\n  call(a, b)\n\nend a a\n"),
        ("$d", "a = 1\nb = 22\n  call(a, b)\n\n"),
        ("2,4d", "a = 1\nend a a\n"),
        ("4,2d", "a = 1\nb = 22\n  call(a, b)\nend a a\n"),
        ("/call/d", "a = 1\nb = 22\n\nend a a\n"),
        ("/b/,/^$/d", "a = 1\nend a a\n"),
        ("/^$/d", "a = 1\nb = 22\n  call(a, b)\nend a a\n"),
        ("3s/^ *//", "a = 1\nb = 22\ncall(a, b)\n\nend a a\n"),
        ("s/[0-9][0-9]*/N/", "a = N\nb = N\n  call(a, b)\n\nend a a\n"),
        (r"s/\(call\)(\(.*\))/\2(\1)/", "a = 1\nb = 22\n  a, b(call)\n\nend a a\n"),
        ("s|a = 1|path/to = \\&\\n&|", "path/to = &\na = 1\nb = 22\n  call(a, b)\n\nend a a\n"),
        ("s/$/;/", "a = 1;\nb = 22;\n  call(a, b);\n;\nend a a;\n"),
        ("1s/a/z/;2s/b/y/", "z = 1\ny = 22\n  call(a, b)\n\nend a a\n"),
        ("s/ *$//g", "a = 1\nb = 22\n  call(a, b)\n\nend a a\n"),
        ("s/[[:space:]]*=[[:space:]]*/=/", "a=1\nb=22\n  call(a, b)\n\nend a a\n"),
        ("s/(a, b)/()/", "a = 1\nb = 22\n  call()\n\nend a a\n"),
    ],
)
def test_plain_scripts_are_told(script: str, after: str) -> None:
    assert edited(TEXT, [script]) == after


def test_extended_patterns_have_their_own_signs() -> None:
    assert edited("aab (a)\n", [r"s/(a+)b/<\1>/"], extended=True) == "<aa> (a)\n"
    assert edited("aab (a)\n", [r"s/\(a\)/b/"], extended=True) == "aab b\n"
    assert edited("a+b\n", ["s/a+b/x/"]) == "x\n"


def test_scripts_follow_each_other_on_each_line() -> None:
    assert edited("a\nb\n", ["s/a/b/", "s/b/c/"]) == "c\nc\n"


@pytest.mark.parametrize(
    "script",
    [
        "s/a/b/p", "s/a/b/w f", "s/a/b/I", "s/a/b/e", "p", "q", "1!d", "1~2d", "0,/a/d", "y/a/b/",
        "s/a", "s/a/b", "a text", "1i\\x", "{d}", "s/a\\|b/c/", "s/a\\{2\\}/c/", "s//x/",
        "s/x*/y/", "s/\\(a\\)*/y/", "s/\\(a/y/", "s/a/\\1/", "s/a/\\U&/", "s/[/x/", "s/[a/x/",
        "s/[z-a]/x/", "s/[[:upper:]]/x/", "s/\\ba/x/", "s/a\\1/x/", "s/[:a:]/x/", "s/a**/x/",
        "s/^*a/x/", "s/a$b/x/", "s a b ", "d;1,2s/a/b/", "# words", "s/a/b/0", "b end", "N;s/a/b/",
    ],
)  # fmt: skip
def test_what_is_not_plain_has_no_answer(script: str) -> None:
    assert edited(TEXT, [script]) is None


def test_letters_beyond_ascii_are_told_only_where_encodings_agree() -> None:
    assert edited("größe = 1\n", ["s/größe/size/"]) == "size = 1\n"
    assert edited("größe = 1\n", ["s/gr.*=/size =/"]) is None


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "a\nb"])
def test_the_end_of_the_last_line_stays_as_it_is(text: str) -> None:
    assert edited(text, ["s/x/y/"]) == text


def test_a_match_is_the_longest_and_its_groups_take_what_they_can_from_the_left() -> None:
    assert edited("aaaa\n", [r"s/\(a*\)\(a*\)a/[\1][\2]/"]) == "[aaa][]\n"
    assert edited("xaby\n", [r"s/a[ab]*/-/"]) == "x-y\n"


def test_hostile_patterns_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = sed._Budget.take

    def counted(held: sed._Budget, steps: int) -> None:
        taken.append(steps)
        take(held, steps)

    monkeypatch.setattr(sed._Budget, "take", counted)
    script = "s/" + ".*a" * 60 + "b/x/"

    assert edited("a" * 5000 + "\n", [script]) is None
    assert sum(taken) < sed.STEPS + 10_000_000
    assert len(taken) < sed.STEPS


SED = shutil.which("sed")
LETTERS = [
    "a",
    "b",
    "c",
    " ",
    "1",
    "(",
    ")",
    "[",
    "]",
    "*",
    "+",
    "?",
    "&",
    ",",
    "$",
    "^",
    "\\n",
    "|",
]
PARTS = ["a", "b", "c", " ", "1", ".", "a*", "b*", ".*", "[ab]", "[^a]", "[a-c]*", "\\(a\\)",
         "\\(b*\\)", "(b)", "a+", "a\\+", "b?", "\\.", "^", "$", "\\w", "[0-9]\\+"]  # fmt: skip
PUT_IN = ["X", "", "\\1", "\\2", "&", "\\n", "\\&"]
WHERE = ["", "", "", "1", "2", "$", "/a/", "2,3", "/b/,$", "1,/c/"]


def scripted(chance: random.Random) -> str:
    where = chance.choice(WHERE)
    if chance.random() < 0.2:
        return f"{where}d"
    found = "".join(chance.choices(PARTS, k=chance.randrange(1, 4)))
    put_in = "".join(chance.choices(PUT_IN, k=chance.randrange(3)))
    return f"{where}s/{found}/{put_in}/{chance.choice(['', 'g', '2'])}"


@pytest.mark.skipif(SED is None, reason="no sed on this machine")
def test_every_answer_is_that_of_sed_itself(tmp_path: Path) -> None:
    chance, told = random.Random(11), 0
    for _ in range(250):
        lines = ["".join(chance.choices(LETTERS, k=chance.randrange(7))) for _ in range(4)]
        text, script = "\n".join(lines) + "\n", scripted(chance)
        extended = chance.random() < 0.4
        after = edited(text, [script], extended=extended)
        if after is None:
            continue
        (tmp_path / "f").write_text(text)
        flags = ["-E"] if extended else []
        subprocess.run([str(SED), "-i", *flags, "-e", script, str(tmp_path / "f")], check=False)
        assert (tmp_path / "f").read_text() == after, script
        told += 1

    assert told > 50
