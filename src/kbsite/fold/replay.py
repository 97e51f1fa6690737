"""What shell commands make of files that are known, told without running them.

Where it is not sure that a command was reached, or what it did, its files are no longer known.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from kbsite.fold.paths import shell_path
from kbsite.fold.programs import Sed, concerned, is_looking, printed, sed_call
from kbsite.fold.scripts import changed_by, is_interpreter, is_running, run_by
from kbsite.fold.sed import edited
from kbsite.fold.shell_words import Chain, Redirect, Simple, chains
from kbsite.fold.work import LARGEST, STEP, Work

_HINT = re.compile(
    r">(?!&\d|[ \t]*/dev/null)|\b(?:sed|tee|cp|mv|rm|cd|git|patch|perl|ruby|awk|truncate|dd|ln|"
    r"install|rsync|tar|unzip|find|xargs|unlink|black|isort|ruff|yapf|autopep8|prettier|clang-format|dos2unix)\b|"
    r"write|open\(|shutil|os\.|rename|fileinput|\b(?:ed|ex|vim?)\b|sponge|apply_?patch|"
    r"[ \t]-(?:[oO]|(?:w|i|-fix|-in-place)\b|-out)"
)
"""What every command that changes a file, or the folder, has in it."""
_ENTERS = re.compile(r"cd[ \t]+(/[\w./-]+)[ \t]*&&")
_COPY_FLAGS = {"-f", "-p", "-v", "-a", "-fv", "-vf", "--"}


class Outcome(Struct, frozen=True):
    """What a command left behind."""

    contents: Mapping[str, str | None]
    """The files that it changed, by path; None where one is gone, or not known any more."""
    folder: str | None
    """The folder that it ended in; None where that is not known."""


def _tells(script: str, start: int, known: Mapping[str, str], work: Work) -> bool:
    """Whether a script, from a place on, may change a file or the folder, or runs what may."""
    if _HINT.search(script, start):
        return True
    return is_running(script) and work.take(len(known) * STEP) and run_by(script, known) != []


def outcome(
    script: str,
    folder: str | None,
    known: Mapping[str, str],
    *,
    ran: bool,
    succeeded: bool,
    work: Work | None = None,
) -> Outcome:
    """What a script that began in a folder made of the files that are known, and of new ones.

    `ran` is whether it is sure to have run at all; nothing is told of one that takes more `work`
    than is left.
    """
    work = work or Work()
    enters = _ENTERS.match(script)
    if not _tells(script, enters.end() if enters else 0, known, work):
        if enters is None:
            return Outcome({}, folder)
        sure = succeeded and ran
        return Outcome({}, posixpath.normpath(enters[1]) if sure or enters[1] == folder else None)
    try:
        return _Replay(folder, folder, dict(known), work, ran, succeeded).outcome(script)
    except _SpentError:
        return Outcome({}, None)


class _SpentError(Exception):
    """A script takes more work than is left."""


class _Replay(Struct):
    """The files while a script is gone through."""

    start: str | None
    folder: str | None
    there: dict[str, str]
    """The files whose content is known now."""
    work: Work
    reached: bool
    succeeded: bool
    stops: bool = False
    """Whether it ends at the first command that fails."""
    whole: bool = False
    """Whether all of the chain is sure to have gone well."""
    blamed: bool = False
    """Whether there is a command of which it is not known whether it went well."""
    changed: dict[str, str | None] = field(default_factory=dict)

    def outcome(self, script: str) -> Outcome:
        """Go through a whole script."""
        found, rest = chains(script)
        for number, chain in enumerate(found):
            self._chain(chain, last=not rest and number == len(found) - 1)
        # What a shell cannot read either keeps all of its line from running.
        within = bool(rest and script[: len(script) - len(rest)].rpartition("\n")[2].strip())
        if not self.succeeded and (within or not (rest or self.blamed)):
            # Something failed, and it may or can only be what was taken to have gone well.
            self._forget(list(self.changed))
        if rest:
            self._other(rest)
            moves = re.search(r"\bcd\b|pushd|popd", rest) or (within and not self.succeeded)
            self.folder = None if moves else self.folder
        return Outcome(self.changed, self.folder)

    def _chain(self, chain: Chain, *, last: bool) -> None:
        """Go through commands that hang on each other."""
        before, sure = self.reached, True
        self.blamed = self.blamed and self.stops
        self.whole = self._went_well(chain, last=last)
        for item in chain:
            if item.after:
                self.reached = self.reached and item.after == "&&" and (sure or self.whole)
            sure = self._pipeline(item.commands) and sure
            self.blamed = self.blamed or not sure
        self.reached = before and (sure or not self.stops or self.succeeded)

    def _went_well(self, chain: Chain, *, last: bool) -> bool:
        """Whether a chain is sure to have gone well as a whole, told by how the script ended."""
        # Of commands that hang on each other only the last one ends a script with set -e.
        counts = self.succeeded and (last or (self.stops and len(chain) == 1))
        return counts and all(item.after != "||" for item in chain)

    def _forget(self, paths: list[str]) -> None:
        """Take note that files are not known any more."""
        for path in paths:
            self._left(path, None)

    def _left(self, path: str, content: str | None) -> None:
        """Take note of what a file holds now."""
        self.changed[path] = content
        if content is None:
            self.there.pop(path, None)
        else:
            self.there[path] = content

    def _spend(self, characters: int) -> None:
        if not self.work.take(characters):
            raise _SpentError

    def _every(self) -> list[str]:
        """The files whose content is known now, to look through them all."""
        self._spend(len(self.there) * STEP)
        return list(self.there)

    def _pipeline(self, commands: list[Simple]) -> bool:
        """Whether a pipeline is sure to have gone well, once it was reached."""
        if len(commands) == 1:
            return self._simple(commands[0])
        first, second = commands[0], commands[1]
        text = printed(first, self._content) if not first.redirects[1:] else None
        if len(commands) == 2 and second.name == "tee":
            self._redirected(first)
            return self._tee(second, text)
        folder = self.folder
        for command in commands:
            self._simple(command, piped=True)
            self.folder = folder
        if any(is_interpreter(command.name) for command in commands[1:]):
            self._other("\n".join(command.text for command in commands))
        return False

    def _simple(self, command: Simple, *, piped: bool = False) -> bool:
        sure = self._called(command, piped=piped)
        text = None if piped else printed(command, self._content)
        return self._redirected(command, text) and sure

    def _called(self, command: Simple, *, piped: bool) -> bool:
        """Take in what a program does, its redirects aside; whether it is sure to go well."""
        match command.name:
            case "sed" if found := sed_call(command.words):
                return self._sed(found)
            case "cp" | "mv":
                return self._copy(command)
            case "rm" | "unlink":
                self._forget_named(command)
            case "cd":
                return self._enter(command)
            case "tee":
                return self._tee(command, None if piped else _fed(command))
            case "set":
                return self._set(command)
            case "git" if is_looking(command.words):
                return False
            case "echo" | "printf" | "cat" | "true" | ":" | "pwd":
                return printed(command, self._content) is not None
            case _:
                self._other(command.text)
        return False

    def _set(self, command: Simple) -> bool:
        flags = command.words[1:2]
        self.stops = self.stops or any(re.match(r"-\w*e", word or "") for word in flags)
        return len(command.words) <= 2 and None not in command.words

    def _path(self, word: str | None) -> str | None:
        """The whole path that a word names; None where the folder is not known."""
        if word is None:
            return None
        word = shell_path(word)
        if not word.startswith("/") and self.folder is None:
            return None
        return posixpath.normpath(posixpath.join(self.folder or "", word))

    def _content(self, word: str | None) -> str | None:
        path = self._path(word)
        content = None if path is None else self.there.get(path)
        self._spend(len(content or ""))
        return content

    def _is_there(self, folder: str) -> bool:
        if folder in (self.start, "/tmp", ""):  # noqa: S108 - a path of the transcript
            return True
        below = folder.rstrip("/") + "/"
        self._spend(len(self.there) * STEP)
        return any(path.startswith(below) for path in self.there)

    def _is_folder(self, path: str) -> bool:
        return path not in self.there and self._is_there(path)

    def _put(self, word: str | None, content: str | None) -> bool:
        """Take a file as written; whether that is sure to have gone well."""
        path = self._path(word)
        if path is None:
            self._forget_alike(word)
            return False
        if (word or "").endswith("/") or self._is_folder(path):
            return False
        sure = self.whole or path in self.there or self._is_there(posixpath.dirname(path))
        if self.reached and sure and content is not None and len(content) <= LARGEST:
            self._left(path, content)
            return True
        if path in self.there:
            self._left(path, None)
        return False

    def _redirected(self, command: Simple, text: str | None = None) -> bool:
        sure = True
        for redirect in command.redirects:
            if redirect.writes:
                plain = redirect.into in (">", "1>", ">|", ">>", "1>>")
                # A command that reads what it writes finds it empty.
                reads = [self._path(word) for word in command.words[1:]]
                plain = plain and self._path(redirect.target) not in reads
                content = text if plain and len(_outputs(command)) == 1 else None
                sure = self._write(redirect.target, content, redirect.into.endswith(">>")) and sure
        return sure

    def _write(self, word: str | None, text: str | None, append: bool) -> bool:  # noqa: FBT001
        if append:
            before = self._content(word)
            text = None if before is None or text is None else before + text
        return self._put(word, text)

    def _tee(self, command: Simple, text: str | None) -> bool:
        words, append = command.words[1:], False
        if words[:1] == ["-a"]:
            words, append = words[1:], True
        plain = all(word is None or not word.startswith("-") for word in words)
        sure = [self._write(word, text if plain else None, append) for word in words]
        return self._redirected(command) and all(sure)

    def _sed(self, call: Sed) -> bool:
        sure = call.scripts is not None
        for word in call.files:
            path, before = self._path(word), self._content(word)
            self._backed_up(word, call.suffix)
            after = None
            # A file that cannot be edited ends it, and those behind stay as they are.
            if before is not None and call.scripts is not None and (sure or self.whole):
                after = edited(before, call.scripts, extended=call.extended, work=self.work)
            if path is None or before is not None:
                self._put(word, after)
            sure = sure and after is not None
        return sure

    def _backed_up(self, word: str | None, suffix: str | None) -> None:
        """Take in the copy of a file, if any, that sed leaves beside it."""
        if suffix is None or (suffix and word is not None):
            self._put(word + suffix if word and suffix else None, None)

    def _copy(self, command: Simple) -> bool:
        source, target = _copied(command)
        path = self._path(target)
        if path is not None and path == self._path(source):
            return False  # that is an error, and changes nothing
        content = self._content(source)
        if content is None or not self._is_file(target):
            self._forget_named(command)
            return False
        sure = self._put(target, content)
        if command.name == "mv":
            self._put(source, None)
        return sure

    def _is_file(self, word: str | None) -> bool:
        """Whether what something is copied to is a file, and no folder, by all that is known."""
        path = self._path(word)
        if word is None or path is None or self._is_folder(path):
            return False
        return "." in word and not word.endswith((".", "/"))

    def _forget_alike(self, word: str | None) -> None:
        """Forget the files of a name in any folder; all files where the name is not known."""
        name = posixpath.basename(word or "")
        self._forget([p for p in self._every() if word is None or posixpath.basename(p) == name])

    def _forget_named(self, command: Simple) -> None:
        """Forget the files that a command names, that stand in a folder that it names, or may."""
        if None in command.words[1:]:
            self._forget(self._every())
            return
        for word in command.words[1:]:
            assert word is not None
            path, name = self._path(word), posixpath.basename(word)
            self._forget([
                p for p in self._every()
                if p == path or posixpath.basename(p) == name
                or (path is not None and p.startswith(path.rstrip("/") + "/"))
            ])  # fmt: skip

    def _enter(self, command: Simple) -> bool:
        words = [word for word in command.words[1:] if word != "--"]
        word = words[0] if len(words) == 1 else None
        path = None if word in (None, "-") else self._path(word)
        there = path is not None and self._is_there(path)
        self.folder = path if self.reached and (there or self.whole) else None
        return there

    def _other(self, text: str) -> None:
        """Forget the files that a part of the script, or what it runs, may change."""
        paths = self._every()
        self._forget([*concerned(text, paths), *self._changed_by_scripts(text, paths)])

    def _changed_by_scripts(self, text: str, paths: list[str]) -> Iterator[str]:
        """The files that scripts may change whose text is known, and that a part of it runs."""
        for script in run_by(text, paths):
            content = self.there.get(script, "")
            self._spend(len(content) * STEP * 3)
            yield from (path for path in changed_by(content, paths) if path != script)


def _copied(command: Simple) -> tuple[str | None, str | None]:
    """What is copied, and to where; None, twice, where it is not one file or has other flags."""
    words = [word for word in command.words[1:] if word not in _COPY_FLAGS]
    if len(words) != 2 or any(word is None or word.startswith("-") for word in words):
        return None, None
    return words[0], words[1]


def _fed(command: Simple) -> str | None:
    """The text of the script that a command reads; None where it reads none."""
    texts = [redirect.target for redirect in command.reads if redirect.into in ("<<", "<<-")]
    return texts[-1] if texts else None


def _outputs(command: Simple) -> list[Redirect]:
    """The redirects of what a command prints."""
    return [r for r in command.redirects if r.into in (">", "1>", ">|", ">>", "1>>", "&>", "&>>")]
