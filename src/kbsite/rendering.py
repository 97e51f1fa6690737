"""Templates turned into pages, with everything that all of them may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from types import CodeType
from typing import Any, ClassVar

import jinja2
import markupsafe
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from markupsafe import Markup
from msgspec import Struct, field

from kbsite import __version__, assets, text
from kbsite.ahead import Ahead
from kbsite.charts.drawing import digits, percentage
from kbsite.model.config import canary_line
from kbsite.model.transcript import Transcript
from kbsite.output import Destination
from kbsite.pages import facts, social, step_html, steps
from kbsite.pages.coloured import Made
from kbsite.pages.dense import dense
from kbsite.pages.file_names import gzip_path, raw_path
from kbsite.pages.made_once import made_once
from kbsite.pages.page import (
    Site,
    address,
    attempt_of,
    board_path,
    charts_path,
    comparison,
    hardware_path,
    harness_path,
    markdown_path,
    model_path,
    problem_path,
    run_path,
    trajectory_path,
)
from kbsite.pages.policy_source import source_of
from kbsite.record import Record
from kbsite.store.runs import StoredRun
from kbsite.store.schema import SCHEMAS
from kbsite.text.terminal import terminal

_PLACES = (
    board_path, charts_path, comparison, gzip_path, hardware_path, harness_path, markdown_path,
    model_path, problem_path, raw_path, run_path, trajectory_path,
)  # fmt: skip
"""Where things of the site stand, for all templates."""


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Templates as they were compiled: a process that builds again unpacks none of them again."""

    unpacked: ClassVar[dict[tuple[str, str], CodeType]] = {}
    """By what tells them apart, and a digest of their source."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template its code, if that is known."""
        told = bucket.key, bucket.checksum
        bucket.code = self.unpacked.get(told)
        if bucket.code is None:
            super().load_bytecode(bucket)
        if bucket.code is not None:
            self.unpacked[told] = bucket.code


def compiled() -> jinja2.BytecodeCache | None:
    """Where compiled templates are kept between builds: a folder that only this user can write."""
    try:
        return _Compiled()
    except (OSError, RuntimeError):
        # Templates are compiled anew then, which takes a tenth of building a short session.
        return None


class _Context(Context):
    """What a template knows while it is made."""

    def call(self, called: Callable[..., object], /, *given: object, **named: object) -> object:
        """What something that a template calls gives back.

        Nothing that our templates call asks for the context itself; jinja2 looks for that at each
        of the hundred calls of a small page, which takes longer than most of them do.
        """
        named.pop("_loop_vars", None)
        named.pop("_block_vars", None)
        return called(*given, **named)


_INNER: Callable[[str], str] = getattr(markupsafe, "_escape_inner", markupsafe.escape)
"""Escapes a text; older releases have it in `escape` alone."""


def _escaped(value: object) -> str:
    """`value` as a template writes it: escaped, unless it is HTML.

    Nothing marks it as HTML, which takes four times as long as to escape a few words: all that is
    written is put together as text, and marked only then.
    """
    if type(value) is str:
        return _INNER(value)
    return value if type(value) is Markup else markupsafe.escape(value)


class _Template(jinja2.Template):
    """A template that keeps nothing of what it was given."""

    @classmethod
    def _from_namespace(
        cls,
        environment: jinja2.Environment,
        namespace: MutableMapping[str, Any],
        globals: MutableMapping[str, Any],  # noqa: A002 - jinja2 calls it so
    ) -> jinja2.Template:
        # What a compiled template knows its own function of that name by.
        namespace["escape"] = _escaped
        return super()._from_namespace(environment, namespace, globals)

    def render(self, *args: Any, **kwargs: Any) -> str:
        """The page.

        The macros of a page and what they know hold each other: all that it was made of would stay
        until somebody looks for cycles, a hundred megabytes of runs.
        """
        context = self.new_context(dict(*args, **kwargs))
        try:
            return self.environment.concat(self.root_render_func(context))
        except Exception:  # noqa: BLE001 - it is raised again, with the place in the template
            self.environment.handle_exception()
        finally:
            for held in (context.vars, context.parent, context.blocks):
                held.clear()


