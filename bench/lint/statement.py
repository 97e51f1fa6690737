"""Rules on prompt.md: what it tells an agent is what problem.yaml holds a solution to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields

from bench.lint.subject import Subject
from kbsite.model.finding import Finding
from kbsite.model.forbidden import FAMILIES
from kbsite.model.problem import Bound, Dimension, Dtype

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")
_BEFORE_RMS = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(?:\*|·|×|times)?\s*(?:RMS\b|\|[a-z]\|)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d+)\b")
_EXACT = re.compile(r"\b(?:exact(?:ly)?|equal|identical|bit)\b", re.IGNORECASE)

FORMATS: Mapping[Dtype, str] = {
    Dtype.FP64: r"fp64|float64|double", Dtype.FP32: r"fp32|float32", Dtype.FP16: r"fp16|float16",
    Dtype.BF16: r"bf16|bfloat16", Dtype.FP8_E4M3: r"e4m3\w*", Dtype.FP8_E5M2: r"e5m2\w*",
    Dtype.INT64: r"int64", Dtype.INT32: r"int32", Dtype.INT8: r"int8", Dtype.UINT8: r"uint8",
    Dtype.BOOL: r"bool(?:ean)?s?",
}  # fmt: skip
"""How a statement may call a format."""

HINTS = re.compile(
    r"\b(?:peaks?|tflops?/?s?|gb/s|roofline|budget|deadline|time limit|leaderboard|evaluat\w+"
    r"|benchmark\w*|(?:compute|memory|bandwidth|launch)[- ]bound)\b",
    re.IGNORECASE,
)
"""What a colleague who asks for a kernel does not talk about."""


class ToleranceIsTold:
    """A figure of the statement that the grader does not use misleads, and so does one it hides."""

    name = "prompt.md tells the bounds"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Figures of bounds that prompt.md lacks, and figures there that no bound has."""
        told = _numbers(subject.prompt)
        known = set()
        for name, one in subject.problem.outputs.items():
            figures = _figures(one.bound or Bound())
            known |= {*figures.values()}
            for key, value in figures.items():
                if value not in told:
                    message = f"does not say {value:g}, as problem.yaml has it"
                    yield subject.words(message, f"tensors.{name}.bound.{key}")
            if not figures and not _EXACT.search(subject.prompt):
                message = "does not say that the output has to be equal bit by bit"
                yield subject.words(message, f"tensors.{name}.bound")
        for found in _BEFORE_RMS.finditer(subject.prompt):
            if float(found[1]) not in known:
                expected = ", ".join(f"{value:g}" for value in sorted(known)) or "none"
                yield subject.words(f"says {found[1]}; the bounds of problem.yaml are {expected}")


class ShapesAreTold:
    """Every shape that is timed stands in the statement, and no other."""

    name = "prompt.md tells the shapes"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Shapes that no line of prompt.md has, and shapes there that are not timed."""
        shapes = subject.graded.shapes("cuda")
        free = {name for name, one in subject.problem.dimensions.items() if one.least != one.most}
        lines = subject.prompt.splitlines()
        told = [_numbers(line) for line in lines]
        listed = [{name: shape.sizes[name] for name in free} for shape in shapes]
        for number, sizes in enumerate(listed):
            if not any({*map(float, sizes.values())} <= line for line in told):
                message = f"has no line with the sizes of the shape {shapes[number]}"
                yield subject.words(message, f"shapes[{number}]")
        for line in lines:
            found = _pairs(line, free)
            if found.keys() == free and found not in listed:
                yield subject.words(f"lists `{line.strip()}`, which problem.yaml does not")


class DomainIsTold:
    """A solution has to be right for sizes that it is told of."""

    name = "prompt.md tells the domain"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Ends and steps of dimensions that prompt.md lacks."""
        told = _numbers(subject.prompt)
        for name, one in subject.problem.dimensions.items():
            missing = [str(size) for size in _ends(one) if size not in told]
            if missing:
                message = f"does not say {' and '.join(missing)}, of the sizes that {name} can have"
                yield subject.words(message, f"dimensions.{name}")


class ForbiddenIsTold:
    """What is forbidden, and nothing else, is said to be."""

    name = "prompt.md tells what is forbidden"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Families of operations that only one of prompt.md and problem.yaml forbids."""
        text = " ".join(subject.prompt.lower().split())
        heads = {key: _head(family.words) for key, family in FAMILIES.items()}
        # The longest first: "library matrix products" begins "library matrix products with scales".
        for key in sorted(heads, key=lambda key: -len(heads[key])):
            told, banned = heads[key] in text, key in subject.problem.forbidden
            text = text.replace(heads[key], "")
            if banned and not told:
                message = f"does not say `{heads[key]}`, which problem.yaml forbids"
                yield subject.words(message, "forbidden")
            elif told and not banned:
                message = f"speaks of `{heads[key]}`; problem.yaml does not forbid {key}"
                yield subject.words(message, "forbidden")


class TensorsAreTold:
    """The arguments of solve(), and their formats."""

    name = "prompt.md tells the tensors"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Tensors and formats that prompt.md does not name."""
        for name, one in subject.problem.tensors.items():
            if not re.search(rf"`[^`\n]*\b{re.escape(name)}\b[^`\n]*`", subject.prompt):
                yield subject.words(f"does not name `{name}`", f"tensors.{name}")
            if not re.search(
                rf"(?<![a-z0-9])(?:\w*_)?(?:{FORMATS[one.dtype]})\b", subject.prompt, re.I
            ):
                message = f"does not name the format of `{name}`, {one.dtype.value}"
                yield subject.words(message, f"tensors.{name}.dtype")


class NoHints:
    """A colleague asks for a kernel; recipes and figures of the hardware are no part of that."""

    name = "prompt.md gives no hints"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Words of prompt.md about how a solution is judged, or what bounds it."""
        for found in sorted({one[0].lower() for one in HINTS.finditer(subject.prompt)}):
            yield subject.words(
                f"speaks of `{found}`; leave out how it is judged and what bounds it"
            )


def _numbers(text: str) -> set[float]:
    """All numbers in a text; 1,024 is one."""
    return {float(one[0].replace(",", "")) for one in _NUMBER.finditer(text)}


def _pairs(line: str, names: Set[str]) -> dict[str, int]:
    """Sizes that a line gives in the form M=4."""
    return {name: int(size) for name, size in _PAIR.findall(line) if name in names}


def _figures(bound: Bound) -> dict[str, float]:
    """The figures that an output is held to."""
    held = {one.name: getattr(bound, one.name) for one in fields(bound)}
    return {key: held[key] for key in ("rms", "relative", "typical") if held[key]}


def _ends(one: Dimension) -> set[int]:
    ends = {one.least, one.most}
    return ends | {one.step} if one.step != 1 and len(ends) > 1 else ends


def _head(words: str) -> str:
    return words.partition("(")[0].strip().lower()
