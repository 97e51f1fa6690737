"""A build is whole or not there, the same every time, and stopped by nothing that a run brings."""

from __future__ import annotations

import errno
import gc
import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite import ahead
from kbsite.build import build, override
from kbsite.build import making as pipeline
from kbsite.check import check
from kbsite.engines import engine_of
from kbsite.errors import InputError, UsageError
from kbsite.exports import markdown
from kbsite.model.config import BoardConfig, Config
from kbsite.model.finding import Severity
from kbsite.model.work import Work
from kbsite.output import Output
from kbsite.pages.page import File, markdown_path
from kbsite.reading import MARKER, board_configs, read
from kbsite.record import Memory
from kbsite.store.first_look import FirstLook
from kbsite.store.runs import read_run
from kbsite.store.settings import read_settings
from kbsite.verifying import verify
from kbsite.verifying.places import FolderPlace
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.trees import tree

STREAM = b"""\
{"type":"system","subtype":"init","session_id":"s","model":"opus-x","cwd":"/w","tools":["Bash"]}
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look first."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}
"""

LAUNCHING = b"""\
import torch
import triton

KEPT = {}


class Model(torch.nn.Module):
    def forward(self, x):
        if "y" in KEPT:
            return KEPT["y"]
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel())
        KEPT["y"] = out
        return out


@triton.jit
def kernel(x, out, n):
    pass


def solve(x):
    return Model()(x)
"""


def test_two_builds_of_the_same_input_are_the_same_to_the_byte(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors
) -> None:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    make_run(board, transcript={"stdout.jsonl": STREAM}, audit={})
    make_run(board, model="other", metrics={"status": "wrong"})
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1})
    first = tree(build(settings).out)
    second = tree(build(override(settings, None, None, tmp_path / "again")).out)

    assert first == second
    assert {"index.html", "demo/index.html", "404.html", "problems/softmax/index.html"} <= set(
        first
    )


