"""Whether an output is right: every element of it, against the reference and a problem's bound.

It works in chunks on the device that holds the tensors, and asks the device once for a result
unless something is wrong: hundreds of outputs are compared in one grading. Besides the two
tensors it takes five chunks of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from kbsite.model.grade import Outcome, OutputError
from kbsite.model.problem import Bound

if TYPE_CHECKING:
    from torch import Tensor

FAR = 1e30
"""The share of its bound that an element counts as which no bound can be held against: not finite
where the reference is, or unequal where it has to be equal."""

CHUNK = {"cpu": 2**17, "cuda": 2**22}
"""Elements that are compared at a time: what fits a core's cache, and what keeps a GPU busy."""

SAMPLE = 2**16
"""Quantiles are those of at most twice as many elements, evenly spread over the output."""

QUANTILES = ("0.5", "0.99", "0.999")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What comparing one output found."""

    error: OutputError
    outcome: Outcome | None
    """INCORRECT, NONFINITE or PRECISION; None where the output is right."""
    detail: str
    """One sentence: the worst element and its bound, or by how much it held."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """What is compared, flat: `got` as the solution wrote it, `wanted` by the reference."""

    name: str
    shape: tuple[int, ...]
    got: Tensor
    wanted: Tensor
    bound: Bound
    exact: bool
    chunk: int

    def chunks(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        """First index, got and wanted of each chunk."""
        for start in range(0, self.got.numel(), self.chunk):
            end = start + self.chunk
            yield start, self.got[start:end], self.wanted[start:end]


@dataclass(frozen=True, slots=True)
class _Figures:
    """What one look at all elements tells."""

    largest: float
    typical: float | None
    quantiles: dict[str, float]
    rms: float
    faults: tuple[float, float]
    """Of indices: how many are out of range, how many come twice in their row."""


def compare(
    output_name: str,
    y: Tensor,
    r: Tensor,
    bound: Bound,
    pointed: Tensor | None = None,
    chunk: int | None = None,
) -> Compared:
    """How far an output `y` is from the reference `r`, both of one shape and on one device.

    `y` has the output's own dtype, `r` is fp32, fp64 or an integer. Integers, and everything
    under a bound of zeros, have to be equal bit by bit to the reference in the output's dtype;
    one NaN is as good as another, where the reference has one. Where `bound.indices_into` is
    set, both hold indices into the last dimension of `pointed`, and what they point at is
    compared. `chunk` elements are looked at at once. ValueError if the shapes do not fit.
    """
    _check_shapes(output_name, y, r, bound, pointed)
    got, wanted = (y, r) if pointed is None else (_at(pointed, y), _wide(_at(pointed, r)))
    pair = _Pair(
        name=output_name,
        shape=tuple(y.shape),
        got=got.reshape(-1),
        wanted=wanted.reshape(-1),
        bound=bound,
        exact=not got.is_floating_point() or not (bound.rms or bound.relative or bound.typical),
        chunk=chunk or CHUNK.get(y.device.type, CHUNK["cpu"]),
    )
    figures = _look(pair, y if pointed is not None else None, pointed)
    error = OutputError(
        output=output_name,
        largest=figures.largest,
        typical=figures.typical,
        quantiles=figures.quantiles,
    )
    outcome, detail = _judge(pair, figures)
    if pointed is not None and any(figures.faults):
        outcome, detail = Outcome.INCORRECT, _misindexed(output_name, y, pointed.shape[-1])
    return Compared(error=error, outcome=outcome, detail=detail)


def _check_shapes(name: str, y: Tensor, r: Tensor, bound: Bound, pointed: Tensor | None) -> None:
    if y.shape != r.shape:
        raise ValueError(f"{name}: expected the shape {tuple(r.shape)}, got {tuple(y.shape)}")
    if (bound.indices_into is None) is not (pointed is None):
        raise ValueError(f"{name}: give `pointed` if, and only if, the bound has indices_into")
    if pointed is not None and pointed.shape[:-1] != y.shape[:-1]:
        raise ValueError(
            f"{name}: indices of shape {tuple(y.shape)} do not fit rows of {tuple(pointed.shape)}"
        )


def _at(pointed: Tensor, indices: Tensor) -> Tensor:
    """What indices point at; those out of range, which are told apart, at the nearest end."""
    import torch

    where = indices.long().clamp(0, pointed.shape[-1] - 1)
    if pointed.element_size() > 1:
        return pointed.gather(-1, where)
    return pointed.view(torch.uint8).gather(-1, where).view(pointed.dtype)


def _wide(found: Tensor) -> Tensor:
    """The same numbers in a format that a reference comes in."""
    narrow = found.is_floating_point() and found.element_size() < 4
    return found.float() if narrow else found


def _look(pair: _Pair, indices: Tensor | None, pointed: Tensor | None) -> _Figures:
    """One pass for RMS(r), one for the errors, then the only wait for the device."""
    import torch

    zero = torch.zeros((), dtype=torch.float64, device=pair.got.device)
    rms, finite = (zero, zero) if pair.exact else _rms(pair)
    largest, squares, sampled = zero, zero, [zero.float().reshape(1)]
    step = _step(pair.got.numel())
    for start, got, wanted in pair.chunks():
        share, error = _shares(got, wanted, pair, rms)
        largest = torch.maximum(largest, share.amax().double())
        squares = squares + torch.linalg.vector_norm(error, dtype=torch.float64).square()
        sampled.append(share[-start % step :: step].float())
    faults = [zero, zero] if pointed is None or indices is None else _faults(indices, pointed)
    typical = (squares / finite.clamp(min=1)).sqrt()
    found = [largest, typical, rms, *faults, *_quantiles(torch.cat(sampled[1:] or sampled))]
    most, error_rms, scale, outside, twice, *quantiles = torch.stack(found).tolist()
    return _Figures(
        largest=min(most, FAR),
        typical=None if pair.exact else _typical(error_rms, scale),
        quantiles=dict(zip(QUANTILES, quantiles, strict=True)),
        rms=scale,
        faults=(outside, twice),
    )


def _typical(error: float, scale: float) -> float | None:
    if not isfinite(error):
        return None
    return min(error / scale, FAR) if scale else FAR * bool(error)


def _rms(pair: _Pair) -> tuple[Tensor, Tensor]:
    """Root of the mean square of the reference's finite elements, and how many these are.

    Both stay on the device, in fp64.
    """
    import torch

    squares = torch.zeros((), dtype=torch.float64, device=pair.got.device)
    count = squares
    for _, _, wanted in pair.chunks():
        finite = wanted.isfinite()
        kept = wanted.nan_to_num(nan=0, posinf=0, neginf=0)
        squares = squares + torch.linalg.vector_norm(kept, dtype=torch.float64).square()
        count = count + finite.sum()
    return (squares / count.clamp(min=1)).sqrt(), count


def _shares(got: Tensor, wanted: Tensor, pair: _Pair, rms: Tensor) -> tuple[Tensor, Tensor]:
    """Error over bound, and error, of each element: 0 for what is the same, at most FAR.

    A comparison with NaN is false and a sum with it is NaN, so whatever is not finite on one
    side only ends up as FAR.
    """
    if pair.exact:
        share = _unequal(got, wanted).float().mul_(FAR)
        return share, share.new_zeros(())
    got, wanted = _alike(got, wanted)
    same = got.eq(wanted).logical_or_(got.isnan().logical_and_(wanted.isnan()))
    error = got.sub(wanted).abs_().masked_fill_(same, 0)
    allowed = wanted.abs().mul_(pair.bound.relative).add_(rms.mul(pair.bound.rms))
    share = error.div(allowed).masked_fill_(same, 0)
    return share.nan_to_num_(nan=FAR, posinf=FAR).clamp_(max=FAR), error


def _alike(got: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Both in fp64 if one of them is, in fp32 otherwise."""
    import torch

    wide = torch.float64 in {got.dtype, wanted.dtype}
    dtype = torch.float64 if wide else torch.float32
    return got.to(dtype), wanted.to(dtype)


