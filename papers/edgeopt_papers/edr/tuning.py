"""How the policies of EDR are tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.instances.edr import generate
from edgeopt_papers.tuning.tuning import Tuning

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance


def drawn(mode: str, seed: int) -> EdrInstance:
    """Draw two days of 20 sites and 40 tasks."""
    return generate(rng=seed, reuse=mode)  # type: ignore[arg-type]


TUNING: Final = Tuning(
    drawn,
    modes=("group", "none"),
    seeds=(420, 421, 422, 423),
    test_seeds=(440, 441, 442, 443, 444, 445, 446, 447),
    parameters={
        # The mean window of two days' tasks.
        "saddle_point": {"alpha0": 18.0, "mu0": 1.0},
        "lyapunov": {"weight0": 2.0, "catch_up": 3.0},
        "oasdr": {"weight0": 2.0, "catch_up": 3.0},
        "scenario": {"beta": 1.3, "late": 2.0},
        "greedy": {},
        "even_rate": {},
    },
    # A guard of 3 forces rounds that are early and dear, and half of a site is less than is free:
    # with these, tuned policies of the paper cost no more and scenario control much less.
    settings={"guard": 20.0, "training_room": 0.9, "reserve": "last", "price_forecast": "hour"},
)
