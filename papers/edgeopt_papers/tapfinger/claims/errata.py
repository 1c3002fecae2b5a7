"""Errors in the paper on TapFinger, and their corrections."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.tapfinger import TapFingerInstance, expected_durations, from_durations
from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain, solo_durations
from edgeopt.instances.tapfinger.generate import synthetic_workload
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import Min, TapFingerEnvironment, TapFingerTrajectory
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.evaluation import erratum
from edgeopt_papers.tapfinger.claims.instances import keen_or_roomy
from edgeopt_papers.tapfinger.recorded import RECORDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.instances.tapfinger.generate import Law
    from edgeopt_papers.claims.errata import Erratum

PATIENCE = 1000
"""Rounds after which a loop counts as endless."""

POINTS = 20_000
"""Values of the noise, evenly spread, over which a gain is averaged."""


def loop(tasks: Sequence[int], *, published: bool) -> tuple[int, int]:
    """Run the loop of Algorithm 1; return its rounds and the tasks that still wait.

    Every agent can take all of its tasks, and names one per round.
    """
    left = list(tasks)
    for count in range(1, PATIENCE + 1):
        started = [some > 0 for some in left]
        left = [some - begun for some, begun in zip(left, started, strict=True)]
        if all(started) if published else not any(started):
            return count, sum(left)
    return PATIENCE, sum(left)


def replayed(slots: int, *, published: bool) -> int:
    """Return how many slots a task takes when its measured, steady progress is replayed."""
    progress, count = 0.0, 0
    while progress < COMPLETE:
        count += 1
        progress += (count if published else 1) / slots
    return count


def mean_gain(gain: float, noise: float) -> float:
    """Return the mean gain of a slot under noise that is even, by its closed form."""
    cut = max(0.0, noise - gain)
    return gain + (cut * cut / (4.0 * noise) if noise > 0.0 else 0.0)


def _averaged_gain(gain: float, noise: float) -> float:
    evenly = noise * ((np.arange(POINTS) + 0.5) / POINTS * 2.0 - 1.0)
    return float(np.maximum(0.0, gain + evenly).mean())


def _longest(law: Law) -> float:
    """Return how long a made-up task that is sensitive to resources takes at most, slots."""
    made = synthetic_workload(law)
    return float(solo_durations(made.speed[None, 1:], made.slowing[1:]).max())


def _longest_by_steps() -> float:
    progress, slots = 0.0, 0
    while progress < COMPLETE:
        progress += progress_gain(float(np.tanh(1 / 16)), True, progress)
        slots += 1
    return float(slots)


def _alone_under_noise(instance: TapFingerInstance) -> tuple[float, float]:
    """Return how long a task takes without noise and on average with it, where they differ most."""
    mean = expected_durations(instance)
    place = np.unravel_index(np.abs(mean - instance.duration).argmax(), mean.shape)
    return float(instance.duration[place]), float(mean[place])


def _started_together(slots: Sequence[int]) -> TapFingerTrajectory:
    """Run `Min` on a cluster that can take all tasks, which arrive in slot 0."""
    count = len(slots)
    duration = np.zeros((1, count, count + 1, count + 1), dtype=int)
    duration[0, :, 1:, 1:] = np.array(slots)[:, None, None]
    instance = from_durations(
        duration,
        minimum=[[1, 1]] * count,
        capacity=[[count, count]],
        arrival=[0] * count,
        kind=list(range(count)),
    )
    return simulate(TapFingerEnvironment(instance), Min(), runs=1)


def _arrivals(running: Sequence[int], *, shared: bool) -> list[int]:
    """Draw the arrivals that a policy sees with so many running tasks in each slot."""
    arrivals, noise = np.random.default_rng(0).spawn(2)
    found = []
    for tasks in running:
        found.append(int(arrivals.poisson(2.0)))
        (arrivals if shared else noise).uniform(-0.1, 0.1, tasks)
    return found


def _differences(*, shared: bool) -> float:
    pairs = zip(_arrivals((1, 1), shared=shared), _arrivals((2, 1), shared=shared), strict=True)
    return float(sum(a != b for a, b in pairs))


def _reward(flows: Sequence[int], discount: float) -> float:
    return -sum(discount**t * sum(flow > t for flow in flows) for t in range(max(flows)))


def errata() -> tuple[Erratum, ...]:
    """Evaluate all examples."""
    two, mixed = _started_together((1, 1)), _started_together((1, 2))
    rounds = mixed.decisions[0]
    rivals = keen_or_roomy()
    bundles = list(itertools.product((0, 1), repeat=2))
    early, late = (11, 11), (1, 22)
    flows = [sum(itertools.accumulate(order)) for order in itertools.permutations((1, 10))]
    shorter, longer = _alone_under_noise(named.one_gpu()), _alone_under_noise(named.insensitive())
    computed, theirs = RECORDED["three", "tapfinger"], RECORDED["three", "optimus"]
    gain = {
        name: 100.0 * (1.0 - getattr(computed, name) / getattr(theirs, name))
        for name in ("mean", "median")
    }
    # Clusters start one task per slot in the first runs, several in the second.
    runs = {"slots": RECORDED["three", "tiresias"], "rounds": RECORDED["several", "tiresias"]}
    sent = 1e3 * 8 * (2000 + 800) / 1e6
    over = {mode: run.gpu - run.cpu / 2.0 for mode, run in runs.items()}
    return (
        erratum(
            "equation2.published",
            max(sum(y) for y in bundles),
            max(sum(y) for y in bundles if sum(y) == 1),
            1.0,
        ),
        erratum(
            "equation8.published",
            min(min(x) for x in bundles) - 1,
            min(min(x) for x in bundles if min(x) >= 1) - 1,
            0.0,
        ),
        erratum(
            "timesteps.published",
            (two.accumulation * two.decisions).sum(),
            two.accumulation.sum(),
            two.flow_time.sum(),
        ),
        erratum("timesteps.uniform", 2 * rounds[0], rounds[:2].sum(), rounds.sum()),
        erratum(
            "reward.discounted",
            _reward(early, 0.99) - _reward(late, 0.99),
            _reward(early, 1.0) - _reward(late, 1.0),
            0.0,
        ),
        erratum(
            "algorithm1.published",
            loop((2,), published=True)[1],
            loop((2,), published=False)[1],
            0.0,
        ),
        erratum(
            "algorithm1.endless", loop((0,), published=True)[0], loop((0,), published=False)[0], 1.0
        ),
        erratum(
            "equation11.published",
            rivals.product[int(np.argmax(rivals.room))],
            rivals.product[rivals.winner()],
            rivals.product.max(),
        ),
        erratum("durations.published", _longest("constant"), _longest("sqrt"), _longest_by_steps()),
        erratum("curve.published", replayed(3, published=True), replayed(3, published=False), 3.0),
        erratum("noise.published", 0.0625, mean_gain(0.0625, 0.1), _averaged_gain(0.0625, 0.1)),
        erratum("noise.durations.published", shorter[0], shorter[1], shorter[1]),
        erratum("noise.durations.faster", longer[0], longer[1], longer[1]),
        erratum("min.published", min(flows), 1.5 * 11, float(np.mean(flows))),
        erratum("scenarios.shared", _differences(shared=True), _differences(shared=False), 0.0),
        erratum("headline.published", gain["median"], gain["mean"], gain["mean"]),
        erratum("tiresias.published", over["rounds"], over["slots"], 0.0),
        erratum("communication.published", 9.549, sent + 10.0, sent),
    )
