"""The study in words: headlines, findings, and their certainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds import holm, paired_ratio
from edgeopt.bounds.intervals import FEWEST
from edgeopt.studies.claims.checked import with_claims
from edgeopt.studies.over_instances import UNRESOLVED
from edgeopt.studies.wording import duration, interval, listed, number, percent, plural, power

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.bounds import Spread
    from edgeopt.studies.result import Case


ONLY_HINDSIGHT = "Only policies with hindsight take part"
"""Said where the best policy would be named: one that knows the future is never called best."""


def confidence(case: Case) -> str:
    """Write the confidence of the intervals."""
    return percent(case.settings.confidence, 0)


def ends_heading(case: Case) -> str:
    """Head a column of what stands beside means over the runs: ``95 % interval``, or ``range``."""
    return "range" if case.settings.runs < FEWEST else f"{confidence(case)} interval"


def ends_said(case: Case, row: pd.Series) -> str:
    """Write what stands beside the ratio of a policy, and what it is over."""
    runs = plural(case.settings.runs, "run")
    if row["spread"] == "equal":
        return f"equal in all {runs} on this instance"
    ends = case.objective.ratios(row["ratio_low"], row["ratio_high"])
    return f"{ends_heading(case)} {ends}, over {runs} on this instance"


def portion(share: float, decimals: int = 1) -> str:
    """Write a share so that a positive one never reads as 0 %."""
    least = 10.0 ** -(decimals + 2)
    if 0 < share < least / 2:
        return f"less than {percent(least, decimals)}"
    return percent(share, decimals)


def verdict_count(case: Case) -> dict[str, int]:
    """Count the verdicts; a violated claim that is known to be false counts as refuted."""
    found = [
        "refuted" if one.refuted else str(one.verdict.verdict) for one in with_claims(case.verdicts)
    ]
    return {kind: found.count(kind) for kind in ("holds", "violated", "vacuous", "refuted")}


@dataclass(frozen=True)
class Headline:
    """An important figure, with its unit; what it is; and its certificate or interval."""

    figure: str
    what: str
    detail: str


def headlines(case: Case) -> list[Headline]:
    """Return the most important figures."""
    benchmark = case.benchmark
    value, bound = (case.objective.amount(x, 5) for x in (benchmark.value, benchmark.bound))
    # Ratios are to the proven bound, which differs from the plan where the gap is wide.
    plan = "" if value == bound else f"best plan found: {value}; "
    found = [
        Headline(
            bound,
            f"{case.label}, the offline benchmark",
            f"{plan}proven gap {power(benchmark.gap)}, {benchmark.solver}, "
            f"{duration(benchmark.seconds)}",
        )
    ]
    best, kept, failed = case.best(), case.best(kept=True), case.constraint.verb[1]
    tiles, lost = [], best is not None and best["violated"] > 0
    soft = case.constraint.soft and lost
    if kept is not None:
        safely = f"no {case.constraint.name} {failed}" if case.constraints else ""
        which = "best with " if soft else "best policy, " if safely else "best policy"
        tiles.append(_of_policy(case, kept, which + safely))
    if best is not None and lost:
        which = "policy" if soft else case.objective.name
        price = f"{portion(best['violated_share'], 0)} of {case.constraint.name}s {failed}"
        tiles.append(_of_policy(case, best, f"best {which}, but {price}"))
    found += tiles[::-1] if soft else tiles
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


def _of_policy(case: Case, row: pd.Series, what: str) -> Headline:
    return Headline(
        case.objective.against(row["ratio"], case.label),
        f"{case.title(row)}: {what}",
        ends_said(case, row) if isfinite(row["ratio"]) else "no ratio",
    )


TIMES = 2.0
"""Least ratio at which a cost is written as a multiple of the bound."""


@dataclass(frozen=True)
class Finding:
    """A paragraph of the summary: a heading of one to three words, and whole sentences."""

    about: str
    text: str


def sentences(case: Case) -> list[str]:
    """Return the summary, a paragraph each, see :func:`findings`."""
    return [finding.text for finding in findings(case)]


def findings(case: Case) -> list[Finding]:
    """Return the findings: best policy, hindsight, violated constraints, claims, benchmark."""
    return [
        *_of_best(case),
        *_of_hindsight(case),
        *_of_constraints(case),
        *_of_claims(case),
        _of_benchmark(case),
    ]


def lead(case: Case) -> str:
    """Return the summary in a sentence or two: the best policy, its ratio, and its violations."""
    best, kept = case.best(), case.best(kept=True)
    if best is None:
        return f"{ONLY_HINDSIGHT}: they know the future, and none is called best."
    if not isfinite(best["value"]):
        return f"No policy has a {case.objective.name} in every run."
    level = ""
    second = None if kept is None else runner_up(case, kept)
    if second is not None and not second.resolved:
        level = f" Its lead over {second.title} is {UNRESOLVED}."
    if kept is not None and kept["policy"] == best["policy"]:
        keeps = f"; it {_keeps(case)}" if case.constraints else ""
        return f"{case.title(kept)} is best with {_reach(case, kept, ends=True)}{keeps}.{level}"
    price = (
        f"it {case.constraint.verb[0]} {number(best['violated'], 3)} of "
        f"{plural(case.constraints, case.constraint.name)} per run"
    )
    if case.constraint.soft:
        said = f"{case.title(best)} is best with {_reach(case, best, ends=True)}; {price}."
        if kept is None:
            return f"{said} Every policy {case.constraint.verb[0]} some."
        return f"{said} {case.title(kept)} is the best that {_keeps(case)}: {_reach(case, kept)}."
    if kept is None:
        return (
            f"{case.title(best)} has the best {case.objective.name}: "
            f"{_reach(case, best, ends=True)}, but {price}. "
            f"Every policy {case.constraint.verb[0]} some."
        )
    return (
        f"{case.title(kept)} is the best policy that {_keeps(case)}: "
        f"{_reach(case, kept, ends=True)}.{level} "
        f"{case.title(best)} has {_reach(case, best)}, but {price}."
    )


def _keeps(case: Case) -> str:
    return f"{case.constraint.verb[0]} no {case.constraint.name} in any run"


def _reach(case: Case, row: pd.Series, *, ends: bool = False) -> str:
    """Write a value and its ratio, with its ends if wanted.

    The ratio is a share of a profit's bound, or a distance above a cost's.
    """
    per_run = " per run" if case.objective.adds == "sum" else ""
    said = f"a {case.objective.name} of {case.objective.amount(row['value'])}{per_run}"
    reached = [
        _distance(case, ratio, label)
        for ratio, label in [(float(row["ratio"]), case.label), *_of_scenarios(case, row)]
        if isfinite(ratio)
    ]
    if not reached:
        return said
    beside = f" ({ends_said(case, row)})" if ends and isfinite(row["ratio"]) else ""
    return f"{said}, {' and '.join([reached[0] + beside, *reached[1:]])}"


def _distance(case: Case, ratio: float, label: str) -> str:
    if case.objective.sense == "max":
        return f"{percent(ratio)} of {label}"
    if ratio >= TIMES:
        return f"{number(ratio, 3)} times {label}"
    side = "above" if ratio >= 1 else "below"
    return f"{percent(abs(ratio - 1))} {side} {label}"


def _of_scenarios(case: Case, row: pd.Series) -> list[tuple[float, str]]:
    """Return ratio and label of the policy's bound where each run has one of its own scenario."""
    if row["bound_scope"] != "scenario":
        return []
    label = case.system.offline.bounds[str(row["bound"])].label
    return [(float(row["bound_ratio"]), f"{label} of its scenarios")]


