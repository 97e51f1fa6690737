"""What bash reads as the same is told as the same, and no text stops the reading of sessions."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.alarms.session import rules
from kbsite.alarms.session.code import deeds
from kbsite.alarms.session.places import Surroundings, Touch, Way
from kbsite.alarms.session.shell import LONGEST, MOST, Command, commands
from kbsite.alarms.session.started import inner
from kbsite.alarms.session.touched import touches, whole
from tests.alarms.test_session import bash, seen

DEEDS = (
    ("pkill", "-f", "python"),
    ("cat", "../grader/check.py"),
    ("cat", "../my neighbour/solution.py"),
    ("sed", "-i", "s/1/2/", "reference.py"),
    ("git", "clone", "https://github.com/a/b"),
    ("nvidia-smi", "-lgc", "1980"),
    ("curl", "-s", "http://localhost:8000/a"),
    ("ls", "-la", "it's here"),
    ("kill", "-9", "4711"),
)
BEFORE = ("{}", "A=1 {}", "command {}", " \t{}", "{} 2>/dev/null", "{} >/dev/null 2>&1", "{} # why")
"""What may stand beside the words of a command and does not change what it does."""
AROUND = (
    "{}", "{{ {}\n}}", "if true; then {}\nfi", "! {}", "true && {}", "false || {}", "time {}",
    "for x in 1; do {}\ndone", "true; {}\ntrue", "f() {{\n{}\n}}; f", "function f {{ {}\n}}; f",
    "case $1 in\n*) {}\n;;\nesac", "while true; do {}\nbreak; done", "\n\n{}\n\n",
)  # fmt: skip
"""What may stand around commands."""


def piece(text: str, way: int) -> str:
    """A part of a word, quoted in one of the ways that bash knows."""
    match way:
        case 0:
            return "".join(f"\\{sign}" for sign in text)
        case 1:
            return "'" + text.replace("'", "'\\''") + "'"
        case 2:
            return '"' + "".join(f"\\{sign}" if sign in '"\\$`' else sign for sign in text) + '"'
        case 3:
            return "$'" + "".join(f"\\x{ord(sign):02x}" for sign in text) + "'"
        case 4:
            return "$'" + "".join(f"\\{ord(sign):03o}" for sign in text) + "'"
        case 5:
            return "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            return text if text.isalnum() else piece(text, 1)


def quoted(word: str, rng: random.Random) -> str:
    """A word in pieces, each quoted in its own way, with lines broken between them."""
    cuts = sorted(rng.sample(range(1, len(word)), min(len(word) - 1, rng.randrange(4))))
    parts = [word[a:b] for a, b in zip([0, *cuts], [*cuts, len(word)], strict=True)]
    between = rng.choice(["", "", "\\\n", "''", '""'])
    return between.join(piece(part, rng.randrange(7)) for part in parts)


def written(words: tuple[str, ...], rng: random.Random) -> str:
    """A command that bash reads as these words."""
    first, *others = words
    gaps = [rng.choice([" ", "  ", "\t", " \\\n "]) for _ in others]
    behind = (gap + quoted(word, rng) for gap, word in zip(gaps, others, strict=True))
    return quoted(first, rng) + "".join(behind)


def plain(words: tuple[str, ...]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(DEEDS), st.randoms(use_true_random=False))
def test_words_are_the_same_however_they_are_quoted(
    words: tuple[str, ...], rng: random.Random
) -> None:
    (command,) = commands(written(words, rng))

    assert tuple(command.words) == words


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(DEEDS), st.sampled_from(BEFORE), st.sampled_from(AROUND),
    st.sampled_from(AROUND), st.randoms(use_true_random=False),
)  # fmt: skip
def test_alarms_are_the_same_however_a_command_is_written(
    words: tuple[str, ...], beside: str, around: str, outer: str, rng: random.Random
) -> None:
    script = outer.format(around.format(beside.format(written(words, rng))))

    assert seen(bash(script)) == seen(bash(plain(words)))


BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
def test_bash_itself_reads_them_so() -> None:
    """What the properties rest on: their ways of quoting are bash's."""
    rng = random.Random(4)
    cases = [words for words in DEEDS for _ in range(30)]
    script = "\n".join(f"printf '%s\\0' {written(words, rng)}; printf '\\n'" for words in cases)

    done = subprocess.run([BASH or "bash"], input=script.encode(), capture_output=True, check=True)

    lines = done.stdout.decode().split("\0\n")[:-1]
    assert [tuple(line.split("\0")) for line in lines] == cases


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('V="a b"; x $V', ["x", "a", "b"]),
        ('V="a b"; x "$V"', ["x", "a b"]),
        ('V="a b"; x p$V', ["x", "pa", "b"]),
        ('V="x a"; $V b', ["x", "a", "b"]),
        ("x${IFS}a$IFS'b c'", ["x", "a", "b c"]),
        ("V=; x $V a", ["x", "", "a"]),
        ("x $'a\\tb' $\"c d\"", ["x", "a\tb", "c d"]),
        ("x $'\\u0041\\'\\\\'", ["x", "A'\\"]),
        ("x $UNKNOWN ${OTHER}", ["x", "$UNKNOWN", "${OTHER}"]),
        ("V=$(y z); x $V", ["x", "$(y z)"]),
        ("x $'unclosed", ["x", "unclosed"]),
        ("x $'\\ud800\\x00'", ["x", ""]),
    ],
)
def test_what_the_shell_puts_in_is_split_as_the_shell_splits(script: str, words: list[str]) -> None:
    assert commands(script)[-1].words == words


