r"""The value of a policy on one instance: one number, exact where that is known.

Policies whose expectations :math:`\mu_c` are known take luck out of the others that saw the same
scenarios (control variates): the runs :math:`y_r` of a policy are regressed on
:math:`(1, y_{cr} - \mu_c)`, its value is the intercept, and value plus residual is an *adjusted
run*. The fit is linear, so the adjusted runs of a difference are the difference of the adjusted
runs, and everything that is said of a policy uses them.

Lavenberg, Welch: A perspective on the use of control variables to increase the efficiency of Monte
Carlo simulations, 1981.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from edgeopt.bounds.intervals import EQUAL, Kind, Spread, t_quantile
from edgeopt.bounds.paired import FEWEST_RUNS, mean_interval, mean_spread
from edgeopt.bounds.ratio import ratio_parts
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EXACT: Final = "exact"
"""How a value is known that was computed without sampling, or from runs that are all alike."""

MOST_CONTROLS: Final = 3
"""Most control variates; each costs a degree of freedom."""

_TESTED: Final = 16
"""Slots at which bands are found by the test, which takes milliseconds."""

_SURE: Final = 0.9999
"""Confidence with which a value beyond a bound contradicts it."""

_RUNS_EACH: Final = 10
"""Runs for each control variate, and as many more."""

_REDUNDANT: Final = 1e-9
"""Share of a control variate that others must leave for it to count."""


class Control(NamedTuple):
    """A policy of which the expectation is known, with its runs of the same scenarios."""

    title: str
    runs: Floats
    mean: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """The value of a policy on one instance.

    Parameters
    ----------
    mean
        The value.
    error
        Its standard error; 0 where it is exact.
    runs
        The adjusted runs, shape [n]; their mean is the value. One that is exact has them all equal.
    lost, factor
        Degrees of freedom that the controls have used, and what they multiply deviations by.
    how
        ``"exact"``, ``"200 runs"``, ``"as RESCUE in all 200 runs"``, ``"no value in 3 runs"``.
    known
        Whether it is exact, or that of an exact one in all runs: then it has no interval.
    """

    mean: float
    error: float
    runs: Floats
    lost: int = 0
    factor: float = 1.0
    how: str = EXACT
    known: bool = True

    @property
    def exact(self) -> bool:
        """Whether it is certain: what agreed with an exact one in all runs is not."""
        return self.how == EXACT

    def spread(self, confidence: float) -> Spread:
        """Return value and interval; below ten runs the least and the largest run."""
        if self.known:
            kind: Kind = "exact" if self.exact else "as"
            return Spread(self.mean, np.nan, np.nan, kind, self.runs.size)
        return mean_spread(self.runs, confidence, self.lost, self.factor)


def estimates(
    values: Mapping[str, Floats],
    exact: Mapping[str, float],
    controls: Sequence[Control] = (),
) -> dict[str, Estimate]:
    """Return the values of policies that saw the same scenarios, shape [n] each, [1] if exact.

    Of the controls, each with n runs, the first ones are used that are not redundant: at most
    three, and one for ten runs from twenty runs on.
    """
    sampled = [runs.size for name, runs in values.items() if name not in exact]
    count = max(sampled, default=1)
    usable = [one for one in controls if one.runs.size == count and np.isfinite(one.runs).all()]
    fit = _Fit(usable, count)
    return {
        name: Estimate(exact[name], 0.0, np.full(count, exact[name]))
        if name in exact
        else fit.of(runs)
        for name, runs in values.items()
    }


def combined(found: Sequence[Estimate], sizes: Sequence[float], *, drawn: bool = True) -> Estimate:
    """Return the mean over instances of the value in terms of a size of each instance.

    Drawn instances are the independent units: the runs on one are only part of its figure. Those of
    a fixed list are not, so that only the runs on them are random, and nothing where all values are
    exact.
    """
    values = np.array([one.mean / size for one, size in zip(found, sizes, strict=True)])
    count = len(found)
    mean, how = float(values.mean()), f"{count} instances"
    if drawn:
        error = float(values.std(ddof=1)) / count**0.5 if count > 1 else np.nan
        return Estimate(mean, error, values, how=how, known=False)
    if all(one.known for one in found):
        how = EXACT if all(one.exact for one in found) else how
        return Estimate(mean, 0.0, np.full(max(one.runs.size for one in found), mean), how=how)
    least = min(one.runs.size for one in found if not one.known)
    runs = np.mean(
        [
            one.runs[:least] / size if one.runs.size >= least else np.full(least, one.mean / size)
            for one, size in zip(found, sizes, strict=True)
        ],
        axis=0,
    )
    error = float(
        np.hypot.reduce([one.error / size for one, size in zip(found, sizes, strict=True)])
    )
    lost, factor = max(one.lost for one in found), max(one.factor for one in found)
    return Estimate(mean, error / count, runs, lost, factor, how, known=False)


class Gap(NamedTuple):
    """How far a value is from a bound that is proven for it, as a share of the bound.

    Attributes
    ----------
    raw, raw_low, raw_high, error
        The gap as it is, below 0 where the value is beyond the bound, its ends and its standard
        error.
    kind
        What the ends are, see :class:`edgeopt.bounds.Spread`.
    contradicted
        Whether the value is beyond the bound for sure: one of the two is wrong.
    """

    raw: float
    raw_low: float
    raw_high: float
    error: float
    kind: Kind
    contradicted: bool = False

    @property
    def value(self) -> float:
        """The gap, never below 0."""
        return float(np.maximum(self.raw, 0.0))

    @property
    def low(self) -> float:
        """Its lower end, never below 0: the interval ends at the bound."""
        return float(np.maximum(self.raw_low, 0.0))

    @property
    def high(self) -> float:
        """Its upper end, never below 0."""
        return float(np.maximum(self.raw_high, 0.0))

    @property
    def spread(self) -> Spread:
        """The gap with its ends, as it is shown."""
        return Spread(self.value, self.low, self.high, self.kind, 0)

    @property
    def beyond(self) -> bool:
        """Whether the value is beyond the bound, by chance or by mistake."""
        return self.raw < 0.0 and self.kind != "none" and not self.tied

    @property
    def tied(self) -> bool:
        """Whether it is at the bound but for rounding."""
        return abs(self.raw) <= DEFAULT


def gap_to(
    found: Estimate,
    bound: float,
    sense: Literal["max", "min"],
    confidence: float = 0.95,
    each: Sequence[float] = (),
    size: float = 0.0,
) -> Gap:
    """Return the gap of a value to a bound from above, ``"max"``, or from below.

    It is a share of the size of the bound, or of another size; of a bound of 0, the difference. In
    `each` may be a bound for every run, whose mean is the bound: then both sums are random.
    """
    missing = Gap(np.nan, np.nan, np.nan, np.nan, "none")
    if not (np.isfinite(bound) and np.isfinite(found.runs).all()):
        return missing
    toward = (1.0 if sense == "min" else -1.0) / (size or abs(bound) or 1.0)
    of, each_run = found, np.asarray(each, dtype=float)
    if each_run.size and bound and np.ptp(each_run) > EQUAL * abs(bound):
        runs = np.broadcast_to(found.runs, each_run.shape)
        parts = bound * ratio_parts(runs, each_run)
        error = float(parts.std(ddof=1)) * found.factor / parts.size**0.5
        of = Estimate(float(parts.mean()), error, parts, found.lost, found.factor, known=False)
    shown = of.spread(confidence)
    raw = toward * (of.mean - bound)
    low, high = sorted([toward * (shown.low - bound), toward * (shown.high - bound)])
    tolerance = DEFAULT * abs(toward) * max(abs(bound), abs(of.mean))
    farthest = raw if of.known or shown.kind == "equal" else np.inf
    if shown.kind == "interval":
        sure = of.spread(_SURE)
        farthest = max(toward * (sure.low - bound), toward * (sure.high - bound))
    contradicted = bool(farthest < -tolerance)
    return Gap(raw, low, high, abs(toward) * of.error, shown.kind, contradicted)


class _Fit:
    """The regression on the controls, the same for all policies."""

    def __init__(self, controls: Sequence[Control], count: int, most: int | None = None) -> None:
        self.controls, self.count = controls, count
        allowed = min(MOST_CONTROLS, count // _RUNS_EACH - 1) if most is None else most
        chosen = independent(controls, allowed)
        self.lost = len(chosen)
        self.design = np.column_stack([np.ones(count), *(one.runs - one.mean for one in chosen)])
        self.basis, upper = np.linalg.qr(self.design)
        degrees = count - 1 - self.lost
        first = np.linalg.solve(upper.T, np.eye(1 + self.lost)[0])
        self.inflation = float(first @ first)  # of the intercept: [(X'X)^-1]_00
        self.upper, self.degrees = upper, degrees
        self.factor = 1.0
        if self.lost:
            self.factor = float(np.sqrt((count - 1) / degrees * count * self.inflation))

    def of(self, runs: Floats) -> Estimate:
        """Return the value of a policy from its runs."""
        count, how = runs.size, _runs(runs.size)
        finite = np.isfinite(runs)
        if not finite.all():
            how = f"no value in {_runs(int((~finite).sum()))}"
            return Estimate(float(runs.mean()), np.nan, runs, how=how, known=False)
        scale = EQUAL * np.abs(runs).max()
        if count == 1:
            return Estimate(float(runs[0]), np.nan, runs, how=how, known=False)
        for one in self.controls:
            if one.runs.size == count and np.abs(runs - one.runs).max() <= scale:
                how = f"as {one.title} in all {how}"
                return Estimate(one.mean, 0.0, np.full(count, one.mean), how=how)
        if np.ptp(runs) <= scale:
            return Estimate(float(runs.mean()), 0.0, runs, how=how, known=False)
        if count != self.count or not self.lost:
            error = float(runs.std(ddof=1)) / count**0.5
            return Estimate(float(runs.mean()), error, runs, how=how, known=False)
        coefficients = np.linalg.solve(self.upper, self.basis.T @ runs)
        residual = runs - self.design @ coefficients
        mean = float(coefficients[0])
        if np.abs(residual).max() <= scale:
            how = f"as a combination of exact policies in all {how}"
            return Estimate(mean, 0.0, np.full(count, mean), how=how)
        residual -= residual.mean()
        error = float(np.sqrt(residual @ residual / self.degrees * self.inflation))
        return Estimate(mean, error, mean + residual, self.lost, self.factor, how, False)


def curve(
    runs: Floats, found: Estimate, controls: Sequence[Control], confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Return what leads to a value slot by slot, with the ends of its band.

    The runs are given up to every slot, shape [n, T], at the last one with their values; the curve
    ends at the value. One that is known takes the luck out of its own slots.
    """
    count = runs.shape[0]
    if found.known and count > 2:
        fit = _Fit([Control("", runs[:, -1], found.mean)], count, 1)
    else:
        fit = _Fit([one for one in controls if one.runs.size == count], count)
    coefficients = np.linalg.solve(fit.upper, fit.basis.T @ runs)
    mean = coefficients[0]
    if count < FEWEST_RUNS:
        low, high = (mean, mean) if found.exact else (runs.min(axis=0), runs.max(axis=0))
        return mean, low, high
    residual = runs - fit.design @ coefficients
    error = np.sqrt((residual**2).sum(axis=0) / fit.degrees * fit.inflation)
    reach = t_quantile(confidence, fit.degrees) * error
    below, above = _shares(mean + residual, reach, fit, confidence)
    return mean, mean - below * reach, mean + above * reach


