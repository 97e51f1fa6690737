"""kbsite.yaml: what the site is called and which boards it has. Every default stands here."""

from __future__ import annotations

import re
from enum import Enum
from itertools import chain
from urllib.parse import quote

from msgspec import Struct


class Represents(Enum):
    """Which attempt stands for a cell."""

    FIRST = "first"
    LATEST = "latest"
    BEST = "best"

    @property
    def sentence(self) -> str:
        """The rule, as the board states it."""
        return _RULES[self]


_RULES = {
    Represents.FIRST: (
        "A cell shows its first attempt; one that the infrastructure spoilt is left out."
    ),
    Represents.LATEST: (
        "A cell shows its latest attempt; one that the infrastructure spoilt is left out."
    ),
    Represents.BEST: "A cell shows its best attempt, so that more attempts mean better odds.",
}


class Leak(Struct, frozen=True, kw_only=True):
    """A shortcut that a rubric failed to forbid. Its runs, figures and quotes come from audits."""

    id: str
    title: str
    problem: str = ""
    """The problem whose rubric leaks; empty where it is not one problem's."""
    meant: str
    """What the problem was meant to measure; Markdown."""
    happened: str
    """What passes instead; Markdown."""


class DeckGroup(Struct, frozen=True, kw_only=True):
    """Problems of a deck that belong together: a level, a track."""

    title: str
    problems: tuple[str, ...]
    """In order."""


SHARE = "peak_fraction"
"""The metric that is a share of what the hardware can do."""


class BoardConfig(Struct, frozen=True, kw_only=True):
    """A board: which runs make it, and what they must have in common."""

    id: str
    title: str
    tagline: str = ""
    metric: str = SHARE
    """What the score is; with another one the figure is its own: more is better, and no ceiling
    is known."""
    hardware: str | None = None
    """Runs on other hardware are refused; null: what most of the runs were made on."""
    budget_seconds: float | None = None
    """Runs with another budget are refused; null: what most of the runs had."""
    deck: tuple[str, ...] = ()
    """The problems in order; empty: all that its runs name, by id."""
    groups: tuple[DeckGroup, ...] = ()
    """The deck in groups, in place of `deck`."""
    runs: tuple[str, ...] = ()
    """Folders within the runs folder; empty: the folder named like the board."""
    represents: Represents = Represents.FIRST
    audit_threshold: float = 0.10
    """Passed cells from this score up have to be audited."""
    archived: bool = False
    """Whether nothing is added to it any more."""

    @property
    def in_shares(self) -> bool:
        """Whether its scores are shares of a ceiling."""
        return self.metric == SHARE

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that its runs lie in, as runs name them: the last one of each path."""
        return tuple(folder.rpartition("/")[2] for folder in self.runs) or (self.id,)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that it names in order, of all groups; empty where it names none."""
        grouped = tuple(problem for group in self.groups for problem in group.problems)
        return grouped or self.deck


class Allowed(Struct, frozen=True, kw_only=True):
    """Something that looks like a secret and is none. What it does not tell may be anything."""

    text: str = ""
    """All that would be hidden, as it stands there."""
    rule: str = ""
    """The rule that would hide it."""
    file: str = ""
    """Where it stands, as board/run/file; * stands for anything."""
    why: str = ""
    """Why it is none, for whoever reads kbsite.yaml."""


class Redact(Struct, frozen=True, kw_only=True):
    """What is hidden of runs on their way to the site."""

    on: bool = True
    """Whether anything is."""
    deny: tuple[str, ...] = ()
    """Names of environment variables whose values are hidden wherever they stand."""
    deny_files: tuple[str, ...] = ()
    """Files with a value a line that is hidden: keys, names of persons and machines."""
    allow: tuple[Allowed, ...] = ()
    private_addresses: bool = False
    """Whether IP addresses of networks inside are hidden too."""


class Storage(Struct, frozen=True, kw_only=True):
    """How runs come from a bucket, where `runs` or `out` is the URL of one."""

    endpoint: str = ""
    """Address of an S3-compatible server; AWS_ENDPOINT_URL counts more."""
    cache: str = ""
    """Folder of the copies on this machine; empty: KBSITE_CACHE, or the user's cache folder."""
    most_file_bytes: int = 2_000_000_000
    """A run with a larger file is left out."""
    most_bytes: int = 1_000_000_000_000
    """More than this is not fetched at all."""


class Config(Struct, frozen=True, kw_only=True):
    """What kbsite.yaml says."""

    title: str = "kbsite"
    tagline: str = ""
    about: str = ""
    """Markdown on the home page: what is measured, by whom."""
    contact: str = ""
    """Markdown: whom to write to."""
    url: str = ""
    """Where the site will be published; sitemap.xml and cards for links are made only then."""
    robots: str = ""
    """What each page asks of crawlers, such as "noindex, noai"; empty: nothing."""
    canary: str = ""
    """A GUID that pages name, so that their texts are found in what models learn from; or none."""
    runs: str = "runs"
    """Folder of the runs, from the folder that kbsite.yaml stands in; or the URL of a bucket."""
    problems: str = "problems"
    prices: str = ""
    """File of the prices of models; empty: prices.yaml, if it is there."""
    hardware: str = ""
    """Folder of what hardware can do; empty: bench/hardware, if it is there."""
    out: str = "site"
    """Folder of the site; or the URL of a bucket that it is published to."""
    storage: Storage = Storage()
    search: bool = False
    """Whether the texts of all runs can be searched; small sites need the extra `search`."""
    jobs: int = 0
    """How many processes build; 0: KBSITE_JOBS, else one for each core that may be used."""
    engine: str = ""
    """Where `kbsite build` has its tasks done, as --engine calls it; empty: on this machine."""
    most_file_bytes: int = 2_000_000_000
    """A larger file of a run is left out of the site, and told."""
    bundles: bool = False
    """Whether each run can be downloaded as one archive; needs the extra `bundles`."""
    boards: tuple[BoardConfig, ...] = ()
    redact: Redact = Redact()
    leaks: tuple[Leak, ...] = ()
    """What audits name under `leak`."""

    @property
    def own_metrics(self) -> frozenset[str]:
        """Folders of runs whose scores are no shares of a ceiling, by what their boards say."""
        own = (board.folders for board in self.boards if not board.in_shares)
        return frozenset(chain.from_iterable(own))


def canary_line(guid: str) -> str:
    """What pages say of the site's canary; empty where it has none.

    "canary GUID" is what those look for who sort out what models should not learn from.
    """
    return f"No model should learn from this benchmark: canary GUID {guid}" if guid else ""


def may_be_listed(robots: str) -> bool:
    """Whether pages that ask this of crawlers may be found by search engines."""
    asked = {one.strip().lower() for one in robots.split(",")}
    return not asked & {"noindex", "none"}


def published_base(url: str) -> str:
    """Where a site with this `url` stands, with a slash at its end; empty where it says nothing.

    In ASCII, as a browser sends it: sitemaps may name no other address.
    """
    if not url.startswith(("https://", "http://")):
        return ""
    if not url.isascii():
        named = _HOST.sub(lambda held: held[1] + _ascii(held[2]), url)
        url = _OTHER.sub(lambda held: quote(held[0], errors="replace"), named)
    return f"{url.rstrip('/')}/"


_HOST = re.compile(r"(https?://)([^/]*)")
_OTHER = re.compile(r"[^\x00-\x7f]+")


def _ascii(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        # A name that no host can have.
        return host
