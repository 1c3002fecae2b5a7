r"""Backward induction for resources that are either idle or busy for a random time.

Time is cut into slots, and a slot into one or several steps. In a step, at most one offer comes to
a resource: offer :math:`o` with probability :math:`p_o`, reward :math:`r_o` and kind :math:`l_o`.
If an idle resource takes it, it earns the reward and is busy for a random number of slots
:math:`d \sim q_{l_o}`, this one included; offers that meet a busy resource are lost. At the start
of slot :math:`t + d` it is as good as new: this is the renewal.

With :math:`W_k(n)` the expected reward that resource k still earns when it is idle before step n,
and :math:`t(n)` the slot of the step,

.. math::

    F_k(l, t) &= \sum_{d \ge 1,\; t + d < T} q_l(d)\, W_k(\text{first step of } t + d), \\
    W_k(n) &= W_k(n + 1)
        + \sum_{o \in n,\, k_o = k} p_o \max\bigl(0,\; r_o + F_k(l_o, t(n)) - W_k(n + 1)\bigr),

and :math:`W_k = 0` after the last step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Offers:
    """What may be offered in each step; offers of one step exclude one another on a resource.

    Attributes
    ----------
    first
        Offers of step n are ``first[n]..first[n+1]-1``; shape [N+1].
    resource, kind
        Resource that an offer is for, and the kind of its duration; shape [offers].
    probability
        Probability that the offer comes, shape [offers]; sums to at most 1 per step and resource.
    reward
        Expected reward of taking it, of any sign, shape [offers].
    """

    first: NDArray[np.int64]
    resource: NDArray[np.int64]
    kind: NDArray[np.int64]
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]

    def __post_init__(self) -> None:
        count = int(self.first[-1])
        for name in ("resource", "kind", "probability", "reward"):
            shape = getattr(self, name).shape
            if shape != (count,):
                raise OptionError(f"offers.{name} has shape {shape}; first[-1] asks for ({count},)")


@dataclass(frozen=True, eq=False)
class RenewalValues:
    """Solution of the recursion.

    Attributes
    ----------
    waiting
        :math:`W_k(n)`, shape [N+1, resources].
    continuation
        :math:`F_k(l, t)`, what a resource is expected to earn after a run of kind l that begins in
        slot t; shape [T, resources, kinds].
    """

    waiting: NDArray[np.float64]
    continuation: NDArray[np.float64]


def renewal_values(
    offers: Offers, duration: NDArray[np.float64], *, resources: int, steps: int = 1
) -> RenewalValues:
    """Solve the recursion of this module backwards from the horizon.

    Takes time proportional to the number of offers plus slots x resources x (total length of the
    duration laws), and memory for its two results.
    """
    count = offers.first.size - 1
    if steps < 1 or count % steps:
        raise OptionError(f"{count} steps do not fill slots of {steps} steps")
    kinds, longest = duration.shape
    if offers.kind.size and not (
        0 <= offers.kind.min() <= offers.kind.max() < kinds
        and 0 <= offers.resource.min() <= offers.resource.max() < resources
    ):
        raise OptionError(
            f"offers name a kind outside 0..{kinds - 1} or a resource outside 0..{resources - 1}"
        )
    support = longest - np.argmax(duration[:, ::-1] > 0, axis=1)
    waiting = np.zeros((count + 1, resources))
    continuation = np.empty((count // steps, resources, kinds))
    _recur(
        offers.first,
        offers.resource,
        offers.kind,
        offers.probability,
        offers.reward,
        np.ascontiguousarray(duration, dtype=np.float64),
        support.astype(np.int64),
        steps,
        waiting,
        continuation,
    )
    return RenewalValues(waiting, continuation)


@compiled(writes="waiting continuation")
def _recur(
    first: NDArray[np.int64],
    resource: NDArray[np.int64],
    kind: NDArray[np.int64],
    probability: NDArray[np.float64],
    reward: NDArray[np.float64],
    duration: NDArray[np.float64],
    support: NDArray[np.int64],
    steps: int,
    waiting: NDArray[np.float64],
    continuation: NDArray[np.float64],
) -> None:
    slots, resources, kinds = continuation.shape
    # Values at the start of slots once more, one row per resource: the sums over d run along it.
    renewed = np.zeros((resources, slots + 1), dtype=np.float64)
    for t in range(slots - 1, -1, -1):
        for k in range(resources):
            for j in range(kinds):
                total = 0.0
                for d in range(1, min(support[j], slots - 1 - t) + 1):
                    total += duration[j, d - 1] * renewed[k, t + d]
                continuation[t, k, j] = total
        for n in range((t + 1) * steps - 1, t * steps - 1, -1):
            for k in range(resources):
                waiting[n, k] = waiting[n + 1, k]
            for o in range(first[n], first[n + 1]):
                k = resource[o]
                gain = reward[o] + continuation[t, k, kind[o]] - waiting[n + 1, k]
                if gain > 0.0:
                    waiting[n, k] += probability[o] * gain
        for k in range(resources):
            renewed[k, t] = waiting[t * steps, k]
