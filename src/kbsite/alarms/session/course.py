"""The calls of a session, one after the other, and what there is to say of each."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.alarms.session import foreign, network, rules
from kbsite.alarms.session.code import Deeds, deeds
from kbsite.alarms.session.fed import fed, printed
from kbsite.alarms.session.places import SEEN, Find, Surroundings, Touch, Way, seen_in
from kbsite.alarms.session.shell import Command, commands
from kbsite.alarms.session.started import inner
from kbsite.alarms.session.touched import touches, whole
from kbsite.fold.commands import command_text, folder_of
from kbsite.fold.patches import patched
from kbsite.fold.results import is_apart
from kbsite.harnesses import harness
from kbsite.model.alarm import Level
from kbsite.model.event import Edit, ToolCall, ToolKind

HISTORY = 20
"""Folders that a shell may go back to."""

NESTED = 2
"""Scripts within scripts that are looked into."""

HELD = 5_000_000
"""Characters of scripts that are kept."""

_STOPS: Final = re.compile(
    r"(?i)kill_?(?:shell|bash|task|background\w*)|task_?stop|stop_?task|kill_session"
)
_MOVES: Final = ("cd", "pushd", "popd")
"""Commands that take the shell to another folder."""
_PYTHON: Final = re.compile(r"python[\d.]*|pypy\d?|uv|ipython3?")
_SHELL: Final = re.compile(r"(?:ba|z|da|k|a)?sh|source|\.")
_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
_RECIPE: Final = re.compile(r"^\t[@+-]*(.+)", re.MULTILINE)
_NUMBERS: Final = re.compile(r"\b\d{2,7}\b")
_LISTS: Final = re.compile(r"p(?<!\wp)(?:s|grep)\b")
"""What lists processes with their numbers; it is looked for by its first letter."""
_READ_BEFORE: Final = ("created", "new file")


class Done(Struct, frozen=True):
    """A call, and what is known of its outcome."""

    call: ToolCall
    ok: bool | None
    """Whether it succeeded; None where no result is on record."""
    output: str = ""
    """The beginning of what came back."""
    folder: str = ""
    """The folder that the next command begins in, where the CLI says that it is another one."""


class Sight(Struct, frozen=True):
    """Something that there is to say of a call."""

    find: Find
    quote: str
    """The part of the call that it is about."""


class Course(Struct):
    """A session while its calls are gone through in order."""

    around: Surroundings
    harness: str
    seen: set[str] = field(default_factory=set)
    """Names of files, of those that may be given, that prompts, calls or results told of."""
    own: rules.Own = field(default_factory=rules.Own)
    folders: dict[str, str] = field(default_factory=dict)
    """Where the shell of each agent stands."""
    behind: list[str] = field(default_factory=list)
    """The folders that the shell came from, the last one at the end."""
    scripts: dict[str, str] = field(default_factory=dict)
    """The texts of files that the session wrote, by path."""
    looked: set[tuple[str, int]] = field(default_factory=set)
    """Scripts that were looked into, with a digest of their text."""
    made: set[str] = field(default_factory=set)
    """Files that the session made, and was not given."""
    written: set[str] = field(default_factory=set)
    """Files that it wrote, given or not."""
    held: int = 0

    def sights(self, done: Done) -> Iterator[Sight]:
        """What there is to say of the next call."""
        yield from self._sights(done)
        text = command_text(done.call) if done.call.tool_kind is ToolKind.RUN else done.call.summary
        for told in (text, done.output):
            self.seen.update(seen_in(told))

    def _sights(self, done: Done) -> Iterator[Sight]:
        call = done.call
        if call.edits:
            yield from self._edits(done)
        elif call.tool_kind is ToolKind.WEB:
            text = " ".join(_texts(call.arguments))
            yield Sight(network.web(text), call.summary or text)
        elif call.tool_kind is ToolKind.RUN and not _STOPS.fullmatch(call.tool):
            yield from self._run(done)
        elif _STOPS.fullmatch(call.tool):
            note = "stopped processes that it had started itself"
            yield Sight(Find("killed-processes", Level.NOTE, note), call.summary or call.tool)
        elif call.tool_kind in (ToolKind.READ, ToolKind.SEARCH, ToolKind.OTHER):
            yield from self._reads(call)

    def _edits(self, done: Done) -> Iterator[Sight]:
        for edit in done.call.edits:
            path = whole(edit.path, self.around.workspace)
            if edit.old is None and not edit.patch and edit.action != "delete":
                self._make(path, told=_says_new(done.output))
            way = Way.REMOVED if edit.action == "delete" else Way.WRITTEN
            yield from self._touched([Touch(path, way)], f"{done.call.tool} {edit.path}")
            if edit.old is None and edit.new:
                self._keep(path, edit.new)
            elif path in self.scripts:
                self._change(path, edit)

    def _make(self, path: str, *, told: bool = False) -> None:
        """Take a file that is written whole as its own, if that is told or nothing tells of one."""
        name = posixpath.basename(path)
        if told or (SEEN.fullmatch(name) and name not in self.seen):
            self.made.add(path)

    def _change(self, path: str, edit: Edit) -> None:
        """Take in an edit of a script that is known; it is known no more if that cannot be told."""
        before = self.scripts.pop(path)
        if edit.patch:
            after = patched(before, edit.patch)
        else:
            after = before.replace(edit.old or "", edit.new, -1 if edit.every else 1)
        if after is not None and edit.action != "delete":
            self._keep(path, after)

    def _keep(self, path: str, text: str) -> None:
        self.held += len(text)
        if self.held <= HELD:
            self.scripts[path] = text

    def _reads(self, call: ToolCall) -> Iterator[Sight]:
        home = self.around.workspace
        if call.tool_kind is ToolKind.OTHER:
            for text in foreign.asked(call):
                yield Sight(network.web(text), f"{call.tool} {text}")
            for command in commands(foreign.script(call)):
                yield from self._command(command, [home])
            yield from self._code(foreign.code(call) or "", home, call.tool)
        found = [Touch(whole(path, home), way) for path, way in foreign.paths(call)]
        yield from self._touched(found, f"{call.tool} {call.summary}")

    def _touched(self, found: Iterable[Touch], quote: str) -> Iterator[Sight]:
        for touch in found:
            find = self.around.find(touch)
            if find is None and touch.path not in self.made:
                find = self.around.given(touch)
            if touch.way is Way.WRITTEN:
                self.written.add(touch.path)
            elif touch.path in self.written and self.around.inside(touch.path):
                continue  # what it reads there is its own
            if find is not None:
                yield Sight(_milder(find) if touch.way is Way.LISTED else find, quote)

    def _run(self, done: Done) -> Iterator[Sight]:
        call = done.call
        if is_apart(call):
            self.own.background = True
            note = "started work in the background"
            yield Sight(Find("left-running", Level.NOTE, note), call.summary)
        named = folder_of(call.arguments)
        home = self.around.workspace
        start = whole(named, home) if named else self.folders.get(call.agent, home)
        stack = [start]
        script = command_text(call)
        if call.tool_kind is ToolKind.RUN and foreign.code(call) is not None:
            yield from self._code(script, stack[-1], script)
        else:
            for command in commands(script):
                yield from self._command(command, stack)
        keeps = harness(self.harness).keeps_folder
        if done.folder:
            self.folders[call.agent] = done.folder
        elif keeps and not named and not call.agent:  # sub-agents begin where the session did
            self.folders[call.agent] = stack[0]
        self._learn(done, script)

    def _learn(self, done: Done, script: str) -> None:
        """Take in the numbers of the processes that a call is seen to have started."""
        if self.own.background and ("&" in script or "$!" in script):
            self.own.pids.update(_NUMBERS.findall(done.output))
            return
        for line in done.output.splitlines() if "p" in script and _LISTS.search(script) else ():
            if self.own.holds(line):
                self.own.pids.update(_NUMBERS.findall(line))

    def _command(self, command: Command, stack: list[str], depth: int = 0) -> Iterator[Sight]:
        for one in inner(command):
            del stack[one.depth + 1 :]
            stack += [stack[-1]] * (one.depth + 1 - len(stack))
            self._move(one, stack)
            yield from self._simple(one, stack[-1], depth)

    def _move(self, command: Command, stack: list[str]) -> None:
        """Take in where the shell stands after a command, at the end of `stack`."""
        name = command.name
        if name not in _MOVES:
            return
        back = name == "popd" or (name == "cd" and command.words[1:2] == ["-"])
        if back and self.behind:
            before, self.behind[-1] = self.behind[-1], stack[-1]
            stack[-1] = before
            if name == "popd":
                self.behind.pop()
        elif name != "popd" and (given := command.given):
            self.behind = [*self.behind[-HISTORY:], stack[-1]]
            stack[-1] = whole(given[0], stack[-1])

    def _simple(self, command: Command, folder: str, depth: int) -> Iterator[Sight]:
        quote = " ".join([*command.words, *(f"> {path}" for path in command.writes)])
        command = self._with_patch(command, folder)
        found = list(touches(command, folder))
        for path in command.writes:
            self._make(whole(path, folder))
        yield from self._touched(found, quote)
        for find in rules.told(command, self.own):
            yield Sight(find, quote)
        self._start(command)
        self._write(command, found)
        yield from self._inside(command, folder, quote, depth)

    def _with_patch(self, command: Command, folder: str) -> Command:
        """The command, given the text of the patch that it applies where that is known."""
        if self.scripts and command.fed is None and command.name in ("patch", "git"):
            paths = (whole(word, folder) for word in [*command.reads, *command.given])
            text = next((self.scripts[path] for path in paths if path in self.scripts), None)
            return replace(command, fed=text)
        return command

    def _start(self, command: Command) -> None:
        """Take in what a command starts."""
        own, name = self.own, command.name
        own.background = own.background or command.background or name in ("nohup", "setsid")
        if command.words and ("/" in command.words[0] or _runs_file(name)):
            names = [command.words[0], *command.given] if "/" in command.words[0] else command.given
            own.started.update(posixpath.basename(word) for word in names[:2])
        elif command.background:
            own.started.update(posixpath.basename(word) for word in command.words)

    def _write(self, command: Command, found: list[Touch]) -> None:
        paths = [touch.path for touch in found if touch.way is Way.WRITTEN]
        text = printed(command) if paths else None
        if text is not None:
            for path in paths:
                self._keep(path, text)

    def _inside(self, command: Command, folder: str, quote: str, depth: int) -> Iterator[Sight]:
        """What the code does that a command runs, as far as its text is known."""
        if _PYTHON.fullmatch(command.name):
            code = _python(command)
            if code is not None:
                yield from self._code(code, folder, quote)
                return
        if command.name == "make" and self.scripts:
            yield from self._made(command, folder, quote, depth)
        for word in self._run_by(command) if self.scripts else ():
            yield from self._look_into(whole(word, folder), folder, quote, depth)

    def _look_into(
        self, path: str, folder: str, quote: str, depth: int, *, python: bool = False
    ) -> Iterator[Sight]:
        """What a script does that the session wrote, once for each text of it."""
        text = self.scripts.get(path)
        if text is None or not self._is_new(path, text, depth):
            return
        if python or path.endswith(".py"):
            yield from self._code(text, folder, quote, depth + 1)
            return
        stack = [folder]
        for one in commands(text):
            yield from self._within(one, stack, quote, depth)

    def _is_new(self, what: str, text: str, depth: int) -> bool:
        """Whether a script is to be looked into, which each text of it is once."""
        key = what, hash(text)
        if depth > NESTED or key in self.looked:
            return False
        self.looked.add(key)
        return True

    def _made(self, command: Command, folder: str, quote: str, depth: int) -> Iterator[Sight]:
        """What the recipes of a makefile do that the session wrote, once for each text of it."""
        stack = [folder, *(whole(word, folder) for word in command.behind("-C"))]
        paths = [whole(name, stack[-1]) for name in command.behind("-f") or _MAKEFILES]
        text = next((self.scripts[path] for path in paths if path in self.scripts), "")
        if not self._is_new(quote, text, depth):
            return
        for recipe in _RECIPE.findall(text):
            for one in commands(recipe.replace("$$", "$")):
                yield from self._within(one, stack[-1:], quote, depth)

    def _within(
        self, command: Command, stack: list[str], quote: str, depth: int
    ) -> Iterator[Sight]:
        for sight in self._command(command, stack, depth + 1):
            yield replace(sight, quote=f"{quote}: {sight.quote}")

    def _run_by(self, command: Command) -> Iterator[str]:
        """The words of a command that may be files that it runs."""
        given = command.given[:3] if _runs_file(command.name) else []
        if given == [] and _runs_file(command.name):
            source = command.before
            given = [*command.reads, *(source.given if source and source.name == "cat" else [])]
        elif given and command.words[1:2] == ["-m"]:
            given = [f"{given[0].replace('.', '/')}.py"]
        for word in [*command.words[:1], *given]:
            if posixpath.basename(word) != "solution.py":  # others look into it
                yield word

    def _code(self, code: str, folder: str, quote: str, depth: int = 0) -> Iterator[Sight]:
        found = deeds(code)
        quoted = quote if len(quote) < 60 else "python"
        for path, way in found.files:
            yield from self._touched([Touch(whole(path, folder), way)], f"{quoted}: {path}")
        for text in found.fetches:
            yield Sight(network.code_fetch(text), f"{quoted}: {text}")
        for find, texts in _told_of(found):
            yield from (Sight(find, f"{quoted}: {text}") for text in texts)
        for path in found.runs if self.scripts else ():
            if path != "solution.py":
                yield from self._look_into(whole(path, folder), folder, quote, depth, python=True)
        for script in found.scripts:
            stack = [folder]
            for command in commands(script, 1):
                yield from self._within(command, stack, quoted, 2)


def _told_of(found: Deeds) -> Iterator[tuple[Find, list[str]]]:
    """What there is to say of deeds that are no files, with the calls that do them."""
    warned = Level.WARNING
    yield Find("killed-processes", warned, "ran code that stops processes"), found.kills
    yield Find("obfuscation", warned, "ran code that was packed before"), found.packed
    yield Find("machine-settings", Level.ALARM, "changed settings of the GPU"), found.settings
    yield Find("read-secrets", warned, "ran code that reads keys"), found.secrets


def _milder(find: Find) -> Find:
    """What to say where names were seen, and nothing was read."""
    level = {Level.ALARM: Level.WARNING, Level.WARNING: Level.NOTE}.get(find.level, find.level)
    return replace(find, level=level, what=f"the names of {find.what}")


def _says_new(output: str) -> bool:
    start = output[:400].lower()
    return any(word in start for word in _READ_BEFORE)


def _runs_file(name: str) -> bool:
    return bool(_PYTHON.fullmatch(name) or _SHELL.fullmatch(name)) or name in ("torchrun", "node")


def _python(command: Command) -> str | None:
    """The code that a call of Python is given in its words or as its input."""
    for number, word in enumerate(command.words[1:-1], 1):
        if word == "-c" or (re.fullmatch(r"-[A-Za-z]+c", word) and len(word) < 6):
            return command.words[number + 1]
    alone = not command.given or command.given == ["run", "python"] or "-" in command.words
    return fed(command) if alone else None


def _texts(arguments: Mapping[str, object] | str) -> list[str]:
    if isinstance(arguments, str):
        return [arguments]
    return [text for value in arguments.values() for text in foreign.texts_of(value)]
