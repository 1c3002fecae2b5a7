"""Counterexamples to the statements of EDR's paper and to naive reasoning, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeopt.instances.edr import EdrInstance
from edgeopt.options import check_room, check_whole


def jensen() -> EdrInstance:
    """Return the instance on which whole rounds cost more than their mean.

    One round loads site 0 by 1 of its capacity of 1.5. One request arrives there, which costs
    nothing at site 0 and 10 at site 1. Half a round leaves room for the request: cost 0. No round
    costs 0, a whole one sends half of the request away: cost 5, and 2.5 in the mean.

    Notes
    -----
    The cost of serving is convex in the rounds, so rounding that keeps the mean raises it (Jensen's
    inequality), where Zhu et al., theorem 1, has the opposite.
    """
    return tiny(
        sites=2,
        delay_weight=0.0,
        energy_per_work=np.array([0.0, 10.0]),
        capacity=np.array([1.5, 10.0]),
        requests=np.array([1.0, 0.0]).reshape(1, 1, 2, 1),
        **one_task(rounds=1, sites=2),
    )


def lemma5() -> EdrInstance:
    r"""Return the instance on which lemma 5 fails as printed.

    One site and one task of 10 rounds in 10 frames, each of 1 Wh at 1 $/Wh, and a tenth of a
    request per frame. The printed bound multiplies the rounds, a total over the horizon, by the
    number of frames again; it is -68.989, below the 0 that it should bound from above.

    Notes
    -----
    Zhu et al., lemma 5, equation (51).
    """
    return _steady(capacity=1.2)


def theorem3() -> EdrInstance:
    """Return the instance on which theorem 3 fails as printed.

    As `lemma5`, with a capacity of 2, so that the run of the theorem fits.

    Notes
    -----
    Zhu et al., theorem 3.
    """
    return _steady(capacity=2.0)


def never_trained(frames: int) -> EdrInstance:
    """Return the instance whose only task rounding down never trains.

    It needs one round less than it has frames: its even rate is just below 1 in every frame, and
    what is left of a round after rounding is dropped each time.

    Parameters
    ----------
    frames
        Number of frames T, at least 2; at 100 the even rate is 0.99.

    Raises
    ------
    OptionError
        If there are fewer frames.
    """
    check_whole("frames", frames, 2)
    check_room("frames", frames)
    return tiny(frames=frames, **one_task(rounds=frames - 1, deadline=frames - 1))


def uneven_demand() -> EdrInstance:
    """Return the instance in which training must not be spread evenly over the slots.

    A request fills the site in the first of two slots, and one round would fill it once. Half of
    the round in each slot leaves half of the request unserved; all of it in the second, nothing.

    Notes
    -----
    Zhu et al., equation (10), spreads it evenly.
    """
    return tiny(
        slots=2,
        capacity=np.array([1.0]),
        requests=np.array([1.0, 0.0]).reshape(1, 2, 1, 1),
        **one_task(rounds=1),
    )


def mixed_price() -> EdrInstance:
    """Return the instance that no single price of energy solves.

    One request costs 2 Wh and no delay at home, or 1 Wh and 10 s at the other site; 1.5 Wh are
    allowed. Below a price of 10 per Wh all of it stays, which exceeds the cap; above, all of it
    leaves at a cost of 10. The best plan, of cost 5, mixes the two in halves.
    """
    far = np.array([[0.0, 5.0], [5.0, 0.0]])
    return tiny(
        sites=2,
        cap=np.array([1.5]),
        energy_weight=0.0,
        energy_per_work=np.array([2.0, 1.0]),
        requests=np.array([1.0, 0.0]).reshape(1, 1, 2, 1),
        propagation=far.reshape(1, 1, 2, 2),
    )


def _steady(capacity: float) -> EdrInstance:
    return tiny(
        frames=10,
        cap=np.full(10, 2.0),
        capacity=np.array([capacity]),
        requests=np.full((10, 1, 1, 1), 0.1),
        speed=np.array([1000.0]),
        **one_task(rounds=10, deadline=9),
    )


def one_task(*, rounds: int, deadline: int = 0, sites: int = 1) -> dict[str, Any]:
    """Return one task of site 0, a round of which is 1 GFLOP there."""
    return {
        "arrival": np.array([0]),
        "deadline": np.array([deadline]),
        "rounds": np.array([rounds]),
        "client": np.arange(sites)[None] == 0,
        "server": np.array([0]),
        "local_steps": np.array([1]),
        "step_work": np.ones((1, sites)),
        "aggregation_work": np.zeros(1),
        "model_size": np.zeros(1),
    }


def tiny(*, frames: int = 1, slots: int = 1, sites: int = 1, **changes: Any) -> EdrInstance:
    """Return an instance of one type and of unit numbers but for the changes."""
    fields: dict[str, Any] = {
        "cap": np.full(frames, np.inf),
        "price": np.ones(frames),
        "arrival": np.empty(0, dtype=np.int64),
        "deadline": np.empty(0, dtype=np.int64),
        "rounds": np.empty(0, dtype=np.int64),
        "client": np.empty((0, sites), dtype=np.bool_),
        "server": np.empty(0, dtype=np.int64),
        "local_steps": np.empty(0, dtype=np.int64),
        "step_work": np.empty((0, sites)),
        "aggregation_work": np.empty(0),
        "model_size": np.empty(0),
        "request_size": np.zeros(1),
        "request_work": np.ones(1),
        "energy_per_work": np.ones(sites),
        "capacity": np.full(sites, 10.0),
        "speed": np.full(sites, _AT_ONCE),
        "capable": np.ones((sites, 1), dtype=np.bool_),
        "requests": np.zeros((frames, slots, sites, 1)),
        "propagation": np.zeros((frames, slots, sites, sites)),
        "slo": np.full((frames, slots, 1), 100.0),
        "rate": np.ones((frames, sites, sites)),
        "power": np.zeros(sites),
    }
    return EdrInstance(**fields | changes)


_AT_ONCE = 2.0**60  # GFLOP/s so fast that the delay of a request is lost in one of a second
