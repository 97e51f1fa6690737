"""Rules on what host code keeps from call to call: results, prepared inputs, counters, graphs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.library import library_call
from kbsite.alarms.native.tokens import Kind
from kbsite.alarms.native.unit import Function, Place, Unit
from kbsite.model.alarm import Alarm, Level

IDENTITY: Final = frozenset(
    ("data_ptr", "const_data_ptr", "mutable_data_ptr", "unsafeGetTensorImpl", "_version",
     "current_version", "version_counter", "is_same", "is_alias_of", "storage_ptr", "unsafe_ptr")
)  # fmt: skip
_LOOKED_UP: Final = frozenset(("find", "count", "contains", "end", "defined", "has_value", "at"))
_BRANCHES: Final = frozenset(("if", "switch", "while"))


_ENDS: Final = frozenset("=;{[(,)")
_NO_VARIABLE: Final = frozenset(
    ("template", "extern", "namespace", "class", "enum", "union", "friend", "operator", "static")
)
_ELSEWHERE: Final = frozenset(
    ("__shared__", "__constant__", "__device__", "return", "using", "typedef", "struct", "(")
)


class Keeping(Struct, frozen=True):
    """What a function has to do with variables that outlive it."""

    kept: frozenset[str]
    """Those variables."""
    derived: frozenset[str]
    """They, and what is set from them."""
    pointers: frozenset[str]
    """Spellings of a tensor's address, and what is set from them."""
    counting: frozenset[str]
    """Those that the function counts up, and what is set from them."""
    works: tuple[int, ...]
    """Where the function launches kernels or calls a library."""


class Branch(Struct, frozen=True):
    """An `if` with what it guards."""

    test: Place
    body: Place


def find(held: Unit) -> Iterator[Alarm]:
    """What the host code of a source keeps."""
    kept = dict(_kept(held))
    heavy = sorted(at for name, held_at in held.names.items() if _is_heavy(name) for at in held_at)
    for function in held.functions:
        if not function.is_kernel:
            yield from _function(held, function, kept, heavy)
    yield from _graphs(held)


def _kept(held: Unit) -> Iterator[tuple[str, str]]:
    """Variables that outlive a call, each with its type as written."""
    for word in ("static", "thread_local"):
        for at in held.names.get(word, ()):
            yield from _declared(held, at, is_local=held.function(at) is not None)
    members = _members(held)
    for name in filter(_holds, held.names):
        for at in held.names[name]:
            if held.function(at) is None and not _is_within(members, at):
                yield from _declared(held, at, is_local=False)
    for at in held.signs.get(";", ()):
        if held.function(at) is None and not _is_within(members, at):
            yield from _declared_before(held, at)


def _members(held: Unit) -> list[Place]:
    """Where members of classes are declared."""
    return _outermost(
        (at, held.partner[opening])
        for word in ("struct", "class", "union", "enum")
        for at in held.names.get(word, ())
        if (opening := _next(held, at, "{")) in held.partner
    )


def _is_within(places: list[Place], at: int) -> bool:
    """Whether a token stands in one of these places, which are in order and apart."""
    before = bisect_right(places, at, key=lambda place: place[0]) - 1
    return before >= 0 and at <= places[before][1]


def _outermost(places: Iterable[Place]) -> list[Place]:
    """Places without those that lie in others, in order."""
    found: list[Place] = []
    for place in sorted(places):
        if not found or place[0] > found[-1][1]:
            found.append(place)
    return found


def _declared_before(held: Unit, end: int) -> Iterator[tuple[str, str]]:
    """The variable of the whole source whose declaration ends there, if it is one."""
    begin = end
    while begin > 0 and end - begin < 60 and held.before(begin) not in (";", "{"):
        begin -= 1
        if held.tokens[begin][1] == "}":
            opening = held.partner.get(begin, begin)
            if held.before(opening) in (")", "}", ";"):  # what a function or a block ends with
                begin += 1
                break
            begin = opening
    words = [text for _, text, _ in held.tokens[begin:end]]
    if words and held.tokens[begin][0] == Kind.NAME and _NO_VARIABLE.isdisjoint(words):
        yield from _declared(held, begin, is_local=False)


def _next(held: Unit, at: int, sign: str) -> int:
    """Where a sign stands next, within a few tokens; -1 if it does not."""
    for one in range(at + 1, min(at + 8, len(held.tokens))):
        if held.tokens[one][1] == sign:
            return one
    return -1


