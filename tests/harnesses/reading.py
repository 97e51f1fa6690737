"""What parsers make of rows that a test writes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.form import Format
from kbsite.model.event import Event, TokenUse
from tests.harnesses.test_transcripts_beside import OTHER

BESIDE = Path(__file__).parents[2].parent / "shared"
CORPUS = BESIDE / "corpus"
beside = pytest.mark.skipif(not BESIDE.is_dir(), reason="no transcripts beside this checkout")

E_ = TypeVar("E_", bound=Event)


def read(form: Format, data: str | bytes, name: str = "f.jsonl") -> list[Event]:
    stream = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    return list(form.parse(form.read(stream), name))


def read_rows(form: Format, *rows: Any, name: str = "f.jsonl") -> list[Event]:
    return read(form, "".join(json.dumps(row) + "\n" for row in rows), name)


def of(kind: type[E_], events: list[Event]) -> list[E_]:
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[E_], events: list[Event]) -> E_:
    (event,) = of(kind, events)
    return event


def ledger(events: list[Event]) -> Ledger:
    held = Ledger()
    for event in of(TokenUse, events):
        held.add(event)
    return held


def corpus(form: str) -> list[Path]:
    """The files of a format in the corpus."""
    named = [*(CORPUS / form).rglob("*"), *(CORPUS.glob(OTHER[form]) if form in OTHER else ())]
    return sorted(path for path in named if path.suffix in {".json", ".jsonl", ".eval"})
