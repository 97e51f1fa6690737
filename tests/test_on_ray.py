"""A site is the same where nodes of a cluster make its pages, whatever becomes of one of them.

Ray is a stand-in here, which does all in this process; a whole cluster is in test_ray_cluster.py.
"""

from __future__ import annotations

import pickle
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import structs

from kbsite import engines
from kbsite.build import Built, build
from kbsite.cli import kbsite
from kbsite.engines import Engine, Errand, Here, Lost, Parcel, engine_of, node, on_ray
from kbsite.engines.on_ray import OnRay
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.model.config import Leak
from kbsite.pages.kinds import every, of_run
from kbsite.reading import read
from kbsite.record import Record
from kbsite.store.settings import Settings
from kbsite.store.told import read_told
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.ray_stand_in import LocalRayletDiedError, RayTaskError, StandIn
from tests.test_incremental import row, session
from tests.trees import tree

ROOT = Path(__file__).parents[1]
ROUND = "kbsite.engines.ray_round"
NAMED = "KBSITE_ENGINE"


@pytest.fixture(name="ray")
def _ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A cluster of two processors; what is done with Ray is loaded anew for it, and forgotten."""
    made = StandIn()
    monkeypatch.setitem(sys.modules, "ray", made)
    monkeypatch.setattr(on_ray, "LEAST", 1)
    monkeypatch.setattr(on_ray, "find_spec", lambda _: object())
    sys.modules.pop(ROUND, None)
    node._held.key = ""
    yield made
    sys.modules.pop(ROUND, None)
    vars(engines).pop("ray_round", None)


@pytest.fixture(name="settings")
def _settings(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors
) -> Settings:
    """Runs that other runs' pages tell of, in each way that there is."""
    board = tmp_path / "runs" / "first"
    quote = {"file": "solution.py", "lines": [2, 2], "text": "x.softmax(-1)"}
    make = partial(make_run, board, problem="softmax")
    make(model="long", transcript={"stdout.jsonl": session()}, audit={"quotes": [quote]})
    make(model="long", transcript={"stdout.jsonl": session(3)})
    make(model="leaky", audit={"verdict": "rubric_leak", "implication": "i", "leak": "l"})
    make(
        model="secret",
        transcript={"stdout.jsonl": row(1).replace("begins", f"sk-{'aB3' * 16}").encode()},
    )
    make(model="elsewhere", hardware="gpu-b")
    make(model="broken", harness="mini-swe", transcript={"t.traj.json": b"{}"})
    make_run(board, model="unknown", problem="matmul", files={"files/\udce9t\u00e9.txt": b"\xff"})
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1})
    site = {"bundles": True, "url": "https://site.example/"}
    held = make_settings(tmp_path, board="first", hardware="gpu-a", site=site)
    leak = Leak(id="l", title="The leak", meant="A sum.", happened="None.")
    return structs.replace(held, config=structs.replace(held.config, leaks=(leak,)))


def made(settings: Settings, engine: Engine, name: str) -> tuple[Built, dict[str, str], Record]:
    """What a build comes to, the site, and what is kept of its pages.

    All that builds of this name leave is put aside after each, and is there before the next.
    """
    home, aside = settings.out.parent, settings.out.parent / "aside" / name
    aside.mkdir(parents=True, exist_ok=True)
    for path in aside.iterdir():
        path.rename(home / path.name)
    built, site = build(settings, engine=engine), tree(settings.out)
    record = read_told(home / ".site.pages.json", Record)
    assert record is not None
    for path in [settings.out, *home.glob(".site.*")]:
        path.rename(aside / path.name)
    return built, site, structs.replace(record, marker=0)


@contextmanager
def without(folder: Path) -> Iterator[None]:
    """As long as this holds, nobody finds a folder where it was."""
    gone = folder.with_name("nowhere")
    folder.rename(gone)
    try:
        yield
    finally:
        gone.rename(folder)


def test_a_site_that_nodes_made_without_seeing_runs_is_the_same_to_the_byte(
    settings: Settings, ray: StandIn
) -> None:
    shutil.copytree(ROOT / "runs" / "demo", settings.runs / "demo")
    ray.around = lambda: without(settings.runs)
    near = made(settings, Here(), "here")
    far = made(settings, OnRay(), "there")
    runs = len(list(settings.runs.rglob("run.json")))

    assert far == near
    assert len(ray.tasks) == 4 * runs  # looked at, looked over, its page, its bundle
    assert not [one for one in ray.tasks if str(settings.runs).encode() + b"/demo/2" in one.told]
    log = next(settings.runs.rglob("*_long_*/transcript/stdout.jsonl"))
    log.write_bytes(log.read_bytes() + row(200).encode())
    near, far = made(settings, Here(), "here"), made(settings, OnRay(), "there")
    assert far == near
    assert near[0].work.parsed == 1
    assert len(ray.tasks) == 4 * runs + 4


