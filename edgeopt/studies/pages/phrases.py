"""How a case is spoken of, in the summary and beside its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.studies.claims.rows import known_false
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.result import Case

__all__ = ["confidence", "past", "portion", "promises", "title", "verdict_count"]


def title(case: Case, row: pd.Series) -> str:
    """Name the policy of a row of the table."""
    return case.entries[str(row["policy"])].title


def past(case: Case) -> str:
    """Say what a policy did to a promise it broke, such as ``failed``."""
    return case.system.broken[1]


def promises(case: Case) -> bool:
    """Whether the instance asks anything of a policy that it could break."""
    return case.system.obligations(case.instance) > 0


def confidence(case: Case) -> str:
    """Write the probability that intervals are for."""
    return percent(case.settings.confidence, 0)


def portion(share: float, decimals: int = 1) -> str:
    """Write a share so that what happens never reads as 0 %."""
    least = 10.0 ** -(decimals + 2)
    if 0 < share < least / 2:
        return f"less than {percent(least, decimals)}"
    return percent(share, decimals)


def verdict_count(case: Case) -> dict[str, int]:
    """Count the verdicts; a violated claim that is known to be false counts as refuted."""
    false = known_false(case.verdicts)
    found = [
        "refuted" if verdict.verdict == "violated" and verdict.claim in false else verdict.verdict
        for verdict in case.verdicts
    ]
    return {kind: found.count(kind) for kind in ("holds", "violated", "vacuous", "refuted")}
