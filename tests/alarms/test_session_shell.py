"""Shell scripts are opened into their commands, whatever stands around them."""

from __future__ import annotations

import pytest

from kbsite.alarms.session.places import Way
from kbsite.alarms.session.shell import LONGEST, MOST, commands
from kbsite.alarms.session.started import inner
from kbsite.alarms.session.touched import touches


def words(script: str) -> list[list[str]]:
    return [one.words for command in commands(script) for one in inner(command)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls -l; pwd", [["ls", "-l"], ["pwd"]]),
        ("a && b || c | d", [["a"], ["b"], ["c"], ["d"]]),
        ("if test -f x; then kill 5; fi", [["test", "-f", "x"], ["kill", "5"]]),
        ("for f in ../a/*; do cat $f; done", [
            ["for", "f", "in", "../a/*"], ["cat", "../a/*"]]),
        ("D=../other; cat $D/x ${D}/y", [["cat", "../other/x", "../other/y"]]),
        ("echo 'a b' \"c d\" e\\ f", [["echo", "a b", "c d", "e f"]]),
        ('echo "$(cat "x y")" z', [["cat", "x y"], ["echo", '$(cat "x y")', "z"]]),
        ("echo `whoami`", [["whoami"], ["echo", "$(whoami)"]]),
        ("diff <(sort a) b", [["sort", "a"], ["diff", "$(sort a)", "b"]]),
        ("sleep 1 & wait # kill 1", [["sleep", "1"], ["wait"]]),
        ("cat > f <<'E'\nkill 1\nE\nls", [["cat"], ["ls"]]),
        ("echo $((1 + 2))", [["echo", "$((1 + 2))"]]),
        ("x=1 make all", [["make", "all"]]),
        ("make \\\n  all", [["make", "all"]]),
        ("bash -lc 'kill 7; ls'", [["bash", "-lc", "kill 7; ls"], ["kill", "7"], ["ls"]]),
        ("timeout -s KILL 5 pkill x", [
            ["timeout", "-s", "KILL", "5", "pkill", "x"], ["pkill", "x"]]),
        ("sudo -E env A=1 kill 3", [
            ["sudo", "-E", "env", "A=1", "kill", "3"], ["env", "A=1", "kill", "3"], ["kill", "3"]]),
        ("find . -name x -exec rm {} +", [
            ["find", ".", "-name", "x", "-exec", "rm", "{}", "+"], ["rm", "./**/x", "+"]]),
        ("", []),
        ("'unclosed", [["unclosed"]]),
        ("$(", [["$()"]]),
        (") & | ;; <<", []),
    ],
)  # fmt: skip
def test_the_commands_of_a_script(script: str, expected: list[list[str]]) -> None:
    assert words(script) == expected


def test_a_command_knows_what_it_reads_and_writes() -> None:
    first, second = commands("sort < in 2>err >> out <<< word | tee -a log &")

    assert (first.reads, first.writes, first.fed) == (["in"], ["err", "out"], "word")
    assert second.before is first
    assert (first.background, second.background) == (False, True)


def test_the_text_of_a_here_document_is_no_command() -> None:
    (command,) = commands("cat > run.sh <<-EOF\n\tpkill python\n\tEOF\n")

    assert command.fed == "\tpkill python\n"
    assert command.writes == ["run.sh"]


def test_a_subshell_is_known_by_its_depth() -> None:
    assert [one.depth for one in commands("a; (b; (c)); d")] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "script", ["(" * 50_000, "$(" * 50_000, "`" * 9999, '"' * 9999, "a;" * 9999]
)
def test_a_script_made_to_be_slow_is_bounded(script: str) -> None:
    assert len(commands(script)) <= MOST + 1


def test_of_a_long_script_the_beginning_is_read() -> None:
    assert [one.name for one in commands("ls\n" + "#" * LONGEST + "\nkill 1")] == ["ls"]


R, L, W, D = Way.READ, Way.LISTED, Way.WRITTEN, Way.REMOVED


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat a.py ../b", [("/w/a.py", R), ("/b", R)]),
        ("ls", [("/w", L)]),
        ("ls ~/x $HOME/y", [("~/x", L), ("~/y", L)]),
        ("sed -n 5p a.py", [("/w/a.py", R)]),
        ("sed -i s/a/b/ a.py", [("/w/a.py", W)]),
        ("sed -i.bak -e s/a/b/ a.py", [("/w/s/a/b", W), ("/w/a.py", W)]),
        ("perl -pi -e s/a/b/ a.py", [("/w/s/a/b", W), ("/w/a.py", W)]),
        ("grep -rn grader/check.py src", [("/w/src", R)]),
        ("cp a.py b.py", [("/w/a.py", R), ("/w/b.py", W)]),
        ("cp ../a.py .", [("/a.py", R), ("/w", W), ("/w/a.py", W)]),
        ("mv a.py b.py", [("/w/a.py", D), ("/w/a.py", R), ("/w/b.py", W)]),
        ("rm -f a.py", [("/w/a.py", D)]),
        ("tee a.py", [("/w/a.py", W)]),
        ("dd if=/a of=b", [("/a", R), ("/w/b", W)]),
        ("echo grader/check.py", []),
        ("git commit -m 'see grader/check.py'", []),
        ("git checkout -- a.py", [("/w/--", W), ("/w/a.py", W)][1:]),
        ("git show HEAD~1:a/b.py", [("/w/a/b.py", R)]),
        ("find / -name 'sol*.py'", [("/", L), ("/**/sol*.py", L)]),
        ("python -c 'print(1)' a.py", []),
        ("python run.py --out=b.txt", [("/w/run.py", R), ("/w/b.txt", R)]),
        ("x > a.py < b.py", [("/w/a.py", W), ("/w/b.py", R)]),
        ("make 2>&1 > /dev/null", []),
    ],
)
def test_the_files_that_a_command_touches(script: str, expected: list[tuple[str, Way]]) -> None:
    (command,) = commands(script)

    assert [(touch.path, touch.way) for touch in touches(command, "/w")] == expected
