"""Tables of a study: policies on an instance and over instances, with values and comparisons."""

from __future__ import annotations

import warnings
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.estimate import combined, gap_to
from edgeopt.bounds.intervals import EQUAL, LISTED, Spread, holm, spread
from edgeopt.bounds.paired import FEWEST_RUNS, mean_spread, ratio_spread, two_sided
from edgeopt.bounds.pairs import OPEN, Look, Pairs, spent
from edgeopt.bounds.validity import weakest
from edgeopt.errors import QualityWarning
from edgeopt.representation import counted
from edgeopt.studies.entries import Comparison
from edgeopt.studies.wording import NO_BOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.bounds.estimate import Estimate, Gap
    from edgeopt.studies.results import Case, Study
    from edgeopt.studies.system import Objective


GAP: Final = "Gap to bound"
"""Heading of a column of gaps."""


def mean_columns(
    name: str,
    series: NDArray[np.float64],
    confidence: float = 0.95,
    *,
    share: bool = False,
    timing: bool = False,
) -> dict[str, Any]:
    """Return mean, ends and kind of independent figures, such as those of several instances.

    The interval of a share does not leave [0, 1]; of times the median and the range are returned.
    """
    found = spread(series, "timing") if timing else mean_spread(series, confidence)
    columns = _columns(name, found, series)
    if share:
        for end in ("low", "high"):
            columns[f"{name}_{end}"] = float(np.clip(columns[f"{name}_{end}"], 0.0, 1.0))
    return columns


def _columns(name: str, found: Spread, series: NDArray[np.float64]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: found.centre,
        f"{name}_low": found.low,
        f"{name}_high": found.high,
        f"{name}_spread": found.kind,
    }
    return columns | listed_values(name, series)


