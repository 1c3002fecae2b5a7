"""Policies beside their bounds, of one instance or of several, and which of them is the first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.bounds.estimate import combined, gap_to
from edgeopt.bounds.intervals import Spread
from edgeopt.studies.system import DIMENSIONLESS
from edgeopt.studies.wording import (
    NO_BOUND,
    counted,
    gap_said,
    interval,
    limit_said,
    percent,
    plural,
    portion,
    sampled_said,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.bounds.estimate import Gap
    from edgeopt.bounds.pairs import Pairs
    from edgeopt.studies.results import Case, Study
    from edgeopt.studies.system import Constraint, Objective

EXACT: Final[Any] = "exact"
"""The kind of a figure that was computed without sampling."""


class Rank(NamedTuple):
    """By what a policy is ranked: its value, and what may keep it from a place among the first."""

    value: float
    causal: bool
    keeps: bool
    contradicts: bool

    @property
    def group(self) -> int:
        """Those that keep the constraints come first, then others; two groups have no place."""
        if not self.causal:
            return 3
        return 2 if self.contradicts or not isfinite(self.value) else int(not self.keeps)


def ranking(ranks: Mapping[str, Rank], sense: str) -> list[str]:
    """Sort policies: the best value first, of those that keep the constraints, then of others.

    Those whose values contradict their bounds follow, or are missing; those with hindsight are
    last.
    """
    sign = -1.0 if sense == "max" else 1.0

    def key(name: str) -> tuple[float, ...]:
        one = ranks[name]
        return one.group, not isfinite(one.value), sign * one.value if isfinite(one.value) else 0.0

    return sorted(ranks, key=key)


def places(ranks: Mapping[str, Rank], pairs: Pairs) -> dict[str, str]:
    """Return the places of sorted policies; those that are not told apart share theirs."""
    found: dict[str, str] = {}
    for group in (0, 1):
        found |= pairs.places(
            [name for name, one in ranks.items() if one.group == group], len(found)
        )
    return found


@dataclass(frozen=True)
class Standing:
    """A policy with its value, its ratio to a bound, and what it violates.

    Parameters
    ----------
    policy, title, causal
        Which it is, and whether it does not know the future.
    value, score
        Its value, and the same in terms of the reference bounds over several instances, by which
        policies are ranked.
    spread
        The same with its ends; the kind may be ``"exact"``.
    amount
        The value in words, with its unit.
    ratio
        The value over the tightest bound that is valid for the policy, else over the reference
        bound; its kind may be ``"exact"``.
    label
        The bound in words.
    bounded
        Whether that bound is valid for the policy.
    gap, gap_unit
        Its gap; the unit where it is a difference to a bound of 0, else empty.
    place
        Its place; empty where it has none.
    limit
        What the value is beyond by chance: ``"at most 20.72 (proven)"``, else empty.
    violated
        Violated service constraints per run; NaN where there are none to violate.
    violations
        What it violates, as the end of "it ...".
    each
        Ratio on every instance, where there are several, shape [n].
    guarantee
        Ratio to that bound that is proven beforehand; NaN where there is none.
    how
        How the value is known, see :class:`edgeopt.bounds.estimate.Estimate`.
    bound
        The bound that is valid for it; NaN without one, and over instances.
    sampled
        ``"in N runs"`` where that rests on checks that were only seen to be kept there, else empty.
    """

    policy: str
    title: str
    causal: bool
    value: float
    score: float
    spread: Spread
    amount: str
    ratio: Spread
    label: str
    bounded: bool
    gap: Gap
    gap_unit: str
    place: str
    limit: str
    violated: float
    violations: str
    each: NDArray[np.float64]
    guarantee: float = nan
    how: str = ""
    bound: float = nan
    sampled: str = ""

    @property
    def keeps(self) -> bool:
        """Whether it violates nothing."""
        return not self.violated > 0

    @property
    def named(self) -> str:
        """Its title, with what it violates."""
        return self.title if self.keeps else f"{self.title} (which {self.violations})"


@dataclass(frozen=True)
class Standings:
    """All policies of a table, as it is sorted.

    Parameters
    ----------
    rows
        The policies, the best first, those with hindsight last.
    pairs
        Paired tests of all of them.
    objective, constraint
        Of the system.
    constrained
        Whether there are service constraints to violate.
    over
        What the figures are over: ``"6 instances"``, ``"200 scenarios"``.
    here
        What to add to it, such as ``" on this instance"``.
    """

    rows: Sequence[Standing]
    pairs: Pairs
    objective: Objective
    constraint: Constraint
    constrained: bool
    over: str
    here: str = ""

    @cached_property
    def ranked(self) -> list[Standing]:
        """Those that have a place, the best value first, whatever they violate."""
        sign = -1.0 if self.objective.sense == "max" else 1.0
        return sorted((one for one in self.rows if one.place), key=lambda one: sign * one.score)

    @property
    def first(self) -> Standing | None:
        """The policy to name: the best value, without violations unless the constraint is soft."""
        kept = [one for one in self.ranked if one.keeps]
        return next(iter(self.ranked if self.constraint.soft else kept or self.ranked), None)

    @property
    def other(self) -> Standing | None:
        """Another one to name where violations decide which is the first."""
        best, kept = self.ranked[:1], [one for one in self.ranked if one.keeps][:1]
        return next((one for one in best + kept if one is not self.first), None)

    @property
    def others(self) -> list[Standing]:
        """Those that the first was chosen from, the best value first."""
        first = self.first
        assert first is not None
        among = [one for one in self.ranked if one is not first]
        if first.keeps and not self.constraint.soft:
            among = [one for one in among if one.keeps]
        return among

    @property
    def exact(self) -> bool:
        """Whether the values of all that have a place are certain."""
        return all(self.pairs.estimates[one.policy].exact for one in self.ranked)

    @property
    def same(self) -> list[Standing]:
        """Those of the others that have the same value as the first, in every run."""
        first = self.first
        assert first is not None
        return [one for one in self.others if self.pairs.same(first.policy, one.policy)]

    @property
    def open(self) -> list[Standing]:
        """Those of them that the first is not better than by the test."""
        first = self.first
        assert first is not None
        return [one for one in self.others if not self.pairs.better(first.policy, one.policy)]

    @property
    def crowned(self) -> bool:
        """Whether the first may be called best: better than all others, after the tests."""
        first = self.first
        allowed = first is not None and (first.keeps or self.constraint.soft)
        return allowed and len(self.others) > 0 and not self.open

    def ends(self, one: Standing, *, whole: bool = False) -> str:
        """Write what stands beside a ratio, see `beside`."""
        return self.beside(one.ratio, share=self.objective.sense == "max", whole=whole)

    def around(self, one: Standing) -> str:
        """Write what stands beside a value, with its unit: ``95 % interval 57.5 to 57.8 ms``."""
        said, unit = self.beside(one.spread), self.objective.unit
        finite = isfinite(one.spread.low) and unit != DIMENSIONLESS
        return f"{said} {unit}" if finite else said

    def beside(self, found: Spread, *, share: bool = False, whole: bool = False) -> str:
        """Write an interval or range, and if `whole` what it is over, or that there is none."""
        over = f"{self.over}{self.here if whole else ''}"
        if found.kind == EXACT:
            return str(EXACT)
        if found.kind == "equal":
            return f"the same in all {over}"
        if found.kind not in ("interval", "range"):
            return ""
        what = self.sure if found.kind == "interval" else "range "
        said = f"{what}{interval(found.low, found.high, share=share)}"
        return f"{said}, over {over}" if whole else said

    @property
    def sure(self) -> str:
        """What stands before an interval."""
        return f"{percent(self.pairs.confidence, 0)} interval "

    def gap(self, one: Standing) -> str:
        """Write the gap with its name: ``gap to bound 31.1 %``, over instances the mean of them."""
        mean = "" if self.here else "mean "
        return (
            f"{mean}gap to bound {gap_said(gap_row(one))}{one.sampled and f', valid {one.sampled}'}"
            if one.bounded
            else (f"{NO_BOUND} for this policy")
        )

    def of(self, policy: str) -> Standing:
        """Return the row of a policy."""
        return next(one for one in self.rows if one.policy == policy)

    def price(self, policy: str) -> str:
        """Write what a policy violates as the end of a sentence about it, nothing if nothing."""
        one = self.of(policy)
        return "" if one.keeps else f", but it {one.violations}"


def gap_row(one: Standing) -> dict[str, Any]:
    """Return a gap as a row of a table has it."""
    gap = one.gap
    return {
        "gap": gap.value, "gap_low": gap.low, "gap_high": gap.high, "gap_spread": gap.kind,
        "gap_unit": one.gap_unit,
        "beyond": "contradiction" if gap.contradicted else "chance" if gap.beyond else "",
    }  # fmt: skip


def of_case(case: Case) -> Standings:
    """Return the policies of one instance."""
    verb, name = case.constraint.verb[0], case.constraint.name
    rows = []
    for row in case.rows.values():
        policy = str(row["policy"])
        found = case.estimates[policy]
        shown = replace(
            found.spread(case.settings.confidence), low=row["value_low"], high=row["value_high"]
        )
        ratio, label, bounded, guarantee = _ratio_of(case, row)
        if not case.constraints:
            violations = f"has no {name} to {plain(verb)}"
        elif row["violated"] > 0:
            lost = f"{counted(row['violated'])} of {plural(case.constraints, name)}"
            violations = f"{verb} {lost} per run ({portion(row['violated_share'], 0)})"
        else:
            violations = f"{verb} no {name} in any run"
        lost_per_run = float(row["violated"]) if case.constraints else nan
        rows.append(
            Standing(
                policy, case.title(row), row["kind"] == "causal", found.mean, found.mean, shown,
                f"{case.objective.amount(found.mean)}{per_run(case.objective)}", ratio, label,
                bounded, case.gaps[policy], row["gap_unit"], row["place"],
                limit_said(row, case.objective), lost_per_run, violations, np.empty(0), guarantee,
                found.how, float(row["bound_value"]), sampled_said(row["bound_how"]),
            )
        )  # fmt: skip
    return Standings(
        rows, case.pairs, case.objective, case.constraint, case.constraints > 0,
        plural(case.runs, "run"), " on this instance",
    )  # fmt: skip


def per_run(objective: Objective) -> str:
    """Return what follows an amount: `` per run`` where it is a sum over the slots."""
    return " per run" if objective.adds == "sum" else ""


def plain(verb: str) -> str:
    """Return the plain form of a verb: ``fail``, ``miss``, ``exceed``."""
    return verb.removesuffix("es") if verb.endswith("sses") else verb.removesuffix("s")


def _ratio_of(case: Case, row: Mapping[Any, Any]) -> tuple[Spread, str, bool, float]:
    """Return ratio and guarantee to the policy's own bound, else to the reference bound."""
    bounded = isfinite(row["gap_raw"])
    own = str(row["bound"]) if bounded else case.system.offline.reference
    label = case.bounds[own].label
    label += ", per scenario" if bounded and row["bound_scope"] == "scenario" else ""
    name = "bound_ratio" if bounded else "ratio"
    kind = row["gap_spread"] if bounded else row["spread"]
    ratio, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    guarantee = _guarantee(case, str(row["policy"]), own)
    return Spread(ratio, low, high, kind, case.runs), label, bounded, guarantee


