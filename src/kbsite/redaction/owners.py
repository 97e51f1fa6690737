"""Names of persons that what a system says of files and of who is there tells, and no path does.

A listing is told by its first line: where a name stands in it again is found once it is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction.encoded import COLOUR
from kbsite.redaction.personal import is_generic
from kbsite.redaction.rules import AFTER, Rule

READ: Final = 800
"""Bytes of a listing in which owners are looked for."""

_LONGEST, _BEHIND = 32, 120
"""Bytes of a name before what a shell asks with, and behind it."""

_NAME: Final = rb"([A-Za-z_][A-Za-z0-9_.-]{1,31})"
_LISTED: Final = late(
    rb"(?:[r-][w-][xsS-]){2}[r-][w-][xtT-][.+@]?[ ]{1,4}[0-9]{1,9}[ ]{1,9}" + _NAME + rb"[ ]"
)
_SAID: Final = late(
    rb"(?:uid=[0-9]{1,10}\(|Uid:[ ]\([ ]{0,9}[0-9]{1,10}/[ ]{0,9})" + _NAME + rb"\)"
)
_SET: Final = late(
    b"(?:" + AFTER + rb"(?:USER|LOGNAME)|(?<=SUDO_)USER)=" + _NAME + rb"(?![A-Za-z0-9_.$(-])"
)
_COLOUR: Final = rb"(?:" + COLOUR + rb"[0-9;]{0,16}m)?"
_PROMPT: Final = late(
    AFTER + rb"(?<![./\\-])" + _NAME + rb"@[A-Za-z][A-Za-z0-9-]{0,62}" + _COLOUR + b":" + _COLOUR
    + rb"[~/][^\s\\\"'`:@\x1b]{0,80}" + _COLOUR + rb"[$%][ ]"
)  # fmt: skip
"""What a shell asks with, who it is and where."""
_ASKED_AS: Final = late(rb"debug1: Authenticating to [^ \r\n]{1,200} as '" + _NAME + rb"'")
_TAPE: Final = late(rb"ustar(?:\x0000|  \x00)" + _NAME + rb"\x00")
_ARCHIVED: Final = late(rb"[r-][w-][xsStT-] (?:" + _NAME + rb"/| 0 " + _NAME + rb"[ ])")
_ROWS: Final = frozenset(
    bytes((read, write, run, ord(" "))) for read in b"r-" for write in b"w-" for run in b"xsStT-"
)
"""How the last letters of a mode begin a match."""
_LOOKS: Final = {
    b"uid=": _SAID, b"Uid:": _SAID, b"USER": _SET, b"LOGN": _SET,
    b"debu": _ASKED_AS, b"usta": _TAPE, b"tota": _LISTED,
    **dict.fromkeys(_ROWS, _ARCHIVED),
}  # fmt: skip

OWNERS: Final = tuple(
    Rule("home", "home folder of a person", gate, must_not_happen=False)
    for gate in (
        rb"total [0-9]+(?:\.[0-9])?[KMGT]?(?:\n|\\{1,4}n)[dl-][r-]", rb"uid=[0-9]+\(",
        b"Uid:", b"USER=", b"LOGNAME=", b"ustar", b"debug1: Authenticating to ",
        rb"[r-][w-][xsStT-] [A-Za-z_][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+ +[0-9]+ [0-9]{4}-[01][0-9]-",
        rb"[r-][w-][xsStT-]  0 [A-Za-z_][A-Za-z0-9_.-]* +[A-Za-z0-9_.-]+ +[0-9]+ [A-Z0-9]",
        rb"[A-Za-z0-9_-]@[A-Za-z][A-Za-z0-9-]*(?::[~/]|(?:\x1b|\\*u001b)\[[0-9;]*m:)",
    )
)  # fmt: skip
"""What `ls -l`, `id`, `stat`, `env`, `ssh -v`, the heads of an archive of tar and `tar -tv` say.

And what a shell asks with."""

_SERVICES: Final = frozenset(
    b"adm airflow apache avahi backup bin centos daemon dbus dhcpcd elasticsearch fedora ftp games"
    b" gitlab-runner gnats grafana halt hadoop http httpd kafka list lp mail man messagebus mongodb"
    b" munge mysql named news nfsnobody nginx ntp nvidia-persistenced ollama opc operator owner"
    b" polkitd postfix postgres prometheus proxy rabbitmq redis slurm spark ssh sshd staff sudo"
    b" sync sys syslog systemd-network systemd-resolve systemd-timesync tape tomcat"
    b" tss tty uucp uuidd wheel www www-data zookeeper".split()
)
"""Who owns files and is no person, beside those whose homes are nobody's."""

Found = tuple[int, int]


def tells(text: bytes) -> bool:
    """Whether a match of the automaton tells who somebody is."""
    return text[:4] in _LOOKS or _is_prompt(text)


def _is_prompt(text: bytes) -> bool:
    """Whether a match of the automaton is of what a shell asks with."""
    return text[1:2] == b"@" and text[-1:] in (b"~", b"/", b":")


def is_row(text: bytes) -> bool:
    """Whether a match of the automaton is one of the many rows that `tar -tv` says."""
    return text[:4] in _ROWS


def found(data: bytes, at: int, text: bytes) -> Iterator[Found]:
    """Where the names stand that a match of the automaton at a place tells."""
    if _is_prompt(text):
        asked = _PROMPT.finditer(data, max(0, at - _LONGEST), at + len(text) + _BEHIND)
    else:
        end = at + READ if text[:1] == b"t" else at + len(text) + (0 if is_row(text) else 80)
        asked = _LOOKS[text[:4]].finditer(data, at, end)
    for one in asked:
        group = one.lastindex or 1
        name = one[group].lower()
        if not (is_generic(name) or name in _SERVICES):
            yield one.span(group)
