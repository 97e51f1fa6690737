"""/hardware/: every figure with its source, what is unknown, and who used it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import html5lib
import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.check import check
from kbsite.errors import InputError, UsageError
from kbsite.pages import hardware
from kbsite.reading import RESERVED, read
from kbsite.store.parsing import InvalidFileError
from kbsite.store.settings import Settings, read_settings
from tests.conftest import PASSED, MakeRun, MakeSettings
from tests.store.cards import CARD
from tests.trees import tree

ODD = CARD.replace(
    "102.4, per_clock: 1024, source: sheet",
    "115.2, per_clock: 1024, source: sheet, mhz: {value: 2250, source: sheet},"
    " observed_per_clock: {value: 2048, source: sheet, note: Timed.}, note: It is odd.",
)


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    folder = tmp_path / "bench" / "hardware"
    folder.mkdir(parents=True)
    (folder / "gpu-a.yaml").write_text(ODD)
    other = CARD.replace("[CARD 1, Card One]", "[]").replace("name: Card", "name: Other")
    (folder / "gpu-b.yaml").write_text(other)
    make_settings(tmp_path, hardware="gpu-a")
    make_run(tmp_path / "runs" / "demo", model="first")
    make_run(tmp_path / "runs" / "demo", model="second", hardware="gpu-b")
    make_run(tmp_path / "runs" / "demo", model="third", hardware="gpu-c")
    return read_settings(tmp_path / "kbsite.yaml")


def parsed(path: Path) -> Any:
    return html5lib.parse(path.read_text("utf-8"), namespaceHTMLElements=False)


def words(node: Any) -> str:
    return " ".join("".join(node.itertext()).split())


def rows(path: Path, number: int = 0) -> list[list[str]]:
    """The cells of a page's table, a row each."""
    table = parsed(path).findall(".//table")[number]
    return [[words(cell) for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]


def page(settings: Settings, name: str = "gpu-a") -> Path:
    return build(settings).out / "hardware" / name / "index.html"


def test_each_peak_stands_there_with_its_source(settings: Settings) -> None:
    found = rows(page(settings))

    # 50 units * 2500 MHz * 256 operations are 32 TFLOP/s; 25.6 of them move a TB/s 25.6 times.
    assert found[1] == ["fp32", "any", "25.6", "256", "32", "26", "The sheet"]
    assert found[3] == ["fp16", "fp16", "51.2", "512", "64", "51", "The sheet"]
    assert found[4] == ["bf16", "any", "115.2", "1024, observed 2048", "256", "115", "The sheet"]


def test_figures_are_told_with_measure_and_source_and_gaps_as_gaps(settings: Settings) -> None:
    found = {row[0]: row[1] for row in rows(page(settings), 1)}

    assert found["units"] == "50 SMs · The sheet"
    assert found["rated clock"] == "2000 MHz · The sheet"
    assert found["DRAM bandwidth"] == "1000 GB/s · The sheet As rounded there."
    assert found["L2 cache"] == "unknown"
    assert found["DRAM bandwidth at its highest clock"] == "as above"


def test_exceptions_are_told_below_the_peaks(settings: Settings) -> None:
    text = words(parsed(page(settings)).find(".//main"))

    assert "bf16: It is odd. Stated at 2250 MHz. Observed: Timed. (The sheet)." in text
    assert "It has no units for tf32, fp8, fp4, int8." in text
    assert "Drivers call it CARD 1, Card One." in text
    assert "The sheet, looked up on 2026-11-21." in text


def test_what_machines_were_measured_at_stands_beside_the_datasheet(
    settings: Settings, make_run: MakeRun
) -> None:
    for model, bf16 in [("low", 80.0), ("middle", 90.0), ("high", 115.2 * 1.1)]:
        anchors = {"bf16 TFLOP/s": bf16, "copy GB/s": 900.0, "<b> TFLOP/s": 1.5, "odd": 7.0}
        told = {**PASSED, "hardware": "gpu-a", "anchors": anchors}
        make_run(settings.runs / "demo", model=model, metrics=told)
    elsewhere = {**PASSED, "hardware": "gpu-b", "anchors": {"bf16 TFLOP/s": 1.0}}
    make_run(settings.runs / "demo", model="elsewhere", metrics=elsewhere)
    path = page(settings)
    number = next(n for n in range(9) if rows(path, n)[0][0] == "rate")

    assert rows(path, number)[1:] == [
        ["bf16 TFLOP/s", "115.2", "90", "78 %", "80", "126.7", "3"],
        ["copy GB/s", "1000", "900", "90 %", "900", "900", "3"],
        ["<b> TFLOP/s", "unknown", "1.5", "–", "1.5", "1.5", "3"],
    ]
    [link] = [a.get("href") for a in parsed(path).iter("a") if words(a) == "126.7"]
    assert "_high_" in link
    assert (path.parent / link).is_file()


def test_rates_that_grades_make_up_do_not_fill_a_page(
    settings: Settings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "MOST_RATES", 2)
    anchors = {"zero GB/s": 0.0} | {f"made-up-{number} TFLOP/s": 1.0 for number in range(9)}
    told = {**PASSED, "hardware": "gpu-a", "anchors": anchors}
    make_run(settings.runs / "demo", model="fourth", metrics=told)
    text = words(parsed(page(settings)).find(".//main"))

    assert "made-up-1 TFLOP/s" in text
    assert "made-up-2 TFLOP/s" not in text
    assert "zero GB/s" not in text


def test_sources_are_linked_and_told_nothing_of_the_reader(settings: Settings) -> None:
    links = [
        link for link in parsed(page(settings)).iter("a") if "a.example" in link.get("href", "")
    ]

    assert links
    assert {link.get("rel") for link in links} == {"noopener noreferrer"}


def test_a_page_names_the_boards_and_runs_that_used_it(settings: Settings) -> None:
    build(settings)
    own = parsed(settings.out / "hardware" / "gpu-a" / "index.html")
    links = {words(link): link.get("href") for link in own.iter("a")}
    [run] = [name for name in links if "_first_" in name]
    other = words(parsed(settings.out / "hardware" / "gpu-b" / "index.html").find(".//main"))

    assert links["Demo" if "Demo" in links else "demo"] == "../../demo/index.html"
    assert links[run] == f"../../runs/{run}/index.html"
    assert not [name for name in links if "_second_" in name or "_third_" in name]
    assert "runs that no board shows 1 run." in other
    assert "_second_" in other


def test_hardware_that_nobody_used_says_so(settings: Settings) -> None:
    (settings.path.parent / "bench" / "hardware" / "gpu-d.yaml").write_text(
        CARD.replace("[CARD 1, Card One]", "[D]")
    )
    held = read_settings(settings.path)

    assert "No board and no run of this site." in words(parsed(page(held, "gpu-d")))


def test_more_runs_than_a_page_names_are_counted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, make_run: MakeRun
) -> None:
    monkeypatch.setattr(hardware, "SHOWN_RUNS", 1)
    make_run(settings.runs / "demo", model="fourth")
    text = words(parsed(page(settings)).find(".//main"))

    assert "2 runs." in text
    assert "1 more are among all runs" in text
    assert "_fourth_" not in text


