r"""Value functions of the policy that routes every task at random by a relaxed assignment y.

For a server that is idle at the start of slot t, with one arrival at most per slot,

.. math::

    A_{jkl}(t) &= R_{jkl}(t) + \sum_{d \ge 1,\; t + d \le T} q_l(d)\, B_k(t + d), \\
    B_k(t) &= \sum_{j,l} y_{jkl}(t) \max\{A_{jkl}(t), B_k(t+1)\}
        + \Bigl(1 - \sum_{j,l} y_{jkl}(t)\Bigr) B_k(t+1), \qquad B_k(T+1) = 0 .

With independent arrivals the tasks of a slot are handled in the order of their device index; every
device is a step of its own, and :math:`B_k(t+1)` becomes the value :math:`M_k(t, j+1)` of being
idle when the next device's turn comes.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges, equations (4)-(8), Algorithm 2. The order within a slot is ours: with several
arrivals per slot the printed policy has no guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.rescue.lookup_tables import Routes
from edgeopt.representation import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance


@brief
class ValueFunctions(NamedTuple):
    """Activation and baseline values.

    Attributes
    ----------
    activation
        A[t, j, k, l], expected profit on server k from slot t on if the task of device j begins
        there in t with profile l; an array [T, J, K, L], or a sparse array [T*J, K*L] with the
        pattern of a sparse y.
    baseline
        B[k, t], expected profit on server k from slot t on if it is idle at the start of t; array
        [K, T+1]. With independent arrivals this is before the first device of the slot.
    """

    activation: Any
    baseline: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RouteValues:
    """Value functions where a routed policy needs them."""

    routes: Routes
    profit: NDArray[np.float64]  # expected; [routes]
    continuation: NDArray[np.float64]  # expected profit after a run, [T, K, L]
    waiting: NDArray[np.float64]  # of a server that is idle before a step; [T*steps+1, K]
    steps: int  # 1 for exclusive arrivals, J for independent ones

    @property
    def baseline(self) -> NDArray[np.float64]:
        """B[k, t], shape [K, T+1]."""
        return np.ascontiguousarray(self.waiting[:: self.steps].T)

    @property
    def after(self) -> NDArray[np.float64]:
        """Value of turning the task down, shape [T, S, K]: that of being idle at the next step."""
        return self.waiting[1:].reshape(-1, self.steps, self.waiting.shape[1])

    def margin(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return activation and value of turning down at every route, both of shape [routes]."""
        horizon, _, profiles = self.continuation.shape
        rows = self.routes.first.size - 1
        row = np.repeat(np.arange(rows), np.diff(self.routes.first))
        server, profile = np.divmod(self.routes.cell, profiles)
        slot = row // (rows // horizon)
        step = row if self.steps > 1 else slot
        activation = self.profit + self.continuation[slot, server, profile]
        return activation, self.waiting[step + 1, server]


def route_values(instance: RescueInstance, y: Any) -> RouteValues:
    """Run the backward induction on the routes of y only."""
    routes = Routes.of(instance, y)
    server, profile = np.divmod(routes.cell, instance.profiles)
    profit = routes.expected_profit(instance)
    steps = steps_per_slot(instance)
    first = routes.first if steps > 1 else routes.first[:: instance.devices]
    offers = np.ascontiguousarray(first), server, profile, routes.mass, profit
    waiting, continuation = renewal_values(
        offers, instance.duration, instance.longest, resources=instance.servers, steps=steps
    )
    return RouteValues(routes, profit, continuation, waiting, steps)


def steps_per_slot(instance: RescueInstance) -> int:
    """Return 1 for exclusive arrivals, the number of devices for independent ones."""
    return instance.devices if instance.arrivals == "independent" else 1


def value_functions(instance: RescueInstance, y: Any) -> ValueFunctions:
    """Compute activation and baseline values of an assignment.

    Parameters
    ----------
    instance
        The instance.
    y
        Feasible assignment of the relaxation: array [T, J, K, L], or a scipy.sparse array
        [T*J, K*L] when the whole would not fit into memory.

    Returns
    -------
    ValueFunctions
        `activation` and `baseline`; a sparse y gives a sparse activation with the same pattern.

    Raises
    ------
    OptionError
        If y has the wrong shape, is negative, or assigns more of a task than arrives.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.models.rescue import solve_p1_lp
    >>> instance = tight(0.5)
    >>> activation, baseline = value_functions(instance, solve_p1_lp(instance).y)
    >>> round(float(baseline[:, 0].sum()), 6)
    1.0
    """
    values = route_values(instance, y)
    if hasattr(y, "tocsr"):
        from scipy.sparse import csr_array

        activation, _ = values.margin()
        pattern = values.routes
        return ValueFunctions(
            csr_array((activation, pattern.cell, pattern.first), shape=y.shape), values.baseline
        )
    return ValueFunctions(
        instance.expected_profit + values.continuation[:, np.newaxis], values.baseline
    )


def renewal_values(
    offers: tuple[NDArray[Any], ...],
    duration: NDArray[np.float64],
    longest: NDArray[np.int64],
    *,
    resources: int,
    steps: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve the recursion of this module backwards; return W_k(n) and F_k(l, t).

    `offers` are the first offer of every step [N+1], and the resource, kind, probability and
    expected reward of every offer; offers of one step exclude one another on a resource. Takes time
    proportional to their number plus slots x resources x (total length of the durations), and
    memory for the results, [N+1, resources] and [T, resources, kinds].
    """
    count = offers[0].size - 1
    waiting = np.zeros((count + 1, resources))
    continuation = np.empty((count // steps, resources, longest.size))
    _recur(*offers, duration, longest, steps, waiting, continuation)
    return waiting, continuation


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
