"""Deadline-aware insertion: a new job takes the place at which most deadlines are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.naming import named
from edgeopt.online.oinc.retraining.fixed_order import (
    no_orders,
    places_in,
    sites_of,
    unfinished,
)
from edgeopt.online.oinc.retraining.service import Service, check_service, run_in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import Runs
    from edgeopt.online.oinc.policies.parts import Queues
    from edgeopt.online.oinc.retraining.fixed_order import Orders

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Dedas"]

ROUNDING: Final = 1e-9
"""Share of a slot that counts as none when completions are held against deadlines, and share of
their sums when these are held against each other."""


class Change(NamedTuple):
    """What the best place for a new job at a site comes to.

    Attributes
    ----------
    met
        Deadlines that are met more than before; negative if fewer.
    completion
        Completion times of the jobs of the site, that of the new one included, more than before, s.
    place
        Place of the new job in the order.
    replaces
        Whether the job that had the place goes to the end of the order.
    """

    met: int
    completion: float
    place: int
    replaces: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Dedas:
    """Insert every new job where the most deadlines are met, and never look back.

    A new job is tried at every place of the order of every site that serves jobs, and in the place
    of every job there, which then goes to the end of its order. The choice with the most met
    deadlines is kept, of equal ones that with the least average completion time, then the lower
    site, an insertion before a replacement, and the later place. Sites serve their jobs in this
    order. What has started is not interrupted, and nothing changes its site. Completion times are
    predicted from the speeds of the slot in which the job arrives. Weights play no part.

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
    The baseline "Dedas" of Zeng et al., section V: a reading of a description of one line. What
    happens to a job whose place is taken is not told; here it is served last, since every job has
    to be complete some time.
    """

    title: ClassVar[str] = "Dedas"

    service: Service = "fluid"

    def __post_init__(self) -> None:
        check_service(self.service)

    @property
    def name(self) -> str:
        """Title, and the options that are not default."""
        return named(self.title, self)

    def start(self, instance: OincInstance) -> Orders:
        """Begin with empty orders."""
        return no_orders(instance.sites)

    def dispatch(self, memory: Orders, queues: Queues) -> tuple[Ints, Orders]:
        """Insert the jobs that wait nowhere, one after the other.

        Parameters
        ----------
        memory
            Orders of the sites.
        queues
            The jobs and the sites. Where nothing is kept for jobs none is sent.

        Returns
        -------
        Site of each job, -1 while no site serves jobs, shape [q]; and the orders after it.
        """
        jobs = queues.jobs
        orders = unfinished(memory, jobs)
        if (queues.speed > 0).any():
            for new in np.flatnonzero(sites_of(orders, jobs) < 0):
                orders = self._with(orders, queues, int(new))
        return sites_of(orders, jobs), orders

    def serve(self, memory: Orders, queues: Queues) -> tuple[Runs, Orders]:
        """Serve every site in its order.

        Parameters
        ----------
        memory
            Orders of the sites.
        queues
            The jobs, where `dispatch` sent them, and the sites.

        Returns
        -------
        What runs when, and the orders, which stay as they are.
        """
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
    durations, deadlines = np.empty(q + 1), np.empty(q + 1)
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
