"""A study, or one of its instances, in words: which policy is the first, and how sure that is.

A policy is called best only if it is better than all others that it was chosen from, by paired
tests of all pairs of the table together; see :mod:`edgeopt.studies.comparison`. Wherever a policy
that violates service constraints is named, the same sentence says how many.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.intervals import FEWEST, spread
from edgeopt.bounds.registry import claims
from edgeopt.bounds.verdict import Finding as Outcome
from edgeopt.studies.comparison import UNRESOLVED
from edgeopt.studies.results import Case, Study
from edgeopt.studies.standings import plain
from edgeopt.studies.wording import (
    NO_BOUND,
    capitalised,
    duration,
    interval,
    listed,
    number,
    percent,
    plural,
    power,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeopt.studies.entries import Benchmark
    from edgeopt.studies.standings import Standing, Standings

ONLY_HINDSIGHT: Final = "Only policies with hindsight take part"
"""Said where the best policy would be named: one that knows the future is never called best."""

_NAMED: Final = 3
"""Most policies that are named in a sentence."""


@dataclass(frozen=True)
class Headline:
    """An important figure, with its unit; what it is; and its certificate or interval."""

    figure: str
    what: str
    detail: str


@dataclass(frozen=True)
class Finding:
    """A paragraph of the summary: a heading of one to three words, and whole sentences."""

    about: str
    text: str


def title(compared: Case | Study) -> str:
    """Say in a line which policy is the first, what it reaches of its bound, and violates."""
    found = compared.standings
    first = found.first
    if first is None:
        return _nobody(found)
    says = "is best" if found.crowned else f"has the {_most(found)}"
    reached = found.figure(first) if first.bounded else f"{first.amount}, {NO_BOUND}"
    return f"{first.title} {says}{_among(found)}: {reached}; it {first.violations}"


def _among(found: Standings) -> str:
    """Say that the first was chosen from those without violations, where another has more."""
    first, other = found.first, found.other
    if first is None or other is None or not first.keeps or found.constraint.soft:
        return ""
    return f" {_keeping(found)}"


def _keeping(found: Standings) -> str:
    return f"of the policies that {plain(found.constraint.verb[0])} no {found.constraint.name}"


def _most(found: Standings) -> str:
    return f"{found.objective.most} {found.objective.name}"


def _nobody(found: Standings) -> str:
    if any(one.causal for one in found.rows):
        return f"No policy has a {found.objective.name} in every run"
    return f"{ONLY_HINDSIGHT}: they know the future, and none is called best"


def sentence(compared: Case | Study) -> str:
    """Name in a sentence the first policy, its share of the bound, and what it violates."""
    found = compared.standings
    first = found.first
    if first is None:
        return f"{_nobody(found)}."
    where = _among(found) + ("" if found.here else f" over {found.over}")
    crown = f"is best{where}: a {found.objective.name} of"
    said = f"{first.title} {crown if found.crowned else f'has the {_most(found)}{where}:'}"
    said += f" {found.reach(first, whole=True)}; it {first.violations}"
    if found.crowned:
        count = len(found.others)
        than = "the other" if count == 1 else f"each of the {count} others"
        than += " of these" if _among(found) else ""
        said += f", and is better than {than} by the {_paired(f'the same {found.over}')}"
    return f"{said}."


def _paired(over: str) -> str:
    """Say what is compared where a policy is called better."""
    return f"differences in each of {over}, all pairs tested together (method of Holm)"


def lead(compared: Case | Study) -> str:
    """Return the summary in a few sentences, of which the first is :func:`sentence`."""
    found = compared.standings
    first, other = found.first, found.other
    said = sentence(compared)
    if first is None:
        return said
    fails = found.constraint.verb[0]
    said += _contest(found, first)
    if other is not None and other.keeps:
        reach = found.reach(other)
        keeping = capitalised(_keeping(found))
        said += f" {keeping}, {other.title} has the {found.objective.most}: {reach}."
    elif other is not None:
        said += f" {other.title} has a {found.objective.name} of {found.reach(other)}"
        said += f"{found.price(other.policy)}."
    if found.constrained and not any(one.keeps for one in found.ranked):
        said += f" Every policy {fails} some."
    return said


def _contest(found: Standings, first: Standing) -> str:
    """Say of which others it is not resolved whether the first is better, and which are alike."""
    same = [one for one in found.open if found.pairs.same(first.policy, one.policy)]
    rest = [one for one in found.open if one not in same]
    said = ""
    if same:
        have = "has" if len(same) == 1 else "have"
        said += f" {_named(same)} {have} the same in all {found.over}."
    if rest:
        said += f" The difference to {_named(rest)} is {UNRESOLVED} in {found.over}."
        said += f" Policies are compared by {_paired(f'the same {found.over}')}."
    return said


def _named(those: Sequence[Standing]) -> str:
    """Name a few policies, each with its violations, or count them."""
    if len(those) > _NAMED:
        return f"{len(those)} other policies"
    return listed([one.named for one in those])


def headlines(compared: Case | Study) -> list[Headline]:
    """Return the most important figures: those of the policies to name, of bounds, of claims."""
    found, tiles = compared.standings, []
    for one in (found.first, found.other):
        if one is None:
            continue
        role = "best policy" if one is found.first and found.crowned else _most(found)
        if one.violated == 0 and found.other is not None:
            role += f" of those that {plain(found.constraint.verb[0])} no {found.constraint.name}"
        what = f"{one.title}: {role}{found.price(one.policy)}"
        # A share of what does not bound the policy is no measure of it.
        gap = found.beside(one.gap, share=not one.gap_unit)
        ends = gap if one.bounded else found.around(one)
        detail = ", ".join(part for part in (found.gap(one), ends) if part)
        tiles.append(Headline(found.figure(one), what, detail))
    if isinstance(compared, Study):
        return [*tiles, _mean_bound(compared)]
    return [*tiles, *_bounds(compared), *_claims_that_hold(compared)]


def findings(compared: Case | Study) -> list[Finding]:
    """Return what else was found: other policies and the bound; of an instance, more than that."""
    others = _of_others(compared.standings)
    if isinstance(compared, Case):
        more = _of_hindsight(compared), _of_constraints(compared), _of_claims(compared)
        return [*others, *chain(*more), _of_bound(compared)]
    bound = compared.system.offline.bounds[compared.system.offline.reference]
    others.append(Finding("Reference bound", f"{bound.label} bounds {bound.scope}."))
    definition = compared.system.objective.definition
    return [*others, Finding("Measure", definition)] if definition else others


def sentences(compared: Case | Study) -> list[str]:
    """Return the summary and what else was found, a paragraph each."""
    return [lead(compared), *(finding.text for finding in findings(compared))]


def _of_others(found: Standings) -> list[Finding]:
    """Say than which other policies the first is better, and by how much than the next one."""
    if found.first is None or not found.others:
        return []
    first, those, count = found.first, found.others, len(found.others)
    next_, better = those[0], count - len(found.open)
    ratio = found.pairs.ratio(first.policy, next_.policy)
    text = f"On the same {found.over}, {first.named}"
    if found.pairs.same(first.policy, next_.policy):
        text += f" has the same {found.objective.name} as {next_.named} in all of them, and"
    elif isfinite(ratio.centre):
        ends = found.beside(ratio)
        text += (
            f" has {number(ratio.centre, 3)} times the {found.objective.name} of {next_.named}"
            f"{f' ({ends})' if ends else ''}, and"
        )
    some = "each" if better == count else f"{better}"
    named = next_.title if count == 1 else f"{some} of {count} others"
    if better:
        text += f" is better than {named} by the {_paired('them')}"
        text += "" if better == count else f"; of the rest this is {UNRESOLVED}"
    else:
        named = next_.title if count == 1 else f"any of {count} others"
        text += f" is not better for sure than {named} by the {_paired('them')}"
    return [Finding("Other policies", f"{text}.")]


def _mean_bound(study: Study) -> Headline:
    """Return the reference bound over all instances."""
    bounds = np.array([case.benchmark.bound for case in study.cases])
    gap = power(max(case.benchmark.gap for case in study.cases))
    middle = spread(bounds, "positive" if (bounds > 0).all() else "signed")
    return Headline(
        study.system.objective.amount(middle.centre),
        f"{study.cases[0].label}, the reference bound",
        f"over {plural(len(study.cases), 'instance')}; proven relative gap at most {gap}",
    )


def _bounds(case: Case) -> list[Headline]:
    """Return the reference bound, and the bound of the first policy where that is another one."""
    first, reference = case.standings.first, case.system.offline.reference
    tiles = [_bound(case, reference, "the reference bound")]
    own = case.bound_of(first.policy) if first is not None and first.bounded else ""
    if first is not None and own not in ("", reference):
        tiles.append(_bound(case, own, f"the bound of {first.title}"))
    return tiles


def _bound(case: Case, name: str, role: str) -> Headline:
    found, label = case.benchmarks[name], case.system.offline.bounds[name].label
    role += ", mean of its scenarios" if found.scope else ""
    detail = f"{found.solver}, {duration(found.seconds)}"
    if _closest(case, found):
        value, bound = (case.objective.amount(x, 5) for x in (found.value, found.bound))
        # Ratios are to the proven bound, which differs from the plan where the gap is wide.
        plan = "" if value == bound else f"best plan found: {value}; "
        detail = f"{plan}proven relative gap {power(found.gap)}, {detail}"
    else:
        detail = f"proven, {detail}"
    return Headline(case.objective.amount(found.bound, 5), f"{label}, {role}", detail)


def _closest(case: Case, bound: Benchmark) -> bool:
    """Return whether the plan that is known for a bound is at least as good as all policies."""
    values = [one.value for one in case.standings.ranked if one.keeps and one.bounded]
    if case.objective.sense == "max":
        return all(value <= bound.value for value in values)
    return all(value >= bound.value for value in values)


def _of_bound(case: Case) -> Finding:
    benchmark, entry = case.benchmark, case.system.offline.bounds[case.system.offline.reference]
    value, bound = (case.objective.amount(x, 6) for x in (benchmark.value, benchmark.bound))
    known = (
        f"; a solution of {value} is known, a relative gap of {power(benchmark.gap)}"
        if _closest(case, benchmark)
        else "; policies of this study come closer to it than the plan that is known"
    )
    text = (
        f"The reference bound {entry.label} is {bound}, proven by {benchmark.solver} in "
        f"{duration(benchmark.seconds)}{known}. It bounds {entry.scope}."
    )
    return Finding("Reference bound", text)


def _of_hindsight(case: Case) -> list[Finding]:
    """Say as a reference what the best policy that knows the future reaches."""
    row = case.best(kept=True, kind="hindsight")
    if row is None:
        row = case.best(kind="hindsight")
    if row is None or not isfinite(row["value"]):
        return []
    found, one = case.standings, case.standings.of(str(row["policy"]))
    said = (
        f"For reference, {one.title}, which knows the future and is never called best, has a "
        f"{case.objective.name} of {found.reach(one)}{found.price(one.policy)}."
    )
    return [Finding("Hindsight", said)]


def _of_constraints(case: Case) -> list[Finding]:
    if not case.constraints:
        return []
    table, (fails, failed) = case.table, case.constraint.verb
    about = f"{failed.capitalize()} {case.constraint.name}s"
    failing, keeping = table[table["violated"] > 0], table[table["violated"] == 0]
    total = plural(case.constraints, case.constraint.name)
    if failing.empty:
        return [Finding(about, f"No policy {failed} any of the {total} in any run.")]
    low, high = failing["violated"].min(), failing["violated"].max()
    count = interval(low, high, digits=3)
    said = f"Of the {total} in a run, {_group(case, failing, keeping)} {fails} {count} on average"
    if keeping.empty:
        return [Finding(about, f"{said}.")]
    none = f"{_group(case, keeping, failing)} {fails} none in any run"
    return [Finding(about, f"{said}; {none}.")]


def _group(case: Case, rows: pd.DataFrame, others: pd.DataFrame) -> str:
    """Name a group of policies in the singular, by its variant if no other policy has it."""
    if len(rows) == 1:
        return case.title(rows.iloc[0])
    variants = set(rows["variant"])
    if len(variants) == 1 and variants.isdisjoint(others["variant"]) and variants != {""}:
        return f"every {variants.pop()} policy"
    return f"each of {len(rows)} policies"


def _verdicts(case: Case) -> dict[str, str]:
    """Return what was found of every claim; one known to be false is refuted where violated."""
    known = claims({one.claim.partition(".")[0] for one in case.verdicts})
    return {
        one.claim: "refuted"
        if one.verdict is Outcome.VIOLATED and known[one.claim].corrected_by
        else one.verdict.value
        for one in case.verdicts
    }


def _claims_that_hold(case: Case) -> list[Headline]:
    if not case.verdicts:
        return []
    count = Counter(_verdicts(case).values())
    broken = f"{count['violated']} that should hold are violated"
    false = f"the {count['refuted']} others are known to be false"
    return [
        Headline(
            f"{count['holds']} of {count.total() - count['vacuous']}",
            "claims that apply to this instance hold",
            f"{broken if count['violated'] else false}; {count['vacuous']} more do not apply",
        )
    ]


def _of_claims(case: Case) -> list[Finding]:
    if not case.verdicts:
        return []
    found = _verdicts(case)
    count = Counter(found.values())
    said = (
        f"Of {plural(len(case.verdicts), 'claim')} checked on this instance, {count['holds']} hold "
        f"and {count['vacuous']} do not apply, because an assumption fails or the instance is too "
        "large for an exact value"
    )
    if count["refuted"]:
        said += f"; {count['refuted']} that are known to be false are violated"
    broken = [claim for claim, outcome in found.items() if outcome == "violated"]
    last = "No claim that should hold is violated"
    if broken:
        last = f"Violated, but should hold: {listed(broken)}"
    return [Finding("Claims", f"{said}. {last}.")]


def ends_heading(case: Case) -> str:
    """Head a column of what stands beside means over the runs: ``95 % interval``, or ``range``."""
    sure = percent(case.settings.confidence, 0)
    return "range" if case.settings.runs < FEWEST else f"{sure} interval"
