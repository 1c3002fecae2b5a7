"""Floors that a policy keeps which follows a plan: the plan is asked for more than they say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from edgeopt import registry
from edgeopt.errors import OptionError, SolverError
from edgeopt.models.rows import Values, rows_of, split_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.arrays import Floats
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue.solution import P1Solution
    from edgeopt.models.rows import Row

PlanT = TypeVar("PlanT", bound="P1Solution")

GROWTH: Final = 1.5
"""By which a floor grows in a round at most."""

MOST: Final = 0.999
"""Share of all that may be begun of a row that is asked for at most."""

KEPT: Final = 1e-6
"""Part of a floor that is rounding."""


def raised(
    kind: type[PlanT],
    program: Any,
    instance: RescueInstance,
    constraint: Any,
    guarded: bool,
    rounds: int,
    solver: Mapping[str, Any],
) -> PlanT:
    """Raise the floors that a program is asked for until its policy keeps the real ones."""
    rows = rows_of(constraint)
    numbers = [c for row in rows.rows for c in row.coefficient.values()]
    if rows.nonlinear or min(numbers, default=-1.0) < 0.0 or any(
        not name.startswith("y[") for name in rows.variables
    ):  # fmt: skip
        raise OptionError(
            f"{rows.name}: must be floors on y alone, with coefficients that are not negative"
        )
    occupation = registry.built_in(registry.OCCUPATIONS)[kind.system].load()
    floor, most = rows.lower, np.array([_most(instance, row) for row in rows.rows])
    data = [one for one in constraint.values() if one.active]
    stated, ask, first, worst = [one.expr for one in data], floor.copy(), None, ""
    try:
        for _ in range(rounds):
            try:
                plan = kind.of(program, instance, **solver)
            except SolverError as error:
                if first is None:
                    raise
                why = "the program has no point where it asks for more"
                raise _unkept(worst, why, error.solution) from error
            first = first or plan
            begun = occupation(instance, plan.policy(guarded=guarded))
            kept = rows.at(Values({"y": begun}))
            short = np.where(np.isfinite(floor), floor - kept, 0.0)
            if (short <= KEPT * np.maximum(1.0, np.abs(floor))).all():
                return replace(first, x=plan.x, y=plan.y, objective=plan.objective)
            least = int(np.argmax(short))
            worst = f"{rows.rows[least].name}: {kept[least]:.6g} of {floor[least]:.6g} are begun"
            growth = np.clip(floor / np.maximum(kept, KEPT), 1.0, GROWTH)
            limit = np.maximum(MOST * most, ask)
            more = np.where(short > 0.0, np.minimum(ask * growth, limit), ask)
            if (more == ask).all():
                raise _unkept(worst, "no more can be asked for", plan.solution)
            ask = more
            for one, low in zip(data, ask.tolist(), strict=True):
                _, body, upper = one.to_bounded_expression()
                one.set_value((low if np.isfinite(low) else None, body, upper))
    finally:
        for one, expression in zip(data, stated, strict=True):
            one.set_value(expression)
    raise _unkept(worst, f"not within {rounds} rounds", plan.solution)


def _most(instance: RescueInstance, row: Row) -> float:
    """Return what a row can be at most if every arrival is routed where it counts most."""
    weight: Floats = np.zeros(instance.shape[:4])
    for name, c in row.coefficient.items():
        weight[split_name(name)[1]] = c
    return row.constant + float((instance.arrival * weight.max(axis=(2, 3))).sum())


def _unkept(worst: str, why: str, solution: Any) -> SolverError:
    return SolverError(f"floors that the policy keeps were not found ({why}); {worst}", solution)
