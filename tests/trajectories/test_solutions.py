from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kbsite.model.event import (
    UNTOLD,
    AgentStart,
    Edit,
    Notice,
    Source,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
)
from kbsite.trajectories import solutions
from tests.trajectories.sessions import CWD, Work, moment

PATH = f"{CWD}/solution.py"


def contents(work: Work) -> list[str | None]:
    return [state.content for state in work.trajectory().states]


def test_edits_are_replayed() -> None:
    work = Work().edit(Edit(PATH, None, "a = 1\n")).edit(Edit(PATH, "1", "2"))
    work.edit(Edit(PATH, "a", "b"), Edit(PATH, "2", "3"))
    assert contents(work) == ["a = 1\n", "a = 2\n", "b = 3\n"]
    assert [(s.anchor, s.text) for s in work.trajectory().states] == [
        ("L2", "Edit: +1 −0"), ("L4", "Edit: +1 −1"), ("L6", "Edit: +2 −2")
    ]  # fmt: skip


def test_edits_that_failed_or_never_ended_change_nothing() -> None:
    work = Work().edit(Edit(PATH, None, "a = 1\n"))
    work.edit(Edit(PATH, None, "b"), failed=True).edit(Edit(PATH, None, "c"), output=None)
    assert contents(work) == ["a = 1\n"]


def put_back(work: Work) -> Notice:
    return Notice(source=work.source, topic=Topic.INTERRUPTION, text="taken back", restores=True)


def test_where_a_cli_put_files_back_nobody_knows_what_they_hold() -> None:
    work = Work().edit(Edit(PATH, None, "a = 1\n")).edit(Edit(PATH, "1", "2"))
    work.events.append(put_back(work))
    # Neither an edit nor a command is told from the text that there was.
    work.edit(Edit(PATH, "2", "3")).run(f"sed -i s/2/4/ {PATH}")
    work.edit(Edit(PATH, None, "a = 5\n"))
    assert contents(work) == ["a = 1\n", "a = 2\n", None, None, None, "a = 5\n"]
    state = work.trajectory().states[2]
    assert (state.anchor, state.text) == ("L6", "the CLI may have put it back to what it had been")


def test_a_file_that_was_not_there_is_not_put_back() -> None:
    work = Work()
    work.events.append(put_back(work))
    assert contents(work) == []
    assert contents(work.edit(Edit(PATH, None, "a = 1\n"))) == ["a = 1\n"]


def test_an_edit_that_its_cli_made_in_another_place_is_replayed_there() -> None:
    work = Work().edit(Edit("solution.py", None, "a\nb\na\n"))
    work.edit(Edit("solution.py", "a", "c"))
    told = {"diff": "@@ -2,2 +2,2 @@\n b\n-a\n+d\n"}
    work.events[-1] = replace(work.events[-1], recorded=told)
    assert contents(work) == ["a\nb\na\n", "a\nb\nd\n"]


def test_on_windows_a_file_is_the_same_by_each_of_its_names() -> None:
    work = Work(cwd="D:\\w").edit(Edit("D:\\w\\solution.py", None, "a\n"))
    work.edit(Edit("solution.py", "a", "b")).run("sed -i s/b/c/ solution.py", at=(1, 2))
    work.run("python x.py > /d/w/solution.py", at=(3, 4))
    assert contents(work) == ["a\n", "b\n", "c\n", None]


def test_an_edit_of_a_file_that_is_not_known_leaves_it_unknown() -> None:
    work = Work().edit(Edit(PATH, "a", "b")).edit(Edit(PATH, None, "whole\n"))
    assert contents(work) == [None, "whole\n"]


def test_an_edit_hangs_on_what_its_cli_recorded_of_the_file_before_it() -> None:
    """As of a file that was there already, or that a command changed in a way nobody can tell."""
    work = Work().edit(Edit(PATH, "a", "b"), Edit(PATH, "y", "z"))
    work.events[-1] = replace(work.events[-1], recorded={"originalFile": "a\ny\n"})
    work.run("python patch.py > solution.py").edit(Edit("solution.py", "2", "3"))
    work.events[-1] = replace(work.events[-1], recorded={"originalContent": "b\n2\n"})
    work.edit(Edit(PATH, "3", "4"))
    assert contents(work) == ["b\nz\n", None, "b\n3\n", "b\n4\n"]


def test_an_edit_hangs_on_what_the_agent_had_read_of_the_file_before_it() -> None:
    """Claude Code 2.1.181 and later often do not record a file as it was before an edit."""
    work = Work().read(PATH, "1\ta\n2\ty\n3\t").edit(Edit(PATH, "a", "b"))
    work.read(PATH, "1\tb\n2\ty\n3\t").edit(Edit(PATH, "y", "z"))
    assert contents(work) == ["b\ny\n", "b\nz\n"]


