"""What can be found wrong with a contender before anything of it is started."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType

from bench.harnesses.form import Asked
from bench.installing import install_command
from bench.preflight.form import Check, State, Wanted, not_tried
from bench.preflight.tools import Tools
from bench.providers import Dialect, key_of
from bench.proxy.form import PORT
from kbsite.errors import InputError, UsageError

Look = Callable[[Wanted, Tools], Check]


def installed(wanted: Wanted, tools: Tools) -> Check:
    """Whether there is an adapter for the harness, and its CLI is installed."""
    name = "installed"
    if wanted.harness not in tools.adapters:
        known = ", ".join(tools.adapters)
        seen = f"{wanted.harness!r} is no harness"
        return _wrong(name, seen, f"take one of: {known}")
    program = tools.programs.get(wanted.harness)
    if program is None:
        seen = f"not in {tools.clis}"
        return _wrong(name, seen, install_command(tools.clis, wanted.harness))
    return Check(name=name, state=State.FINE, seen=f"version {program.version}")


def version(wanted: Wanted, tools: Tools) -> Check:
    """Whether the CLI prints the version that is locked."""
    name = "version"
    if wanted.harness not in tools.programs or wanted.harness not in tools.adapters:
        return not_tried(name, "it is not installed")
    wrong = tools.wrong(wanted.harness)
    if wrong:
        again = install_command(tools.clis, wanted.harness)
        return _wrong(
            name, wrong, f"remove its folder in {tools.clis / wanted.harness}, then {again}"
        )
    return Check(name=name, state=State.FINE, seen="prints what is locked")


def provider(wanted: Wanted, tools: Tools) -> Check:
    """Whether the provider is known, and speaks a dialect of the CLI."""
    name = "provider"
    if wanted.provider is None:
        return not_tried(name, "none was named")
    known = tools.providers.get(wanted.provider)
    if known is None:
        names = ", ".join(sorted(tools.providers))
        seen = f"{wanted.provider!r} is no provider that is known"
        return _wrong(name, seen, f"take one of: {names}; or add it to a file of providers")
    if wanted.harness not in tools.adapters:
        return not_tried(name, "the harness is not known")
    dialect = dialect_of(wanted, tools)
    if dialect is None:
        spoken = ", ".join(one.value for one in tools.adapters[wanted.harness].dialects)
        seen = f"{known.id} speaks none of the dialects of {wanted.harness} ({spoken})"
        return _wrong(name, seen, "take another provider that serves the model")
    return Check(name=name, state=State.FINE, seen=f"{dialect.value} at {known.host(dialect)}")


def model(wanted: Wanted, tools: Tools) -> Check:
    """Whether the adapter takes model, effort and dialect."""
    name = "model"
    adapter, dialect = tools.adapters.get(wanted.harness), dialect_of(wanted, tools)
    if adapter is None or dialect is None:
        return not_tried(name, "harness and provider do not fit")
    program = tools.programs.get(wanted.harness)
    try:
        adapter.launch(
            Asked(
                model=wanted.model, effort=wanted.effort, prompt="Hello", dialect=dialect,
                base_url=f"http://127.0.0.1:{PORT}", session_id=str(uuid.uuid4()),
                version=program.version if program else "0",
            )
        )  # fmt: skip
    except (UsageError, InputError) as error:
        return _wrong(name, str(error), "")
    return Check(name=name, state=State.FINE, seen=f"the adapter takes {wanted.label}")


def key(wanted: Wanted, tools: Tools) -> Check:
    """Whether the provider's key is set; it is never shown."""
    name = "key"
    known = tools.providers.get(wanted.provider or "")
    if known is None:
        return not_tried(name, "no known provider was named")
    try:
        key_of(known, dict(tools.environment))
    except UsageError as error:
        return _wrong(name, str(error), f"export {known.key_variable}=…")
    variable = known.key_variable
    return Check(
        name=name, state=State.FINE, seen=f"{variable} is set" if variable else "none is needed"
    )


LOOKS: Mapping[str, Look] = MappingProxyType(
    {"installed": installed, "version": version, "provider": provider, "model": model, "key": key}
)
"""By the names of their checks, in the order in which they are told.

Each finds what it can, whatever the others found.
"""


def dialect_of(wanted: Wanted, tools: Tools) -> Dialect | None:
    """The API that CLI and provider share; without a provider, the one that suits the CLI best.

    None where harness or provider are not known, or they share none.
    """
    adapter = tools.adapters.get(wanted.harness)
    if adapter is None or (wanted.provider and wanted.provider not in tools.providers):
        return None
    offered = tools.providers[wanted.provider].bases if wanted.provider else adapter.dialects
    return next((one for one in adapter.dialects if one in offered), None)


def _wrong(name: str, seen: str, cure: str) -> Check:
    return Check(name=name, state=State.WRONG, seen=seen, cure=cure)
