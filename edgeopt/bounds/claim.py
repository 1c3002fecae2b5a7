"""A theorem as an object: what is claimed, what it assumes, and a check that returns a verdict.

A claim is pickled by its name in the table of claims, which is imported when that happens.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.verdict import Finding, Relation, Source, Verdict, verdict_of_claim
from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.options import check_fields, check_kind, check_real, refused
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import rounding_floor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _itself(instance: Any) -> Any:
    return instance


class NotApplicableError(EdgeOptError):
    """Raised inside a measurement that cannot be made: the claim is empty or too large here.

    `Claim.check` turns it into the verdict `vacuous` with the text as its reason.

    Examples
    --------
    >>> from edgeopt.bounds import Measurement, NotApplicableError
    >>> from edgeopt.instances.rescue import generate
    >>> def largest_demand(instance):
    ...     if not instance.reserved.demand.size:
    ...         raise NotApplicableError("no reserved tasks")
    ...     return Measurement(instance.reserved.demand.max(), 1.0)
    ...
    >>> largest_demand(generate(reserved=0))
    Traceback (most recent call last):
    ...
    edgeopt.bounds.claim.NotApplicableError: no reserved tasks
    """


@compact_repr
@dataclass(frozen=True)
class Assumption:
    """A named predicate that an instance must satisfy for a claim to apply to it.

    Parameters
    ----------
    name
        Identifier in words, `"exclusive arrivals"`.
    statement
        The condition in LaTeX or in one sentence.
    holds
        The test itself, on the instance.

    Examples
    --------
    >>> from edgeopt.bounds import Assumption
    >>> from edgeopt.instances.rescue import small
    >>> one_server = Assumption("one server", "K = 1", lambda instance: instance.servers == 1)
    >>> one_server.holds(small(1))
    True
    """

    name: str
    statement: str
    holds: Callable[[Any], bool]

    def __post_init__(self) -> None:
        check_fields(self)


@compact_repr
@dataclass(frozen=True)
class Measurement:
    """The two numbers that a claim compares, and what proves them.

    Parameters
    ----------
    measured
        The quantity found on the instance.
    guaranteed
        What the claim promises for it.
    certificate
        Arrays and numbers from which both can be recomputed.
    size
        Size of the terms that both numbers were added up from, in their unit: the tolerance of a
        claim is a share of it. By default the larger of both numbers. A difference that is compared
        with 0 has lost that, and states it.

    Raises
    ------
    OptionError
        If one of the numbers is none.

    Examples
    --------
    >>> from edgeopt.bounds import Measurement
    >>> found = Measurement(measured=3.0, guaranteed=2.5, size=8.0)
    >>> round(found.allowed(0.125), 6), found.nothing
    (1.0, False)
    """

    measured: float
    guaranteed: float
    certificate: Mapping[str, Any] = field(default_factory=dict)
    size: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        for part in ("measured", "guaranteed", "size"):
            value = getattr(self, part)
            if not isinstance(value, float | np.floating):
                check_real(f"Measurement.{part}", value, "[-inf, inf]")
            object.__setattr__(self, part, float(value))

    def allowed(self, tolerance: float) -> float:
        """Return by how much the two numbers may miss their relation, in their unit.

        Parameters
        ----------
        tolerance
            Share of the size that is allowed; what rounding explains is allowed beyond it.
        """
        numbers = (abs(self.measured), abs(self.guaranteed), self.size)
        size = max(number for number in (0.0, *numbers) if number < math.inf)
        floor = rounding_floor(size, size)
        return tolerance * size + (floor if tolerance > 0.0 else 0.0)

    @property
    def nothing(self) -> bool:
        """Whether both numbers are only what rounding leaves of the terms they were added from."""
        floor = rounding_floor(self.size, self.size)
        return max(abs(self.measured), abs(self.guaranteed)) <= floor


Measured = Measurement | Iterable[Measurement]
"""What the measure of a claim returns."""


@compact_repr
@dataclass(frozen=True, kw_only=True)
class Claim:
    r"""A checkable statement of a paper, or its correction.

    Parameters
    ----------
    id
        `system.name`, with `.published` at the end for a statement that is kept as printed
        although it is false.
    statement
        The statement in LaTeX.
    source
        Where it stands.
    measure
        Takes the view of an instance and returns a `Measurement`, or several, of which the one that
        leaves the relation the least slack counts; raises `NotApplicableError` where there is none.
    relation
        How measured must stand to guaranteed.
    instance_type
        Type, or types, of the instances it applies to.
    test_instances
        Named instances on which the claim is checked when the caller brings none: the
        counterexample of a false claim, a spread of cases for a true one.
    assumptions
        Predicates on the instance; where one fails the verdict is vacuous.
    view
        Turns an instance and options into what `measure` reads. Claims that share a view share
        its work (an LP solved once) within one call of `check`.
    tolerance
        Share of the numbers compared, or of the size that a measurement states, by which the
        relation may be missed; with 0 it may not be missed at all.
    counterexample
        Name in `test_instances` of the instance that refutes a false claim; by default the only one
        there.
    corrected_by
        Identifiers of the true claims that stand in place of a false one.

    Examples
    --------
    >>> from edgeopt.bounds import Claim, claims
    >>> claim = claims()["rescue.theorem2"]
    >>> claim.id, claim.relation.value
    ('rescue.theorem2', 'equal')
    """

    id: str
    statement: str
    source: Source
    measure: Callable[[Any], Measured]
    relation: Relation
    instance_type: type | tuple[type, ...]
    test_instances: Mapping[str, Callable[[], Any]]
    assumptions: tuple[Assumption, ...] = ()
    view: Callable[..., Any] = _itself
    tolerance: float = 1e-6
    counterexample: str | None = None
    corrected_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        check_kind("source", self.source, Source)
        check_kind("relation", self.relation, Relation)
        for assumption in self.assumptions:
            check_kind("assumptions", assumption, Assumption)
        try:
            isinstance(None, self.instance_type)
        except TypeError:
            raise refused("instance_type", self.instance_type, "must be classes") from None
        check_real("tolerance", self.tolerance, "[0, inf)")
        if not self.test_instances:
            raise OptionError(f"claim {self.id}: needs at least one named instance")
        if self.counterexample is None and self.corrected_by and len(self.test_instances) == 1:
            object.__setattr__(self, "counterexample", next(iter(self.test_instances)))
        if self.counterexample is not None and self.counterexample not in self.test_instances:
            raise OptionError(f"claim {self.id}: counterexample {self.counterexample} is unknown")

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Its functions cannot be pickled where they have no name; the claim has one.
        from edgeopt.bounds.search.space import known_claim

        with contextlib.suppress(OptionError):
            if known_claim(self.id) is self:
                return known_claim, (self.id,)
        return super().__reduce_ex__(protocol)

    def check(self, instance: Any = None, **options: Any) -> Verdict:
        """Check the claim.

        Parameters
        ----------
        instance
            The instance; by default the worst of the claim's own test instances.
        **options
            Passed to the view, such as a plan that is already solved.

        Returns
        -------
        Verdict
            The finding with its numbers and certificate.

        Raises
        ------
        OptionError
            If the claim does not apply to instances of its type.
        """
        if instance is None:
            if options:
                raise OptionError(f"options {sorted(options)} belong to an instance; give one")
            return self.worst(lambda build: self.view(build()))
        if not isinstance(instance, self.instance_type):
            raise OptionError(f"claim {self.id} does not apply to a {type(instance).__name__}")
        return self.decide(instance, lambda: self.view(instance, **options))

    def worst(self, view_of: Callable[[Callable[[], Any]], Any]) -> Verdict:
        """Check the claim on its own test instances and return the worst verdict.

        `view_of` maps an entry of `test_instances` to the view of the instance that it builds.
        """
        verdicts = [
            self.decide(build(), lambda build=build: view_of(build), name)  # type: ignore[misc]
            for name, build in self.test_instances.items()
        ]
        worst = verdict_of_claim(verdicts)
        if len(verdicts) == 1 or worst.verdict is Finding.VACUOUS:
            return worst
        vacuous = sum(v.verdict is Finding.VACUOUS for v in verdicts)
        reason = f"worst of {len(verdicts)} named instances, {vacuous} of them vacuous"
        return replace(worst, reason="; ".join(filter(None, [reason, worst.reason])))

    def decide(self, instance: Any, view: Callable[[], Any], name: str | None = None) -> Verdict:
        """Compare the two numbers on one instance.

        The view is built only where all assumptions hold; the verdict calls the instance by its
        name, or by its fingerprint.
        """
        label = instance_label(instance) if name is None else name
        for assumption in self.assumptions:
            holds = assumption.holds(instance)
            if not isinstance(holds, bool | np.bool_):
                raise OptionError(
                    f"claim {self.id}: the assumption {assumption.name!r} must tell True or "
                    f"False, not a {type(holds).__name__}"
                )
            if not holds:
                reason = f"assumption fails: {assumption.name}"
                return Verdict(self.id, self.source, Finding.VACUOUS, reason=reason, instance=label)
        try:
            several = self._several(self.measure(view()))
            found = worst(self.relation, several, self.tolerance)
        except NotApplicableError as why:
            return Verdict(self.id, self.source, Finding.VACUOUS, reason=str(why), instance=label)
        except Exception as error:
            error.add_note(f"in the measurement of claim {self.id} on {label or 'an instance'}")
            raise
        measured, guaranteed = found.measured, found.guaranteed
        slack = self.relation.slack(measured, guaranteed)
        if math.isnan(slack):
            raise EdgeOptError(f"claim {self.id}: compares {measured} with {guaranteed}")
        holds = slack >= -found.allowed(self.tolerance)
        finding = Finding.HOLDS if holds else Finding.VIOLATED
        if holds and found.nothing:
            measured = guaranteed = slack = 0.0
        return Verdict(
            self.id,
            self.source,
            finding,
            measured,
            guaranteed,
            slack,
            found.certificate,
            instance=label,
            factor=self._factor(several) if holds else 1.0,
        )

    def _factor(self, several: Iterable[Measurement]) -> float:
        """Return by what factor the guarantee could be stronger before one measurement failed."""
        found = list(several)
        # No factor moves a guarantee of 0.
        telling = [one for one in found if one.guaranteed != 0.0 and not one.nothing] or found
        return min(
            1.0 if one.nothing else self.relation.factor(one.measured, one.guaranteed, one.size)
            for one in telling
        )

    def _several(self, found: Any) -> list[Measurement]:
        """Return what the measure has returned, or yielded."""
        several = list(found) if isinstance(found, Iterable) else [found]
        if not all(isinstance(one, Measurement) for one in several):
            raise OptionError(
                f"claim {self.id}: its measure returned a {type(found).__name__}; it must return "
                "Measurement(measured, guaranteed), or several"
            )
        return several


def worst(relation: Relation, found: Iterable[Measurement], tolerance: float = 0.0) -> Measurement:
    """Return the measurement that leaves a relation the least slack.

    It is the first of those that a thousandth of the tolerance does not tell apart: their order is
    rounding, in which processors differ.
    """
    several = list(found)
    if not several:
        raise NotApplicableError("there is nothing to compare, or all of it is too large")
    slacks = [relation.slack(one.measured, one.guaranteed) for one in several]
    least = min(range(len(several)), key=slacks.__getitem__)
    return next(
        one
        for at, one in enumerate(several)
        if at == least or slacks[at] - slacks[least] <= one.allowed(tolerance / 1000)
    )


def instance_label(instance: Any) -> str:
    """Return the fingerprint of an instance, or nothing if it has none."""
    fingerprint = getattr(instance, "fingerprint", None)
    return str(fingerprint()) if callable(fingerprint) else ""
