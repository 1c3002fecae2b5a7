r"""The explicit dual solution that proves Lemma 3 and its sharper form.

With :math:`p = p'_{kl}(t)` the smallest :math:`\tilde{\mathcal{B}}_k(1)` that satisfies

.. math::
    \tilde{\mathcal{B}}(t) &\ge \tilde{\mathcal{B}}(t+1) && (\lambda(t)) \\
    \tilde{\mathcal{B}}(t) &\ge \tilde{\mathcal{B}}(t+1)
        + \sum_l p_l(t) \Bigl(R'_l(t) + \sum_d \Pr(d_l = d)\, \tilde{\mathcal{B}}(t+d)
        - \tilde{\mathcal{B}}(t+1)\Bigr) && (\mu(t))

is a linear program. A constant :math:`\mu` is feasible in its dual with
:math:`\lambda(t) = 1 - \mu (1 + u_k(t))`, which is not negative whenever
:math:`\mu \le 1 / (1 + \max_t u_k(t))`, and is worth :math:`\mu V_k`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.rescue.evaluation import Evaluation


class OccupancyDual(NamedTuple):
    """Dual solution per server and how well it satisfies the dual constraints."""

    mu: NDArray[np.float64]  # multiplier of expected profit, shape [K]
    lam: NDArray[np.float64]  # multiplier of monotony, shape [K, T]
    # Largest violation of a dual constraint, recomputed from durations and plan, or of a sign
    residual: float


def occupancy_dual(view: Evaluation, mu: NDArray[np.float64]) -> OccupancyDual:
    """Build the dual solution of constant `mu` and check it."""
    lam = 1 - mu[:, None] * (1 + view.occupancy)
    planned, law = view.synthetic, view.instance.duration
    routed = planned.sum(axis=2).T
    # Column of B(s): what its own rows contribute less what the rows of earlier slots take.
    column = lam + mu[:, None]
    column[:, 1:] -= lam[:, :-1] + mu[:, None] * (1 - routed[:, :-1])
    for d in range(1, min(law.shape[1] + 1, len(planned))):
        column[:, d:] -= mu[:, None] * (planned[:-d] @ law[:, d - 1]).T
    column[:, 0] -= 1
    residual = max(float(np.abs(column).max()), float(-lam.min()), float(-mu.min()), 0.0)
    return OccupancyDual(mu, lam, residual)