def _of_benchmark(case: Case) -> Finding:
    benchmark, entry = case.benchmark, case.system.offline.bounds[case.system.offline.reference]
    value, bound = (case.objective.amount(x, 6) for x in (benchmark.value, benchmark.bound))
    text = (
        f"The reference bound {entry.label} is {bound}, proven by {benchmark.solver} in "
        f"{duration(benchmark.seconds)}; a solution of {value} is known, a relative gap of "
        f"{power(benchmark.gap)}. Ratios are to the bound. It bounds {entry.scope}."
    )
    return Finding("Benchmark", text)


def _of_best(case: Case) -> list[Finding]:
    best, kept = case.best(), case.best(kept=True)
    if best is None:
        return []
    said = []
    fails, failed = case.constraint.verb
    if kept is not None:
        among = f"Of the policies that {failed} no {case.constraint.name} in any run, "
        text = f"{_measured(case, kept, 'the best')}{_ahead(case, kept)}"
        said.append(Finding("Best policy", f"{among if case.constraints else ''}{text}"))
    soft = case.constraint.soft
    if kept is None or kept["policy"] != best["policy"]:
        text = (
            f"The policy with the best {case.objective.name} of all {fails} some "
            f"{case.constraint.name}s: {_measured(case, best)}, but {fails} "
            f"{number(best['violated'], 3)} of {plural(case.constraints, case.constraint.name)} "
            f"per run ({portion(best['violated_share'])})."
        )
        said.append(Finding("Best policy" if soft else f"Best {case.objective.name}", text))
        if soft and kept is not None:
            said = [said[1], Finding(f"No {case.constraint.name} {failed}", said[0].text)]
    return said


