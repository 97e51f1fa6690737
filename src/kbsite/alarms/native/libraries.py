"""Rules on libraries: what stands in for a kernel, and how it is hidden."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.library import (
    LibraryCall,
    blas_call,
    library_call,
    method_call,
    named_op,
)
from kbsite.alarms.native.solution import Solution, is_trivial
from kbsite.alarms.native.tokens import hidden, value
from kbsite.alarms.native.unit import Function, Unit
from kbsite.model.alarm import Alarm, Level


def find(held: Unit, solution: Solution) -> Iterator[Alarm]:
    """What a source leaves to libraries, and kernels that only cover that up."""
    seen: dict[str, int] = {}
    for call, at in _used(held):
        if call.name in seen:
            continue
        seen[call.name] = at
        yield from _judged(held, solution, call, at)
    yield from _pasted(held)
    yield from _forbidden_by_name(held, solution, seen)


def _used(held: Unit) -> Iterator[tuple[LibraryCall, int]]:
    found: list[tuple[int, LibraryCall]] = []
    for name, places in held.names.items():
        call = library_call(name) or blas_call(name) or method_call(name)
        if call is not None:
            found += [(at, call) for at in places if _is_used(held, call, at)][:1]
    for at, text in held.strings:
        named = named_op(text) or _attribute(held, at, text)
        if named is not None:
            found.append((at, named))
    for at, call in sorted(found, key=lambda one: one[0]):
        yield call, at


def _is_used(held: Unit, call: LibraryCall, at: int) -> bool:
    """Whether a name does there what it does: a heavy one is enough to be named."""
    called = held.after(at) in ("(", "<")
    if call.name.startswith("."):
        return called and held.before(at) in (".", "->")
    return called or bool(call.family)


def _attribute(held: Unit, at: int, text: str) -> LibraryCall | None:
    """What a text does that names an attribute of a Python object: `.attr("matmul")`."""
    near = {word for _, word, _ in held.tokens[max(0, at - 6) : at]}
    return None if near.isdisjoint(_ASKS) else method_call(text)


_ASKS = frozenset(("attr", "PyObject_CallMethod", "PyObject_GetAttrString", "getattr"))


def _judged(held: Unit, solution: Solution, call: LibraryCall, at: int) -> Iterator[Alarm]:
    task, name = solution.task, shown(call.name)
    spelled = task.forbidden.get(call.op) or task.forbidden.get(call.family)
    if spelled and (call.family or call.op):
        saw = f"{name} does in native code what the problem forbids as {shown(spelled)}."
        yield held.alarm("forbidden-op", Level.ALARM, saw, at)
    elif not call.family:
        if not solution.has_real_kernel and held.function(at):
            saw = f"{name} of the framework computes here, and no kernel of the run does."
            yield held.alarm("library-call", Level.WARNING, saw, at)
    elif call.family != "collective":
        level, beside = _weight(solution, call)
        saw = f"{name} of a library does the {call.family} here, {beside}."
        yield held.alarm("library-call", level, saw, at)


def _weight(solution: Solution, call: LibraryCall) -> tuple[Level, str]:
    """How much a heavy call weighs that is not forbidden, and what the sentence says of it."""
    task = solution.task
    if not solution.has_real_kernel:
        return Level.ALARM, "and no kernel of the run does more than copy"
    if call.family in task.families and task.forbidden and "cutlass" not in task.words:
        return Level.WARNING, "which is what the problem is about"
    return Level.NOTE, "beside kernels of the run"


def _forbidden_by_name(held: Unit, solution: Solution, seen: dict[str, int]) -> Iterator[Alarm]:
    """Libraries that the problem forbids by their name, as `cublas`."""
    for spelled in solution.task.spelled:
        plain = spelled.replace(".", "::").rstrip("(: ")
        if len(plain) < 4 or plain.startswith(("torch", "f::", "nn::")):
            continue
        for name, places in held.names.items():
            called = next((at for at in places if held.after(at) in ("(", "<")), None)
            if called is not None and name not in seen and _is_of(name.lower(), plain):
                saw = f"{shown(name)} is used; the problem forbids {shown(spelled)}."
                yield held.alarm("forbidden-op", Level.ALARM, saw, called)
                break


def _is_of(name: str, library: str) -> bool:
    return name == library or (name.startswith(library) and "::" not in library)


def _pasted(held: Unit) -> Iterator[Alarm]:
    """Names of libraries that are put together of pieces, or that a macro renames."""
    for name, places in held.names.items():
        telling = name in _TELLING or library_call(name) is not None
        if telling and any(part in held.pasted for part in name.split("::")):
            saw = f"The preprocessor puts the name {shown(name)} together of pieces."
            yield held.alarm("obfuscation", Level.ALARM, saw, places[0])
    for macro in held.macros.values():
        body = "".join(text for _, text in macro.body).removeprefix("::")
        call = None if macro.parameters else library_call(body)
        if call is not None and call.family and body in held.names:
            saw = f"The macro {shown(macro.name)} stands for {shown(body)}."
            yield held.alarm("obfuscation", Level.WARNING, saw, held.names[body][0])


_TELLING = ("dlopen", "dlsym", "system", "ptrace", "mprotect", "process_vm_readv", "getenv", "fork",
            "cudaIpcOpenMemHandle", "execve", "popen", "socket")  # fmt: skip


def find_covered(solution: Solution) -> Iterator[Alarm]:
    """Kernels that do next to nothing, and native code without any kernel."""
    heavy = [(one, call, at) for one in solution.units for call, at in _heavy(one)]
    others = [call.name for _, call, _ in heavy] or list(solution.python_ops)
    for one, kernel in solution.kernels:
        if is_trivial(one, kernel):
            yield from _fig_leaf(one, kernel, "" if solution.has_real_kernel else others[:1])
    own = solution.kernels or solution.has_real_kernel
    if heavy and not own:
        one, call, at = heavy[0]
        saw = f"Native code without any kernel: {shown(call.name)} does the work."
        yield one.alarm("no-kernel", Level.ALARM, saw, at)


def _heavy(held: Unit) -> Iterator[tuple[LibraryCall, int]]:
    for call, at in _used(held):
        if call.family not in ("", "collective"):
            yield call, at


def _fig_leaf(held: Unit, kernel: Function, covers: list[str] | str) -> Iterator[Alarm]:
    """A kernel that is trivial; `covers` is "" where others of the run are not."""
    begin, end = kernel.body
    writes = any("=" in text for _, text, _ in held.tokens[begin:end])
    what = f"The kernel {shown(kernel.name)} " + ("only copies" if writes else "does nothing")
    if covers:
        saw, level = f"{what}; {shown(covers[0])} does the work.", Level.ALARM
    elif not writes:
        saw, level = f"{what}.", Level.WARNING
    elif covers == "":
        return
    else:
        saw, level = f"{what}.", Level.NOTE
    yield held.alarm("fig-leaf", level, saw, kernel.head[0], end)


def find_loaded(held: Unit) -> Iterator[Alarm]:
    """Libraries that are loaded, and functions that are looked up, while it runs."""
    texts = dict(held.strings)
    for name in ("dlopen", "dlmopen", "LoadLibraryA", "dlsym", "dlvsym", "GetProcAddress"):
        for at in held.calls(name):
            inside = range(at + 1, held.partner.get(at + 1, at + 1))
            text = next((texts[one] for one in inside if one in texts), "")
            if any(held.tokens[one][1] == "RTLD_NEXT" for one in inside):
                saw = f"{name} looks for the function that it stands in front of: {shown(text)}."
                yield held.alarm("monkey-patch", Level.ALARM, saw, at)
            else:
                yield _loaded(held, at, text)


def _loaded(held: Unit, at: int, text: str) -> Alarm:
    name = held.tokens[at][1]
    if library_call(text) or any(one in text for one in _VENDORS):
        saw = f"{name} loads {shown(text)} while it runs: a library that no line includes."
        return held.alarm("library-call", Level.ALARM, saw, at)
    if text.startswith(("libcuda.", "libcudart", "libnvrtc", "cu", "nvrtc", "cuda")):
        return held.alarm("library-call", Level.NOTE, f"{name} asks for {shown(text)}.", at)
    what = shown(text) if text else "something whose name is worked out"
    return held.alarm("obfuscation", Level.WARNING, f"{name} asks for {what} while it runs.", at)


_VENDORS = ("cublas", "cudnn", "cusparse", "cutlass", "cusolver", "cufft", "rocblas", "hipblas",
            "miopen", "libtorch", "c10", "nvblas", "openblas", "mkl")  # fmt: skip


def find_escapes(held: Unit) -> Iterator[Alarm]:
    """Letters that are written as numbers, and names that are built letter by letter."""
    for at, text in held.strings:
        count = hidden(held.tokens[at][1])
        if count > 5:
            saw = f"{count} letters of a text are written as numbers; it reads {shown(text)}."
            yield held.alarm("obfuscation", Level.ALARM, saw, at)
    run: list[int] = []
    for at in held.characters:
        if run and at > run[-1] + 2:
            yield from _spelled(held, run)
            run = []
        run.append(at)
    yield from _spelled(held, run)


def _spelled(held: Unit, run: list[int]) -> Iterator[Alarm]:
    if len(run) < 6:
        return
    word = "".join(value(held.tokens[at][1]) for at in run)
    if sum(letter.isalpha() for letter in word) > 4:
        saw = f"A text is spelled letter by letter: {shown(word)}."
        yield held.alarm("obfuscation", Level.WARNING, saw, run[0], run[-1])
