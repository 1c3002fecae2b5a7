"""Named instances: random small ones, and counterexamples to naive reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.oinc.instance import OincInstance
from edgeopt.instances.validate import frozen_array, frozen_integers
from edgeopt.options import check_real, check_room, check_whole
from edgeopt.options import generator as source

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def small(rng: int | np.random.Generator) -> OincInstance:
    """Draw an instance small enough for its plans to be enumerated.

    At most 3 slots, 3 devices, 3 sites and 3 jobs (perhaps none), in numbers of order one, without
    ties. Most requests can meet their objective alone, but not always together.
    """
    generator = source(rng)
    slots, devices, sites, jobs = (int(generator.integers(a, b)) for a, b in _SIZES)
    requests = (slots, devices)
    arrival = np.sort(generator.integers(0, slots, jobs))
    return OincInstance(
        speed=generator.uniform(1, 4, sites),
        rate=generator.uniform(5, 15, (*requests, sites)),
        active=generator.random(requests) < 0.7,
        request_size=generator.uniform(0.2, 2, requests),
        request_work=generator.uniform(0.05, 0.4, requests),
        slo=generator.uniform(0.2, 1, requests),
        arrival=arrival,
        work=generator.uniform(0.3, 4, jobs),
        deadline=arrival + generator.uniform(1, 6, jobs),
        weight=generator.uniform(0.5, 2, jobs),
        request_weight=generator.uniform(0.5, 2, slots),
        origin="Drawn at random, without a model of anything.",
    )


_SIZES = ((1, 4), (1, 4), (1, 4), (0, 4))
"""First and last-but-one number of slots, devices, sites and jobs of a small instance."""


def crowded(slo: float = 0.39) -> OincInstance:
    """Return the instance whose two requests meet at the only site.

    Each sends and computes for 0.1 s alone; side by side, both take 0.4 s at best. An objective of
    0.39 s cannot be met by both. One of 0.41 s can, until a fifth of the CPU is kept for the job.

    Parameters
    ----------
    slo
        Objective of both requests, s.

    Notes
    -----
    Zeng et al., theorem 2, takes it for granted that all objectives can be met.
    """
    check_real("slo", slo)
    return _tiny(
        active=np.ones((1, 2)),
        request_size=np.full((1, 2), 0.1),
        request_work=np.full((1, 2), 0.1),
        slo=np.full((1, 2), slo),
        **_jobs([0], [1.0], deadline=[10.0]),
    )


def overtaking() -> OincInstance:
    """Return the instance on which weights that grow as deadlines near change the order of jobs.

    Three jobs wait for one site of unit speed from the start. They take 20, 5 and 9 s and are due
    at 24, 100 and 60 s. Densities of weights fixed at the arrival keep the order, and the jobs end
    at 20, 25 and 34 s; once the first is complete, weights that follow the time that is left swap
    the other two.

    Notes
    -----
    Zeng et al., section IV-C, has the weight inversely proportional to the time left, and theorem 1
    needs an order that stays.
    """
    return _tiny(slots=30, **_jobs([0, 0, 0], [20.0, 5.0, 9.0], deadline=[24.0, 100.0, 60.0]))


def short_jobs(jobs: int) -> OincInstance:
    """Return the instance whose jobs of a hundredth of a slot arrive together at one site.

    If the rest of a slot is wasted when a job ends, they take as many slots as there are jobs;
    otherwise all of them fit into the first.

    Parameters
    ----------
    jobs
        Number of jobs, 1 to 100.

    Raises
    ------
    OptionError
        If the number is out of range.

    Notes
    -----
    Zeng et al., algorithm 4, serves one job per slot and site.
    """
    check_whole("jobs", jobs, 1, 100)
    return sequence([0] * jobs, [0.01] * jobs, slots=jobs)


def sequence(
    arrival: ArrayLike, work: ArrayLike, *, weight: ArrayLike | None = None, slots: int = 1
) -> OincInstance:
    """Return one site of unit speed without requests, and jobs with distant deadlines.

    Parameters
    ----------
    arrival, work, weight
        As in `OincInstance`, shape [K].
    slots
        Number of slots, more if a job arrives later.

    Raises
    ------
    InstanceError
        If an entry is not allowed.
    """
    check_whole("slots", slots, 1)
    arrived = frozen_integers("arrival", arrival, ("job",), empty=True)
    amount = frozen_array("work", work, ("job",), {"job": arrived.size}, empty=True)
    last = max(slots, int(arrived.max(initial=0)) + 1)
    check_room("slots", last)
    due = arrived + 1e3 * (1.0 + np.sum(amount))
    return _tiny(slots=last, **_jobs(arrived, amount, deadline=due, weight=weight))


def _jobs(
    arrival: ArrayLike, work: ArrayLike, *, deadline: ArrayLike, weight: ArrayLike | None = None
) -> dict[str, Any]:
    return {"arrival": arrival, "work": work, "deadline": deadline, "weight": weight}


def _tiny(*, slots: int = 1, **changes: Any) -> OincInstance:
    """Return an instance of one site, of unit numbers and without requests but for the changes."""
    devices = np.shape(changes.get("active", np.zeros((slots, 1))))[1]
    fields: dict[str, Any] = {
        "speed": np.ones(1),
        "rate": np.ones((devices, 1)),
        "active": np.zeros((slots, devices)),
        "request_size": np.zeros((slots, devices)),
        "request_work": np.zeros((slots, devices)),
        "slo": np.ones((slots, devices)),
    }
    return OincInstance(**fields | changes)
