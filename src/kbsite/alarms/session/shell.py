"""Shell scripts as the commands in them, told by words alone: nothing is run, nothing refused.

Where the fold has to know what a script did, this only has to see what it names: loops, functions,
pipelines and substitutions are opened, and what only a shell could tell stays as it is written.
"""

from __future__ import annotations

import re
from itertools import pairwise

from msgspec import Struct, field

from kbsite.late import late

LONGEST = 200_000
"""Characters of a script that are read."""

MOST = 2000
"""Commands of a script that are told."""

DEEPEST = 6
"""How far substitutions and scripts within scripts are opened."""

_TOKEN = late(
    r"(?P<blank>(?:[ \t\r]|\\\r?\n)+)|(?P<comment>#[^\n]*)|(?P<line>\n)"
    r"|(?P<apart>(?:\d|&)?(?:>&|<&)(?:\d|-))"
    r"|(?P<into>(?:\d|&)?(?:>>|>\||>|<>|<<<|<<-|<<|<)(?!\())"
    r"|(?P<between>&&|\|\||\|&|;;|[;|&()])"
)
_SIGNS = frozenset(" \t\r\n\\#0123456789&<>|;()")
"""What such a token starts with, or a digit that is no ASCII; most words start otherwise."""
_PLAIN = late(r"[^\s'\"\\;&|<>()$`]+")
_WHOLE = late(r"[^\s'\"\\;&|<>()$`]++(?!['\"\\$`<>])")
"""A word that is plain as a whole, as most are."""
_QUOTED = late(r"[^\"\\$`]+")
_PAREN = late(r"[()'\"\\]")
_NAMED = late(r"\$(?:\{(\w+)\}|(\w+))")
_ANSI = late(r"\$'(?P<text>(?:[^'\\]|\\.)*)'?", re.DOTALL)
_ESCAPED = late(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_BETWEEN_WORDS = "\0"
"""Where the shell splits a variable's text into words; it stands in no script that runs."""
ASSIGNED = late(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SKIPPED = {
    *"{}!", "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "time", "esac",
}  # fmt: skip
"""Words before a command, or alone, that are no command."""


class Command(Struct):
    """A simple command of a script."""

    words: list[str] = field(default_factory=list)
    """Without their quotes; what the shell would put in stands as it is written."""
    writes: list[str] = field(default_factory=list)
    """The files that it is redirected into."""
    reads: list[str] = field(default_factory=list)
    fed: str | None = None
    """The text of the script that it reads."""
    before: Command | None = None
    """The command whose output it reads."""
    piped: bool = False
    """Whether another command reads what it prints."""
    background: bool = False
    depth: int = 0
    """How many subshells it stands in."""
    live: set[str] = field(default_factory=set)
    """Those of its words that the shell puts something into."""

    @property
    def name(self) -> str:
        """What it calls, without its folder; empty if it calls nothing."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def given(self) -> list[str]:
        """Its words after the first that are no flags."""
        return [word for word in self.words[1:] if not word.startswith("-")]

    @property
    def of_git(self) -> list[str]:
        """What git is to do, and with what: its words behind those about git itself, no flags."""
        words = self.words[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-C", "-c", "--git-dir", "--work-tree") else words[1:]
        return [word for word in words if not word.startswith("-")]

    def behind(self, *flags: str) -> list[str]:
        """Its words that stand behind one of these."""
        return [word for flag, word in pairwise(self.words) if flag in flags]

    def has(self, *flags: str) -> bool:
        """Whether one of its words is, or begins with and a sign of equality, one of these."""
        return any(word.split("=", 1)[0] in flags for word in self.words[1:])


def commands(script: str, depth: int = 0) -> list[Command]:
    """The commands of a script in order, those of its substitutions before the one they are in."""
    if depth > DEEPEST:
        return []
    return _Reader(script[:LONGEST], depth).read()


class _Reader(Struct):
    script: str
    level: int
    at: int = 0
    found: list[Command] = field(default_factory=list)
    now: Command = field(default_factory=Command)
    depth: int = 0
    awaited: list[tuple[Command, str, bool]] = field(default_factory=list)
    """Here-documents of this line: whose, what ends them, whether tabs go."""
    variables: dict[str, str] = field(default_factory=lambda: {"IFS": " "})
    expands: bool = False
    """Whether the shell puts something into the word that is being read."""
    grown: int = 0
    """Characters that variables have put in: each may hold those before it twice."""

    def read(self) -> list[Command]:
        while self.at < len(self.script) and len(self.found) < MOST:
            sign = self.script[self.at]
            match = _TOKEN.match(self.script, self.at) if sign in _SIGNS or sign > "~" else None
            if match is None or (match.lastgroup == "comment" and self._within_word()):
                self._take(self._word())
                continue
            self.at = match.end()
            match match.lastgroup:
                case "line":
                    self._end()
                    self._here_documents()
                case "into":
                    self._redirect(match[0])
                case "between":
                    self._between(match[0])
                case _:
                    pass
        self._end()
        return self.found

    def _within_word(self) -> bool:
        return self.at > 0 and not self.script[self.at - 1].isspace()

    def _take(self, word: str) -> None:
        held = self.now.words
        if not held and (word in _SKIPPED or self._assigns(word.replace(_BETWEEN_WORDS, " "))):
            return
        if word == "{" and held[:1] == ["function"]:
            held.clear()
            return
        if self.expands:
            self.now.live.add(word)
        held += filter(None, word.split(_BETWEEN_WORDS)) if _BETWEEN_WORDS in word else [word]

    def _assigns(self, word: str) -> bool:
        match = ASSIGNED.fullmatch(word) if "=" in word else None
        if match and len(self.variables) < MOST:
            self.variables[match[1]] = match[2]
        return match is not None

    def _between(self, sign: str) -> None:
        if sign == "(":
            self._end()
            self.depth += 1
        elif sign == ")":
            self._end()
            self.depth = max(0, self.depth - 1)
        else:
            last = self._end(background=sign == "&")
            if sign in ("|", "|&") and last is not None:
                self.now.before, last.piped = last, True

    def _end(self, *, background: bool = False) -> Command | None:
        """Close the command that is being read, which is returned if there is one."""
        done, self.now = self.now, Command()
        if not (done.words or done.writes or done.reads):
            return None
        if done.name == "export" and len(done.words) == 2:
            self._assigns(done.words[1])
        if done.name == "for" and done.words[2:3] == ["in"]:
            self.variables[done.words[1]] = " ".join(done.words[3:])
        done.background, done.depth = background, self.depth
        self.found.append(done)
        return done

    def _redirect(self, sign: str) -> None:
        blank = re.compile(r"[ \t]*").match(self.script, self.at)
        self.at = blank.end() if blank else self.at
        start = self.at
        word = self._word().replace(_BETWEEN_WORDS, " ")
        if sign in ("<<", "<<-"):
            ending = re.sub(r"['\"\\]", "", self.script[start : self.at])
            self.awaited.append((self.now, ending, sign == "<<-"))
        elif sign == "<<<":
            self.now.fed = word
        elif "<" in sign:
            self.now.reads.append(word)
        elif word != "/dev/null":
            self.now.writes.append(word)

    def _here_documents(self) -> None:
        for command, ending, tabs in self.awaited:
            lines = []
            while self.at < len(self.script):
                end = self.script.find("\n", self.at)
                end = len(self.script) if end < 0 else end
                line = self.script[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if tabs else line) == ending:
                    break
                lines.append(line)
            command.fed = "\n".join(lines) + "\n"
        self.awaited = []

    def _word(self) -> str:
        """The word that begins here; at least one sign is read."""
        start, self.expands = self.at, False
        if plain := _WHOLE.match(self.script, start):
            self.at = plain.end()
            return plain[0]
        pieces: list[str] = []
        while self.at < len(self.script):
            sign = self.script[self.at]
            if sign in "'\"\\$`":
                pieces.append(self._piece(sign))
            elif sign in "<>" and self.script.startswith("(", self.at + 1):
                self.expands = True
                pieces.append(self._substitution(self.at + 1))
            elif match := _PLAIN.match(self.script, self.at):
                pieces.append(match[0])
                self.at = match.end()
            else:
                break
        if self.at == start:
            self.at += 1
        return "".join(pieces)

    def _piece(self, sign: str) -> str:
        match sign:
            case "'":
                end = self.script.find("'", self.at + 1)
                end = len(self.script) if end < 0 else end
                text, self.at = self.script[self.at + 1 : end], end + 1
                return text
            case '"':
                return self._double()
            case "\\":
                text = self.script[self.at + 1 : self.at + 2]
                self.at += 2
                return text.replace("\n", "")
            case _:
                return self._unquoted()

    def _unquoted(self) -> str:
        """What stands for what the shell puts in where no quotes keep it one word."""
        if match := _ANSI.match(self.script, self.at):
            self.at = match.end()
            return _ESCAPED.sub(_unescaped, match["text"])
        if self.script.startswith('$"', self.at):
            self.at += 1
            return self._double()
        named = _NAMED.match(self.script, self.at)
        text = self._expanded()
        is_text = named is not None and text != named[0] and "$(" not in text
        return re.sub(r"\s+", _BETWEEN_WORDS, text) if is_text else text

    def _double(self) -> str:
        self.at += 1
        pieces = []
        while self.at < len(self.script) and self.script[self.at] != '"':
            sign = self.script[self.at]
            if sign == "\\":
                pair = self.script[self.at : self.at + 2]
                pieces.append(pair[1:].replace("\n", "") if pair[1:] in '$`"\\\n' else pair)
                self.at += 2
            elif sign in "$`":
                pieces.append(self._expanded())
            elif match := _QUOTED.match(self.script, self.at):
                pieces.append(match[0])
                self.at = match.end()
        self.at += 1
        return "".join(pieces)

    def _expanded(self) -> str:
        """What stands for what the shell puts in: a variable's text if this script gives it one."""
        self.expands = True
        if self.script.startswith("$(", self.at):
            return self._substitution(self.at + 1)
        if self.script[self.at] == "`":
            end = self.script.find("`", self.at + 1)
            end = len(self.script) if end < 0 else end
            return self._opened(self.script[self.at + 1 : end], end + 1)
        match = _NAMED.match(self.script, self.at)
        if match is None:
            end = self.at + (2 if self.script.startswith(("$!", "$$", "$?"), self.at) else 1)
            text, self.at = self.script[self.at : end], end
            return text
        self.at = match.end()
        value = self.variables.get(match[1] or match[2], match[0])
        self.grown += len(value)
        return value if self.grown <= LONGEST else match[0]

    def _substitution(self, start: int) -> str:
        end = _closed(self.script, start)
        return self._opened(self.script[start + 1 : end], end + 1)

    def _opened(self, inner: str, end: int) -> str:
        """Take in the commands of a substitution, which is returned as it is written."""
        if not inner.startswith("("):  # that is arithmetic
            self.found += commands(inner, self.level + 1)
        self.at = end
        return f"$({inner})"


def _unescaped(match: re.Match[str]) -> str:
    """What an escape between $' and ' stands for."""
    hexadecimal, octal, sign = match[1] or match[2], match[3], match[4]
    if hexadecimal or octal:
        code = int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF
        return chr(code) if code and not 0xD800 <= code < 0xE000 else ""
    return {"n": "\n", "t": "\t", "r": "\r"}.get(sign, sign)


def _closed(script: str, start: int) -> int:
    """Where the bracket that opens at `start` closes; the end of the script if it does not."""
    depth, at = 0, start
    while match := _PAREN.search(script, at):
        at, sign = match.end(), match[0]
        if sign == "\\":
            at += 1
        elif sign in "'\"":
            end = script.find(sign, at)
            at = len(script) if end < 0 else end + 1
        else:
            depth += 1 if sign == "(" else -1
            if depth == 0:
                return match.start()
    return len(script)