def test_what_is_made_of_files_of_runs_is_what_nodes_can_make(settings: Settings) -> None:
    site = read(settings)
    whole = {page.path for page in every(site) if page.run}

    assert whole == {page.path for stored in site.every_run for page in of_run(site, stored)}


def test_a_page_whose_process_is_killed_is_made_by_another_and_then_says_so(
    settings: Settings, ray: StandIn
) -> None:
    _, whole, _ = made(settings, Here(), "here")
    deaths: list[Any] = []

    def dies(sent: Any) -> bool:
        told = [pickle.loads(task.told) for task in sent.tasks if len(deaths) < times]
        pages = [getattr(one, "path", "") for one in told]
        dead = [one for one in pages if one.endswith("index.html") and "_secret_" in one]
        deaths.extend(dead)
        return bool(dead)

    times, ray.dying = 1, dies
    assert made(settings, OnRay(), "once")[1] == whole
    times = 9
    deaths.clear()
    built, site, _ = made(settings, OnRay(), "twice")
    told = [one for one in built.findings if "killed, as a system" in one.message]

    assert [one.path for one in told] == deaths[:1] == [deaths[-1]]
    assert len(deaths) == 2
    assert {path for path in whole if site.get(path) != whole[path]} == {
        path for path in whole if path.startswith(deaths[0].removesuffix("index.html"))
        and "/raw/" not in path and not path.endswith((".zst", ".svg", ".png"))
    }  # fmt: skip
    assert site.keys() <= whole.keys()


# The engine by itself.


@dataclass(frozen=True)
class Doubling:
    def do(self, told: int, folder: Path) -> tuple[int, list[bytes]]:
        if told == 3:
            raise InputError("wrong", path="a.yaml", line=3)
        return told * 2, [path.read_bytes() for path in sorted(folder.iterdir())]


def each(
    tasks: Sequence[int], jobs: int = 0, *files: Path, told: dict[int, Any] | None = None
) -> dict[int, Any]:
    """What tasks come to; odd ones are not worth sending."""
    given = {} if told is None else told
    work: Errand[int, Any] = Errand(
        here=lambda number: (-number, []),
        afar=Doubling,
        travels=lambda number: number % 2 == 0 or number == 3,
        parcel=lambda number: Parcel(number, [path.read_bytes for path in files]),
        received=lambda _, back: back,
    )
    OnRay(jobs).each(work, tasks, [1] * len(tasks), given.__setitem__)
    return given


def test_what_is_not_worth_sending_is_done_here_and_files_arrive_under_numbers(
    ray: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "..a name").write_bytes(b"what it holds")

    assert each([0, 1, 4], 0, tmp_path / "..a name") == {
        0: (0, [b"what it holds"]), 1: (-1, []), 2: (8, [b"what it holds"])
    }  # fmt: skip
    assert (ray.options["num_cpus"], ray.options["max_retries"]) == (1, 0)


def test_a_task_with_a_file_that_cannot_be_read_is_done_here(ray: StandIn, tmp_path: Path) -> None:
    assert each([8], 0, tmp_path / "gone") == {0: (-8, [])}
    assert not ray.sent


