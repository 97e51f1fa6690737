"""Files as shell commands leave them, told without a shell."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kbsite.fold.replay import outcome
from kbsite.fold.shell_words import LONGEST, chains
from kbsite.fold.steps import Fold
from kbsite.model.event import Edit, Event, Session, Source, ToolCall, ToolKind, ToolResult
from kbsite.model.transcript import FileDiff

KNOWN = {"/w/a.py": "a = 1\n", "/w/sub/b.py": "b\n"}


def left(script: str, *, succeeded: bool = True, ran: bool = True) -> dict[str, str | None]:
    return dict(outcome(script, "/w", KNOWN, ran=ran, succeeded=succeeded).contents)


@pytest.mark.parametrize(
    ("script", "contents"),
    [
        ("sed -i 's/1/2/' a.py", {"/w/a.py": "a = 2\n"}),
        ("cd /w && sed -i -e 's/1/2/' -e 's/a/b/' ./a.py && python a.py", {"/w/a.py": "b = 2\n"}),
        ("sed -i.bak s/1/2/ a.py", {"/w/a.py": "a = 2\n"}),
        ("sed -Ei 's/(1)/\\1\\1/' a.py", {"/w/a.py": "a = 11\n"}),
        ("cat > a.py <<'EOF'\n$x\nEOF", {"/w/a.py": "$x\n"}),
        ("cat <<EOF > c.py\nplain\nEOF\nls", {"/w/c.py": "plain\n"}),
        ("cat >> a.py <<'EOF'\nb\nEOF", {"/w/a.py": "a = 1\nb\n"}),
        ("cat <<'E' | tee a.py >/dev/null\nx\nE", {"/w/a.py": "x\n"}),
        ("tee sub/c.py <<-'E'\n\tx\n\tE", {"/w/sub/c.py": "x\n"}),
        ("echo 'x y' > a.py", {"/w/a.py": "x y\n"}),
        ("echo -n x >> a.py", {"/w/a.py": "a = 1\nx"}),
        ("printf 'a\\nb' > a.py", {"/w/a.py": "a\nb"}),
        ("printf '%s\\n' a b > a.py", {"/w/a.py": "a\nb\n"}),
        ("cp a.py c.py", {"/w/c.py": "a = 1\n"}),
        ("mv -f a.py sub/b.py", {"/w/sub/b.py": "a = 1\n", "/w/a.py": None}),
        ("cat a.py sub/b.py > c.py", {"/w/c.py": "a = 1\nb\n"}),
        ("cd sub && echo c > b.py", {"/w/sub/b.py": "c\n"}),
        ("echo one > a.py; sed -i s/one/two/ a.py", {"/w/a.py": "two\n"}),
    ],
)
def test_plain_commands_are_told(script: str, contents: dict[str, str | None]) -> None:
    assert left(script) == contents


@pytest.mark.parametrize(
    "script",
    [
        "sed -i \"s/1/$x/\" a.py", "sed -i s/1/2/w a.py", "sed -ni s/1/2/p a.py",
        "perl -pi -e x a.py",
        "cat > a.py <<EOF\n$x\nEOF", "echo $x > a.py", "echo -e 'x' > a.py", "echo 'a\\n' > a.py",
        "printf '%d' 1 > a.py", "python gen.py > a.py", "date | tee a.py", "cp c.py a.py",
        "mv c.py a.py", "cp -r c a.py", "rm a.py", "patch < p", "git checkout a.py",
        "/usr/bin/patch -p1 < x", "git merge main", "git stash", "git $HOW reset --hard",
        "git -C /w -c user.name='A B' rebase x", "git --no-pager stash pop",
        "python -c \"run(['git', 'apply', 'x'])\"", "git log | cat; git clean -fd",
        "git merge-file a.py b.py c.py", "git merge-base a b && git rm x",
        "git log --output a.py", "git -C log checkout x", "git show $(git checkout x)",
        "ls | xargs sed -i s/1/2/", "ls | xargs grep -l x | xargs -n 1 rm",
        "ls | xargs -I{} sh -c 'x {}'", "find . -execdir mv {} x ;",
        "find . -exec grep -q x {} ; -exec truncate -s 0 {} +", "sed 's/$x;/y/' -i *.py",
        "ruff format .",
        "black a.py", "if true; then sed -i s/1/2/ a.py; fi",
        "for f in *.py; do sed -i s/1/2/ $f; done",
        "test -f x && sed -i s/1/2/ a.py; true", "true || echo x > a.py", "sed -i s/1/2/ *.py",
        "python - <<'E'\nopen('a.py', 'w').write('x')\nE", "python -c \"open('a.py', 'w')\"",
        "find . -name '*.py' -exec sed -i s/1/2/ {} +", "(cd x; echo y > a.py)", "echo x > a.py &",
        "cat a.py > a.py", "python x.py 2> a.py", "echo x &> a.py", "clang -o a.py x.c",
        "cd /elsewhere; cp a.py b; echo x > /w/a.py <<< y", "sed -i s/1/2/ c.py a.py; true",
        "echo 'unclosed > a.py", "cat > a.py <<'E'\nno end",
        "python - <<E\nopen('a.py', 'w').write('x\\n')\nE",
        "python -c \"open('a.py', 'w').write('$x')\"", "cat <<'E' | python\nopen('a.py', 'w')\nE",
        "echo \"open('a.py', 'w')\" | python3 -", "python -c 'import os; os.remove(\"a.py\")'",
        "python -c 'import os; os.replace(\"b.py\", \"a.py\")'", "ed -s a.py <<< $'1d\\nw'",
        "echo x >& a.py", "apply_patch <<'E'\n*** Update File: a.py\n@@\n-a = 1\nE",
        "ex -s a.py < x", "wget -O a.py x", "curl -oa.py x", "cc -o $out a.py",
        "truncate -s 0 $f", 'perl -pi -e s/1/2/ "$f"', "sponge a.* < x", "truncate -s 0 {a,b}.py",
        "python -c 'import fileinput as f; f.input(\"a.py\", inplace=True)'",
    ],
)  # fmt: skip
def test_what_is_not_sure_leaves_the_file_unknown(script: str) -> None:
    assert left(script)["/w/a.py"] is None


@pytest.mark.parametrize(
    "script",
    [
        "python a.py", "cat a.py", "grep -n x a.py | head", "python check.py a.py > /dev/null 2>&1",
        "diff a.py sub/b.py", "sed -n 1,5p a.py", "sed s/1/2/ a.py", "ls > out.log",
        "git diff a.py", "git log $(git merge-base main HEAD)..HEAD | cat",
        "git show --no-patch x.patch", "git stash list | cat", "git stash show | cat",
        "git -C /w --no-pager log -1 --grep 'merge and clean, rm x' | cat > log.txt",
        "find . -name '*.py' | xargs -n 5 grep -l x | head", "ls | xargs -0 wc -l",
        "find . -name '*.py' -exec wc -l {} +",
        "sed -n 1,5p a.py | cat -A | sed 's/\\$$/<NL>/' | head",
        "nsys profile -o out python a.py", "ncu --out=b.ncu-rep python a.py",
        "wc -l a.py 2>/dev/null", "echo 'sed -i s/1/2/ a.py'", "cat <<'E'\necho x > a.py\nE",
    ],
)  # fmt: skip
def test_what_only_reads_a_file_leaves_it_known(script: str) -> None:
    assert "/w/a.py" not in left(script)


def test_a_command_that_failed_alone_changed_who_knows_what() -> None:
    assert left("sed -i s/1/2/ a.py", succeeded=False) == {"/w/a.py": None}
    assert left("sed -i s/1/2/ a.py && python check.py", succeeded=False) == {"/w/a.py": "a = 2\n"}
    assert left("make && sed -i s/1/2/ a.py", succeeded=False) == {"/w/a.py": None}
    assert left("make && sed -i s/1/2/ a.py") == {"/w/a.py": "a = 2\n"}


def test_a_copy_of_a_file_onto_itself_fails_and_changes_nothing() -> None:
    assert left("cp a.py ./a.py && echo x > c.py\nls") == {}
    assert left("mv /w/a.py a.py") == {}


def test_a_command_that_may_not_have_run_leaves_files_unknown() -> None:
    assert left("sed -i s/1/2/ a.py", ran=False) == {"/w/a.py": None}


def test_what_comes_after_the_first_failure_depends_on_set_e() -> None:
    assert left("set -e\nmake\necho x > a.py\nls") == {"/w/a.py": "x\n"}
    assert left("set -e\nmake\nmake && echo x > a.py\nls") == {"/w/a.py": None}
    assert left("set -e\nls && echo x > a.py && make") == {"/w/a.py": "x\n"}
    assert left("make && echo x > a.py\nls") == {"/w/a.py": None}
    assert left("set -e\nmake\necho x > a.py\nmake", succeeded=False) == {"/w/a.py": None}
    assert left("set -e\nset -x\nmake\necho x > a.py\nmake", succeeded=False) == {"/w/a.py": None}
    assert left("set -x\nmake\necho x > a.py\nmake", succeeded=False) == {"/w/a.py": "x\n"}


@pytest.mark.parametrize(
    ("folder", "told"),
    [("/w", {"/w/n.py": "x\n"}), ("/tmp", {"/tmp/n.py": "x\n"}), ("/elsewhere", {})],
)
def test_a_file_can_be_written_in_the_folder_of_the_session_though_none_is_known_there(
    folder: str, told: dict[str, str]
) -> None:
    script = f"echo x > {folder}/n.py\nmake"

    assert outcome(script, "/w", {}, ran=True, succeeded=False).contents == told


@pytest.mark.parametrize(
    ("folder", "ran", "succeeded", "left_in"),
    [("/x", True, True, "/x"), ("/x", True, False, None), ("/x", False, True, None),
     ("/w", True, False, "/w"), ("/w", False, False, "/w")],
)  # fmt: skip
def test_where_a_script_enters_a_folder_it_is_left_there_if_it_is_sure_to_have_got_there(
    folder: str, ran: bool, succeeded: bool, left_in: str | None
) -> None:
    found = outcome(f"cd {folder} && make", "/w", KNOWN, ran=ran, succeeded=succeeded)

    assert (found.contents, found.folder) == ({}, left_in)


def test_a_folder_that_is_not_known_makes_its_files_unknown() -> None:
    found = outcome("echo x > a.py; echo y > /w/sub/b.py", None, KNOWN, ran=True, succeeded=True)

    assert dict(found.contents) == {"/w/a.py": None, "/w/sub/b.py": "y\n"}
    assert outcome("cd sub", "/w", KNOWN, ran=True, succeeded=True).folder == "/w/sub"
    assert outcome("cd $x", "/w", KNOWN, ran=True, succeeded=True).folder is None
    assert outcome("cd x; make", "/w", KNOWN, ran=True, succeeded=False).folder is None


def test_a_folder_that_a_part_of_a_pipeline_enters_is_its_own() -> None:
    assert left("cd sub | cat\necho x > a.py") == {"/w/a.py": "x\n"}


def test_what_stands_before_the_first_unclear_line_is_told() -> None:
    script = "cat > a.py <<'E'\nx\nE\nfor i in 1 2; do\n  python a.py\ndone"

    assert left(script) == {"/w/a.py": "x\n"}


def test_a_script_that_is_too_long_is_not_read() -> None:
    assert chains("x" * (LONGEST + 1)) == ([], "x" * (LONGEST + 1))
    assert left("echo x > a.py\n" + "#" * LONGEST) == {"/w/a.py": None}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", ["a", "b c", "d e", "f g"]),
        ('a "$b" $c `d` *.py ~ {x,y}', ["a", None, None, None, None, None, None]),
        ("a 'it'\"'\"'s' \"\\\"\" '$x'", ["a", "it's", '"', "$x"]),
        ("a \\\n  b # c", ["a", "b"]),
    ],
)
def test_words_are_those_of_the_shell(script: str, words: list[str | None]) -> None:
    ((chain,), rest) = chains(script)

    assert (chain[0].commands[0].words, rest) == (words, "")


def folded(*events: Event, keeps_folder: bool | None = True) -> list[FileDiff]:
    fold = Fold(keeps_folder)
    for event in events:
        fold.add(event)
    steps = fold.transcript("f", "t", ()).main.steps
    return [diff for step in steps for diff in step.diffs]


def session() -> Session:
    return Session(source=Source("f", 1), cwd="/w")


def called(line: int, command: str, *, failed: bool = False, **more: object) -> list[Event]:
    call = ToolCall(
        source=Source("f", line), call_id=f"c{line}", tool="Bash", tool_kind=ToolKind.RUN,
        arguments={"command": command, **more},
    )  # fmt: skip
    code = int(failed)
    return [call, ToolResult(source=Source("f", line + 1), call_id=f"c{line}", output="",
                             exit_code=code, is_error=failed)]  # fmt: skip


def written(line: int, *edits: Edit) -> list[Event]:
    call = ToolCall(
        source=Source("f", line), call_id=f"c{line}", tool="Edit", tool_kind=ToolKind.EDIT,
        arguments={}, edits=edits,
    )  # fmt: skip
    return [call, ToolResult(source=Source("f", line + 1), call_id=f"c{line}", output="")]


def test_a_replayed_command_shows_what_it_changed_and_says_so() -> None:
    _, diff = folded(
        session(), *written(2, Edit("/w/a.py", None, "a\nb\n")), *called(4, "sed -i 2d a.py")
    )

    assert [(line.sign, line.text) for line in diff.lines[1:]] == [(" ", "a"), ("-", "b")]
    assert (diff.path, diff.replayed, diff.after) == ("/w/a.py", True, "a\n")
    assert diff.told == "update, replayed from the shell command"


def test_the_next_edit_is_shown_against_what_the_command_left() -> None:
    diffs = folded(
        session(), *called(2, "cat > a.py <<'E'\na = 1\nb = 2\nE"),
        *written(4, Edit("/w/a.py", "1", "9")), *called(6, "python gen.py > a.py"),
        *written(8, Edit("/w/a.py", "b", "c")),
    )  # fmt: skip

    made, edit, unknown, blind = diffs
    assert (made.action, made.added) == ("write", 2)
    assert [line.text for line in edit.lines if line.sign == " "] == ["b = 2"]
    assert (unknown.action, unknown.lines) == ("unknown", ())
    assert "unknown from here on" in unknown.told
    assert [line.text for line in blind.lines[1:]] == ["b", "c"]


def test_a_command_in_the_background_and_one_that_was_refused_tell_nothing() -> None:
    first = [session(), *written(2, Edit("/w/a.py", None, "a\n"))]
    apart = called(4, "sed -i s/a/b/ a.py", run_in_background=True)
    other = called(4, "sed -i s/a/b/ a.py", is_background=True)
    refused = called(4, "sed -i s/a/b/ a.py", failed=True)

    assert folded(*first, *apart)[1].action == "unknown"
    assert folded(*first, *other)[1].action == "unknown"
    assert folded(*first, *refused)[1].action == "unknown"


def test_what_a_shell_could_not_write_is_unknown() -> None:
    call, result = called(4, "sed -i s/a/b/ a.py; echo x > no/b.py; ls")
    assert isinstance(result, ToolResult)
    told = replace(result, output="/bin/bash: line 1: no/b.py: No such file or directory\na.py")
    other = replace(result, output="ls: cannot access 'c': No such file or directory")
    first = [session(), *written(2, Edit("/w/a.py", None, "a\n"))]

    assert folded(*first, call, told)[1].action == "unknown"
    assert folded(*first, call, other)[1].after == "b\n"


@pytest.mark.parametrize(
    "said",
    ["Exit code 143\nCommand timed out after 2m 0.0s\n", "command timed out after 11 milliseconds",
     "a\nCommand killed by timeout (60s)", "Command was automatically cancelled because it",
     "bash tool terminated\nshell tool terminated command after exceeding timeout 9 ms"],
)  # fmt: skip
def test_what_stands_behind_a_command_that_was_stopped_is_unknown(said: str) -> None:
    first = [session(), *written(2, Edit("/w/a.py", None, "a\n"))]
    call, result = called(4, "make; sed -i s/a/b/ a.py; python bench.py", failed=True)
    assert isinstance(result, ToolResult)

    assert folded(*first, call, replace(result, output=said))[1].action == "unknown"
    assert folded(*first, call, replace(result, output="FAIL: x"))[1].after == "b\n"


@pytest.mark.parametrize(
    "said",
    ["Wall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n",
     "Command running in background with ID: b1"],
)  # fmt: skip
def test_a_command_that_outlives_its_call_tells_nothing(said: str) -> None:
    first = [session(), *written(2, Edit("/w/a.py", None, "a\n"))]
    call, result = called(4, "make && sed -i s/a/b/ a.py")
    assert isinstance(result, ToolResult)
    runs = replace(result, output=said, exit_code=None, is_error=None)

    assert folded(*first, call, runs)[1].action == "unknown"
    assert folded(*first, call, replace(runs, exit_code=0))[1].after == "b\n"


def test_a_command_that_changes_no_byte_has_no_diff() -> None:
    first = [session(), *written(2, Edit("/w/a.py", None, "a\n"))]

    assert len(folded(*first, *called(4, "sed -i s/x/y/ a.py"))) == 1


FIRST = [session(), *written(2, Edit("/w/sub/a.py", None, "a\n"))]
EDITS = "sed -i s/a/b/ a.py"


@pytest.mark.parametrize("moves", ["cd sub", "cd -- sub"])
def test_where_a_command_ended_the_next_one_begins(moves: str) -> None:
    moved = [*FIRST, *called(4, moves), *called(6, EDITS)]
    lost = [*FIRST, *called(4, "cd $x"), *called(6, EDITS)]

    assert folded(*moved)[1].after == "b\n"
    assert folded(*lost)[1].action == "unknown"


def test_most_clis_begin_each_command_in_the_folder_of_the_session() -> None:
    moved = [*FIRST, *called(4, "cd sub && ls"), *called(6, "echo x > a.py; cat sub/a.py > b.py")]

    assert [(diff.path, diff.after) for diff in folded(*moved, keeps_folder=False)[1:]] == [
        ("/w/a.py", "x\n"), ("/w/b.py", "a\n")
    ]  # fmt: skip


def test_where_nobody_knows_whether_a_cli_keeps_the_folder_only_that_of_the_session_is_sure() -> (
    None
):
    moved = [*FIRST, *called(4, "cd sub && ls"), *called(6, EDITS)]
    home = [*FIRST, *called(4, "cd /w && ls"), *called(6, "sed -i s/a/b/ sub/a.py")]

    assert folded(*moved, keeps_folder=None)[1].action == "unknown"
    assert folded(*home, keeps_folder=None)[1].after == "b\n"


def test_a_cli_that_says_where_the_next_command_begins_is_believed() -> None:
    call, result = called(4, "cd sub && ls")
    assert isinstance(result, ToolResult)
    told = replace(result, output="b.py\nShell cwd was reset to /w")
    again = [call, told, *called(6, "sed -i s/a/b/ sub/a.py")]
    quoted = [call, replace(told, output=told.output + "\nand so on"), *called(6, EDITS)]

    assert folded(*FIRST, *again)[1].after == "b\n"
    assert folded(*FIRST, *quoted)[1].after == "b\n"


SCRIPTS = {
    "/w/a.py": "import a  # a.py\n",
    "/w/fix.py": "p = 'a.py'\nopen(p, 'w').write('x')\n",
    "/w/made.py": "import p\np.Path('a.py').write_text('x')\n",
    "/w/moves.py": "import os\nos.replace('b.py', 'a.py')\n",
    "/w/fix.sh": "sed -i s/1/2/ a.py\n",
    "/w/bench.py": "import json\nf = load('a.py')\njson.dump(f(), open('out.json', 'w'))\n",
}


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("python fix.py", True), ("cd /w && python3 -u ./fix.py 2>&1 | tail", True),
        ("timeout 9 python made.py", True), ("uv run python moves.py", True), ("./fix.sh", True),
        ("for i in 1 2; do bash fix.sh; done", True),
        ("python bench.py", False), ("python a.py", False), ("cat fix.py", False),
        ("grep x fix.py | python bench.py", False),
    ],
)  # fmt: skip
def test_scripts_that_the_session_wrote_may_change_what_they_open_to_write(
    script: str, changes: bool
) -> None:
    found = outcome(script, "/w", SCRIPTS, ran=True, succeeded=True).contents

    assert dict(found) == ({"/w/a.py": None} if changes else {})


def test_of_a_line_that_no_shell_can_read_nothing_has_run() -> None:
    assert left("echo x > a.py; fi", succeeded=False) == {"/w/a.py": None}
    assert left("{ ls\necho x > a.py\nfi", succeeded=False) == {"/w/a.py": None}
    assert left("echo x > a.py\nfi", succeeded=False) == {"/w/a.py": "x\n"}


WINDOWS = [
    Session(source=Source("f", 1), cwd=r"D:\w"),
    *written(2, Edit(r"D:\w\a.py", None, "a\n")),
    *written(4, Edit(r"D:\w\sub\b.py", None, "b\n")),
]


@pytest.mark.parametrize(
    "script", ["sed -i s/a/c/ a.py", "cd /d/w && sed -i s/a/c/ a.py", "sed -i s/a/c/ D:/w/a.py"]
)
def test_whole_paths_on_windows_are_those_that_their_shells_name(script: str) -> None:
    assert folded(*WINDOWS, *called(6, script))[2].after == "c\n"


def test_a_file_on_windows_that_is_not_known_any_more_is_told_once() -> None:
    diffs = folded(*WINDOWS, *called(6, "git checkout ."), *called(8, "git checkout ."))

    assert [(diff.path, diff.action) for diff in diffs[2:]] == [
        ("/d/w/a.py", "unknown"), ("/d/w/sub/b.py", "unknown")
    ]  # fmt: skip
