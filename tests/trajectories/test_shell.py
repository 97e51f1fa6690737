from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kbsite.fold.commands import changing_text, command_text
from kbsite.model.event import Source, ToolCall, ToolKind
from kbsite.trajectories.shell import LONGEST, Written, understood


def written(command: str, *, succeeded: bool = True) -> list[Written]:
    return understood(command, "/w", succeeded=succeeded).written


def sure(command: str, *, succeeded: bool = True) -> list[bool]:
    return [one.sure for one in written(command, succeeded=succeeded)]


BODY = "a = '$x'\n\n\tb = `2`\n"


@pytest.mark.parametrize(
    "first",
    ["cat > solution.py <<'EOF'", 'cat > solution.py << "EOF"', "cat >solution.py<<'EOF'",
     "cat <<'EOF' > solution.py", "cat << 'EOF' | tee solution.py", "tee solution.py <<'EOF'",
     "tee solution.py > /dev/null <<'EOF'", "cat >| solution.py <<'EOF'",
     "  cat > ./solution.py <<'EOF'", "cat > '/w/solution.py' <<'EOF'",
     "cd /w && cat > solution.py <<'EOF'", "mkdir -p /w && cat > solution.py <<'EOF'",
     "cat > solution.py <<'EOF' && python check.py", "cat > solution.py <<'EOF'; ls"],
)  # fmt: skip
def test_a_here_document_with_a_quoted_end_is_read(first: str) -> None:
    assert written(f"{first}\n{BODY}EOF\npython check.py") == [
        Written("/w/solution.py", BODY, append=False, sure=True)
    ]


@pytest.mark.parametrize(
    "first",
    ["cat > solution.py <<EOF", "cat > $F <<'EOF'", 'cat > "$F" <<\'EOF\'', "sort > a <<'EOF'",
     "python gen.py && cat > solution.py <<'EOF'", "cat - > solution.py <<'EOF'",
     "cat > a <<'EOF' <<'B'"],
)  # fmt: skip
def test_what_cannot_be_told_is_not_read(first: str) -> None:
    assert written(f"{first}\n{BODY}EOF\n") == []


def test_tabs_are_taken_off_where_the_shell_takes_them_off() -> None:
    (one,) = written("cat > a <<-'EOF'\n\tx\n\t\ty\n\tEOF\n")
    assert one.text == "x\ny\n"


@pytest.mark.parametrize("first", ["cat >> a <<'E'", "tee -a a <<'E'", "cat <<'E' | tee -a a"])
def test_what_is_appended_is_told(first: str) -> None:
    assert written(f"{first}\nx\nE") == [Written("/w/a", "x\n", append=True)]


def test_a_here_document_within_another_is_text() -> None:
    command = "cat > make.sh <<'X'\ncat > solution.py <<'EOF'\na\nEOF\nX\n"
    assert [one.path for one in written(command)] == ["/w/make.sh"]
    assert not understood(command).changes_solution


def test_several_are_read_one_after_the_other() -> None:
    command = "cat > a <<'E'\n1\nE\ncd sub\ncat > b <<'E'\n2\nE\ncat > a <<'E'\n3\nE\n"
    assert [(one.path, one.text) for one in written(command)] == [
        ("/w/a", "1\n"), ("/w/sub/b", "2\n"), ("/w/sub/a", "3\n")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "before",
    ["if test -f x", "for n in 1 2; do", "while true; do", "exit 1", "x && \\", "f() {", "false &&",
     "(", "echo 'open", "case $x in", "exec python x.py", "python x.py |"],
)  # fmt: skip
def test_what_may_not_be_reached_is_not_sure(before: str) -> None:
    assert sure(f"{before}\ncat > a <<'E'\n1\nE\n") == [False]


@pytest.mark.parametrize(
    "before", ["# if it exists", "mkdir x; ls", "python x.py && echo fine", "export A=1", ""]
)
def test_what_decides_nothing_leaves_it_sure(before: str) -> None:
    assert sure(f"{before}\ncat > a <<'E'\n1\nE\n", succeeded=False) == [True]


@pytest.mark.parametrize("before", ["set -e", "cd /elsewhere", "cd sub &&"])
def test_what_stops_a_failing_command_is_sure_in_one_that_did_not_fail(before: str) -> None:
    command = before + ("\n" if before[-1] != "&" else " ") + "cat > a <<'E'\n1\nE\n"
    assert (sure(command), sure(command, succeeded=False)) == ([True], [False])


@pytest.mark.parametrize("end", ["", "EOF2\n", " EOF\n"])
def test_a_here_document_without_an_end_is_not_read(end: str) -> None:
    command = understood(f"cat > solution.py <<'EOF'\nx\n{end}")
    assert command.written == []
    assert command.changes_solution


