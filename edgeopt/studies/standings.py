"""Policies beside their bounds, of one instance or of several, and which of them is the first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.intervals import Spread, spread
from edgeopt.studies.comparison import by_gap, series_of
from edgeopt.studies.system import DIMENSIONLESS
from edgeopt.studies.wording import (
    NO_BOUND,
    gap_said,
    interval,
    number,
    percent,
    plural,
    portion,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.bounds.intervals import Nature
    from edgeopt.studies.comparison import Pairs
    from edgeopt.studies.results import Case, Study
    from edgeopt.studies.system import Constraint, Objective

EXACT: Final[Any] = "exact"
"""The kind of a figure that was computed without sampling."""


@dataclass(frozen=True)
class Standing:
    """A policy with its value, its ratio to a bound, and what it violates.

    Parameters
    ----------
    policy, title, causal
        Which it is, and whether it does not know the future.
    value
        Its value, by which policies are ranked.
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
    violated
        Violated service constraints per run; NaN where there are none to violate.
    violations
        What it violates, as the end of "it ...".
    each
        Ratio on every instance, where there are several, shape [n].
    guarantee
        Ratio to that bound that is proven beforehand; NaN where there is none.
    """

    policy: str
    title: str
    causal: bool
    value: float
    spread: Spread
    amount: str
    ratio: Spread
    label: str
    bounded: bool
    gap: Spread
    gap_unit: str
    violated: float
    violations: str
    each: NDArray[np.float64]
    guarantee: float = nan

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
        The policies, sorted by their gap.
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
        """Those that do not know the future and have a value, the best value first."""
        sign = -1.0 if self.objective.sense == "max" else 1.0
        known = [one for one in self.rows if one.causal and isfinite(one.value)]
        return sorted(known, key=lambda one: sign * one.value)

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
    def open(self) -> list[Standing]:
        """Those of them that the first is not better than for sure."""
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
        sure = f"{percent(self.pairs.confidence, 0)} interval"
        what = sure if found.kind == "interval" else "range"
        said = f"{what} {interval(found.low, found.high, share=share)}"
        return f"{said}, over {over}" if whole else said

    def gap(self, one: Standing) -> str:
        """Write the gap with its name: ``gap of 31.1 %``, over instances ``mean gap of ...``."""
        said = gap_said({"gap": one.gap.centre, "gap_unit": one.gap_unit})
        mean = "mean " if one.gap.kind == "interval" and not self.here else ""
        return f"{mean}gap of {said}" if one.bounded else f"{NO_BOUND} for this policy"

    def share(self, one: Standing) -> str:
        """Write the ratio to the bound, or what there is in its place."""
        if isfinite(one.ratio.centre):
            return self.objective.against(one.ratio.centre, one.label)
        return f"a {self.gap(one)}" if one.bounded else ""

    def figure(self, one: Standing) -> str:
        """Write what is known of a policy: its share of a bound that is valid for it, or value."""
        return (self.share(one) if one.bounded else "") or one.amount

    def of(self, policy: str) -> Standing:
        """Return the row of a policy."""
        return next(one for one in self.rows if one.policy == policy)

    def price(self, policy: str) -> str:
        """Write what a policy violates as the end of a sentence about it, nothing if nothing."""
        one = self.of(policy)
        return "" if one.keeps else f", but it {one.violations}"

    def reach(self, one: Standing, *, whole: bool = False) -> str:
        """Write value, share of the bound with its interval, and the gap."""
        if not isfinite(one.ratio.centre):
            return ", ".join(part for part in (one.amount, self.share(one)) if part)
        ends = self.ends(one, whole=whole)
        said = f"{one.amount}, {self.share(one)}{f' ({ends})' if ends else ''}"
        return f"{said}, {f'a {self.gap(one)}' if one.bounded else 'which is no bound for it'}"


def of_case(case: Case) -> Standings:
    """Return the policies of one instance."""
    verb, name = case.constraint.verb[0], case.constraint.name
    rows = []
    for row in case.rows.values():
        per_run = " per run" if case.objective.adds == "sum" else ""
        each = case.values(str(row["policy"]))
        found = spread(each, "signed", confidence=case.settings.confidence)
        if isfinite(row["value_exact"]):
            found = Spread(row["value"], nan, nan, EXACT, each.size)
        amount = f"{case.objective.amount(row['value'])}{per_run}"
        ratio, label, bounded, guarantee = _ratio_of(case, row)
        if not case.constraints:
            violations = f"has no {name} to {plain(verb)}"
        elif row["violated"] > 0:
            lost = f"{number(row['violated'], 3)} of {plural(case.constraints, name)}"
            violations = f"{verb} {lost} per run"
        else:
            violations = f"{verb} no {name} in any run"
        rows.append(
            Standing(
                str(row["policy"]), case.title(row), row["kind"] == "causal", float(row["value"]),
                found, amount, ratio, label, bounded, _gap_of(row, each.size), row["gap_unit"],
                float(row["violated"]) if case.constraints else nan, violations, np.empty(0),
                guarantee,
            )
        )  # fmt: skip
    return Standings(
        rows, case.pairs, case.objective, case.constraint, case.constraints > 0,
        plural(case.settings.runs, "scenario"), " on this instance",
    )  # fmt: skip


def _gap_of(row: Mapping[Any, Any], runs: int) -> Spread:
    gap, low, high = (float(row[f"gap{end}"]) for end in ("", "_low", "_high"))
    return Spread(gap, low, high, row["gap_spread"], runs)


def plain(verb: str) -> str:
    """Return the plain form of a verb: ``fail``, ``miss``, ``exceed``."""
    return verb.removesuffix("es") if verb.endswith("sses") else verb.removesuffix("s")


def _ratio_of(case: Case, row: Mapping[Any, Any]) -> tuple[Spread, str, bool, float]:
    """Return ratio and guarantee to the policy's own bound, else to the reference bound."""
    bounded = isfinite(row["gap"])
    own = str(row["bound"]) if bounded else case.system.offline.reference
    label = case.system.offline.bounds[own].label
    label += " of its scenarios" if bounded and row["bound_scope"] == "scenario" else ""
    name = "bound_ratio" if bounded else "ratio"
    kind = row["gap_spread"] if bounded else row["spread"]
    ratio, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    guarantee = _guarantee(case, str(row["policy"]), own)
    return Spread(ratio, low, high, kind, case.settings.runs), label, bounded, guarantee