def _declared(held: Unit, begin: int, *, is_local: bool) -> Iterator[tuple[str, str]]:
    """The variable whose declaration begins there, if it is one."""
    angles, end = 0, begin + 1
    while end < min(begin + 60, len(held.tokens)):
        text = held.tokens[end][1]
        angles += (text == "<") - (text == ">")
        if angles <= 0 and text in _ENDS:
            break
        end += 1
    words = [text for _, text, _ in held.tokens[begin : end - 1]]
    ends = held.tokens[end][1] if end < len(held.tokens) else "("
    named = end > begin + 1 and held.tokens[end - 1][0] == Kind.NAME
    usable = named and (is_local or ends not in "(,)") and not _is_fixed(words)
    if usable and _ELSEWHERE.isdisjoint(words):
        yield held.tokens[end - 1][1], " ".join(words)


def _is_fixed(words: list[str]) -> bool:
    return "constexpr" in words or ("const" in words and "*" not in words)


def _holds(word: str) -> bool:
    return word.endswith("Tensor") or word.rpartition("::")[2] in (
        "unordered_map", "map", "vector", "optional", "deque", "array", "list",
    )  # fmt: skip


def _function(
    held: Unit, function: Function, kept: dict[str, str], heavy: list[int]
) -> Iterator[Alarm]:
    first, last = function.body
    works = list(held.launched_in(function.body))
    works += heavy[bisect_left(heavy, first) : bisect_right(heavy, last)]
    keeping = Keeping(
        kept=frozenset(kept),
        derived=_derived(held, function, frozenset(kept)),
        pointers=_derived(held, function, IDENTITY),
        counting=_counting(held, function, frozenset(kept)),
        works=tuple(works),
    )
    told: list[Place] = []
    for branch in branches(held, function.body):
        if held.names_in(branch.test) & keeping.derived:
            for alarm in _branch(held, branch, keeping):
                told.append(branch.body)
                yield alarm
    if works:
        yield from _handed_out(held, function, kept, _outermost(told))


def _branch(held: Unit, branch: Branch, keeping: Keeping) -> Iterator[Alarm]:
    words, place = held.names_in(branch.test), (branch.test[0], branch.body[1])
    leaves = not held.names_in(branch.body).isdisjoint(("return", "goto"))
    guarded = any(branch.body[0] <= at <= branch.body[1] for at in keeping.works)
    counting = words & keeping.counting
    counted = sorted(counting & keeping.kept or counting)
    if counted:
        if guarded or leaves or held.after(place[1]) == "else":
            saw = f"Which way it goes depends on {shown(counted[0])}, which counts the calls."
            yield held.alarm("call-count", Level.ALARM, saw, *place)
    elif guarded:
        yield from _guarded(held, words, branch, keeping)
    elif leaves:
        yield from _given_back(held, words, branch, keeping)


def _named(words: frozenset[str], keeping: Keeping) -> str:
    """One of the variables that a test is about, for the sentence."""
    known = words & keeping.derived
    return shown(sorted(known & keeping.kept or known)[0])


def _guarded(
    held: Unit, words: frozenset[str], branch: Branch, keeping: Keeping
) -> Iterator[Alarm]:
    """Work that is done only as long as something that is kept says so, and then changes it."""
    place, name = (branch.test[0], branch.body[1]), _named(words, keeping)
    if words & keeping.pointers:
        saw = f"Work is done only if the input's address is not the one that {name} holds."
        yield held.alarm("output-cache", Level.ALARM, saw, *place)
    elif any(
        held.after(at) == "=" and held.tokens[at][1] in keeping.kept & words
        for at in range(*branch.body)
    ):
        saw = f"Work is done only as long as {name} says so, which outlives the call."
        yield held.alarm("input-cache", Level.WARNING, saw, *place)


def _given_back(
    held: Unit, words: frozenset[str], branch: Branch, keeping: Keeping
) -> Iterator[Alarm]:
    """What is kept, handed back before any work is done."""
    place, name = (branch.test[0], branch.body[1]), _named(words, keeping)
    keyed = bool(words & keeping.pointers)
    if keyed and keeping.works:
        saw = f"{name} is handed back without work if the input's address is known."
        yield held.alarm("output-cache", Level.ALARM, saw, *place)
    elif keyed and words & _LOOKED_UP:
        saw = f"{name} is looked up by the address of an input and handed on."
        yield held.alarm("input-cache", Level.WARNING, saw, *place)
    elif keeping.works and _returns(held, branch.body, keeping.derived):
        saw = f"{name}, which outlives the call, is handed back without work."
        yield held.alarm("output-cache", Level.WARNING, saw, *place)