def test_no_more_is_under_way_than_keeps_nodes_at_work(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tasks = range(0, 200, 2)
    assert len(each(tasks)) == 100
    assert ray.most == 2 * ray.cpus
    ray.most = 0
    each(tasks, 3)
    assert ray.most == 3
    (tmp_path / "large").write_bytes(bytes(1000))
    monkeypatch.setattr(sys.modules[ROUND], "MOST_BYTES", 1500)
    ray.most = 0
    each(tasks, 50, tmp_path / "large")
    assert ray.most == 2


def test_what_the_work_raises_is_raised_here_and_nothing_is_left_with_the_cluster(
    ray: StandIn,
) -> None:
    with pytest.raises(RuntimeError, match=r"a\.yaml:3: wrong"):
        each([3, 4, 6, 8])
    assert len(ray.called_off) == 3


KILLED = Lost("killed, as a system does that has no memory left")


def numbers(sent: Any) -> list[int]:
    """The tasks that were sent together."""
    return [pickle.loads(task.told) for task in sent.tasks]


def test_who_is_killed_twice_is_lost_and_nothing_is_begun_a_third_time(ray: StandIn) -> None:
    ray.dying = lambda sent: 6 in numbers(sent)

    assert each([4, 6]) == {0: (8, []), 1: KILLED}
    assert len(ray.sent) == 3


def test_small_tasks_are_sent_together_and_to_the_end_one_by_one(ray: StandIn) -> None:
    tasks = range(0, 1200, 2)

    assert each(tasks) == {number: (task * 2, []) for number, task in enumerate(tasks)}
    together = [len(numbers(sent)) for sent in ray.sent]
    assert sum(together) == 600
    assert len(together) < 80
    assert together[:3] == [32] * 3
    assert together[-10:] == [1] * 10
    assert ray.most == 2 * ray.cpus


def test_no_more_is_sent_together_than_a_little(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tasks = range(0, 200, 2)
    each([2])
    monkeypatch.setattr(sys.modules[ROUND], "WEIGHT_AT_ONCE", 3)
    each(tasks)
    assert max(len(numbers(sent)) for sent in ray.sent) == 3
    ray.sent.clear()
    monkeypatch.setattr(sys.modules[ROUND], "WEIGHT_AT_ONCE", 100)
    monkeypatch.setattr(sys.modules[ROUND], "BYTES_AT_ONCE", 1500)
    (tmp_path / "large").write_bytes(bytes(1000))
    each(tasks, 0, tmp_path / "large")
    assert max(len(numbers(sent)) for sent in ray.sent) == 2


def test_of_tasks_that_were_sent_together_only_the_one_that_kills_is_lost(ray: StandIn) -> None:
    tasks = range(0, 1200, 2)
    ray.dying = lambda sent: 6 in numbers(sent)
    given = each(tasks)

    assert [number for number, back in given.items() if back == KILLED] == [3]
    assert len(given) == 600
    held = [numbers(sent) for sent in ray.sent]
    with_it = next(one for one in held if 6 in one)
    assert len(with_it) == 32
    assert [one for one in held if len(one) == 1][:32] == [[task] for task in with_it]


def test_what_was_done_before_something_was_raised_is_told(ray: StandIn) -> None:
    given: dict[int, Any] = {}
    with pytest.raises(RuntimeError, match=r"a\.yaml:3: wrong"):
        each([0, 2, 3, *range(4, 1200, 2)], told=given)

    assert given == {0: (0, []), 1: (4, [])}
    assert len(ray.called_off) == 2 * ray.cpus - 1


def test_a_node_with_another_program_is_refused_and_named(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = dict(node.program())
    monkeypatch.setattr(node, "program", lambda: {**ours, "pygments": "1.0"})
    given: list[object] = []

    def sent_before() -> Any:
        monkeypatch.setattr(node, "program", lambda: ours)
        return pytest.MonkeyPatch.context()

    ray.around = sent_before
    with pytest.raises(MachineError, match=r"pygments \S+ instead of 1.0 \(.*install the same"):
        each([2])
    assert not given


def test_a_node_that_cannot_begin_is_told_with_its_cure(ray: StandIn) -> None:
    def refused() -> Any:
        raise RayTaskError("Traceback\n  ...\nModuleNotFoundError: No module named 'kbsite'\n")

    ray.around = refused
    with pytest.raises(MachineError, match=r"No module named 'kbsite'; install the same kbsite"):
        each([2])


def test_a_driver_whose_own_node_is_gone_stops_and_loses_no_page_to_it(ray: StandIn) -> None:
    def gone() -> Any:
        raise LocalRayletDiedError("The task's local raylet died. Check raylet.out.")

    ray.around = gone
    given: dict[int, Any] = {}
    with pytest.raises(MachineError, match=r"this machine is gone: .* start nodes with `ray start"):
        each([2, 4], told=given)
    assert not given


def test_a_cluster_that_is_not_there_or_cannot_work_is_told_with_its_cure(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(MachineError, match=r"refused; start one with .* name it in RAY_ADDRESS"):
        each([2])
    monkeypatch.delenv("RAY_ADDRESS")
    ray.wrong = ConnectionError("Could not find any running Ray instance.")
    with pytest.raises(MachineError, match=r"running Ray instance.; start one with `ray start --"):
        each([2])
    ray.wrong, ray.cpus = None, 0
    with pytest.raises(MachineError, match="has no processors; start nodes with"):
        each([2])


@pytest.mark.parametrize("scheme", ["", "ray://"])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"", "said nothing for 1 seconds; start one with `ray start --head`"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what answers at .* is no Ray; start one with"),
        (None, "what answers at .* is no Ray; start one with"),
    ],
    ids=["silence", "another service", "a connection that is closed"],
)
def test_an_address_where_no_ray_answers_is_told_before_ray_tries_for_minutes(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch, said: bytes | None, told: str, scheme: str
) -> None:
    each([2])
    monkeypatch.setattr(sys.modules[ROUND], "KNOCK", 1.0)
    ray.wrong = RuntimeError("Ray tried it for many minutes")
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("RAY_ADDRESS", f"{scheme}127.0.0.1:{other.getsockname()[1]}")
        with ThreadPoolExecutor() as pool:
            pool.submit(answer, other, said)
            with pytest.raises(MachineError, match=told):
                each([2])


def answer(server: socket.socket, said: bytes | None) -> None:
    """Say something to the one who comes, and wait until he goes; None is to send him away."""
    connection, _ = server.accept()
    with connection:
        if said is not None:
            connection.sendall(said)
            while connection.recv(1000):
                pass


@pytest.mark.usefixtures("ray")
def test_a_ray_that_answers_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("RAY_ADDRESS", f"ray://127.0.0.1:{other.getsockname()[1]}")
        with ThreadPoolExecutor() as pool:
            pool.submit(answer, other, b"\0\0\x18\x04\0\0\0\0\0")
            assert each([2, 4]) == {0: (4, []), 1: (8, [])}


def test_a_cluster_that_loses_all_processors_for_long_is_told(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    each([2])
    ours = sys.modules[ROUND]
    now = iter(range(0, 10_000, 20))
    monkeypatch.setattr(ours.time, "monotonic", lambda: float(next(now)))
    monkeypatch.setattr(ray, "wait", lambda refs, **_: ([], refs))
    counts = iter([2, 2, 2])
    monkeypatch.setattr(ours, "_processors", lambda: next(counts, 0))
    with pytest.raises(MachineError, match="no processors for 60 seconds"):
        each([2])


def test_little_to_do_waits_for_no_cluster(ray: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "LEAST", 1000)
    ray.wrong = ConnectionError()

    assert each([2, 4]) == {0: (-2, []), 1: (-4, [])}


def test_no_file_is_sent_that_a_link_leads_to_which_took_the_place_of_a_run_s(
    settings: Settings, ray: StandIn, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine alone")
    log = min(settings.runs.glob("first/*long*/transcript/stdout.jsonl"))

    def swapped() -> Any:
        log.unlink()
        log.symlink_to(secret)
        ray.around = nullcontext
        return nullcontext()

    ray.around = swapped
    build(settings, engine=OnRay())
    held = [data for sent in ray.sent for task in sent.tasks for data in task.files]
    assert log.is_symlink()
    assert b"of this machine alone" not in held
    told = [path.read_bytes() for path in settings.out.rglob("*") if path.is_file()]
    assert b"of this machine alone" not in b"".join(told)


# Which engine it is.


@pytest.mark.usefixtures("ray")
def test_an_engine_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KBSITE_JOBS", raising=False)
    assert engine_of(3, named="ray") == OnRay(3)
    assert engine_of(1, named="local") == Here()
    with pytest.raises(UsageError, match=r"'slurm' is no engine; expected one of local, ray"):
        engine_of(named="slurm")


def test_without_ray_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "find_spec", lambda _: None)
    with pytest.raises(MachineError, match=r"pip install 'kbsite\[ray\]'"):
        engine_of(named="ray")


def test_the_command_line_counts_more_than_the_variable_and_that_more_than_the_settings(
    tmp_path: Path, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "find_spec", lambda _: None)
    config = str(make_settings(tmp_path, site={"engine": "ray"}).path)

    def raised(*words: str, told: str | None = None) -> type | None:
        command = ["build", "--config", config, *words]
        done = CliRunner().invoke(kbsite, command, env={NAMED: told})
        return type(done.exception) if done.exception else None

    assert {raised(), raised(told="ray"), raised("--engine", "ray", told="local")} == {MachineError}
    assert not (tmp_path / "site").exists()
    assert {raised(told="local"), raised("--engine", "local", told="ray")} == {None}
    assert raised("--engine", "slurm") is SystemExit