def _of_hindsight(case: Case) -> list[Finding]:
    """Say as a reference what the best policy that knows the future reaches."""
    row = case.best(kept=True, kind="hindsight")
    if row is None:
        row = case.best(kind="hindsight")
    if row is None or not isfinite(row["value"]):
        return []
    lost = (
        f", but {case.constraint.verb[0]} {portion(row['violated_share'])} of the "
        f"{case.constraint.name}s"
        if row["violated"] > 0
        else ""
    )
    said = (
        f"For reference, {case.title(row)}, which knows the future and is never called best, has "
        f"{_reach(case, row)}{lost}."
    )
    return [Finding("Hindsight", said)]


def _measured(case: Case, row: pd.Series, which: str = "a") -> str:
    per_run = " per run" if case.objective.adds == "sum" else ""
    said = (
        f"{case.title(row)} has {which} {case.objective.name}{' of' if which == 'a' else ','} "
        f"{case.objective.amount(row['value'])}{per_run}"
    )
    if row["spread"] == "interval":
        said += f" (standard error {number(row['value_se'], 2)})"
    if not isfinite(row["ratio"]):
        return said
    said += (
        f", which is {case.objective.against(row['ratio'], case.label)} ({ends_said(case, row)})"
    )
    for ratio, label in _of_scenarios(case, row):
        said += f" and {case.objective.against(ratio, label)}"
    return said


@dataclass(frozen=True)
class _Second:
    """The runner-up: its title, the paired ratio of the first to it, and whether they differ."""

    title: str
    ratio: Spread
    resolved: bool


def runner_up(case: Case, first: pd.Series) -> _Second | None:
    """Compare the first policy with the next best one without violations.

    The first was chosen after the fact, so its comparisons with all others are tested together.
    """
    rows = case.table[(case.table["violated"] == 0) & (case.table["kind"] == "causal")]
    rows = rows[rows["policy"] != first["policy"]]
    if rows.empty:
        return None
    rows = rows.sort_values("value", ascending=case.objective.sense == "min")
    if not isfinite(first["value"] + rows["value"].iloc[0]):
        return None
    own = case.values(str(first["policy"]))
    found = [
        paired_ratio(own, case.values(str(name)), confidence=case.settings.confidence)
        for name in rows["policy"]
    ]
    resolved = holm([probability for _, probability in found])[0] <= 1 - case.settings.confidence
    return _Second(case.title(rows.iloc[0]), found[0][0], bool(resolved))


def _ahead(case: Case, first: pd.Series) -> str:
    """Say whether the lead over the runner-up is resolved, and how large it is."""
    second = runner_up(case, first)
    if second is None:
        return "."
    runs = plural(case.settings.runs, "run")
    if not second.resolved:
        return f"; over {runs} on this instance, the difference to {second.title} is {UNRESOLVED}."
    ratio = second.ratio
    if np.isnan(ratio.centre):
        return f"; on the same scenarios, that is better than {second.title}, the runner-up."
    beside = (
        f"{confidence(case)} interval {interval(ratio.low, ratio.high, digits=3)}, over {runs} on "
        "this instance"
        if ratio.kind == "interval"
        else f"equal in all {runs} on this instance"
    )
    return (
        f"; on the same scenarios, that is {number(ratio.centre, 3)} times that of {second.title}, "
        f"the runner-up ({beside})."
    )


def _of_constraints(case: Case) -> list[Finding]:
    if not case.constraints:
        return []
    table, (fails, failed) = case.table, case.constraint.verb
    about = f"{failed.capitalize()} {case.constraint.name}s"
    failing, keeping = table[table["violated"] > 0], table[table["violated"] == 0]
    total = plural(case.constraints, case.constraint.name)
    if failing.empty:
        return [Finding(about, f"No policy {failed} any of the {total} in any run.")]
    low, high = failing["violated_share"].min(), failing["violated_share"].max()
    if len(failing) == 1:
        share = portion(low)
    elif portion(low) == percent(low):
        share = interval(low, high, share=True)
    else:
        share = f"some, up to {percent(high)}"
    said = f"Of the {total} in a run, {_group(case, failing, keeping)} {fails} {share} on average"
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
