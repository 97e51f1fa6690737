"""run.json of a sample of an Inspect log, and the log that the run keeps of it."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from kbsite.harnesses import inspect
from kbsite.harnesses.inspect.archive import HEADER, SAMPLES
from kbsite.harnesses.lines import dump, mapping, number, text, timestamp
from kbsite.importers.told import UNKNOWN_MODEL, cost_source, told_version, usage_source
from kbsite.model.finding import one_line
from kbsite.model.run import FORMAT, Run
from kbsite.model.slugs import slug
from kbsite.model.status import EndReason
from kbsite.model.transcript import Transcript
from kbsite.store.zipped import listed
from kbsite.trajectories.times import LONGEST

Held = Mapping[str, object]

HARNESS = inspect.HARNESS.id
FILE = "eval/sample.eval"
"""The archive of a run's sample, within transcript/."""
ORIGIN = "imported from an Inspect log"
OF_LOG = ", of the evaluation "
"""Stands in an origin between the name of a sample and the log."""
NOTE = (
    "The transcript is one sample of a log of Inspect's, with the log's head; what that says of all"
    " samples together is left out, and its status is the sample's."
)
_OF_ALL = frozenset({"stats", "results", "error", "status", "reductions", "samples"})
"""What a log's head says of all samples together."""
_BUDGETS = frozenset({"time", "working"})
"""Limits of time."""
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The first that an archive can tell: the same sample makes the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which samples become runs, and what no log tells of them."""

    samples: tuple[str, ...] = ()
    """Their ids; all where none is named."""
    epoch: int | None = None
    scorer: str | None = None
    """The score that says whether a sample passed, where there are several."""
    problem: str | None = None
    """The problem of all of them; else each sample is one, named by its id."""
    problem_hash: str | None = None
    hardware: str | None = None
    budget_seconds: float | None = None
    solutions: Path | None = None
    """Folder of what they left: ID_epoch_N.py for one repetition, ID.py for all of a sample."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sample, and what is told of it."""

    head: Held
    value: Held
    board: str
    wanted: Wanted
    number: int = 1
    """Which of the samples it is that the log calls by one id and epoch."""

    @property
    def id(self) -> str:
        """Its id in the log."""
        return text(self.value.get("id"))

    @property
    def epoch(self) -> str:
        """Which of its repetitions it is."""
        return text(self.value.get("epoch"))

    @property
    def wanted_too(self) -> bool:
        """Whether it is to become a run."""
        epoch = self.wanted.epoch
        return self.of_wanted and (epoch is None or self.value.get("epoch") == epoch)

    @property
    def of_wanted(self) -> bool:
        """Whether it is one of the samples that are to become runs, in some repetition."""
        return not self.wanted.samples or self.id in self.wanted.samples

    @property
    def scorers(self) -> list[str]:
        """What its scores are called."""
        return [*mapping(self.value.get("scores"))]

    def lacks(self, scorer: str) -> bool:
        """Whether it was scored, and by none of that name: nobody could say whether it passed."""
        return bool(self.scorers) and scorer not in self.scorers

    @property
    def name(self) -> str:
        """How it is told apart from others: by id, epoch, and what Inspect calls it alone by."""
        own = text(self.value.get("uuid"))
        named = f"sample {self.id}, epoch {self.epoch}" + (f", uuid {own}" if own else "")
        return one_line(f"{ORIGIN}: {named}")

    @property
    def origin(self) -> str:
        """Which sample a run comes from; two imports of it say the same."""
        told = (text(self._spec.get(key)) for key in ("eval_id", "run_id", "created"))
        again = f", number {self.number} that it calls so" if self.number > 1 else ""
        return one_line(f"{self.name}{OF_LOG}{next(filter(None, told), '')}{again}")

    @property
    def model(self) -> str:
        """The model, with whoever serves it, as Inspect names it."""
        return text(self._spec.get("model")) or UNKNOWN_MODEL

    @property
    def problem(self) -> str:
        """The problem that it is an attempt at."""
        return self.wanted.problem or slug(self.id)

    @property
    def started(self) -> datetime | None:
        """When it began; logs of early versions do not tell."""
        return timestamp(self.value.get("started_at"))

    @property
    def solution(self) -> Path | None:
        """The solution.py that it left, as far as somebody has it."""
        folder, name = self.wanted.solutions, slug(self.id)
        if folder is None:
            return None
        named = (folder / f"{name}_epoch_{self.epoch}.py", folder / f"{name}.py")
        return next((path for path in named if path.is_file()), None)

    @property
    def _spec(self) -> Held:
        return mapping(self.head.get("eval"))

    def run(self, run_id: str, shown: Transcript) -> Run:
        """The record of its run."""
        config = mapping(mapping(self.head.get("plan")).get("config"))
        limit = number(mapping(self._spec.get("config")).get("time_limit"))
        served = self.model.partition("/")
        ended, took = self._ended(shown), number(self.value.get("total_time"))
        return Run(
            format=FORMAT,
            id=run_id,
            board=self.board,
            problem=self.problem,
            problem_hash=self.wanted.problem_hash,
            prompt_hash=None,
            harness=HARNESS,
            harness_version=told_version(shown),
            model=self.model,
            effort=text(config.get("reasoning_effort")) or None,
            variant=one_line(text(self._spec.get("solver"))) or None,
            provider=served[0] if served[1] else None,
            hardware=self.wanted.hardware,
            budget_seconds=self.wanted.budget_seconds or limit or None,
            started=self.started or _before(ended, took) or shown.first,
            ended=ended,
            seconds=took,
            end_reason=self._end,
            usage=shown.usage,
            usage_source=usage_source(shown),
            cost_usd=shown.cost_usd,
            cost_source=cost_source(shown),
            origin=self.origin,
            notes=(NOTE,),
        )

    def _ended(self, shown: Transcript) -> datetime | None:
        return timestamp(self.value.get("completed_at")) or shown.last

    @property
    def _end(self) -> EndReason:
        if self.value.get("error"):
            return EndReason.HARNESS
        limit = text(mapping(self.value.get("limit")).get("type"))
        if limit in _BUDGETS:
            return EndReason.BUDGET
        return EndReason.UNKNOWN if limit else EndReason.FINISHED

    def header(self) -> dict[str, object]:
        """The log's head as one of this sample alone."""
        error = self.value.get("error")
        own = {key: held for key, held in self.head.items() if key not in _OF_ALL}
        told: dict[str, object] = {"status": "error" if error else "success"}
        return own | told | ({"error": error} if error else {})


