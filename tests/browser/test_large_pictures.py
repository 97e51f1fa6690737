"""Pictures that are files beside the pages of a transcript are seen, from disk and served."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import BrowserContext

from kbsite.build import build
from tests.browser.conftest import Open, opening
from tests.browser.witness import Witness
from tests.conftest import MakeRun, MakeSettings

pytestmark = pytest.mark.browser

WIDTH, HEIGHT = 800, 100
FIRST, LATE, ROWS = 3, 190, 200
SEEN = """(anchor) => {
  const held = document.querySelector(`[id="${anchor}"] img`);
  return held !== null && held.complete && held.naturalWidth > 0;
}"""
SHAPE = "(held) => held.clientWidth / held.clientHeight"


def _chunk(kind: bytes, held: bytes) -> bytes:
    return struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held))


def png() -> bytes:
    """A picture of noise, which cannot be packed."""
    noise = Random(1)
    rows = b"".join(b"\0" + noise.randbytes(3 * WIDTH) for _ in range(HEIGHT))
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, held) for kind, held in chunks)


def _row(number: int, data: str) -> str:
    told: dict[str, object] = {"type": "text", "text": f"Round {number}."}
    if number in (FIRST, LATE):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        told = {"type": "image", "source": source}
    return json.dumps({"type": "user", "message": {"role": "user", "content": [told]}})


@pytest.fixture(name="open_run", params=["file", "http"])
def _open_run(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    make_run: MakeRun,
    make_settings: MakeSettings,
    context_of: partial[BrowserContext],
    witness: Witness,
) -> Iterator[Open]:
    data = b64encode(png()).decode()
    rows = "".join(f"{_row(number, data)}\n" for number in range(1, ROWS + 1)).encode()
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": rows})
    site = build(make_settings(tmp_path)).out
    with opening(request.param, site, context_of, witness) as opened:
        yield lambda rest, **options: opened(f"runs/{run.name}/index.html{rest}", **options)


@pytest.mark.parametrize("width", [1400, 390])
def test_a_picture_is_seen_whole_wherever_it_stands(open_run: Open, width: int) -> None:
    for number in (FIRST, LATE):
        page = open_run(f"#L{number}", viewport={"width": width, "height": 800})
        picture = page.locator(f'[id="L{number}"] img')

        page.wait_for_function(SEEN, arg=f"L{number}")
        assert picture.evaluate(SHAPE) == pytest.approx(WIDTH / HEIGHT, rel=0.03)
        assert picture.bounding_box()["x"] >= 0  # type: ignore[index]