def test_what_a_build_leaves_to_a_search_for_cycles_does_not_grow_with_its_runs(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    left: list[int] = []
    for count in (2, 2, 12):
        settings = make_settings(tmp_path / f"{len(left)}")
        for number in range(count):
            make_run(
                tmp_path / f"{len(left)}" / "runs" / "demo",
                model=f"m{number}",
                transcript={"stdout.jsonl": STREAM},
                files={"solution.py": LAUNCHING.replace(b"1024", b"%d" % (1024 + number))},
            )
        gc.collect()
        gc.disable()
        try:
            assert build(settings, engine=engine_of(1, 1)).findings == ()
            left.append(gc.collect())
        finally:
            gc.enable()

    # The first loads what is needed, too. Trees of sources and values of pages were 700 for a run.
    _, few, many = left
    assert many - few < 10 * 10, left


def test_an_order_of_files_on_disk_does_not_matter(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    runs = []
    for home, models in (("one", ["a", "b", "c"]), ("two", ["c", "a", "b"])):
        settings = make_settings(tmp_path / home)
        for model in models:
            run_id = f"20260102_030405_claude_{model}_softmax"
            make_run(tmp_path / home / "runs" / "demo", run_id=run_id, model=model)
        runs.append(tree(build(settings).out))

    # The times of the runs differ with the order in which they were made, their pages do not move.
    assert runs[0].keys() == runs[1].keys()


def test_one_bad_run_stops_nothing_and_is_named_on_the_site(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    good = make_run(board)
    bad = make_run(board, model="bad")
    (bad / "run.json").write_text('{"format": 1, "model": 3}')
    built = build(settings)

    assert (built.out / "runs" / good.name / "index.html").is_file()
    assert [path.name for path in (built.out / "runs" / bad.name).iterdir()] == ["index.html"]
    assert "left out" in (built.out / "runs" / bad.name / "index.html").read_text("utf-8")
    index = (built.out / "runs" / "index.html").read_text("utf-8")
    assert str(tmp_path) not in index
    assert f"runs/demo/{bad.name}/run.json: error:" in index
    assert "model: expected text, got a whole number" in html.unescape(index)
    assert any(finding.severity is Severity.ERROR for finding in built.findings)


def test_a_page_that_cannot_be_made_says_so_and_the_rest_is_built(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": STREAM})

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(ahead, "transcript", broken)
    built = build(settings)
    page = (built.out / "runs" / run.name / "index.html").read_text("utf-8")

    assert "this page could not be made" in page
    assert "a fault of ours" in page
    assert "a fault of ours" in built.findings[-1].message
    assert (built.out / "demo" / "index.html").is_file()


def test_of_a_file_that_fails_half_way_nothing_is_published(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": STREAM})

    def broken(*_: object) -> Iterator[str]:
        yield "half an export, " * 20_000
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(markdown, "page", broken)
    built = build(settings)

    assert "a fault of ours" in (built.out / "runs" / run.name / "index.html").read_text("utf-8")
    assert not (built.out / markdown_path(run.name)).exists()


def test_a_build_that_fails_leaves_the_old_site_as_it_was(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo")
    before = tree(build(settings).out)

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    make_run(tmp_path / "runs" / "demo", model="other")
    monkeypatch.setattr(pipeline, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        build(settings)

    assert tree(settings.out) == before


def test_pages_of_runs_that_are_gone_go_with_the_next_build(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo")
    build(settings)
    run.rename(tmp_path / "elsewhere")
    built = build(settings)

    assert not (built.out / "runs" / run.name).exists()
    assert list(tmp_path.glob("site*")) == [built.out]


def test_a_folder_that_no_build_made_is_never_replaced(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    precious = tmp_path / "home"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")

    with pytest.raises(UsageError, match="not made by kbsite"):
        build(override(settings, None, None, precious))

    assert (precious / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("within", ["site", "demo/a/site", "."])
def test_a_site_is_never_made_within_the_folder_of_its_runs(
    tmp_path: Path, make_settings: MakeSettings, within: str
) -> None:
    """The next build would take what it publishes of runs for runs."""
    settings = make_settings(tmp_path)

    with pytest.raises(UsageError, match="within the folder of the runs"):
        build(override(settings, None, None, settings.runs / within))
    assert list(settings.runs.iterdir()) == [settings.runs / "demo"]


def test_a_site_is_never_made_within_the_folder_of_the_problems(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    """The next build would take it for a problem, and find no problem.yaml in it."""
    settings = make_settings(tmp_path)

    with pytest.raises(UsageError, match="within the folder of the problems"):
        build(override(settings, None, None, settings.problems / "site"))


@pytest.mark.parametrize("what", ["runs", "problems", "settings"])
def test_a_site_never_takes_the_place_of_what_it_is_made_of(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, what: str
) -> None:
    """Runs that somebody had put into the site were gone with the next build of them."""
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo")
    out = build(settings).out
    places = {"runs": settings.runs, "problems": settings.problems, "settings": settings.path}
    moved = out / "runs" / places[what].name
    places[what].rename(moved)
    before = tree(moved.parent)

    with pytest.raises(UsageError, match=f"the {what} lie within .*site, which a build replaces"):
        build(replace(settings, **{"path" if what == "settings" else what: moved}))
    assert tree(moved.parent) == before


@pytest.mark.parametrize("out", ["thesis", "thesis/chapter"])
def test_nothing_comes_to_lie_beside_what_is_none_of_a_build(
    tmp_path: Path, make_settings: MakeSettings, out: str
) -> None:
    settings = make_settings(tmp_path)
    (tmp_path / "thesis" / "chapter").mkdir(parents=True)
    (tmp_path / "thesis" / "chapter" / "one.tex").write_text("years of work")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(UsageError, match="not made by kbsite"):
        build(override(settings, None, None, tmp_path / out))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("out", "why"), [("/", "take the place of"), ("kbsite.yaml", "a file; expected a folder")]
)
def test_what_can_be_no_folder_of_a_site_is_told(
    tmp_path: Path, make_settings: MakeSettings, out: str, why: str
) -> None:
    settings = make_settings(tmp_path)

    with pytest.raises(UsageError, match=why):
        build(override(settings, None, None, tmp_path / out))


def test_a_link_in_the_place_of_a_site_stays_one_and_its_folder_is_replaced_whole(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path)
    (tmp_path / "var").mkdir()
    (tmp_path / "site").symlink_to("var/real")
    settings = read_settings(tmp_path / "kbsite.yaml")
    first = build(settings)
    inode = (tmp_path / "var" / "real").stat().st_ino
    make_run(tmp_path / "runs" / "demo")
    second = build(override(settings, None, None, tmp_path / "site"))

    assert first.out == second.out == tmp_path / "var" / "real"
    assert (tmp_path / "site").readlink() == Path("var/real")
    assert (tmp_path / "var" / "real").stat().st_ino != inode
    assert not list(tmp_path.glob(".site*"))


def test_a_link_that_leads_to_itself_is_no_place_for_a_site(tmp_path: Path) -> None:
    (tmp_path / "site").symlink_to("site")
    (tmp_path / "kbsite.yaml").write_text("title: A\n")

    with pytest.raises(UsageError, match="a link that leads to itself"):
        read_settings(tmp_path / "kbsite.yaml")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_disk_that_is_full_ends_a_build_and_makes_no_page_say_so(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch, jobs: int,
) -> None:  # fmt: skip
    settings = make_settings(tmp_path, site={"jobs": jobs})
    run = make_run(tmp_path / "runs" / "demo")
    build(settings)
    before = tree(settings.out)
    (run / "solution.py").write_text("# another\n")
    write = Output.write

    def full(output: Output, file: File) -> None:
        if file.path == f"runs/{run.name}/index.html" and "cannot be made" not in file.text:
            raise OSError(errno.ENOSPC, "No space left on device", file.path)
        write(output, file)

    monkeypatch.setattr(Output, "write", full)
    with pytest.raises(OSError, match="No space left"):
        build(settings)

    assert tree(settings.out) == before
    assert not settings.out.with_name("site.partial").exists()
    monkeypatch.undo()
    assert build(settings).findings == ()
    made = tree(settings.out)
    assert made == tree(build(settings, fresh=True).out)


def test_a_site_that_is_made_anew_reads_nothing_that_is_known_of_the_last(
    tmp_path: Path, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(tmp_path)
    first = build(settings)
    monkeypatch.setattr("kbsite.record.read_told", lambda *_: pytest.fail("read"))
    monkeypatch.setattr(FirstLook, "is_under_way", lambda _: True)

    assert build(settings, fresh=True).work.rendered == first.work.rendered


def test_a_run_that_is_still_written_is_told_and_is_no_fault(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs" / "demo", run_id="whole")
    run = make_run(tmp_path / "runs" / "demo", run_id="begun")
    written = run.rename(run.with_name("begun.partial"))
    (found,) = build(settings).findings
    (checked,) = [one for one in check([], settings) if one.path == str(written)]

    assert found == checked
    assert (found.severity, found.path) == (Severity.WARNING, str(written))
    assert "still written, or was broken off; let a sweep or an import go on" in found.message
    assert (settings.out / "runs" / "whole" / "index.html").is_file()
    assert not (settings.out / "runs" / "begun").exists()


def test_an_empty_folder_and_an_earlier_site_are_replaced(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    settings.out.mkdir()
    build(settings)
    (settings.out / "left.txt").write_text("from before")
    build(settings, fresh=True)

    assert (settings.out / MARKER).exists()
    assert not (settings.out / "left.txt").exists()


def test_a_site_without_any_run_is_still_a_site(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    built = build(make_settings(tmp_path))

    assert built.findings == ()
    assert "No run is on this board yet." in (built.out / "demo/index.html").read_text("utf-8")


def test_a_missing_runs_folder_is_named(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path, site={"runs": "nowhere"})

    assert [finding.message for finding in build(settings).findings] == [
        "no such folder; make it, or name another one under runs of kbsite.yaml"
    ]


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "a link that leads nowhere"])
def test_a_site_outlives_runs_that_are_all_gone_at_once(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, left: str
) -> None:
    settings, away = make_settings(tmp_path), tmp_path / "away"
    make_run(settings.runs / "demo")
    stood = tree(build(settings).out)
    settings.runs.rename(away)
    if left == "an empty folder":
        settings.runs.mkdir()
    elif left == "a link that leads nowhere":
        settings.runs.symlink_to(tmp_path / "not mounted")
    memory = Memory()
    for known in (None, memory, memory):
        with pytest.raises(InputError, match=f"^{settings.runs}: n.* the site that stands has"):
            build(settings, memory=known)
        assert tree(settings.out) == stood

    if settings.runs.is_symlink():
        settings.runs.unlink()
    away.rename(settings.runs)
    assert build(settings, memory=memory).work.written == 0
    settings.runs.rename(away)
    build(settings, fresh=True)
    assert not list(settings.out.glob("runs/*/index.html"))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_site_outlives_runs_that_go_while_pages_are_made_of_them(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, *, fresh: bool
) -> None:
    """As a disk goes that is taken off: pages that could not be made would stand meanwhile."""
    settings, away = make_settings(tmp_path), tmp_path / "away"
    make_run(settings.runs / "demo", run_id="one")
    stood = tree(build(settings).out)
    make_run(settings.runs / "demo", run_id="two")

    def take_off(*_: object) -> None:
        if settings.runs.exists():
            settings.runs.rename(away)

    for memory in (None, Memory()):
        with pytest.raises(InputError, match=f"^{settings.runs}: went while a site was made of it"):
            build(settings, take_off, fresh=fresh, memory=memory)
        assert tree(settings.out) == stood
        assert not list(tmp_path.glob("*.partial"))
        away.rename(settings.runs)
    built = build(settings, memory=memory)
    assert not built.findings
    assert tree(built.out) == tree(build(override(settings, None, None, tmp_path / "other")).out)


def test_a_board_whose_folder_of_runs_is_gone_is_told(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[], runs=["demo", "more"])
    (settings.runs / "more").mkdir(parents=True)
    make_run(settings.runs / "demo", audit={})
    assert build(settings).unmet == ()
    (settings.runs / "demo").rename(tmp_path / "away")
    for _ in range(2):
        ((severity, key, message),) = [
            (one.severity, one.key, one.message) for one in build(settings).unmet
        ]
        assert (severity, key) == (Severity.WARNING, "boards.demo")
        assert message == f"there is no folder {settings.runs / 'demo'} for its runs"
    (tmp_path / "away").rename(settings.runs / "demo")
    assert build(settings).unmet == ()


def test_links_among_the_folders_of_runs_are_told(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[])
    make_run(settings.runs / "demo")
    elsewhere = make_run(tmp_path / "elsewhere" / "demo", model="other")
    links = [settings.runs / "demo" / elsewhere.name, settings.runs / "linked"]
    assert "a symbolic link" not in str(build(settings).findings)
    for link in links:
        link.symlink_to(elsewhere if link.name == elsewhere.name else elsewhere.parent)
    for fresh in (False, False, True):
        told = [one for one in build(settings, fresh=fresh).findings if "link" in one.message]
        assert sorted(one.path for one in told) == sorted(map(str, links))
    for link in links:
        link.unlink()
    assert "a symbolic link" not in str(build(settings).findings)


@pytest.mark.parametrize(("spell", "but"), [(str, ";"), (str.upper, " but for capitals")])
def test_of_two_runs_of_one_id_the_first_is_shown_and_the_other_told(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, spell: Callable[[str], str],
    but: str,
) -> None:  # fmt: skip
    settings = make_settings(tmp_path, problems=[])
    first = make_run(settings.runs / "demo")
    make_run(settings.runs / "other", run_id=spell(first.name))
    site = read(settings)

    (told,) = site.findings
    assert Path(told.path).parent.name == "other"
    assert told.message.startswith(f"left out: the run in {first} has the same id{but}")
    checked = [one.message for one in check([settings.path]) if "same id" in one.message]
    assert checked == [told.message.removeprefix("left out: ")]
    assert [stored.folder for stored in site.runs] == [first]


def test_runs_of_a_board_that_nobody_declared_make_a_board_of_their_own(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[])
    make_run(tmp_path / "runs" / "other")
    site = read(settings)

    assert [board.config.id for board in site.boards] == ["demo", "other"]
    assert [board.run_count for board in site.boards] == [0, 1]


def test_a_board_can_take_its_runs_from_folders_of_other_names(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[], runs=["one", "two"])
    make_run(tmp_path / "runs" / "one")
    make_run(tmp_path / "runs" / "two", model="other")
    site = read(settings)

    assert [(board.config.id, board.run_count) for board in site.boards] == [("demo", 2)]


def test_runs_of_a_folder_within_another_stand_on_the_board_that_names_it_alone(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[], runs=["2026/mine"])
    make_run(tmp_path / "runs" / "2026" / "mine")
    make_run(tmp_path / "runs" / "mine", model="other")
    site = read(settings)

    attempts = [(board.config.id, board.run_count) for board in site.boards]
    assert attempts == [("demo", 1), ("mine", 1)]


@pytest.mark.parametrize("name", ["runs", "static", "../up", "a/b", ".hidden"])
def test_a_board_cannot_take_a_folder_of_the_site(tmp_path: Path, name: str) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text(f"boards:\n- id: fine\n  title: x\n- id: {name}\n  title: x\n")
    boards = (BoardConfig(id="fine", title="x"), BoardConfig(id=name, title="x"))
    told = r"kbsite\.yaml:4: boards\[1\]\.id: .* cannot be a folder of the site"
    with pytest.raises(InputError, match=told):
        board_configs(Config(boards=boards), [], path)


def test_keys_that_nobody_knows_are_told_by_a_build_too(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    """`redcat` in place of `redact` published what it was meant to hide, without a word."""
    path = make_settings(tmp_path).path
    build(read_settings(path))
    with path.open("a") as file:
        file.write("redcat: {deny: [X]}\n")
    line = len(path.read_text().splitlines())
    for _ in range(2):
        built = build(read_settings(path))
        (told,) = [one for one in built.unmet if one.key == "redcat"]

        assert (told.path, told.line, told.severity) == (
            str(path), line, Severity.WARNING
        )  # fmt: skip
        assert told.message == "unknown, so it is ignored; did you mean redact?"
        # It means nothing, so nothing is made anew for it.
        assert built.work == Work()
    path.write_text(path.read_text().replace("redcat: {deny: [X]}\n", ""))

    assert not [one for one in build(read_settings(path)).unmet if one.key == "redcat"]


def test_two_boards_with_one_id_are_not_mixed(tmp_path: Path) -> None:
    """One page would be written over the other, and each run would stand on both."""
    path = tmp_path / "kbsite.yaml"
    (tmp_path / "runs" / "one").mkdir(parents=True)
    path.write_text(
        "boards:\n- {id: one, title: x}\n- {id: two, title: y}\n- {id: one, title: z}\n"
    )
    told = r"kbsite\.yaml:4: boards\[2\]\.id: boards\[0\] has the same id, 'one'; choose another"
    with pytest.raises(InputError, match=told):
        build(read_settings(path))

    assert not (tmp_path / "site").exists()


def test_two_runs_with_one_id_are_not_mixed(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, runs=["one", "two"])
    run_id = "20260102_030405_claude_x_softmax"
    first = make_run(tmp_path / "runs" / "one", run_id=run_id)
    second = make_run(tmp_path / "runs" / "two", run_id=run_id)
    site = read(settings)

    assert [stored.folder for stored in site.runs] == [first]
    assert str(second) in [finding.path for finding in site.findings]


def test_raw_files_are_copied_byte_for_byte(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    noise = bytes(range(256)) * 3
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": noise, "x.bin": noise})
    raw = build(settings).out / "runs" / run.name / "raw"

    assert (raw / "transcript" / "stdout.jsonl").read_bytes() == noise
    assert (raw / "transcript" / "x.bin.txt").read_bytes() == noise
    for file in read_run(run).files:
        assert any(
            path.read_bytes() == file.path.read_bytes()
            for path in raw.rglob(f"{Path(file.name).name}*")
        )


def test_a_symlink_out_of_a_run_is_not_followed(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    secret = tmp_path / "secret.txt"
    secret.write_text("the operator's own key")
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": STREAM})
    (run / "transcript" / "link.jsonl").symlink_to(secret)
    (run / "files").symlink_to(tmp_path)
    built = build(settings)

    for path in built.out.rglob("*"):
        assert path.is_dir() or b"the operator's own key" not in path.read_bytes()
    assert sum("symbolic link" in finding.message for finding in built.findings) == 2


def test_the_schemas_of_the_records_are_published(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    out = build(make_settings(tmp_path)).out
    schemas = {path.name: json.loads(path.read_text()) for path in out.glob("data/schema/*.json")}

    names = ("run", "metrics", "audit", "runs", "samples", "leaderboard", "site",
             "redaction")  # fmt: skip
    assert set(schemas) == {f"{name}.schema.json" for name in names}
    assert "peak_fraction" in schemas["metrics.schema.json"]["properties"]


def test_progress_is_told_for_every_run_and_then_for_every_page(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo")
    told: list[tuple[str, int, int]] = []
    built = build(settings, lambda path, done, count: told.append((path, done, count)))
    first, *pages = told

    assert first == (run.name, 1, 1)
    assert [done for _, done, _ in pages] == list(range(1, built.pages + 1))
    assert {count for _, _, count in pages} == {built.pages}


def test_a_manifest_that_cannot_be_read_is_told_as_a_check_tells_it_and_once(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    folder = make_run(settings.runs / "demo", run_id="one")
    (folder / "manifest.json").write_text('{\n"format": 1,\n"files": []}')
    told = build(settings)
    broken = [one for one in told.findings if one.path.endswith("manifest.json")]
    assert [(one.severity, one.line, one.key) for one in broken] == [(Severity.ERROR, 3, "files")]
    assert [one for one in check([folder]) if one.path.endswith("manifest.json")] == broken
    assert (settings.out / "runs" / "one" / "index.html").is_file()


def test_a_run_of_which_half_was_copied_is_told_and_so_is_its_site(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    names = {f"files/{number}.py": b"x = 1\n" for number in range(4)}
    folder = make_run(settings.runs / "demo", run_id="one", files=names)
    for name in names:
        (folder / name).unlink()
    path = str(folder / "manifest.json")
    said = (
        "lists 4 files (files/0.py, files/1.py, files/2.py, …) that are not there; copy the run"
        " again, whole"
    )
    for _ in range(2):
        (told,) = [one for one in build(settings).findings if one.severity is Severity.ERROR]
        assert (told.path, told.message) == (path, said)
    page = (settings.out / "runs" / "one" / "index.html").read_text("utf-8")
    assert "lists 4 files (" in page
    found = [*verify(FolderPlace(settings.out))]
    wrong = {one.path for one in found if one.severity is Severity.ERROR}
    assert wrong == {f"runs/one/raw/{name}" for name in names}

    for name, data in names.items():
        (folder / name).write_bytes(data)
    assert not [one for one in build(settings).findings if one.severity is Severity.ERROR]


def test_what_an_editor_left_in_a_run_is_told_before_it_is_published(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    folder = make_run(settings.runs / "demo", run_id="one", audit={})
    assert not build(settings).findings
    (folder / "audit.yaml~").write_text("verdict: bug\n")
    (told,) = build(settings).findings
    assert (told.path, told.severity) == (str(folder / "manifest.json"), Severity.WARNING)
    assert told.message.startswith("does not list 1 file (audit.yaml~); move what came later out")
    (checked,) = [one for one in check([folder]) if one.path.endswith("~")]
    assert "; move it out of the run" in checked.message
    (folder / "audit.yaml~").unlink()
    assert not build(settings).findings


@pytest.mark.parametrize("left", ["solution.py", "transcript/stdout.jsonl"])
def test_what_came_of_a_run_before_its_run_json_is_told_and_not_passed_over(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, left: str
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo", run_id="one")
    part = settings.runs / "demo" / "two" / left
    part.parent.mkdir(parents=True)
    part.write_text("x = 1\n")
    lost = str(settings.runs / "demo" / "two" / "run.json")
    (told,) = build(settings).findings
    assert (told.path, told.severity, told.message) == (lost, Severity.ERROR, "no such file")
    assert told in list(check([], settings))
    assert not build(settings).work.rendered