def test_what_a_file_held_after_a_change_that_nobody_could_tell_is_what_is_read_next() -> None:
    work = Work().edit(Edit(PATH, "a", "b")).run("python patch.py > solution.py")
    work.read(PATH, "     1→b\n     2→2\n\n<system-reminder>\nRead it well.\n</system-reminder>")
    work.edit(Edit(PATH, "2", "3"))
    states = work.trajectory().states
    assert [state.content for state in states] == [None, "b\n2", "b\n3"]
    assert [state.text for state in states][1] == "a command may have changed it"


def test_a_file_that_is_read_otherwise_than_it_was_written_was_changed_in_between() -> None:
    work = Work().edit(Edit(PATH, None, "a\n")).read(PATH, "1\tb\n2\t")
    work.edit(Edit(PATH, None, "", action="delete")).read(PATH, "1\tc\n2\t")
    states = work.trajectory().states
    assert [state.content for state in states] == ["a\n", "b\n", None, "c\n"]
    assert {states[1].text, states[3].text} == {"Read: it holds what no step before wrote"}


def test_a_file_that_is_read_as_it_was_written_has_no_state_of_its_own() -> None:
    work = Work().edit(Edit(PATH, None, "\ufeffa\r\nb\r\n")).read(PATH, "1\ta\n2\tb\n3\t")
    work.read(f"{CWD}/other/solution.py", "1\tx\n2\t").read(PATH, "1\tx", whole=False)
    assert contents(work) == ["\ufeffa\r\nb\r\n"]
    assert contents(Work().read(PATH, "1\ta\n2\t")) == []


def test_a_command_changes_a_file_that_was_read() -> None:
    work = Work().read(PATH, "1\ta\n2\t").run(f"sed -i s/a/b/ {PATH}")
    assert contents(work) == ["b\n"]


def test_patches_are_replayed() -> None:
    patch = "@@\n a\n-b\n+c\n"
    work = Work().edit(Edit("solution.py", None, "a\nb\n", action="add"))
    work.edit(Edit("solution.py", None, "", patch=patch))
    assert contents(work) == ["a\nb\n", "a\nc\n"]


def test_a_deleted_and_a_moved_file_is_no_longer_known() -> None:
    gone = Work().edit(Edit(PATH, None, "a\n")).edit(Edit(PATH, None, "", action="delete"))
    assert contents(gone) == ["a\n", None]
    move = Edit(f"{CWD}/draft.py", None, "", patch="*** Move to: solution.py", action="move")
    assert contents(Work().edit(Edit(PATH, None, "a\n")).edit(move)) == ["a\n", None]


def test_here_documents_are_replayed_among_edits() -> None:
    work = Work().edit(Edit(PATH, None, "a = 1\n"))
    work.run("cat > solution.py <<'EOF'\na = 2\nEOF\npython check.py", "FAIL: x", exit_code=1)
    work.edit(Edit(PATH, "2", "3")).run("cat >> solution.py <<'EOF'\nb = 4\nEOF")
    assert contents(work) == ["a = 1\n", "a = 2\n", "a = 3\n", "a = 3\nb = 4\n"]


def test_a_change_of_which_no_text_is_told_is_a_state_that_nobody_knows() -> None:
    work = Work().run(f"cat > {PATH} <<'EOF'\na = 1\nEOF")
    work.edit(Edit(PATH, None, "", patch=UNTOLD))
    states = work.trajectory().states
    assert [state.content for state in states] == ["a = 1\n", None]
    assert states[1].text == "Edit: what it changed is not told"


def test_a_here_document_of_a_command_in_the_background_may_be_written_later() -> None:
    script = "sleep 60; cat > solution.py <<'EOF'\na = 2\nEOF"
    work = Work().call(ToolKind.RUN, {"command": script, "run_in_background": True}, "started")
    assert contents(work) == [None]


def test_a_here_document_that_could_not_be_written_is_not_taken_as_written() -> None:
    said = "bash: line 1: no/solution.py: No such file or directory\nPASS"
    work = Work().run("cat > no/solution.py <<'EOF'\na = 2\nEOF\npython check.py", said)
    assert contents(work) == [None]


