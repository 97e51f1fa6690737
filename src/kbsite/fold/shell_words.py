"""Shell scripts as simple commands, as far as they need no shell to be understood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from kbsite.late import late

LONGEST = 500_000
"""Characters of a script from which it is not read."""

# |(?!) is of no meaning to a Python without a bug: CONTRIBUTING.md, patterns.
_TOKEN = late(
    r"(?P<blank>[ \t]+|\\\n)|(?P<comment>#[^\n]*)|(?P<line>\n)"
    r"|(?P<into>(?:\d|&)?(?:>>|>\||>&|>|<<<|<<-|<<|<))|(?P<between>&&|\|\||;;|[;|&()])"
    r"|(?P<word>(?:[^\s'\"\\;&|<>()]++|'[^']*+'|\"(?:[^\"\\]++|\\.)*+\"|\\.|(?!))++)",
    re.DOTALL,
)
_PIECE = late(r"'([^']*)'|\"((?:[^\"\\]++|\\.)*+)\"|\\(.)|([^'\"\\]+)", re.DOTALL)
_QUOTED = late(r"['\"\\]")
_EXPANDED = late(r"[$`*?\[\]{}~!]")
_PUT_IN = late(r"(?<!\\)(?:\\\\)*[$`!]")
_ESCAPED = late(r"\\([$`\"\\\n])")
_KEYWORDS = {
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "time", "coproc", "[[", "!", "{", "}", "alias", "eval", "exec", "trap",
    "source", ".", "exit", "return", "break", "continue", "export", "pushd", "popd",
}  # fmt: skip
"""Words that make of a line more than a simple command."""


class UnclearError(Exception):
    """What a script does cannot be told without a shell."""


class Redirect(Struct, frozen=True):
    """Where a command reads from, or writes to."""

    into: str
    """The sign: ">", ">>", "2>", "<<" and so on."""
    target: str | None
    """The file; None where it cannot be told. Of "<<", the text that is read."""
    source: str = ""
    """Of "<<", the text as the script has it, also where the shell would put something in."""

    @property
    def writes(self) -> bool:
        """Whether it writes a file."""
        target = self.target or ""
        copies = self.into.endswith("&") and re.fullmatch(r"\d*-?", target) is not None
        return ">" in self.into and not copies and target != "/dev/null"


class Simple(Struct):
    """A simple command."""

    words: list[str | None] = field(default_factory=list)
    """None where a word cannot be told."""
    redirects: list[Redirect] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """The words, one that cannot be told as the script has it, behind a "$"."""

    @property
    def text(self) -> str:
        """Its words, and the texts of its here-documents."""
        read = [redirect.source or redirect.target or "" for redirect in self.reads]
        return "\n".join([" ".join(self.said), *read])

    @property
    def name(self) -> str:
        """What it calls; empty where that cannot be told."""
        return (self.words[0] or "") if self.words else ""

    def take(self, source: str) -> None:
        """Take in its next word."""
        word = _word(source)
        self.words.append(word)
        self.said.append(f"$ {source}" if word is None else word)

    @property
    def reads(self) -> list[Redirect]:
        """The redirects that it reads from."""
        return [redirect for redirect in self.redirects if redirect.into.startswith("<")]


class Chained(Struct):
    """A pipeline, and what stands before it: "&&" or "||" in a chain, else empty."""

    after: str
    commands: list[Simple]


Chain = list[Chained]


def chains(script: str) -> tuple[list[Chain], str]:
    """The chains of a script, one after the other, and the rest that needs a shell to be told."""
    if len(script) > LONGEST or "\r" in script:
        return [], script
    reader = _Reader(script)
    try:
        reader.read()
    except UnclearError:
        return reader.found, script[reader.start :]
    return reader.found, ""


class _Reader(Struct):
    script: str
    start: int = 0
    """Where the chain begins that is being read."""
    found: list[Chain] = field(default_factory=list)
    chain: Chain = field(default_factory=list)
    awaited: list[tuple[Simple, int, str, bool]] = field(default_factory=list)
    """Here-documents of this line: whose, which redirect, what ends them, whether tabs go."""
    begun: bool = False
    """Whether a command is being read."""
    open_: bool = False
    """Whether the line cannot end here, as after "&&"."""

    def read(self) -> None:
        at = 0
        while at < len(self.script):
            match = _TOKEN.match(self.script, at)
            if match is None:
                raise UnclearError
            at = match.end()
            kind = match.lastgroup or ""
            if kind == "line":
                at = self._end_line(at)
            elif kind == "into":
                at = self._redirect(match[0], at)
            elif kind == "between":
                self._between(match[0], at)
            elif kind == "word":
                self._command().take(match[0])
        if self.awaited:
            raise UnclearError
        self._end_chain(at)

    def _command(self) -> Simple:
        """The command that is being read."""
        if not self.begun:
            self.begun, self.open_ = True, False
            if not self.chain:
                self.chain.append(Chained("", []))
            self.chain[-1].commands.append(Simple())
        return self.chain[-1].commands[-1]

    def _between(self, sign: str, at: int) -> None:
        if sign in ("&", "(", ")", ";;") or (sign != ";" and not self.begun):
            raise UnclearError
        if sign == ";" and not self.awaited:
            self._end_chain(at)
            return
        if sign == ";":
            raise UnclearError  # what follows a here-document's line stands before its text
        self._end_command()
        self.open_ = True
        if sign != "|":
            self.chain.append(Chained(sign, []))

    def _end_command(self) -> None:
        if self.begun and (self._command().name in _KEYWORDS or self._is_in_braces()):
            raise UnclearError
        self.begun = False

    def _is_in_braces(self) -> bool:
        return self._command().said[:1] in (["$ {"], ["$ }"])

    def _end_chain(self, at: int) -> None:
        self._end_command()
        if self.open_:
            raise UnclearError
        if self.chain:
            self.found.append(self.chain)
        self.chain, self.start = [], at

    def _redirect(self, sign: str, at: int) -> int:
        command = self._command()
        blank = re.compile(r"[ \t]*").match(self.script, at)
        match = _TOKEN.match(self.script, blank.end() if blank else at)
        if match is None or match.lastgroup != "word":
            raise UnclearError
        command.redirects.append(Redirect(sign, _word(match[0])))
        if sign in ("<<", "<<-"):
            self.awaited.append((command, len(command.redirects) - 1, match[0], sign == "<<-"))
        return match.end()

    def _end_line(self, at: int) -> int:
        for command, number, word, tabs in self.awaited:
            body, at = self._body(at, re.sub(r"['\"\\]", "", word), tabs=tabs)
            quoted = any(sign in word for sign in "'\"\\")
            told = quoted or not re.search(r"[$`\\]", body)
            command.redirects[number] = Redirect("<<", body if told else None, body)
        self.awaited = []
        if not self.open_:
            self._end_chain(at)
        return at

    def _body(self, at: int, word: str, *, tabs: bool) -> tuple[str, int]:
        """The text of a here-document that starts at a place, and the place after it."""
        lines: list[str] = []
        while at < len(self.script):
            end = self.script.find("\n", at)
            end = len(self.script) if end < 0 else end
            line = self.script[at:end]
            line = line.lstrip("\t") if tabs else line
            at = end + 1
            if line == word:
                return "".join(f"{line}\n" for line in lines), at
            lines.append(line)
        raise UnclearError


def _word(source: str) -> str | None:
    """A word without its quotes; None where the shell would put something else in its place."""
    if not _QUOTED.search(source):
        return None if _EXPANDED.search(source) else source
    pieces = []
    for piece in _PIECE.finditer(source):
        if piece[1] is not None:
            pieces.append(piece[1])
        elif piece[2] is not None:
            if _PUT_IN.search(piece[2]):
                return None
            pieces.append(_ESCAPED.sub(_unescaped, piece[2]))
        elif piece[3] is not None:
            pieces.append(piece[3])
        elif _EXPANDED.search(piece[4]):
            return None
        else:
            pieces.append(piece[4])
    return "".join(pieces)


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def told(words: list[str | None]) -> Iterator[str]:
    """The words that can be told."""
    yield from (word for word in words if word is not None)
