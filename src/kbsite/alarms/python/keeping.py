"""What a solution keeps from call to call, and what it gives back: told from `flow`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.flow import Flow
from kbsite.alarms.python.flow_memory import Happened, Value
from kbsite.alarms.python.kernels import is_trivial
from kbsite.alarms.python.reading import Reading
from kbsite.alarms.python.scopes import Function
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_WORK: Final = ("own:", "lib:", "op", "call")
_IN_PLACE: Final = ("in-place", "inplace", "in_place")
_OUTPUTS: Final = ("out", "output", "result", "dst", "cache", "state", "buf", "workspace", "y_out")


class Calls(Struct, frozen=True):
    """A call of an entry that finds nothing kept, and one that finds all of it."""

    reading: Reading
    entry: Function
    first: Happened
    later: Happened
    first_flow: Flow
    later_flow: Flow

    @property
    def kept(self) -> set[str]:
        """The places that a call stores something in."""
        return set(self.first.stored)

    def stored(self, place: str) -> Value:
        """The labels of what is stored in a place."""
        return self.first_flow.data(self.first.stored[place])

    def whole(self, value: Value) -> Value:
        """The labels of a value, with those of all that it was made of in earlier calls."""
        found, seen = self.first_flow.data(value), set[str]()
        while True:
            places = {label[6:] for label in found if label[:6] == "state:"} - seen
            if not places & self.kept:
                return found
            seen |= places
            found = found.union(*(self.stored(place) for place in places & self.kept))


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of what is kept, and of what is given back."""
    for calls in followed(reading):
        yield from _caches(calls)
        yield from _skipped(calls)
        yield from _buffers(calls)
        yield from _graphs(calls)
        yield from _counts(calls)
        yield from _outputs(calls)
        yield from _changes(calls)
        yield from _leaves(calls)


def followed(reading: Reading) -> list[Calls]:
    """Every entry with what a first and a later call of it do."""
    held = reading.module.memo.get("followed")
    if isinstance(held, list):
        return held
    found = [_followed(reading, entry) for entry in reading.entries[:12]]
    reading.module.memo["followed"] = found
    return found


def _followed(reading: Reading, entry: Function) -> Calls:
    first_flow = Flow(reading)
    first = first_flow.run(entry)
    if not first.stored:
        return Calls(reading, entry, first, first, first_flow, first_flow)
    later_flow = Flow(reading, first.stored)
    later = later_flow.run(entry)
    return Calls(reading, entry, first, later, first_flow, later_flow)


def _has(labels: Value, *starts: str) -> bool:
    return any(label.startswith(starts) for label in labels)


def _caches(calls: Calls) -> Iterator[Alarm]:
    told: set[str] = set()
    for node, value in calls.later.returned:
        labels = calls.later_flow.data(value)
        places = sorted(label.removeprefix("state:") for label in labels if label[:6] == "state:")
        worked = _has(labels, *_WORK)
        for place in places:
            if place not in calls.kept or place in told or place in calls.first.counted:
                continue
            alarm = _worked(calls, place) if worked else _result(calls, place, node)
            if alarm is not None:
                told.add(place)
                yield alarm


def _result(calls: Calls, place: str, node: ast.AST) -> Alarm | None:
    """What is given back as an earlier call left it."""
    made = calls.stored(place)
    if not _has(made, *_WORK, "in:"):
        return None
    says = (
        f"What an earlier call left in `{shown(place)}` is given back without being worked out"
        f" anew{_looked_up_by(calls)}."
    )
    at = calls.first.stores.get(place, node)
    return calls.reading.raised("output-cache", ALARM, says, _wider(at, node))


def _skipped(calls: Calls) -> Iterator[Alarm]:
    """Outputs that a first call writes, and a later one that finds what it left does not."""
    place = next(iter(sorted(calls.kept - set(calls.first.counted))), None)
    if place is None or not calls.first.changed or _does_something(calls.later):
        return
    says = (
        f"A call that finds what an earlier one left in `{shown(place)}` writes"
        f" nothing{_looked_up_by(calls)}."
    )
    at = calls.first.stores[place]
    node = next((_wider(node, at) for node, _ in calls.later.returned), at)
    yield calls.reading.raised("output-cache", ALARM, says, node)


