"""The study in words: what was measured, against what, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from edgeopt.bounds.ratio import paired_difference
from edgeopt.studies.claims import known_false
from edgeopt.studies.wording import duration, interval, listed, number, percent, plural, power

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.result import Case

__all__ = ["Headline", "headlines", "sentences"]


@dataclass(frozen=True)
class Headline:
    """A figure to see first.

    Parameters
    ----------
    figure
        The number, with unit.
    what
        What it is.
    detail
        Its certificate or interval.
    """

    figure: str
    what: str
    detail: str


def headlines(case: Case) -> list[Headline]:
    """Return the few figures that answer a hurried reader."""
    benchmark = case.benchmark
    found = [
        Headline(
            case.system.amount(benchmark.value, 5),
            f"{case.label}, the offline benchmark",
            f"proven gap {power(benchmark.gap)}, {benchmark.solver}, {duration(benchmark.seconds)}",
        )
    ]
    best, kept = case.best(), case.best(kept=True)
    if kept is not None:
        safely = f", no {case.system.obligation} {_past(case)}" if _promises(case) else ""
        found.append(_of_policy(case, kept, f"best policy{safely}"))
    if best is not None and best["violated"] > 0:
        found.append(
            _of_policy(
                case,
                best,
                f"best {case.system.value}, but {percent(best['violated_share'], 0)} of the "
                f"{case.system.obligation}s {_past(case)}",
            )
        )
    if case.verdicts:
        count = _verdicts(case)
        found.append(
            Headline(
                f"{count['holds']} of {len(case.verdicts) - count['vacuous']}",
                "claims that speak about this instance hold",
                f"{_others(count)}; {count['vacuous']} more say nothing about it",
            )
        )
    return found


def _others(count: dict[str, int]) -> str:
    if count["violated"]:
        return f"{count['violated']} are violated that should hold"
    return f"the {count['refuted']} others are known to be false"


def sentences(case: Case) -> list[str]:
    """Return the summary, a paragraph each: benchmark, best policy, promises, claims."""
    return [
        _of_benchmark(case),
        *_of_best(case),
        *_of_promises(case),
        *_of_claims(case),
    ]


def _of_policy(case: Case, row: pd.Series, what: str) -> Headline:
    return Headline(
        f"{percent(row['ratio'])} of {case.label}",
        f"{_title(case, row)}: {what}",
        f"{_confidence(case)} interval {interval(row['ratio_low'], row['ratio_high'], share=True)}",
    )


def _of_benchmark(case: Case) -> str:
    benchmark, entry = case.benchmark, case.system.benchmarks[case.system.yardstick]
    value, bound = (case.system.amount(x, 6) for x in (benchmark.value, benchmark.bound))
    side = "at most" if case.system.sense == "max" else "at least"
    return (
        f"The offline benchmark {entry.label} is {value}, found by {benchmark.solver} in "
        f"{duration(benchmark.seconds)}. It comes with its certificate: the true optimum is proven "
        f"to be {side} {bound}, a relative gap of {power(benchmark.gap)}. It bounds {entry.scope}."
    )


def _of_best(case: Case) -> list[str]:
    best, kept = case.best(), case.best(kept=True)
    if best is None:
        return []
    said = []
    promises = _promises(case)
    fails = case.system.broken[0]
    if kept is not None:
        among = f" that {_past(case)} no {case.system.obligation} in any run" if promises else ""
        said.append(f"Of the policies{among}, {_measured(case, kept)}{_lead(case, kept)}")
    if kept is None or kept["policy"] != best["policy"]:
        said.append(
            f"The best {case.system.value} of all goes to a policy that {fails} some: "
            f"{_measured(case, best)} while it {fails} {number(best['violated'], 3)} of "
            f"{plural(case.system.obligations(case.instance), case.system.obligation)} per run "
            f"({percent(best['violated_share'])})."
        )
    return said


def _measured(case: Case, row: pd.Series) -> str:
    per_run = " per run" if case.system.aggregate == "sum" else ""
    return (
        f"{_title(case, row)} has a {case.system.value} of "
        f"{case.system.amount(row['value'])}{per_run} (standard error "
        f"{number(row['value_se'], 2)}), which is {percent(row['ratio'])} of "
        f"{case.label} ({_confidence(case)} interval "
        f"{interval(row['ratio_low'], row['ratio_high'], share=True)})"
    )


def _lead(case: Case, first: pd.Series) -> str:
    """Say whether the lead over the runner-up is more than chance."""
    rows = case.table[case.table["violated"] == 0]
    rows = rows[rows["policy"] != first["policy"]]
    if rows.empty:
        return "."
    ascending = case.system.sense == "min"
    second = rows.sort_values("value", ascending=ascending).iloc[0]
    if not isfinite(first["value"] + second["value"]):
        return "."
    a, b = (case.values(str(row["policy"])) for row in (first, second))
    lead = paired_difference(a, b, confidence=case.settings.confidence)
    name = _title(case, second)
    if lead.low <= 0 <= lead.high:
        return f"; {name} cannot be told apart from it over {plural(case.settings.runs, 'run')}."
    ahead = "more" if lead.mean > 0 else "less"
    low, high = sorted((abs(lead.low), abs(lead.high)))
    return (
        f"; on the same worlds that is {case.system.amount(abs(lead.mean), 3)} {ahead} than "
        f"{name}, the next one ({_confidence(case)} interval {interval(low, high, digits=3)})."
    )


def _of_promises(case: Case) -> list[str]:
    if not _promises(case):
        return []
    table = case.table
    fails, past = case.system.broken
    failing, keeping = table[table["violated"] > 0], table[table["violated"] == 0]
    total = plural(case.system.obligations(case.instance), case.system.obligation)
    if failing.empty:
        return [f"No policy {past} any of the {total} in any run."]
    low, high = failing["violated_share"].min(), failing["violated_share"].max()
    share = percent(low) if len(failing) == 1 else f"{interval(low, high, share=True)}"
    said = f"Of the {total} of a run, {_group(case, failing, keeping)} {fails} {share} on average"
    if keeping.empty:
        return [f"{said}."]
    return [f"{said}; {_group(case, keeping, failing)} {fails} none in any run."]


def _group(case: Case, rows: pd.DataFrame, others: pd.DataFrame) -> str:
    """Name a group of policies, in the singular: by its variant where that tells it apart."""
    if len(rows) == 1:
        return _title(case, rows.iloc[0])
    variants = set(rows["variant"])
    if len(variants) == 1 and variants.isdisjoint(others["variant"]) and variants != {""}:
        return f"every {variants.pop()} policy"
    return f"each of {len(rows)} policies"


def _of_claims(case: Case) -> list[str]:
    if not case.verdicts:
        return []
    count = _verdicts(case)
    said = (
        f"{plural(len(case.verdicts), 'claim')} were checked on this very instance. "
        f"{count['holds']} hold; {count['vacuous']} say nothing about it, because an assumption "
        "fails or it is too large for an exact value"
    )
    if count["refuted"]:
        said += f"; {count['refuted']} that are known to be false are violated here too"
    false = known_false()
    broken = [v.claim for v in case.verdicts if v.verdict == "violated" and v.claim not in false]
    if broken:
        return [f"{said}. Violated although it should hold: {listed(broken)}."]
    return [f"{said}. Nothing that should hold is violated."]


def _verdicts(case: Case) -> dict[str, int]:
    """Count the verdicts; a violated claim that is known to be false counts as refuted."""
    false = known_false()
    found = [
        "refuted" if verdict.verdict == "violated" and verdict.claim in false else verdict.verdict
        for verdict in case.verdicts
    ]
    return {kind: found.count(kind) for kind in ("holds", "violated", "vacuous", "refuted")}


def _past(case: Case) -> str:
    return case.system.broken[1]


def _promises(case: Case) -> bool:
    return case.system.obligations(case.instance) > 0


def _title(case: Case, row: pd.Series) -> str:
    return case.entries[str(row["policy"])].title


def _confidence(case: Case) -> str:
    return percent(case.settings.confidence, 0)
