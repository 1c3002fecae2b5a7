"""Verdicts as a study shows them: what is known to be false is expected to be violated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.bounds.registry import claims

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeopt.bounds import Claim, Verdict


def known_false(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """Return the identifiers of those claims that are listed with what corrects them."""
    return frozenset(row.id for row in claim_rows(verdicts) if row.corrected_by)


@dataclass(frozen=True)
class ClaimRow:
    """A row of the table of claims.

    Parameters
    ----------
    id, source, statement
        The claim, where it stands, and what it says in LaTeX.
    verdict, measured, guaranteed, slack, reason
        Of the verdict.
    corrected_by
        Identifiers of the claims that correct it.
    """

    id: str
    source: str
    statement: str
    verdict: str
    measured: float
    guaranteed: float
    slack: float
    reason: str
    corrected_by: tuple[str, ...]

    @property
    def decided(self) -> bool:
        """Whether the claim says anything about the instance."""
        return self.verdict != "vacuous"

    @property
    def tone(self) -> str:
        """Class of the verdict on the page."""
        return self._tone(self.verdict)

    def tone_of(self, verdict: Verdict) -> str:
        """Class of another verdict about the same claim."""
        return self._tone(str(verdict.verdict))

    def _tone(self, verdict: str) -> str:
        if verdict == "violated":
            return "expected" if self.corrected_by else "bad"
        return "good" if verdict == "holds" and not self.corrected_by else "soft"


def claim_rows(verdicts: Iterable[Verdict]) -> list[ClaimRow]:
    """Describe verdicts, in their order."""
    found = list(verdicts)
    known = claims({verdict.claim.partition(".")[0] for verdict in found})
    return [_row(known[verdict.claim], verdict) for verdict in found]


def _row(claim: Claim, verdict: Verdict) -> ClaimRow:
    return ClaimRow(
        id=verdict.claim,
        source=verdict.source.number,
        statement=claim.statement,
        verdict=str(verdict.verdict),
        measured=verdict.measured,
        guaranteed=verdict.guaranteed,
        slack=verdict.slack,
        reason=verdict.reason,
        corrected_by=claim.corrected_by,
    )
