"""What the calls of a transcript made of files: edits that they ask for, commands that they run."""

from __future__ import annotations

import posixpath
from functools import partial

from msgspec.structs import replace

from kbsite.fold.commands import changing_text, folder_of
from kbsite.fold.drafts import Draft
from kbsite.fold.edits import Files
from kbsite.fold.paths import shell_path
from kbsite.fold.recorded_diffs import as_done, as_recorded
from kbsite.fold.replay import outcome
from kbsite.fold.results import has_run, original, read_whole, reset_to, unfinished
from kbsite.fold.work import Work
from kbsite.model.event import Edit, ToolCall, ToolKind, ToolResult


class FileChanges:
    """Gives calls their diffs, in the order in which the calls and their results come.

    `keeps_folder` is what its `Harness` says of it: whether the shell of a command begins where
    that of the command before it ended.
    """

    def __init__(self, keeps_folder: bool | None) -> None:  # noqa: FBT001
        self._keeps_folder = keeps_folder
        self._files: dict[str, Files] = {}
        """By the file of the transcript: only its rows stand in the order of what happened."""
        self._work = Work()
        self._folders: dict[str, str | None] = {}
        """Where the next command of an agent begins; None where nobody knows."""
        self.home = ""
        """The folder of the session; empty until it is told."""

    def begin(self, draft: Draft, call: ToolCall) -> None:
        """Give a call that edits files the diffs that it asks for."""
        if call.edits:
            known = self._known(call)
            draft.diffs, draft.before = known.diffs(call.edits), known.contents(call.edits)

    def end(self, draft: Draft, call: ToolCall, result: ToolResult) -> None:
        """Take in what a call made of files, by its result: its diffs tell that then."""
        before, draft.before = draft.before, ()
        if call.tool_kind is ToolKind.RUN and not call.edits:
            self._replay(draft, call, result)
        if read := read_whole(call, result):
            path, content = read
            self._known(call).apply(Edit(path, None, content))
        if call.edits and result.is_error:
            draft.diffs = [replace(diff, failed=True) for diff in draft.diffs]
        if not call.edits or result.is_error:
            return
        known = self._known(call)
        known.learn(call.edits, original(result))
        if known.contents(call.edits) != before:
            # The files changed between the call and its result: the diff is taken anew.
            draft.diffs = known.diffs(call.edits)
        draft.diffs = as_recorded(draft.diffs, call.edits, result)
        for edit in as_done(call.edits, draft.diffs):
            known.apply(edit)

    def forget(self, file: str) -> None:
        """Take in that files were put back as they were once, as rows of a file of it say."""
        self._files.pop(file, None)

    def _known(self, call: ToolCall) -> Files:
        held = self._files.get(call.source.file)
        if held is None:
            held = self._files[call.source.file] = Files(self.home, self._work)
        return held

    def _replay(self, draft: Draft, call: ToolCall, result: ToolResult) -> None:
        """Take in what a shell command made of the files, as far as that can be told."""
        known, script = self._known(call), changing_text(call)
        home, named = shell_path(self.home), shell_path(folder_of(call.arguments))
        folder = posixpath.join(home, named) if named else self._folders.get(call.agent, home)
        tell = partial(
            outcome, script, folder or None, known.known, work=self._work,
            succeeded=not (result.is_error or result.exit_code),
        )  # fmt: skip
        left = tell(ran=has_run(call, result))
        if left.contents and unfinished(result.output):
            left = tell(ran=False)
        if not named:
            self._enter(call.agent, home, left.folder, result)
        diffs = known.replayed(left.contents, len(script))
        draft.diffs = [d for d in diffs if d.lines or d.action == "unknown"]

    def _enter(self, agent: str, home: str, folder: str | None, result: ToolResult) -> None:
        """Take in where a shell command ended, as far as the next one begins there."""
        if self._keeps_folder is False:
            return
        reset = reset_to(result)
        if reset:
            folder = reset
        elif not self._keeps_folder or agent:
            # Claude Code's sub-agents begin in the session's folder, those of others who knows.
            folder = home if folder == home else None
        self._folders[agent] = folder