def test_the_index_compares_all(settings: Settings) -> None:
    found = rows(build(settings).out / "hardware" / "index.html")

    assert found[0] == ["product", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "GB/s"]
    assert found[1] == ["Card", "25.6", "–", "51.2", "115.2", "–", "–", "–", "1000"]
    assert [row[0] for row in found[1:]] == ["Card", "Other"]


def test_boards_and_runs_link_hardware_that_is_known_and_no_other(settings: Settings) -> None:
    out = build(settings).out
    board = (out / "demo" / "index.html").read_text()
    runs = {path.parent.name: path.read_text() for path in out.glob("runs/2*/index.html")}

    assert board.count('href="../hardware/gpu-a/index.html"') == 2
    for name, text in runs.items():
        linked = {"first": "gpu-a", "second": "gpu-b"}.get(name.split("_")[3])
        assert ("/hardware/" in text) == bool(linked)
        if linked:
            assert f'href="../../hardware/{linked}/index.html"' in text
    assert "hardware/index.html" in (out / "methodology" / "index.html").read_text()


def test_a_site_without_hardware_has_no_such_page(settings: Settings) -> None:
    out = build(replace(settings, hardware={})).out

    assert not (out / "hardware").exists()
    assert not [path for path in out.rglob("*.html") if "/hardware/" in path.read_text()]


def test_no_board_can_be_called_hardware(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path, board="hardware")

    assert "hardware" in RESERVED
    with pytest.raises(InputError, match="'hardware' cannot be a folder of the site"):
        read(settings)


def test_a_changed_figure_remakes_its_pages_and_no_run(settings: Settings) -> None:
    before = tree(build(settings).out)
    path = settings.path.parent / "bench" / "hardware" / "gpu-a.yaml"
    path.write_text(path.read_text().replace("value: 300,", "value: 350,"))
    built = build(read_settings(settings.path))
    after = tree(built.out)

    assert built.work.parsed == 0
    # site.json holds all that the pages are made from, so that a reader can verify them.
    assert {name for name in after if before[name] != after[name]} == {
        "data/site.json", "hardware/gpu-a/index.html",
    }  # fmt: skip


def test_hardware_that_comes_and_goes_remakes_the_runs_that_link_it(settings: Settings) -> None:
    first = tree(build(settings).out)
    path = settings.path.parent / "bench" / "hardware" / "gpu-b.yaml"
    text = path.read_text()
    path.unlink()
    gone = build(read_settings(settings.path))
    without = tree(gone.out)
    path.write_text(text)
    again = tree(build(read_settings(settings.path)).out)
    changed = {name for name in first.keys() & without.keys() if first[name] != without[name]}

    assert {name.split("_")[3] for name in changed if name.startswith("runs/2")} == {"second"}
    assert "hardware/gpu-b/index.html" not in without
    assert again == first


@pytest.mark.parametrize("at", [".", "gpu-a.yaml"])
def test_check_tells_what_is_wrong_with_the_files(settings: Settings, at: str) -> None:
    folder = settings.path.parent / "bench" / "hardware"
    assert list(check([folder / at], settings)) == []
    path = folder / "gpu-a.yaml"
    path.write_text(path.read_text().replace("tflops: 25.6", "tflops: 51.2"))
    line = (
        path.read_text()
        .splitlines()
        .index("  - {format: fp32, tflops: 51.2, per_clock: 256, source: sheet}")
    )
    [found] = check([folder / at], settings)

    assert (found.line, found.key) == (line + 1, "peaks[0].tflops")
    assert "stands for a clock of 4000 MHz, expected 2000 MHz" in found.message
    [of_site] = check([settings.path], None)
    assert of_site == found or of_site.message == found.message
    with pytest.raises(InvalidFileError, match=r"gpu-a\.yaml"):
        read_settings(settings.path)


def test_only_a_folder_of_that_name_with_such_files_is_hardware(settings: Settings) -> None:
    empty = settings.path.parent / "hardware"
    empty.mkdir()
    for path in (empty, settings.path.parent / "bench"):
        with pytest.raises(UsageError):
            check([path], settings)
