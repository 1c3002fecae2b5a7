r"""What the record of a system promises, as claims: guarantees of policies, and bounds on them.

A policy with a proven ratio :math:`c` to a bound must earn :math:`\mathrm E v \ge c\,b` (of a cost:
at most :math:`c\,b`), and no policy may pass a bound that is valid for it. Both are measured by the
policy's expected value where it is known exactly, and otherwise by the interval of its mean: only
an interval that lies on the wrong side as a whole violates them.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.claim import Claim, Measurement, NotApplicableError
from edgeopt.bounds.intervals import student
from edgeopt.bounds.validity import KEPT
from edgeopt.bounds.verdict import Relation, Source
from edgeopt.later import Computed
from edgeopt.online.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from edgeopt.bounds.validity import Check

DRAWN: Final = 3
"""Small random instances on which the claims of a record are checked."""

CONFIDENCE: Final = 0.999
"""Of the interval of a mean: many policies are measured on many instances."""


def guarantees(record: Any) -> tuple[Claim, ...]:
    """Return the claims that the record of a system makes of its policies and bounds."""
    entries = [entry for entry in record.policies.entries if not entry.learned]
    better = "at least" if record.objective.sense == "max" else "at most"
    return (
        *(
            _claim(
                record,
                f"guarantee.{entry.name}",
                f"The expected value of {entry.title} is {better} {entry.guarantee:g} times "
                f"{record.offline.bounds[_bound_of_guarantee(record, entry)].phrase}.",
                partial(_kept, entry=entry),
                toward_bound=True,
            )
            for entry in entries
            if entry.guarantee is not None
        ),
        *(
            _claim(
                record,
                f"valid_bound.{name}",
                f"{bound.phrase[:1].upper()}{bound.phrase[1:]} bounds {bound.scope}.",
                partial(_passed_by_none, name=name),
                toward_bound=False,
            )
            for name, bound in record.offline.bounds.items()
            # What no run can tell is left to the proof.
            if all(one.measure or one.declared for one in bound.checks)
        ),
    )


def _claim(
    record: Any,
    name: str,
    statement: str,
    measure: Callable[[Runs], Any],
    *,
    toward_bound: bool,
) -> Claim:
    most = (record.objective.sense == "max") != toward_bound
    return Claim(
        id=f"{record.name}.{name}",
        statement=statement,
        source=Source(str(record.paper or record.title).rstrip("."), "record of the system"),
        measure=measure,
        relation=Relation.AT_MOST if most else Relation.AT_LEAST,
        instance_type=record.instances.kind,
        test_instances=_instances(record),
        view=partial(Runs, record),
    )


def _instances(record: Any) -> Mapping[str, Callable[[], Any]]:
    """Return small random instances by name, or the default source where none are drawn."""
    draw = record.instances.random_small
    if draw is not None:
        return {f"drawn({seed})": partial(draw, seed) for seed in range(DRAWN)}
    name, source = next(iter(record.instances.sources.items()))
    return {name: source.make}


class Runs:
    """The bounds of an instance and the runs of policies on it, each computed on first use."""

    def __init__(self, record: Any, instance: Any) -> None:
        self.record, self.instance = record, instance
        self.bounds = Computed(record.offline.bounds, self._bound)
        self._measured: dict[str, tuple[Any, Any, float | None]] = {}

    @cached_property
    def environment(self) -> Any:
        """The environment of the instance."""
        return self.record.policies.environment(self.instance)

    def _bound(self, name: str) -> Any:
        """Compute a bound, for the scenarios that are simulated where it has one for each."""
        entry = self.record.offline.bounds[name]
        if entry.offered is not None and not entry.offered(self.instance):
            raise NotApplicableError(f"{entry.phrase} is not computed for this instance")
        return entry.solve(self.instance, lambda _: self.environment, 0, self.runs)

    @property
    def runs(self) -> int:
        """Simulated runs of a policy."""
        return int(self.record.policies.runs)

    def measured(self, entry: Any) -> tuple[Any, Any, float | None]:
        """Return a policy, its runs, and its exact expected value where that is known."""
        if entry.name not in self._measured:
            policy = entry.make(self.instance, self.bounds)
            trajectory = simulate(self.environment, policy, runs=self.runs)
            exact = None if entry.exact is None else entry.exact(self.instance, policy)
            self._measured[entry.name] = policy, trajectory, exact
        return self._measured[entry.name]

    def keeps(self, entry: Any, checks: Iterable[Check]) -> bool:
        """Tell whether a policy keeps checks by design, or in all its runs."""
        policy, trajectory, _ = self.measured(entry)
        return all(
            one.found(policy, one.numbers(self.instance, trajectory) if one.measure else None).kept
            == KEPT
            for one in checks
        )

    def compared(self, entry: Any, name: str, share: float, *, toward_bound: bool) -> Measurement:
        """Compare the value of a policy with a share of a bound, in the favour of the claim."""
        _, trajectory, exact = self.measured(entry)
        against = self.bounds[name]
        each = np.asarray(against.each) if against.each else np.asarray(against.bound)
        promised = share * float(each.mean())
        certificate = {"policy": entry.name, "bound": float(each.mean())}
        if exact is not None:
            return Measurement(float(exact), promised, certificate)
        distance = self.record.objective.values(trajectory) - share * each
        # The end of the interval that is farther from a violation.
        upwards = (self.record.objective.sense == "max") == toward_bound
        return Measurement(promised + _end(distance, upwards=upwards), promised, certificate)


def _end(values: NDArray[np.float64], *, upwards: bool) -> float:
    """Return the upper or lower end of the interval of a mean."""
    if values.min() == values.max() or not np.isfinite(values).all():
        return float(values.mean())
    mean, _, reach = student(values, CONFIDENCE)
    return float(mean + reach if upwards else mean - reach)


def _bound_of_guarantee(record: Any, entry: Any) -> str:
    return str(entry.guarantee_of or record.offline.reference)


def _kept(runs: Runs, *, entry: Any) -> Measurement:
    """Compare a policy with its guarantee."""
    name = _bound_of_guarantee(runs.record, entry)
    return runs.compared(entry, name, entry.guarantee, toward_bound=True)


def _passed_by_none(runs: Runs, *, name: str) -> Iterator[Measurement]:
    """Compare all policies for which a bound is valid with that bound."""
    checks = runs.record.offline.bounds[name].checks
    for entry in runs.record.policies.entries:
        if not entry.learned and runs.keeps(entry, checks):
            yield runs.compared(entry, name, 1.0, toward_bound=False)