def _does_something(call: Happened) -> bool:
    """Whether a call writes, may write, or gives something back."""
    given = any(value for _, value in call.returned)
    return bool(call.changed or call.launched or call.replayed or call.unknown or given)


def _buffers(calls: Calls) -> Iterator[Alarm]:
    """Memory that is given back in every call: what an earlier call gave changes under it."""
    if calls.later.replayed:
        return
    for node, value in calls.later.returned:
        places = [mark.removeprefix("@state:") for mark in value if mark.startswith("@state:")]
        for place in places:
            written = calls.later.memory.get(f"@state:{place}", set())
            if place in calls.kept and _has(frozenset(written), "own:", "op", "lib:"):
                says = f"The memory kept in `{shown(place)}` is given back in every call."
                at = _wider(calls.first.stores.get(place, node), node)
                yield calls.reading.raised("output-cache", WARNING, says, at)
                return


def _looked_up_by(calls: Calls) -> str:
    keys: set[str] = set()
    for _, labels in (*calls.first.keyed, *calls.later.keyed):
        keys |= labels
    words = [
        word
        for label, word in (("id", "its address or version"), ("host", "a few of its values"),
                            ("meta", "its shape"))
        if label in keys
    ]  # fmt: skip
    return f"; it is found by {' and '.join(words)}" if words else ""


def _wider(first: ast.AST, second: ast.AST) -> ast.AST:
    """A node from the first line of both to the last, where they are near each other."""
    low = min(getattr(first, "lineno", 1), getattr(second, "lineno", 1))
    high = max(getattr(first, "end_lineno", 1), getattr(second, "end_lineno", 1))
    if high - low > 40:
        return first
    return ast.Pass(lineno=low, end_lineno=high, col_offset=0, end_col_offset=0)


def _worked(calls: Calls, place: str) -> Alarm | None:
    """What is kept, and worked with in later calls."""
    made = calls.stored(place)
    again = calls.later.memory.get(f"@state:{place}", set())
    if _has(frozenset(again), "own:", "op", "lib:", "in:"):
        return None
    node = calls.first.stores[place]
    if _has(made, "in:"):
        says = (
            f"Something made of an input is kept in `{shown(place)}` and used again in later"
            f" calls{_looked_up_by(calls)}."
        )
        return calls.reading.raised("input-cache", ALARM, says, node)
    weights = [label for label in made if label.startswith("state:")]
    if weights and _has(made, *_WORK):
        level = NOTE if _is_renewed(calls, place) else WARNING
        says = f"Something made of weights is kept in `{shown(place)}` from the first call on."
        return calls.reading.raised("input-cache", level, says, node)
    return None


def _is_renewed(calls: Calls, place: str) -> bool:
    """Whether something else than a call, or a look at the version, makes it anew."""
    attribute = place.rpartition(".")[2]
    for change in calls.reading.module.all(ast.Assign):
        function = calls.reading.module.scope(change).node
        outside = function not in calls.reading.hot and getattr(function, "name", "") != "__init__"
        for target in change.targets:
            if outside and isinstance(target, ast.Attribute) and target.attr == attribute:
                return True
    return any("id" in labels for _, labels in calls.first.tests)


def _graphs(calls: Calls) -> Iterator[Alarm]:
    for node, fed in calls.later.replayed:
        if not fed:
            says = "A captured graph is replayed, and no line of a call copies the inputs into it."
            yield calls.reading.raised("graph-replay", ALARM, says, node)


def _counts(calls: Calls) -> Iterator[Alarm]:
    marks = {f"state:{place}": node for place, node in calls.first.counted.items()}
    marks |= {f"len:{place}": node for place, node in calls.first.stores.items()}
    for test, labels in calls.first.tests:
        further = sorted(label for label in labels if label.startswith("next:"))
        met = next((mark for mark in (*marks, *further) if mark in labels), None)
        if met is not None and (met[0] != "l" or _is_exact(test)):
            place = shown(met.partition(":")[2])
            says = f"`{place}` counts the calls, and what is done depends on it."
            yield calls.reading.raised("call-count", WARNING, says, test)
            return