def test_a_command_after_what_another_agent_changed_is_not_told_from_the_text_before_that() -> None:
    work = Work().edit(Edit(PATH, None, "a = 1\n")).run("ls", at=(1, 2))
    other = ToolCall(
        source=Source("agent.jsonl", 1), at=moment(3), call_id="x", tool="Write", agent="sub",
        tool_kind=ToolKind.WRITE, arguments={}, edits=(Edit(PATH, None, "b = 1\n"),),
    )  # fmt: skip
    done = ToolResult(source=Source("agent.jsonl", 2), at=moment(4), call_id="x", output="",
                      agent="sub", is_error=False)  # fmt: skip
    work.events += [other, done]
    work.run("sed -i s/1/2/ solution.py", at=(5, 6)).run("echo 'c = 1' > solution.py", at=(7, 8))
    assert contents(work) == ["a = 1\n", "b = 1\n", None, "c = 1\n"]


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_command_that_cannot_be_told_is_named_and_forgets(exit_code: int) -> None:
    work = Work().edit(Edit(PATH, None, "a = 1\n"))
    work.run("perl -pi -e s/1/2/ solution.py", exit_code=exit_code).edit(Edit(PATH, "a", "b"))
    states = work.trajectory().states
    assert [state.content for state in states] == ["a = 1\n", None, None]
    assert states[1].text == "a command may have changed it"


def test_a_here_document_of_a_command_that_never_ended_is_not_believed() -> None:
    command = "cat > solution.py <<'EOF'\na\nEOF"
    assert contents(Work().run(command, None)) == [None]
    refused = Work().call(ToolKind.RUN, {"command": command}, "denied", failed=True)
    assert contents(refused) == [None]


def test_the_same_text_again_is_no_change() -> None:
    work = Work().edit(Edit(PATH, None, "a\n")).edit(Edit(PATH, None, "a\n"))
    assert contents(work.run("cat > solution.py <<'E'\na\nE")) == ["a\n"]


def test_other_files_are_none_of_it() -> None:
    work = Work().edit(Edit(f"{CWD}/my_solution.py", None, "x")).run("cat > a.py <<'E'\nx\nE")
    assert contents(work.call(ToolKind.READ, {"file_path": PATH}, "a = 1")) == []


def test_of_several_files_of_that_name_it_is_the_one_of_the_session() -> None:
    work = Work().edit(Edit("/tmp/a/solution.py", None, "no")).edit(Edit(PATH, None, "yes"))
    assert contents(work.edit(Edit("/tmp/a/solution.py", None, "no, no"))) == ["yes"]


def test_else_it_is_the_one_that_changed_most_often() -> None:
    deck = f"{CWD}/problems/p/solution.py"
    work = Work().edit(Edit("/tmp/solution.py", None, "no")).edit(Edit(deck, None, "1"))
    work.edit(Edit(deck, None, "2")).run("cd problems/p\ncat > solution.py <<'E'\n3\nE")
    assert contents(work) == ["1", "2", "3\n"]


@pytest.mark.parametrize("key", ["workdir", "cwd"])
def test_the_folder_of_a_call_is_minded(key: str) -> None:
    work = Work().edit(Edit(f"{CWD}/sub/solution.py", None, "1"))
    command = "cat > solution.py <<'E'\n2\nE"
    work.call(ToolKind.RUN, {"command": command, key: "sub"}, "", failed=False)
    assert contents(work) == ["1", "2\n"]


def test_without_a_folder_names_are_taken_as_they_are() -> None:
    work = (
        Work(cwd=None).edit(Edit("/x/solution.py", None, "1")).edit(Edit("solution.py", "1", "2"))
    )
    assert contents(work) == ["1", "2"]


def test_sub_agents_change_the_same_file_in_order_of_time() -> None:
    work = Work().edit(Edit(PATH, None, "a1"), at=1)
    work.events.append(AgentStart(source=work.source, child="kid", call_id="c3"))
    work.edit(Edit(PATH, "1", "2"), at=5, agent="kid").edit(Edit(PATH, "a", "b"), at=3)
    assert contents(work) == ["a1", "b1", "b2"]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solutions, "HELD", 5)
    work = Work()
    for text in ("abc", "de", "f"):
        work.edit(Edit(PATH, None, text))
    assert contents(work) == ["abc", "de", None]


PATHS = st.sampled_from(["solution.py", PATH, "/x/solution.py", "", "..", "a\\solution.py", "\0"])
EDITS = st.builds(
    Edit, PATHS, st.none() | st.text(max_size=3), st.text(max_size=5), st.booleans(),
    st.sampled_from(["", "@@\n-a\n+b\n", "*** Move to: solution.py", "@@ -9,9 +9,9 @@\n x\n"]),
    st.sampled_from(["add", "update", "delete", "move", "?"]),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(EDITS | st.text().map(lambda s: f"cat > solution.py <<'E'\n{s}\nE"), max_size=8))
def test_no_edit_is_refused(changes: list[Edit | str]) -> None:
    work = Work()
    for change in changes:
        _ = work.run(change) if isinstance(change, str) else work.edit(change)
    for state in work.trajectory().states:
        assert state.anchor
