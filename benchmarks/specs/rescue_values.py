"""What does compiling the backward recursion of the value functions buy?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def plain_value_functions(
    instance: Any, y: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return activation and baseline by array operations per slot, as the recursion is written."""
    horizon, _, servers, _ = y.shape
    profit = instance.expected_profit
    activation = np.empty(y.shape)
    baseline = np.zeros((servers, horizon + 1))
    for t in range(horizon - 1, -1, -1):
        reach = min(instance.max_duration, horizon - t)
        future = baseline[:, t + 1 : t + 1 + reach] @ instance.duration[:, :reach].T
        activation[t] = profit[t] + future
        gain = y[t] * np.maximum(activation[t] - baseline[None, :, t + 1, None], 0.0)
        baseline[:, t] = baseline[:, t + 1] + gain.sum(axis=(0, 2))
    return activation, baseline


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import solve_p1_lp
    from edgeopt.online.rescue import value_functions

    instance = generate(**size)
    y = np.asarray(solve_p1_lp(instance).y)
    # Expected profits are cached on the instance; neither candidate is charged for them.
    _ = instance.expected_profit

    def compiled(_: float | None) -> Reading:
        baseline = value_functions(instance, y)[1]
        return Reading(objective=float(baseline[:, 0].sum()))

    def plain(_: float | None) -> Reading:
        return Reading(objective=float(plain_value_functions(instance, y)[1][:, 0].sum()))

    return compiled if candidate == BENCHMARK.subject else plain


BENCHMARK = Benchmark(
    name="rescue-values",
    question="Value functions of the online policy: compiled against NumPy slot by slot",
    build=build,
    sizes={
        "full": {"servers": 7, "devices": 18, "profiles": 8, "horizon": 200, "reserved": 28},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="compiled",
    peers=("NumPy",),
    repeats=15,
    peer_repeats=15,
    ladder=Ladder.over(
        "horizon", (15, 30, 60, 120, 240), axis="slots", servers=4, devices=14, profiles=5
    ),
)
