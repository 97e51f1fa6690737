"""Captured ends of sessions, and sessions to be asked for, as the tests of adapters share them."""

from __future__ import annotations

from pathlib import Path

from bench.harnesses.form import Adapter, Asked, Completion
from bench.providers import Dialect

CAPTURES = Path(__file__).parent / "captures"
URL = "http://127.0.0.1:8000"
PROMPT = 'Write solution.py.\n"Quoted", café \U0001f680, $HOME and \\ back.\n'


def completion(adapter: Adapter, scenario: str) -> Completion:
    """How a captured session ended: the captures are laid out as transcript/ is."""
    folder = CAPTURES / adapter.id / scenario
    assert folder.is_dir()
    return adapter.completion(folder)


def scenarios(adapter: Adapter) -> set[str]:
    """The names of its captures."""
    return {path.name for path in (CAPTURES / adapter.id).iterdir()}


def asked(
    dialect: Dialect,
    *,
    model: str = "model-1",
    effort: str | None = None,
    prompt: str = PROMPT,
) -> Asked:
    """A session to start."""
    return Asked(
        model=model,
        effort=effort,
        prompt=prompt,
        dialect=dialect,
        base_url=URL,
        session_id="0b5e0a3c-3a53-4d3c-9a53-6f0c1f1f1f1f",
        version="1.2.3",
    )


def printed(folder: Path, *rows: str) -> Path:
    """A transcript whose stdout.jsonl has these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stdout.jsonl").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return folder
