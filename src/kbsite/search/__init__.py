"""The index that a site's texts are searched with, read by static/search.js.

Pagefind makes it where the texts are few enough for its memory: it knows which step of a run holds
a word, and shows it. For more there is an index of words, which knows the run.
"""

from __future__ import annotations

from kbsite.engines import Engine
from kbsite.output import Output
from kbsite.pages.page import Site, run_key, run_path
from kbsite.search import pagefind
from kbsite.search.blocks import FOLDER, LIST
from kbsite.search.index import Files, Text, write_index
from kbsite.store.writing import write_bytes

__all__ = ["FOLDER", "PAGEFIND", "Files", "check", "index_texts"]

MOST_BYTES = 24_000_000
"""Transcripts that Pagefind is given, in bytes: it takes some 40 times as much memory as pages."""

PAGEFIND = b'kbsiteIndex({"kind":"pagefind"});\n'
"""What LIST holds where Pagefind made the index."""


def by_word(site: Site) -> bool:
    """Whether a site has the index of words: its texts are too many for Pagefind."""
    return sum(stored.transcript_size for stored in site.every_run) > MOST_BYTES


def check(site: Site) -> None:
    """Raise MachineError where the index of a site cannot be made, before the work is done."""
    if not by_word(site):
        pagefind.executable()


def index_texts(
    site: Site, output: Output, engine: Engine, made: Files, stood: Files, *, astray: bool
) -> None:
    """Put the index in its place, and drop what is no part of the site.

    `made` are its pages; `stood` those of the site before, if this very code made it. What is
    `astray` nobody has counted.
    """
    if by_word(site):
        write_index(_texts(site), output, engine, made, stood)
        output.drop(astray=astray)
        return
    output.drop(astray=astray)
    output.empty(FOLDER)
    pagefind.index(site, output.folder)
    write_bytes(output.folder / LIST, PAGEFIND)
    output.filled(FOLDER)


def _texts(site: Site) -> list[Text]:
    """Boards, problems, then runs by id: one that comes last changes no number of others."""
    listed = {stored.run.id for stored in site.runs}
    texts = [_text(held) for held in pagefind.about_no_run(site)]
    for stored in sorted(site.every_run, key=lambda stored: stored.run.id):
        if stored.run.id in listed:
            # What else is to be said of it stands in the list of runs.
            texts.append(Text(run_path(stored.run.id), run_key(stored.run.id)))
        else:
            texts.append(_text(pagefind.about(site, stored)))
    return texts


def _text(held: pagefind.Indexed) -> Text:
    return Text(held.file, (held.at, held.title, held.filters))