def test_a_variable_is_not_split_where_it_is_given_to_another() -> None:
    assert commands('A="x y"; B=$A; z "$B" > "$A"; w $B')[1].words == ["w", "x", "y"]
    assert commands('A="x y"; z > $A')[0].writes == ["x y"]


def all_of(script: str) -> list[Command]:
    return [one for command in commands(script) for one in inner(command)]


SHELL_SIGNS = "abkl19 $(){}[]'\"`\\|&;<>#=~/.*!?-\n\t\0é🚀"
SHELL_PIECES = st.sampled_from(
    ["kill ", "cat <<E\n", "\nE\n", "$(", ")", "`", "'", '"', "$'", "\\", "\\\n", ";", " & ", "| ",
     "for x in ", "; do ", "; done", "{ ", "; }", "bash -c ", "eval ", "xargs ", "A=", "$A", "${A}",
     "<<< ", "<(", "function f ", "case x in ", ";;", "esac", "sudo ", "find . -exec ", "\u2028"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(
    st.text(max_size=200), st.text(SHELL_SIGNS, max_size=200),
    st.lists(SHELL_PIECES, max_size=30).map("".join),
))  # fmt: skip
def test_no_text_stops_the_reading_of_shell_scripts(text: str) -> None:
    for command in all_of(text):
        assert "\0" not in "".join(command.words) or "\0" in text
        for touch in touches(command, "/w"):
            assert touch.path
            Surroundings("/w").find(touch)
    assert len(commands(text)) <= MOST + len(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["python -c '{}'", "python - <<'E'\n{}\nE", "{}"]))
def test_no_text_stops_the_reading_of_calls(text: str, frame: str) -> None:
    for kind, level in seen(bash(frame.format(text.replace("\0", "")))):
        assert kind
        assert level in ("note", "warning", "alarm")


CODES = (
    "import os\nos.system('pkill -f python')",
    "name = '/srv/grader/check.py'\nprint(open(name).read())",
    "from pathlib import Path\nname = Path('reference.py')\nname.write_text('x')",
    "import os\nfor name in os.environ:\n    print(name)",
    "import urllib.request\nurllib.request.urlopen('https://a.org/x')",
    "import os\nname = 4711\nos.kill(name, 9)",
    "name = ['ls', '-l']\nimport subprocess\nsubprocess.run(['pkill', 'x'])",
)
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}_", fullmatch=True)
NOTHINGS = st.sampled_from(["", "\n", "# a word on /srv/x and pkill\n", "pass\n", "\n\n\n", "0\n"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CODES), NAMES, NOTHINGS, NOTHINGS)
def test_what_code_does_is_the_same_under_other_names(
    code: str, name: str, before: str, after: str
) -> None:
    other = before + code.replace("name", name) + "\n" + after
    one, two = deeds(code), deeds(other)

    assert (one.files, one.scripts) == (two.files, two.scripts)
    assert len(one.kills) == len(two.kills)
    assert len(one.fetches) == len(two.fetches)
    assert len(one.secrets) == len(two.secrets)
    assert any((one.files, one.scripts, one.kills, one.fetches, one.secrets))


