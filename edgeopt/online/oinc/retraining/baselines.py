"""Baselines that keep an order at every site: deadline-aware insertion, and batches in windows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.oinc.components import Part, Service, check_service, run_in_order

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.components import Queues
    from edgeopt.online.oinc.events import Jobs, Runs


Orders: TypeAlias = tuple[tuple[int, ...], ...]
"""Numbers of the jobs of each site, those to be served first in front."""


def no_orders(sites: int) -> Orders:
    """Return the orders of sites without a job."""
    return ((),) * sites


def unfinished(orders: Orders, jobs: Jobs) -> Orders:
    """Return the orders without the jobs that are complete."""
    left = set(jobs.job.tolist())
    return tuple(tuple(k for k in order if k in left) for order in orders)


def places_in(orders: Orders, jobs: Jobs) -> Ints:
    """Return the places in `jobs` of what the orders list, order after order."""
    listed = np.fromiter(chain.from_iterable(orders), dtype=np.int64)
    return np.searchsorted(jobs.job, listed)


def sites_of(orders: Orders, jobs: Jobs) -> Ints:
    """Return the site of every job, -1 for one that no order lists, shape [q]."""
    site = np.full(jobs.job.size, -1, dtype=np.int64)
    site[places_in(orders, jobs)] = np.repeat(np.arange(len(orders)), [len(o) for o in orders])
    return site


ROUNDING: Final = 1e-9
"""Share of a slot that counts as none when completions are held against deadlines, and share of
their sums when these are held against each other."""


class Change(NamedTuple):
    """What the best place for a new job at a site would change."""

    met: int  # deadlines that are met more than before; negative if fewer
    completion: float  # sum of completion times of the site, more than before, s
    place: int  # place of the new job in the order
    replaces: bool  # whether the job that had the place goes to the end of the order


@dataclass(frozen=True, eq=False, kw_only=True)
class Dedas(Part):
    """Insert every new job where the most deadlines are met; earlier choices stand.

    A new job is tried at every place of the order of every site that serves jobs, and in the place
    of every job there, which then goes to the end of its order. The choice with the most met
    deadlines is kept, of equal ones that with the least average completion time, then the lower
    site, an insertion before a replacement, and the later place. Sites serve their jobs in this
    order. What has started is not interrupted, and nothing changes its site. Completion times are
    predicted from the speeds of the slot in which the job arrives. Weights are ignored.

    Parameters
    ----------
    service
        ``"fluid"``: the next job uses what the one before leaves of a slot. ``"slot"``: the rest
        of the slot is wasted.

    Raises
    ------
    OptionError
        If the service is unknown.

    Notes
    -----
    The baseline "Dedas" of Zeng et al., section V: an interpretation of a description of one line.
    The paper does not say what happens to a job whose place is taken; here it is served last, since
    every job has to be completed some time.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Dedas, Oinc, OincEnvironment
    >>> simulate(OincEnvironment(small(1)), Oinc(retraining=Dedas()), runs=1)
    OincTrajectory(OINC with Dedas, 1 scenario, 2 slots, mean reward 5.05429)
    """

    title: ClassVar[str] = "Dedas"

    service: Service = "fluid"

    def __post_init__(self) -> None:
        check_service(self.service)

    def start(self, instance: OincInstance) -> Orders:
        """Begin with empty orders."""
        return no_orders(instance.sites)

    def dispatch(self, memory: Orders, queues: Queues) -> tuple[Ints, Orders]:
        """Insert the jobs that wait nowhere, one after the other."""
        jobs = queues.jobs
        orders = unfinished(memory, jobs)
        if (queues.speed > 0).any():
            for new in np.flatnonzero(sites_of(orders, jobs) < 0):
                orders = self._with(orders, queues, int(new))
        return sites_of(orders, jobs), orders

    def serve(self, memory: Orders, queues: Queues) -> tuple[Runs, Orders]:
        """Serve every site in its order."""
        return run_in_order(queues, places_in(memory, queues.jobs), self.service), memory

    def _with(self, orders: Orders, queues: Queues, new: int) -> Orders:
        """Return the orders with a job put where it does best."""
        jobs = queues.jobs
        best, at = None, -1
        for j in np.flatnonzero(queues.speed > 0):
            here = places_in((orders[j],), jobs)
            locked = int(jobs.started[here].sum())
            change = Change(
                *_best_place(
                    jobs.remaining[here] / queues.speed[j], jobs.deadline[here], locked,
                    jobs.remaining[new] / queues.speed[j], jobs.deadline[new],
                    float(queues.slot), self.service == "slot",
                )
            )  # fmt: skip
            if best is None or _better(change.met, change.completion, best.met, best.completion):
                best, at = change, int(j)
        assert best is not None
        order = list(orders[at])
        taken = [order.pop(best.place)] if best.replaces else []
        order = [*order[: best.place], int(jobs.job[new]), *order[best.place :], *taken]
        return (*orders[:at], tuple(order), *orders[at + 1 :])


@compiled(both=True)
def _better(met: int, completion: float, than_met: int, than_completion: float) -> bool:
    """Tell whether more deadlines are met, or as many at a smaller sum of completion times."""
    if met != than_met:
        return met > than_met
    return completion < than_completion - ROUNDING * max(abs(completion), abs(than_completion))


@compiled(writes="duration")
def _best_place(
    duration: Floats,
    deadline: Floats,
    locked: int,
    new_duration: float,
    new_deadline: float,
    now: float,
    whole: bool,
) -> tuple[int, float, int, bool]:
    """Return the entries of the best `Change` of a site, the first `locked` jobs left in front."""
    q = duration.size
    durations, deadlines = np.empty(q + 1, dtype=np.float64), np.empty(q + 1, dtype=np.float64)
    put(duration, durations)
    put(deadline, deadlines)
    durations[q], deadlines[q] = new_duration, new_deadline
    old = np.arange(q)
    met_before, completion_before = _outcome(old, durations, deadlines, now, whole)
    best = (-q - 2, np.inf, q, False)
    order = np.empty(q + 1, dtype=np.int64)
    for turn in range(2):
        replaces = turn == 1
        # Taking the place of the last job is to be inserted before it.
        last = q - 2 if replaces else q
        for place in range(last, locked - 1, -1):
            put(old[:place], order)
            order[place] = q
            if replaces:
                put(old[place + 1 :], order[place + 1 :])
                order[q] = place
            else:
                put(old[place:], order[place + 1 :])
            met, completion = _outcome(order, durations, deadlines, now, whole)
            met, completion = met - met_before, completion - completion_before
            if best[1] == np.inf or _better(met, completion, best[0], best[1]):
                best = (met, completion, place, replaces)
    return best


@compiled
def _outcome(
    order: Ints, duration: Floats, deadline: Floats, now: float, whole: bool
) -> tuple[int, float]:
    """Return how many deadlines an order meets, and the sum of completion times."""
    met, total, clock = 0, 0.0, now
    for k in order:
        clock += np.ceil(duration[k] - ROUNDING) if whole else duration[k]
        total += clock
        met += clock <= deadline[k] + ROUNDING
    return met, total


class Windows(NamedTuple):
    """What batches in windows remember."""

    orders: Orders  # jobs of the sites, batch after batch
    next: int  # slot in which the next window begins: a power of 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Zhang(Part):
    r"""Collect jobs over windows that double, and start a batch of them with each window.

    Windows are the slots :math:`[2^q, 2^{q+1})`, and slot 0 before them. When one begins, the jobs
    that arrived before it and wait make up its batch, as far as their work fits into the window at
    the speed of all sites together: in descending order of profit per work each that still fits,
    or the single job of most profit that fits if it has more than these together. The profit is
    :math:`\beta_k / D_k`. The batch is scheduled as a list, again by profit per work, each job at
    the site where it would be complete first, behind what waits there. Sites serve their jobs in
    this order without interruption; what does not fit waits for a longer window.

    Parameters
    ----------
    service
        ``"fluid"``: the next job uses what the one before leaves of a slot. ``"slot"``: the rest
        of the slot is wasted.

    Raises
    ------
    OptionError
        If the service is unknown.

    Notes
    -----
    The baseline "Zhang" of Zeng et al., section V: an interpretation of a description of one line,
    with list scheduling where a rounded linear programme may have been meant. Of equal jobs the
    lower number comes first, of equal sites the lower number is taken. Where no site serves jobs as
    a window begins, its batch starts with the first slot in which one does.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment, Zhang
    >>> simulate(OincEnvironment(small(1)), Oinc(retraining=Zhang()), runs=1)
    OincTrajectory(OINC with Zhang, 1 scenario, 2 slots, mean reward 4.79557)
    """

    title: ClassVar[str] = "Zhang"

    service: Service = "fluid"

    def __post_init__(self) -> None:
        check_service(self.service)

    def start(self, instance: OincInstance) -> Windows:
        """Begin with empty orders; the window after slot 0 begins in slot 1."""
        return Windows(no_orders(instance.sites), 1)

    def dispatch(self, memory: Windows, queues: Queues) -> tuple[Ints, Windows]:
        """Dispatch a batch if a window begins."""
        jobs, slot = queues.jobs, queues.slot
        orders = unfinished(memory.orders, jobs)
        if slot < memory.next or not (queues.speed > 0).any():
            return sites_of(orders, jobs), memory._replace(orders=orders)
        begin = 1 << (slot.bit_length() - 1)
        waiting = np.flatnonzero((sites_of(orders, jobs) < 0) & (jobs.arrival < begin))
        profit = jobs.weight / jobs.deadline
        fits = begin * float(queues.speed.sum())
        batch = waiting[_knapsack(profit[waiting], jobs.work[waiting], fits)]
        orders = _listed(orders, batch, profit, queues)
        return sites_of(orders, jobs), Windows(orders, 2 * begin)

    def serve(self, memory: Windows, queues: Queues) -> tuple[Runs, Windows]:
        """Serve every site in its order."""
        return run_in_order(queues, places_in(memory.orders, queues.jobs), self.service), memory


def _knapsack(profit: Floats, size: Floats, room: float) -> Ints:
    """Return which items to pack: at least half the profit that fits."""
    fitting = np.flatnonzero(size <= room)
    if fitting.size == 0:
        return fitting
    # Greedy by profit per size, or the best item alone: half of the optimum (Dantzig 1957).
    packed, used = [], 0.0
    for item in fitting[np.argsort(-profit[fitting] / size[fitting], kind="stable")]:
        if used + size[item] <= room:
            packed.append(item)
            used += size[item]
    single = fitting[np.argmax(profit[fitting])]
    if profit[single] > profit[packed].sum():
        packed = [single]
    return np.sort(np.array(packed, dtype=np.int64))


def _listed(orders: Orders, batch: Ints, profit: Floats, queues: Queues) -> Orders:
    """Return the orders with a batch behind them, scheduled as a list."""
    jobs, speed = queues.jobs, queues.speed
    able = np.flatnonzero(speed > 0)
    free = np.array([jobs.remaining[places_in((orders[j],), jobs)].sum() for j in able])
    free /= speed[able]
    # List scheduling (Graham 1969).
    grown = [list(order) for order in orders]
    for place in batch[np.argsort(-profit[batch] / jobs.work[batch], kind="stable")]:
        complete = free + jobs.remaining[place] / speed[able]
        first = int(np.argmin(complete))
        free[first] = complete[first]
        grown[able[first]].append(int(jobs.job[place]))
    return tuple(tuple(order) for order in grown)