def _unequal(got: Tensor, wanted: Tensor) -> Tensor:
    """Where bits differ from those of the reference in the output's dtype."""
    import torch

    if got.is_floating_point():
        wanted = wanted.to(got.dtype)
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[got.element_size()]
        nans = got.float().isnan().logical_and_(wanted.float().isnan())
        return got.view(bits).ne(wanted.view(bits)).logical_and_(nans.logical_not_())
    # Memory that a kernel wrote may hold a "bool" of 2.
    got = got.view(torch.uint8) if got.dtype is torch.bool else got
    return got.long().ne(wanted.long())


def _faults(indices: Tensor, pointed: Tensor) -> list[Tensor]:
    """How many indices are out of range, and how many come again in their row."""
    outside = indices.lt(0).logical_or_(indices.ge(pointed.shape[-1]))
    ordered = indices.sort(dim=-1).values
    again = ordered[..., 1:].eq(ordered[..., :-1])
    return [outside.sum().double(), again.sum().double()]


def _step(count: int) -> int:
    """How far apart the elements of the sample lie: odd, so that no power of two hides a column."""
    return max(count // SAMPLE, 1) | 1 if count >= 2 * SAMPLE else 1


def _quantiles(sampled: Tensor) -> list[Tensor]:
    """The least share that so many of the sampled elements do not exceed."""
    import torch

    count = sampled.numel()
    ranks = [min(int(float(share) * count), count - 1) for share in QUANTILES]
    if sampled.device.type == "cpu":  # where sorting takes ten times as long
        ordered = torch.from_numpy(np.partition(sampled.numpy(), ranks))
    else:
        ordered = sampled.sort().values
    return [ordered[rank].double() for rank in ranks]


def _judge(pair: _Pair, figures: _Figures) -> tuple[Outcome | None, str]:
    name, typical, allowed = pair.name, figures.typical, pair.bound.typical
    if figures.largest > 1:
        return _wrong(pair, figures.rms)
    if typical is not None and allowed is not None and typical > allowed:
        return Outcome.PRECISION, (
            f"{name}: the RMS of the error is {typical:.3g} of the reference's RMS, "
            f"expected at most {allowed:.3g}."
        )
    if pair.exact:
        return None, f"{name}: all elements are equal to the reference."
    return None, f"{name}: the largest error takes up {figures.largest:.3g} of its bound."


def _wrong(pair: _Pair, rms: float) -> tuple[Outcome, str]:
    """The sentence on the worst element, or on the first that is not finite and has to be."""
    import torch

    scale = torch.tensor(rms, dtype=torch.float64, device=pair.got.device)
    count, worst, most, strange = 0, 0, -1.0, -1
    for start, got, wanted in pair.chunks():
        share, _ = _shares(got, wanted, pair, scale)
        count += int(share.gt(1).sum())
        if float(share.amax()) > most:
            most, worst = float(share.amax()), start + int(share.argmax())
        lost = wanted.isfinite().logical_and_(got.float().isfinite().logical_not_())
        if strange < 0 and bool(lost.any()):
            strange = start + int(lost.byte().argmax())
    through_indices = pair.bound.indices_into is not None
    outcome = Outcome.INCORRECT if strange < 0 or through_indices else Outcome.NONFINITE
    at = worst if strange < 0 else strange
    return outcome, (
        f"{_place(pair.name, at, pair.shape)}: {_difference(pair, at, rms)}; "
        f"{count} of {pair.got.numel()} elements are off."
    )


def _difference(pair: _Pair, at: int, rms: float) -> str:
    """What stands at a place, what was expected, and by how much it could have been off."""
    got, wanted = _number(pair.got[at]), _number(pair.wanted[at])
    into = pair.bound.indices_into
    got_it = f"points into {into} at {got}" if into else f"got {got}"
    off = abs(float(got) - float(wanted))
    allowed = pair.bound.rms * rms + pair.bound.relative * abs(float(wanted))
    if pair.exact or not isfinite(float(wanted)):
        return f"{got_it}, expected exactly {wanted}"
    times = f", off by {off / allowed:.3g} bounds" if allowed and isfinite(off) else ""
    return f"{got_it}, expected {wanted} within {allowed:.3g}{times}"


def _number(element: Tensor) -> str:
    return f"{element.double().item():.9g}" if element.is_floating_point() else str(int(element))


def _misindexed(name: str, y: Tensor, length: int) -> str:
    """The sentence on the first index that is out of range, or comes again in its row."""
    flat, shape = y.reshape(-1), tuple(y.shape)
    outside = flat.lt(0).logical_or_(flat.ge(length))
    if bool(outside.any()):
        first = int(outside.byte().argmax())
        place = _place(name, first, shape)
        return f"{place}: got the index {int(flat[first])}, expected 0 to {length - 1}."
    ordered = y.reshape(-1, shape[-1]).sort(dim=-1).values
    again = ordered[:, 1:].eq(ordered[:, :-1])
    row, column = divmod(int(again.reshape(-1).byte().argmax()), again.shape[1])
    place = _place(name, row, shape[:-1])
    return (
        f"{place}: the index {int(ordered[row, column])} comes more than once in this row, "
        "expected each at most once."
    )


def _place(name: str, flat: int, shape: tuple[int, ...]) -> str:
    """Where an element is, such as "y[3, 17]"."""
    coordinates: list[str] = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        coordinates.insert(0, str(at))
    return f"{name}[{', '.join(coordinates)}]" if coordinates else name
