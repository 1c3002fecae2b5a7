"""The same sites for fewer frames, to see how what a policy loses grows with the horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt import processes
from edgeopt.bounds.growth import Growth, growth_exponent
from edgeopt.bounds.regret import dynamic_fit, dynamic_regret
from edgeopt.errors import OptionError
from edgeopt.solvers.tolerance import LOOSE
from edgeopt.studies.edr.benchmarks import FRAMEWISE
from edgeopt.studies.edr.ledger import plays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrEnvironment, EdrTrajectory
    from edgeopt.studies.result import Case

__all__ = ["Losses", "cut", "exponent", "horizons", "losses", "lost"]

_POINTS = 5
_SHARE = 8


class Losses(NamedTuple):
    """What a policy loses over each of several horizons.

    Parameters
    ----------
    regret
        Cost beyond that of the best plan of every frame for itself, shape [n].
    fit
        Norm of the rounds by which tasks lag behind their even rates at the end, shape [n].
    """

    regret: NDArray[np.float64]
    fit: NDArray[np.float64]


def horizons(frames: int) -> NDArray[np.int64]:
    """Return the horizons to look at: five at most, the longest all frames, the least an eighth."""
    points = np.geomspace(max(1.0, frames / _SHARE), frames, _POINTS)
    return np.unique(points.round().astype(np.int64))


def cut(instance: EdrInstance, frames: int) -> EdrInstance:
    """Return the first frames of an instance; tasks whose window is cut keep their even rate."""
    if frames >= instance.frames:
        return instance
    here = instance.arrival < frames
    deadline = np.minimum(instance.deadline[here], frames - 1)
    window = deadline - instance.arrival[here] + 1
    # Exact in whole numbers, where a rounded rate could need a round too many.
    rounds = -(-instance.rounds[here] * window // instance.window[here])
    per_task = ("arrival", "server", "local_steps", "step_work", "aggregation_work", "model_size")
    per_frame = ("cap", "price", "requests", "propagation", "slo", "rate")
    kind = None if instance.task_kind is None else instance.task_kind[here]
    return instance.replace(
        **{name: getattr(instance, name)[here] for name in (*per_task, "client")},
        **{name: getattr(instance, name)[:frames] for name in per_frame},
        deadline=deadline,
        rounds=rounds,
        task_kind=kind,
    )


def lost(
    instance: EdrInstance, trajectory: EdrTrajectory, best: NDArray[np.float64]
) -> tuple[float, float]:
    """Return regret and fit of a policy over all frames of an instance."""
    paid = (trajectory.cost + trajectory.unserved_cost).mean(axis=0)
    rate = np.where(instance.active, instance.even_rate, 0.0)
    lag = rate - trajectory.rounds.mean(axis=0)
    fit = dynamic_fit(lag).value
    # Whole rounds less a sum of rates: what is left by rounding is no lag.
    return dynamic_regret(paid, best).value, fit if fit > LOOSE else 0.0


def losses(case: Case) -> tuple[NDArray[np.int64], dict[str, Losses]]:
    """Return the horizons and what every policy loses over each of them."""
    instance: EdrInstance = case.instance
    lengths = horizons(instance.frames)
    shorter = [cut(instance, frames) for frames in lengths[:-1].tolist()]
    record, seed = case.system, case.settings.seed
    with processes.pool(case.settings.workers) as pool:
        framewise = record.benchmarks[FRAMEWISE].compute
        solved = list(pool((framewise, (given,)) for given in shorter))
        lived = list(
            pool(
                (_live, (record.environment(given), policy, seed))
                for given in shorter
                for policy in case.policies.values()
            )
        )
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in case.trajectories}
    live = iter(lived)
    for given, benchmark in zip(shorter, solved, strict=True):
        for rows in found.values():
            rows.append(lost(given, next(live), benchmark.plan.cost))
    best = case.benchmarks[FRAMEWISE].plan.cost
    for name, trajectory in plays(case).items():
        found[name].append(lost(instance, trajectory, best))
    return lengths, {name: Losses(*np.array(rows).T) for name, rows in found.items()}


def _live(environment: EdrEnvironment, policy: Any, seed: int) -> EdrTrajectory:
    """Live through the first world; the horizons differ more than the runs do."""
    from edgeopt.online import simulate

    return simulate(environment, policy, rng=seed, runs=1)


def exponent(
    lengths: NDArray[np.int64], values: NDArray[np.float64], confidence: float
) -> Growth | None:
    """Fit a power of the horizon to the positive values; None if there are fewer than three."""
    try:
        return growth_exponent(lengths, values, confidence=confidence, skip=True)
    except OptionError:
        return None
