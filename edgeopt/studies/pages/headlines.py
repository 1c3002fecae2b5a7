"""The first words of a study: which policy is the first, what it reaches and what it violates.

A policy is called best only if it is better than all others that it was chosen from, by paired
tests of all pairs of the table together; see :mod:`edgeopt.studies.comparison`. Wherever a policy
that violates service constraints is named, the same sentence says how many.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Final

from edgeopt.studies.comparison import UNRESOLVED
from edgeopt.studies.pages.standings import plain
from edgeopt.studies.wording import NO_BOUND, capitalised, listed, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.studies.pages.standings import Standing, Standings

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


def title(found: Standings) -> str:
    """Say in a line which policy is the first, what it reaches of its bound, and violates."""
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


def sentence(found: Standings) -> str:
    """Name in a sentence the first policy, its share of the bound, and what it violates."""
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


def lead(found: Standings) -> str:
    """Return the summary in a few sentences, of which the first is :func:`sentence`."""
    first, other = found.first, found.other
    said = sentence(found)
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


def headlines(found: Standings) -> list[Headline]:
    """Return the figures of the policies to name."""
    tiles = []
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
    return tiles


def others(found: Standings) -> list[Finding]:
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