def _is_exact(test: ast.expr) -> bool:
    """Whether a length has to be a certain one: a bound is honest, it keeps a table small."""
    compared = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Mod)
    zero = (
        compared
        and isinstance(test, ast.Compare)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == 0
    )
    return compared and not zero


def _outputs(calls: Calls) -> Iterator[Alarm]:
    given = [(node, value) for node, value in calls.first.returned if value]
    if given and any(mark.startswith("@in:") for mark in calls.first.memory):
        yield from _constants(calls, [(node, calls.whole(value)) for node, value in given])
    for node, value in given:
        labels = calls.first_flow.data(value)
        if _is_about_nothing(calls.reading, node):
            continue
        if _is_unwritten(labels):
            says = "Memory is given back that no line has written to."
            yield calls.reading.raised("uninitialised-output", ALARM, says, node)
        elif _is_input(calls, value):
            level = ALARM if len(given) == 1 else WARNING
            says = "An input is given back as it came."
            yield calls.reading.raised("input-passthrough", level, says, node)


def _constants(calls: Calls, given: list[tuple[ast.AST, Value]]) -> Iterator[Alarm]:
    """Outputs that no input goes into: all of them, or that of one path."""
    if not any(_depends(labels) for _, labels in given):
        if not all(_is_unwritten(labels) for _, labels in given):
            node = given[-1][0]
            launches = [launch for launch, _, _ in calls.first.launched]
            at = _wider(launches[-1], node) if launches else node
            says = "What is given back does not depend on any input."
            yield calls.reading.raised("constant-output", ALARM, says, at)
        return
    for node, labels in given:
        fixed = "const" in labels and not _has(labels, "in:", "call", "host", "own:")
        if fixed and not _is_about_nothing(calls.reading, node):
            says = "What is given back here does not depend on any input."
            yield calls.reading.raised("constant-output", WARNING, says, node)


def _depends(labels: Value) -> bool:
    return _has(labels, "in:", "call", "host")


def _is_unwritten(labels: Value) -> bool:
    return "empty" in labels and labels <= {"empty", "meta"}


def _is_input(calls: Calls, value: Value) -> bool:
    labels = calls.first_flow.data(value) - {"empty", "meta"}
    return bool(labels) and all(label.startswith("in:") for label in labels)


def _is_about_nothing(reading: Reading, node: ast.AST) -> bool:
    """Whether a line only runs for inputs without elements."""
    for branch in reading.module.above(node):
        if isinstance(branch, ast.If):
            text = reading.module.written(branch.test)
            if "numel" in text or "== 0" in text or text.startswith("not "):
                return True
    return False


def _changes(calls: Calls) -> Iterator[Alarm]:
    problem = calls.reading.evidence.problem
    tags = problem.problem.tags if problem is not None else ()
    agreed = any(tag in _IN_PLACE for tag in tags)
    if not any(value for _, value in calls.first.returned):
        return
    told: set[str] = set()
    for node, name in calls.first.changed:
        if name in told:
            continue
        told.add(name)
        named = any(word in name.lower() for word in _OUTPUTS)
        by_kernel = any(node is launch for launch, _, _ in calls.first.launched)
        level = NOTE if agreed or named else WARNING if by_kernel else ALARM
        says = f"The input `{shown(name)}` is changed in place."
        yield calls.reading.raised("input-change", level, says, node)


def _leaves(calls: Calls) -> Iterator[Alarm]:
    """Kernels whose results nothing is made of, or that only copy what a library made."""
    launched = calls.first.launched
    given = [calls.first_flow.data(value) for _, value in calls.first.returned if value]
    if not launched or not given:
        return
    labels = frozenset[str]().union(*given)
    by_others = _has(labels, "lib:", "op")
    if by_others and not _has(labels, "own:"):
        says = "The result of the kernel is not used: what is given back is made without it."
        yield calls.reading.raised("fig-leaf", ALARM, says, launched[0][0])
        return
    kernels = [calls.reading.kernels.get(origin) for _, origin, _ in launched]
    idle = all(kernel is not None and is_trivial(calls.reading, kernel) for kernel in kernels)
    if idle and _has(labels, "lib:"):
        says = "The kernel only copies: operations of the framework do the work."
        yield calls.reading.raised("fig-leaf", ALARM, says, launched[0][0])
