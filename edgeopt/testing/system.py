"""Checks of the record of a system: what studies, checks of claims and commands rely on."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds import check
from edgeopt.bounds.registry import claims
from edgeopt.content import alike
from edgeopt.online.simulate import require_parts, simulate
from edgeopt.studies.checks import valid_for
from edgeopt.studies.registry import find_system, systems
from edgeopt.studies.run import study
from edgeopt.testing.report import (
    BrokenError,
    Recipe,
    SkippedError,
    by_name,
    describe,
    require,
    run_checks,
    seeds_of,
)
from edgeopt.testing.scenarios import offered, record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.studies.system import System
    from edgeopt.testing.report import Report

INSTANCES: Final = 100
"""Instances on which values are compared with bounds."""

FEW: Final = 3
"""Instances on which everything else is tried."""

RUNS: Final = 40
"""Simulated scenarios of a policy without an exact value."""

ERRORS: Final = 6.0
"""Standard errors by which a mean may be beyond a bound."""

ACCURACY: Final = 1e-6
"""Share of a bound by which an exact value may be beyond it."""


def check_system(
    system: str | System,
    *,
    seeds: int | Sequence[int] = INSTANCES,
    expected: Mapping[str, str] | None = None,
    raises: bool = True,
    checks: Sequence[str] | None = None,
) -> Report:
    """Check that the record of a system keeps what studies, claims and commands rely on.

    Parameters
    ----------
    system
        Name or record of the system, which draws small instances.
    seeds
        How many instances, or from which seeds, values of policies are compared with bounds on;
        everything else is tried on the first three.
    expected
        Checks that are known to fail, each with the reason. One that passes is an error.
    raises
        Whether failures raise an error; otherwise the report tells.
    checks
        Names of the checks to run, by default all.

    Returns
    -------
    Report
        Outcome of every check.

    Raises
    ------
    CheckError
        If a check fails, with all that failed and lines of Python that reproduce it.
    OptionError
        If there is no such check or system.

    Examples
    --------
    >>> from edgeopt.testing import check_system
    >>> check_system("oinc", checks=["complete", "names"])
    Report(system oinc, 2 passed)
    """
    checked = Checked(record_of(system), tuple(seeds_of(seeds)))
    recipe = Recipe("system", system)
    return run_checks(recipe, CHECKS, checked, checks=checks, expected=expected, raises=raises)


@dataclass(frozen=True, eq=False)
class Checked:
    """A system with the instances on which it is tried."""

    record: System
    seeds: tuple[int, ...]

    @cached_property
    def few(self) -> list[tuple[int, Any]]:
        """A few instances, with their seeds."""
        return [(seed, self.draw(seed)) for seed in self.seeds[:FEW]]

    def draw(self, seed: int) -> Any:
        """Draw a small instance."""
        draw = self.record.instances.random_small
        if draw is None:
            raise SkippedError("it draws no small instances")
        return draw(seed)


def _complete(checked: Checked) -> None:
    record = checked.record
    said = {
        "title": record.title,
        "Objective.name": record.objective.name,
        "Objective.unit": record.objective.unit,
        "Constraint.name": record.constraint.name,
        "Paper": record.paper,
        "Claims": record.claims,
        "Instances.generate": record.instances.generate,
        "Instances.random_small": record.instances.random_small,
    }
    lacking = [name for name, value in said.items() if not value]
    require(not lacking, f"the record says nothing of {', '.join(lacking)}")
    for seed, instance in checked.few:
        for name, value in record.instances.describe(instance).items():
            known = isinstance(value, str | int | float | np.generic)
            require(known, f"describe: {name} is {type(value).__name__}", seeds=[seed])


def _names(checked: Checked) -> None:
    record, policies, reporting = checked.record, checked.record.policies, checked.record.reporting
    named: dict[str, Sequence[Any]] = {
        "policies": policies.entries,
        "metrics": reporting.metrics,
        "pictures": reporting.pictures,
        "logs and comparisons": (*reporting.logs, *reporting.comparisons),
    }
    for what, parts in named.items():
        twice = [name for name, n in Counter(one.name for one in parts).items() if n > 1]
        require(not twice, f"{what}: the name {', '.join(twice)} occurs twice")
    titles = Counter(entry.title for entry in policies.entries)
    twice = [title for title, n in titles.items() if n > 1]
    require(not twice, f"policies: the title {', '.join(twice)} occurs twice")
    for entry in policies.entries:
        for bound in filter(None, (entry.follows, entry.guarantee_of)):
            known = bound in record.offline.bounds
            require(known, f"the policy {entry.name} names the benchmark {bound}, which is none")


def _draws(checked: Checked) -> None:
    kind = checked.record.instances.kind
    for seed, instance in checked.few:
        right = isinstance(instance, kind)
        text = f"draws a {type(instance).__name__}, not a {kind.__name__}"
        require(right, text, seeds=[seed])
        same = alike(instance, checked.draw(seed))
        require(same, "an equal seed draws another instance", seeds=[seed])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "instance.nc")
            instance.save(path)
            back = checked.record.instances.load(path)
            require(alike(back, instance), "a file holds another instance", seeds=[seed])


def _policies(checked: Checked) -> None:
    record = checked.record
    for seed, instance in checked.few:
        found = offered(record, instance)
        for entry in record.policies.entries:
            if not entry.default:
                continue
            try:
                policy = entry.make(instance, found)
                require_parts(policy)
                run = simulate(record.policies.environment(instance), policy, rng=seed, runs=2)
                for metric in record.reporting.metrics:
                    values = np.asarray(metric.compute(instance, run))
                    text = f"the metric {metric.name} has the shape {values.shape}"
                    require(values.shape == (2,), text, seeds=[seed])
            except BrokenError:
                raise
            # Whatever a part of a stranger raises.
            except Exception as error:
                text = f"the policy {entry.name} does not run: {describe(error)}"
                raise BrokenError(text, seeds=[seed]) from None


def _bound(checked: Checked) -> str:
    """Compare bounds with values of policies, exact ones where they are offered."""
    record, compared = checked.record, 0
    entries = [one for one in record.policies.entries if one.default]
    for place, seed in enumerate(checked.seeds):
        instance = checked.draw(seed)
        found = offered(record, instance)
        for name in found:
            one = found[name]
            text = f"{name}: its plan has the value {one.value:.8g}, its bound is {one.bound:.8g}"
            require(not _beyond(record, one.value, one.bound), text, seeds=[seed])
        if not entries:
            continue
        # In turn, so that every policy meets some instances.
        entry = entries[place % len(entries)]
        policy = entry.make(instance, found)
        value, error, valid = _value(record, instance, entry, policy, seed)
        valid = [name for name in valid if name in found]
        if value is None or not valid:
            continue
        compared += 1
        for name in valid:
            bound = found[name].bound
            text = f"{entry.name} has the value {value:.8g}, the bound {name} is {bound:.8g}"
            require(not _beyond(record, value, bound, error), text, seeds=[seed])
    return f"{compared} values of policies on {len(checked.seeds)} instances"


def _beyond(record: System, value: float, bound: float, error: float = 0.0) -> bool:
    """Tell whether a value is better than a bound allows."""
    excess = value - bound if record.objective.sense == "max" else bound - value
    return bool(excess > ACCURACY * abs(bound) + ERRORS * error)


def _value(
    record: System, instance: Any, entry: Any, policy: Any, seed: int
) -> tuple[float | None, float, list[str]]:
    """Return the value of a policy, its standard error, and the bounds that are valid for it."""
    environment = record.policies.environment(instance)
    run = simulate(environment, policy, rng=seed, runs=RUNS)
    valid = valid_for(record.offline, instance, policy, run)
    exact = None if entry.exact is None else entry.exact(instance, policy)
    if exact is not None:
        return float(exact), 0.0, valid
    values = np.asarray(record.objective.values(run), dtype=np.float64)
    if not np.isfinite(values).all():  # of a run that was stopped
        return None, 0.0, valid
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()), error, valid


def _page(checked: Checked) -> None:
    record = replace(checked.record, claims=None)  # they have a check of their own
    seed, instance = checked.few[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few runs
        try:
            found = study(instance, system=record, runs=2, progress=False)
            with tempfile.TemporaryDirectory() as folder:
                text = found.page(folder).read_text(encoding="utf-8")
        # Whatever a part of a stranger raises.
        except Exception as error:
            raise BrokenError(f"its page cannot be made: {describe(error)}", seeds=[seed]) from None
    entries = [one for one in record.policies.entries if one.default]
    missing = [one.group for one in entries if one.group not in text and one.name not in text]
    require(not missing, f"its page has nothing of {', '.join(missing)}", seeds=[seed])


def _claims(checked: Checked) -> str:
    record, verdicts = checked.record, 0
    if record.claims is None:
        raise SkippedError("it has no claims")
    known = list(claims(record.claims.pattern).values())
    for seed, instance in checked.few:
        try:
            verdicts += len(check(known, instance))
        # Whatever a claim of a stranger raises.
        except Exception as error:
            text = f"its claims cannot be decided: {describe(error)}"
            raise BrokenError(text, seeds=[seed]) from None
    require(verdicts, "none of its claims was decided")
    return f"{verdicts} verdicts"


def _command_line(checked: Checked) -> None:
    name, kind = checked.record.name, checked.record.instances.kind
    known = name in systems()
    require(known, f"commands know no system {name!r}: {', '.join(systems())}")
    found = find_system(name).instances.kind
    require(found is kind, f"under the name {name!r}, commands find a system of {found.__name__}")


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = by_name(
    _complete, _names, _draws, _policies, _bound, _page, _claims, _command_line
)