def _shares(runs: Floats, reach: Floats, fit: _Fit, confidence: float) -> tuple[Floats, Floats]:
    """Return by how much the intervals of the test are wider than Student's, on either side.

    They are found at the last slot and some before it, and in between from these.
    """
    slots = np.unique(np.linspace(0, reach.size - 1, _TESTED).round().astype(int))
    shares = np.ones((2, slots.size))
    for place, slot in enumerate(slots):
        here = runs[:, slot]
        ends = np.array(mean_interval(here, confidence, fit.lost, fit.factor))
        if reach[slot] > EQUAL * np.abs(here).max() and np.isfinite(ends).all():
            shares[:, place] = np.abs(ends - here.mean()) / reach[slot]
    at = np.arange(reach.size)
    return np.interp(at, slots, shares[0]), np.interp(at, slots, shares[1])


def independent(controls: Sequence[Control], most: int) -> list[Control]:
    """Return the first controls that are not redundant, at most so many."""
    found: list[Control] = []
    basis = np.empty((controls[0].runs.size if controls else 0, 0))
    for one in controls:
        if len(found) >= most:
            break
        rest = one.runs - one.runs.mean()
        size = float(np.linalg.norm(rest))
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            rest = rest - basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if left > _REDUNDANT * max(size, float(np.abs(one.runs).max())):
            basis = np.column_stack([basis, rest / left])
            found.append(one)
    return found


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
