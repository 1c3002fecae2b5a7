"""A study of several instances in words and in a picture: best policy, its bound, violations."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds import holm, paired_ratio
from edgeopt.bounds.intervals import spread
from edgeopt.studies.over_instances import UNRESOLVED, series_of
from edgeopt.studies.pages.summary import ONLY_HINDSIGHT, TIMES, Finding, Headline, portion
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.wording import interval, listed, number, percent, plural, power

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.bounds import Spread
    from edgeopt.bounds.intervals import Nature
    from edgeopt.studies.result import Study

NAME: Final = "overall"
"""File name of the picture, and prefix of what is in it."""

CAPTION: Final = (
    "Every dot is an instance; centres and lines as in the table over instances. Right margin: "
    "share of service constraints that the policy violated. The vertical line is the bound. Grey: "
    "policies with hindsight."
)


@dataclass(frozen=True)
class Standing:
    """A policy over the instances of a study, with a figure of each, shape [n].

    The ratio is the value over the reference bound; the violated share is NaN where an instance
    has no service constraint.
    """

    policy: str
    title: str
    causal: bool
    each: NDArray[np.float64]
    ratios: NDArray[np.float64]
    violated_each: NDArray[np.float64]
    confidence: float

    @property
    def value(self) -> Spread:
        """Value over the instances."""
        return spread(self.each, confidence=self.confidence)

    @property
    def ratio(self) -> Spread:
        """Value over the reference bound."""
        return spread(self.ratios, confidence=self.confidence)

    @property
    def violated(self) -> Spread:
        """Violated share of the service constraints, over the instances that have any."""
        each = self.violated_each[~np.isnan(self.violated_each)]
        nature: Nature = "signed" if each.max() > 1.0 else "share"
        return spread(each, nature, confidence=self.confidence)

    @property
    def keeps(self) -> bool:
        """Whether it violates nothing on any instance."""
        return not np.nansum(self.violated_each) > 0


def ranked(study: Study) -> list[Standing]:
    """Return all policies of a study, the best value first, those with hindsight last."""
    table, cases = study.table.set_index(["policy", "instance"]), [c.name for c in study.cases]
    found = [
        Standing(
            policy,
            entry.title,
            entry.causal,
            series_of(table, policy, cases, "value"),
            series_of(table, policy, cases, "ratio"),
            series_of(table, policy, cases, "violated_share"),
            study.settings.confidence,
        )
        for policy, entry in study.cases[0].entries.items()
    ]
    sign = -1.0 if study.system.objective.sense == "max" else 1.0

    def rank(one: Standing) -> tuple[bool, float]:
        value = sign * one.value.centre
        return not one.causal, np.inf if np.isnan(value) else value

    return sorted(found, key=rank)


def standings(study: Study) -> tuple[Standing | None, Standing | None]:
    """Return the policy to call best, and another one where violations decide which is best.

    Where the service constraint is soft, the first is the best whatever it violates, and the
    second the best without violations; where it is hard, the other way round.
    """
    causal = [one for one in ranked(study) if one.causal and isfinite(one.value.centre)]
    best = causal[0] if causal else None
    kept = next((one for one in causal if one.keeps), None)
    if best is kept:
        return best, None
    if study.system.constraint.soft or kept is None:
        return best, kept
    return kept, best


def lead(study: Study) -> str:
    """Return the summary in a few sentences: best policy, its bound, violations, its lead."""
    best, other = standings(study)
    if best is None:
        if study.cases[0].causal:
            return f"No policy has a {study.system.objective.name} on every instance."
        return f"{ONLY_HINDSIGHT}: they know the future, and none is called best."
    said = (
        f"{best.title} is best over {plural(len(study.cases), 'instance')} with "
        f"{_reach(study, best)}{_violations(study, best, '; it ')}.{_ahead(study, best)}"
    )
    if other is not None:
        which = "the best of all" if best.keeps else "the best of those without violations"
        said += f" {other.title}, {which}, has {_reach(study, other)}"
        said += f"{_violations(study, other, '; it ')}."
    return said


def title(study: Study) -> str:
    """Return what the picture shows."""
    best, _ = standings(study)
    if best is None:
        return ONLY_HINDSIGHT
    objective = study.system.objective
    most = "highest" if objective.sense == "max" else "least"
    said = f"{best.title} has the {most} {objective.name}, {objective.amount(best.value.centre)}"
    if isfinite(best.ratio.centre):
        said += f", {_distance(study, best.ratio)[0]}"
    among = best.keeps and not study.system.constraint.soft and study.cases[0].constraints
    return f"{said}, among policies without violations" if among else said


def headlines(study: Study) -> list[Headline]:
    """Return the most important figures."""
    tiles = []
    objective, count = study.system.objective, plural(len(study.cases), "instance")
    best, other = standings(study)
    for place, one in enumerate((best, other)):
        if one is None:
            continue
        role = "best policy" if place == 0 else f"best {objective.name}"
        if place == 1 and one.keeps:
            role = "best policy without violations"
        figure, ends = _distance(study, one.ratio)
        if not isfinite(one.ratio.centre):
            figure, ends = objective.amount(one.value.centre), _ends(study, one.value)
        detail = f"{ends}{' ' * bool(ends)}over {count}{_violations(study, one, '; ')}"
        tiles.append(Headline(figure, f"{one.title}: {role}", detail))
    bounds = np.array([case.benchmark.bound for case in study.cases])
    gap = max(case.benchmark.gap for case in study.cases)
    middle = spread(bounds, "positive" if (bounds > 0).all() else "signed")
    tiles.append(
        Headline(
            objective.amount(middle.centre),
            f"{study.cases[0].label}, the offline benchmark",
            f"over {count}; proven gap at most {power(gap)}",
        )
    )
    return tiles


def findings(study: Study) -> list[Finding]:
    """Return what is beaten, and what bound and measure are."""
    objective, best = study.system.objective, standings(study)[0]
    said = [] if best is None else _others(study, best)
    bound = study.system.offline.bounds[study.system.offline.reference]
    said.append(Finding("Bound", f"{bound.label} bounds {bound.scope}."))
    if objective.definition:
        said.append(Finding("Measure", objective.definition))
    return said


def sentences(study: Study) -> list[str]:
    """Return the summary and the findings, a paragraph each."""
    return [lead(study), *(finding.text for finding in findings(study))]


def _ends(study: Study, found: Spread, *, share: bool = False) -> str:
    """Write an interval or range with its kind; nothing where there is none."""
    if found.kind not in ("interval", "range"):
        return ""
    kind = f"{percent(study.settings.confidence, 0)} interval"
    ends = interval(found.low, found.high, share=share)
    return f"{kind if found.kind == 'interval' else 'range'} {ends}"


def _distance(study: Study, ratio: Spread) -> tuple[str, str]:
    """Write a ratio to the bound as in the summary of one instance, and its interval."""
    label, centre = study.cases[0].label, ratio.centre
    if study.system.objective.sense == "max":
        return f"{percent(centre)} of {label}", _ends(study, ratio, share=True)
    if centre >= TIMES:
        return f"{number(centre, 3)} times {label}", _ends(study, ratio)
    apart = type(ratio)(centre - 1.0, ratio.low - 1.0, ratio.high - 1.0, ratio.kind, ratio.count)
    side = "above" if centre >= 1 else "below"
    return f"{percent(abs(centre - 1.0))} {side} {label}", _ends(study, apart, share=True)


def _reach(study: Study, one: Standing) -> str:
    objective = study.system.objective
    said = f"a {objective.name} of {objective.amount(one.value.centre)}"
    if not isfinite(one.ratio.centre):
        ends = _ends(study, one.value)
        return f"{said} ({ends})" if ends else said
    text, ends = _distance(study, one.ratio)
    return f"{said}, {text} ({ends})" if ends else f"{said}, {text}"


def _violations(study: Study, one: Standing, before: str) -> str:
    """Say what a policy violates; nothing where there are no service constraints."""
    constraint = study.system.constraint
    if not any(case.constraints for case in study.cases):
        return ""
    if one.keeps:
        return f"{before}{constraint.verb[0]} no {constraint.name} on any instance"
    found = one.violated
    ends = _ends(study, found, share=True)
    share = f"{portion(found.centre, 2)} of {constraint.name}s"
    return f"{before}{constraint.verb[0]} {share}{f' ({ends})' if ends else ''}"


def _compared(study: Study, best: Standing) -> list[tuple[Standing, Spread, bool]]:
    """Return the policies that the best one was chosen from, their ratio to it, if resolved.

    It was chosen after the fact, so it is tested against all of them together.
    """
    others = [one for one in ranked(study) if one.causal and one.policy != best.policy]
    if best.keeps and not study.system.constraint.soft:
        others = [one for one in others if one.keeps]
    confidence = study.settings.confidence
    found = [paired_ratio(one.each, best.each, confidence=confidence) for one in others]
    raised = holm([probability for _, probability in found])
    return [
        (one, ratio, bool(probability <= 1 - confidence))
        for one, (ratio, _), probability in zip(others, found, raised, strict=True)
    ]


_NAMED: Final = 3
"""Most policies that are named in a sentence."""


def _others(study: Study, best: Standing) -> list[Finding]:
    """Say of which other policies the difference to the best one is resolved."""
    compared = _compared(study, best)
    open_ = [one.title for one, _, resolved in compared if not resolved]
    if len(compared) < 2:
        return []
    others = f"{len(compared)} other policies"
    if not open_:
        text = f"The difference to each of the {others} is resolved."
    elif len(open_) <= _NAMED:
        text = f"The difference to {listed(open_)} is {UNRESOLVED}, to all other policies it is."
    else:
        text = f"The difference to {len(open_)} of the {others} is {UNRESOLVED}, to the rest it is."
    if len(open_) == len(compared):
        text = f"The difference to none of the {others} is resolved."
    return [Finding("Other policies", text)]


def _ahead(study: Study, best: Standing) -> str:
    """Say whether the lead over the runner-up is resolved, tested with all others together."""
    compared = _compared(study, best)
    if not compared or not isfinite(compared[0][0].value.centre):
        return ""
    second, ratio, resolved = compared[0]
    if not resolved:
        return f" Its lead over {second.title}, the runner-up, is {UNRESOLVED}."
    if not isfinite(ratio.centre):
        return f" It is better than {second.title}, the runner-up, on the same instances."
    ends = _ends(study, ratio)
    return (
        f" {second.title}, the runner-up, has {number(ratio.centre, 3)} times its "
        f"{study.system.objective.name} on the same instances{f' ({ends})' if ends else ''}."
    )


def draw(study: Study) -> Figure:
    """Draw the value of every policy over the bound, of each instance and over all."""
    return canvas.in_style(lambda: _draw(study))


_BEST, _DOT = "#0072b2", 3.2


def _draw(study: Study) -> Figure:
    rows, best = ranked(study), standings(study)[0]
    bounded = all(np.isfinite(one.ratios).all() for one in rows)
    objective = study.system.objective
    scale = 100.0 if bounded and objective.sense == "max" else 1.0
    figure = blank(height=1.1 + 0.25 * len(rows))
    axes = figure.subplots()
    drawn = []
    for place, one in enumerate(rows):
        series, found = (one.ratios, one.ratio) if bounded else (one.each, one.value)
        colour = _BEST if best is not None and one.policy == best.policy else INK
        colour = colour if one.causal else MUTED
        axes.plot(
            scale * series, np.full(series.size, place), "o", color=MUTED, markersize=_DOT,
            alpha=0.7,
        )  # fmt: skip
        if isfinite(found.low):
            axes.plot([scale * found.low, scale * found.high], [place, place], color=colour)
        axes.plot([scale * found.centre], [place], "o", color=colour, markersize=5.5, zorder=3)
        drawn += [*(scale * series), scale * found.low, scale * found.high]
        if not one.keeps:
            share = portion(one.violated.centre)
            canvas.in_margin(axes, place, f"{share} {study.system.constraint.verb[1]}")
    canvas.in_rows(axes, [one.title for one in rows])
    label = study.cases[0].label
    if not bounded:
        axes.set_xlabel(f"{objective.name} over {plural(len(study.cases), 'instance')}")
    elif scale > 1:
        axes.set_xlabel(f"{objective.name} as share of {label} (%)")
    else:
        axes.set_xlabel(f"{objective.name}, {objective.over(label)}")
    ends = canvas.reach(drawn, [scale] if bounded else [])
    if bounded and ends[0] <= scale <= ends[1]:
        axes.axvline(scale, color=INK, linewidth=1.2)
    canvas.fit_x(axes, ends)
    return figure
