"""Shares that change from one busy period to the next: what a program with fixed ones bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.oinc.statement import SOLVED, claim
from edgeopt.bounds.verdict import Relation
from edgeopt.models.oinc.retraining import RetrainingProblem, flow_bound

__all__ = ["CLAIMS", "Periods", "two_shares"]


@dataclass(frozen=True)
class Periods:
    """Jobs that never meet at a site of 1 Gcycle/s, each with a share of its own.

    Parameters
    ----------
    work
        Work of each job, Gcycle.
    share
        Share of the CPU that is kept while it is there.
    """

    work: tuple[float, ...]
    share: tuple[float, ...]

    def problem(self, share: tuple[float, ...]) -> RetrainingProblem:
        """Return the jobs at some shares, each arriving when those before are long complete."""
        slowest = sum(self.work) / min(self.share)
        arrival = np.arange(len(self.work)) * int(np.ceil(slowest))
        return RetrainingProblem(arrival, (np.array(self.work) / np.array(share))[:, None])

    @property
    def flow(self) -> float:
        """Flow time of all jobs in sum, s."""
        return sum(w / p for w, p in zip(self.work, self.share, strict=True))


def two_shares() -> Periods:
    """Keep a half for a job of 2 Gcycle, and all but a twentieth for another one later.

    They flow for 4 + 40/19. With a half for both, P1 counts 7/2 for each.
    """
    return Periods((2.0, 2.0), (0.5, 0.95))


def _bound(periods: Periods, share: tuple[float, ...]) -> Measurement:
    bound = flow_bound(periods.problem(share), strong=False, midpoint=False)
    return Measurement(bound.value, periods.flow, {"bound": bound})


_PERIODS = {"instance_type": Periods, "view": lambda periods: periods, "tolerance": SOLVED}

CLAIMS = (
    claim(
        "shares",
        "P1 with durations at the shares that are kept while each job is there bounds the run. It "
        "speaks of schedules at these shares, as Theorem 1 does.",
        "Problem P1, with Algorithm 1",
        lambda periods: _bound(periods, periods.share),
        Relation.AT_MOST,
        {
            "two_shares()": two_shares,
            "Periods((1, 3, 2), (0.2, 0.9, 0.4))": lambda: Periods((1, 3, 2), (0.2, 0.9, 0.4)),
        },
        **_PERIODS,
    ),
    claim(
        "shares.printed",
        "P1 with one duration for a job and a site bounds the run of Algorithm 1, which keeps "
        "another share in every busy period; here durations are those of the first.",
        "Problem P1, with Algorithm 1",
        lambda periods: _bound(periods, periods.share[:1] * len(periods.share)),
        Relation.AT_MOST,
        {"two_shares()": two_shares},
        counterexample="two_shares()",
        corrected_by=("oinc.shares",),
        **_PERIODS,
    ),
)
