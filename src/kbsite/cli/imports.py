"""`kbsite import`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import FILE, FOLDER, TEXT, Seconds, tally, tell
from kbsite.model.counts import number_of
from kbsite.model.finding import Severity, one_line

if TYPE_CHECKING:
    from kbsite.importers.harbor import Trial
    from kbsite.importers.inspect_log import Sampled


@click.group("import")
def imports() -> None:
    """Make run directories of what others have written.

    \b
    Example:
      kbsite import transcript session.jsonl --out runs/mine
    """


@imports.command("transcript")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--out", type=FOLDER, required=True, help="Folder of the board to put the run in.")
@click.option("--harness", type=TEXT, help="The CLI that wrote it, where the file does not tell.")
@click.option("--model", type=TEXT, help="The model, where the file does not tell.")
@click.option(
    "--problem", type=TEXT, default="unknown", show_default=True, help="Id of the problem."
)
@click.option(
    "--problems",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the problems: it worked on the problem as it is there.",
)
@click.option("--solution", type=FILE, help="The solution.py that the session left.")
@click.option("--hardware", type=TEXT, metavar="ID", help="What it was made on, as boards name it.")
@click.option(
    "--budget-seconds",
    type=Seconds(),
    metavar="SECONDS",
    help="The time that it had, as boards tell it.",
)
def transcript(  # noqa: PLR0913 - each option is an argument
    files: tuple[Path, ...], out: Path, harness: str | None, model: str | None, problem: str,
    problems: Path | None, solution: Path | None, hardware: str | None,
    budget_seconds: float | None,
) -> None:  # fmt: skip
    """Make a run directory of the transcript FILES of one session: a log and those of sub-agents.

    The format is told from the content. The run is ungraded; its page says what is known of it.
    With --solution it can be graded. A board of a problem that lies in problems/ takes it only
    with --problems, one of some hardware only with --hardware, and one with a budget only with
    --budget-seconds: what nobody says is not guessed.

    \b
    Example:
      kbsite import transcript rollout-2026-11-21.jsonl --out runs/mine --problem add
      kbsite import transcript session.jsonl --out runs/mine --problem add --problems problems \\
          --solution work/solution.py --hardware cpu
    """
    from kbsite.importers.transcript import ALONE, WITH_SOLUTION, Beside, import_transcripts
    from kbsite.store.runs import read_run

    version = _hash(problems, problem) if problems else None
    beside = Beside(solution, version, hardware, budget_seconds)
    folder = import_transcripts(
        files, out, harness=harness, model=model, problem=problem, beside=beside
    )
    click.echo(folder)
    for note in read_run(folder).run.notes:
        if note not in (ALONE, WITH_SOLUTION):
            click.echo(one_line(f"{folder}: {note}"), err=True)


def _hash(problems: Path, problem: str) -> str:
    """The hash of a problem as it is; UsageError where there is none."""
    from kbsite.errors import UsageError
    from kbsite.store.problems import problem_folders, read_problem

    for folder in problem_folders(problems):
        if folder.name == problem:
            return read_problem(folder).hash
    raise UsageError(f"--problem: no problem in {problems} is called {problem!r}")


@imports.command("kernelbench-hard")
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=FOLDER, required=True, help="Folder of the board to put the runs in.")
def kernelbench_hard(source: Path, out: Path) -> None:
    """Make runs, audits and floors of the published KernelBench-Hard board in SOURCE.

    SOURCE holds leaderboard.json, annotations/ and problem_baselines.json. The published board has
    no transcripts; each run says so. Whatever is odd in the files is reported, not smoothed over.

    \b
    Example:
      kbsite import kernelbench-hard upstream/hard --out runs/kernelbench-hard
    """
    from kbsite.importers.kernelbench_hard import import_board

    report = import_board(source, out)
    click.echo(report.text())


@imports.command("kernelbench-v3")
@click.argument("table", metavar="CSV", type=FILE)
@click.option("--out", type=FOLDER, required=True, help="Folder of all runs: a board a GPU in it.")
@click.option(
    "--hardware",
    "devices",
    multiple=True,
    metavar="GPU=ID",
    help="What a GPU of the table is, by the id of its hardware; as often as you like.",
)
@click.option(
    "--boards",
    is_flag=True,
    help="Write the boards of a kbsite.yaml to stdout, and the report to stderr.",
)
def kernelbench_v3(table: Path, out: Path, devices: tuple[str, ...], *, boards: bool) -> None:
    """Make runs and floors of the published KernelBench v3 table in CSV: a run of each row.

    Each GPU becomes a board, v3-h100 say; rows of one model on one problem become attempts. The
    table has times and no scores, and comes without transcripts; each run says so. Whatever is odd
    in it is reported; a row that is wrong is named (exit code 1), and the others are imported.

    \b
    Example:
      kbsite import kernelbench-v3 results.csv --out runs
      kbsite import kernelbench-v3 results.csv --out runs --boards >> kbsite.yaml
    """
    from kbsite.importers.kernelbench_v3 import import_table

    report = import_table(table, out, _devices(devices))
    click.echo(report.text(), err=boards)
    if boards:
        click.echo(report.settings(), nl=False)
    for error in report.errors:
        click.echo(one_line(f"error: {error}"), err=True)
    if report.errors:
        sys.exit(1)


def _devices(told: tuple[str, ...]) -> dict[str, str]:
    """What each GPU is; BadParameter where one is to be two."""
    found: dict[str, str] = {}
    for gpu, device in map(_device, told):
        if found.setdefault(gpu, device) != device:
            raise click.BadParameter(
                f"{gpu} is {found[gpu]} and {device}; expected one of them", param_hint="--hardware"
            )
    return found


def _device(told: str) -> tuple[str, str]:
    """A GPU and the id of its hardware."""
    gpu, equals, device = told.partition("=")
    if not (gpu and equals and device):
        raise click.BadParameter(
            f"{told!r}; expected GPU=ID, as H100=h100-pcie", param_hint="--hardware"
        )
    return gpu, device


@imports.command("inspect")
@click.argument(
    "sources",
    nargs=-1,
    required=True,
    metavar="LOG_OR_DIR...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--out", type=FOLDER, required=True, help="Folder of the board to put the runs in.")
@click.option(
    "--sample",
    "samples",
    type=TEXT,
    multiple=True,
    metavar="ID",
    help="Only this sample; as often as you like.",
)
@click.option(
    "--epoch", type=click.IntRange(min=1), metavar="N", help="Only this repetition of the samples."
)
@click.option(
    "--scorer", type=TEXT, metavar="NAME", help="The score that decides, where there are several."
)
@click.option(
    "--problem",
    type=TEXT,
    metavar="ID",
    help="The problem of all samples; else each is one, by its id.",
)
@click.option(
    "--problems",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the problems: with --problem, they worked on it as it is there.",
)
@click.option(
    "--solutions",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of what they left: ID.py, or ID_epoch_N.py.",
)
@click.option(
    "--hardware", type=TEXT, metavar="ID", help="What they were made on, as boards name it."
)
@click.option(
    "--budget-seconds",
    type=Seconds(),
    metavar="SECONDS",
    help="The time that each had, if it is not the log's time_limit.",
)
def inspect(  # noqa: PLR0913 - each option is an argument
    sources: tuple[Path, ...], out: Path, samples: tuple[str, ...], epoch: int | None,
    scorer: str | None, problem: str | None, problems: Path | None, solutions: Path | None,
    hardware: str | None, budget_seconds: float | None,
) -> None:  # fmt: skip
    """Make a run of each sample, and each of its epochs, of Inspect's logs: files, or folders.

    A sample is the problem of its id, its epochs are attempts at it. A score of C, 1 or true
    passes, I, N, 0 or false fails; no score is a share of a ceiling. Samples that were imported
    before are skipped, what cannot be read is named (exit code 1); the others are imported.

    \b
    Example:
      kbsite import inspect logs/2026-01-02T03-04-05_kernels.eval --out runs/mine
      kbsite import inspect logs --out runs/mine --sample vector_add --epoch 1 --scorer verify
    """
    from kbsite.errors import UsageError
    from kbsite.importers.inspect_log import import_samples
    from kbsite.importers.inspect_run import Wanted

    if problems and not problem:
        raise UsageError("--problems tells the version of the one problem that --problem names")
    wanted = Wanted(
        samples=samples,
        epoch=epoch,
        scorer=scorer,
        problem=problem,
        problem_hash=_hash(problems, problem) if problems and problem else None,
        hardware=hardware,
        budget_seconds=budget_seconds,
        solutions=solutions,
    )
    made = there = lost = 0
    for one in import_samples(sources, out, wanted):
        if one.folder is None:
            lost += one.severity is Severity.ERROR
            click.echo(one_line(f"{one.name}: {one.severity.value}: {one.why}"), err=True)
        elif one.there:
            there += 1
        else:
            made += 1
            click.echo(one.folder)
        for warning in _odd(one, solutions):
            click.echo(one_line(f"{one.name}: warning: {warning}"), err=True)
    click.echo(f"{made} imported, {there} already there, {lost} left out", err=True)
    if lost:
        sys.exit(1)


def _odd(one: Sampled, solutions: Path | None) -> Iterator[str]:
    """What is odd about a sample that has a run."""
    if one.differs:
        kept = "is there already, and holds something else of it: kept as it is"
        yield f"{one.folder} {kept}; delete it and import again for what this log says"
    if one.unsolved:
        yield f"no solution of it in {solutions}"


@imports.command("harbor")
@click.argument(
    "sources",
    nargs=-1,
    required=True,
    metavar="TRIAL_OR_JOB_DIR...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--out", type=FOLDER, required=True, help="Folder of the board to put the runs in.")
def harbor(sources: tuple[Path, ...], out: Path) -> None:
    """Make a run of each trial of Harbor's in the folders given: of a trial, a job, or many jobs.

    Shown is what the agent itself logged, else Harbor's trajectory. A reward of 1 passes, 0 fails;
    no reward is a score. A trial that was imported before is skipped, one that is broken is named
    (exit code 1); the others are imported.

    \b
    Example:
      kbsite import harbor jobs/2026-01-02__03-04-05 --out runs/mine
    """
    from kbsite.cli.progress import progress
    from kbsite.importers.harbor import import_trials

    with progress("looking for trials") as tick:
        found = list(import_trials(sources, out, tick))
    trials = [trial for trial in found if not trial.linked]
    for trial in found:
        _tell_trial(trial)
    there = sum(trial.there for trial in trials)
    lost = [trial for trial in trials if trial.folder is None]
    made = len(trials) - there - len(lost)
    left_out = sum(len(trial.left_out) for trial in trials)
    seen = Counter(finding.severity for trial in found for finding in trial.findings)
    counted = f"{made} imported, {there} already there, {len(lost)} left out"
    beside = f"{left_out} of their files are no logs and left out"
    click.echo(f"{number_of(len(trials), 'trial')}: {counted}; {beside}; {tally(seen)}", err=True)
    if lost:
        sys.exit(1)


def _tell_trial(trial: Trial) -> None:
    """What came of one trial: its run on stdout, what else there is to say on stderr."""
    for finding in trial.findings:
        tell(finding)
    if trial.there:
        click.echo(one_line(f"{trial.source}: already there: {trial.folder}"), err=True)
    elif trial.folder is not None:
        click.echo(trial.folder)
