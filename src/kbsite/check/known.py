"""What a check of one record has to know of the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kbsite.store.files import folder_digest
from kbsite.store.problems import problem_folders
from kbsite.store.settings import Settings

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]*")

SLUG_RULE = "it becomes part of an address; expected small letters, digits and . _ - only"


@dataclass(frozen=True, slots=True)
class Known:
    """The problems and the leaks that there are."""

    problems: Mapping[str, str] | None
    """Hashes by id; None where no kbsite.yaml says where the problems are."""
    leaks: frozenset[str] | None = None
    """Ids of the leaks that kbsite.yaml names; None where there is none."""


def known(settings: Settings | None) -> Known:
    """What the folders of a site tell."""
    if settings is None:
        return Known(None)
    folders = problem_folders(settings.problems)
    leaks = frozenset(leak.id for leak in settings.config.leaks)
    return Known({folder.name: folder_digest(folder) for folder in folders}, leaks)


def is_slug(name: str) -> bool:
    """Whether a name can be part of an address of the site, as it is."""
    return _SLUG.fullmatch(name) is not None
