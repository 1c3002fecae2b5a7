"""Theorem V.1: the regret of INFIDA, with the printed constant and with a better one."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.regret import PSI, psi_regret
from edgeopt_papers.idn.claims.evaluation import (
    CHOICE,
    WHOLE,
    Evaluation,
    centre,
    claim,
    free,
)
from edgeopt_papers.idn.claims.instances import EXPERTS, LONG
from edgeopt_papers.idn.claims.rounding_distribution import expected_gain
from edgeopt_papers.idn.claims.run_policy import average_run, logs, run_policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

ITERATIONS = 200
"""Iterations of the offline policy."""

FEW = 20
"""Iterations where their number does not matter."""

WORK = 2_000_000
"""Most slots times options of a run where the number of iterations does not matter."""


def require_use(constant: float, slots: int, most: float) -> float:
    """Return the bound on the regret, unless earning nothing, which costs `most`, would keep it."""
    promise = constant * math.sqrt(slots)
    if promise >= most:
        needed = math.ceil(slots * (promise / most) ** 2) if most > 0 else math.inf
        raise NotApplicableError(
            f"worse than trivial at T = {slots}: A sqrt(T) = {promise:.4g} ms, and earning nothing "
            f"costs {most:.4g} ms; the bound is not trivial from T = {needed:.3g} on"
        )
    return promise


def _regret(view: Evaluation, rates: NDArray[np.float64], constant: float) -> Measurement:
    """Exact psi-regret against the best static allocation, or a bound on it if that is too much."""
    slots = view.instance.horizon
    try:
        best = static_optimum(view)
    except NotApplicableError:
        require_use(constant, slots, PSI * view.largest_gain)  # without a run
        return _regret_from_above(view, rates, constant)
    promise = require_use(constant, slots, PSI * best.gain * slots)
    try:
        gains = [
            expected_gain(view, step.slot, step.point) for step in run_policy(view, rates, slots)
        ]
    except NotApplicableError:
        return _regret_from_above(view, rates, constant)
    found = psi_regret(gains, best.gain * slots, guarantee=promise)
    proof = {**found.certificate, "allocation": best.allocation, "rates": rates}
    return Measurement(found.value, promise, proof)


def _regret_from_above(
    view: Evaluation, rates: NDArray[np.float64], constant: float
) -> Measurement:
    """Bound the optimum by the tangents of the gain, expectations by the bounding function."""
    slots = view.instance.horizon
    sums = logs(view, rates, slots)
    most = sums.gain + sums.linear_regret
    promise = require_use(constant, slots, PSI * most)
    measured = PSI * most - sums.bounding
    if measured > promise:
        raise NotApplicableError("too large for the exact regret, and its bound decides nothing")
    return Measurement(
        measured, promise, {"static_bound": most, "expected_at_least": sums.bounding}
    )


def _published(view: Evaluation) -> Measurement:
    constants = view.constants
    return _regret(view, constants.published_rate(view.instance.horizon), constants.published)


def _sharper(view: Evaluation) -> Measurement:
    constants = view.constants
    return _regret(view, constants.sharper_rates(view.instance.horizon), constants.sharper)


def _linear_published(view: Evaluation) -> Measurement:
    """Compare with the bound (161) before the norms are replaced by their largest values."""
    constants, slots = view.constants, view.instance.horizon
    rates = constants.published_rate(slots)
    if rates.max() == 0:
        raise NotApplicableError("nothing can be gained at any node with a choice")
    sums, rate = logs(view, rates, slots), float(rates.max())
    curved = rate / (2 * constants.paper.convexity) * sums.squared_norm
    return Measurement(sums.linear_regret, constants.diameter / rate + curved)


def _linear_per_node(view: Evaluation) -> Measurement:
    constants, slots = view.constants, view.instance.horizon
    rates = constants.sharper_rates(slots)
    learning = rates > 0
    if not learning.any():
        raise NotApplicableError("nothing can be gained at any node with a choice")
    sums = logs(view, rates, slots)
    rate, budget = rates[learning], constants.budget[learning]
    start = constants.diameters[learning] / rate
    curved = rate * budget / 8 * sums.squared_range[learning]
    proof = {"rates": rates, "squared_range": sums.squared_range}
    return Measurement(sums.linear_regret, float((start + curved).sum()), proof)


def _offline(view: Evaluation, rates: NDArray[np.float64], constant: float) -> Measurement:
    """Round the average of the fractional allocations of an ascent on the average gain."""
    best = static_optimum(view)
    average = average_run(view, rates, ITERATIONS)
    measured = sum(share * expected_gain(view, slot, average) for slot, share in view.distinct)
    promise = PSI * best.gain - constant / math.sqrt(ITERATIONS)
    if promise <= 0:
        raise NotApplicableError(f"worse than trivial after {ITERATIONS} iterations")
    return Measurement(measured, promise, {"average": average, "optimum": best.gain})


def _offline_published(view: Evaluation) -> Measurement:
    constants = view.constants
    return _offline(view, constants.published_rate(ITERATIONS), constants.published)


def _offline_sharper(view: Evaluation) -> Measurement:
    constants = view.constants
    return _offline(view, constants.sharper_rates(ITERATIONS), constants.sharper)


def _iterations(view: Evaluation) -> int:
    """Return how many iterations a network of this size runs where any number serves."""
    return int(np.clip(WORK // (len(view.distinct) * len(view.instance.ranking)), 2, FEW))


def _mean_by_horizon(view: Evaluation) -> Measurement:
    """Compare the size of (1 / T) sum of y over the iterations with the budget it should fill."""
    count = _iterations(view)
    total = average_run(view, view.constants.sharper_rates(count), count) * count
    v = int(np.flatnonzero(free(view.instance))[0])
    used = float(view.instance.size[v] @ total[v]) / view.instance.horizon
    return Measurement(used, view.instance.budget[v], {"node": v})


def _mean_by_iterations(view: Evaluation) -> Measurement:
    count = _iterations(view)
    average = average_run(view, view.constants.sharper_rates(count), count)
    used = (view.instance.size * average).sum(axis=1)
    choice = np.flatnonzero(free(view.instance))
    v = choice[int(np.argmax(np.abs(used - view.instance.budget)[choice]))]
    return Measurement(used[v], view.instance.budget[v], {"node": int(v)})


LARGEST = 2048
"""Largest number of allocations that are formed."""


class Optimum(NamedTuple):
    """The best static allocation."""

    gain: float  # its gain per slot, averaged over the slots, ms
    allocation: NDArray[np.float64]  # the allocation itself, shape [V, M]


def all_allocations(instance: IdnInstance) -> NDArray[np.float64]:
    """Form every allocation of whole models within the budgets to which nothing can be added."""
    choice = np.flatnonzero(free(instance))
    if instance.models > 12 or instance.models * len(choice) > 24:
        raise NotApplicableError("too large to form all static allocations")
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=instance.models)))
    fitting = []
    for v in choice:
        used = sets @ instance.size[v]
        left = instance.budget[v] - used
        least = np.where(sets > 0, np.inf, instance.size[v]).min(axis=1)
        fitting.append(sets[(left >= 0) & (least > left)])
    count = int(np.prod([len(rows) for rows in fitting], dtype=float))
    if count > LARGEST:
        raise NotApplicableError(f"too large to try all {count} static allocations")
    found = np.repeat(centre(instance)[None], count, axis=0)
    for n, rows in enumerate(itertools.product(*fitting)):
        for v, row in zip(choice, rows, strict=True):
            found[n, v] = row
    return found


def static_optimum(view: Evaluation) -> Optimum:
    """Try all static allocations against the whole sequence of the adversary."""
    allocations = all_allocations(view.instance)
    rows, total = allocations.reshape(len(allocations), -1), np.zeros(len(allocations))
    for slot, share in view.distinct:
        total += share * slot.ranked(rows)
    best = int(np.argmax(total))
    return Optimum(float(total[best]), allocations[best])


CLAIMS = (
    claim("theorem5_1", _published, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim("theorem5_1.sharper", _sharper, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim("equation161", _linear_published, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim("equation161.sharper", _linear_per_node, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim("proposition5_1_1", _offline_published, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim(
        "proposition5_1_1.sharper", _offline_sharper, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)
    ),
    claim("average", _mean_by_iterations, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim(
        "average.published",
        _mean_by_horizon,
        {name: EXPERTS[name] for name in ["adversarial(horizon=400, tasks=2)"]},
        assumptions=(CHOICE, WHOLE),
    ),
)
