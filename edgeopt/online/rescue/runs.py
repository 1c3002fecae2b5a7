r"""Expected totals over the slots that a run of random length occupies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["blocked_capacity", "reserved_charge"]


def blocked_capacity(instance: RescueInstance) -> NDArray[np.float64]:
    r"""Return the capacity that a run blocks, :math:`E\sum_{\tau=t}^{t+d_l-1} c_k(\tau)`.

    Past the horizon a server keeps the capacity of the last slot.
    """
    beyond = np.repeat(instance.capacity[:, -1:], instance.max_duration - 1, axis=1)
    return _expected_total(np.concatenate([instance.capacity, beyond], axis=1), instance.survival)


def reserved_charge(
    instance: RescueInstance, reserved_dual: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Return what a run displaces in reserved work, priced by the duals of the reserved demands.

    A slot of server k costs :math:`\rho_k(t) = \max_i c_k(t)\,\pi_i` over the reserved tasks i
    whose window contains t, where :math:`\pi_i \ge 0` is what the relaxation loses per TMAC of
    demand; a run is charged :math:`\sum_a \Pr(d_l > a)\,\rho_k(t + a)` within the horizon.
    """
    price = np.zeros((instance.servers, instance.horizon + instance.max_duration - 1))
    tasks = instance.reserved
    # Duals of an interior-point solve may be positive by rounding.
    value = np.maximum(-np.asarray(reserved_dual, dtype=np.float64), 0.0)
    for k, first, last, pi in zip(tasks.server, tasks.start, tasks.end, value, strict=True):
        window = slice(first, last + 1)
        price[k, window] = np.maximum(price[k, window], instance.capacity[k, window] * pi)
    return _expected_total(price, instance.survival)


def _expected_total(
    rate: NDArray[np.float64], survival: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum survival[l, a] * rate[k, t + a] over a; rate has D - 1 slots more than the horizon."""
    window = np.lib.stride_tricks.sliding_window_view(rate, survival.shape[1], axis=1)
    return np.ascontiguousarray(np.einsum("kta,la->tkl", window, survival, optimize=True))