def _guarantee(case: Case, policy: str, bound: str) -> float:
    """Return what is proven for a policy as a ratio to a bound, NaN where nothing is."""
    entry, reference = case.entries[policy], case.benchmarks[bound].bound
    of = case.benchmarks.get(entry.guarantee_of or case.system.offline.reference)
    if entry.guarantee is None or of is None or not reference > 0:
        return nan
    return entry.guarantee * of.bound / reference


def of_study(study: Study) -> Standings:
    """Return the policies of several instances."""
    first, objective = study.cases[0], study.system.objective
    constrained = any(case.constraints for case in study.cases)
    found, ranks = {}, {}
    for policy, entry in first.entries.items():
        gap, bounded, unit = _gap_over(study, policy)
        of = first.bound_of(policy) if bounded else study.system.offline.reference
        labels = dict.fromkeys(
            case.bounds[case.bound_of(policy) or of].label for case in study.cases
        )
        label = first.bounds[of].label if not bounded else " or ".join(labels)
        label += ", per scenario" if bounded and first.benchmarks[of].scope else ""
        score = study.shares[policy]
        ratio = (
            _over_bound(gap, objective.sense)
            if bounded
            else score.spread(study.settings.confidence)
        )
        if not bounded and study.unit:
            ratio = Spread(nan, nan, nan, "none", len(study.cases))
        value = combined(
            [case.estimates[policy] for case in study.cases], [1.0] * len(study.cases),
            drawn=study.drawn,
        )  # fmt: skip
        column = "bound_ratio" if bounded else "ratio"
        each = np.array([case.rows[policy][column] for case in study.cases], dtype=float)
        violated = np.array([case.rows[policy]["violated"] for case in study.cases])
        shares = np.array([case.rows[policy]["violated_share"] for case in study.cases])
        keeps = study.system.constraint.soft or not (constrained and violated.sum() > 0)
        contradicts = any(case.gaps[policy].contradicted for case in study.cases)
        how = [sampled_said(case.bound_how(policy)) for case in study.cases]
        ranks[policy] = Rank(score.mean, entry.causal, keeps, contradicts)
        found[policy] = Standing(
            policy, entry.title, entry.causal, value.mean, score.mean,
            value.spread(study.settings.confidence),
            f"{objective.amount(value.mean)}{per_run(objective)}", ratio, label, bounded, gap, unit,
            "", "", float(violated.mean()) if constrained else nan,
            _violations(study, violated, shares), each,
            float(np.mean([_guarantee(case, policy, of) for case in study.cases])), score.how,
            sampled=next(filter(None, how), "") if bounded else "",
        )  # fmt: skip
    order = ranking(ranks, objective.sense)
    place = places({name: ranks[name] for name in order}, study.pairs)
    return Standings(
        [replace(found[name], place=place.get(name, "")) for name in order],
        study.pairs, objective, study.system.constraint, constrained,
        plural(len(study.cases), "instance"),
    )  # fmt: skip