def _guarantee(case: Case, policy: str, bound: str) -> float:
    """Return what is proven for a policy as a ratio to a bound, NaN where nothing is."""
    entry, reference = case.entries[policy], case.benchmarks[bound].bound
    of = case.benchmarks.get(entry.guarantee_of or case.system.offline.reference)
    if entry.guarantee is None or of is None or not reference > 0:
        return nan
    return entry.guarantee * of.bound / reference


def of_study(study: Study) -> Standings:
    """Return the policies of several instances."""
    cases, confidence = [case.name for case in study.cases], study.settings.confidence
    first, constraint = study.cases[0], study.system.constraint
    table = study.table.assign(gap=study.table["gap"].where(study.table["gap_unit"] == ""))
    table = table.set_index(["policy", "instance"])
    constrained = any(case.constraints for case in study.cases)
    per_run = " per run" if study.system.objective.adds == "sum" else ""
    found, gaps = {}, []
    for policy, entry in first.entries.items():
        gap = spread(series_of(table, policy, cases, "gap"), "signed", confidence=confidence)
        bounded = bool(entry.bound) and isfinite(gap.centre)
        of = entry.bound if bounded else study.system.offline.reference
        label = study.system.offline.bounds[of].label
        label += " of its scenarios" if bounded and first.benchmarks[of].scope else ""
        ratios = series_of(table, policy, cases, "bound_ratio" if bounded else "ratio")
        value = spread(series_of(table, policy, cases, "value"), confidence=confidence)
        gaps.append((policy, entry.kind, gap.centre, value.centre))
        found[policy] = Standing(
            policy, entry.title, entry.causal, value.centre, value,
            f"{study.system.objective.amount(value.centre)}{per_run}",
            spread(ratios, confidence=confidence), label, bounded, gap, "",
            float(np.mean(series_of(table, policy, cases, "violated"))) if constrained else nan,
            _violations(study, series_of(table, policy, cases, "violated"),
                        series_of(table, policy, cases, "violated_share")),
            ratios, float(np.mean([_guarantee(case, policy, of) for case in study.cases])),
        )  # fmt: skip
    import pandas as pd

    order = pd.DataFrame(gaps, columns=["policy", "kind", "gap", "value"])
    return Standings(
        [found[policy] for policy in by_gap(order, study.system.objective.sense)["policy"]],
        study.pairs, study.system.objective, constraint, constrained,
        plural(len(cases), "instance"),
    )  # fmt: skip


def _violations(study: Study, counts: NDArray[np.float64], shares: NDArray[np.float64]) -> str:
    """Say how many service constraints a policy violates per run, and which share over all."""
    constraint = study.system.constraint
    if np.isnan(shares).all():
        return f"has no {constraint.name} to {plain(constraint.verb[0])}"
    if not counts.sum() > 0:
        return f"{constraint.verb[0]} no {constraint.name} on any instance"
    known = shares[~np.isnan(shares)]
    nature: Nature = "signed" if known.max() > 1.0 else "share"
    found = spread(known, nature, confidence=study.settings.confidence)
    said = f"{constraint.verb[0]} {number(float(counts.mean()), 3)} {constraint.name}s per run"
    return f"{said}, {portion(found.centre, 2)} of all"