@pytest.mark.parametrize(
    "command",
    ["sed -i 's/a/b/' solution.py", "sed -Ei s/a/b/ /w/solution.py", "cp best.py solution.py",
     "cp best.py ./solution.py && python check.py", "mv a.py solution.py", "rm -f solution.py",
     "git checkout -- solution.py", "echo x > solution.py", "echo x >> 'solution.py'",
     "python gen.py >solution.py", "printf x | tee solution.py", "black solution.py",
     "ruff format solution.py", "ruff check --fix solution.py", "patch solution.py fix.diff",
     "perl -pi -e s/a/b/ solution.py", "sed --in-place s/a/b/ solution.py",
     "python -c \"open('solution.py', 'w').write('x')\"",
     "python - <<'PY'\np = 'solution.py'\nopen(p, 'w').write('x')\nPY",
     "cat > solution.py <<EOF\n$x\nEOF"],
)  # fmt: skip
def test_a_command_that_may_change_the_solution_is_told(command: str) -> None:
    assert understood(command).changes_solution


@pytest.mark.parametrize(
    "command",
    ["cat solution.py", "python solution.py > log", "cp solution.py best.py", "ls",
     "sed -n '1,20p' solution.py", "grep -n x solution.py", "git diff solution.py",
     "ruff check solution.py", "echo x > my_solution.py", "rm other.py", "wc solution.py | tee log",
     "cat > notes.md <<'E'\nsed -i s/a/b/ solution.py\nE\n", "diff solution.py best.py > d"],
)  # fmt: skip
def test_a_command_that_only_names_the_solution_changes_nothing(command: str) -> None:
    assert not understood(command).changes_solution


def test_a_command_of_any_size_is_taken() -> None:
    long = "x solution.py " * (LONGEST // 10)
    assert understood(long).written == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"command": "ls"}, "ls"), ({"cmd": ["bash", "-lc", "ls -l"]}, "ls -l"),
     ({"command": ["cat", "a"]}, "cat a"), ("ls", "ls"), ({}, ""), ({"command": 3}, ""),
     ({"command": [1, None]}, "")],
)  # fmt: skip
def test_the_command_of_every_shape_of_arguments(arguments: dict[str, object], text: str) -> None:
    call = ToolCall(
        source=Source("f", 1), call_id="c", tool="t", tool_kind=ToolKind.RUN, arguments=arguments
    )
    assert command_text(call) == text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/bin/bash -lc 'cd a && ls'", "cd a && ls"),
        ("/bin/bash -lc \"echo \\$x 'q' \\\"p\\\"\"", "echo $x 'q' \"p\""),
        ("bash -lc 'echo '\\''a'\\'' b'", "echo 'a' b"),
        ('bash -lc "cat > solution.py <<\'E\'\nx\nE"', "cat > solution.py <<'E'\nx\nE"),
        ('bash -lc "echo $x"', None), ("bash -lc 'a' && b", None), ("bash x.sh", None),
        ("ls 'a'", None),
    ],
)  # fmt: skip
def test_the_shell_that_codex_tells_around_a_command_is_taken_off(
    command: str, text: str | None
) -> None:
    call = ToolCall(
        source=Source("f", 1), call_id="c", tool="command_execution", tool_kind=ToolKind.RUN,
        arguments={"command": command},
    )  # fmt: skip

    assert command_text(call) == (command if text is None else text)
    assert command_text(replace(call, tool="Bash")) == command


@pytest.mark.parametrize(
    ("tool", "arguments", "changes"),
    [
        ("exec", "text(ALL_TOOLS.filter(x => /a.*b/.test(x.name)))", False),
        ("exec", 'await tools.exec_command({"cmd": "ls > a"})', True),
        ("exec", {"cmd": "ls > a"}, True),
        ("shell", "ls > a", True),
    ],
)
def test_javascript_without_tools_changes_no_file(
    tool: str, arguments: dict[str, object] | str, changes: bool
) -> None:
    call = ToolCall(
        source=Source("f", 1), call_id="c", tool=tool, tool_kind=ToolKind.RUN, arguments=arguments
    )

    assert changing_text(call) == (command_text(call) if changes else "")


PIECES = st.sampled_from(
    ["cat", " > ", "solution.py", "<<", "'EOF'", "EOF", "\n", "\t", "cd ", "/x", "&&", "tee ", "-",
     "'", '"', "\\", "sed -i", "\0", "\ud800", "git ", "python - <<'P'", "P", "#"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES | st.text(), max_size=40).map("".join), st.booleans())
def test_no_command_is_refused(command: str, succeeded: bool) -> None:
    found = understood(command, "/w", succeeded=succeeded)
    for one in found.written:
        assert all(line in command for line in one.text.split("\n"))
    assert found.changes_solution in (True, False)