def _gap_over(study: Study, policy: str) -> tuple[Gap, bool, str]:
    """Return the gap of a policy over instances, whether it has one, and its unit."""
    objective = study.system.objective
    bounds = [
        float(case.benchmarks[own].bound) if (own := case.bound_of(policy)) else nan
        for case in study.cases
    ]
    sizes = np.abs(bounds)
    # A difference to a bound of 0 is no share, and has no mean with others.
    usable = bool(np.isfinite(bounds).all() and (sizes > 0).all())
    if not usable:
        sizes, bounds = np.ones(len(bounds)), [nan] * len(bounds)
    found = combined(
        [case.estimates[policy] for case in study.cases], sizes.tolist(),
        drawn=study.drawn,
    )  # fmt: skip
    middle = float(np.mean(np.array(bounds) / sizes))
    gap = gap_to(found, middle, objective.sense, study.settings.confidence, size=1.0)
    return gap, gap.kind != "none" and isfinite(gap.raw), ""


def _over_bound(gap: Gap, sense: str) -> Spread:
    """Turn a gap into the ratio of value and bound."""
    sign = 1.0 if sense == "min" else -1.0
    ends = sorted(1.0 + sign * end for end in (gap.low, gap.high))
    kind: Any = gap.kind
    return Spread(1.0 + sign * gap.value, ends[0], ends[1], kind, 0)


def _violations(study: Study, counts: NDArray[np.float64], shares: NDArray[np.float64]) -> str:
    """Say how many service constraints a policy violates per run, and which share over all."""
    constraint = study.system.constraint
    if np.isnan(shares).all():
        return f"has no {constraint.name} to {plain(constraint.verb[0])}"
    if not counts.sum() > 0:
        return f"{constraint.verb[0]} no {constraint.name} on any instance"
    share = float(shares[~np.isnan(shares)].mean())
    said = f"{constraint.verb[0]} {counted(counts.mean())} {constraint.name}s per run"
    return f"{said} ({portion(share, 0)})"
