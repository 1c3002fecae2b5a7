"""A study, or one of its instances, in words: which policy is the first, and how sure that is.

A policy is called best only if it is better than all others that it was chosen from, all pairs of
the table tested together; see :mod:`edgeopt.bounds.pairs`. Wherever a policy
that violates service constraints is named, the same sentence says how many.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.estimate import EXACT
from edgeopt.bounds.intervals import EQUAL
from edgeopt.bounds.paired import FEWEST_RUNS, least_runs
from edgeopt.bounds.registry import claims
from edgeopt.bounds.verdict import Finding as Outcome
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
    with_article,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeopt.studies.entries import Benchmark
    from edgeopt.studies.standings import Standing, Standings

ONLY_HINDSIGHT: Final = "Only policies with hindsight take part"
"""Said where the best policy would be named: one that knows the future is not ranked."""

_NAMED: Final = 3
"""Most policies that are named in a sentence."""

MOST_WORDS: Final = 40
"""Most words of a first sentence, where fewer names can make it shorter."""


@dataclass(frozen=True)
class Finding:
    """A paragraph of the summary: a heading of one to three words, and whole sentences."""

    about: str
    text: str


def title(compared: Case | Study) -> str:
    """Say which policy is the first, what share of its bound it has, and what is like it."""
    return _answer(compared.standings, _NAMED, ends=False)


def sentence(compared: Case | Study) -> str:
    """Say the same with the interval of the share, in at most 40 words."""
    said = f"{_answer(compared.standings, _NAMED)}."
    return said if len(said.split()) <= MOST_WORDS else f"{_answer(compared.standings, 1)}."


def _answer(found: Standings, named: int, *, ends: bool = True) -> str:
    """Name the first policy; of more others than `named` only the number is said."""
    first = found.first
    if first is None:
        return _nobody(found)
    reached = f"{first.title}, {_reached(found, first, ends=ends)}"
    like = _like(found, named) + ("" if first.keeps else f"; it {first.violations}")
    return f"{_role(found, first)}: {reached}{like}"


def _role(found: Standings, first: Standing) -> str:
    """Say as what a policy is the first: ``Best safe policy``, as far as it can be told."""
    safe, over = "safe " * _safe(found), "" if found.here else f" over {found.over}"
    if not found.others:
        return f"Only {safe}policy{over}"
    most = f"{found.objective.most} {found.objective.name}" + " of safe policies" * bool(safe)
    if _ahead(found):
        kept = first.keeps or found.constraint.soft
        return f"Best {safe}policy{over}" if kept else f"{capitalised(most)}{over}"
    least = least_runs(len(found.pairs.entrants), found.pairs.confidence)
    if found.pairs.count >= least:
        return f"No policy is clearly ahead after {found.over}; {most} so far"
    option = f"--runs {max(20, least)}" if found.here else "--draws 20"
    entrants = plural(len(found.pairs.entrants), "policy").replace("policys", "policies")
    few = f"{capitalised(found.over)} {'is' if found.pairs.count == 1 else 'are'} too few"
    return f"{few} to rank {entrants} ({least} needed: {option}); {most} so far"


def _ahead(found: Standings) -> bool:
    """Tell whether the first is better than some of the others, or the same as all."""
    return len(found.open) < len(found.others) or len(found.same) == len(found.others)


def _safe(found: Standings) -> bool:
    """Tell whether the first was chosen from those that violate nothing, while others do."""
    first = found.first
    chosen = first is not None and first.keeps and not found.constraint.soft
    return chosen and not all(one.keeps for one in found.ranked)


def _like(found: Standings, named: int) -> str:
    """Say which others have the same value as the first, or one too close to call."""
    close = [one for one in found.open if one not in found.same] if _ahead(found) else []
    said = ""
    for word, those in (("the same as", found.same), ("too close to call with", close)):
        if those:
            few = len(those) <= named and all(one.keeps for one in those)
            whom = listed([one.title for one in those]) if few else f"{len(those)} others"
            said += f", {word} {whom}"
    return said.replace("with 1 others", "with another").replace("as 1 others", "as another")


def _keeping(found: Standings) -> str:
    return f"of the policies that {plain(found.constraint.verb[0])} no {found.constraint.name}"


def _less(found: Standings, count: int) -> str:
    """Say that others are behind: ``earn less``, ``cost more``."""
    way, one = "less" if found.objective.sense == "max" else "more", count == 1
    if found.objective.earned:
        return f"earn{'s' * one} {way}"
    return f"cost{'s' * one} more" if found.objective.paid else f"{'has' if one else 'have'} {way}"


def _nobody(found: Standings) -> str:
    wrong = [one for one in found.rows if one.causal and one.gap.contradicted]
    if any(one.sampled for one in wrong):
        return f"{_named(wrong)} contradict{'s' * (len(wrong) == 1)} what is to be the limit"
    if wrong:
        return f"{_named(wrong)} contradict{'s' * (len(wrong) == 1)} what is proven to be the limit"
    if any(one.causal for one in found.rows):
        return f"No policy has a {found.objective.name} in every run"
    return f"{ONLY_HINDSIGHT}: they know the future and are not ranked"


def _reached(found: Standings, one: Standing, *, ends: bool = True) -> str:
    """Write what a policy has of its bound, else its value."""
    if one.limit:
        return f"{one.limit}; the runs alone would give {one.amount}" if ends else one.limit
    if not one.bounded:
        said, beside = f"{one.amount}, {NO_BOUND}", found.around(one)
    elif isfinite(one.ratio.centre):
        said, beside = found.objective.against(one.ratio.centre, "bound"), found.ends(one)
    else:
        said, beside = found.gap(one), found.beside(one.gap.spread, share=not one.gap_unit)
    notes = [beside.removeprefix(found.sure)] * bool(beside and ends)
    notes += [f"valid {one.sampled}"] * bool(one.sampled)
    return f"{said} ({', '.join(notes)})" if notes else said


def lead(compared: Case | Study) -> str:
    """Return the summary in a few sentences, of which the first is :func:`sentence`."""
    found = compared.standings
    first, other = found.first, found.other
    said = sentence(compared)
    if first is None:
        return said
    behind = len(found.others) - len(found.open)
    if behind:
        left = f"{behind} " * (behind > 1) + f"other{'s' * (behind > 1 and not _safe(found))}"
        if _safe(found):
            left += f" safe polic{'y' if behind == 1 else 'ies'}"
        said += f" The {left} {_less(found, behind)}."
    close = [one for one in found.open if one not in found.same]
    said += _constant(found, first, close) + _at_limit(found, first)
    if other is not None:
        whose = f"{capitalised(_keeping(found))}, {other.title}" if other.keeps else other.title
        said += f" {whose} {_has(found, other)}{found.price(other.policy)}."
    if found.constrained and not any(one.keeps for one in found.ranked):
        said += f" Every policy {found.constraint.verb[0]} some."
    return said


def _has(found: Standings, one: Standing) -> str:
    """Say a value: ``earns 18.6 per run``, ``has a penalised cost of 3.2``."""
    if found.objective.earned or found.objective.paid:
        return f"{'earns' if found.objective.earned else 'costs'} {one.amount}"
    return f"has a {found.objective.name} of {one.amount}"


def _constant(found: Standings, first: Standing, rest: Sequence[Standing]) -> str:
    """Say where a difference was the same in every run, which proves nothing."""
    values = found.pairs.estimates
    for one in rest:
        apart = values[first.policy].runs - values[one.policy].runs
        if apart.size > 1 and np.ptp(apart) <= EQUAL * np.abs(values[first.policy].runs).max():
            amount, more = float(np.abs(apart).max()), "more" if apart[0] > 0 else "less"
            return (
                f" {first.named} has {number(amount, 3)} {more} than {one.named} in each of "
                f"{found.over}; {found.over.partition(' ')[2]} that differ may still come."
            )
    return ""


def _at_limit(found: Standings, first: Standing) -> str:
    """Say where the first cannot be told from its bound."""
    gap = first.gap
    if not first.bounded or gap.kind != "interval" or not (gap.beyond or gap.tied):
        return ""
    ends = interval(first.ratio.low, first.ratio.high, share=found.objective.sense == "max")
    ends = ends.replace("100.0", "100")
    return f" {first.title} is at the bound as far as {found.over} can tell ({ends})."


def _named(those: Sequence[Standing]) -> str:
    """Name a few policies, each with its violations, or count them."""
    if len(those) > _NAMED:
        return f"{len(those)} policies"
    return listed([one.named for one in those])


def note(compared: Case | Study) -> str:
    """Say what a difference means, and what the runs cannot show; nothing where all is exact."""
    found = compared.standings
    if found.exact or not found.pairs.count:
        return ""
    count, one = found.pairs.count, found.over.partition(" ")[2]
    more = "More" if found.objective.sense == "max" else "Less"
    if found.objective.earned or found.objective.paid:
        more = "Earns more" if found.objective.earned else "Costs more"
    chance = percent(float(f"{3 / count:.2g}"), 1 if count > 30 else 0)
    wrong = round(1 / (1 - found.pairs.confidence))
    return (
        f"\u2018{more}\u2019 means: the mean difference over the same {one} is too large for "
        f"chance, all pairs together wrong in at most 1 study of {wrong}. What happened "
        f"in none of the {found.over} (chance below {chance}) cannot be seen."
    )


def foreseen(policies: int, count: int, what: str, confidence: float = 0.95) -> str:
    """Say before anything runs that so many instances or runs resolve no difference."""
    least = least_runs(policies, confidence)
    if policies < 2 or count < 2 or count >= least:
        return ""
    return (
        f"{policies} policies on {count} {what}: no difference can be resolved; from {least} on "
        "some can."
    )


def findings(compared: Case | Study) -> list[Finding]:
    """Return what else was found: other policies and the bound; of an instance, more than that."""
    others = _of_others(compared.standings)
    if isinstance(compared, Case):
        more = _of_hindsight(compared), _of_constraints(compared), _of_claims(compared)
        return [*others, *_how_sure(compared), *chain(*more), _of_bound(compared)]
    others += _how_sure(compared)
    others += [Finding("Luck", said)] if (said := luck(compared)) else []
    bound = compared.system.offline.bounds[compared.system.offline.reference]
    label = capitalised(with_article(bound.label))
    others.append(Finding("Reference bound", f"{label} bounds {bound.scope}."))
    definition = compared.system.objective.definition
    return [*others, Finding("Measure", definition)] if definition else others


def sentences(compared: Case | Study) -> list[str]:
    """Return the summary and what else was found, a paragraph each."""
    return [lead(compared), *(finding.text for finding in findings(compared))]


def _of_others(found: Standings) -> list[Finding]:
    """Say how far the first is from the next one."""
    if found.first is None or not found.others:
        return []
    first, next_ = found.first, found.others[0]
    ratio = found.pairs.ratio(first.policy, next_.policy)
    exact = ratio.kind == EXACT and bool(found.here)
    where = "On this instance" if exact else f"On the same {found.over}"
    text = f"{where}, {first.named}"
    if found.pairs.same(first.policy, next_.policy):
        text += f" has the same {found.objective.name} as {next_.named}"
    elif isfinite(ratio.centre):
        times, ends = number(ratio.centre, 3), found.beside(ratio)
        much = "the same" if times == "1.00" else f"{times} times as much"
        verb = "earns" if found.objective.earned else "costs" if found.objective.paid else "has"
        text += f" {verb} {much} as {next_.named}{f' ({ends} times)' if ends else ''}"
    else:
        return []
    return [Finding("Other policies", f"{text}.")]


def _how_sure(compared: Case | Study) -> list[Finding]:
    said = note(compared)
    return [Finding("How sure", said)] if said else []


def luck(study: Study) -> str:
    """Say how much of the spread of a difference over drawn instances is luck of the runs."""
    found, cases = study.standings, study.cases
    if found.first is None or not found.others or not study.drawn:
        return ""
    pair = found.first.policy, found.others[0].policy
    each = [[case.estimates[name] for name in pair] for case in cases]
    apart = [
        (a.runs - b.runs) * max(a.factor, b.factor) / size
        for (a, b), size in zip(each, study.sizes, strict=True)
    ]
    runs = min(one.size for one in apart)
    total = float(np.var([one.mean() for one in apart], ddof=1))
    size = max(float(np.abs(one).max()) for one in apart)
    if runs < 2 or not total > (EQUAL * size) ** 2:
        return ""
    within = float(np.mean([one.var(ddof=1) / one.size for one in apart]))
    between = max(0.0, total - within)
    said = ""
    if within > 4 * between:
        share = percent(min(1.0, within / total), 0)
        said = f"Of the spread over instances, {share} is luck of the runs: more runs help."
    if between > 0 and within > 0:
        seconds = [
            sum(case.trajectories[name].seconds for name in pair) / case.runs for case in cases
        ]
        cost = float(np.mean([case.benchmark.seconds for case in cases])) / float(np.mean(seconds))
        worth = max(1, round((cost * within * runs / between) ** 0.5))
        said += f" About {plural(worth, 'run')} on each instance are worth their time."
    return said.strip()


def _closest(case: Case, bound: Benchmark) -> bool:
    """Return whether the plan that is known for a bound is at least as good as all policies."""
    values = [one.value for one in case.standings.ranked if one.keeps and one.bounded]
    if case.objective.sense == "max":
        return all(value <= bound.value for value in values)
    return all(value >= bound.value for value in values)


def _of_bound(case: Case) -> Finding:
    benchmark, entry = case.benchmark, case.system.offline.bounds[case.system.offline.reference]
    value, bound = (case.objective.amount(x, 6) for x in (benchmark.value, benchmark.bound))
    side = "below" if case.objective.sense == "max" else "above"
    known = f"a plan of {value} is known, a relative gap of {power(benchmark.gap)}"
    if not _closest(case, benchmark):
        apart = percent(benchmark.gap, 0)
        known = f"the best known plan is {apart} {side} the bound; some policies are closer"
    took = f"{benchmark.solver}, {duration(benchmark.seconds)}"
    label = capitalised(entry.phrase)
    text = f"{label} is {bound}, proven ({took}); {known}. It bounds {entry.scope}."
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
        f"For reference, {one.title} {_has(found, one)}{found.price(one.policy)}; it knows the "
        "future and is not ranked."
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
    count = interval(low, high, digits=2)
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


def _of_claims(case: Case) -> list[Finding]:
    if not case.verdicts:
        return []
    found = _verdicts(case)
    count = Counter(found.values())
    said = (
        f"Of {plural(len(case.verdicts), 'claim')} checked on this instance, {count['holds']} "
        f"hold, {count['vacuous']} are not applicable here"
    )
    if count["refuted"]:
        said += f", {plural(count['refuted'], 'refuted claim')} fail, as expected"
    broken = [claim for claim, outcome in found.items() if outcome == "violated"]
    last = "No claim that should hold is violated"
    if broken:
        last = f"Violated, but should hold: {listed(broken)}"
    return [Finding("Claims", f"{said}. {last}.")]


_OF_ALL: Final = frozenset({"kept by design", "not resolved"})
"""What needs no words where it is found of every policy."""


def of_checks(case: Case) -> list[str]:
    """Say of every check that a bound depends on, or that the user gave, which policies keep it."""
    sentences = {one.name: one for bound in case.bounds.values() for one in bound.checks}
    said = []
    for name, check in (sentences | dict(case.checks)).items():
        groups: dict[str, list[str]] = {}
        for policy in case.order:
            found = case.judged[policy][name].said
            groups.setdefault(found, []).append(case.entries[policy].title)
        if name not in case.checks and len(groups) == 1 and groups.keys() <= _OF_ALL:
            continue
        parts = "; ".join(f"{found}: {listed(titles)}" for found, titles in groups.items())
        limits = f" ({check.sentence})" if name not in case.checks else ""
        mean = ", on average" if check.per == "mean" else ""
        said.append(f"Check \u201c{name}\u201d{limits}{mean} \u2013 {parts}.")
    return said


def of_own_bounds(case: Case) -> list[str]:
    """Say for whom each bound of the user is valid."""
    said = []
    for name, bound in case.own.items():
        value = case.objective.amount(bound.value, 5)
        named = f"The{'' if 'bound' in bound.label else ' bound'} {bound.label}"
        valid = [case.entries[one].title for one in case.order if not case.why(one, name)]
        who = listed(valid) if valid else "no policy here"
        text = f"{named} of {value} is for {bound.scope}: valid for {who}"
        said.append(f"{named} bounds nobody: {bound.note}." if bound.note else f"{text}.")
    return said


def ends_heading(case: Case) -> str:
    """Head a column of what stands beside means over the runs: ``95 % interval``, or ``range``."""
    sure = percent(case.settings.confidence, 0)
    return "range" if case.runs < FEWEST_RUNS else f"{sure} interval"
