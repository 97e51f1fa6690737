"""No sandbox: the same start, watch and end, but nothing is kept from the command. For desks."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench.sandbox.box import SCRATCH, Box, Sandboxed
from bench.sandbox.launch import Way, launch
from bench.sandbox.plan import ENTER, python_command
from bench.sandbox.users import User

_KEPT = 0o600  # of a file of the command's own
_GIVEN = 0o444


class Bare:
    """Level L0: the command is the caller, sees all that the caller sees, and may do the same.

    The box's files are copies in a folder that is removed afterwards; `readable`, `devices`,
    `hidden` and `scratch_bytes` mean nothing. A box with writable folders gets them there too,
    SCRATCH as well, without limits; their paths, and those of what is bound, are replaced by the
    real ones in command, environment, seeds and standard input.
    """

    name = "none"
    gives_terminals = True  # those of this machine

    def available(self) -> str | None:
        """None: it can be used everywhere, which is why it has to be asked for."""
        return None

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        """Start a command as it is; its working folder holds the box's files."""
        root = Path(tempfile.mkdtemp(prefix="kbsite-box-"))
        real = _real_paths(root, box)
        folder = Path(real(str(box.folder))) if box.folder in box.writable else root
        own = [Path(real(str(path))) for path in (*box.writable, SCRATCH) if box.writable]
        for path in own:
            path.mkdir(parents=True)
        for name, content in box.files.items():
            _write(folder / name, content, _GIVEN)
        for path, content in box.seeds.items():
            _write(Path(real(str(path))), _replaced(content, real), _KEPT)

        def argv(channel: int, plan: int, _user: User) -> tuple[Sequence[str], tuple[int, ...]]:
            return python_command(ENTER, "bare", str(channel), str(plan)), ()

        def remove() -> None:
            shutil.rmtree(root)

        way = Way(
            argv=argv,
            facts={"sandbox": "none", "user": "the caller"},
            groups=False,
            more={
                **dict.fromkeys(("writable", "given", "sealed", "hidden", "seeds"), ()),
                "folder": str(folder),
                "pinned": [str(path) for path in own],
                "terminals": False,
                "same_rights": True,
                "filter": "",
                "rlimits": {"RLIMIT_CORE": 0},
            },
            afterwards=(lambda: None) if own else remove,
            at_close=remove if own else lambda: None,
        )
        moved = replace(
            box,
            environment={name: real(value) for name, value in box.environment.items()},
            stdin=_replaced(box.stdin, real),
        )
        return launch(way, [real(word) for word in command], moved)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    # Scripts that are given can be executed, as in every sandbox.
    path.chmod(mode | 0o111 if mode == _GIVEN and content.startswith(b"#!") else mode)


def _real_paths(root: Path, box: Box) -> Callable[[str], str]:
    """What replaces the paths of a box in a text by those that they have on the host."""
    own = (*box.writable, SCRATCH) if box.writable else ()
    real = {str(path): str(root / path.relative_to("/")) for path in own}
    real |= {str(inside): str(outside) for inside, outside in box.bound.items()}
    if not real:
        return str
    longest = sorted(real, key=len, reverse=True)
    # A path as a whole, and not the end or the beginning of another.
    named = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, longest))})(?![\w.-])")
    return lambda text: named.sub(lambda found: real[found.group()], text)


def _replaced(content: bytes, real: Callable[[str], str]) -> bytes:
    return real(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")
