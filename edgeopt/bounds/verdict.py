"""What a check can find, and the verdict that reports it with its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


ROOM: Final = 2.0
"""A claim is loose whose formula may be wrong by a larger factor without a check that fails."""


class Finding(StrEnum):
    """What the check of a claim found.

    `LOOSE` is said of a claim on all its named instances, never of one instance alone.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.bounds import Finding
    >>> [verdict] = edgeopt.check("rescue.theorem2")
    >>> verdict.verdict is Finding.HOLDS, str(Finding.VACUOUS)
    (True, 'vacuous')
    """

    HOLDS = "holds"
    LOOSE = "loose"
    VIOLATED = "violated"
    VACUOUS = "vacuous"


class Relation(StrEnum):
    """How the measured quantity must stand to the guaranteed one.

    Examples
    --------
    >>> from edgeopt.bounds import Relation
    >>> Relation.AT_MOST.slack(3.0, 5.0), Relation("at least").slack(3.0, 5.0)
    (2.0, -2.0)
    """

    AT_LEAST = "at least"
    AT_MOST = "at most"
    EQUAL = "equal"

    def slack(self, measured: float, guaranteed: float) -> float:
        """Distance to a violation: negative by as much as the relation is missed.

        Parameters
        ----------
        measured
            The quantity found on the instance.
        guaranteed
            What the claim promises for it.

        Returns
        -------
        float
            For `EQUAL`, minus the distance, hence never positive.
        """
        if self is Relation.AT_LEAST:
            return measured - guaranteed
        if self is Relation.AT_MOST:
            return guaranteed - measured
        return 0.0 - abs(measured - guaranteed)

    def factor(self, measured: float, guaranteed: float, size: float = 0.0) -> float:
        """By what factor the guarantee could be stronger before it failed.

        Parameters
        ----------
        measured
            The quantity found on the instance.
        guaranteed
            What the claim promises for it.
        size
            Size of the terms of a difference that is compared with 0: the factor is that between
            the terms.

        Returns
        -------
        float
            1 where nothing is left, as for `EQUAL`; infinite where no factor makes it fail.
        """
        slack = self.slack(measured, guaranteed)
        if slack <= 0.0:
            return 1.0
        scale = max(abs(measured), abs(guaranteed) if guaranteed != 0.0 else size)
        return scale / (scale - slack) if slack < scale < math.inf else math.inf


@dataclass(frozen=True)
class Source:
    """Where a claim stands.

    Parameters
    ----------
    paper
        Authors and title.
    number
        Number of the theorem, lemma or equation, or the section in words.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.bounds import Source
    >>> [verdict] = edgeopt.check("rescue.theorem2")
    >>> verdict.source
    Source(paper='Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model
    Retraining on Underutilized Edges', number='Theorem 2')
    """

    paper: str
    number: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.number}"


@compact_repr
@dataclass(frozen=True)
class Verdict:
    """Outcome of one check.

    Parameters
    ----------
    claim
        Identifier of the claim.
    source
        Where the claim stands.
    verdict
        `holds`, `violated`, or `vacuous` (an assumption fails, the bound is trivial, or the
        instance is too large for the exact value); of a claim on all its named instances `loose`
        instead of `holds` where no change of its formula by a factor of 2 makes any of them fail.
    measured, guaranteed
        The two numbers compared; NaN when vacuous.
    slack
        Distance to being violated, negative when violated; NaN when vacuous.
    certificate
        Arrays and numbers that prove the verdict.
    reason
        Why it is vacuous, or how the instance was chosen.
    instance
        Name or fingerprint of the instance.
    factor
        By what factor the guarantee could be stronger on the instance before it failed: 1 where it
        is tight or violated, infinite where no factor makes it fail; NaN when vacuous.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.bounds import Verdict
    >>> [verdict] = edgeopt.check("rescue.theorem2")
    >>> str(verdict.verdict), verdict.instance
    ('holds', 'tight(0.5)')
    """

    claim: str
    source: Source
    verdict: Finding
    measured: float = math.nan
    guaranteed: float = math.nan
    slack: float = math.nan
    certificate: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    instance: str = ""
    factor: float = math.nan

    @property
    def words(self) -> str:
        """What was found, in words: ``"holds"``, ``"loose, 7.3 times"``, ``"cannot fail here"``."""
        if self.verdict is not Finding.LOOSE:
            return self.verdict.value
        if math.isinf(self.factor):
            return "cannot fail here"
        return f"{self.verdict.value}, {self.factor:.3g} times"

    @property
    def relative_slack(self) -> float:
        """Slack as a share of the larger of the two numbers.

        0 where a claim that holds leaves nothing but rounding; infinite where it compares nothing
        with nothing, as on an instance without any profit or cost; NaN when vacuous.
        """
        slack = self._slack
        if math.isnan(slack) or math.isinf(slack):
            return slack
        scale = max(abs(self.measured), abs(self.guaranteed))
        return slack / scale if scale > 0.0 else math.inf

    @property
    def _slack(self) -> float:
        """Slack, 0 if it is negative within the tolerance."""
        held = self.verdict in (Finding.HOLDS, Finding.LOOSE)
        return max(self.slack, 0.0) if held else self.slack

    def _repr_html_(self) -> str:
        """Show the claim, both numbers and what was found, as a table."""
        from edgeopt.writing.results import html_table

        rows = [
            ["verdict", self.words],
            ["measured", f"{self.measured:.9g}"],
            ["guaranteed", f"{self.guaranteed:.9g}"],
            ["slack", f"{self.slack:.3g}"],
            ["instance", self.instance],
            ["reason", self.reason],
        ]
        return html_table(f"{self.claim}: {self.source}", [], rows, left=2)

    def as_dict(self) -> dict[str, str | float | None]:
        """Return the verdict in plain types for a JSON document.

        Returns
        -------
        dict
            Keys `id`, `source`, `verdict`, `measured`, `guaranteed`, `slack`, `factor`. JSON has no
            word for numbers that are not finite: infinite ones become ``"inf"`` and ``"-inf"``,
            which ``float`` reads back, and those that do not exist None.
        """
        return {
            "id": self.claim,
            "source": str(self.source),
            "verdict": self.verdict.value,
            "measured": in_json(self.measured),
            "guaranteed": in_json(self.guaranteed),
            "slack": in_json(self.slack),
            "factor": in_json(self.factor),
        }


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict about the instance that leaves a claim the least slack.

    A violated one if there is any, a vacuous one only if all are. Instances come in units and sizes
    of their own, so that slacks are compared as shares of the numbers; where all guarantees are 0,
    it is the slack itself. Of equal ones it is the first.
    """
    several = list(verdicts)
    decided = [one for one in several if one.verdict is not Finding.VACUOUS]
    if not decided:
        return several[0]
    shares = any(one.guaranteed != 0.0 for one in decided)

    def left(verdict: Verdict) -> float:
        return round(verdict.relative_slack if shares else verdict._slack, 9)

    if violated := [one for one in decided if one.verdict is Finding.VIOLATED]:
        return min(violated, key=left)
    # No factor moves a guarantee of 0.
    telling = [one for one in decided if one.guaranteed != 0.0] or decided
    return min(telling, key=lambda one: (round(one.factor, 9), left(one)))


def verdict_of_claim(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a claim by those on all its named instances, and on others.

    It is the worst of them, and loose where even that leaves room for a factor of 2.
    """
    worst = worst_verdict(verdicts)
    if worst.verdict is not Finding.HOLDS or not worst.factor > ROOM:
        return worst
    if math.isinf(worst.factor):
        why = "cannot fail here: no factor on its guarantee makes it fail on any instance checked"
    else:
        why = f"its guarantee could be {worst.factor:.3g} times as strong on all instances checked"
    return replace(worst, verdict=Finding.LOOSE, reason=why)


def in_json(number: float) -> float | str | None:
    """Return a number as JSON can hold it: ``"inf"`` and ``"-inf"`` as text, NaN as None."""
    if math.isnan(number):
        return None
    return float(number) if math.isfinite(number) else str(float(number))
