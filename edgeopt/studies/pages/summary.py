"""The study in words: headlines, findings, and their certainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from edgeopt.bounds.ratio import paired_difference
from edgeopt.studies.claims.checked import with_claims
from edgeopt.studies.wording import duration, interval, listed, number, percent, plural, power

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.bounds.ratio import Difference
    from edgeopt.studies.result import Case


def confidence(case: Case) -> str:
    """Write the confidence of the intervals."""
    return percent(case.settings.confidence, 0)


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
    if kept is not None:
        safely = f", no {case.constraint.name} {failed}" if case.constraints else ""
        found.append(_of_policy(case, kept, f"best policy{safely}"))
    if best is not None and best["violated"] > 0:
        found.append(
            _of_policy(
                case,
                best,
                f"best {case.objective.name}, but {portion(best['violated_share'], 0)} of "
                f"{case.constraint.name}s {failed}",
            )
        )
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
        f"{confidence(case)} interval {case.objective.ratios(row['ratio_low'], row['ratio_high'])}",
    )


_TIMES = 2.0
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
    """Return the findings: best policy, violated service constraints, claims, benchmark."""
    return [*_of_best(case), *_of_constraints(case), *_of_claims(case), _of_benchmark(case)]


def lead(case: Case) -> str:
    """Return the summary in a sentence or two: the best policy, its ratio, and its violations."""
    best, kept = case.best(), case.best(kept=True)
    if best is None or not isfinite(best["value"]):
        return f"No policy has a {case.objective.name} in every run."
    if kept is not None and kept["policy"] == best["policy"]:
        second = _runner_up(case, kept)
        level = ""
        if second is not None and _apart(second[1]) == 0:
            level = f" Its lead over {second[0]} is not significant."
        keeps = f"; it {_keeps(case)}" if case.constraints else ""
        return f"{case.title(kept)} is best with {_reach(case, kept)}{keeps}.{level}"
    price = (
        f"it {case.constraint.verb[0]} {number(best['violated'], 3)} of "
        f"{plural(case.constraints, case.constraint.name)} per run"
    )
    if kept is None:
        return (
            f"{case.title(best)} has the best {case.objective.name}: {_reach(case, best)}, but "
            f"{price}. Every policy {case.constraint.verb[0]} some."
        )
    return (
        f"{case.title(kept)} is the best policy that {_keeps(case)}: {_reach(case, kept)}. "
        f"{case.title(best)} has {_reach(case, best)}, but {price}."
    )


def _keeps(case: Case) -> str:
    return f"{case.constraint.verb[0]} no {case.constraint.name} in any run"


def _reach(case: Case, row: pd.Series) -> str:
    """Write a value and its ratio: a share of a profit's bound, a distance above a cost's."""
    per_run = " per run" if case.objective.adds == "sum" else ""
    said = f"a {case.objective.name} of {case.objective.amount(row['value'])}{per_run}"
    ratio = float(row["ratio"])
    if not isfinite(ratio):
        return said
    if case.objective.sense == "max":
        return f"{said}, {percent(ratio)} of {case.label}"
    if ratio >= _TIMES:
        return f"{said}, {number(ratio, 3)} times {case.label}"
    side = "above" if ratio >= 1 else "below"
    return f"{said}, {percent(abs(ratio - 1))} {side} {case.label}"


def _of_benchmark(case: Case) -> Finding:
    benchmark, entry = case.benchmark, case.system.offline.bounds[case.system.offline.reference]
    value, bound = (case.objective.amount(x, 6) for x in (benchmark.value, benchmark.bound))
    side = "at most" if case.objective.sense == "max" else "at least"
    text = (
        f"The offline benchmark {entry.label} is {value}, found by {benchmark.solver} in "
        f"{duration(benchmark.seconds)}. The optimum is proven to be {side} {bound}, a relative "
        f"gap of {power(benchmark.gap)}; ratios are to this bound. It bounds {entry.scope}."
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
    if kept is None or kept["policy"] != best["policy"]:
        text = (
            f"The policy with the best {case.objective.name} of all {fails} some "
            f"{case.constraint.name}s: {_measured(case, best)}, but {fails} "
            f"{number(best['violated'], 3)} of {plural(case.constraints, case.constraint.name)} "
            f"per run ({portion(best['violated_share'])})."
        )
        said.append(Finding(f"Best {case.objective.name}", text))
    return said


def _measured(case: Case, row: pd.Series, which: str = "a") -> str:
    per_run = " per run" if case.objective.adds == "sum" else ""
    said = (
        f"{case.title(row)} has {which} {case.objective.name}{' of' if which == 'a' else ','} "
        f"{case.objective.amount(row['value'])}{per_run} "
        f"(standard error {number(row['value_se'], 2)})"
    )
    if not isfinite(row["ratio"]):
        return said
    return (
        f"{said}, which is {case.objective.against(row['ratio'], case.label)} "
        f"({confidence(case)} interval "
        f"{case.objective.ratios(row['ratio_low'], row['ratio_high'])})"
    )


def _runner_up(case: Case, first: pd.Series) -> tuple[str, Difference] | None:
    """Name the next best policy without violations, and the lead of the first one over it."""
    rows = case.table[case.table["violated"] == 0]
    rows = rows[rows["policy"] != first["policy"]]
    if rows.empty:
        return None
    ascending = case.objective.sense == "min"
    second = rows.sort_values("value", ascending=ascending).iloc[0]
    if not isfinite(first["value"] + second["value"]):
        return None
    a, b = (case.values(str(row["policy"])) for row in (first, second))
    return case.title(second), paired_difference(a, b, confidence=case.settings.confidence)


def _apart(found: Difference) -> int:
    """Sign of a difference that is significant, else 0."""
    return 0 if found.low <= 0 <= found.high else 1 if found.mean > 0 else -1


def _ahead(case: Case, first: pd.Series) -> str:
    """Say whether the lead over the runner-up is significant."""
    second = _runner_up(case, first)
    if second is None:
        return "."
    name, found = second
    sign = _apart(found)
    if sign == 0:
        count = plural(case.settings.runs, "run")
        return f"; over {count}, the difference to {name} is not significant."
    ahead = "more" if sign > 0 else "less"
    low, high = sorted((abs(found.low), abs(found.high)))
    return (
        f"; on the same scenarios, that is {case.objective.amount(abs(found.mean), 3)} {ahead} "
        f"than {name}, the runner-up ({confidence(case)} interval "
        f"{interval(low, high, digits=3)})."
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
