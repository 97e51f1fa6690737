"""bench/hardware: read strictly, and the figures of the whole table fit each other."""

from __future__ import annotations

from math import log2
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kbsite.model.hardware import (
    TOLERANCE,
    Accumulate,
    Format,
    Hardware,
    Work,
    ceiling,
    implied_mhz,
    per_clock,
    physics_floor,
)
from kbsite.store.hardware import LIMIT_FILES, LIMIT_MHZ, read_all_hardware, read_hardware
from kbsite.store.parsing import InvalidFileError
from kbsite.store.settings import read_settings
from tests.conftest import MakeSettings
from tests.store.cards import CARD

OWN = Path(__file__).parents[2] / "bench" / "hardware"
TABLE = read_all_hardware(OWN)


def told(tmp_path: Path, text: str, name: str = "card") -> list[tuple[int | None, str | None, str]]:
    """Line, key and message of each error in a file."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(text)
    with pytest.raises(InvalidFileError) as caught:
        read_hardware(path)
    assert all(error.path == path for error in caught.value.errors)
    return [(error.line, error.key, error.message) for error in caught.value.errors]


def written(tmp_path: Path, text: str = CARD) -> Hardware:
    path = tmp_path / "card.yaml"
    path.write_text(text)
    return read_hardware(path)


# The reader.


def test_a_file_says_what_stands_there(tmp_path: Path) -> None:
    card = written(tmp_path)

    assert (card.name, card.aliases, card.unit.value) == ("Card", ("CARD 1", "Card One"), "SM")
    assert card.units is not None
    assert (card.units.value, card.units.source) == (50, "sheet")
    assert (card.l2_mb, card.last_cache_mb) == (None, None)
    bf16 = card.peak(Format.BF16)
    assert bf16 is not None
    assert (bf16.tflops, bf16.per_clock, bf16.mhz) == (102.4, 1024, None)
    assert card.sources["sheet"].looked_up.isoformat() == "2026-11-21"
    assert card.lacks == (Format.TF32, Format.FP8, Format.FP4, Format.INT8)


@pytest.mark.parametrize(
    ("before", "after", "key", "message"),
    [
        ("name: Card", 'name: " "', "name", "empty; expected a name"),
        ("[CARD 1, Card One]", '[""]', "aliases[0]", "empty; expected a name that a driver uses"),
        ("unit: SM", "unit: core", "unit", "expected one of SM, CU"),
        ("value: 50,", "value: 0,", "units.value", "expected a number above 0, got 0"),
        ("value: 50,", "value: many,", "units.value", "expected a number, got text"),
        ("value: 50,", "value: .inf,", "units.value", "expected a number, got text"),
        ("{value: 50, source: sheet}", "50", "units", "expected keys and values or null"),
        ("{value: 50, source", "{value: 50, from", "units.source", "missing; expected text"),
        ("value: 50, source: sheet", "value: 50, source: x", "units.source", "a key of sources"),
        ("lacks: [tf32, fp8,", "lacks: [fp8,", "peaks", "says nothing of tf32"),
        ("lacks: [tf32,", "lacks: [tf32, bf16,", "peaks[3].format", "is among `lacks`"),
        ("format: bf16", "format: bf17", "peaks[3].format", "fp32, tf32, fp16, bf16"),
        ("accumulate: fp16", "accumulate: fp32", "peaks[2].format", "has such a peak already"),
        ("102.4, per_clock: 1024", "204.8, per_clock: 1024", "peaks[3].tflops", "of 4000 MHz"),
        ("102.4, per_clock: 1024", "-1, per_clock: 1024", "peaks[3].tflops", "above 0, got -1"),
        ("102.4, per_clock: 1024", "null, per_clock: 1024", "peaks[3].note", "why a figure is"),
        ("102.4, per_clock: 1024", "102.4, per_clock: 1.5", "peaks[3].per_clock", "whole number"),
        ("value: 2500,", "value: 1500,", "maximum_mhz.value", "at least boost_mhz, 2000"),
        ("https:", "http:", "sources.sheet.url", "the https:// address of a public page"),
        ("https://a.example/sheet", "https://a.example/", "sources.sheet.url", "a public page"),
        ("https://a.example/sheet", '"https://[x/y"', "sources.sheet.url", "a public page"),
        ("https://a.example/sheet", "null", "sources.sheet.note", "how it was read"),
        ("title: The sheet", 'title: ""', "sources.sheet.title", "empty; expected the title"),
        ("2026-11-21", "yesterday", "sources.sheet.looked_up", "expected a date (YYYY-MM-DD)"),
        ("\nnotes: []", "\nnote: x", "note", "is not a key here; expected one of aliases"),
        ("{value: 50,", "{value: 50, unit: x,", "units.unit", "one of note, source, value"),
        ("{format: bf16,", "{format: bf16, clock: 1,", "peaks[3].clock", "is not a key here"),
        ("title: The sheet", "title: T\n    page: 3", "sources.sheet.page", "is not a key here"),
        ("{format: bf16,", "{format: bf16, sparse: 9,", "peaks[3].sparse", "dense rates only"),
        ("\nnotes: []", "\nsparsity: 2", "sparsity", "dense rates only"),
    ],
)
def test_a_slip_is_named(tmp_path: Path, before: str, after: str, key: str, message: str) -> None:
    assert CARD.count(before) == 1
    text = CARD.replace(before, after)
    found = told(tmp_path, text)

    assert [named for _, named, _ in found] == [key]
    [(line, _, said)] = found
    assert line is not None
    assert 1 <= line <= len(text.splitlines())
    assert message in said


def test_what_is_not_known_has_to_be_said(tmp_path: Path) -> None:
    missing = "missing; expected keys and values or null"
    assert told(tmp_path, CARD.replace("l2_mb: null\n", "")) == [(None, "l2_mb", missing)]


def test_a_format_is_stated_once_and_none_is_forgotten(tmp_path: Path) -> None:
    found = told(tmp_path, CARD.replace("format: bf16", "format: fp32"))

    assert {key for _, key, _ in found} >= {"peaks[3].format", "peaks"}
    assert any("says nothing of bf16" in said for *_, said in found)
    assert any("fp32 has such a peak already" in said for *_, said in found)


def test_the_line_is_that_of_the_slip(tmp_path: Path) -> None:
    text = CARD.replace("102.4, per_clock: 1024", "204.8, per_clock: 1024")
    [(line, _, _)] = told(tmp_path, text)

    assert line is not None
    assert "204.8" in text.splitlines()[line - 1]


def test_everything_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    text = CARD.replace("value: 50,", "value: -1,").replace("https:", "ftp:")

    assert [key for _, key, _ in told(tmp_path, text)] == ["units.value", "sources.sheet.url"]


def test_a_source_that_no_figure_names_is_refused(tmp_path: Path) -> None:
    other = "\n  other: {title: O, url: https://a.example/o, looked_up: 2026-11-21}\nnotes"
    [(_, key, said)] = told(tmp_path, CARD.replace("\nnotes", other))

    assert (key, said.partition(";")[0]) == ("sources.other", "no figure names it")


def test_the_hardware_itself_is_a_source_if_it_is_said_how_it_was_asked(tmp_path: Path) -> None:
    card = written(tmp_path, CARD.replace("https://a.example/sheet", "null\n    note: Asked it."))

    assert (card.sources["sheet"].url, card.sources["sheet"].note) == (None, "Asked it.")


def test_a_rate_with_sparsity_is_refused_even_where_no_clock_is_stated(tmp_path: Path) -> None:
    bare = CARD
    for named, mhz in (("boost_mhz", 2000), ("maximum_mhz", 2500)):
        bare = bare.replace(f"{named}: {{value: {mhz}, source: sheet}}", f"{named}: null")
    assert written(tmp_path, bare).boost_mhz is None
    sparse = bare.replace("102.4, per_clock: 1024", "204.8, per_clock: 1024")
    [(_, key, said)] = told(tmp_path, sparse)

    assert key == "peaks[3].tflops"
    assert f"expected at most {LIMIT_MHZ} MHz; expected dense rates only" in said


def test_a_peak_may_be_stated_at_a_clock_of_its_own(tmp_path: Path) -> None:
    own = "115.2, per_clock: 1024, mhz: {value: 2250, source: sheet}"
    card = written(tmp_path, CARD.replace("102.4, per_clock: 1024", own))
    bf16 = card.peak(Format.BF16)

    assert bf16 is not None
    assert bf16.mhz is not None
    assert bf16.mhz.value == 2250
    told(tmp_path, CARD.replace("102.4, per_clock: 1024", own.replace("2250", "2000")))


def test_what_nobody_knows_may_be_null_if_it_is_said(tmp_path: Path) -> None:
    unknown = "null, per_clock: null, note: Nobody says."
    bf16 = written(tmp_path, CARD.replace("102.4, per_clock: 1024", unknown)).peak(Format.BF16)

    assert bf16 is not None
    assert (bf16.tflops, bf16.most_per_clock) == (None, None)


HOSTILE = {
    "nothing": "",
    "a list": "- 1\n",
    "a number": "1\n",
    "a tag": "name: !!python/object/apply:os.system [id]\n",
    "an anchor": "name: &a x\nvendor: *a\n",
    "a merge": "<<: {name: x}\n",
    "keys twice": "name: a\nname: b\n",
    "deep": "name: " + "[" * 300 + "]" * 300 + "\n",
    "no YAML": "name: [\n",
    "NUL": "name: \0\n",
    "a number as key": "1: 2\n",
    "a number as key of a card": CARD + "1: 2\n",
    "too large": "name: " + "x" * 1_000_001,
    "lists for values": "name: []\npeaks: {}\nsources: []\nlacks: fp8\n",
    "numbers as keys of sources": CARD.replace("  sheet:\n", "  1:\n"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_with_the_name_of_its_file(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text)


def test_what_is_no_regular_file_or_no_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text(CARD)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "real.yaml")
    with pytest.raises(InvalidFileError, match="a symbolic link is not read"):
        read_hardware(tmp_path / "link.yaml")
    (tmp_path / "Card One.yaml").write_text(CARD)
    with pytest.raises(InvalidFileError, match="its name is an id"):
        read_hardware(tmp_path / "Card One.yaml")


def test_a_folder_names_what_is_wrong_with_all_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CARD.replace("value: 50,", "value: 0,"))
    (tmp_path / "b.yaml").write_text("[")
    (tmp_path / "README.md").write_text("not read")
    with pytest.raises(InvalidFileError) as caught:
        read_all_hardware(tmp_path)

    assert [Path(error.path).name for error in caught.value.errors] == ["a.yaml", "b.yaml"]


def test_a_name_of_two_products_is_refused_whatever_its_case(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CARD)
    (tmp_path / "b.yaml").write_text(CARD.replace("[CARD 1, Card One]", "[other, card one]"))
    with pytest.raises(InvalidFileError) as caught:
        read_all_hardware(tmp_path)
    [error] = caught.value.errors

    assert (Path(error.path).name, error.key, error.line) == ("b.yaml", "aliases[1]", 4)
    assert "'card one' is a name of a already" in error.message


def test_a_folder_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="no such folder"):
        read_all_hardware(tmp_path / "gone")
    for number in range(LIMIT_FILES + 1):
        (tmp_path / f"{number}.yaml").touch()
    with pytest.raises(InvalidFileError, match=f"at most {LIMIT_FILES} files"):
        read_all_hardware(tmp_path)


def test_kbsite_yaml_may_name_another_folder(tmp_path: Path, make_settings: MakeSettings) -> None:
    assert make_settings(tmp_path).hardware == {}
    for folder, name in (("bench/hardware", "card"), ("own", "mine")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.yaml").write_text(CARD)
    assert list(read_settings(tmp_path / "kbsite.yaml").hardware) == ["card"]
    assert list(make_settings(tmp_path, site={"hardware": "own"}).hardware) == ["mine"]
    with pytest.raises(InvalidFileError, match="no such folder"):
        make_settings(tmp_path, site={"hardware": "gone"})


# The table itself.


def test_the_table_has_the_products_that_boards_are_made_on() -> None:
    assert set(TABLE) >= {
        "rtx-3090", "rtx-4090", "rtx-5090", "rtx-pro-6000-blackwell", "a100-sxm-40gb",
        "a100-sxm-80gb", "h100-pcie", "h100-sxm", "h200-sxm", "mi300x",
        "b200-sxm-180gb-1000w", "b200-sxm-192gb-1000w",
    }  # fmt: skip
    assert len({one.name for one in TABLE.values()}) == len(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_the_bf16_peak_is_a_power_of_two_a_unit_and_clock(name: str) -> None:
    """It is the best proof that a row is dense, and at the clock that it says."""
    card = TABLE[name]
    bf16 = card.peak(Format.BF16)
    assert bf16 is not None
    assert bf16.tflops is not None
    assert bf16.per_clock is not None
    assert log2(bf16.per_clock).is_integer()
    if card.units is None:
        assert card.boost_mhz is None
        return
    if card.boost_mhz is None:
        highest = card.maximum_mhz.value if card.maximum_mhz else 2000
        assert implied_mhz(bf16.tflops, card.units.value, bf16.per_clock) <= highest
        return
    found = per_clock(bf16.tflops, card.units.value, card.boost_mhz.value)
    assert found == pytest.approx(bf16.per_clock, rel=TOLERANCE)


def test_most_products_state_units_and_clock() -> None:
    stated = [name for name, one in TABLE.items() if one.units and one.boost_mhz]

    assert len(stated) >= 9


DENSE_BF16 = {
    "Ampere (GA102)": 512, "Ada Lovelace (AD102)": 512, "Ampere (GA100)": 2048,
    "Hopper (GH100)": 4096, "Blackwell (GB100)": 8192, "CDNA 3": 2048,
}  # fmt: skip
"""Operations of a unit in a clock, as architectures state them apart from any product."""


@pytest.mark.parametrize("name", TABLE)
def test_a_product_does_in_a_clock_what_its_architecture_does(name: str) -> None:
    card = TABLE[name]
    bf16 = card.peak(Format.BF16)
    assert bf16 is not None
    if card.architecture == "Blackwell (GB202)":
        # GeForce cards of this chip do half of what its workstation cards do.
        assert bf16.per_clock == (512 if "GeForce" in card.name else 1024)
    else:
        assert bf16.per_clock == DENSE_BF16[card.architecture]


@pytest.mark.parametrize("name", TABLE)
def test_formats_of_half_the_bits_run_twice_as_fast_or_it_is_said_why_not(name: str) -> None:
    card = TABLE[name]
    for wide, narrow, times in (
        (Format.TF32, Format.BF16, 2), (Format.FP16, Format.BF16, 1),
        (Format.BF16, Format.FP8, 2), (Format.FP8, Format.FP4, 2),
    ):  # fmt: skip
        slow, fast = card.peak(wide), card.peak(narrow)
        if slow is None or fast is None or slow.tflops is None or fast.tflops is None:
            continue
        held = fast.tflops == pytest.approx(times * slow.tflops, rel=TOLERANCE)
        assert held or slow.note or fast.note, (wide, narrow)


@pytest.mark.parametrize("name", TABLE)
def test_sums_in_16_bits_are_twice_as_fast_where_they_are_told_apart(name: str) -> None:
    card = TABLE[name]
    apart = {one.format for one in card.peaks if one.accumulate is Accumulate.FP16}
    for number in apart:
        single, half = card.peak(number), card.peak(number, Accumulate.FP16)
        assert single is not None
        assert half is not None
        assert single.tflops is not None
        assert half.tflops == pytest.approx(2 * single.tflops, rel=TOLERANCE)
    assert bool(apart) == ("GeForce" in card.name)


@pytest.mark.parametrize("name", TABLE)
def test_every_figure_says_where_it_was_read_and_every_product_has_notes(name: str) -> None:
    card = TABLE[name]
    assert card.notes
    assert card.dram_gb
    assert card.power_watts
    for key, source in card.sources.items():
        assert source.note if source.url is None else urlsplit(source.url).path not in ("", "/")
        assert source.looked_up.year >= 2026, key


@pytest.mark.parametrize("name", TABLE)
def test_no_floor_is_above_the_ceiling_of_the_same_work(name: str) -> None:
    card = TABLE[name]
    for one in card.peaks:
        work = Work({(one.format, one.accumulate): 1e12}, 0.0)
        assert physics_floor(card, work).ms <= ceiling(card, work).ms * (1 + TOLERANCE)
    moved = Work({}, 1e9)
    assert physics_floor(card, moved).ms <= ceiling(card, moved).ms * (1 + TOLERANCE)


def test_measurements_that_were_published_are_possible() -> None:
    """Library kernels that were timed honestly: none of them may be called impossible."""
    for name, number, tflops in (
        ("rtx-5090", Format.BF16, 254), ("rtx-5090", Format.FP8, 774),
        ("rtx-5090", Format.TF32, 126), ("rtx-5090", Format.INT8, 906),
        ("h200-sxm", Format.BF16, 894), ("h100-sxm", Format.FP8, 1402),
        ("mi300x", Format.BF16, 668), ("rtx-4090", Format.BF16, 179),
    ):  # fmt: skip
        work = Work({(number, None): tflops * 1e9}, 0.0)
        assert physics_floor(TABLE[name], work).ms <= 1.0, (name, number)
    assert physics_floor(TABLE["h200-sxm"], Work({}, 4.3e9)).ms <= 1.0
    twice = Work({(Format.BF16, None): 2 * 989.5e9}, 0.0)
    assert physics_floor(TABLE["h200-sxm"], twice).ms > 1.0


def test_the_predecessor_s_table_would_be_refused(tmp_path: Path) -> None:
    text = (OWN / "rtx-pro-6000-blackwell.yaml").read_text()
    told(tmp_path, text.replace("tflops: 503.8", "tflops: 200"))
    told(tmp_path, text.replace("tflops: 1007.6", "tflops: 400"))
    told(tmp_path, text.replace("tflops: 125,", "tflops: 12,"))
