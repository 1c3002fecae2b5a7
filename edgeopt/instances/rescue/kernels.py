"""Compiled inner loops of the profit model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["log_profit_expectation"]


@compiled(writes="out", fastmath={"contract", "reassoc"}, nogil=True)
def log_profit_expectation(
    first: int,
    factor: NDArray[np.float64],
    curvature: NDArray[np.float64],
    capacity: NDArray[np.float64],
    budget: NDArray[np.int64],
    duration: NDArray[np.float64],
    drop: bool,
    out: NDArray[np.float64],
) -> None:
    r"""Fill ``out[t, j, k, l]`` with expected profits (compiled).

    .. math:: f_j(t) \sum_{d \le \bar d_{jk}} q_l(d) \ln(1 + b_j U_k(t, d))
    """
    slots, devices = factor.shape
    servers, horizon = capacity.shape
    profiles, longest = duration.shape
    weight = np.ascontiguousarray(duration.T)
    work = np.empty(longest)
    for n in range(slots):
        slot = first + n
        reach = min(longest, horizon - slot) if drop else longest
        for k in range(servers):
            total = 0.0
            for d in range(reach):
                total += capacity[k, min(slot + d, horizon - 1)]
                work[d] = total
            for j in range(devices):
                row = out[n, j, k]
                row[:] = 0.0
                for d in range(min(reach, budget[j, k])):
                    gain = math.log1p(curvature[j] * work[d])
                    for m in range(profiles):
                        row[m] += weight[d, m] * gain
                for m in range(profiles):
                    row[m] *= factor[n, j]
