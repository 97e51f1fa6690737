"""`sed -i`, told without sed: what it answers is right, and where it cannot know it says so."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kbsite.fold import sed
from kbsite.fold.sed import edited
from kbsite.fold.work import MOST, Work

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


@pytest.fixture(name="taken")
def _taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that are taken, each time that some are."""
    taken: list[int] = []
    take = sed._Budget.take

    def counted(held: sed._Budget, steps: int) -> None:
        taken.append(steps)
        take(held, steps)

    monkeypatch.setattr(sed._Budget, "take", counted)
    return taken


@pytest.mark.parametrize("end", ["[bc]", "[^a]"])
def test_hostile_patterns_end_soon(taken: list[int], end: str) -> None:
    script = "s/" + ".*a" * 60 + end + "/x/"

    assert edited("a" * 5000 + "\n", [script]) is None
    assert sum(taken) < sed.STEPS + 10_000_000
    assert len(taken) < sed.STEPS


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("a\n" * 20_000, ["s/a/a/;" * 90]),
        ("abc\n" * 20_000, ["s/abc*[^d]*/&/g;" * 90]),
        ("a\n" * 500_000, ["/x/d;" * 19]),
        ("a\n", ["s/a/b/;" * 100_000]),
        ("a\n", ["s/" + "a" * 190 + "/b/;"] * 20_000),
        ("abcdefghij" * 25_000 + "\n", ["s/[a-z]*[0-9]/x/g"]),
    ],
    ids=["commands", "matches", "addresses", "script", "scripts", "line"],
)
def test_scripts_and_texts_of_any_length_are_given_up_before_much_is_done(
    taken: list[int], text: str, scripts: list[str]
) -> None:
    work = Work()

    assert edited(text, scripts, work=work) is None
    # What is done between two of these takes the time of some comparisons.
    assert len(taken) < sed.STEPS / 5
    assert MOST - work.left <= sed.STEPS * sed.DEAR


def test_all_the_scripts_of_a_transcript_take_some_seconds_at_most() -> None:
    assert MOST / sed.DEAR <= 25_000_000


@pytest.mark.parametrize(
    ("script", "least"),
    [("s/def /DEF /g", 1500), (r"s/[0-9]\+/N/g", 1000), (r"s/^ *call(\(.*\))$/\1/", 300)],
)
def test_as_many_ordinary_edits_as_a_session_has_are_told(script: str, least: int) -> None:
    text = "    block = tl.load(at + offset, mask=mask)\n    call(first, 22)\ndef f(x):\n" * 170
    work = Work()

    assert edited(text, [script], work=work)
    assert work.left > MOST - MOST / least


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