def _before(ended: datetime | None, took: float | None) -> datetime | None:
    """When a sample began that ended then and took so long: it may have waited for hours first."""
    if ended is None or took is None or not 0 <= took <= LONGEST:
        return None
    try:
        return ended - timedelta(seconds=took)
    except OverflowError:
        return None


def write_log(path: Path, sampling: Sampling) -> None:
    """Write an archive of a sample: the same bytes for the same sample."""
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member, value in ((HEADER, sampling.header()), (_member(sampling), sampling.value)):
            entry = zipfile.ZipInfo(member, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, _encoded(dump(value)))


def holds(path: Path, sampling: Sampling) -> bool:
    """Whether a run's archive holds just this sample; False, too, where it cannot be read."""
    own = _encoded(dump(sampling.value))
    try:
        with path.open("rb") as stream, listed(stream) as archive:
            kept = archive.getinfo(_member(sampling))
            return kept.file_size == len(own) and archive.read(kept) == own
    except (OSError, KeyError, ValueError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        return False


def _member(sampling: Sampling) -> str:
    return one_line(f"{SAMPLES}{sampling.id}_epoch_{sampling.epoch}.json")


def _encoded(told: str) -> bytes:
    """JSON in UTF-8: half a character that an escape told is an escape again, a wrong byte one."""
    whole = _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", told)
    return whole.encode("utf-8", "surrogateescape")
