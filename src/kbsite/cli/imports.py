"""`kbsite import`."""

from __future__ import annotations

from pathlib import Path

import click

from kbsite.cli.options import FOLDER


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
@click.option("--harness", help="The CLI that wrote it, where the file does not tell.")
@click.option("--model", help="The model, where the file does not tell.")
@click.option("--problem", default="unknown", show_default=True, help="Id of the problem.")
def transcript(
    files: tuple[Path, ...], out: Path, harness: str | None, model: str | None, problem: str
) -> None:
    """Make a run directory of the transcript FILES of one session: a log and those of sub-agents.

    The format is told from the content. The run is ungraded; its page says that only the
    transcript is known.

    \b
    Example:
      kbsite import transcript rollout-2026-11-21.jsonl --out runs/mine --problem add
    """
    from kbsite.importers.transcript import import_transcripts

    folder = import_transcripts(files, out, harness=harness, model=model, problem=problem)
    click.echo(folder)


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
