"""Instances of one type and of unit numbers, made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from edgeopt_papers.edr.claims.counterexamples import one_task, tiny

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance


def half_a_round() -> EdrInstance:
    """Return the instance in which a cap has room for half a round in each of two frames.

    The relaxed problem trains its round, half by half. No whole round ever fits, so no rounding can
    both keep the mean and respect the cap.
    """
    return tiny(frames=2, cap=np.array([0.5, 0.5]), **one_task(rounds=1, deadline=1))


def falling_cap() -> EdrInstance:
    """Return the instance whose cap falls from 4 to 1 Wh while a task needs 3 rounds per frame.

    A controller that obeys the cap of the frame before trains 3 Wh where 1 is allowed.

    Notes
    -----
    Zhu et al., equation (7), uses the constraint of the frame before.
    """
    return tiny(frames=2, cap=np.array([4.0, 1.0]), **one_task(rounds=6, deadline=1))


def forced_excess() -> EdrInstance:
    """Return the instance whose cap is half of what its only request needs.

    Either the cap is exceeded by half a Wh, or half of the request is not served.
    """
    return tiny(cap=np.array([0.5]), requests=np.ones((1, 1, 1, 1)))
