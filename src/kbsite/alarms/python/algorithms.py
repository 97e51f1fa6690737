"""What a problem is named for, and the traces that it leaves in a source that does it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm
from kbsite.alarms.python.reading import Reading, readings
from kbsite.late import late
from kbsite.model.alarm import Alarm, Level
from kbsite.store.run_folders import SOLUTION

NOTE, WARNING = Level.NOTE, Level.WARNING


class Algorithm(Struct, frozen=True):
    """An algorithm that problems are named for."""

    name: str
    named: re.Pattern[str]
    """What the problem's id, title or tags say."""
    words: re.Pattern[str]
    """What the source, in whatever language, says where it does it."""
    shape: Callable[[Reading], bool]
    """Whether a Python source has its form."""
    level: Level = NOTE
    """How much it weighs where it is missing: more where the answer is less exact without."""


def _difference_of_differences(reading: Reading) -> bool:
    """`(t - s) - y` or `(s - t) + x` with t a sum of s: the term that summing lost."""
    for outer in reading.module.all(ast.BinOp):
        inner = outer.left
        if not isinstance(outer.op, ast.Sub | ast.Add) or not isinstance(inner, ast.BinOp):
            continue
        if isinstance(inner.op, ast.Sub) and all(
            isinstance(part, ast.Name) for part in (inner.left, inner.right, outer.right)
        ):
            return True
    return False


def _partners_by_bits(reading: Reading) -> bool:
    """Positions whose partner is found by exclusive or, and a choice by comparison."""
    return any(isinstance(node.op, ast.BitXor) for node in reading.module.all(ast.BinOp))


def _running_maximum(reading: Reading) -> bool:
    """A maximum that is carried on, and sums that are scaled by how much it grew."""
    for call in reading.module.all(ast.Call):
        name = reading.names.origin(call.func).rpartition(".")[2]
        parts = ast.walk(call.args[0]) if name in ("exp", "exp2") and call.args else ()
        if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) for part in parts):
            return True
    return False


def _never(_: Reading) -> bool:
    return False


ALGORITHMS: Final = (
    Algorithm("Kahan's compensated sum", late(r"(?i)kahan|compensated|neumaier"),
              late(r"\b(two_?sum|fast_?two_?sum|__fsub_rn|__dadd_rn)\b"
                         r"|\(\s*\w+\s*-\s*\w+\s*\)\s*-\s*\w+|\bdouble\s+\w+\s*=|float64"),
              _difference_of_differences, WARNING),
    Algorithm("a bitonic sorting network", late(r"(?i)bitonic"),
              late(r"\^\s*\(?(1\s*<<|\w+\s*[;,)\]]|stride|step|j\b|mask)|__shfl_xor_sync"
                         r"|\b(stride|j|half|step|dist\w*)\s*(>>=\s*1|/=\s*2)"
                         r"|\bxor\b"),
              _partners_by_bits),
    Algorithm("an online softmax", late(r"(?i)online.softmax|flash.?attention"),
              late(r"exp2?f?\s*\(\s*\w+\s*-\s*\w+"), _running_maximum),
    Algorithm("Strassen's scheme", late(r"(?i)strassen|winograd"),
              late(r"(?i)strassen|winograd|\bm7\b"), _never),
    Algorithm("a radix sort", late(r"(?i)radix"),
              late(r"(>>\s*\(?\w+).{0,40}(&|%)|histogram|radix"), _never),
    Algorithm("a scan with decoupled look-back", late(r"(?i)look.?back"),
              late(r"(?i)volatile|atomic|flag|status|acquire"), _never),
)  # fmt: skip
"""One row an algorithm: another one is another row."""

SEVERAL_DEVICES: Final = late(
    r"(?i)multi.?gpu|all.?reduce|all.?gather|reduce.?scatter|all.?to.?all|several devices"
    r"|communication|\bnccl\b|tensor.?parallel|\branks?\b"
)
_SENDS: Final = late(
    r"(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|isend|irecv|\bsend\(|recv\("
    r"|nvshmem|\bnccl[A-Z]|symm_?mem|symmetric|multimem|peer|ipc|p2p|rdma|signal_pad|_store_to"
    r"|rendezvous|get_buffer|remote|multicast|batch_isend"
)


def alarms(evidence: Evidence) -> Iterator[Alarm]:
    """Whether the sources show what their problem is named for."""
    problem = evidence.problem
    if problem is None or not evidence.sources or evidence.sources[0].name != SOLUTION:
        return
    told = problem.problem
    about = f"{problem.id} {told.title} {' '.join(told.tags)}".replace("_", " ")
    whole = "\n".join(_code(source.text) for source in evidence.sources)
    for algorithm in ALGORITHMS:
        if algorithm.named.search(about) and not _has(evidence, algorithm, whole):
            says = f"The problem is named for {algorithm.name}: the source shows no trace."
            yield alarm("algorithm-missing", algorithm.level, says, SOLUTION)
    if SEVERAL_DEVICES.search(f"{about} {told.summary}") and not _sends(evidence, whole):
        says = "The problem is about several devices, and the source sends nothing between them."
        yield alarm("no-communication", WARNING, says, SOLUTION)


def _has(evidence: Evidence, algorithm: Algorithm, whole: str) -> bool:
    if algorithm.words.search(whole):
        return True
    return any(algorithm.shape(reading) for reading in readings(evidence))


def _sends(evidence: Evidence, whole: str) -> bool:
    """Whether what runs sends something: what is only imported, or replaced, does not count."""
    native = any(source.suffix != ".py" for source in evidence.sources)
    if native and _SENDS.search(whole):
        return True
    for reading in readings(evidence):
        if any(_SENDS.search(origin) for _, origin in reading.hot_calls):
            return True
        if any(_is_native_text(constant) for constant in reading.module.all(ast.Constant)):
            return True
    return False


def _is_native_text(constant: ast.Constant) -> bool:
    value = constant.value
    return isinstance(value, str) and "__global__" in value and bool(_SENDS.search(value))


_COMMENT: Final = late(r"(?m)#(?!include|define|pragma|if|endif|else).*$|//.*$")


def _code(text: str) -> str:
    """A source without what is only said in its comments."""
    return _COMMENT.sub("", text)
