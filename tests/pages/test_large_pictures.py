"""Pictures that are too large for their place are files beside the page."""

from __future__ import annotations

import json
import random
import re
import struct
from base64 import b64encode
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.linting import lint
from kbsite.pages.long_text import WHOLE
from kbsite.single_file import write
from kbsite.store.settings import Settings
from kbsite.text import picture_apart, picture_file
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree
from tests.unpacking import carried

ROWS = 1_200
"""So many that a copy renders half of them."""


def png(size: int, width: int = 640, height: int = 480) -> bytes:
    """What begins as a picture of a size does, with bytes that cannot be packed behind it."""
    begins = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\2\0\0\0"
    return begins + random.Random(size).randbytes(size - len(begins))


PICTURES = {3: png(40_000), 4: png(WHOLE), 900: png(50_000), 901: png(60_000, 100_000)}
"""By the line of the transcript that has it."""


def _row(number: int) -> str:
    told: dict[str, object] = {"type": "text", "text": f"Round {number}."}
    if number in PICTURES:
        data = b64encode(PICTURES[number]).decode()
        source = {"type": "base64", "media_type": "image/png", "data": data}
        told = {"type": "image", "source": source}
    return json.dumps({"type": "user", "message": {"role": "user", "content": [told]}})


def _written(folder: Path, rows: int) -> None:
    path = folder / "transcript" / "stdout.jsonl"
    path.write_text("".join(f"{_row(number)}\n" for number in range(1, rows + 1)))


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Settings:
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": b""})
    _written(run, ROWS)
    return make_settings(tmp_path)


def _folder(settings: Settings) -> Path:
    (folder,) = settings.out.glob("runs/*_claude_*")
    return folder


def _shown(folder: Path) -> dict[str, str]:
    """The pages that show pictures of files, with the addresses of those."""
    pages = {page.name: page.read_text("utf-8") for page in folder.glob("*.html")}
    lazy = re.compile(r'<img class="picture"[^>]* loading="lazy"[^>]* src="(pict[^"]*)">')
    return {address: name for name, text in pages.items() for address in lazy.findall(text)}


def test_large_pictures_are_files_that_a_page_asks_for_when_a_reader_comes_near(
    settings: Settings,
) -> None:
    build(settings)
    folder = _folder(settings)
    shown = _shown(folder)

    assert shown["picture-L3-1.png"] == "index.html"
    assert set(shown) == {f"picture-L{line}-1.png" for line in PICTURES if line != 4}
    for address in shown:
        assert (folder / address).read_bytes() == PICTURES[int(address[9:-6])]
    page = (folder / "index.html").read_text("utf-8")
    assert ' width="640" height="480" src="picture-L3-1.png"' in page
    assert b64encode(PICTURES[4]).decode() in page
    assert b64encode(PICTURES[3]).decode() not in page
    assert [finding.text for finding in lint(settings.out)] == []


def test_a_site_that_grew_has_the_pictures_that_one_from_nothing_has(settings: Settings) -> None:
    alone = replace(settings.config, jobs=1)
    fresh = replace(settings, out=settings.out.with_name("fresh"), config=alone)
    build(settings)
    _written(next(settings.runs.glob("demo/*")), ROWS + 60)

    assert tree(build(settings).out) == tree(build(fresh).out)


def test_a_run_in_one_file_has_its_pictures_in_it(settings: Settings) -> None:
    (run,) = settings.runs.glob("demo/*")
    whole = write(settings, run.name, settings.runs.parent / "f.html").path.read_text("utf-8")

    pages = [whole, *carried(whole).values()]
    for held in PICTURES.values():
        assert sum(page.count(b64encode(held).decode()) for page in pages) == 1
    assert not any("picture-L" in page for page in pages)


def test_a_place_is_kept_free_for_sizes_that_a_page_can_have() -> None:
    held, suffix = picture_file("image/png", b64encode(png(100, 20_000, 1)).decode()) or (b"", "")

    assert suffix == "png"
    assert 'width="20000" height="1" src="&#34;"' in picture_apart(held, '"')
    for odd in (png(100, 20_001), png(100, 0), b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff" * 1_000):
        assert "width" not in picture_apart(odd, "a.png")


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html", ""])
def test_what_is_no_raster_image_gets_no_file(media_type: str) -> None:
    assert picture_file(media_type, b64encode(png(100)).decode()) is None
    assert picture_file("image/png", b64encode(b"<svg onload=alert(1)>").decode()) is None
    assert picture_file("image/png", "no base64!") is None
