"""Files of runs are copied into the site as they are, whatever lay in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite import output
from kbsite.hiding.looking import Looking
from kbsite.model.config import Redact
from kbsite.model.work import Work
from kbsite.output import Copy, Output
from kbsite.redaction.scan import Found, Looker
from kbsite.store.files import Stored


@pytest.mark.parametrize("at_once", [1 << 20, 10])
def test_a_copy_holds_the_same_and_writes_to_no_other_name_of_what_lay_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(output, "_AT_ONCE", at_once)
    data = bytes(range(256))
    given = tmp_path / "a.bin"
    given.write_bytes(data)
    made = Output(tmp_path / "site", Work())
    held = tmp_path / "held"
    held.write_bytes(b"of the site that stands")
    lain = made.folder / "raw" / "lain.bin"
    lain.parent.mkdir(parents=True)
    lain.hardlink_to(held)
    file = Stored("a.bin", str(given), len(data))

    made.copy([Copy(file, "raw/lain.bin", same=False), Copy(file, "new/a.bin", same=False)])

    assert [path.read_bytes() for path in (lain, made.folder / "new" / "a.bin")] == [data, data]
    assert held.read_bytes() == b"of the site that stands"
    assert set(made.placed.written) == {"raw/lain.bin", "new/a.bin"}


def test_what_stands_in_the_name_of_a_file_is_looked_for_once_and_hidden_in_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "for-somebody@fabrikam.io"
    (tmp_path / name).write_bytes(b"nothing")
    looked: list[bytes] = []
    look = Looker.look

    def counted(self: Looker, data: bytes, start: int = 0, end: int | None = None) -> Found:
        looked.append(data)
        return look(self, data, start, end)

    monkeypatch.setattr(Looker, "look", counted)
    looking = Looking(Redact())
    files = [Stored(name, str(tmp_path / name), 7)]
    first, second = looking.look("board/one", files), looking.look("board/two", files)

    assert first.names == second.names
    assert "somebody" not in first.names[name]
    assert looked.count(name.encode()) == 1