def _is_heavy(name: str) -> bool:
    if "::" not in name and not name.startswith(("cublas", "cudnn")):
        return False
    call = library_call(name)
    return call is not None and bool(call.family)


def _derived(held: Unit, function: Function, roots: frozenset[str]) -> frozenset[str]:
    """Roots, and the variables that are set from them."""
    found = set(roots)
    first, last = function.body
    begin = first + 1
    for at in range(first + 1, last):
        text = held.tokens[at][1]
        if text in (";", "{", "}"):
            begin = at + 1
        elif text == "=" and held.tokens[at - 1][0] == Kind.NAME:
            end = at + 1
            while end < last and held.tokens[end][1] != ";" and end - at < 80:
                if held.tokens[end][1] in found and held.tokens[begin][1] != "static":
                    found.add(held.tokens[at - 1][1])
                    break
                end += 1
    return frozenset(found)


def _counting(held: Unit, function: Function, kept: frozenset[str]) -> frozenset[str]:
    """What a function counts up of what is kept, and the variables that are set from it."""
    places = range(*function.body)
    counted = frozenset(
        held.tokens[at][1] for at in places if held.tokens[at][1] in kept and _is_counted(held, at)
    )
    return _derived(held, function, counted) if counted else counted


def branches(held: Unit, place: Place) -> Iterator[Branch]:
    """Every `if`, `switch` and `while` in a place, with its test and what it guards."""
    for at in range(*place):
        if held.tokens[at][1] not in _BRANCHES:
            continue
        opening = at + 1 if held.after(at) == "(" else at + 2
        closing = held.partner.get(opening)
        if closing is None or closing + 1 >= len(held.tokens):
            continue
        begin = end = closing + 1
        if held.tokens[begin][1] == "{":
            end = held.partner.get(begin, begin)
        else:
            while end < place[1] and held.tokens[end][1] != ";":
                end += 1
        yield Branch((opening, closing), (begin, end))


def _is_counted(held: Unit, at: int) -> bool:
    """Whether a variable is counted up there."""
    if held.before(at) == "++" or held.after(at) in ("++", "+="):
        return True
    behind = [word for _, word, _ in held.tokens[at + 1 : at + 4]]
    return behind in (["=", held.tokens[at][1], "+"], [".", "fetch_add", "("])


def _returns(held: Unit, place: Place, lasting: frozenset[str]) -> bool:
    """Whether what is kept, or nothing at all, is handed back there."""
    for at in range(place[0], place[1]):
        if held.tokens[at][1] == "return":
            if held.after(at) == ";":
                return True
            end = at
            while end < place[1] and held.tokens[end][1] != ";":
                end += 1
            return bool(held.names_in((at + 1, end)) & lasting)
    return False


def _handed_out(
    held: Unit, function: Function, kept: dict[str, str], told: list[Place]
) -> Iterator[Alarm]:
    """The same memory, handed back from each call; not what is told of already."""
    for at in range(*function.body):
        if _is_within(told, at):
            continue
        if held.tokens[at][1] != "return" or held.tokens[at + 2][1] not in (";", "."):
            continue
        name = held.tokens[at + 1][1]
        if name in kept and "Tensor" in kept[name] and "<" not in kept[name]:
            saw = f"{shown(name)}, which outlives the call, is what each call hands back."
            yield held.alarm("output-cache", Level.WARNING, saw, at)
            return


_UPDATES: Final = (
    "cudaMemcpyAsync", "cudaMemcpy", "cudaGraphExecKernelNodeSetParams", "cudaGraphExecUpdate",
    "cudaGraphExecKernelNodeSetParams_v2", "cudaGraphExecMemcpyNodeSetParams", "copy_",
    "cudaGraphExecMemcpyNodeSetParams1D", "hipMemcpyAsync", "hipGraphExecUpdate",
    "cudaMemcpy2DAsync", "cudaGraphExecChildGraphNodeSetParams", "cuGraphExecKernelNodeSetParams",
)  # fmt: skip
_REPLAYS: Final = ("cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch")


def _graphs(held: Unit) -> Iterator[Alarm]:
    updated = any(held.names.get(name) for name in _UPDATES)
    for name in _REPLAYS:
        for at in held.calls(name):
            if updated:
                saw = f"{name} replays a captured graph; inputs are copied or set before."
                yield held.alarm("graph-replay", Level.NOTE, saw, at)
            else:
                saw = f"{name} replays a captured graph, and nothing gives it new inputs."
                yield held.alarm("graph-replay", Level.WARNING, saw, at)
            break
