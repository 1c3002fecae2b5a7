"""What a check can find, and the verdict that reports it with its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Finding", "Relation", "Source", "Verdict"]


class Finding(StrEnum):
    """What the check of a claim found."""

    HOLDS = "holds"
    VIOLATED = "violated"
    VACUOUS = "vacuous"


class Relation(StrEnum):
    """How the measured quantity must stand to the guaranteed one."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    EQUAL = "equal"

    def slack(self, measured: float, guaranteed: float) -> float:
        """Room that is left: negative by as much as the relation is missed.

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


@dataclass(frozen=True)
class Source:
    """Where a claim stands.

    Parameters
    ----------
    paper
        Authors and title.
    number
        Number of the theorem, lemma or equation, or the section in words.
    """

    paper: str
    number: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.number}"


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
        instance is too large for the exact value).
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

    def as_dict(self) -> dict[str, str | float | None]:
        """Return the verdict in plain types for a JSON document.

        Returns
        -------
        dict
            Keys `id`, `source`, `verdict`, `measured`, `guaranteed`, `slack`. Numbers that are not
            finite become None, since JSON has no word for them.
        """
        return {
            "id": self.claim,
            "source": str(self.source),
            "verdict": self.verdict.value,
            "measured": _finite(self.measured),
            "guaranteed": _finite(self.guaranteed),
            "slack": _finite(self.slack),
        }


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
