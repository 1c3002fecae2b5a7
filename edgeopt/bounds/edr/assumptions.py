"""Conditions under which the claims speak about an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption
from edgeopt.bounds.edr.evaluation import Planned
from edgeopt.bounds.edr.relaxed import Relaxed
from edgeopt.instances.edr import EdrInstance

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AFFORDABLE", "ALWAYS", "CAPPED", "INTERIOR", "NONNEGATIVE", "PRICED", "TASKS", "whole"]

Given = EdrInstance | Planned | Relaxed


def whole(given: Given) -> EdrInstance | Relaxed:
    """Return the instance itself, with or without rounds that are fixed."""
    return given.instance if isinstance(given, Planned) else given


def _of_problem(test: Callable[[Relaxed], bool]) -> Callable[[Given], bool]:
    return lambda given: test(Relaxed.of(whole(given)))


TASKS = Assumption("something to train", "there is a task", _of_problem(lambda one: one.tasks > 0))

ALWAYS = Assumption(
    "windows of all frames",
    "all tasks may train in all frames",
    _of_problem(lambda one: one.steady),
)

NONNEGATIVE = Assumption(
    "no round earns money",
    r"$c^t_i \ge 0$ for all tasks and frames, which no negative price is needed for",
    _of_problem(lambda one: bool((one.cost >= 0).all())),
)


def _priced(given: Given) -> bool:
    instance = whole(given)
    return isinstance(instance, EdrInstance) and bool((instance.price >= 0).all())


PRICED = Assumption("no negative price", r"$r^t \ge 0$ for all $t$", _priced)

AFFORDABLE = Assumption(
    "the even rates keep every cap",
    r"$e^t \cdot a^t \le R^t$, without which a frame has no comparator",
    _of_problem(lambda one: bool(one.affordable.all())),
)

INTERIOR = Assumption(
    "Assumptions 2 and 3",
    r"all tasks may train in all frames, and one point has $g^t \le -\epsilon$ in every frame with "
    r"$\epsilon$ larger than $\max_t \|[a^{t+1} - a^t]^+\|$",
    _of_problem(
        lambda one: one.steady and np.isfinite(one.diameter)
        and one.slack > float(one.drift.max(initial=0.0))
    ),
)  # fmt: skip

CAPPED = Assumption(
    "a cap in every frame",
    r"$R^t < \infty$ for all $t$",
    _of_problem(lambda one: bool(np.isfinite(one.cap).all())),
)