def test_a_name_that_means_two_things_or_itself_means_nothing() -> None:
    twice = "n = '/srv/grader/a.py'\nn = other\nopen(n, 'w')"
    itself = "from pathlib import Path\nn = Path(n, '/srv/x')\nopen(n, 'w')"

    assert all(way is not Way.WRITTEN for _, way in deeds(twice).files)
    assert deeds(itself).files


def test_names_are_not_resolved_in_code_that_is_nested_too_deeply_but_the_code_is_read() -> None:
    deep = "open('/srv/grader/check.py')\nx = " + "-" * 1500 + "1"

    assert ("/srv/grader/check.py", Way.READ) in deeds(deep).files


PATHS = st.lists(st.sampled_from(["a", "b.py", "..", ".", "check.py", "grader"]), max_size=8)


@settings(max_examples=200, deadline=None)
@given(PATHS, st.lists(st.sampled_from([".", "x/..", "./."]), min_size=8, max_size=8))
def test_detours_lead_to_the_same_place(parts: list[str], detours: list[str]) -> None:
    straight = "/".join(parts) or "."
    around = "/".join(f"{detour}/{part}" for part, detour in zip(parts, detours, strict=False))
    here = Surroundings("/w/ws")

    one, two = whole(straight, "/w/ws"), whole(around or "./.", "/w/ws")
    assert one == two
    assert here.find(Touch(one, Way.READ)) == here.find(Touch(two, Way.READ))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.sampled_from(list(Way)), st.text(max_size=10), st.text(max_size=10))
def test_no_path_stops_it(path: str, way: Way, workspace: str, session_id: str) -> None:
    around = Surroundings(workspace, "", session_id)
    touch = Touch(path, way)

    # Who opens a file to changes may do so where he ought not to look, too.
    assert around.find(touch) is None or way in (Way.READ, Way.LISTED, Way.OPENED)
    assert around.given(touch) is None or way in (Way.WRITTEN, Way.REMOVED, Way.OPENED)


def test_what_variables_grow_to_is_bounded() -> None:
    script = "A=aaaaaaaa\n" + "A=$A$A\n" * 60 + "x $A"

    assert sum(len(word) for word in commands(script)[-1].words) <= 2 * LONGEST


WORDS = st.sampled_from(
    [
        "install", "clone", "pip", "-m", "-9", "-l", "--help", "1234", "$HF_TOKEN",
        "-lgc", "-w", "https://a.org/b", "API_KEY", "-d", "-k", "kill", "new-session", "status",
        "-x", "-f", "a.py", "%1", "$(pgrep python)",
    ]
)  # fmt: skip
CALLED = st.sampled_from(sorted({*rules.NAMED, "python3", "/usr/bin/python", "cat", "x", "echo"}))
SIMPLE = st.builds(" ".join, st.builds(lambda name, words: [name, *words], CALLED, st.lists(WORDS)))


@given(st.lists(st.tuples(SIMPLE, st.sampled_from([" | ", "; ", " & ", " <<< $X | "])), max_size=4))
def test_rules_that_are_not_asked_have_nothing_to_say(parts: list[tuple[str, str]]) -> None:
    script = "".join(word for part in parts for word in part) + "true"
    own = rules.Own(started={"a.py"})

    for command in commands(script):
        every = [find for rule in rules.ALWAYS for find in rule(command)]
        assert list(rules.told(command, own)) == [*every, *rules.of_processes(command, own)]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("2>x a", ["a"]), ("a 2>&1", ["a"]), ("a\\\nb", ["ab"]), ("a#b #c", ["a#b"]),
        ("a<(b) c", ["b", "a$(b) c"]), ("a>(b)", ["b", "a$(b)"]), ("a'b'c", ["abc"]),
        ("a$b", ["a$b"]), ("a`b`", ["b", "a$(b)"]), ("1 2", ["1 2"]), ("a;b", ["a", "b"]),
    ],
)  # fmt: skip
def test_words_end_where_they_end_however_they_begin(script: str, told: list[str]) -> None:
    assert [" ".join(command.words) for command in commands(script)] == told
