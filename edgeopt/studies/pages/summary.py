"""The study in words: headlines, findings, and their certainty."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from edgeopt.bounds.intervals import FEWEST
from edgeopt.studies.claims.verdict_table import with_claims
from edgeopt.studies.pages import headlines as first_words
from edgeopt.studies.pages.headlines import Finding, Headline
from edgeopt.studies.wording import (
    duration,
    interval,
    listed,
    percent,
    plural,
    power,
)

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.entries import Benchmark
    from edgeopt.studies.results import Case


def confidence(case: Case) -> str:
    """Write the confidence of the intervals."""
    return percent(case.settings.confidence, 0)


def ends_heading(case: Case) -> str:
    """Head a column of what stands beside means over the runs: ``95 % interval``, or ``range``."""
    return "range" if case.settings.runs < FEWEST else f"{confidence(case)} interval"


def verdict_count(case: Case) -> dict[str, int]:
    """Count the verdicts; a violated claim that is known to be false counts as refuted."""
    found = [
        "refuted" if one.refuted else str(one.verdict.verdict) for one in with_claims(case.verdicts)
    ]
    return {kind: found.count(kind) for kind in ("holds", "violated", "vacuous", "refuted")}


def headlines(case: Case) -> list[Headline]:
    """Return the most important figures."""
    found = [*first_words.headlines(case.standings), *_bounds(case)]
    if case.verdicts:
        count = verdict_count(case)
        rest = f"{count['vacuous']} more do not apply"
        found.append(
            Headline(
                f"{count['holds']} of {len(case.verdicts) - count['vacuous']}",
                "claims that apply to this instance hold",
                f"{count['violated']} that should hold are violated; {rest}"
                if count["violated"]
                else f"the {count['refuted']} others are known to be false; {rest}",
            )
        )
    return found


def _bounds(case: Case) -> list[Headline]:
    """Return the reference bound, and the bound of the first policy where that is another one."""
    first, reference = case.standings.first, case.system.offline.reference
    tiles = [_of_bound(case, reference, "the reference bound")]
    own = case.bound_of(first.policy) if first is not None and first.bounded else ""
    if first is not None and own not in ("", reference):
        tiles.append(_of_bound(case, own, f"the bound of {first.title}"))
    return tiles


def _of_bound(case: Case, name: str, role: str) -> Headline:
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


def sentences(case: Case) -> list[str]:
    """Return the summary and the findings, a paragraph each."""
    return [lead(case), *(finding.text for finding in findings(case))]


def findings(case: Case) -> list[Finding]:
    """Return the findings: other policies, hindsight, violated constraints, claims, benchmark."""
    return [
        *first_words.others(case.standings),
        *_of_hindsight(case),
        *_of_constraints(case),
        *_of_claims(case),
        _of_benchmark(case),
    ]


def lead(case: Case) -> str:
    """Return the summary in a few sentences; the first has policy, bound and violations."""
    return first_words.lead(case.standings)


def _of_benchmark(case: Case) -> Finding:
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


def _of_claims(case: Case) -> list[Finding]:
    if not case.verdicts:
        return []
    count = verdict_count(case)
    said = (
        f"Of {plural(len(case.verdicts), 'claim')} checked on this instance, {count['holds']} hold "
        f"and {count['vacuous']} do not apply, because an assumption fails or the instance is too "
        "large for an exact value"
    )
    if count["refuted"]:
        said += f"; {count['refuted']} that are known to be false are violated"
    broken = [one.claim.id for one in with_claims(case.verdicts) if one.broken]
    last = "No claim that should hold is violated"
    if broken:
        last = f"Violated, but should hold: {listed(broken)}"
    return [Finding("Claims", f"{said}. {last}.")]
