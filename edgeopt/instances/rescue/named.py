"""Named special cases: the instance that makes the guarantee tight, and tiny random ones."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.rescue.instance import RescueInstance, ReservedTasks
from edgeopt.options import check_choice, check_flag, check_real
from edgeopt.options import generator as source


def tight(eps: float) -> RescueInstance:
    r"""Return the instance on which no online policy beats a ratio of :math:`1 / (2 - \epsilon)`.

    One server, two slots, one profile that lasts two slots. Task 0 arrives for certain in slot 0
    and earns 1; in slot 1 either task 1 arrives, with probability :math:`\epsilon`, and earns
    :math:`1 / \epsilon`, or task 2, which earns nothing. Any online policy earns at most 1; who
    knows the arrivals earns :math:`2 - \epsilon` in expectation, and so does the LP relaxation. The
    ratio tends to 1/2.

    Parameters
    ----------
    eps
        Probability :math:`\epsilon` in (0, 1).

    Returns
    -------
    One server and two slots.

    Raises
    ------
    OptionError
        If ``eps`` is outside (0, 1).

    Notes
    -----
    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, Theorem 2. The proof prints the ratio as :math:`1/2 - \epsilon`, which would contradict
    Theorem 1; its own numbers give :math:`1 / (2 - \epsilon)`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> tight(0.1).horizon
    2
    """
    check_real("eps", eps, "(0, 1)")
    profit = np.zeros((2, 3, 1, 1, 1))
    profit[0, 0] = 1.0
    profit[1, 1] = 1.0 / eps
    return RescueInstance(
        arrival=np.array([[1.0, 0.0, 0.0], [0.0, eps, 1.0 - eps]]),
        duration=np.array([[0.0, 1.0]]),
        capacity=np.ones((1, 2)),
        reserved=ReservedTasks.none(),
        profit=profit,
    )


def small(
    rng: int | np.random.Generator,
    *,
    reserved: bool = True,
    arrivals: Literal["exclusive", "independent"] = "exclusive",
    beyond: Literal["hold", "drop"] = "hold",
) -> RescueInstance:
    """Draw an instance small enough to be enumerated.

    At most 2 servers, 3 devices, 2 profiles, 4 slots and durations of 3 slots. Capacities and
    demands are whole numbers, and each reserved task is kept only if it fits with those before it.

    Parameters
    ----------
    rng
        Seed or generator.
    reserved
        Whether to draw reserved tasks, up to 3.
    arrivals, beyond
        Passed to `RescueInstance`.

    Returns
    -------
    At most 2 servers, 3 devices, 2 profiles and 4 slots.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> small(0)
    RescueInstance(servers=2, devices=2, profiles=1, horizon=3, max_duration=1, reserved=2,
    arrivals='exclusive', beyond='hold')
    """
    check_flag("reserved", reserved)
    check_choice("arrivals", arrivals, ("exclusive", "independent"))
    generator = source(rng)
    servers, devices = (int(generator.integers(1, n + 1)) for n in (2, 3))
    horizon, longest = (int(generator.integers(1, n + 1)) for n in (4, 3))
    profiles = int(generator.integers(1, min(2, longest) + 1))

    # Some devices are silent in some slots, and some slots are certain to bring a task.
    arrival = generator.dirichlet(np.ones(devices), horizon)
    arrival *= generator.choice([0.3, 0.7, 1.0], (horizon, 1))
    if arrivals == "independent":
        arrival = generator.choice([0.2, 0.5, 0.8, 1.0], (horizon, devices))
    arrival *= generator.random((horizon, devices)) < 0.85

    duration = generator.dirichlet(np.full(longest, 0.7), profiles)
    duration = duration[np.argsort(duration @ np.arange(1, longest + 1))]
    capacity = generator.integers(1, 4, (servers, horizon)).astype(np.float64)
    profit = generator.choice([0.0, 1.0, 2.0, 5.0], (horizon, devices, servers, profiles, longest))
    profit *= generator.uniform(0.5, 1.5, profit.shape)
    tasks = _draw_tasks(generator, capacity) if reserved else ReservedTasks.none()
    return RescueInstance(arrival, duration, capacity, tasks, profit, arrivals, beyond)


def _draw_tasks(
    generator: np.random.Generator, capacity: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> ReservedTasks:
    servers, horizon = capacity.shape
    kept = ReservedTasks.none()
    for _ in range(int(generator.integers(0, 4))):
        k = int(generator.integers(servers))
        first, last = np.sort(generator.integers(0, horizon, 2)).tolist()
        need = float(generator.integers(1, int(capacity[k, first : last + 1].sum()) + 1))
        trial = ReservedTasks(
            np.append(kept.server, k),
            np.append(kept.start, first),
            np.append(kept.end, last),
            np.append(kept.demand, need),
        )
        with suppress(InstanceError):
            trial.check(capacity)
            kept = trial
    return kept
