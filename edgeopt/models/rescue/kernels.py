"""Compiled sums over runs: what a run costs, how it occupies servers, what is left of its profit.

Cells are (profile, server) pairs in profile-major order, ``cell = profile * servers + server``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Cells = NDArray[np.int32]

__all__ = ["best_reduced_profit", "least_ratio", "occupancy", "price_runs"]


@compiled(writes="out", fastmath={"contract", "reassoc", "nsz"})
def price_runs(occupancy_price: Floats, survival: Floats, out: Floats) -> None:
    r"""Price runs in expectation, :math:`out[t, l K + k] = \sum_a S_l(a) \mu_k(t + a)`."""
    slots, servers = occupancy_price.shape
    profiles, longest = survival.shape
    out[:] = 0.0
    for t in range(slots):
        for profile in range(profiles):
            base = profile * servers
            for a in range(min(longest, slots - t)):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                for k in range(servers):
                    out[t, base + k] += alive * occupancy_price[t + a, k]


@compiled(writes="out", fastmath={"contract", "reassoc", "nsz"})
def occupancy(load: Floats, survival: Floats, out: Floats) -> None:
    r"""Sum up the expected share of each server that runs take: (3b) without reserved work."""
    slots, servers = out.shape
    profiles, longest = survival.shape
    out[:] = 0.0
    for t in range(slots):
        for profile in range(profiles):
            base = profile * servers
            for a in range(min(longest, slots - t)):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                for k in range(servers):
                    out[t + a, k] += alive * load[t, base + k]


@compiled(writes="best")
def best_reduced_profit(
    profit: Floats, run_price: Floats, allowed: NDArray[np.bool_], best: Floats
) -> None:
    r"""Find the best reduced profit, :math:`\max_{k,l} (R_{jkl}(t) - \pi_{kl}(t))^+`."""
    for t in range(profit.shape[0]):
        for j in range(profit.shape[1]):
            top = 0.0
            for c in range(profit.shape[2]):
                if allowed[t, c]:
                    top = max(top, profit[t, j, c] - run_price[t, c])
            best[t, j] = top


@compiled(writes="out")
def least_ratio(ratio: Floats, longest: Ints, out: Floats) -> None:
    """Find the least ratio among the slots that a run may touch."""
    slots, servers, profiles = out.shape
    for k in range(servers):
        for profile in range(profiles):
            for t in range(slots):
                least = ratio[k, t]
                for a in range(1, min(longest[profile], slots - t)):
                    least = min(least, ratio[k, t + a])
                out[t, k, profile] = least
