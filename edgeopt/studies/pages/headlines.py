"""The few figures of a study to see first, each with its certificate or interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.studies.pages.phrases import confidence, past, portion, promises, title, verdict_count
from edgeopt.studies.wording import duration, interval, percent, power

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.result import Case

__all__ = ["Headline", "headlines"]


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
    value, bound = (case.system.amount(x, 5) for x in (benchmark.value, benchmark.bound))
    # Shares are of the proven bound, which is not that of the plan where the gap is wide.
    plan = "" if value == bound else f"best plan found: {value}; "
    found = [
        Headline(
            bound,
            f"{case.label}, the offline benchmark",
            f"{plan}proven gap {power(benchmark.gap)}, {benchmark.solver}, "
            f"{duration(benchmark.seconds)}",
        )
    ]
    best, kept = case.best(), case.best(kept=True)
    if kept is not None:
        safely = f", no {case.system.obligation} {past(case)}" if promises(case) else ""
        found.append(_of_policy(case, kept, f"best policy{safely}"))
    if best is not None and best["violated"] > 0:
        found.append(
            _of_policy(
                case,
                best,
                f"best {case.system.value}, but {portion(best['violated_share'], 0)} of the "
                f"{case.system.obligation}s {past(case)}",
            )
        )
    if case.verdicts:
        count = verdict_count(case)
        found.append(
            Headline(
                f"{count['holds']} of {len(case.verdicts) - count['vacuous']}",
                "claims that speak about this instance hold",
                f"{_others(count)}; {count['vacuous']} more say nothing about it",
            )
        )
    return found


def _of_policy(case: Case, row: pd.Series, what: str) -> Headline:
    return Headline(
        f"{percent(row['ratio'])} of {case.label}",
        f"{title(case, row)}: {what}",
        f"{confidence(case)} interval {interval(row['ratio_low'], row['ratio_high'], share=True)}",
    )


def _others(count: dict[str, int]) -> str:
    if count["violated"]:
        return f"{count['violated']} are violated that should hold"
    return f"the {count['refuted']} others are known to be false"