def listed_values(name: str, series: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return every value, where there are few."""
    few = 1 < series.size < LISTED and not np.isnan(series).all()
    return {f"{name}_each": series.tolist()} if few else {}


def relative_columns(
    name: str,
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    confidence: float,
    words: tuple[str, str] = ("less", "more"),
) -> list[dict[str, Any]]:
    """Compare pairs of series of the same draws, tested together, a row each.

    `words` say that the mean of the first is below, and above that of the second.
    """
    differences = [a - b for a, b in pairs]
    alone = [
        float(two_sided(d)) if d.size > 1 and np.isfinite(d).all() else 1.0 for d in differences
    ]
    rows = []
    for (a, b), d, probability in zip(pairs, differences, holm(alone).tolist(), strict=True):
        sure = probability <= 1 - confidence and d.size >= FEWEST_RUNS
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = _columns(name, ratio_spread(a, b, confidence), a / b)
        finding = words[int(d.mean() > 0)] if sure else OPEN
        rows.append(columns | {f"{name}_p": probability, f"{name}_finding": finding})
    return rows


def _relative(
    name: str, pairs: Pairs, policy: str, reference: str, words: Mapping[str, str]
) -> dict[str, Any]:
    """Compare a policy with its reference, nothing for the reference itself."""
    if policy == reference:
        nothing = dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
        nothing |= {f"{name}_spread": "none", f"{name}_p": np.nan}  # type: ignore[dict-item]
        return nothing | {f"{name}_finding": ""}
    found, word = pairs.ratio(policy, reference), pairs.word(policy, reference)
    return {
        **_columns(name, found, np.empty(0)),
        f"{name}_p": pairs.probability(policy, reference),
        f"{name}_finding": words.get(word, word),
    }


def over_instances(
    study: Study,
    columns: Sequence[str],
    *,
    paired: Sequence[str] = (),
    shares: Sequence[str] = (),
    timings: Sequence[str] = (),
    table: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Summarise columns of the table of a study, or of one with further columns, over instances.

    All means are arithmetic. Values, gaps and ratios are those of `Study.pairs` and
    `Study.standings`: drawn instances are independent units, and the interval is over their draw.
    Beside columns in `paired`, as NAME_relative, stands the value in terms of that of the
    reference. The rows are in the order of the policies, the best first.
    """
    import pandas as pd

    table = study.table if table is None else table
    table = table.assign(gap=table["gap_raw"].where(table["gap_unit"] == ""))
    table = table.set_index(["policy", "instance"])
    cases = [case.name for case in study.cases]
    references = study.cases[0].references
    confidence, pairs = study.settings.confidence, study.pairs
    words = ("more", "less") if study.system.objective.sense == "max" else ("less", "more")
    said = dict(zip(("better", "worse"), words, strict=True))
    rows: list[dict[str, Any]] = []
    for one in study.standings.rows:
        row: dict[str, Any] = {
            "policy": one.policy,
            "title": one.title,
            "information": study.cases[0].information[one.policy],
            "instances": len(cases),
            "place": one.place,
        }
        for name in columns:
            series = series_of(table, one.policy, cases, name)
            row |= mean_columns(
                name, series, confidence, share=name in shares, timing=name in timings
            )
        if "gap" in columns:
            row |= _gap_over(one.gap)
        if "ratio" in columns:
            row |= _ends("ratio", study.shares[one.policy].spread(confidence))
        for name in paired:
            row |= _relative(f"{name}_relative", pairs, one.policy, references[one.policy], said)
        if len(cases) == 1:
            row |= _without_ends(row)
        row["kind"] = study.cases[0].entries[one.policy].kind
        rows.append(row)
    return pd.DataFrame(rows)


def _without_ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what replaces the ends of figures of one instance: none are over instances."""
    names = [
        name.removesuffix("_spread")
        for name, kind in row.items()
        if name.endswith("_spread") and kind in ("interval", "range", "equal")
    ]
    return {
        key: value
        for name in names
        for key, value in ((f"{name}_spread", "one"), (f"{name}_low", np.nan),
                           (f"{name}_high", np.nan))
    }  # fmt: skip


def _ends(name: str, found: Spread) -> dict[str, Any]:
    return {key: value for key, value in _columns(name, found, np.empty(0)).items()}


def _gap_over(found: Gap) -> dict[str, Any]:
    return {
        "gap": found.value, "gap_low": found.low, "gap_high": found.high, "gap_raw": found.raw,
        "gap_spread": found.kind,
    }  # fmt: skip


def series_of(
    table: pd.DataFrame, policy: str, cases: Sequence[str], name: str
) -> NDArray[np.float64]:
    """Return a column of a policy over instances, from a table by policy and instance."""
    return np.array([table.loc[(policy, case), name] for case in cases], dtype=float)


def _rows(study: Study) -> pd.DataFrame:
    return over_instances(study, ["gap", "value"], paired=["value"])


def general(objective: Objective) -> Comparison:
    """Return the table of every policy over instances, for systems that have none of their own."""
    return Comparison(
        "over_instances",
        "Over all instances",
        _rows,
        {
            "place": "Place",
            "gap": GAP,
            "value": "Value of a run",
            "value_relative": "Against the reference policy",
        },
        percent=("gap",),
        absent={"gap": NO_BOUND},
        caption="Policies are compared by their values in terms of the reference bound of each "
        "instance; all means are arithmetic. The gap is to the tightest bound that is "
        "valid for the policy. Against the reference policy: the value over that of this policy, "
        "and how the two compare, for all policies together.",
    )


def tidy(case: Case) -> list[dict[str, Any]]:
    r"""Return the rows of the table of one case, one per policy.

    Columns, all of this instance:

    ``instance, policy, group, variant, kind, information, runs``
        What the row is about; `kind` is ``"hindsight"`` for a policy that knows the future, and
        `information` is what a policy says that it knows beforehand, by an attribute of that name.
        A policy that draws no random number where nothing else is random has one run.
    ``place``
        Its place by its value: those that violate nothing first, unless the constraint is soft;
        policies that are not told apart share theirs, ``"1-3"``. Empty for those with hindsight,
        and where a value contradicts its bound.
    ``how``
        How the value is known: ``"exact"``, from ``"200 runs"``, or
        ``"as RESCUE in all 200 runs"``.
    ``value, value_se, value_low, value_high, value_exact``
        The value by :mod:`edgeopt.bounds.estimate`, of which all other columns are; its standard
        error, 0 where it is exact, the ends of its interval, which end at its bound, and the
        expectation where it is known without sampling (NaN elsewhere); with fewer than twelve runs
        also ``value_each``.
    ``spread``
        What the ends are: ``"interval"``, ``"range"`` (least and largest run) with fewer than ten
        runs, ``"exact"``, ``"as"`` if all runs are those of an exact one, ``"equal"`` if they have
        the same value and ``"none"`` if one has none; in the last four cases the ends are NaN.
    ``raw_mean``
        The mean over the runs as they are, for the record.
    ``gap, gap_raw, gap_se, gap_low, gap_high, gap_spread, gap_unit, beyond``
        How far the value is from the tightest bound that is valid for this policy, named in
        `bound`: ``(bound - value) / |bound|`` for profits, ``(value - bound) / |bound|`` for costs;
        0 is best, and smaller is better. To a bound of 0 it is the difference, in the unit that
        `gap_unit` names, else empty. A value may be beyond the bound by chance: `gap_raw` is then
        below 0, `gap` is 0, and `beyond` is ``"chance"``; it is ``"contradiction"`` with a
        `QualityWarning` where no chance explains it. NaN where no bound is proven, or a run has
        no value.
    ``ratio, ratio_se, ratio_low, ratio_high``
        `value` over the reference bound, whether that is valid for this policy or not.
    ``bound, bound_how, bound_scope, bound_value, bound_ratio, bound_ratio_se, bound_ratio_low,
    bound_ratio_high``
        Name and value of the tightest benchmark that bounds this policy, and the value over it,
        1 - `gap` of profits and 1 + `gap` of costs; the scope is ``"scenario"`` where both are sums
        over the runs, each run with a bound of its own. Where the bound depends on checks,
        `bound_how` says how it is known that they are kept: ``"by design"``, ``"exact"``, or only
        ``"in N runs"``.
    ``bound:NAME, why:NAME``
        Of every bound of the user: its value where it is valid for the policy, else NaN, and why.
    ``CHECK, CHECK_broken``
        Of every check of the user: ``"kept"``, ``"broken"`` or ``"not resolved"``, and the share of
        runs that broke it.
    ``violated, violated_se, violated_share``
        Violated service constraints per run, and as a share of those of the instance (NaN if it
        has none).
    ``METRIC, METRIC_se``
        One pair for every metric of the system, such as ``utilisation``.
    ``decision_us``
        Microseconds per decision (NaN if none was taken); where a compiled kernel ran, its whole
        time, environment included.
    ``reference, relative, relative_low, relative_high, relative_spread``
        The value over that of the reference policy, with its interval by
        :func:`edgeopt.bounds.paired_ratio`; NaN for the reference itself, and where a value is not
        positive.
    ``relative_p, relative_finding``
        Probability of such a difference if there were none, corrected for all pairs of policies of
        the instance, by :mod:`edgeopt.bounds.pairs`; ``"better"``, ``"worse"``, ``"the same"`` or
        ``"too close to call"``.
    """
    return [
        {
            **_row(case, name),
            "reference": "" if case.references[name] == name else case.references[name],
            **_relative("relative", case.pairs, name, case.references[name], {}),
        }
        for name in case.trajectories
    ]


def _row(case: Case, name: str) -> dict[str, Any]:
    entry, trajectory = case.entries[name], case.trajectories[name]
    found, own, runs = case.estimates[name], case.bound_of(name), case.values(name)
    shown, gap = found.spread(case.settings.confidence), case.gaps[name]
    bound = float(case.benchmarks[own].bound) if own else np.nan
    ends = shown.low, shown.high
    if own and not case.benchmarks[own].each and np.isfinite(bound):
        cut = np.minimum if case.objective.sense == "max" else np.maximum
        ends = tuple(float(cut(end, bound)) for end in ends)  # type: ignore[assignment]
    row: dict[str, Any] = {
        "instance": case.name,
        "policy": name,
        "group": entry.group,
        "variant": entry.variant,
        "kind": entry.kind,
        "information": case.information[name],
        "runs": runs.size,
        "place": case.places.get(name, ""),
        "how": found.how,
        "spread": shown.kind,
        "value": found.mean,
        "value_se": found.error,
        "value_low": ends[0],
        "value_high": ends[1],
        **({} if found.known else listed_values("value", found.runs)),
        "value_exact": found.mean if found.exact else np.nan,
        "raw_mean": float(runs.mean()),
        "gap": gap.value,
        "gap_raw": gap.raw,
        "gap_se": gap.error,
        "gap_low": gap.low,
        "gap_high": gap.high,
        "gap_spread": gap.kind,
        "gap_unit": "" if bound or np.isnan(gap.value) else case.objective.unit,
        "beyond": "contradiction" if gap.contradicted else "chance" if gap.beyond else "",
        **_ratio("ratio", case, name, case.system.offline.reference),
        "bound": own,
        "bound_how": case.bound_how(name),
        "bound_scope": case.benchmarks[own].scope if own else "",
        "bound_value": bound,
        **_ratio("bound_ratio", case, name, own),
        **_violations(case, name),
    }
    for metric in case.system.reporting.metrics:
        row |= _mean(metric.name, metric.compute(case.instance, trajectory))
    row["decision_us"] = 1e6 * trajectory.seconds_per_decision
    return row | _of_checks(case, name)


def _of_checks(case: Case, name: str) -> dict[str, Any]:
    """Return what was found of bounds and checks of the user."""
    found: dict[str, Any] = {}
    for key, bound in case.own.items():
        against, judged = case.why(name, key), case.judged[name]
        found[f"bound:{key}"] = np.nan if against else float(bound.value)
        found[f"why:{key}"] = against or f"holds {weakest(bound.checks, judged)}".strip()
    for key in case.checks:
        found[key] = case.judged[name][key].kept
        found[f"{key}_broken"] = case.judged[name][key].broken
    return found


def _mean(name: str, runs: NDArray[np.float64]) -> dict[str, float]:
    mean = float(runs.mean())
    if not np.isfinite(mean):
        return {name: mean, f"{name}_se": np.nan}
    error = float(runs.std(ddof=1)) / len(runs) ** 0.5 if len(runs) > 1 else 0.0
    # Equal runs differ in the last digits when they were summed in different orders.
    return {name: mean, f"{name}_se": 0.0 if error <= EQUAL * abs(mean) else error}


def _ratio(column: str, case: Case, name: str, benchmark: str) -> dict[str, float]:
    """Return a value over a bound, with its interval; NaN where the bound is not above 0."""
    columns = (column, f"{column}_se", f"{column}_low", f"{column}_high")
    bound = float(case.benchmarks[benchmark].bound) if benchmark else np.nan
    own = benchmark == case.bound_of(name)
    gap = case.gaps[name] if own else gap_of(case, name, benchmark)
    if not 0 < bound < np.inf or gap.kind == "none":
        return dict.fromkeys(columns, np.nan)
    sign = 1.0 if case.objective.sense == "min" else -1.0
    # A bound that is not one for this policy cuts nothing.
    ends = (gap.value, gap.low, gap.high) if own else (gap.raw, gap.raw_low, gap.raw_high)
    value, *found = (1.0 + sign * end for end in ends)
    return dict(zip(columns, (value, gap.error, *sorted(found)), strict=True))


def gap_of(case: Case, name: str, benchmark: str) -> Gap:
    """Return the gap of a policy to a benchmark, whether that bounds it or not."""
    found = case.benchmarks.get(benchmark)
    bound, each = (np.nan, ()) if found is None else (float(found.bound), found.each)
    return gap_to(case.estimates[name], bound, case.objective.sense, case.settings.confidence, each)


def gaps_of(case: Case) -> dict[str, Gap]:
    """Return the gap of every policy to its own bound, and warn where one is contradicted."""
    found = {name: gap_of(case, name, case.bound_of(name)) for name in case.trajectories}
    for name, gap in found.items():
        if gap.contradicted:
            _warn_of(case, name, gap)
    return found


def pairs_of(case: Case, estimated: Callable[[int], dict[str, Estimate]]) -> Pairs:
    """Compare every policy with every other, at every look that the study took at its runs."""
    looks, counts = [Look(case.estimates)], case.settings.looks
    if counts:
        looks = list(map(Look, map(estimated, counts), spent(counts, case.settings.most)))
    return Pairs(looks, case.causal, case.objective.sense, case.settings.confidence)


def _warn_of(case: Case, name: str, gap: Gap) -> None:
    """Warn of a value that contradicts its bound."""
    label = case.bounds[case.bound_of(name)].label
    warnings.warn(
        f"{case.system.name}, instance {case.name}: the {case.objective.name} of "
        f"{case.entries[name].title} is beyond {label}, which is to bound it: its gap is "
        f"{gap.raw:.3g} with a standard error of {gap.error:.2g}; the bound or the policy is "
        "wrong, or the bound is not one for this policy",
        QualityWarning,
        stacklevel=2,
    )


def _violations(case: Case, name: str) -> dict[str, float]:
    violated = np.asarray(case.trajectories[name].violations, dtype=float).sum(axis=1)
    count = case.constraints
    return {
        **_mean("violated", violated),
        "violated_share": float(violated.mean()) / count if count else np.nan,
    }


def shares_of(study: Study) -> dict[str, Estimate]:
    """Return the values over instances in terms of the reference bound of each instance.

    They are in units of the value where that bound is 0 somewhere, or of mixed sign.
    """
    return {
        name: combined(
            [case.estimates[name] for case in study.cases], study.sizes, drawn=study.drawn
        )
        for name in study.cases[0].entries
    }


def brief(cases: Sequence[Case]) -> Iterator[str]:
    """Yield system and sizes of a study, and of one instance its bound with the gap of its plan."""
    first = cases[0]
    yield first.system.name
    if len(cases) > 1:
        yield counted(len(cases), "instance")
    yield counted(len(first.policies), "policy")
    yield counted(first.runs, "scenario")
    if len(cases) == 1:
        yield f"bound {first.benchmark.bound:.4g}"
        if isfinite(first.benchmark.gap):
            yield f"best known plan within {first.benchmark.gap:.2g} of it"