class Environment(jinja2.Environment):
    """Templates, and which of them are used."""

    context_class = _Context
    template_class = _Template
    used: set[str]
    found: dict[str, jinja2.Template]
    """Those that were asked for, by name: there are no more than files."""

    def get_template(
        self,
        name: str | jinja2.Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - jinja2 calls it so
    ) -> jinja2.Template:
        """A template; each one that another one includes, extends or imports comes by here."""
        # A page asks for a dozen, and to have jinja2 find one again takes as long as a short one.
        found = None if globals or not isinstance(name, str) else self.found.get(name)
        if found is None:
            found = super().get_template(name, parent, globals)
        if found.name:
            self.used.add(found.name)
            if not globals:
                self.found[found.name] = found
        return found

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """What a template knows: the same for all, so none pays for a map of its own over it."""
        return super().make_globals(d) if d else self.globals


def environment(site: Site) -> Environment:
    """Templates, with everything that all of them may use. Autoescape is on, always."""
    env = Environment(
        loader=jinja2.FileSystemLoader([assets.folder(name) for name in assets.INCLUDED]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # What changes while a site is made is seen by the next build.
        auto_reload=False,
        bytecode_cache=compiled(),
    )
    env.used, env.found = set(), {}
    env.filters.update(
        visible=text.visible,
        content=text.content,
        markdown=text.markdown,
        with_code=text.with_code,
        terminal=terminal,
        json=lambda value: text.visible(value if isinstance(value, str) else text.json(value)),
        diff=text.diff,
        rendered=Markup,
        picture=lambda image: text.picture(image.media_type, image.data, image.url),
        in_short=facts.in_short,
        short_place=facts.short_place,
        score=facts.score,
        margin=facts.margin,
        interval=facts.interval,
        interval_ms=facts.interval_ms,
        percent=facts.percent,
        threshold=facts.threshold,
        count=facts.count,
        duration=facts.duration,
        elapsed=facts.elapsed,
        moment=facts.moment,
        money=facts.money,
        size=facts.size,
        digits=digits,
        percentage=percentage,
        dense=dense,
        source_of=lambda held: Markup(source_of(held)),  # noqa: S704 - base64 and quotes of ours
    )
    env.globals.update(
        site=site,
        version=__version__,
        canary_line=canary_line,
        schemas=sorted(SCHEMAS),
        attempt_of=attempt_of,
        kept=partial(_kept, site),
        counts_of=steps.counts,
        finish=step_html.finish,
        once=made_once(),
        social=social,
        **{place.__name__: place for place in _PLACES},
    )
    return env


def _kept(
    site: Site, kind: str, runs: Sequence[StoredRun], make: Callable[[StoredRun], Markup]
) -> Markup:
    """Rows of one page about runs, which hang on nothing but the run and titles, a line each."""
    made_of = {stored.run.id: site.rows_depend.get(stored.run.id, "") for stored in runs}
    by_id = site.by_id
    html = site.kept.joined_html(kind, made_of, lambda run_id: f"{make(by_id[run_id])}\n")
    return Markup(html)  # noqa: S704 - a template made it


class Templates(Struct, frozen=True):
    """The templates, as pages call them, and what they need to know of the last build."""

    env: Environment
    earlier: Record = field(default_factory=Record)
    output: Destination | None = None
    """Where files go; None where single pages are made."""
    ahead: Ahead = field(default_factory=Ahead)
    in_one_file: bool = False
    """Whether all pages of a run become one file."""

    def page(self, template: str, path: str, values: Mapping[str, object]) -> str:
        """A whole page that stands at `path`; addresses in it are seen from there."""
        if self.output:
            self.output.work.rendered += 1
        return self.piece(template, path, values)

    def piece(self, template: str, path: str, values: Mapping[str, object]) -> str:
        """A piece of the page that stands at `path`."""
        url = partial(address, seen_from=path)
        return self.env.get_template(template).render(url=url, own_path=path, **values)

    def transcript(self, stored: StoredRun) -> Transcript | None:
        """The transcript of a run, read for this build; None if it has none to show."""
        if self.output:
            self.output.work.parsed += 1
        return self.ahead.take(stored)

    def made(self, path: str, page: str) -> Made | None:
        """What a file of a page was made of the last time; None if it cannot stay as it is."""
        held = self.earlier.file(path, page)
        if held is None or self.output is None or not self.output.stand([path, *held.others]):
            return None
        return held

    def stood(self, path: str) -> bytes | None:
        """What a file of the site that stands holds; None where there is none to read."""
        return self.output.stood(path) if self.output else None
