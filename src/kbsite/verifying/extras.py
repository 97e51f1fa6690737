"""Which extras a published site was made with, so that it is made anew with the same."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.feeds import Extras
from kbsite.model.published import Published
from kbsite.pages.data import PARQUET
from kbsite.verifying.places import Place


def made_with(place: Place, held: Published) -> Extras:
    """The extras that files of the site tell of, whether they are installed here or not.

    A falsifier who takes such a file away has to take away what pages say of it too: then it is an
    honest site that was made without the extra.
    """
    card = next(_cards(held), None)
    return Extras(
        parquet=place.read(PARQUET) is not None,
        cards=card is not None and place.read(card) is not None,
    )


def _cards(held: Published) -> Iterator[str]:
    """Where the pictures of boards and runs stand that an extra draws."""
    yield from (f"data/boards/{one.config.id}/card.png" for one in held.boards)
    yield from (f"runs/{run_id}/card.png" for run_id in (*held.runs, *held.floor_runs))
